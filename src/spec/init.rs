//! Initial parameters and the true weights of the synthetic task, drawn on the host with JAX's key rules.

use super::{FREQUENCIES, InputEncoding, Model};
use crate::rng::Key;

/// How kernels are drawn; biases are 0. Names and formulas are those of `jax.nn.initializers`, but for `siren`. A
/// `*_normal` is a normal distribution cut at two standard deviations, a `*_uniform` has the same variance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Init {
    /// Variance `1 / inputs`. Reference: LeCun, Bottou, Orr, Müller (1998), "Efficient BackProp".
    #[default]
    LecunNormal,
    /// Variance `1 / inputs`.
    LecunUniform,
    /// Variance `2 / (inputs + outputs)`. Reference: Glorot, Bengio (2010), "Understanding the difficulty of training deep
    /// feedforward neural networks".
    GlorotNormal,
    /// Variance `2 / (inputs + outputs)`.
    GlorotUniform,
    /// Variance `2 / inputs`. Reference: He, Zhang, Ren, Sun (2015), "Delving deep into rectifiers".
    HeNormal,
    /// Variance `2 / inputs`.
    HeUniform,
    /// Orthogonal columns, or rows where there are fewer of them, of length 1: the Q of the QR factors of a normal matrix, with
    /// the signs that make the diagonal of R positive. Reference: Saxe, McClelland, Ganguli (2013), "Exact solutions to the
    /// nonlinear dynamics of learning in deep linear neural networks".
    Orthogonal,
    /// Nothing but zeros.
    Zeros,
    /// For the activation `sin(w0 z)`: uniform within `±1 / inputs` in the first layer, `±sqrt(6 / inputs) / w0` in the others.
    /// Reference: Sitzmann, Martel, Bergman, Lindell, Wetzstein (2020), "Implicit neural representations with periodic
    /// activation functions", section 3.2 and the supplement's factor `w0` in every layer, as in the authors' program.
    Siren,
}

super::named_enum!(
    Init, "initializer",
    LecunNormal => "lecun_normal", LecunUniform => "lecun_uniform", GlorotNormal => "glorot_normal",
    GlorotUniform => "glorot_uniform", HeNormal => "he_normal", HeUniform => "he_uniform", Orthogonal => "orthogonal",
    Zeros => "zeros", Siren => "siren",
);

impl Init {
    /// The factor in `sin(w0 z)` where none is given.
    pub fn default_w0(self) -> f64 {
        if self == Self::Siren { 30.0 } else { 1.0 }
    }

    /// The kernel (inputs, outputs), row-major, of a layer.
    fn kernel(self, key: Key, model: &Model, layer: usize, (inputs, outputs): (usize, usize)) -> Vec<f32> {
        let count = inputs * outputs;
        #[expect(clippy::cast_precision_loss, reason = "a width is far below 2^24")]
        let (fan_in, fan_sum) = (inputs as f64, (inputs + outputs) as f64);
        match self {
            Self::LecunNormal => truncated_normals(key, count, 1.0 / fan_in),
            Self::LecunUniform => uniforms(key, count, 1.0 / fan_in),
            Self::GlorotNormal => truncated_normals(key, count, 2.0 / fan_sum),
            Self::GlorotUniform => uniforms(key, count, 2.0 / fan_sum),
            Self::HeNormal => truncated_normals(key, count, 2.0 / fan_in),
            Self::HeUniform => uniforms(key, count, 2.0 / fan_in),
            Self::Orthogonal => orthogonal(key, inputs, outputs),
            Self::Zeros => vec![0.0; count],
            Self::Siren => {
                let bound = if layer == 0 { 1.0 / fan_in } else { (6.0 / fan_in).sqrt() / model.w0 };
                (0_u32..).take(count).map(|i| key.uniform_between(i, -single(bound), single(bound))).collect()
            }
        }
    }
}

