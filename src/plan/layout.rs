//! Lays out the arenas.

use super::ops::parameter_tiles;
use super::tensors::{Arena, ArenaSizes, DenseLayer, EmbeddingTable, NormLayer, Tensor};
use super::{Source, TrainStep, padded_rows};
use crate::spec::Embedding;

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
