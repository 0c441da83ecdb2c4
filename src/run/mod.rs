//! The loop over chunks: submits, verifies, reports, and starts again from the last good state where a device did less
//! than it was told.
//!
//! Invariant: a step is reported once, in order, after the device's own count has confirmed it.

mod observer;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::config::OnDivergence;
use crate::error::{Error, Result};
use crate::executor::{Chunk, Executor, Report};
pub use crate::outcome::{Outcome, Start};
use crate::pace::Sizes;
pub use crate::pace::{Pace, check_pace};
pub use observer::{Flow, Observer, Silent};

/// The state of the loop.
pub struct Run<'a> {
    /// What runs the plan.
    pub executor: &'a mut dyn Executor,
    /// How steps are divided.
    pub pace: Pace,
    /// When the run began, compilation included.
    pub started: Instant,
    /// The observer sees the state at every multiple of each of these steps.
    pub pauses: Vec<u64>,
    /// What is done when all models have diverged.
    pub on_divergence: OnDivergence,
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
    /// The next step at which the observer sees the state.
    pause: u64,
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
    /// Trains from `start` to step `to`.
    ///
    /// # Errors
    /// [`Error::Device`] when the device fails or does not finish its steps however small the chunks; what the observer
    /// returns.
    pub fn train(&mut self, start: &Start, to: u64, observer: &mut dyn Observer) -> Result<Outcome> {
        let mut progress = self.begin(start)?;
        while progress.verified < to {
            let diverged = self.on_divergence == OnDivergence::Stop && progress.outcome.all_diverged();
            let stopping = self.stop.load(Ordering::Relaxed) || diverged;
            if stopping && progress.in_flight == 0 {
                progress.outcome.interrupted = !diverged;
                break;
            }
            if self.pause_if_due(&mut progress, observer)? == Flow::Stop {
                break;
            }
            self.save_if_due(&mut progress)?;
            let due = progress.saved_at.elapsed() > SAVE_INTERVAL;
            let end = to.min(progress.pause);
            if progress.submitted < end && progress.in_flight < 2 && !stopping && !(due && progress.in_flight > 0) {
                let steps = progress.sizes.chunk.min(usize::try_from(end - progress.submitted).unwrap_or(usize::MAX));
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

    fn begin(&mut self, start: &Start) -> Result<Progress> {
        let sizes = Sizes::new(self.pace, self.executor.capacity())?;
        self.executor.save()?;
        let now = Instant::now();
        Ok(Progress {
            submitted: start.step,
            verified: start.step,
            told: start.step,
            pause: self.pause_after(start.step),
            saved: start.step,
            saved_at: now,
            in_flight: 0,
            failures: 0,
            sizes,
            last: now,
            first: None,
            recording: Duration::ZERO,
            outcome: Outcome::at(start, sizes.iters),
        })
    }

    /// The first step after `step` at which the observer sees the state.
    fn pause_after(&self, step: u64) -> u64 {
        let next = |&every: &u64| (step / every.max(1) + 1).saturating_mul(every.max(1));
        self.pauses.iter().map(next).min().unwrap_or(u64::MAX)
    }

    /// Shows the state to the observer where it is due. Its time is not that of the steps.
    fn pause_if_due(&mut self, progress: &mut Progress, observer: &mut dyn Observer) -> Result<Flow> {
        if progress.in_flight > 0 || progress.verified != progress.pause {
            return Ok(Flow::Continue);
        }
        let begin = Instant::now();
        progress.outcome.steps = progress.verified;
        let flow = observer.paused(&progress.outcome, self.executor)?;
        if flow == Flow::Changed {
            self.save(progress)?;
        }
        progress.pause = self.pause_after(progress.verified);
        progress.last += begin.elapsed();
        if let Some((first, _)) = &mut progress.first {
            *first += begin.elapsed();
        }
        Ok(flow)
    }

    /// Keeps a copy of a verified state from time to time; nothing may be in flight then.
    fn save_if_due(&mut self, progress: &mut Progress) -> Result<()> {
        if progress.in_flight == 0 && progress.saved_at.elapsed() > SAVE_INTERVAL {
            self.save(progress)?;
        }
        Ok(())
    }

    fn save(&mut self, progress: &mut Progress) -> Result<()> {
        self.executor.save()?;
        progress.saved = progress.verified;
        progress.saved_at = Instant::now();
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
        let models = progress.outcome.diverged.len();
        let skip = usize::try_from(progress.told.saturating_sub(report.chunk.first_step)).unwrap_or(usize::MAX);
        if skip < report.chunk.steps {
            observer.losses(report.chunk.first_step + skip as u64, &report.losses[skip * models..])?;
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
    /// Adds a verified report to the counts.
    fn account(&mut self, report: &Report, now: Instant, started: Instant) {
        let outcome = &mut self.outcome;
        let end = report.chunk.first_step + report.chunk.steps as u64;
        outcome.verified_steps += end.saturating_sub(self.told.max(report.chunk.first_step));
        outcome.submissions += report.submissions;
        outcome.dispatches += report.dispatches;
        self.recording += report.recording;
        outcome.follow(report);
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
