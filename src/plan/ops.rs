//! The ops of a train step, and how each is cut into tiles.

use std::fmt;

use super::{DenseLayer, EmbeddingTable, Products, Sampling, Source, TrainStep, padded_rows};
use crate::spec::InputEncoding;

/// What an op computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpKind {
    /// Draws the batch.
    Sample,
    /// Waves of the inputs, or rows of the tables of embeddings.
    Encode,
    /// Activation of a layer and its slope.
    DenseForward {
        /// The layer.
        layer: usize,
    },
    /// Normalizes the product of a layer; its activation and slope.
    LayerNormForward {
        /// The layer.
        layer: usize,
    },
    /// The loss, its history, and the delta of the last layer.
    Loss,
    /// The delta of the layer before `layer`; before layer 0, that of embeddings and of the inputs beside them.
    DenseBackward {
        /// The layer whose kernel is read.
        layer: usize,
    },
    /// The delta of a layer from the derivative by what its normalization made.
    LayerNormBackward {
        /// The layer.
        layer: usize,
    },
    /// Gradients of all kernels and biases, and their update where it is fused; else they are stored, and the next ops
    /// update.
    DenseUpdate,
    /// Gradients of the scales and biases of all normalizations, as those of the kernels.
    LayerNormUpdate,
    /// Gradients of the tables of all embeddings, as those of the kernels.
    EmbeddingUpdate,
    /// Sums of squares of the mean gradients, one per tile.
    NormParts,
    /// The global norm of the mean gradients.
    Norm,
    /// The update from the mean gradients.
    Update,
    /// What the network says of each row, where it is not trained.
    Answer,
    /// The next key, and the count of finished steps.
    Advance,
}

impl OpKind {
    /// The layer that it works on, if it is one layer's.
    pub fn layer(self) -> Option<usize> {
        match self {
            Self::DenseForward { layer }
            | Self::LayerNormForward { layer }
            | Self::DenseBackward { layer }
            | Self::LayerNormBackward { layer } => Some(layer),
            _ => None,
        }
    }

    /// Whether it is part of the forward pass, which turns a batch into predictions.
    pub fn is_forward(self) -> bool {
        matches!(self, Self::Encode | Self::DenseForward { .. } | Self::LayerNormForward { .. })
    }

    /// The name of its function in WGSL.
    pub fn function(self) -> &'static str {
        match self {
            Self::Sample => "sample",
            Self::Encode => "encode",
            Self::DenseForward { .. } => "dense_forward",
            Self::LayerNormForward { .. } => "layer_norm_forward",
            Self::Loss => "loss",
            Self::DenseBackward { .. } => "dense_backward",
            Self::LayerNormBackward { .. } => "layer_norm_backward",
            Self::DenseUpdate => "dense_update",
            Self::LayerNormUpdate => "layer_norm_update",
            Self::EmbeddingUpdate => "embedding_update",
            Self::NormParts => "norm_parts",
            Self::Norm => "norm",
            Self::Update => "update",
            Self::Answer => "answer",
            Self::Advance => "advance",
        }
    }
}

impl fmt::Display for OpKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.layer() {
            Some(layer) => write!(f, "{}_{layer}", self.function()),
            None => f.write_str(self.function()),
        }
    }
}

/// One op: one dispatch of `tiles` workgroups per model in `recorded`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Op {
    /// What it computes.
    pub kind: OpKind,
    /// Workgroups per model.
    pub tiles: usize,
    /// Loop trips of one invocation in one tile, rounded up; a loop of n rounds takes n + 1, the last one to leave it.
    pub trips: usize,
}

/// Tiles and trips of the three products of a layer.
pub(crate) struct ProductTiles {
    /// Tiles along the rows of the result.
    pub rows: usize,
    /// Tiles along the columns of the result.
    pub columns: usize,
    /// Trips of the loop over the inner dimension.
    pub trips: usize,
}

/// `(batch, inputs) x (inputs, outputs)`, the shape of a forward product; also that of the backward one with its widths
/// exchanged.
pub(crate) fn forward_tiles(step: &TrainStep, inner: usize, columns: usize) -> ProductTiles {
    let rows = padded_rows(step);
    match step.products {
        Products::Tiled { side } | Products::Deep { side } => ProductTiles {
            rows: rows.div_ceil(4 * side),
            columns: columns.div_ceil(4 * side),
            trips: staged_trips(step, side, inner),
        },
        Products::Broadcast { width } => {
            ProductTiles { rows: rows.div_ceil(2 * width), columns: columns.div_ceil(16), trips: inner.div_ceil(4) }
        }
    }
}

