//! What runs a plan: the edge between the training loop and a device.

use std::time::Duration;

use crate::arenas::Arenas;
use crate::error::Result;
use crate::plan::{Arena, State};

/// Steps that are run between two visits to the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// Steps finished before it.
    pub first_step: u64,
    /// Steps in it, at least 1 and at most [`Executor::capacity`].
    pub steps: usize,
    /// Steps of one submission; the last one of a chunk may have fewer.
    pub iters_per_submit: usize,
}

/// What a chunk did.
#[derive(Debug, Clone)]
pub struct Report {
    /// The chunk.
    pub chunk: Chunk,
    /// The loss of each step before its update, `(steps, models)` row-major.
    pub losses: Vec<f32>,
    /// State of each model after the chunk, as the device counted it.
    pub state: Vec<State>,
    /// Submissions that were made for it.
    pub submissions: usize,
    /// Dispatches that were recorded for it.
    pub dispatches: usize,
    /// Host time spent in recording it.
    pub recording: Duration,
    /// Time that the device spent on it, where that is measured.
    pub gpu: Option<Duration>,
    /// Why it was lost, if the device said so; its steps do not count then.
    pub fault: Option<String>,
}

impl Report {
    /// A report of nothing done yet.
    pub(crate) fn of(chunk: Chunk) -> Self {
        let (losses, state) = (Vec::new(), Vec::new());
        let recording = Duration::ZERO;
        Self { chunk, losses, state, submissions: 0, dispatches: 0, recording, gpu: None, fault: None }
    }

    /// The count of a model that did not finish all steps of the chunk, if there is one.
    pub fn short(&self) -> Option<u32> {
        #[expect(clippy::cast_possible_truncation, reason = "the device counts in 32 bits and wraps around")]
        let expected = (self.chunk.first_step + self.chunk.steps as u64) as u32;
        self.state.iter().map(|state| state[0]).find(|&counted| counted != expected)
    }
}

/// Runs chunks of a plan, in order, at most two of them at a time.
///
/// Results do not depend on how steps are divided into chunks and submissions.
pub trait Executor {
    /// The name on the command line.
    fn name(&self) -> &'static str;

    /// The most steps that a chunk may have.
    fn capacity(&self) -> usize;

    /// Keeps every dispatch to at most `steps` steps from now on, after a longer one was cut short.
    fn shrink_dispatches(&mut self, _steps: usize) {}

    /// Measures the device's own time of each chunk from now on, or stops that, where the device can. Nothing is in
    /// flight. Off at first, and free of cost then.
    fn measure_gpu_time(&mut self, _on: bool) {}

    /// Multiplies the scheduled learning rate of each model from now on. Nothing is in flight, and the state is saved before
    /// steps that may have to be repeated.
    fn scale_learning_rates(&mut self, scales: &[f64]);

    /// Starts a chunk.
    ///
    /// # Errors
    /// [`crate::error::Error::Device`] when the device is lost or out of memory.
    fn enqueue(&mut self, chunk: Chunk) -> Result<()>;

    /// Waits for the oldest chunk in flight and reads what it did; `None` if there is none.
    ///
    /// # Errors
    /// [`crate::error::Error::Device`] when the device is lost, hangs, or failed.
    fn collect(&mut self) -> Result<Option<Report>>;

    /// Keeps a copy of the state, to which [`Executor::restore`] goes back. Nothing is in flight.
    ///
    /// # Errors
    /// As for [`Executor::enqueue`].
    fn save(&mut self) -> Result<()>;

    /// Goes back to the last copy. Nothing is in flight.
    ///
    /// # Errors
    /// As for [`Executor::enqueue`].
    fn restore(&mut self) -> Result<()>;

    /// Reads all arenas. Nothing is in flight.
    ///
    /// # Errors
    /// As for [`Executor::collect`].
    fn read(&mut self) -> Result<Arenas<f32>>;

    /// Overwrites all arenas. Nothing is in flight.
    ///
    /// # Errors
    /// As for [`Executor::enqueue`].
    fn write(&mut self, arenas: &Arenas<f32>) -> Result<()>;

    /// Reads the numbers of one arena, of all models. Nothing is in flight.
    ///
    /// # Errors
    /// As for [`Executor::collect`].
    fn read_arena(&mut self, arena: Arena) -> Result<Vec<f32>> {
        let mut arenas = self.read()?;
        Ok(std::mem::take(&mut arenas.scalars[arena as usize]))
    }

    /// Overwrites the parameters, and the state of each model. Nothing is in flight.
    ///
    /// # Errors
    /// As for [`Executor::enqueue`].
    fn write_params(&mut self, params: &[f32], state: &[State]) -> Result<()> {
        let mut arenas = self.read()?;
        arenas.scalars[Arena::Params as usize].copy_from_slice(params);
        arenas.state.copy_from_slice(state);
        self.write(&arenas)
    }
}
