//! What a run says while it lasts: a bar on a terminal, plain lines elsewhere, notices, and the metrics file.

use std::io::IsTerminal as _;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};

use super::events::Events;
use super::live::{About, Live};
use super::output::{loss_text, say};
use super::records::{Records, Step};
use crate::config::{Member, TrainConfig};
use crate::error::{Error, Result};
use crate::metrics::MetricsWriter;
use crate::run::Observer;
use crate::score::{self, Scores};
use crate::trainer::Trainer;

/// Prints an error on stderr; an interruption is none.
pub(super) fn complain(error: &Error) {
    match error {
        Error::Interrupted => say(error),
        _ => say(format_args!("error: {error}")),
    }
}

/// The observer of the command line.
pub(super) struct Console {
    members: Vec<Member>,
    config: TrainConfig,
    steps: u64,
    /// Reported steps on the screen.
    every: u64,
    /// Reported steps in the metrics file.
    metrics_every: u64,
    records: Records,
    /// The last step seen, its losses and when that was: its row waits for a validation.
    last: Option<(u64, Vec<f32>, f64)>,
    /// What the learning rates are multiplied with; empty where nothing lowers them.
    scales: Vec<f64>,
    /// The last step whose validation was printed.
    validation_printed: u64,
    bar: Option<ProgressBar>,
    live: Option<Live>,
    quiet: bool,
    started: Instant,
}

impl Console {
    /// Opens the metrics file; `from` is the step of a resumed run.
    pub(super) fn new(
        config: &TrainConfig,
        members: &[Member],
        log_every: Option<u64>,
        metrics: Option<&Path>,
        from: Option<u64>,
        quiet: bool,
    ) -> Result<Self> {
        let validated = config.task.table().is_some_and(|table| table.validation.is_some());
        let validation = if validated { score::names(config.loss.target_kind()) } else { &[] };
        let metrics = metrics.map(|path| MetricsWriter::open(path, members.len() > 1, validation, from)).transpose()?;
        // At most about a million rows, but some of every model.
        let reports = (1_000_000 / members.len().max(1)).clamp(20, 1_000) as u64;
        Ok(Self {
            members: members.to_vec(),
            config: config.clone(),
            steps: config.steps,
            every: log_every.unwrap_or_else(|| config.steps.div_ceil(20)),
            metrics_every: log_every.unwrap_or_else(|| config.steps.div_ceil(reports)),
            records: Records::new(metrics),
            last: None,
            scales: Vec::new(),
            validation_printed: 0,
            bar: None,
            live: None,
            quiet,
            started: Instant::now(),
        })
    }

    /// Writes the reported steps for TensorBoard too.
    pub(super) fn report_to(&mut self, events: Events) {
        self.records.report_to(events);
    }

    /// Says what is about to be trained, and starts the bar, or the live view where `live` has the flag that ends the run.
    pub(super) fn start(&mut self, trainer: &Trainer, live: Option<&'static AtomicBool>) {
        if self.quiet {
            return;
        }
        if let Some(tables) = trainer.tables() {
            say(&tables.summary);
        }
        let model = &trainer.plan().step.model;
        let place = trainer.adapter().map_or("this processor".into(), ToString::to_string);
        let count = if self.members.len() == 1 { String::new() } else { format!("{} models of ", self.members.len()) };
        let network = format!("{count}[{}] ({} parameters)", model.widths_text(", "), model.parameter_count());
        let place = format!("executor {} on {place}", trainer.executor());
        let first = trainer.first_step();
        let resuming = if first == 0 { String::new() } else { format!("from step {first} on, ") };
        say(format_args!("{resuming}training {network} for {} steps, {place}", self.steps));
        let open = |stop| Live::open(About { network, place, ..About::of(&self.config, &self.members) }, first, stop);
        self.live = live.and_then(open);
        if self.live.is_some() {
            return;
        }
        if std::io::stderr().is_terminal() {
            let bar = ProgressBar::new(self.steps);
            let template = "{bar:30} {pos}/{len} steps, loss {msg}, {per_sec}, {eta} left";
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            self.bar = Some(bar);
        }
    }

    /// Ends the bar, reports the last step of a run that ended early, and gives the metrics file its name.
    pub(super) fn finish(&mut self) -> Result<()> {
        self.clear();
        if let Some((step, losses, elapsed_s)) = self.last.take() {
            self.report(step, &losses, elapsed_s, &[]);
        }
        self.records.finish().inspect_err(|_| self.say_partial())
    }

    /// Ends the bar of a run that failed, and says where its metrics are.
    pub(super) fn abandon(&mut self) {
        self.clear();
        self.records.abandon();
        self.say_partial();
    }

    fn say_partial(&self) {
        if let Some(partial) = self.records.partial() {
            say(format_args!("note: the metrics of the steps so far are in {}", partial.display()));
        }
    }

