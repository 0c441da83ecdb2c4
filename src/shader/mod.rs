//! The WGSL module of a plan: a generated prelude of constants, the op files as they are, and generated entry points.
//!
//! Owns naga. Module scope in WGSL has no order, so putting files one after another is all the linking there is. A fault
//! that naga finds is reported by file and line of the original.

mod prelude;

use std::fmt::Write as _;
use std::ops::Range;

use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};

use crate::error::{Error, Result};
use crate::plan::{Op, OpKind, Plan, Products, Sampling, Source};
use crate::spec::InputEncoding;
use prelude::prelude;

/// How a plan is executed on a device: it decides the entry points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Walk {
    /// One entry point per op, named as the op.
    Recorded,
    /// One entry point, `persistent`, for the whole loop.
    Persistent,
}

/// A shader file of the crate.
struct File {
    name: &'static str,
    text: &'static str,
}

/// Lists files below `shaders/`.
macro_rules! files {
    ($($name:literal),+ $(,)?) => {
        &[$(File { name: $name, text: include_str!(concat!("../../shaders/", $name)) }),+]
    };
}

const SHARED: &[File] = files![
    "shared/arenas.wgsl",
    "shared/numerics.wgsl",
    "shared/threefry.wgsl",
    "shared/activations.wgsl",
    "shared/losses.wgsl",
    "shared/optimizers.wgsl",
    "shared/dense.wgsl",
    "loss.wgsl",
    "advance.wgsl",
];
const FUSED: &[File] = files!["fused.wgsl"];
const SEPARATE: &[File] = files!["separate.wgsl", "norm.wgsl", "update.wgsl"];
const SAMPLE_LINREG: &[File] = files!["sample_linreg.wgsl"];
const SAMPLE_REPLACEMENT: &[File] = files!["sample_table.wgsl", "rows_replacement.wgsl"];
const SAMPLE_SHUFFLE: &[File] = files!["sample_table.wgsl", "rows_shuffle.wgsl"];
const SAMPLE_SEQUENCE: &[File] = files!["sample_table.wgsl", "rows_sequence.wgsl"];
const LOSS_ELEMENTS: &[File] = files!["loss_elements.wgsl"];
const LOSS_SOFTMAX: &[File] = files!["loss_softmax.wgsl"];
const ANSWER_OUTPUTS: &[File] = files!["answer_outputs.wgsl"];
const ANSWER_CLASS: &[File] = files!["answer_class.wgsl"];
const TILED: &[File] =
    files!["tiled/products.wgsl", "tiled/dense_forward.wgsl", "tiled/dense_backward.wgsl", "tiled/dense_update.wgsl"];
const BROADCAST: &[File] = files![
    "broadcast/products.wgsl",
    "broadcast/dense_forward.wgsl",
    "broadcast/dense_backward.wgsl",
    "broadcast/dense_update.wgsl"
];
const LAYER_NORM: &[File] = files!["layer_norm.wgsl"];
const EMBEDDING: &[File] = files!["encoded.wgsl", "embedding.wgsl"];
const FOURIER: &[File] = files!["encoded.wgsl", "encode.wgsl", "encode_fourier.wgsl"];
const FREQUENCY: &[File] = files!["encoded.wgsl", "encode.wgsl", "encode_frequency.wgsl"];
const RECORDED: &[File] = files!["recorded.wgsl"];
const PERSISTENT: &[File] = files!["persistent.wgsl"];

/// A WGSL module, with where each part of it came from.
#[derive(Debug, Clone)]
pub struct Shader {
    /// The whole text.
    pub text: String,
    /// Byte range of each part and the file it came from.
    parts: Vec<(Range<usize>, &'static str)>,
}

impl Shader {
    /// Puts the module of a plan together.
    pub fn of(plan: &Plan, walk: Walk) -> Self {
        let products = match plan.step.products {
            Products::Tiled { .. } | Products::Deep { .. } => TILED,
            Products::Broadcast { .. } => BROADCAST,
        };
        let step = &plan.step;
        let sample = match (step.source, step.sampling) {
            (Source::Linreg, _) => SAMPLE_LINREG,
            (Source::Table { .. }, Sampling::Replacement) => SAMPLE_REPLACEMENT,
            (Source::Table { .. }, Sampling::Shuffle) => SAMPLE_SHUFFLE,
            (Source::Sequence { .. }, _) => SAMPLE_SEQUENCE,
        };
        let loss = if step.loss.is_elementwise() { LOSS_ELEMENTS } else { LOSS_SOFTMAX };
        let answer = match step.source {
            Source::Sequence { .. } if step.loss.is_elementwise() => ANSWER_OUTPUTS,
            Source::Sequence { .. } => ANSWER_CLASS,
            _ => &[],
        };
        let update = if plan.step.is_fused() { FUSED } else { SEPARATE };
        let walker = match walk {
            Walk::Recorded => RECORDED,
            Walk::Persistent => PERSISTENT,
        };
        let mut shader = Self { text: String::new(), parts: Vec::new() };
        shader.add("prelude", &prelude(plan));
        let norm = if plan.step.model.options.layer_norm { LAYER_NORM } else { &[] };
        let encode = match plan.step.model.options.encoding {
            InputEncoding::None if plan.tables.is_empty() => &[],
            InputEncoding::None => EMBEDDING,
            InputEncoding::Fourier { .. } => FOURIER,
            InputEncoding::Frequency { .. } => FREQUENCY,
        };
        let files = [SHARED, loss, sample, encode, answer, products, norm, update, walker];
        for file in files.into_iter().flatten() {
            shader.add(file.name, &format!("\n// ---- {}\n{}", file.name, file.text));
        }
        shader.add("entry points", &entry_points(plan, walk));
        shader
    }