/// The parameters of each dense layer, `(kernel, bias)`, kernels row-major (inputs, outputs), as `flax.nnx` makes them
/// from `nnx.Rngs(seed)`: kernels from the key `fold_in(key(seed), 2 layer)`, zero biases (each of which uses up one
/// count).
pub fn initial_parameters(model: &Model, init: Init, seed: u64) -> Vec<(Vec<f32>, Vec<f32>)> {
    let root = Key::from_seed(seed);
    let keys = (0..).step_by(2).map(|count| root.fold_in(count));
    let layer = |(layer, (shape, key)): (usize, ((usize, usize), Key))| {
        (init.kernel(key, model, layer, shape), vec![0.0; shape.1])
    };
    model.layers().zip(keys).enumerate().map(layer).collect()
}

#[expect(clippy::cast_possible_truncation, reason = "rounded once, as JAX does")]
fn single(value: f64) -> f32 {
    value as f32
}

/// Normal numbers cut at two standard deviations; the divisor is the standard deviation of a normal cut at ±2.
fn truncated_normals(key: Key, count: usize, variance: f64) -> Vec<f32> {
    let std = single(variance).sqrt() / 0.879_625_7;
    (0_u32..).take(count).map(|i| key.truncated_normal(i) * std).collect()
}

fn uniforms(key: Key, count: usize, variance: f64) -> Vec<f32> {
    let bound = (3.0 * single(variance)).sqrt();
    (0_u32..).take(count).map(|i| key.uniform_between(i, -1.0, 1.0) * bound).collect()
}

/// The Q of a normal matrix by modified Gram-Schmidt in f64, whose R has a positive diagonal. The rounding error is that of
/// f64 times the condition of the matrix, which for normal numbers is some small multiple of its width.
fn orthogonal(key: Key, inputs: usize, outputs: usize) -> Vec<f32> {
    let (long, short) = (inputs.max(outputs), inputs.min(outputs));
    // Column by column: number (row, column) of the matrix is drawn with the index `row short + column`.
    let mut columns: Vec<Vec<f64>> = vec![Vec::with_capacity(long); short];
    for (i, column) in (0_u32..).zip((0..short).cycle()).take(long * short) {
        columns[column].push(f64::from(key.normal(i)));
    }
    for done in 0..short {
        let (before, rest) = columns.split_at_mut(done + 1);
        let q = &mut before[done];
        let length = dot(q, q).sqrt();
        q.iter_mut().for_each(|v| *v /= length);
        for column in rest {
            let along = dot(q, column);
            column.iter_mut().zip(&*q).for_each(|(v, q)| *v -= along * q);
        }
    }
    let at = |i: usize, o: usize| if inputs >= outputs { columns[o][i] } else { columns[i][o] };
    (0..inputs).flat_map(|i| (0..outputs).map(move |o| (i, o))).map(|(i, o)| single(at(i, o))).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The other tensors by their names, as `flax.nnx` makes them from the same `nnx.Rngs(seed)` after all dense layers: scales of 1
/// and biases of 0, each of which uses up one count, then tables of embeddings, `N(0, 1 / width)` as `nnx.Embed` draws them, or
/// the frequencies of random Fourier features.
pub fn initial_extras(model: &Model, seed: u64) -> Vec<(String, Vec<f32>)> {
    let mut extras = Vec::new();
    for (name, shape) in model.parameters().into_iter().filter(|(name, _)| name.starts_with("norms.")) {
        let value = if name.ends_with("scale") { 1.0 } else { 0.0 };
        extras.push((name, vec![value; shape[0]]));
    }
    let mut next = (2 * model.layers().len() + extras.len()..).map(|count| {
        #[expect(clippy::cast_possible_truncation, reason = "a network has few tensors")]
        Key::from_seed(seed).fold_in(count as u32)
    });
    let mut draw = |count: usize, scale: f32| {
        let key = next.next().unwrap_or_default();
        (0..).take(count).map(|i| key.normal(i) * scale).collect::<Vec<_>>()
    };
    for (i, e) in model.embeddings.iter().enumerate() {
        #[expect(clippy::cast_precision_loss, reason = "a width is far below 2^24")]
        let scale = (1.0 / e.width as f32).sqrt();
        extras.push((format!("embeddings.{i}.embedding"), draw(e.categories * e.width, scale)));
    }
    if let InputEncoding::Fourier { features, scale } = model.options.encoding {
        #[expect(clippy::cast_possible_truncation, reason = "a scale is a 32-bit float")]
        extras.push((FREQUENCIES.into(), draw(model.inputs() * features, scale as f32)));
    }
    extras
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
