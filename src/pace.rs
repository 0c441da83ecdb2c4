//! How steps are divided into submissions and chunks, so that each fills its time budget.

use std::time::Duration;

use crate::error::{Error, Result};
use crate::executor::Chunk;

/// How steps are divided into submissions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// Steps per submission; `None` finds it from the budget.
    pub iters_per_submit: Option<usize>,
    /// The time that one submission should take.
    pub submit_budget: Duration,
}

/// Checks that an executor of `capacity` steps per chunk can keep a pace.
///
/// # Errors
/// [`Error::Usage`] with the flag and the range.
pub fn check_pace(iters_per_submit: Option<usize>, capacity: usize) -> Result<()> {
    match iters_per_submit {
        Some(iters) if iters == 0 || iters > capacity => {
            Err(Error::Usage(format!("--iters-per-submit {iters} is not possible: expected auto, or 1 to {capacity}")))
        }
        _ => Ok(()),
    }
}

/// Steps of a submission and of a chunk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sizes {
    /// Steps per submission.
    pub(crate) iters: usize,
    /// Steps per chunk: one submission, or as many short ones as fit the budget.
    pub(crate) chunk: usize,
    /// Whether `iters` follows the budget.
    auto: bool,
    budget: Duration,
    /// Never more than this, after a chunk that was too long.
    limit: usize,
}

impl Sizes {
    pub(crate) fn new(pace: Pace, capacity: usize) -> Result<Self> {
        check_pace(pace.iters_per_submit, capacity)?;
        let iters = pace.iters_per_submit.unwrap_or(1);
        let auto = pace.iters_per_submit.is_none();
        Ok(Self { iters, chunk: iters, auto, budget: pace.submit_budget, limit: capacity })
    }

    /// Moves the sizes toward the budget, at most fourfold at a time.
    pub(crate) fn adapt(&mut self, chunk: &Chunk, took: Duration, capacity: usize) {
        if chunk.steps < self.chunk {
            return;
        }
        let ratio = self.budget.as_secs_f64() / took.as_secs_f64().max(1e-6);
        // Within a quarter of the budget the size stays: it need not follow the noise.
        if (0.8..1.25).contains(&ratio) {
            return;
        }
        #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "a small positive number")]
        #[expect(clippy::cast_sign_loss, reason = "a small positive number")]
        let wanted = (chunk.steps as f64 * ratio.clamp(0.25, 4.0)) as usize;
        let wanted = wanted.clamp(1, self.limit.min(capacity));
        if self.auto {
            self.iters = wanted;
            self.chunk = wanted;
        } else {
            self.chunk = (wanted / self.iters).max(1) * self.iters;
        }
    }

    /// Halves the sizes for good, down to one step.
    pub(crate) fn shrink(&mut self, steps: usize) {
        self.limit = (steps / 2).max(1);
        self.iters = self.iters.min(self.limit);
        self.chunk = self.limit;
        self.auto = true;
    }
}
