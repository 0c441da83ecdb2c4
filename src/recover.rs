//! An executor that outlives its device: after a fault it is built anew, from the last good state.
//!
//! Invariant: the copy on the host and the one that the executor keeps are of the same step, so that going back means the
//! same for both. A chunk that was lost is reported as not finished, with the fault, and the loop repeats it.

use std::collections::VecDeque;
use std::time::Duration;

use crate::arenas::Arenas;
use crate::error::{Error, Result};
use crate::executor::{Chunk, Executor, Report};
use crate::gpu::{self, AdapterSummary, Device, GpuExecutor};
use crate::plan::{Arena, Plan};
use crate::shader::Walk;
use crate::spec::Hyperparameters;

/// Makes the executor again, on a device of its own, from these arenas.
pub type Rebuild = Box<dyn FnMut(&Arenas<f32>) -> Result<Box<dyn Executor>>>;

/// New devices that are tried for the steps after one saved state.
const TRIES: usize = 3;

/// The time that a driver gets between two of them.
const PAUSE: Duration = Duration::from_millis(500);

/// The most bytes of which a copy is kept on the host. Reading them takes a few percent of the time between two copies.
const MOST_BYTES: usize = 64 << 20;

/// An executor and what it takes to make it again.
pub struct Recovering {
    /// `None` only while it is made again.
    inner: Option<Box<dyn Executor>>,
    name: &'static str,
    capacity: usize,
    rebuild: Rebuild,
    /// The arenas that [`Executor::restore`] goes back to; `None` where they are too large.
    kept: Option<Arenas<f32>>,
    /// Finished steps of the state that the executor holds.
    step: u32,
    /// What went wrong, until a new device is there.
    fault: Option<String>,
    in_flight: VecDeque<Chunk>,
    /// The last chunk.
    last: Option<Chunk>,
    /// The longest dispatch, if one was cut short.
    shrunk: Option<usize>,
    /// What the learning rates are multiplied with.
    scales: Vec<f64>,
    /// New devices since the last saved state.
    tries: usize,
}

impl Recovering {
    /// Takes an executor that holds `arenas`.
    pub fn new(executor: Box<dyn Executor>, arenas: &Arenas<f32>, rebuild: Rebuild) -> Self {
        let bytes = arenas.scalars.iter().map(|s| size_of_val(s.as_slice())).sum::<usize>();
        Self {
            name: executor.name(),
            capacity: executor.capacity(),
            inner: Some(executor),
            rebuild,
            kept: (bytes <= MOST_BYTES).then(|| arenas.clone()),
            step: count(arenas),
            fault: None,
            in_flight: VecDeque::new(),
            last: None,
            shrunk: None,
            scales: Vec::new(),
            tries: 0,
        }
    }

    fn inner(&mut self) -> Result<&mut dyn Executor> {
        match &mut self.inner {
            Some(inner) => Ok(inner.as_mut()),
            None => Err(Error::Device(self.fault.clone().unwrap_or_else(|| "the device is gone".into()))),
        }
    }

    /// Remembers a fault of the device, if the state can be brought back; everything else ends the run.
    fn note<T>(&mut self, result: Result<T>) -> Result<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(Error::Device(text)) if self.kept.is_some() => {
                self.fault = Some(text);
                Ok(None)
            }
            Err(Error::Device(text)) => Err(Error::Device(format!(
                "{text}; the state is larger than the {} MiB of which a copy is kept, so these steps cannot be repeated",
                MOST_BYTES >> 20
            ))),
            Err(other) => Err(other),
        }
    }

    /// The report of the oldest chunk that was lost: none of its steps count.
    fn lost(&mut self) -> Option<Report> {
        let (chunk, kept) = (self.in_flight.pop_front()?, self.kept.as_ref()?);
        let losses = vec![f32::NAN; chunk.steps * kept.state.len()];
        let (state, fault) = (kept.state.clone(), self.fault.clone());
        Some(Report { losses, state, fault, ..Report::of(chunk) })
    }

    /// Makes the executor again in the saved state.
    fn renew(&mut self) -> Result<()> {
        let Some(kept) = self.kept.clone() else { return self.inner().map(drop) };
        loop {
            let fault = self.fault.clone().unwrap_or_default();
            if self.tries == TRIES {
                return Err(Error::Device(format!("{fault}; {TRIES} new devices in a row ended like this")));
            }
            if self.inner.is_none() {
                std::thread::sleep(PAUSE);
            }
            self.tries += 1;
            // First of all its memory is given back.
            self.inner = None;
            let (shrunk, scales) = (self.shrunk, &self.scales);
            let made = (self.rebuild)(&kept).and_then(|mut inner| {
                shrunk.into_iter().for_each(|steps| inner.shrink_dispatches(steps));
                inner.scale_learning_rates(scales);
                inner.save()?;
                Ok(inner)
            });
            if let Some(inner) = self.note(made)? {
                self.inner = Some(inner);
                self.fault = None;
                self.in_flight.clear();
                self.step = count(&kept);
                return Ok(());
            }
        }
    }

    /// Does something while nothing is in flight. Where the device fails, the state is computed again and it is repeated.
    fn persist<T>(&mut self, mut action: impl FnMut(&mut dyn Executor) -> Result<T>) -> Result<T> {
        let goal = self.step;
        loop {
            if self.fault.is_none() {
                let result = self.catch_up(goal).and_then(|()| action(self.inner()?));
                if let Some(value) = self.note(result)? {
                    return Ok(value);
                }
            }
            self.renew()?;
        }
    }

    /// Runs the steps from the saved state to `goal` again, in chunks half as long as the last.
    fn catch_up(&mut self, goal: u32) -> Result<()> {
        while self.step != goal {
            let longest = self.last.map_or(1, |chunk| chunk.iters_per_submit.div_ceil(2));
            let steps = longest.min(goal.wrapping_sub(self.step) as usize);
            let chunk = Chunk { first_step: u64::from(self.step), steps, iters_per_submit: steps };
            let inner = self.inner()?;
            inner.enqueue(chunk)?;
            let state = inner.collect()?.map_or(Vec::new(), |report| report.state);
            #[expect(clippy::cast_possible_truncation, reason = "a chunk is short, and the count wraps around")]
            let step = self.step.wrapping_add(steps as u32);
            if state.is_empty() || state.iter().any(|s| s[0] != step) {
                let text = format!("the adapter did not finish the {steps} steps after step {}", self.step);
                return Err(Error::Device(text));
            }
            self.step = step;
        }
        Ok(())
    }
}

