//! The results of a benchmark.

use serde::Serialize;

use super::Way;
use super::local::Measured;
use crate::gpu::AdapterSummary;
use crate::plan::Plan;

/// A finished benchmark.
#[derive(Debug, Clone)]
pub struct Bench {
    /// The adapter, `None` where there is none.
    pub adapter: Option<AdapterSummary>,
    /// The plan of all rows but the ensemble, whose plan has more models.
    pub plan: Plan,
    /// The step at which losses were compared.
    pub compared_step: usize,
    /// A row per way.
    pub rows: Vec<Row>,
}

/// One way of walking the step.
#[derive(Debug, Clone)]
pub struct Row {
    /// The way.
    pub way: Way,
    /// Models that it trains.
    pub models: usize,
    /// What was measured, or why nothing was.
    pub outcome: Result<Figures, String>,
}

/// Median and range over the rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

impl Spread {
    /// Of at least one value.
    pub(super) fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let (&min, &max) = (values.first()?, values.last()?);
        let middle = values.len() / 2;
        let median =
            if values.len() % 2 == 1 { values[middle] } else { f64::midpoint(values[middle - 1], values[middle]) };
        Some(Self { median, min, max })
    }
}

/// What was measured of one way. Times are of steps of all its models, in microseconds, unless said otherwise.
#[derive(Debug, Clone, Serialize)]
pub struct Figures {
    /// Steps of one submission.
    pub steps_per_submission: usize,
    /// Wall time per step in the steady state.
    pub us_per_step: Spread,
    /// The median of it, per model.
    pub us_per_model_step: f64,
    /// Host time per step spent in recording commands; `None` where nothing is recorded.
    pub recording_us_per_step: Option<f64>,
    /// Time per step between the timestamps of the device, from a turn of its own.
    pub gpu_us_per_step: Option<f64>,
    /// Seconds from opening the adapter, compilation included, to the loss of the first step on the host.
    pub first_step_seconds: f64,
    /// How many times faster a step of one model is than with one submission per op.
    pub speedup: Option<f64>,
    /// Loss of the first model at the step where all ways are compared.
    pub compared_loss: Option<f32>,
    /// Whether that loss is within 1e-3 of the first row's.
    pub agree: bool,
    /// Loss of the first model at its last step.
    pub final_loss: Option<f32>,
    /// Steps run in all.
    pub steps: u64,
    /// Whether the device's own count matched after every chunk.
    pub verified: bool,
}

/// What a contestant went through.
#[derive(Debug, Default)]
pub(super) struct Record {
    pub(super) first_step_seconds: f64,
    pub(super) compared_loss: Option<f32>,
    pub(super) rounds: Vec<Measured>,
    pub(super) gpu: Option<Measured>,
    pub(super) steps: u64,
    pub(super) verified: bool,
}

impl Record {
    /// The figures of a record; speedup and agreement follow from [`compare`].
    pub(super) fn figures(&self, models: usize) -> Option<Figures> {
        let per_step = |seconds: f64, m: &Measured| seconds * 1e6 / real(m.steps);
        let us_per_step = Spread::of(self.rounds.iter().map(|m| per_step(m.seconds, m)).collect())?;
        let recording = Spread::of(self.rounds.iter().map(|m| per_step(m.recording, m)).collect())?;
        let last = self.rounds.last()?;
        Some(Figures {
            steps_per_submission: last.iters_per_submit,
            us_per_step,
            us_per_model_step: us_per_step.median / real(models),
            recording_us_per_step: (recording.median > 0.0).then_some(recording.median),
            gpu_us_per_step: self.gpu.as_ref().and_then(|m| m.gpu.map(|seconds| per_step(seconds, m))),
            first_step_seconds: self.first_step_seconds,
            speedup: None,
            compared_loss: self.compared_loss,
            agree: false,
            final_loss: self.gpu.as_ref().unwrap_or(last).loss,
            steps: self.steps,
            verified: self.verified,
        })
    }
}

/// How far two losses may be apart: rounding grows with the steps.
const TOLERANCE: f32 = 1e-3;

/// Fills in what rows say of each other.
pub(super) fn compare(rows: &mut [Row]) {
    let figures = || rows.iter().filter_map(|row| row.outcome.as_ref().ok().map(|f| (row.way, f)));
    let base = figures().find(|(way, f)| *way == Way::OpByOp && f.verified).map(|(_, f)| f.us_per_model_step);
    let loss = figures().find_map(|(_, f)| f.compared_loss);
    for row in rows {
        let Ok(figures) = &mut row.outcome else { continue };
        figures.speedup = base.filter(|_| figures.verified).map(|base| base / figures.us_per_model_step);
        let pair = loss.zip(figures.compared_loss);
        figures.agree = pair.is_some_and(|(want, got)| (want - got).abs() <= TOLERANCE * want.abs());
    }
}

/// A count as a number.
#[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
pub(super) fn real(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_is_median_and_range() {
        let spread = |values: &[f64]| Spread::of(values.to_vec()).map(|s| (s.median, s.min, s.max));
        assert_eq!(spread(&[]), None, "nothing");
        assert_eq!(spread(&[2.0]), Some((2.0, 2.0, 2.0)), "one");
        assert_eq!(spread(&[9.0, 1.0, 2.0]), Some((2.0, 1.0, 9.0)), "odd");
        assert_eq!(spread(&[9.0, 1.0, 2.0, 4.0]), Some((3.0, 1.0, 9.0)), "even");
    }
}