    /// Gives the terminal back.
    fn clear(&mut self) {
        if let Some(live) = self.live.take() {
            live.close();
        }
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    /// Writes a step for whoever reads it later.
    fn report(&mut self, step: u64, losses: &[f32], elapsed_s: f64, scores: &[Scores]) {
        let rates: Vec<_> = (0..losses.len()).map(|model| self.learning_rate(model, step)).collect();
        if let Some(text) = self.records.add(&Step { step, losses, rates: &rates, elapsed_s, scores }) {
            self.notice(&text);
        }
    }

    /// The learning rate of a model at a step, counted from 1.
    fn learning_rate(&self, model: usize, step: u64) -> f64 {
        let scale = self.scales.get(model).copied().unwrap_or(1.0);
        scale * self.config.learning_rate(&self.members[model], step.saturating_sub(1))
    }

    /// Whether the screen gets lines.
    fn plain(&self) -> bool {
        self.bar.is_none() && self.live.is_none() && !self.quiet
    }

    /// Prints the line of a step.
    fn print(&self, step: u64, losses: &[f32]) {
        let text = match losses {
            [loss] => loss_text(*loss),
            _ => range_text(losses),
        };
        say(format_args!("step {step:>9}  loss {text}"));
    }
}

/// Loss and headline of the best model.
fn scores_text(scores: &[Scores]) -> String {
    let best = scores.iter().min_by(|a, b| a.loss().total_cmp(&b.loss()));
    best.map_or(String::new(), |best| {
        let (name, value) = best.headline();
        let which = if scores.len() > 1 { " (best model)" } else { "" };
        format!("loss {}, {name} {value:.4}{which}", loss_text(narrow(best.loss())))
    })
}

/// For a text of a few digits.
#[expect(clippy::cast_possible_truncation, reason = "a few digits are shown")]
fn narrow(value: f64) -> f32 {
    value as f32
}

/// The losses of an ensemble: the best, the worst, and how many are not finite.
fn range_text(losses: &[f32]) -> String {
    let finite = || losses.iter().copied().filter(|l| l.is_finite());
    let lost = losses.len() - finite().count();
    let lost = if lost > 0 { format!(" ({lost} of {} diverged)", losses.len()) } else { String::new() };
    match (finite().reduce(f32::min), finite().reduce(f32::max)) {
        (Some(best), Some(worst)) => format!("{} to {}{lost}", loss_text(best), loss_text(worst)),
        _ => format!("NaN{lost}"),
    }
}

/// Prints notices and nothing else, for commands that do not train.
pub(super) struct Notices;

impl Observer for Notices {
    fn losses(&mut self, _: u64, _: &[f32]) -> Result<()> {
        Ok(())
    }

    fn notice(&mut self, text: &str) {
        say(format_args!("note: {text}"));
    }
}

/// Whether a step is reported: every n-th, and the last.
fn reported(step: u64, every: u64, last: u64) -> bool {
    step.is_multiple_of(every) || step == last
}

impl Observer for Console {
    fn losses(&mut self, first_step: u64, losses: &[f32]) -> Result<()> {
        let models = self.members.len();
        let elapsed_s = self.started.elapsed().as_secs_f64();
        let end = first_step + (losses.len() / models) as u64;
        if let Some((step, losses, elapsed_s)) = self.last.take().filter(|l| l.0.is_multiple_of(self.metrics_every)) {
            self.report(step, &losses, elapsed_s, &[]);
        }
        self.last = losses.chunks_exact(models).next_back().map(|last| (end, last.to_vec(), elapsed_s));
        for (step, losses) in (first_step + 1..).zip(losses.chunks_exact(models)) {
            if step < end && step.is_multiple_of(self.metrics_every) {
                self.report(step, losses, elapsed_s, &[]);
            }
            if self.plain() && reported(step, self.every, self.steps) {
                self.print(step, losses);
            }
        }
        if let Some(bar) = &self.bar {
            let best = losses.iter().rev().take(models).copied().reduce(f32::min);
            bar.set_message(loss_text(best.unwrap_or(f32::NAN)));
            bar.set_position(end);
        }
        if let Some(live) = &self.live {
            let rates = (0..models).map(|model| self.learning_rate(model, end));
            live.losses(first_step, losses, models, rates.fold(f64::NAN, f64::max));
        }
        if let Some(text) = self.records.flush() {
            self.notice(&text);
        }
        Ok(())
    }

    fn validated(&mut self, step: u64, scores: &[Scores]) -> Result<()> {
        if let Some((last, losses, elapsed_s)) = self.last.take_if(|last| last.0 == step) {
            self.report(last, &losses, elapsed_s, scores);
        }
        if let Some(live) = &self.live {
            live.validated(step, scores);
        }
        let due = step - self.validation_printed >= self.every || step == self.steps;
        if self.plain() && due {
            self.validation_printed = step;
            say(format_args!("step {step:>9}  validation {}", scores_text(scores)));
        }
        Ok(())
    }

    fn scaled(&mut self, step: u64, scales: &[f64]) {
        if step > 0 && self.plain() && scales != self.scales {
            let least = scales.iter().copied().fold(f64::INFINITY, f64::min);
            say(format_args!("step {step:>9}  learning rate times {least:?} from here on, on a plateau"));
        }
        self.scales = scales.to_vec();
    }

    fn notice(&mut self, text: &str) {
        if let Some(live) = &self.live {
            return live.notice(text);
        }
        match &self.bar {
            Some(bar) => bar.suspend(|| say(format_args!("note: {text}"))),
            None => say(format_args!("note: {text}")),
        }
    }
}