/// Finished steps of a state.
fn count(arenas: &Arenas<f32>) -> u32 {
    arenas.state.first().map_or(0, |state| state[0])
}

impl Executor for Recovering {
    fn name(&self) -> &'static str {
        self.name
    }

    fn capacity(&self) -> usize {
        self.capacity
    }

    fn shrink_dispatches(&mut self, steps: usize) {
        self.shrunk = Some(self.shrunk.map_or(steps, |before| before.min(steps)));
        if let Some(inner) = &mut self.inner {
            inner.shrink_dispatches(steps);
        }
    }

    fn measure_gpu_time(&mut self, on: bool) {
        if let Some(inner) = &mut self.inner {
            inner.measure_gpu_time(on);
        }
    }

    fn scale_learning_rates(&mut self, scales: &[f64]) {
        self.scales = scales.to_vec();
        if let Some(inner) = &mut self.inner {
            inner.scale_learning_rates(scales);
        }
    }

    fn enqueue(&mut self, chunk: Chunk) -> Result<()> {
        self.in_flight.push_back(chunk);
        self.last = Some(chunk);
        if self.fault.is_none() {
            let result = self.inner()?.enqueue(chunk);
            self.note(result)?;
        }
        Ok(())
    }

    fn collect(&mut self) -> Result<Option<Report>> {
        if self.fault.is_none() {
            let result = self.inner()?.collect();
            if let Some(report) = self.note(result)? {
                self.in_flight.pop_front();
                self.step = report.as_ref().and_then(|r| r.state.first()).map_or(self.step, |state| state[0]);
                return Ok(report);
            }
        }
        Ok(self.lost())
    }

    fn save(&mut self) -> Result<()> {
        let copied = self.kept.is_some();
        let arenas = self.persist(|inner| {
            inner.save()?;
            copied.then(|| inner.read()).transpose()
        })?;
        if arenas.as_ref().map(count) != self.kept.as_ref().map(count) {
            self.tries = 0;
        }
        self.kept = arenas;
        Ok(())
    }

    fn restore(&mut self) -> Result<()> {
        if self.fault.is_none() {
            let result = self.inner()?.restore();
            if self.note(result)?.is_some() {
                self.step = self.kept.as_ref().map_or(self.step, count);
                return Ok(());
            }
        }
        self.renew()
    }

    fn read(&mut self) -> Result<Arenas<f32>> {
        self.persist(|inner| inner.read())
    }

    fn write(&mut self, arenas: &Arenas<f32>) -> Result<()> {
        self.step = self.kept.as_ref().map_or(self.step, count);
        self.persist(|inner| inner.write(arenas))?;
        self.step = count(arenas);
        Ok(())
    }

    fn read_arena(&mut self, arena: Arena) -> Result<Vec<f32>> {
        self.persist(|inner| inner.read_arena(arena))
    }
}

/// How the executor of a plan that answers is made: first on `device`, then, should that be lost, on a new one of the same
/// adapter.
pub fn answering_on(device: &Device, plan: &Plan, checked: bool) -> Rebuild {
    let (mut first, summary, plan) = (Some(device.clone()), device.summary.clone(), plan.clone());
    Box::new(move |arenas| {
        let device = first.take().map_or_else(|| reopen(&summary), Ok)?;
        let hyper = vec![Hyperparameters::default(); plan.step.models];
        Ok(Box::new(GpuExecutor::new(device, plan.clone(), hyper, arenas, Walk::Recorded, checked)?))
    })
}

/// A new device of an adapter.
fn reopen(summary: &AdapterSummary) -> Result<Device> {
    let found = gpu::adapters().into_iter().find(|found| found.summary == *summary);
    Device::open(&found.ok_or_else(|| Error::Device(format!("{summary} is no longer there")))?)
}

/// How an executor is made again on the same adapter.
pub fn on_same_adapter(
    executor: &GpuExecutor,
    device: &Device,
    plan: &Plan,
    hyper: &[Hyperparameters],
    checked: bool,
) -> Rebuild {
    let (walk, summary) = (executor.walk(), device.summary.clone());
    let (plan, hyper) = (plan.clone(), hyper.to_vec());
    Box::new(move |arenas| {
        let device = reopen(&summary)?;
        let executor = GpuExecutor::new(device, plan.clone(), hyper.clone(), arenas, walk, checked)?;
        Ok(Box::new(executor))
    })
}
