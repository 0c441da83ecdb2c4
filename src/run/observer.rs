//! Who is told of a run while it lasts, and may change its course.

use crate::error::Result;
use crate::executor::Executor;
use crate::outcome::Outcome;
use crate::score::Scores;

/// What the loop tells of its progress.
pub trait Observer {
    /// Losses `(steps, models)` of verified steps; `first_step` steps came before them.
    ///
    /// # Errors
    /// What the observer could not write; it ends the run.
    fn losses(&mut self, first_step: u64, losses: &[f32]) -> Result<()>;

    /// Something that the user should know.
    fn notice(&mut self, text: &str);

    /// The scores of each model over the validation rows after `step` steps, which were told before.
    ///
    /// # Errors
    /// As for [`Observer::losses`].
    fn validated(&mut self, _step: u64, _scores: &[Scores]) -> Result<()> {
        Ok(())
    }

    /// What the learning rates of the models are multiplied with after `step` steps.
    fn scaled(&mut self, _step: u64, _scales: &[f64]) {}

    /// The run is at a multiple of one of [`Run::pauses`](super::Run::pauses), and nothing is in flight: the state may be read, and the executor
    /// changed.
    ///
    /// # Errors
    /// What ends the run.
    fn paused(&mut self, _so_far: &Outcome, _executor: &mut dyn Executor) -> Result<Flow> {
        Ok(Flow::Continue)
    }
}

/// How a run goes on after a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// As before.
    Continue,
    /// With an executor that was changed, so that no step from before may be repeated.
    Changed,
    /// Not at all.
    Stop,
}

/// An observer that says nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {
    fn losses(&mut self, _: u64, _: &[f32]) -> Result<()> {
        Ok(())
    }

    fn notice(&mut self, _: &str) {}
}
