//! A compute shader: `predict` answers for the rows of a storage buffer. Needs no feature and no other binding.

use std::fmt::Write as _;

use super::literals;
use super::scaling::{InputScaling, OutputScaling};
use crate::data::schema::Targets;
use crate::error::Result;
use crate::network::{Dense, Network, Stage};

const NUMERICS: &str = include_str!("../../shaders/shared/numerics.wgsl");
const ACTIVATIONS: &str = include_str!("../../shaders/shared/activations.wgsl");

/// Columns of a vector.
const LANES: usize = 4;

/// The text of the module.
pub(super) fn write(network: &Network) -> Result<String> {
    let mut module = Module::default();
    module.standardize(InputScaling::of(network)?, network.inputs());
    let (from, vectors) = module.stages(network);
    if let Some(scaling) = OutputScaling::of(network)? {
        module.constant("TARGET_MEAN", &padded(&scaling.mean, network.outputs(), 0.0));
        module.constant("TARGET_STD", &padded(&scaling.std, network.outputs(), 0.0));
        module.body += &each(vectors, from, &format!("{from}[j] * TARGET_STD[j] + TARGET_MEAN[j]"));
    }
    module.body += &answers(&network.schema.targets, from, vectors);
    let Module { constants, body } = module;
    Ok(format!(
        "{}\n@group(0) @binding(0) var<storage, read> input: array<f32>;\n\
         @group(0) @binding(1) var<storage, read_write> output: array<f32>;\n\n\
         const INPUTS = {}u;\nconst OUTPUTS = {}u;\nalias Row = array<vec4<f32>, {}>;\n\n{constants}\
         @compute @workgroup_size(64)\nfn predict(@builtin(global_invocation_id) id: vec3<u32>) {{\n    \
         let row = id.x;\n    if row >= arrayLength(&output) / OUTPUTS {{\n        return;\n    }}\n    \
         var a: Row;\n    var b: Row;\n{body}}}\n\n{NUMERICS}\n{ACTIVATIONS}",
        head(network),
        network.inputs(),
        network.outputs(),
        network.widest().div_ceil(LANES),
    ))
}

/// What it is, as comments.
fn head(network: &Network) -> String {
    let answers = match network.schema.targets {
        Targets::Numbers { .. } => "numbers in the units of the table",
        Targets::Labels { .. } => "the probability of 1 for each label",
        Targets::Classes { .. } => "the probability of each class",
    };
    let mut text = format!(
        "// A trained network, written by fori {}.\n//\n\
         // input: rows of {} numbers in the units of the table. output: rows of {} answers: {answers}.\n\
         // Dispatch `predict` with ceil(rows / 64) workgroups; the rows are counted from the size of `output`.\n//\n",
        env!("CARGO_PKG_VERSION"),
        network.inputs(),
        network.outputs(),
    );
    // Quoted, so that no name ends its comment.
    for (i, slot) in network.slots().iter().enumerate() {
        let _ = writeln!(text, "// input {i}: {:?}", slot.name);
    }
    for (i, name) in network.output_names().iter().enumerate() {
        let _ = writeln!(text, "// output {i}: {name:?}");
    }
    text
}

/// The module in the making: its constants, and the body of `predict`.
#[derive(Default)]
struct Module {
    constants: String,
    body: String,
}

impl Module {
    fn constant(&mut self, name: &str, vectors: &[f32]) {
        let list = vectors.chunks(LANES).map(|v| format!("    vec4<f32>({})", literals(v))).collect::<Vec<_>>();
        let (count, list) = (list.len(), list.join(",\n"));
        // Not `const`: each access to one by a computed index would first copy the whole of it.
        let _ = write!(self.constants, "var<private> {name}: array<vec4<f32>, {count}> = array(\n{list}\n);\n\n");
    }

