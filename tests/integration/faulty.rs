//! An executor that does less than it is told, and an observer that checks the order of what it hears.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fori::arenas::Arenas;
use fori::config::Member;
use fori::cpu::CpuExecutor;
use fori::error::{Error, Result};
use fori::executor::{Chunk, Executor, Report};
use fori::plan::{Plan, Source, TrainStep};
use fori::run::Observer;
use fori::spec::{Activation, Loss, Model, Optimizer};

use crate::adapter::initial;

/// What goes wrong.
#[derive(Clone, Copy)]
pub enum Fault {
    Nothing,
    /// Chunks of these numbers, counted from 0, finish half of their steps.
    Cut(&'static [usize]),
    /// No chunk finishes its last step.
    Always,
    /// A dispatch ends after so many steps.
    After(usize),
    /// The chunk of this number is lost with its device.
    Lost(usize),
}

/// A small network on the cpu executor that fails as told, says nothing of it, and takes its time.
pub struct Faulty {
    inner: CpuExecutor,
    fault: Fault,
    pub time_per_step: Duration,
    /// The most steps of a dispatch.
    per_dispatch: usize,
    /// Every chunk that it was given.
    pub chunks: Vec<Chunk>,
    collected: usize,
    in_flight: usize,
}

impl Faulty {
    pub fn new(fault: Fault, members: &[Member]) -> Self {
        let hyper = members.iter().map(|m| m.hyper).collect();
        let plan = plan(members.len());
        let arenas = initial(&plan, members, None, 0.0);
        Self {
            inner: CpuExecutor::new(plan, hyper, arenas),
            fault,
            time_per_step: Duration::ZERO,
            per_dispatch: usize::MAX,
            chunks: Vec::new(),
            collected: 0,
            in_flight: 0,
        }
    }

    /// Steps of a chunk that are really done.
    fn done(&self, chunk: Chunk) -> usize {
        match self.fault {
            Fault::Cut(numbers) if numbers.contains(&self.chunks.len()) => chunk.steps / 2,
            Fault::Always => chunk.steps - 1,
            Fault::After(limit) => dispatches(chunk, self.per_dispatch).map(|steps| steps.min(limit)).sum(),
            _ => chunk.steps,
        }
    }
}

/// Steps of each dispatch of a chunk.
fn dispatches(chunk: Chunk, longest: usize) -> impl Iterator<Item = usize> {
    let pieces = |whole: usize, most: usize| (0..whole).step_by(most).map(move |at| most.min(whole - at));
    pieces(chunk.steps, chunk.iters_per_submit).flat_map(move |steps| pieces(steps, longest))
}

impl Executor for Faulty {
    fn name(&self) -> &'static str {
        "faulty"
    }

    fn capacity(&self) -> usize {
        1024
    }

    fn shrink_dispatches(&mut self, steps: usize) {
        self.per_dispatch = steps.clamp(1, self.per_dispatch);
    }

    fn scale_learning_rates(&mut self, _: &[f64]) {}

    fn enqueue(&mut self, chunk: Chunk) -> Result<()> {
        assert!(chunk.steps >= 1 && chunk.steps <= self.capacity(), "{chunk:?} is within the capacity");
        assert!(chunk.iters_per_submit >= 1 && chunk.iters_per_submit <= chunk.steps, "{chunk:?} can be divided");
        self.in_flight += 1;
        assert!(self.in_flight <= 2, "at most two chunks are in flight");
        let steps = self.done(chunk);
        self.chunks.push(chunk);
        self.inner.enqueue(Chunk { steps, ..chunk })
    }

    fn collect(&mut self) -> Result<Option<Report>> {
        let Some(report) = self.inner.collect()? else { return Ok(None) };
        let chunk = self.chunks[self.chunks.len() - self.in_flight];
        self.in_flight -= 1;
        self.collected += 1;
        if matches!(self.fault, Fault::Lost(number) if number + 1 == self.collected) {
            return Err(Error::Device("the device was lost".into()));
        }
        std::thread::sleep(self.time_per_step * u32::try_from(chunk.steps).expect("a small chunk"));
        // What was not computed is what lay there before.
        let mut losses = report.losses;
        losses.resize(chunk.steps * report.state.len(), -1.0);
        Ok(Some(Report { chunk, losses, ..report }))
    }

    fn save(&mut self) -> Result<()> {
        assert_eq!(self.in_flight, 0, "nothing is in flight when the state is saved");
        self.inner.save()
    }

    fn restore(&mut self) -> Result<()> {
        assert_eq!(self.in_flight, 0, "nothing is in flight when the state is restored");
        self.inner.restore()
    }

    fn read(&mut self) -> Result<Arenas<f32>> {
        self.inner.read()
    }

    fn write(&mut self, arenas: &Arenas<f32>) -> Result<()> {
        self.inner.write(arenas)
    }
}

fn plan(models: usize) -> Plan {
    let model = Model::new(1, &[2], 1, Activation::Relu).expect("the widths are possible");
    let step = TrainStep::new(model, Loss::Mse, Optimizer::Sgd, 4, Source::Linreg);
    Plan::new(TrainStep { models, ..step }).expect("the plan is possible")
}

/// Keeps what it is told, and checks that steps come once and in order.
#[derive(Default)]
pub struct Recorder<'a> {
    pub models: usize,
    pub losses: Vec<f32>,
    pub notices: Vec<String>,
    /// Set at the first losses.
    pub stop: Option<&'a AtomicBool>,
    pub fails: bool,
}

impl Observer for Recorder<'_> {
    fn losses(&mut self, first_step: u64, losses: &[f32]) -> Result<()> {
        assert_eq!(first_step, (self.losses.len() / self.models) as u64, "losses follow those told before");
        self.losses.extend(losses);
        if let Some(stop) = self.stop {
            stop.store(true, Ordering::Relaxed);
        }
        if self.fails { Err(Error::Data("the disk is full".into())) } else { Ok(()) }
    }

    fn notice(&mut self, text: &str) {
        self.notices.push(text.into());
    }
}
