//! One way of walking the step, in this process.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::figures::real;
use super::{BenchConfig, Way};
use crate::arenas::Arenas;
use crate::calibrate::Candidates;
use crate::cpu::CpuExecutor;
use crate::data::Tables;
use crate::error::Result;
use crate::executor::{Chunk, Executor, Report};
use crate::gpu::{Device, Found, MEASURED_SUBMISSIONS};
use crate::plan::{Plan, TrainStep};
use crate::shader::Walk;
use crate::trainer::plan_of;

/// What a contestant is asked to do.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) enum Request {
    /// Runs so many steps.
    Steps(usize),
    /// Runs for so many seconds.
    Turn(f64),
    /// The same, with the device's clock.
    TimedTurn(f64),
}

/// What it did then.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Measured {
    pub(super) steps: usize,
    /// Wall time; of the first request, from opening the adapter.
    pub(super) seconds: f64,
    /// Host time spent in recording.
    pub(super) recording: f64,
    /// The device's own time, if all of it was measured.
    pub(super) gpu: Option<f64>,
    /// Loss of the first model in the last step, if it is finite.
    pub(super) loss: Option<f32>,
    pub(super) iters_per_submit: usize,
    /// Whether the device finished all steps.
    pub(super) verified: bool,
}

impl Measured {
    fn nothing() -> Self {
        let (gpu, loss) = (Some(0.0), None);
        Self { steps: 0, seconds: 0.0, recording: 0.0, gpu, loss, iters_per_submit: 1, verified: true }
    }
}

/// Who does what is asked.
pub(super) trait Contestant {
    /// Carries out a request; the error says why it cannot.
    fn ask(&mut self, request: Request) -> Result<Measured, String>;
}

/// The longest submission: the watchdogs of some systems end one after 2 s.
const LONGEST: Duration = Duration::from_secs(1);

impl Way {
    /// The most steps of a submission, and its longest time in seconds.
    fn most(self, config: &BenchConfig) -> (usize, f64) {
        let (most, longest) = match self {
            Self::OpByOp => (1, LONGEST),
            Self::Recorded(steps) => (steps, (2 * config.turn).min(LONGEST)),
            _ => (usize::MAX, config.train.submit_budget),
        };
        (most, longest.as_secs_f64())
    }
}

/// Short submissions are read back together, once in this time.
const CHUNK: f64 = 0.1;

/// A contestant in this process.
pub(super) struct Local {
    executor: Box<dyn Executor>,
    way: Way,
    models: usize,
    /// Submissions of a step.
    submissions: usize,
    /// The most steps of a submission, and its longest time.
    most: usize,
    longest: f64,
    /// Steps handed to the executor.
    step: u64,
    /// The time of a step as far as it is known, compilation apart.
    step_seconds: Option<f64>,
    /// When it was opened, until the first request.
    opened: Option<Instant>,
}

impl Local {
    /// Opens the adapter and compiles the kernels.
    pub(super) fn open(config: &BenchConfig, way: Way, found: Option<&Found>, table: &Source) -> Result<Self> {
        let opened = Instant::now();
        let train = way.config(&config.train);
        let members = train.members()?;
        let mut plan = Plan::new(TrainStep { models: members.len(), ..table.plan.step.clone() })?;
        let device = found.filter(|_| way != Way::Cpu).map(Device::open).transpose()?;
        if let Some(device) = &device {
            plan = Plan::new(TrainStep { products: device.products, ..plan.step })?;
        }
        let seeds: Vec<_> = members.iter().map(|m| m.seed).collect();
        let hyper: Vec<_> = members.iter().map(|m| m.hyper).collect();
        let arenas = Arenas::initial(&plan, &seeds, table.tables.as_ref().map(|t| &t.train), 0.0)?;
        let submissions = if way == Way::OpByOp { plan.ops.len() } else { 1 };
        let executor: Box<dyn Executor> = match device {
            None => Box::new(CpuExecutor::new(plan, hyper, arenas)),
            Some(device) => {
                let walk = match way {
                    Way::Persistent | Way::Ensemble(_) => Walk::Persistent,
                    _ => Walk::Recorded,
                };
                let (device, plan, hyper, arenas) = (&device, &plan, hyper.as_slice(), &arenas);
                let candidates = Candidates { device, plan, hyper, arenas, checked: train.checked, steps: u64::MAX };
                candidates.check(walk)?;
                let mut executor = candidates.build(walk)?;
                executor.submit_per_op(way == Way::OpByOp);
                Box::new(executor)
            }
        };
        let (most, longest) = way.most(config);
        let (models, opened) = (members.len(), Some(opened));
        Ok(Self { executor, way, models, submissions, most, longest, step: 0, step_seconds: None, opened })
    }

