//! Where each tensor lies. Offsets and sizes are in `vec4`s of one model's share of an arena.

use std::fmt;

use super::ops::parameter_tiles;
use super::{Source, TrainStep, padded_rows};
use crate::spec::{Embedding, FREQUENCIES};

/// A storage buffer by its role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arena {
    /// What is trained, then constants that each model has for itself.
    Params,
    /// State of the optimizer: one copy of the layout of `Params` per slot.
    Optimizer,
    /// Gradients in the layout of `Params`, and their norm, only where the plan keeps them or the update is not fused; or the
    /// answers of a plan that does not train.
    Grads,
    /// Batch, activations, and slopes that become deltas.
    Activations,
    /// True weights of the synthetic task (per model), or the table (shared by all models).
    Data,
}

impl Arena {
    /// All arenas of vectors, in the order of their bindings.
    pub const ALL: [Self; 5] = [Self::Params, Self::Optimizer, Self::Grads, Self::Activations, Self::Data];

    /// The name of the buffer in WGSL and in labels.
    pub fn name(self) -> &'static str {
        match self {
            Self::Params => "params",
            Self::Optimizer => "optimizer",
            Self::Grads => "grads",
            Self::Activations => "activations",
            Self::Data => "data",
        }
    }
}

impl fmt::Display for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Vectors of one model's share of each arena.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ArenaSizes([usize; 5]);

impl ArenaSizes {
    /// Vectors of one model's share of `arena`.
    pub fn of(&self, arena: Arena) -> usize {
        self.0[arena as usize]
    }

    /// Each arena with its size.
    pub fn iter(&self) -> impl Iterator<Item = (Arena, usize)> + '_ {
        Arena::ALL.into_iter().map(|arena| (arena, self.of(arena)))
    }
}

/// A named matrix inside an arena: `rows` rows of `columns` numbers, each row padded to `stride` vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tensor {
    /// As Flax names it (`layers.0.kernel`), or as the field does (`x`, `h1`, `delta1`).
    pub name: String,
    /// The arena that holds it.
    pub arena: Arena,
    /// First vector.
    pub offset: usize,
    /// Rows without padding.
    pub rows: usize,
    /// Rows with their padding: whole groups of four in kernels and true weights, which are read as 4x4 blocks, and the
    /// padding of the batch in activations.
    pub padded_rows: usize,
    /// Numbers of a row without padding.
    pub columns: usize,
    /// Vectors of a row.
    pub stride: usize,
}

impl Tensor {
    /// Whether it is trained.
    pub fn is_parameter(&self) -> bool {
        self.arena == Arena::Params && self.name != FREQUENCIES
    }

    /// Indices of its numbers, in row-major order, among the scalars of a model's share of the arena.
    pub fn indices(&self) -> impl Iterator<Item = usize> + '_ {
        let row = move |r: usize| (0..self.columns).map(move |c| 4 * (self.offset + r * self.stride) + c);
        (0..self.rows).flat_map(row)
    }
}

/// A dense layer by its widths and the offsets of its tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DenseLayer {
    /// Width of its input.
    pub inputs: usize,
    /// Width of its output.
    pub outputs: usize,
    /// `(inputs, outputs)` in `Params`.
    pub kernel: usize,
    /// `(1, outputs)` in `Params`.
    pub bias: usize,
    /// Its input `(batch, inputs)` in `Activations`.
    pub input: usize,
    /// Its output `(batch, outputs)` in `Activations`.
    pub output: usize,
    /// `(batch, outputs)` in `Activations`: the slope of the activation after the forward pass, the derivative of the loss
    /// by the pre-activation after the backward pass.
    pub delta: usize,
    /// `(batch, outputs)` in `Activations`: the derivative of the loss by its output, where its input is added to that; 0
    /// elsewhere.
    pub skip: usize,
    /// What layer normalization needs; none in the last layer, and where there is no normalization.
    pub norm: Option<NormLayer>,
}

/// The layer normalization of a dense layer by the offsets of its tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NormLayer {
    /// `(1, outputs)` in `Params`.
    pub scale: usize,
    /// `(1, outputs)` in `Params`.
    pub bias: usize,
    /// `(batch, outputs)` in `Activations`: what scale and bias are applied to.
    pub normalized: usize,
    /// `(batch, 1)` in `Activations`: the inverse of the standard deviation of a row.
    pub inverse: usize,
    /// `(batch, outputs)` in `Activations`: the slope of the activation, then the derivative of the loss by its argument.
    pub delta: usize,
}