    /// From `input` to the standardized inputs in `a`.
    fn standardize(&mut self, scaling: Option<InputScaling>, width: usize) {
        self.body += "    for (var i = 0u; i < INPUTS; i++) {\n        var x = input[row * INPUTS + i];\n";
        if let Some(scaling) = scaling {
            self.constant("MEAN", &padded(&scaling.mean, width, 0.0));
            self.constant("STD", &padded(&scaling.std, width, 1.0));
            self.constant("SHIFT", &padded(&scaling.shift, width, 0.0));
            if scaling.fills() {
                let (fill, fills): (Vec<_>, Vec<_>) =
                    scaling.fill.iter().map(|f| if f.is_nan() { (0.0, 0.0) } else { (*f, 1.0) }).unzip();
                self.constant("FILL", &padded(&fill, width, 0.0));
                self.constant("FILLS", &padded(&fills, width, 0.0));
                // NaN by its bits: compilers may assume that there is none.
                self.body += "        let missing = (bitcast<u32>(x) & 0x7FFFFFFFu) > 0x7F800000u;\n        \
                              x = select(x, FILL[i / 4u][i % 4u], missing && FILLS[i / 4u][i % 4u] > 0.0);\n";
            }
            self.body += "        x = (x - MEAN[i / 4u][i % 4u]) / STD[i / 4u][i % 4u] - SHIFT[i / 4u][i % 4u];\n";
        }
        self.body += "        a[i / 4u][i % 4u] = x;\n    }\n";
    }

    /// From `a` to the outputs; returns the row that has them, and its vectors.
    fn stages(&mut self, network: &Network) -> (&'static str, usize) {
        let (mut from, mut to, mut layer, mut vectors) = ("a", "b", 0, 0);
        for stage in &network.stages {
            match stage {
                Stage::Dense(Dense { inputs, outputs, kernel, bias }) => {
                    vectors = outputs.div_ceil(LANES);
                    self.constant(&format!("KERNEL_{layer}"), &padded(kernel, *outputs, 0.0));
                    self.constant(&format!("BIAS_{layer}"), &padded(bias, *outputs, 0.0));
                    self.body += &format!(
                        "    for (var j = 0u; j < {vectors}u; j++) {{\n        var z = BIAS_{layer}[j];\n        \
                         for (var i = 0u; i < {inputs}u; i++) {{\n            \
                         z += {from}[i / 4u][i % 4u] * KERNEL_{layer}[i * {vectors}u + j];\n        }}\n        \
                         {to}[j] = z;\n    }}\n"
                    );
                    (from, to, layer) = (to, from, layer + 1);
                }
                Stage::Encoding(_) | Stage::LayerNorm { .. } | Stage::Fork | Stage::Join => {}
                Stage::Activation(activation) => {
                    self.body += &each(vectors, from, &format!("{activation}_activation({from}[j]).value"));
                }
            }
        }
        (from, vectors)
    }
}

/// Rows of `columns` numbers, each filled up to whole vectors.
fn padded(values: &[f32], columns: usize, with: f32) -> Vec<f32> {
    let stride = columns.next_multiple_of(LANES);
    let row = |row: &[f32]| row.iter().copied().chain(std::iter::repeat_n(with, stride - columns)).collect::<Vec<_>>();
    values.chunks_exact(columns).flat_map(row).collect()
}

/// A loop that replaces each vector of a row.
fn each(vectors: usize, row: &str, value: &str) -> String {
    format!("    for (var j = 0u; j < {vectors}u; j++) {{\n        {row}[j] = {value};\n    }}\n")
}

/// From the last row to `output`.
fn answers(targets: &Targets, from: &str, vectors: usize) -> String {
    let scalars = |body: &str| format!("    for (var i = 0u; i < OUTPUTS; i++) {{\n        {body}\n    }}\n");
    let element = format!("{from}[i / 4u][i % 4u]");
    let store = |value: &str| scalars(&format!("output[row * OUTPUTS + i] = {value};"));
    match targets {
        Targets::Numbers { .. } => store(&element),
        Targets::Labels { .. } => each(vectors, from, &format!("sigmoid({from}[j])")) + &store(&element),
        Targets::Classes { .. } => {
            let start = format!("    var largest = {from}[0][0];\n    var sum = 0.0;\n");
            let find = scalars(&format!("largest = max(largest, {element});"));
            let powers = each(vectors, from, &format!("exponential({from}[j] - largest)"));
            let add = scalars(&format!("sum += {element};"));
            start + &find + &powers + &add + &store(&format!("{element} / sum"))
        }
    }
}
