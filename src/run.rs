//! The loop over chunks: submits, verifies, reports, and starts again from the last good state where a device did less
//! than it was told.
//!
//! Invariant: a step is reported once, in order, after the device's own count has confirmed it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::executor::{Chunk, Executor, Report};

/// How steps are divided into submissions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// Steps per submission; `None` finds it from the budget.
    pub iters_per_submit: Option<usize>,
    /// The time that one submission should take.
    pub submit_budget: Duration,
}

/// What the loop tells of its progress.
pub trait Observer {
    /// Losses `(steps, models)` of verified steps; `first_step` steps came before them.
    ///
    /// # Errors
    /// What the observer could not write; it ends the run.
    fn losses(&mut self, first_step: u64, losses: &[f32]) -> Result<()>;

    /// Something that the user should know.
    fn notice(&mut self, text: &str);
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

/// What a run did.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Steps finished in all, those before a resume included.
    pub steps: u64,
    /// Steps of this run that the device counted.
    pub verified_steps: u64,
    /// Loss of the last step, per model.
    pub final_losses: Vec<f32>,
    /// First step (counted from 1) whose loss was not finite, per model.
    pub diverged: Vec<Option<u64>>,
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

/// The state of the loop.
pub struct Run<'a> {
    /// What runs the plan.
    pub executor: &'a mut dyn Executor,
    /// How steps are divided.
    pub pace: Pace,
    /// When the run began, compilation included.
    pub started: Instant,
    /// Models of the plan.
    pub models: usize,
    /// Set by a signal.
    pub stop: &'a AtomicBool,
}

/// How often the steps after a verified one are tried before the run fails.
const TRIES: usize = 6;

/// The time between two copies of the state.
const SAVE_INTERVAL: Duration = Duration::from_secs(1);

/// What is counted while the loop runs.
struct Progress {
    /// Steps handed to the executor.
    submitted: u64,
    /// Steps confirmed by the device.
    verified: u64,
    /// Steps told to the observer.
    told: u64,
    /// Where `restore` goes back to.
    saved: u64,
    saved_at: Instant,
    in_flight: usize,
    /// Failures since a step was last verified for the first time.
    failures: usize,
    sizes: Sizes,
    /// When the last chunk was collected, and when the first was.
    last: Instant,
    first: Option<(Instant, u64)>,
    recording: Duration,
    outcome: Outcome,
}

impl Run<'_> {
    /// Trains from step `from` to step `to`.
    ///
    /// # Errors
    /// [`Error::Device`] when the device fails or does not finish its steps however small the chunks; what the observer
    /// returns.
    pub fn train(&mut self, from: u64, to: u64, observer: &mut dyn Observer) -> Result<Outcome> {
        let mut progress = self.begin(from)?;
        while progress.verified < to {
            let stopping = self.stop.load(Ordering::Relaxed) || progress.all_diverged();
            if stopping && progress.in_flight == 0 {
                progress.outcome.interrupted = !progress.all_diverged();
                break;
            }
            self.save_if_due(&mut progress)?;
            let due = progress.saved_at.elapsed() > SAVE_INTERVAL;
            if progress.submitted < to && progress.in_flight < 2 && !stopping && !(due && progress.in_flight > 0) {
                let steps = progress.sizes.chunk.min(usize::try_from(to - progress.submitted).unwrap_or(usize::MAX));
                let iters_per_submit = progress.sizes.iters.min(steps);
                self.executor.enqueue(Chunk { first_step: progress.submitted, steps, iters_per_submit })?;
                progress.submitted += steps as u64;
                progress.in_flight += 1;
                // The first chunk has the time to itself: it compiles.
                if progress.first.is_some() && progress.in_flight < 2 {
                    continue;
                }
            }
            if let Some(report) = self.executor.collect()? {
                progress.in_flight -= 1;
                self.take(report, &mut progress, observer)?;
            }
        }
        Ok(self.end(progress))
    }

    fn begin(&mut self, from: u64) -> Result<Progress> {
        let sizes = Sizes::new(self.pace, self.executor.capacity())?;
        self.executor.save()?;
        let now = Instant::now();
        let outcome = Outcome {
            steps: from,
            verified_steps: 0,
            final_losses: vec![f32::NAN; self.models],
            diverged: vec![None; self.models],
            seconds: 0.0,
            us_per_step: None,
            first_step_seconds: 0.0,
            iters_per_submit: sizes.iters,
            submissions: 0,
            dispatches: 0,
            recording_us_per_dispatch: 0.0,
            repeated_chunks: 0,
            interrupted: false,
        };
        Ok(Progress {
            submitted: from,
            verified: from,
            told: from,
            saved: from,
            saved_at: now,
            in_flight: 0,
            failures: 0,
            sizes,
            last: now,
            first: None,
            recording: Duration::ZERO,
            outcome,
        })
    }

    /// Keeps a copy of a verified state from time to time; nothing may be in flight then.
    fn save_if_due(&mut self, progress: &mut Progress) -> Result<()> {
        if progress.in_flight == 0 && progress.saved_at.elapsed() > SAVE_INTERVAL {
            self.executor.save()?;
            progress.saved = progress.verified;
            progress.saved_at = Instant::now();
        }
        Ok(())
    }

    /// Verifies a report and tells the observer of it.
    fn take(&mut self, report: Report, progress: &mut Progress, observer: &mut dyn Observer) -> Result<()> {
        let expected = report.chunk.first_step + report.chunk.steps as u64;
        if let Some(counted) = report.short() {
            return self.start_again(&report, u64::from(counted), progress, observer);
        }
        let now = Instant::now();
        progress.account(&report, now, self.started);
        progress.sizes.adapt(&report.chunk, now - progress.last, self.executor.capacity());
        progress.last = now;
        progress.verified = expected;
        let skip = usize::try_from(progress.told.saturating_sub(report.chunk.first_step)).unwrap_or(usize::MAX);
        if skip < report.chunk.steps {
            observer.losses(report.chunk.first_step + skip as u64, &report.losses[skip * self.models..])?;
            progress.told = expected;
            progress.failures = 0;
        }
        Ok(())
    }

    /// Goes back to the last good state after a chunk that was not finished, with smaller chunks.
    fn start_again(
        &mut self,
        report: &Report,
        counted: u64,
        progress: &mut Progress,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        while self.executor.collect()?.is_some() {}
        progress.in_flight = 0;
        progress.outcome.repeated_chunks += 1;
        progress.failures += 1;
        let (chunk, what) = (&report.chunk, what_happened(report, counted));
        progress.sizes.shrink(chunk.steps);
        if progress.failures >= TRIES {
            return Err(Error::Device(format!(
                "{what}, and repeating it in smaller submissions did not help; try a smaller --submit-budget-ms, another \
                 --executor or another driver"
            )));
        }
        self.executor.shrink_dispatches(chunk.steps / 2);
        observer.notice(&format!("{what}; going back to step {} with smaller submissions", progress.saved));
        self.executor.restore()?;
        progress.submitted = progress.saved;
        progress.verified = progress.saved;
        Ok(())
    }

    fn end(&self, mut progress: Progress) -> Outcome {
        let now = Instant::now();
        let mut outcome = progress.outcome;
        outcome.seconds = (now - self.started).as_secs_f64();
        outcome.steps = progress.verified;
        let run = usize::try_from(outcome.verified_steps).unwrap_or(usize::MAX);
        outcome.iters_per_submit = progress.sizes.iters.min(run.max(1));
        #[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
        if let Some((first, step)) = progress.first.take() {
            let steps = progress.verified.saturating_sub(step);
            outcome.us_per_step = (steps > 0).then(|| (progress.last - first).as_secs_f64() * 1e6 / steps as f64);
            let dispatches = outcome.dispatches.max(1) as f64;
            outcome.recording_us_per_dispatch = progress.recording.as_secs_f64() * 1e6 / dispatches;
        }
        outcome
    }
}

