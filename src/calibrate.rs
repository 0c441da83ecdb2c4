//! `--executor auto`: times the executors of a device on the network itself, and takes the fastest.
//!
//! Invariant: nothing of it shows in a result, because the chosen executor gets the initial arenas again.

use std::time::Instant;

use serde::Serialize;

use crate::arenas::Arenas;
use crate::error::{Error, Result};
use crate::executor::{Chunk, Executor};
use crate::gpu::{Device, GpuExecutor};
use crate::plan::Plan;
use crate::shader::Walk;
use crate::spec::Hyperparameters;

/// What was chosen, and why.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Choice {
    /// `recorded` or `persistent`.
    pub executor: &'static str,
    /// One sentence.
    pub why: String,
    /// Measured microseconds per step of `recorded`.
    pub recorded_us: Option<f64>,
    /// Measured microseconds per step of `persistent`.
    pub persistent_us: Option<f64>,
}

/// What the executors of a run have in common.
pub struct Candidates<'a> {
    /// The device.
    pub device: &'a Device,
    /// The plan, for the kernels of the device.
    pub plan: &'a Plan,
    /// Hyperparameters of each model.
    pub hyper: &'a [Hyperparameters],
    /// The arenas that the run starts from.
    pub arenas: &'a Arenas<f32>,
    /// Compile with wgpu's run-time checks.
    pub checked: bool,
    /// Steps that will be run.
    pub steps: u64,
}

/// The least time that one measurement takes, in microseconds.
const MEASURE_US: f64 = 30_000.0;

/// A run that `recorded` finishes in this many seconds is not worth compiling another kernel for.
const SHORT_RUN: f64 = 3.0;

/// The same for one model on a software adapter, which compiles the persistent loop for seconds to save a tenth of a step.
const SHORT_RUN_IN_SOFTWARE: f64 = 20.0;

/// Floating-point operations per second that one workgroup can be trusted to do; it keeps the first dispatch of an unknown
/// network below the second or two after which some systems reset a device.
const SLOWEST_WORKGROUP: f64 = 5e9;

impl Candidates<'_> {
    /// An executor of a kind.
    ///
    /// # Errors
    /// As [`GpuExecutor::new`].
    pub fn build(&self, walk: Walk) -> Result<GpuExecutor> {
        let (plan, hyper) = (self.plan.clone(), self.hyper.to_vec());
        GpuExecutor::new(self.device.clone(), plan, hyper, self.arenas, walk, self.checked)
    }

    /// The fastest executor, in the state of the initial arenas.
    ///
    /// # Errors
    /// As [`GpuExecutor::new`] for `recorded`; where `persistent` cannot run, that is the reason for `recorded`.
    pub fn fastest(&self) -> Result<(GpuExecutor, Choice)> {
        let mut recorded = self.build(Walk::Recorded)?;
        let recorded_us = measure(&mut recorded)?;
        let choice =
            |executor, why, persistent_us| Choice { executor, why, recorded_us: Some(recorded_us), persistent_us };
        if let Some(why) = self.skip_persistent(recorded_us) {
            recorded.write(self.arenas)?;
            return Ok((recorded, choice("recorded", why, None)));
        }
        let persistent =
            self.check(Walk::Persistent).and_then(|()| self.build(Walk::Persistent)).and_then(|mut executor| {
                let us = measure(&mut executor)?;
                Ok((executor, us))
            });
        match persistent {
            Ok((mut executor, us)) if us < recorded_us => {
                executor.write(self.arenas)?;
                let why = format!("{us:.1} µs per step, recorded takes {recorded_us:.1}");
                Ok((executor, choice("persistent", why, Some(us))))
            }
            Ok((_, us)) => {
                recorded.write(self.arenas)?;
                let why = format!("{recorded_us:.1} µs per step, persistent takes {us:.1}");
                Ok((recorded, choice("recorded", why, Some(us))))
            }
            Err(error @ Error::Shader(_)) => Err(error),
            Err(error) => {
                recorded.write(self.arenas)?;
                Ok((recorded, choice("recorded", format!("persistent cannot run: {error}"), None)))
            }
        }
    }

    /// Why `persistent` is not tried, if it is not.
    fn skip_persistent(&self, recorded_us: f64) -> Option<String> {
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let seconds = recorded_us * 1e-6 * self.steps as f64;
        let short = format!("{recorded_us:.1} µs per step end the run in {seconds:.1} s, so nothing else was tried");
        let limit = if self.device.software && self.plan.step.models == 1 { SHORT_RUN_IN_SOFTWARE } else { SHORT_RUN };
        (seconds < limit).then_some(short)
    }

    /// Whether a walk can be tried at all.
    ///
    /// # Errors
    /// [`Error::Device`] when a single step in one workgroup could take long enough for a system to reset the device.
    pub(crate) fn check(&self, walk: Walk) -> Result<()> {
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let work = self.plan.flops() as f64;
        if walk == Walk::Persistent && work / SLOWEST_WORKGROUP > 0.2 {
            return Err(Error::Device(format!(
                "a step of {work:.1e} floating-point operations is too much for the one workgroup of a model"
            )));
        }
        Ok(())
    }
}

/// The steps that the first model of an executor has made.
pub(crate) fn finished_steps(executor: &mut dyn Executor) -> Result<u64> {
    Ok(executor.read()?.state.first().map_or(0, |state| u64::from(state[0])))
}

/// Microseconds per step of a chunk, from when it is handed over to when its results are there.
pub(crate) fn us_per_step(executor: &mut dyn Executor, chunk: Chunk) -> Result<f64> {
    let start = Instant::now();
    executor.enqueue(chunk)?;
    executor.collect()?;
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    Ok(start.elapsed().as_secs_f64() * 1e6 / chunk.steps as f64)
}

/// Microseconds per step of an executor, after a first chunk that compiles. The state moves on from where it is.
pub(crate) fn measure(executor: &mut dyn Executor) -> Result<f64> {
    let mut first_step = finished_steps(executor)?;
    us_per_step(executor, Chunk { first_step, steps: 1, iters_per_submit: 1 })?;
    first_step += 1;
    let mut steps = 1;
    loop {
        let us = us_per_step(executor, Chunk { first_step, steps, iters_per_submit: steps })?;
        first_step += steps as u64;
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        if us * steps as f64 >= MEASURE_US || steps >= 4096 {
            return Ok(us);
        }
        steps *= 2;
    }
}
