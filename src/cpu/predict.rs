//! The forward pass over a whole table on the host.

use rayon::prelude::*;

use super::encode::{encode_row, waves};
use crate::arenas::Arenas;
use crate::data::Dataset;
use crate::plan::{Arena, Plan, activation_of, w0_of};
use crate::real::{Real, lit};
use crate::spec::{FREQUENCIES, NORM_EPS};

/// Kernel and bias of each layer, as numbers of the computation.
struct Weights<T> {
    layers: Vec<(Vec<T>, Vec<T>)>,
    /// Scale and bias of each normalization.
    norms: Vec<(Vec<T>, Vec<T>)>,
    /// Those of random Fourier features.
    frequencies: Vec<T>,
    /// All parameters, as the plan lays them out.
    params: Vec<T>,
}

impl<T: Real> Weights<T> {
    fn of(plan: &Plan, arenas: &Arenas<f32>, model: usize) -> Self {
        let tensor = |name: String| arenas.get(plan, model, &name).into_iter().map(|v| lit(f64::from(v))).collect();
        let layer = |i| (tensor(format!("layers.{i}.kernel")), tensor(format!("layers.{i}.bias")));
        let norm = |i| (tensor(format!("norms.{i}.scale")), tensor(format!("norms.{i}.bias")));
        let norms = (0..plan.layers.len()).filter(|&i| plan.step.model.has_norm(i)).map(norm).collect();
        let params = &arenas.scalars[Arena::Params as usize][Arenas::<f32>::base(plan, Arena::Params, model)..];
        let params = params[..4 * plan.sizes.of(Arena::Params)].iter().map(|&v| lit(f64::from(v))).collect();
        let layers = (0..plan.layers.len()).map(layer).collect();
        Self { layers, norms, frequencies: tensor(FREQUENCIES.into()), params }
    }

    /// The output for one row of the input.
    fn predict(&self, plan: &Plan, row: &[f32]) -> Vec<T> {
        let row: Vec<T> = row.iter().map(|&v| lit(f64::from(v))).collect();
        let mut h = vec![T::zero(); plan.layers[0].inputs];
        encode_row(plan, &self.params, &self.frequencies, &row, &mut h, waves);
        for (layer, (kernel, bias)) in self.layers.iter().enumerate() {
            let mut z = bias.clone();
            for (x, weights) in h.iter().zip(kernel.chunks_exact(bias.len())) {
                for (sum, &w) in z.iter_mut().zip(weights) {
                    *sum = *sum + *x * w;
                }
            }
            if let Some((scale, bias)) = self.norms.get(layer) {
                normalize(&mut z, scale, bias);
            }
            let (activation, w0) = (activation_of(&plan.step, layer), lit(w0_of(&plan.step, layer)));
            let mut next: Vec<T> = z.into_iter().map(|z| activation.evaluate_scaled(w0, z).0).collect();
            if plan.step.model.has_skip(layer) {
                next.iter_mut().zip(&h).for_each(|(sum, &skipped)| *sum = *sum + skipped);
            }
            h = next;
        }
        h
    }
}

/// Layer normalization of a row.
pub(crate) fn normalize<T: Real>(z: &mut [T], scale: &[T], bias: &[T]) {
    let count = T::from(z.len()).unwrap_or_else(T::one);
    let mean = z.iter().fold(T::zero(), |sum, &z| sum + z) / count;
    let variance = z.iter().fold(T::zero(), |sum, &z| sum + (z - mean) * (z - mean)) / count;
    let factor = (variance + lit(NORM_EPS)).sqrt().recip();
    for ((z, &scale), &bias) in z.iter_mut().zip(scale).zip(bias) {
        *z = (*z - mean) * factor * scale + bias;
    }
}

/// Rows whose losses are added up before they are added to the others, so that the sum does not depend on the cores.
const PART: usize = 1024;

/// The loss of a model over all rows of a table, in f64, on all cores.
pub fn loss_over(plan: &Plan, arenas: &Arenas<f32>, model: usize, table: &Dataset) -> f64 {
    let weights = Weights::<f64>::of(plan, arenas, model);
    let (inputs, columns) = (plan.step.model.inputs(), table.targets.len() / table.rows);
    let row_loss = |i: usize| {
        let weight = table.weights.as_ref().map_or(1.0, |weights| f64::from(weights[i]));
        let predicted = weights.predict(plan, &table.features[i * inputs..][..inputs]);
        let expected: Vec<_> = table.targets[i * columns..][..columns].iter().map(|&t| f64::from(t)).collect();
        let mut slopes = vec![0.0; predicted.len()];
        weight * plan.step.loss.row(&predicted, &expected, plan.step.label_smoothing, &mut slopes)
    };
    let parts = (0..table.rows.div_ceil(PART)).into_par_iter();
    let sums: Vec<f64> =
        parts.map(|part| (part * PART..table.rows.min((part + 1) * PART)).map(row_loss).sum()).collect();
    #[expect(clippy::cast_precision_loss, reason = "a count of values is far below 2^53")]
    let count = (table.rows * plan.step.loss.terms(plan.step.model.outputs())) as f64;
    sums.iter().sum::<f64>() / count
}
