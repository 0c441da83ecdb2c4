//! Sums over rows, and the metrics that come of them.

#[cfg(test)]
mod tests;

use super::Scores;
use crate::data::schema::Targets;
use crate::spec::{Loss, largest};

/// Rows of a class, or of a label.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ClassCounts {
    /// Rows that are of it.
    pub actual: f64,
    /// Rows that were taken for it.
    pub predicted: f64,
    /// Rows that are of it and were taken for it.
    pub right: f64,
}

/// Errors of one output, in the units of training.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ErrorSums {
    /// Sum of the absolute errors.
    pub absolute: f64,
    /// Sum of the squared errors.
    pub squared: f64,
}

/// Sums over rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    /// Rows that were counted.
    pub rows: f64,
    /// Weighted sum of the loss of the rows, of which each is the mean over its outputs.
    pub loss: f64,
    /// Sum of the weights.
    pub weight: f64,
    /// Sum of the cross-entropy of the classes without smoothing.
    pub log_loss: f64,
    /// Per output: errors of numbers.
    pub errors: Vec<ErrorSums>,
    /// Per class; of labels, 0 and 1 of each column after another.
    pub counts: Vec<ClassCounts>,
    /// Per column of labels, or for two classes: score and truth of each row.
    pub ranked: Vec<Vec<(f32, bool)>>,
}

/// Whether a label counts as 1.
pub(crate) fn is_one(label: f64) -> bool {
    label >= 0.5
}

impl Tally {
    /// Nothing counted yet.
    pub fn new(targets: &Targets) -> Self {
        let outputs = targets.outputs();
        let (errors, counts, ranked) = match targets {
            Targets::Numbers { .. } => (outputs, 0, 0),
            Targets::Labels { .. } => (0, 2 * outputs, outputs),
            Targets::Classes { .. } => (0, outputs, usize::from(outputs == 2)),
        };
        Self {
            errors: vec![ErrorSums::default(); errors],
            counts: vec![ClassCounts::default(); counts],
            ranked: vec![Vec::new(); ranked],
            ..Self::default()
        }
    }

    /// Counts a row by the outputs of the network and its target: as many numbers, or the index of the class.
    pub fn add(&mut self, loss: Loss, smoothing: f64, outputs: &[f64], target: &[f32], weight: f64) {
        self.rows += 1.0;
        self.weight += weight;
        if loss == Loss::SoftmaxCrossEntropy {
            return self.add_class(smoothing, outputs, target, weight);
        }
        let mut sum = 0.0;
        for (o, (&output, &target)) in outputs.iter().zip(target).enumerate() {
            let target = f64::from(target);
            sum += loss.evaluate(output, target).0;
            if let Some(errors) = self.errors.get_mut(o) {
                errors.absolute += (output - target).abs();
                errors.squared += (output - target).powi(2);
            }
            if let Some(ranked) = self.ranked.get_mut(o) {
                #[expect(clippy::cast_possible_truncation, reason = "the device has f32 as well")]
                ranked.push((output as f32, is_one(target)));
                count(&mut self.counts[2 * o..2 * o + 2], usize::from(is_one(target)), usize::from(output >= 0.0));
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "a width")]
        let mean = sum / outputs.len() as f64;
        self.loss += weight * mean;
    }

