//! Where a run starts, and what it did.

use crate::error::Error;
use crate::executor::Report;
use crate::plan::State;

/// Where a run starts.
#[derive(Debug, Clone, PartialEq)]
pub struct Start {
    /// Steps that were finished before.
    pub step: u64,
    /// Per model, the loss of the last of them that had a finite one; NaN where there is none.
    pub losses: Vec<f32>,
    /// Per model, the step at which it had diverged.
    pub diverged: Vec<Option<u64>>,
}

impl Start {
    /// Before the first step.
    pub fn fresh(models: usize) -> Self {
        Self { step: 0, losses: vec![f32::NAN; models], diverged: vec![None; models] }
    }
}

/// What a run did.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Steps finished in all, those before a resume included.
    pub steps: u64,
    /// Steps of this run that the device counted.
    pub verified_steps: u64,
    /// Loss of the last step, per model.
    pub final_losses: Vec<f32>,
    /// First step (counted from 1) whose loss was not finite, or after which a parameter was seen not to be, per model.
    pub diverged: Vec<Option<u64>>,
    /// Loss of the last step before a model diverged, or of the last step; NaN where there is none.
    pub finite_losses: Vec<f32>,
    /// Wall time of the loop.
    pub seconds: f64,
    /// Microseconds per step of all models without the first chunk; `None` if there was no other.
    pub us_per_step: Option<f64>,
    /// From the start of the run, compilation included, to the end of the first chunk.
    pub first_step_seconds: f64,
    /// Steps per submission at the end.
    pub iters_per_submit: usize,
    /// Submissions made.
    pub submissions: usize,
    /// Dispatches recorded.
    pub dispatches: usize,
    /// Host time per dispatch spent in recording, in microseconds.
    pub recording_us_per_dispatch: f64,
    /// Chunks that the device did not finish and that were repeated.
    pub repeated_chunks: usize,
    /// Whether a signal ended it.
    pub interrupted: bool,
}

impl Outcome {
    /// Nothing done since `start`.
    pub(crate) fn at(start: &Start, iters_per_submit: usize) -> Self {
        let last = |(&loss, diverged): (&f32, &Option<u64>)| if diverged.is_some() { f32::NAN } else { loss };
        Self {
            steps: start.step,
            verified_steps: 0,
            final_losses: start.losses.iter().zip(&start.diverged).map(last).collect(),
            diverged: start.diverged.clone(),
            finite_losses: start.losses.clone(),
            seconds: 0.0,
            us_per_step: None,
            first_step_seconds: 0.0,
            iters_per_submit,
            submissions: 0,
            dispatches: 0,
            recording_us_per_dispatch: 0.0,
            repeated_chunks: 0,
            interrupted: false,
        }
    }

    /// Whether no model is left whose numbers mean anything.
    pub fn all_diverged(&self) -> bool {
        self.diverged.iter().all(Option::is_some)
    }

    /// The error of a run of which every model diverged, by the model that went furthest.
    pub fn divergence(&self) -> Option<Error> {
        let (step, model) = self.diverged.iter().zip(0..).map(|(step, model)| step.map(|s| (s, model))).max()??;
        if !self.all_diverged() {
            return None;
        }
        let loss = self.finite_losses[model];
        let quantity = match (self.final_losses[model].is_finite(), loss.is_finite()) {
            (true, _) => format!("a parameter was found to be NaN or infinite after it, though the loss was {loss:?}"),
            (_, true) => {
                format!("the loss is NaN or infinite; the last finite one, of step {}, was {loss:?}", step - 1)
            }
            (_, false) => "the loss is NaN or infinite, and no step before had a finite one".into(),
        };
        let which = if self.diverged.len() == 1 { "" } else { "every model diverged, and the last of them here: " };
        Some(Error::Diverged { step, quantity: format!("{which}{quantity}") })
    }

    /// Takes over who has diverged.
    pub(crate) fn note_diverged(&mut self, state: &[State]) {
        self.diverged = state.iter().map(|state| (state[3] != 0).then_some(u64::from(state[3]))).collect();
    }

    /// Takes over the losses and the state of a verified report.
    pub(crate) fn follow(&mut self, report: &Report) {
        let models = self.diverged.len();
        self.final_losses.copy_from_slice(&report.losses[report.losses.len() - models..]);
        self.note_diverged(&report.state);
        for (model, diverged) in self.diverged.iter().enumerate() {
            // The row of the last step that counts: of one that was lost before this report, there is none.
            let rows = diverged.map_or(report.chunk.steps as u64, |s| (s - 1).saturating_sub(report.chunk.first_step));
            let row = usize::try_from(rows).unwrap_or(usize::MAX).min(report.chunk.steps).checked_sub(1);
            if let Some(row) = row {
                self.finite_losses[model] = report.losses[row * models + model];
            }
        }
    }
}