    fn add(&mut self, name: &'static str, text: &str) {
        let start = self.text.len();
        self.text.push_str(text);
        self.parts.push((start..self.text.len(), name));
    }

    /// Parses and validates the module.
    ///
    /// # Errors
    /// [`Error::Shader`] with the file and line where naga found a fault.
    pub fn validate(&self) -> Result<(naga::Module, ModuleInfo)> {
        let at = |location: Option<naga::SourceLocation>| self.place(location.map_or(0, |l| l.offset as usize));
        let module = naga::front::wgsl::parse_str(&self.text)
            .map_err(|e| Error::Shader(format!("{}: {}", at(e.location(&self.text)), e.message())))?;
        let capabilities = Capabilities::SUBGROUP | Capabilities::SUBGROUP_BARRIER;
        let mut validator = Validator::new(ValidationFlags::all(), capabilities);
        validator.subgroup_stages(naga::valid::ShaderStages::COMPUTE);
        validator.subgroup_operations(naga::valid::SubgroupOperationSet::all());
        let info = validator.validate(&module).map_err(|e| {
            let text = e.emit_to_string(&self.text);
            // The narrowest place: the outer ones are the function and the statement around it.
            let spans = e.spans().map(|(span, _)| *span).filter(naga::Span::is_defined);
            let place = spans.min_by_key(|span| span.to_range().map_or(usize::MAX, |range| range.len()));
            Error::Shader(format!("{}: {text}", at(place.map(|span| span.location(&self.text)))))
        })?;
        Ok((module, info))
    }

    /// The original file and line of a byte of the module.
    fn place(&self, offset: usize) -> String {
        let found = self.parts.iter().find(|(range, _)| range.contains(&offset));
        let (start, name) = found.map_or((0, "prelude"), |(range, name)| (range.start, *name));
        let line = self.text[start..offset.min(self.text.len())].lines().count();
        // A file follows a blank line and a heading of the module.
        format!("{name}:{}", if name.ends_with(".wgsl") { line.saturating_sub(2).max(1) } else { line.max(1) })
    }
}

/// The entry points: one per op, or the one of the whole loop.
fn entry_points(plan: &Plan, walk: Walk) -> String {
    // In a subgroup that is the workgroup, the lane is the place in the subgroup.
    let lane = match plan.step.products {
        Products::Tiled { .. } | Products::Deep { .. } => "local_invocation_index",
        Products::Broadcast { .. } => "subgroup_invocation_id",
    };
    let mut text = String::from("\n// ---- entry points\n");
    let mut entry = |name: &str, model: &str, call: &str| {
        let _ = write!(
            text,
            "\n@compute @workgroup_size(LANES)\n\
             fn {name}(@builtin(workgroup_id) group: vec3<u32>, @builtin({lane}) lane: u32) {{\n    \
             model = group.{model};\n    {call};\n}}\n"
        );
    };
    match walk {
        Walk::Persistent => entry("persistent", "x", "train(lane)"),
        Walk::Recorded => {
            for Op { kind, .. } in &plan.ops {
                let call = match kind {
                    OpKind::DenseUpdate => "dense_update_of(group.x, lane)".into(),
                    _ => match kind.layer() {
                        Some(layer) => format!("{}(LAYERS[{layer}], group.x, lane)", kind.function()),
                        None => format!("{}(group.x, lane)", kind.function()),
                    },
                };
                entry(&format!("{kind}_op"), "y", &call);
            }
        }
    }
    text
}

/// The name of the entry point of an op.
pub(crate) fn entry_point(kind: OpKind) -> String {
    format!("{kind}_op")
}