    /// Counts a row by what the device kept of it: class, cross-entropy without and with smoothing, and margin of the second
    /// class; `target` has the true class.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the index of a class")]
    pub fn add_answer(&mut self, answer: &[f64], target: &[f32], weight: f64) {
        let class = |index: f64| (index as usize).min(self.counts.len() - 1);
        let (actual, predicted) = (class(f64::from(target[0])), class(answer[0]));
        self.rows += 1.0;
        self.weight += weight;
        self.log_loss += answer[1];
        self.loss += weight * answer[2];
        count(&mut self.counts, actual, predicted);
        if let Some(ranked) = self.ranked.first_mut() {
            ranked.push((answer[3] as f32, actual == 1));
        }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the index of a class")]
    fn add_class(&mut self, smoothing: f64, outputs: &[f64], target: &[f32], weight: f64) {
        let class = target.first().map_or(0, |&t| t as usize).min(outputs.len() - 1);
        self.loss += weight * crate::spec::softmax_cross_entropy(outputs, class, smoothing);
        self.log_loss += crate::spec::softmax_cross_entropy(outputs, class, 0.0);
        count(&mut self.counts, class, largest(outputs));
        if let Some(ranked) = self.ranked.first_mut() {
            ranked.push(((outputs[1] - outputs[0]) as f32, class == 1));
        }
    }

    /// The metrics. `spread` has, per output, the sum of the squared distances of the targets from their mean, in the units
    /// of training.
    pub fn scores(&self, targets: &Targets, spread: &[f64]) -> Scores {
        let loss = self.loss / self.weight;
        match targets {
            Targets::Numbers { columns } => {
                let over = |of: &dyn Fn(usize) -> f64| mean((0..columns.len()).map(of));
                let (errors, rows) = (&self.errors, self.rows);
                Scores::Numbers {
                    loss,
                    mae: over(&|o| columns[o].std * errors[o].absolute / rows),
                    rmse: over(&|o| columns[o].std * (errors[o].squared / rows).sqrt()),
                    r2: over(&|o| r2(errors[o].squared, spread[o], rows)),
                }
            }
            Targets::Labels { columns } => {
                let pairs = || self.counts.chunks_exact(2).take(columns.len());
                Scores::Labels {
                    loss,
                    accuracy: mean(pairs().map(|pair| accuracy(pair, self.rows))),
                    balanced_accuracy: mean(pairs().map(balanced_accuracy)),
                    f1: mean(pairs().map(|pair| f1(&pair[1]).unwrap_or(0.0))),
                    auc: mean(self.ranked.iter().map(|ranked| area_under_curve(ranked))),
                }
            }
            Targets::Classes { .. } => Scores::Classes {
                loss,
                accuracy: accuracy(&self.counts, self.rows),
                balanced_accuracy: balanced_accuracy(&self.counts),
                macro_f1: mean(self.counts.iter().filter_map(f1)),
                log_loss: self.log_loss / self.rows,
                auc: self.ranked.first().map(|ranked| area_under_curve(ranked)),
            },
        }
    }
}

/// Share of the spread that is explained. As scikit-learn's, it is 1 or 0 where all targets are the same, and none of one row.
fn r2(squared: f64, spread: f64, rows: f64) -> f64 {
    match () {
        () if rows < 2.0 => f64::NAN,
        () if spread > 0.0 => 1.0 - squared / spread,
        () if squared == 0.0 => 1.0,
        () => 0.0,
    }
}

/// Sum of the squared distances from the mean, per column of the row-major `values`, as [`Tally::scores`] takes it.
pub fn spread(values: &[f32], columns: usize) -> Vec<f64> {
    let of = |c: usize| {
        let column = || values.iter().skip(c).step_by(columns).map(|&v| f64::from(v));
        let middle = mean(column());
        column().map(|v| (v - middle).powi(2)).sum()
    };
    (0..columns).map(of).collect()
}

fn count(counts: &mut [ClassCounts], actual: usize, predicted: usize) {
    counts[actual].actual += 1.0;
    counts[predicted].predicted += 1.0;
    if actual == predicted {
        counts[actual].right += 1.0;
    }
}

/// The plain mean; NaN of nothing.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) = values.fold((0.0, 0.0), |(n, sum), v| (n + 1.0, sum + v));
    sum / count
}

fn accuracy(counts: &[ClassCounts], rows: f64) -> f64 {
    counts.iter().map(|c| c.right).sum::<f64>() / rows
}

fn balanced_accuracy(counts: &[ClassCounts]) -> f64 {
    mean(counts.iter().filter(|c| c.actual > 0.0).map(|c| c.right / c.actual))
}

/// `None` of a class that neither occurs nor is predicted.
fn f1(counts: &ClassCounts) -> Option<f64> {
    let sum = counts.actual + counts.predicted;
    (sum > 0.0).then(|| 2.0 * counts.right / sum)
}

/// The share of pairs of a 1 and a 0 of which the 1 has the larger score; equal scores count half. Reference: Hanley,
/// McNeil (1982), "The meaning and use of the area under a receiver operating characteristic curve".
pub fn area_under_curve(ranked: &[(f32, bool)]) -> f64 {
    let mut sorted = ranked.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut zeros, mut ones, mut area) = (0.0, 0.0, 0.0);
    for equals in sorted.chunk_by(|a, b| a.0 == b.0) {
        let (count, positive) = equals.iter().fold((0.0, 0.0), |(n, p), e| (n + 1.0, p + f64::from(u8::from(e.1))));
        let negative: f64 = count - positive;
        area += positive * (zeros + negative / 2.0);
        zeros += negative;
        ones += positive;
    }
    area / (zeros * ones)
}
