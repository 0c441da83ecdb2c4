//! Arenas, and where the tensors of a network lie in them. Offsets and sizes are in `vec4`s of one model's share of an arena.

use std::fmt;

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
pub struct ArenaSizes(pub(super) [usize; 5]);

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
