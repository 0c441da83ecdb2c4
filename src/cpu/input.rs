//! The encoding of the inputs, and the gradients of embeddings, in the cpu executor.

use super::encode::encode_row;
use super::fast::{base, place};
use super::vector::{add, waves};
use crate::arenas::Arenas;
use crate::plan::{Arena, EmbeddingTable, Plan};
use crate::spec::FREQUENCIES;

/// Encodes the batch. With embeddings, the slope by it is 1.
pub(super) fn encode(plan: &Plan, arenas: &mut Arenas<f32>, model: usize) {
    let (l, inputs, rows) = (plan.layers[0], plan.step.model.inputs(), plan.step.batch_size);
    let frequencies = arenas.get(plan, model, FREQUENCIES);
    let [params, _, _, activations, _] = &mut arenas.scalars;
    let params = &params[base(plan, Arena::Params, model)..];
    let activations = &mut activations[base(plan, Arena::Activations, model)..];
    let (low, encoded) = activations.split_at_mut(4 * l.input);
    let ((x, stride), width) = (place(plan, "x"), 4 * l.input_vectors());
    for (row, out) in low[x..].chunks_exact(stride).zip(encoded.chunks_exact_mut(width)).take(rows) {
        encode_row(plan, params, &frequencies, &row[..inputs], &mut out[..l.inputs], waves);
    }
    if !plan.tables.is_empty() {
        activations[4 * plan.before(0).slope..][..rows * width].fill(1.0);
    }
}

/// The gradient of a table, padded as the table is.
pub(super) fn table_gradient(plan: &Plan, arenas: &Arenas<f32>, model: usize, e: &EmbeddingTable, g: &mut [f32]) {
    g.fill(0.0);
    let activations = &arenas.scalars[Arena::Activations as usize][base(plan, Arena::Activations, model)..];
    let ((x, x_stride), (delta, delta_stride)) = (place(plan, "x"), place(plan, "encoded_delta"));
    let rows = activations[x..].chunks_exact(x_stride).zip(activations[delta..].chunks_exact(delta_stride));
    for (row, delta) in rows.take(plan.step.batch_size) {
        let first = 4 * e.row_vectors() * e.of.category(row[e.of.column]);
        add(&mut g[first..][..e.of.width], &delta[e.first..]);
    }
}
