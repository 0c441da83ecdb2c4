//! The forward pass over a whole table on the host.

use crate::arenas::Arenas;
use crate::data::Dataset;
use crate::plan::{Plan, activation_of};
use crate::real::{Real, lit};

/// Kernel and bias of each layer, as numbers of the computation.
struct Weights<T> {
    layers: Vec<(Vec<T>, Vec<T>)>,
}

impl<T: Real> Weights<T> {
    fn of(plan: &Plan, arenas: &Arenas<f32>, model: usize) -> Self {
        let tensor = |name: String| arenas.get(plan, model, &name).into_iter().map(|v| lit(f64::from(v))).collect();
        let layer = |i| (tensor(format!("layers.{i}.kernel")), tensor(format!("layers.{i}.bias")));
        Self { layers: (0..plan.layers.len()).map(layer).collect() }
    }

    /// The output for one row of the input.
    fn predict(&self, plan: &Plan, row: &[f32]) -> Vec<T> {
        let mut h: Vec<T> = row.iter().map(|&v| lit(f64::from(v))).collect();
        for (layer, (kernel, bias)) in self.layers.iter().enumerate() {
            let mut z = bias.clone();
            for (x, weights) in h.iter().zip(kernel.chunks_exact(bias.len())) {
                for (sum, &w) in z.iter_mut().zip(weights) {
                    *sum = *sum + *x * w;
                }
            }
            let activation = activation_of(&plan.step, layer);
            h = z.into_iter().map(|z| activation.evaluate(z).0).collect();
        }
        h
    }
}

/// The loss of a model over all rows of a table, in f64.
pub fn loss_over(plan: &Plan, arenas: &Arenas<f32>, model: usize, table: &Dataset) -> f64 {
    let weights = Weights::<f64>::of(plan, arenas, model);
    let (inputs, outputs) = (table.feature_names.len(), table.target_names.len());
    let mut sum = 0.0;
    for (row, expected) in table.features.chunks_exact(inputs).zip(table.targets.chunks_exact(outputs)) {
        let predicted = weights.predict(plan, row);
        sum += predicted.iter().zip(expected).map(|(&p, &t)| plan.step.loss.evaluate(p, f64::from(t)).0).sum::<f64>();
    }
    #[expect(clippy::cast_precision_loss, reason = "a count of values is far below 2^53")]
    let count = (table.rows * outputs) as f64;
    sum / count
}
