//! Initial parameters and the true weights of the synthetic task, drawn on the host with JAX's key rules.

use super::Model;
use crate::rng::Key;

/// The parameters of each dense layer, `(kernel, bias)`, kernels row-major (inputs, outputs), as `flax.nnx` makes them
/// from `nnx.Rngs(seed)`: `lecun_normal` kernels from the key `fold_in(key(seed), 2 layer)`, zero biases (each of which
/// uses up one count).
pub fn initial_parameters(model: &Model, seed: u64) -> Vec<(Vec<f32>, Vec<f32>)> {
    let root = Key::from_seed(seed);
    let keys = (0..).step_by(2).map(|count| root.fold_in(count));
    let layer =
        |((inputs, outputs), key): ((usize, usize), Key)| (lecun_normal(key, inputs, outputs), vec![0.0; outputs]);
    model.layers().zip(keys).map(layer).collect()
}

/// Normal numbers cut at two standard deviations, with variance `1 / inputs`.
///
/// Reference: LeCun, Bottou, Orr, Müller (1998), "Efficient BackProp"; the divisor is the standard deviation of a normal
/// cut at ±2.
fn lecun_normal(key: Key, inputs: usize, outputs: usize) -> Vec<f32> {
    #[expect(clippy::cast_precision_loss, reason = "a width is far below 2^24")]
    let std = (1.0 / inputs as f32).sqrt() / 0.879_625_7;
    (0_u32..).take(inputs * outputs).map(|i| key.truncated_normal(i) * std).collect()
}

/// True weights (inputs, outputs) row-major and bias (outputs) of the `linreg` task, and the key with which its training
/// loop starts: `key, sub = split(key)` before each draw.
pub fn linreg_truth(seed: u64, inputs: usize, outputs: usize) -> (Vec<f32>, Vec<f32>, Key) {
    let draw = |key: Key, count: usize| (0_u32..).take(count).map(|i| key.normal(i)).collect();
    let (key, sub) = Key::from_seed(seed).split();
    let weights = draw(sub, inputs * outputs);
    let (key, sub) = key.split();
    (weights, draw(sub, outputs), key)
}