/// Trips of a product whose tiles are staged: each round stages two tiles, multiplies them and leaves the loops of that. After it,
/// four rows are stored.
fn staged_trips(step: &TrainStep, side: usize, inner: usize) -> usize {
    let depth = step.products.depth().unwrap_or(side);
    let stage = depth / side + 1;
    inner.div_ceil(depth) * (1 + 2 * stage + depth.min(inner) + 1) + 6
}

/// Whether the lanes of the broadcast kernels walk the inputs of a layer in its update, instead of the outputs.
pub(crate) fn update_flipped(step: &TrainStep, layer: &DenseLayer) -> bool {
    let Products::Broadcast { width } = step.products else { return false };
    let tiles = |lanes: usize, broadcast: usize| lanes.div_ceil(4 * width) * broadcast.div_ceil(16);
    tiles(layer.inputs, layer.outputs) < tiles(layer.outputs, layer.inputs)
}

/// `(inputs, batch) x (batch, outputs)`, the shape of the gradient of a kernel.
pub(crate) fn update_tiles(step: &TrainStep, layer: &DenseLayer) -> ProductTiles {
    let rows = padded_rows(step);
    match step.products {
        Products::Tiled { side } | Products::Deep { side } => ProductTiles {
            rows: layer.inputs.div_ceil(4 * side),
            columns: layer.outputs.div_ceil(4 * side),
            trips: staged_trips(step, side, rows),
        },
        Products::Broadcast { width } => {
            let (lanes, broadcast) =
                if update_flipped(step, layer) { (layer.inputs, layer.outputs) } else { (layer.outputs, layer.inputs) };
            ProductTiles { rows: broadcast.div_ceil(16), columns: lanes.div_ceil(4 * width), trips: rows / 2 + 22 }
        }
    }
}

/// A tensor of parameters as the ops after the gradients walk it: vector by vector, without padded rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parameter {
    /// First vector in `Params`, and in `Grads`.
    pub offset: usize,
    /// Vectors that are used.
    pub vectors: usize,
    /// Tiles of the tensors before it.
    pub first_tile: usize,
    /// Whether it is a bias.
    pub is_bias: bool,
}

/// Vectors of a lane in a tile of the ops that walk the parameters.
pub(crate) const TILE_VECTORS: usize = 16;

/// The tensors of parameters in order.
pub(super) fn parameters(step: &TrainStep, layers: &[DenseLayer], tables: &[EmbeddingTable]) -> Vec<Parameter> {
    let mut first_tile = 0;
    let mut next = |offset, vectors: usize, is_bias| {
        let p = Parameter { offset, vectors, first_tile, is_bias };
        first_tile += vectors.div_ceil(step.parameter_tile());
        p
    };
    let mut parameters = Vec::new();
    for l in layers {
        let vectors = l.output_vectors();
        parameters.extend([next(l.kernel, l.inputs * vectors, false), next(l.bias, vectors, true)]);
        // Decay spares scales as it spares biases: they are no weights of inputs.
        parameters.extend(l.norm.iter().flat_map(|n| [n.scale, n.bias]).map(|offset| next(offset, vectors, true)));
    }
    parameters.extend(tables.iter().map(|e| next(e.table, e.vectors(), false)));
    parameters
}

/// Tiles of all of them.
pub(super) fn parameter_tiles(step: &TrainStep, layers: &[DenseLayer], tables: &[EmbeddingTable]) -> usize {
    let last = parameters(step, layers, tables).pop();
    last.map_or(0, |p| p.first_tile + p.vectors.div_ceil(step.parameter_tile()))
}

/// The ops from the gradients to the parameters, where the update is not fused.
fn after_gradients(step: &TrainStep, layers: &[DenseLayer], tables: &[EmbeddingTable]) -> Vec<Op> {
    let tiles = parameter_tiles(step, layers, tables);
    // The search for the tensor, and the tile; a tree of sums.
    let (walk, tree) = (4 * layers.len() + tables.len() + TILE_VECTORS + 2, 16);
    let mut ops = Vec::new();
    if step.clip_norm {
        ops.push(Op { kind: OpKind::NormParts, tiles, trips: walk + tree });
        ops.push(Op { kind: OpKind::Norm, tiles: 1, trips: tiles.div_ceil(step.products.lanes()) + 1 + tree });
    }
    ops.push(Op { kind: OpKind::Update, tiles, trips: walk });
    ops
}
/// Trips that finding a row in the order of an epoch may take: rounds of the permutation, and walks out of the table, of
/// which there are two in the mean and 12 or more once in 4,096 rows.
const SHUFFLE_TRIPS: usize = 12 * 10;

