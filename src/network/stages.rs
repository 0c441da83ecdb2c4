//! What a network computes, stage by stage.

use multiversion::multiversion;

use super::{Embedder, Encoder, narrow};
use crate::spec::{Activation, Embedding, InputEncoding, Model, NORM_EPS};

/// A part of a network that maps a row to a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Stage {
    /// `x kernel + bias`.
    Dense(Dense),
    /// A function of each number.
    Activation(Activation),
    /// Waves of the inputs.
    Encoding(Encoder),
    /// Rows of tables in the place of indices of categories.
    Embedding(Embedder),
    /// Normalization over the row, then `scale` and `bias` of each number.
    LayerNorm {
        /// Shape `(outputs)` of the layer.
        scale: Vec<f32>,
        /// Shape `(outputs)` of the layer.
        bias: Vec<f32>,
    },
    /// Keeps the row for the next [`Stage::Join`].
    Fork,
    /// Adds the row that was kept.
    Join,
}

/// A dense layer.
#[derive(Debug, Clone, PartialEq)]
pub struct Dense {
    /// Width of the row it reads.
    pub inputs: usize,
    /// Width of the row it gives.
    pub outputs: usize,
    /// Shape `(inputs, outputs)`, row-major.
    pub kernel: Vec<f32>,
    /// Shape `(outputs)`.
    pub bias: Vec<f32>,
}

/// What stages make of rows, shape `(rows, inputs)`, in f64: the outputs, shape `(rows, outputs)`.
pub(super) fn forward(stages: &[Stage], rows: &[f32]) -> Vec<f64> {
    let mut h = widened(rows);
    let mut kept = Vec::new();
    for stage in stages {
        match stage {
            Stage::Dense(dense) => h = dense.forward(&h),
            Stage::Activation(activation) => h.iter_mut().for_each(|z| *z = activation.evaluate(*z).0),
            Stage::Encoding(encoder) => h = encoder.forward(&h),
            Stage::Embedding(embedder) => h = embedder.forward(&h),
            Stage::LayerNorm { scale, bias } => normalize(&mut h, &widened(scale), &widened(bias)),
            Stage::Fork => kept.clone_from(&h),
            Stage::Join => h.iter_mut().zip(&kept).for_each(|(sum, kept)| *sum += kept),
        }
    }
    h
}

fn widened(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| f64::from(value)).collect()
}

/// Layer normalization of each row.
#[expect(clippy::cast_precision_loss, reason = "the width of a layer is far below 2^53")]
fn normalize(rows: &mut [f64], scale: &[f64], bias: &[f64]) {
    let count = scale.len() as f64;
    for z in rows.chunks_exact_mut(scale.len()) {
        let mean = z.iter().sum::<f64>() / count;
        let variance = z.iter().map(|z| (z - mean) * (z - mean)).sum::<f64>() / count;
        let factor = (variance + NORM_EPS).sqrt().recip();
        for ((z, scale), bias) in z.iter_mut().zip(scale).zip(bias) {
            *z = (*z - mean) * factor * scale + bias;
        }
    }
}

impl Dense {
    fn forward(&self, rows: &[f64]) -> Vec<f64> {
        let mut z = widened(&self.bias).repeat(rows.len() / self.inputs);
        add_products(rows, self.inputs, &widened(&self.kernel), &mut z, self.outputs);
        z
    }
}

/// `z += x kernel` of each row, whatever vectors the processor has: with the same bits, as no product is fused with its sum.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2"))]
fn add_products(rows: &[f64], inputs: usize, kernel: &[f64], z: &mut [f64], outputs: usize) {
    for (row, z) in rows.chunks_exact(inputs).zip(z.chunks_exact_mut(outputs)) {
        for (&x, weights) in row.iter().zip(kernel.chunks_exact(outputs)) {
            z.iter_mut().zip(weights).for_each(|(sum, w)| *sum += x * w);
        }
    }
}

/// The stages of a model, whose weights are `tensor(name)`.
pub(super) fn stages(model: &Model, tensor: impl Fn(&str) -> Vec<f32>) -> Vec<Stage> {
    let mut stages = Vec::new();
    if model.options.encoding != InputEncoding::None {
        let frequencies = model.constants().iter().flat_map(|(name, _)| tensor(name)).map(f64::from).collect();
        stages.push(Stage::Encoding(Encoder::new(model, frequencies)));
    }
    if !model.embeddings.is_empty() {
        let table = |(i, e): (usize, &Embedding)| (*e, tensor(&format!("embeddings.{i}.embedding")));
        let tables = model.embeddings.iter().enumerate().map(table).collect();
        stages.push(Stage::Embedding(Embedder::new(model.inputs(), tables)));
    }
    let last = model.layers().len() - 1;
    for (layer, (inputs, outputs)) in model.layers().enumerate() {
        if model.has_skip(layer) {
            stages.push(Stage::Fork);
        }
        // sin(w0 z) is sin(z) of weights that are w0 times as large, in whatever comes before it.
        let scaled = |name: String, by: f64| tensor(&name).into_iter().map(|v| narrow(by * f64::from(v))).collect();
        let w0 = if layer < last { model.w0 } else { 1.0 };
        let (of_dense, of_norm) = if model.has_norm(layer) { (1.0, w0) } else { (w0, 1.0) };
        let [kernel, bias] = ["kernel", "bias"].map(|part| scaled(format!("layers.{layer}.{part}"), of_dense));
        stages.push(Stage::Dense(Dense { inputs, outputs, kernel, bias }));
        if model.has_norm(layer) {
            let [scale, bias] = ["scale", "bias"].map(|part| scaled(format!("norms.{layer}.{part}"), of_norm));
            stages.push(Stage::LayerNorm { scale, bias });
        }
        if layer < last {
            stages.push(Stage::Activation(model.activation));
        }
        if model.has_skip(layer) {
            stages.push(Stage::Join);
        }
    }
    stages
}
