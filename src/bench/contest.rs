//! The order of a benchmark: first steps, warm-up to a common step, rounds in turn, device times.

use std::sync::atomic::Ordering;

use super::figures::{Record, compare};
use super::helper::Remote;
use super::local::{Contestant, Local, Request, Source, whole};
use super::{Bench, BenchConfig, Observer, Row, Stop, Way};
use crate::error::{Error, Result};
use crate::gpu::{self, Found};
use crate::trainer::single_threaded;

/// Steps to which all ways run before they are timed, the first two included.
const WARM_UP: usize = 200;

/// The longest warm-up of the slowest way, in seconds.
const WARM_UP_SECONDS: f64 = 5.0;

/// The variable that gives Mesa's llvmpipe its threads.
const THREADS: &str = "LP_NUM_THREADS";

/// A way with what happened to it.
struct Entry {
    way: Way,
    models: usize,
    contestant: Result<Box<dyn Contestant>, String>,
    record: Record,
}

/// Measures all ways.
///
/// # Errors
/// [`Error::Usage`] and [`Error::Data`] for what cannot be trained, [`Error::Device`] when the adapter that is asked for is
/// not there, [`Error::Interrupted`] when `stop` is set. What fails for one way only is in its row.
pub fn run(config: &BenchConfig, stop: Stop<'_>, observer: &mut dyn Observer) -> Result<Bench> {
    let source = Source::read(config)?;
    let place = Place::find(config, &source, observer)?;
    let mut entries = Vec::new();
    for way in Way::all(place.models) {
        halt(stop)?;
        entries.push(place.enter(config, way, &source, observer)?);
    }
    let compared_step = warm_up(&mut entries, stop)?;
    for round in 0..config.rounds {
        observer.round(round + 1, config.rounds);
        for entry in &mut entries {
            halt(stop)?;
            entry.turn(config.turn.as_secs_f64());
        }
    }
    for entry in &mut entries {
        halt(stop)?;
        entry.record.gpu = entry.ask(Request::TimedTurn(config.turn.as_secs_f64()));
    }
    let adapter = place.found.as_ref().map(|found| found.summary.clone());
    // The heading names the adapter; a reason need not.
    let prefix = adapter.as_ref().map_or_else(String::new, |adapter| format!("{adapter}: "));
    let mut rows: Vec<_> = entries.into_iter().map(|entry| entry.row(&prefix)).collect();
    compare(&mut rows);
    let products = place.found.as_ref().map_or(source.plan.step.products, Found::products);
    let plan = crate::plan::Plan::new(crate::plan::TrainStep { products, ..source.plan.step })?;
    Ok(Bench { adapter, plan, compared_step, rows })
}

fn halt(stop: Stop<'_>) -> Result<()> {
    if stop.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
}

/// Where the benchmark runs.
struct Place {
    found: Option<Found>,
    /// Models of the ensemble.
    models: usize,
    /// Whether the ensemble needs a process of its own to have all threads.
    apart: bool,
    /// Variables that this process set for itself.
    unset: Vec<&'static str>,
}

impl Place {
    fn find(config: &BenchConfig, source: &Source, observer: &mut dyn Observer) -> Result<Self> {
        let single = single_threaded(&source.plan);
        let unset = if std::env::var_os(THREADS).is_none() { vec![THREADS] } else { Vec::new() };
        gpu::prepare_software_adapters(single);
        let found = gpu::choose(&config.train.adapter)?;
        if found.is_none() {
            observer.notice(&format!(
                "no graphics adapter was found, so cpu alone is measured; for the rest: {}",
                gpu::INSTALL
            ));
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let software = found.as_ref().is_none_or(Found::is_software);
        let models = config.models.unwrap_or(if software { (2 * cores).min(64) } else { 128 });
        Ok(Self { apart: single && software && found.is_some(), found, models, unset })
    }

    /// Lets a way make its first two steps.
    fn enter(&self, config: &BenchConfig, way: Way, source: &Source, observer: &mut dyn Observer) -> Result<Entry> {
        let models = way.config(&config.train).members()?.len();
        let record = Record { verified: true, ..Record::default() };
        let mut entry = Entry { way, models, contestant: self.open(config, way, source), record };
        if let Some(first) = entry.ask(Request::Steps(1)) {
            entry.record.first_step_seconds = first.seconds;
        }
        let first = entry.contestant.as_ref().map(|_| entry.record.first_step_seconds).map_err(String::as_str);
        observer.prepared(&way.name(), first);
        Ok(entry)
    }

    fn open(&self, config: &BenchConfig, way: Way, source: &Source) -> Result<Box<dyn Contestant>, String> {
        if self.found.is_none() && way != Way::Cpu {
            return Err("no adapter".into());
        }
        match (&config.helper, way) {
            (Some(helper), Way::Ensemble(models)) if self.apart => {
                Ok(Box::new(Remote::start(helper, models, &self.unset)?))
            }
            _ => {
                let local = Local::open(config, way, self.found.as_ref(), source);
                Ok(Box::new(local.map_err(|e| e.to_string())?))
            }
        }
    }
}

impl Entry {
    /// Asks the contestant; what it cannot do ends its part.
    fn ask(&mut self, request: Request) -> Option<super::local::Measured> {
        // After a step that the device did not finish nothing is worth measuring.
        let contestant = self.contestant.as_mut().ok().filter(|_| self.record.verified)?;
        match contestant.ask(request) {
            Ok(done) => {
                self.record.steps += done.steps as u64;
                self.record.verified &= done.verified;
                Some(done)
            }
            Err(reason) => {
                self.contestant = Err(reason);
                None
            }
        }
    }

    fn turn(&mut self, seconds: f64) {
        let done = self.ask(Request::Turn(seconds));
        self.record.rounds.extend(done);
    }

    /// The row of the table; a reason is told without `prefix`.
    fn row(self, prefix: &str) -> Row {
        let unfinished = "the adapter did not finish its steps and reported no error";
        let figures = self.record.figures(self.models).ok_or_else(|| unfinished.to_string());
        let outcome = self.contestant.and(figures);
        Row { way: self.way, models: self.models, outcome: outcome.map_err(|reason| reason.replacen(prefix, "", 1)) }
    }
}

/// Runs all ways to a step that the slowest of them can reach, and returns it.
fn warm_up(entries: &mut [Entry], stop: Stop<'_>) -> Result<usize> {
    let mut slowest = 0.0_f64;
    for entry in entries.iter_mut() {
        halt(stop)?;
        if let Some(second) = entry.ask(Request::Steps(1)) {
            slowest = slowest.max(second.seconds);
            entry.record.compared_loss = second.loss;
        }
    }
    let more = whole(WARM_UP_SECONDS / slowest.max(1e-9)).min(WARM_UP - 2);
    for entry in entries.iter_mut().filter(|_| more > 0) {
        halt(stop)?;
        entry.record.compared_loss = entry.ask(Request::Steps(more)).and_then(|done| done.loss);
    }
    Ok(more + 2)
}