/// Tiles of the gradients of a normalization: one invocation has four columns.
pub(crate) fn layer_norm_update_tiles(step: &TrainStep, layer: &DenseLayer) -> usize {
    layer.norm.map_or(0, |_| layer.output_vectors().div_ceil(step.products.lanes()))
}

/// Tiles of the gradient of a table: one invocation has a vector of it.
pub(crate) fn embedding_update_tiles(step: &TrainStep, table: &EmbeddingTable) -> usize {
    table.vectors().div_ceil(step.products.lanes())
}

/// Trips of the loops that make one row of a batch.
fn sample_trips(step: &TrainStep) -> usize {
    let (x, y) = (step.model.inputs().div_ceil(4), step.target_columns().div_ceil(4));
    match step.source {
        Source::Linreg => x + y * (1 + x),
        Source::Table { .. } if step.sampling == Sampling::Shuffle => x + y + SHUFFLE_TRIPS,
        Source::Table { .. } | Source::Sequence { .. } => x + y,
    }
}

/// The ops of one step, in order.
pub(super) fn list(step: &TrainStep, layers: &[DenseLayer], tables: &[EmbeddingTable]) -> Vec<Op> {
    let (rows, lanes) = (padded_rows(step), step.products.lanes());
    let last = &layers[layers.len() - 1];
    let product = |kind, tiles: ProductTiles| Op { kind, tiles: tiles.rows * tiles.columns, trips: tiles.trips };
    // One invocation walks a row of a normalization.
    let row_op = |kind, l: &DenseLayer, walks| {
        l.norm.map(|_| Op { kind, tiles: rows.div_ceil(lanes), trips: walks * (l.output_vectors() + 1) })
    };
    let mut ops = vec![Op { kind: OpKind::Sample, tiles: rows.div_ceil(lanes), trips: sample_trips(step) }];
    if step.model.is_encoded() {
        let tiles = (rows * layers[0].input_vectors()).div_ceil(lanes);
        let inner = match step.model.options.encoding {
            InputEncoding::Fourier { .. } => step.model.inputs(),
            // The search for the embedding of a column.
            _ => tables.len(),
        };
        ops.push(Op { kind: OpKind::Encode, tiles, trips: 4 * (inner + 2) + 1 });
    }
    for (layer, l) in layers.iter().enumerate() {
        ops.push(product(OpKind::DenseForward { layer }, forward_tiles(step, l.inputs, l.outputs)));
        ops.extend(row_op(OpKind::LayerNormForward { layer }, l, 3));
    }
    let advance = Op { kind: OpKind::Advance, tiles: 1, trips: 2 };
    if let Source::Sequence { .. } = step.source {
        let trips = 2 * last.output_vectors() + 2;
        ops.extend([Op { kind: OpKind::Answer, tiles: rows.div_ceil(lanes), trips }, advance]);
        return ops;
    }
    let passes = if step.loss.is_elementwise() { 1 } else { 3 };
    let loss_trips = rows.div_ceil(lanes) * (2 + passes * (1 + last.output_vectors())) + 16;
    ops.push(Op { kind: OpKind::Loss, tiles: 1, trips: loss_trips });
    for (layer, l) in layers.iter().enumerate().skip(usize::from(tables.is_empty())).rev() {
        ops.push(product(OpKind::DenseBackward { layer }, forward_tiles(step, l.outputs, l.inputs)));
        let before = layer.checked_sub(1).map(|before| (OpKind::LayerNormBackward { layer: before }, &layers[before]));
        ops.extend(before.and_then(|(kind, l)| row_op(kind, l, 2)));
    }
    let updates: Vec<_> = layers.iter().map(|layer| update_tiles(step, layer)).collect();
    let tiles = updates.iter().map(|t| t.rows * t.columns).sum();
    let trips = updates.iter().map(|t| t.trips).max().unwrap_or(0) + layers.len();
    ops.push(Op { kind: OpKind::DenseUpdate, tiles, trips });
    if step.model.options.layer_norm {
        let tiles = layers.iter().map(|layer| layer_norm_update_tiles(step, layer)).sum();
        ops.push(Op { kind: OpKind::LayerNormUpdate, tiles, trips: step.batch_size + layers.len() + 1 });
    }
    if !tables.is_empty() {
        let tiles = tables.iter().map(|table| embedding_update_tiles(step, table)).sum();
        ops.push(Op { kind: OpKind::EmbeddingUpdate, tiles, trips: step.batch_size + tables.len() + 1 });
    }
    if !step.is_fused() {
        ops.extend(after_gradients(step, layers, tables));
    }
    ops.push(advance);
    ops
}
