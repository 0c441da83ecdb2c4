//! Layer normalization in the cpu executor.

use super::fast::finish_layer;
use super::share::Share;
use super::vector::{denormalize, normalize};
use crate::plan::{DenseLayer, Plan};

/// From the product of a layer to its output.
pub(super) fn forward(plan: &Plan, share: &mut Share<'_>, layer: usize, scratch: &mut [f32]) {
    let l = plan.layers[layer];
    let Some(n) = l.norm else { return };
    let (rows, stride) = (plan.step.batch_size, 4 * l.output_vectors());
    let Share { params, activations, .. } = share;
    let (scale, bias) = (&params[4 * n.scale..][..stride], &params[4 * n.bias..][..stride]);
    let (low, rest) = activations.split_at_mut(4 * l.output);
    let (h, rest) = rest.split_at_mut(4 * (n.normalized - l.output));
    let (normalized, rest) = rest.split_at_mut(4 * (n.delta - n.normalized));
    let (slope, inverse) = rest.split_at_mut(4 * (n.inverse - n.delta));
    let (h, slope) = (&mut h[..rows * stride], &mut slope[..rows * stride]);
    let matrices = h.chunks_exact_mut(stride).zip(normalized.chunks_exact_mut(stride));
    for ((z, normalized), inverse) in matrices.zip(inverse.chunks_exact_mut(4)) {
        inverse[0] = normalize(z, l.outputs, normalized, scale, bias);
    }
    let skipped = (l.skip > 0).then(|| &low[4 * l.input..]);
    finish_layer(plan, *share.state, layer, (h, slope, skipped), scratch);
}

/// The delta of a layer from the derivative by what its normalization made.
pub(super) fn backward(plan: &Plan, share: &mut Share<'_>, layer: usize) {
    let l = plan.layers[layer];
    let Some(n) = l.norm else { return };
    let (rows, stride) = (plan.step.batch_size, 4 * l.output_vectors());
    let Share { params, activations, .. } = share;
    let scale = &params[4 * n.scale..][..stride];
    let (low, high) = activations.split_at_mut(4 * n.normalized);
    let row = |at: usize, b: usize| 4 * (at - n.normalized) + b * stride;
    for (b, delta) in low[4 * l.delta..].chunks_exact_mut(stride).take(rows).enumerate() {
        let (normalized, derivative) = (&high[b * stride..][..stride], &high[row(n.delta, b)..][..stride]);
        let inverse = high[4 * (n.inverse - n.normalized + b)];
        denormalize(delta, l.outputs, derivative, normalized, scale, inverse);
    }
}

/// Gradients of scale and bias, one after the other.
pub(super) fn gradients(plan: &Plan, share: &Share<'_>, l: &DenseLayer, out: &mut [f32]) {
    let Some(n) = l.norm else { return };
    let stride = 4 * l.output_vectors();
    let activations = &*share.activations;
    out.fill(0.0);
    let (scale, bias) = out.split_at_mut(stride);
    let rows =
        activations[4 * n.delta..].chunks_exact(stride).zip(activations[4 * n.normalized..].chunks_exact(stride));
    for (derivative, normalized) in rows.take(plan.step.batch_size) {
        for (((scale, bias), d), n) in scale.iter_mut().zip(&mut *bias).zip(derivative).zip(normalized) {
            *scale += d * n;
            *bias += d;
        }
    }
}
