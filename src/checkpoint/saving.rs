//! An observer that writes checkpoints, and passes everything on to another.

use std::path::PathBuf;

use super::{Checkpoint, Origin, Saver, mark_diverged};
use crate::arenas::Arenas;
use crate::error::{Error, Result};
use crate::executor::Executor;
use crate::plan::Plan;
use crate::run::{Observer, Outcome};

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

/// Writes a checkpoint at each pause and at the end, but never one in which every model has diverged.
pub struct Saving<'a> {
    observer: &'a mut dyn Observer,
    plan: &'a Plan,
    origin: &'a Origin,
    saver: Option<Saver>,
}

impl<'a> Saving<'a> {
    /// Saves with `saver`, if there is one.
    pub fn new(observer: &'a mut dyn Observer, plan: &'a Plan, origin: &'a Origin, saver: Option<Saver>) -> Self {
        Self { observer, plan, origin, saver }
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

    /// Writes the last state, and tells in `outcome` whose parameters are not finite.
    pub fn finish(mut self, outcome: &mut Outcome, arenas: &mut Arenas<f32>) -> Option<Saved> {
        if mark_diverged(self.plan, arenas) {
            outcome.note_diverged(&arenas.state);
        }
        let result = self.write(outcome, arenas);
        let saver = self.saver?;
        Some(Saved { path: saver.path().to_path_buf(), step: saver.saved(), error: result.err() })
    }

    /// Writes a state, unless it is there already or of no use.
    fn write(&mut self, outcome: &Outcome, arenas: &Arenas<f32>) -> Result<()> {
        let Some(saver) = &mut self.saver else { return Ok(()) };
        let diverged = arenas.state.iter().all(|state| state[3] != 0);
        if diverged || saver.saved() == Some(outcome.steps) {
            return Ok(());
        }
        saver.write(&Checkpoint::capture(self.origin, self.plan, arenas, &outcome.finite_losses))
    }
}

impl Observer for Saving<'_> {
    fn losses(&mut self, first_step: u64, losses: &[f32]) -> Result<()> {
        self.observer.losses(first_step, losses)
    }

    fn notice(&mut self, text: &str) {
        self.observer.notice(text);
    }

    fn paused(&mut self, so_far: &Outcome, executor: &mut dyn Executor) -> Result<()> {
        let mut arenas = executor.read()?;
        if mark_diverged(self.plan, &mut arenas) {
            executor.write(&arenas)?;
        }
        if let Err(error) = self.write(so_far, &arenas) {
            // A full disk may have room again at the next one; the run is worth more than this copy of it.
            self.observer.notice(&format!("no checkpoint at step {}: {error}", so_far.steps));
        }
        self.observer.paused(so_far, executor)
    }
}