impl Progress {
    fn all_diverged(&self) -> bool {
        self.outcome.diverged.iter().all(Option::is_some)
    }

    /// Adds a verified report to the counts.
    fn account(&mut self, report: &Report, now: Instant, started: Instant) {
        let outcome = &mut self.outcome;
        let end = report.chunk.first_step + report.chunk.steps as u64;
        outcome.verified_steps += end.saturating_sub(self.told.max(report.chunk.first_step));
        outcome.submissions += report.submissions;
        outcome.dispatches += report.dispatches;
        self.recording += report.recording;
        let models = outcome.final_losses.len();
        outcome.final_losses.copy_from_slice(&report.losses[report.losses.len() - models..]);
        for (diverged, state) in outcome.diverged.iter_mut().zip(&report.state) {
            *diverged = (state[3] != 0).then_some(u64::from(state[3]));
        }
        if self.first.is_none() {
            self.first = Some((now, end));
            outcome.first_step_seconds = (now - started).as_secs_f64();
        }
    }
}

/// What became of a chunk whose steps were not counted.
fn what_happened(report: &Report, counted: u64) -> String {
    let Chunk { first_step, steps, .. } = report.chunk;
    match &report.fault {
        Some(fault) => format!("{fault}; the {steps} steps after step {first_step} are lost"),
        None => format!(
            "the adapter finished {} of the {steps} steps after step {first_step} and reported no error",
            counted.saturating_sub(first_step)
        ),
    }
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
struct Sizes {
    /// Steps per submission.
    iters: usize,
    /// Steps per chunk: one submission, or as many short ones as fit the budget.
    chunk: usize,
    /// Whether `iters` follows the budget.
    auto: bool,
    budget: Duration,
    /// Never more than this, after a chunk that was too long.
    limit: usize,
}

impl Sizes {
    fn new(pace: Pace, capacity: usize) -> Result<Self> {
        check_pace(pace.iters_per_submit, capacity)?;
        let iters = pace.iters_per_submit.unwrap_or(1);
        let auto = pace.iters_per_submit.is_none();
        Ok(Self { iters, chunk: iters, auto, budget: pace.submit_budget, limit: capacity })
    }

    /// Moves the sizes toward the budget, at most fourfold at a time.
    fn adapt(&mut self, chunk: &Chunk, took: Duration, capacity: usize) {
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
    fn shrink(&mut self, steps: usize) {
        self.limit = (steps / 2).max(1);
        self.iters = self.iters.min(self.limit);
        self.chunk = self.limit;
        self.auto = true;
    }
}
