//! The loss over a whole table.

use rayon::prelude::*;

use super::BLOCK;
use super::stages::{forward, stages};
use crate::arenas::Arenas;
use crate::data::Dataset;
use crate::plan::Plan;

/// The loss of a model of a plan over all rows of a table, in f64, on all cores. It is of the network that predicts, so that it is
/// what an evaluation finds.
pub fn loss_over(plan: &Plan, arenas: &Arenas<f32>, model: usize, table: &Dataset) -> f64 {
    let (step, columns) = (&plan.step, table.targets.len() / table.rows);
    let (inputs, outputs) = (step.model.inputs(), step.model.outputs());
    let stages = stages(&step.model, |name| arenas.get(plan, model, name));
    let row_loss = |row: usize, predicted: &[f64], slopes: &mut [f64]| {
        let weight = table.weights.as_ref().map_or(1.0, |weights| f64::from(weights[row]));
        let expected: Vec<_> = table.targets[row * columns..][..columns].iter().map(|&t| f64::from(t)).collect();
        weight * step.loss.row(predicted, &expected, step.label_smoothing, slopes)
    };
    let block_loss = |(block, features): (usize, &[f32])| {
        let mut slopes = vec![0.0; outputs];
        let predicted = forward(&stages, features);
        let rows = predicted.chunks_exact(outputs).enumerate();
        rows.map(|(i, predicted)| row_loss(block * BLOCK + i, predicted, &mut slopes)).sum()
    };
    // The sums of the blocks are added in order, so that the loss does not depend on the cores.
    let sums: Vec<f64> = table.features.par_chunks(BLOCK * inputs).enumerate().map(block_loss).collect();
    #[expect(clippy::cast_precision_loss, reason = "a count of values is far below 2^53")]
    let count = (table.rows * step.loss.terms(outputs)) as f64;
    sums.iter().sum::<f64>() / count
}