impl DenseLayer {
    /// Where the slope of its activation lies, which becomes the derivative of the loss by the activation's argument.
    pub fn slope(&self) -> usize {
        self.norm.map_or(self.delta, |norm| norm.delta)
    }

    /// Vectors of a row of its input.
    pub fn input_vectors(&self) -> usize {
        self.inputs.div_ceil(4)
    }

    /// Vectors of a row of its output, and of a row of its kernel.
    pub fn output_vectors(&self) -> usize {
        self.outputs.div_ceil(4)
    }
}

/// The table of an embedding, and the columns that it fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmbeddingTable {
    /// Its shape, and the column of `x` with the index of the category.
    pub of: Embedding,
    /// The first column of the encoded input that a row of the table fills.
    pub first: usize,
    /// `(categories, width)` in `Params`.
    pub table: usize,
}

impl EmbeddingTable {
    /// Vectors of a row of the table.
    pub fn row_vectors(&self) -> usize {
        self.of.width.div_ceil(4)
    }

    /// Vectors of the table.
    pub fn vectors(&self) -> usize {
        self.of.categories * self.row_vectors()
    }
}

/// Unused vectors at the end of each arena, into which a tile may read (never write) past the last tensor.
pub(super) const TAIL: usize = 16;

/// Hands out ranges of the arenas.
struct Allocator {
    gap: usize,
    sizes: ArenaSizes,
    tensors: Vec<Tensor>,
}

impl Allocator {
    /// Takes room for `padded_rows` rows of which `rows` are used, and returns the offset.
    fn take(&mut self, name: &str, arena: Arena, (rows, padded_rows): (usize, usize), columns: usize) -> usize {
        let stride = columns.div_ceil(4);
        let size = &mut self.sizes.0[arena as usize];
        let offset = *size + self.gap;
        *size = offset + padded_rows * stride;
        self.tensors.push(Tensor { name: name.into(), arena, offset, rows, padded_rows, columns, stride });
        offset
    }
}

/// Lays out the tables of embeddings, which stand in the encoded input in the places of their columns.
fn lay_out_tables(step: &TrainStep, allocator: &mut Allocator) -> Vec<EmbeddingTable> {
    // Columns that embeddings have added before.
    let mut added = 0;
    let lay_out = |(i, &of): (usize, &Embedding)| {
        let rows = (of.categories, of.categories);
        let table = allocator.take(&format!("embeddings.{i}.embedding"), Arena::Params, rows, of.width);
        let first = of.column + added;
        added += of.width - 1;
        EmbeddingTable { of, first, table }
    };
    step.model.embeddings.iter().enumerate().map(lay_out).collect()
}

/// Lays out the batch, and what the first layer reads of it, whose offset is returned.
fn lay_out_batch(step: &TrainStep, allocator: &mut Allocator, batch: (usize, usize)) -> usize {
    let mut input = allocator.take("x", Arena::Activations, batch, step.model.inputs());
    allocator.take("y", Arena::Activations, batch, step.target_columns());
    if step.model.is_encoded() {
        input = allocator.take("encoded", Arena::Activations, batch, step.model.encoded_inputs());
    }
    if !step.model.embeddings.is_empty() {
        allocator.take("encoded_delta", Arena::Activations, batch, step.model.encoded_inputs());
    }
    input
}

