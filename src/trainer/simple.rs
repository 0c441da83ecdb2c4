//! The short ways of the library: training in one call, a callback at the end of each chunk, and predictions of what was
//! trained.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Trained, Trainer};
use crate::checkpoint::Checkpoint;
use crate::config::TrainConfig;
use crate::error::Result;
use crate::network::{Network, Predictor, Which};
use crate::run::{Observer, Silent};
use crate::score::Scores;
use crate::validation::Kept;

/// What a callback sees: steps that the device has finished and the host has verified.
#[derive(Debug, Clone, Copy)]
pub struct ChunkEnd<'a> {
    /// Steps finished in all.
    pub step: u64,
    /// Models.
    pub models: usize,
    /// The loss of each step of the chunk before its update, shape `(steps, models)`, row-major.
    pub losses: &'a [f32],
}

impl ChunkEnd<'_> {
    /// The mean loss of a model over the steps of the chunk.
    #[expect(clippy::cast_precision_loss, reason = "a count of steps is far below 2^53")]
    pub fn mean_loss(&self, model: usize) -> f64 {
        let losses = self.losses.iter().skip(model).step_by(self.models);
        losses.map(|&loss| f64::from(loss)).sum::<f64>() / (self.losses.len() / self.models) as f64
    }
}

/// An observer that calls a function until it asks for the end.
struct Callback<'a, F> {
    call: F,
    models: usize,
    stop: &'a AtomicBool,
}

impl<F: FnMut(ChunkEnd<'_>) -> ControlFlow<()>> Observer for Callback<'_, F> {
    fn losses(&mut self, first_step: u64, losses: &[f32]) -> Result<()> {
        // Chunks that were on their way when it asked for the end are finished, but it need not see them.
        if !self.stop.load(Ordering::Relaxed) {
            let step = first_step + (losses.len() / self.models) as u64;
            let flow = (self.call)(ChunkEnd { step, models: self.models, losses });
            self.stop.store(flow.is_break(), Ordering::Relaxed);
        }
        Ok(())
    }

    fn notice(&mut self, _: &str) {}
}

impl TrainConfig {
    /// Trains to the last step, without a word.
    ///
    /// # Errors
    /// As [`Trainer::new`] and [`Trainer::train`].
    pub fn train(self) -> Result<Trained> {
        self.train_with(|_| ControlFlow::Continue(()))
    }

    /// As [`TrainConfig::train`], and calls a function at the end of each chunk; `Break` ends the run, after the chunk that may be
    /// on its way. How many steps a chunk has follows the time that they take, and no result depends on it.
    ///
    /// # Errors
    /// As [`TrainConfig::train`].
    pub fn train_with(self, at_chunk_end: impl FnMut(ChunkEnd<'_>) -> ControlFlow<()>) -> Result<Trained> {
        let trainer = Trainer::new(self, &mut Silent)?;
        let (stop, models) = (AtomicBool::new(false), trainer.members().len());
        trainer.train(&stop, &mut Callback { call: at_chunk_end, models, stop: &stop })
    }
}

impl Trained {
    /// Per model, the scores over the rows to validate with; empty where there are none.
    pub fn scores(&self) -> &[Scores] {
        self.validated.as_ref().map_or(&[], |validated| &validated.scores)
    }

    /// What predicts with the best model, with a certain one, or with the mean of all.
    ///
    /// # Errors
    /// [`crate::error::Error::Usage`] when there is no such model, or when it has diverged.
    pub fn predictor(&self, which: Which) -> Result<Predictor> {
        Predictor::of(&self.checkpoint(), which)
    }

    /// The network of a model, counted from 0.
    ///
    /// # Errors
    /// As [`Trained::predictor`].
    pub fn network(&self, model: usize) -> Result<Network> {
        Network::of(&self.checkpoint(), model)
    }

    /// The parameters that were kept. Where those of the best validation were, they do not fit to the state of the optimizer, so
    /// that nothing can go on from here.
    fn checkpoint(&self) -> Checkpoint {
        let losses = self.validated.as_ref().map(|validated| validated.scores.iter().map(Scores::loss).collect());
        let kept = Kept { losses, ..Kept::default() };
        Checkpoint::capture(&self.origin, &self.plan, &self.arenas, &self.outcome.finite_losses, kept)
    }
}