    /// Steps of a submission and of a chunk, of which at most `left` are wanted.
    fn sizes(&self, left: usize) -> (usize, usize) {
        // Nothing is known before the second step.
        let Some(step) = self.step_seconds else { return (1, 1) };
        let capacity = self.executor.capacity().min(left);
        let iters = self.most.min(whole(self.longest / step)).clamp(1, capacity.max(1));
        let measurable = MEASURED_SUBMISSIONS / self.submissions;
        let submissions = whole(CHUNK / step / real(iters)).min(measurable).min(capacity / iters).max(1);
        (iters, iters * submissions)
    }

    fn carry_out(&mut self, request: Request) -> Result<Measured> {
        let first = self.opened.take();
        let start = first.unwrap_or_else(Instant::now);
        let mut done = Measured::nothing();
        let (mut queued, mut in_flight) = (0, 0);
        loop {
            let left = self.left(request, queued, start.elapsed().as_secs_f64());
            if left > 0 && in_flight < 2 {
                let (iters_per_submit, steps) = self.sizes(left);
                self.executor.enqueue(Chunk { first_step: self.step, steps, iters_per_submit })?;
                done.iters_per_submit = done.iters_per_submit.max(iters_per_submit);
                self.step += steps as u64;
                queued += steps;
                in_flight += 1;
                continue;
            }
            let Some(report) = self.executor.collect()? else { break };
            in_flight -= 1;
            self.add(&report, &mut done);
        }
        done.seconds = start.elapsed().as_secs_f64();
        if first.is_none() {
            self.step_seconds = Some(done.seconds / real(done.steps));
        }
        Ok(done)
    }

    /// Steps that a request still wants, after `queued` of them.
    fn left(&self, request: Request, queued: usize, elapsed: f64) -> usize {
        match request {
            Request::Steps(steps) => steps - queued,
            Request::Turn(seconds) | Request::TimedTurn(seconds) => {
                let busy = elapsed.max(real(queued) * self.step_seconds.unwrap_or(0.0));
                if queued == 0 || busy < seconds { usize::MAX } else { 0 }
            }
        }
    }

    fn add(&self, report: &Report, done: &mut Measured) {
        done.steps += report.chunk.steps;
        done.recording += report.recording.as_secs_f64();
        done.gpu = done.gpu.zip(report.gpu).map(|(sum, more)| sum + more.as_secs_f64());
        done.loss = report.losses.get(report.losses.len() - self.models).copied().filter(|loss| loss.is_finite());
        done.verified &= report.short().is_none();
    }
}

impl Contestant for Local {
    fn ask(&mut self, request: Request) -> Result<Measured, String> {
        let timed = matches!(request, Request::TimedTurn(_)) && self.way != Way::Cpu;
        if timed {
            self.executor.measure_gpu_time(true);
        }
        let done = self.carry_out(request).map_err(|e| e.to_string());
        if timed {
            self.executor.measure_gpu_time(false);
        }
        done
    }
}

/// Where batches come from, read once for all ways.
pub(super) struct Source {
    /// The table, where there is one.
    pub(super) tables: Option<Tables>,
    /// The portable plan of one way.
    pub(super) plan: Plan,
}

impl Source {
    /// Reads the data.
    pub(super) fn read(config: &BenchConfig) -> Result<Self> {
        let models = config.train.members()?.len();
        let (tables, plan) = plan_of(&config.train, models)?;
        Ok(Self { tables, plan })
    }
}

/// The whole part of a number, 0 of a negative one.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
pub(super) fn whole(number: f64) -> usize {
    number as usize
}
