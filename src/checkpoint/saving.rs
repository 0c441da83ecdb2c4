//! An observer that validates and writes checkpoints, and passes everything on to another.

use std::path::PathBuf;

use super::divergence::mark_diverged;
use super::{Checkpoint, Origin, Saver};
use crate::arenas::Arenas;
use crate::error::{Error, Result};
use crate::executor::Executor;
use crate::plan::{Arena, Plan};
use crate::run::{Flow, Observer, Outcome};
use crate::score::Scores;
use crate::validation::{Validated, Validation};

/// What was saved of a finished run.
#[derive(Debug)]
pub struct Saved {
    /// The checkpoint.
    pub path: PathBuf,
    /// Its step; `None` if there is none.
    pub step: Option<u64>,
    /// Why the last state could not be written.
    pub error: Option<Error>,
}

/// Validates where it is due, and writes a checkpoint where that is due, and at the end, but never one in which every
/// model has diverged.
pub struct Saving<'a> {
    observer: &'a mut dyn Observer,
    plan: &'a Plan,
    origin: &'a Origin,
    saver: Option<Saver>,
    /// Steps between two checkpoints.
    every: Option<u64>,
    validation: Option<Validation>,
    /// Where the state of the best validation is written.
    best: Option<Saver>,
}

impl<'a> Saving<'a> {
    /// Saves with `saver`, if there is one, each `every` steps, and with `best` after the best validations.
    pub fn new(
        observer: &'a mut dyn Observer,
        plan: &'a Plan,
        origin: &'a Origin,
        (saver, every): (Option<Saver>, Option<u64>),
        (validation, best): (Option<Validation>, Option<Saver>),
    ) -> Self {
        Self { observer, plan, origin, saver, every, validation, best }
    }

    /// The periods at which a run must pause for it.
    pub fn pauses(&self) -> Vec<u64> {
        self.every.into_iter().chain(self.validation.as_ref().map(Validation::period)).collect()
    }

    /// Names the last checkpoint in the error of a run that failed.
    pub fn name_last(&self, error: Error) -> Error {
        let last = self.saver.as_ref().and_then(|saver| Some((saver.path().display(), saver.saved()?)));
        match (error, last) {
            (Error::Device(text), Some((path, step))) => {
                Error::Device(format!("{text}; --resume {path} goes on from step {step}"))
            }
            (error, _) => error,
        }
    }

    /// Validates the last state and writes it, and tells in `outcome` whose parameters are not finite.
    ///
    /// # Errors
    /// As [`Validation::validate`], and what the observer returns.
    pub fn finish(
        mut self,
        outcome: &mut Outcome,
        arenas: &mut Arenas<f32>,
    ) -> Result<(Option<Saved>, Option<Validated>)> {
        if mark_diverged(self.plan, arenas) {
            outcome.note_diverged(&arenas.state);
        }
        let params = &arenas.scalars[Arena::Params as usize];
        if self.validation.as_ref().is_some_and(|v| v.last_step() != Some(outcome.steps))
            && self.validate(outcome, params)?
        {
            self.write_best(outcome, arenas)?;
        }
        let result = self.write(outcome, arenas);
        let saved = self.saver.as_ref().map(|saver| Saved {
            path: saver.path().to_path_buf(),
            step: saver.saved(),
            error: result.err(),
        });
        let params = &arenas.scalars[Arena::Params as usize];
        let validated = self.validation.map(|validation| validation.finish(outcome.steps, params)).transpose()?;
        Ok((saved, validated))
    }

    /// Validates the parameters after the steps of `outcome`, and returns whether one model is better than every model before.
    fn validate(&mut self, outcome: &Outcome, params: &[f32]) -> Result<bool> {
        let Some(validation) = &mut self.validation else { return Ok(false) };
        let before = validation.best_loss();
        let scores = validation.validate(outcome.steps, params)?;
        self.observer.validated(outcome.steps, scores)?;
        Ok(validation.best_loss() < before)
    }

    /// Writes a state, unless it is there already or of no use.
    fn write(&mut self, outcome: &Outcome, arenas: &Arenas<f32>) -> Result<()> {
        let diverged = arenas.state.iter().all(|state| state[3] != 0);
        let Some(saver) = self.saver.as_mut().filter(|saver| !diverged && saver.saved() != Some(outcome.steps)) else {
            return Ok(());
        };
        saver.write(&capture(self.origin, self.plan, self.validation.as_ref(), outcome, arenas))
    }

    /// Writes the state of the best validation.
    fn write_best(&mut self, outcome: &Outcome, arenas: &Arenas<f32>) -> Result<()> {
        let Some(saver) = &mut self.best else { return Ok(()) };
        saver.write(&capture(self.origin, self.plan, self.validation.as_ref(), outcome, arenas))
    }

    /// Notes that a checkpoint could not be written: a full disk may have room again at the next one, and the run is worth
    /// more than this copy of it.
    fn tolerate(&mut self, result: Result<()>, step: u64) {
        if let Err(error) = result {
            self.observer.notice(&format!("no checkpoint at step {step}: {error}"));
        }
    }
}

/// The state of a run with what is kept of its validation.
fn capture(
    origin: &Origin,
    plan: &Plan,
    validation: Option<&Validation>,
    outcome: &Outcome,
    arenas: &Arenas<f32>,
) -> Checkpoint {
    let kept = validation.map(|validation| validation.kept(outcome.steps)).unwrap_or_default();
    Checkpoint::capture(origin, plan, arenas, &outcome.finite_losses, kept)
}

/// Whether something with this period is due after a step.
fn is_due(period: Option<u64>, step: u64) -> bool {
    period.is_some_and(|period| step.is_multiple_of(period.max(1)))
}

impl Observer for Saving<'_> {
    fn losses(&mut self, first_step: u64, losses: &[f32]) -> Result<()> {
        self.observer.losses(first_step, losses)
    }

    fn notice(&mut self, text: &str) {
        self.observer.notice(text);
    }

    fn validated(&mut self, step: u64, scores: &[Scores]) -> Result<()> {
        self.observer.validated(step, scores)
    }

    fn paused(&mut self, so_far: &Outcome, executor: &mut dyn Executor) -> Result<Flow> {
        let step = so_far.steps;
        let (mut better, mut changed) = (false, false);
        if is_due(self.validation.as_ref().map(Validation::period), step) {
            let params = executor.read_arena(Arena::Params)?;
            better = self.validate(so_far, &params)?;
            if let Some(scales) = self.validation.as_mut().and_then(Validation::take_scales) {
                executor.scale_learning_rates(&scales);
                self.observer.scaled(step, &scales);
                changed = true;
            }
        }
        let due = is_due(self.every, step);
        if due || better && self.best.is_some() {
            let mut arenas = executor.read()?;
            if mark_diverged(self.plan, &mut arenas) {
                executor.write(&arenas)?;
            }
            if better {
                let result = self.write_best(so_far, &arenas);
                self.tolerate(result, step);
            }
            if due {
                let result = self.write(so_far, &arenas);
                self.tolerate(result, step);
            }
        }
        if self.validation.as_ref().is_some_and(Validation::is_over) {
            return Ok(Flow::Stop);
        }
        let flow = self.observer.paused(so_far, executor)?;
        Ok(if flow == Flow::Continue && changed { Flow::Changed } else { flow })
    }

    fn scaled(&mut self, step: u64, scales: &[f64]) {
        self.observer.scaled(step, scales);
    }
}
