//! The encoding of the inputs, and the gradients of embeddings, in the cpu executor.

use super::encode::encode_row;
use super::fast::place;
use super::share::Share;
use super::vector::{add, waves};
use crate::plan::{EmbeddingTable, Plan, Tensor};
use crate::spec::FREQUENCIES;

/// Encodes the batch. With embeddings, the slope by it is 1.
pub(super) fn encode(plan: &Plan, share: &mut Share<'_>) {
    let (l, inputs, rows) = (plan.layers[0], plan.step.model.inputs(), plan.step.batch_size);
    let Share { params, activations, .. } = share;
    let frequencies: Vec<_> =
        plan.tensor(FREQUENCIES).into_iter().flat_map(Tensor::indices).map(|index| params[index]).collect();
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
pub(super) fn table_gradient(plan: &Plan, share: &Share<'_>, e: &EmbeddingTable, g: &mut [f32]) {
    g.fill(0.0);
    let activations = &*share.activations;
    let ((x, x_stride), (delta, delta_stride)) = (place(plan, "x"), place(plan, "encoded_delta"));
    let rows = activations[x..].chunks_exact(x_stride).zip(activations[delta..].chunks_exact(delta_stride));
    for (row, delta) in rows.take(plan.step.batch_size) {
        let first = 4 * e.row_vectors() * e.of.category(row[e.of.column]);
        add(&mut g[first..][..e.of.width], &delta[e.first..]);
    }
}
