//! Initial parameters and the true weights of the synthetic task, drawn on the host with JAX's key rules.

use super::{FREQUENCIES, InputEncoding, Model};
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

/// The other tensors by their names, as `flax.nnx` makes them from the same `nnx.Rngs(seed)` after all dense layers: scales of 1
/// and biases of 0, each of which uses up one count, then the frequencies of random Fourier features.
pub fn initial_extras(model: &Model, seed: u64) -> Vec<(String, Vec<f32>)> {
    let mut extras = Vec::new();
    for (name, shape) in model.parameters().into_iter().filter(|(name, _)| name.starts_with("norms.")) {
        let value = if name.ends_with("scale") { 1.0 } else { 0.0 };
        extras.push((name, vec![value; shape[0]]));
    }
    if let InputEncoding::Fourier { features, scale } = model.options.encoding {
        let count = 2 * model.layers().len() + extras.len();
        #[expect(clippy::cast_possible_truncation, reason = "a network has few layers, and a scale is a 32-bit float")]
        let (key, scale) = (Key::from_seed(seed).fold_in(count as u32), scale as f32);
        let frequencies = (0..).take(model.inputs() * features).map(|i| key.normal(i) * scale).collect();
        extras.push((FREQUENCIES.into(), frequencies));
    }
    extras
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