/// Lays out all arenas.
pub(super) fn lay_out(step: &TrainStep) -> (Vec<DenseLayer>, Vec<EmbeddingTable>, Vec<Tensor>, ArenaSizes) {
    let mut allocator = Allocator { gap: step.gap, sizes: ArenaSizes::default(), tensors: Vec::new() };
    let batch = (step.batch_size, padded_rows(step));
    let (inputs, outputs) = (step.model.inputs(), step.model.outputs());
    let mut input = lay_out_batch(step, &mut allocator, batch);
    let mut layers = Vec::new();
    for (i, (inputs, outputs)) in step.model.layers().enumerate() {
        // A kernel has whole groups of four rows, since the backward product reads them as 4x4 blocks.
        let rows = (inputs, inputs.next_multiple_of(4));
        let kernel = allocator.take(&format!("layers.{i}.kernel"), Arena::Params, rows, outputs);
        let bias = allocator.take(&format!("layers.{i}.bias"), Arena::Params, (1, 1), outputs);
        let output = allocator.take(&format!("h{}", i + 1), Arena::Activations, batch, outputs);
        let delta = allocator.take(&format!("delta{}", i + 1), Arena::Activations, batch, outputs);
        let mut skip = 0;
        if step.model.has_skip(i) {
            skip = allocator.take(&format!("dh{}", i + 1), Arena::Activations, batch, outputs);
        }
        let norm = step.model.has_norm(i).then(|| {
            let mut row = |part: &str| allocator.take(&format!("norms.{i}.{part}"), Arena::Params, (1, 1), outputs);
            let (scale, bias) = (row("scale"), row("bias"));
            let mut matrix =
                |name: &str, columns| allocator.take(&format!("{name}{}", i + 1), Arena::Activations, batch, columns);
            let (normalized, delta) = (matrix("normalized", outputs), matrix("norm_delta", outputs));
            NormLayer { scale, bias, normalized, delta, inverse: matrix("inverse", 1) }
        });
        layers.push(DenseLayer { inputs, outputs, kernel, bias, input, output, delta, skip, norm });
        input = output;
    }
    let tables = lay_out_tables(step, &mut allocator);
    // Last of its arena, since it is no parameter.
    for (name, shape) in step.model.constants() {
        allocator.take(&name, Arena::Params, (shape[0], shape[0]), shape[1]);
    }
    match step.source {
        Source::Linreg => {
            // Read four rows at a time.
            let rows = (inputs, inputs.next_multiple_of(4));
            allocator.take("true_weights", Arena::Data, rows, outputs);
            allocator.take("true_bias", Arena::Data, (1, 1), outputs);
        }
        Source::Table { rows } | Source::Sequence { rows } => {
            allocator.take("features", Arena::Data, (rows, rows), inputs);
            allocator.take("targets", Arena::Data, (rows, rows), step.target_columns());
        }
    }
    if let Source::Sequence { rows } = step.source {
        allocator.take("answers", Arena::Grads, (rows, rows), step.answer_columns());
    }
    for size in &mut allocator.sizes.0 {
        *size += TAIL + step.gap;
    }
    mirror_params(step, &mut allocator);
    if step.clip_norm {
        let tiles = parameter_tiles(step, &layers, &tables);
        allocator.take("norm_parts", Arena::Grads, (tiles, tiles), 1);
        allocator.take("norm", Arena::Grads, (1, 1), 1);
        allocator.sizes.0[Arena::Grads as usize] += step.gap;
    }
    (layers, tables, allocator.tensors, allocator.sizes)
}

/// Gives the optimizer's slots and the gradients the layout of the parameters. Answers take the room of the gradients, and
/// need no optimizer.
fn mirror_params(step: &TrainStep, allocator: &mut Allocator) {
    let params = allocator.sizes.of(Arena::Params);
    let of_params: Vec<_> = allocator.tensors.iter().filter(|t| t.is_parameter()).cloned().collect();
    let answers = matches!(step.source, Source::Sequence { .. });
    let slots = if answers { &[] } else { step.optimizer.state_names() };
    for (slot, state) in slots.iter().enumerate() {
        allocator.tensors.extend(of_params.iter().map(|t| Tensor {
            name: format!("{state}.{}", t.name),
            arena: Arena::Optimizer,
            offset: t.offset + slot * params,
            ..t.clone()
        }));
    }
    // A binding cannot be empty.
    allocator.sizes.0[Arena::Optimizer as usize] = (slots.len() * params).max(1);
    if answers {
        return;
    }
    let stored = step.keep_gradients || !step.is_fused();
    allocator.sizes.0[Arena::Grads as usize] = if stored { params } else { 1 };
    if stored {
        let name = |t: &Tensor| format!("{}.{}", step.gradient_name(), t.name);
        let grads = of_params.into_iter().map(|t| Tensor { name: name(&t), arena: Arena::Grads, ..t });
        allocator.tensors.extend(grads);
    }
}
