//! What a run says while it lasts: a bar on a terminal, plain lines elsewhere, notices, and the metrics file.

use std::io::IsTerminal as _;
use std::path::Path;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};

use super::output::{loss_text, say};
use crate::config::{Member, TrainConfig};
use crate::error::{Error, Result};
use crate::metrics::{MetricsWriter, Row};
use crate::run::Observer;
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
    metrics: Option<MetricsWriter>,
    /// The last step seen and its losses, which are reported at the end where the run ends early.
    last: (u64, Vec<f32>),
    bar: Option<ProgressBar>,
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
        let metrics = metrics.map(|path| MetricsWriter::open(path, members.len() > 1, from)).transpose()?;
        Ok(Self {
            members: members.to_vec(),
            config: config.clone(),
            steps: config.steps,
            every: log_every.unwrap_or_else(|| config.steps.div_ceil(20)),
            metrics_every: log_every.unwrap_or_else(|| config.steps.div_ceil(1000)),
            metrics,
            last: (0, Vec::new()),
            bar: None,
            quiet,
            started: Instant::now(),
        })
    }

    /// Says what is about to be trained, and starts the bar.
    pub(super) fn start(&mut self, trainer: &Trainer) {
        if self.quiet {
            return;
        }
        if let Some(tables) = trainer.tables() {
            say(&tables.summary);
        }
        let model = &trainer.plan().step.model;
        let widths: Vec<_> = model.widths.iter().map(ToString::to_string).collect();
        let place = trainer.adapter().map_or("this processor".into(), ToString::to_string);
        let count = if self.members.len() == 1 { String::new() } else { format!("{} models of ", self.members.len()) };
        let resuming = match trainer.first_step() {
            0 => String::new(),
            step => format!("from step {step} on, "),
        };
        say(format_args!(
            "{resuming}training {count}[{}] ({} parameters) for {} steps, executor {} on {place}",
            widths.join(", "),
            model.parameter_count(),
            self.steps,
            trainer.executor(),
        ));
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
        self.clear_bar();
        let (step, losses) = std::mem::take(&mut self.last);
        if step > 0 && !reported(step, self.metrics_every, self.steps) {
            self.write_metrics(step, &losses, self.started.elapsed().as_secs_f64())?;
        }
        self.metrics.take().map_or(Ok(()), MetricsWriter::finish)
    }

    /// Ends the bar of a run that failed, and says where its metrics are.
    pub(super) fn abandon(&mut self) {
        self.clear_bar();
        if let Some(partial) = self.metrics.as_ref().and_then(MetricsWriter::partial) {
            say(format_args!("note: the metrics of the steps so far are in {}", partial.display()));
        }
    }

    fn clear_bar(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    /// Writes the rows of a step into the metrics file.
    fn write_metrics(&mut self, step: u64, losses: &[f32], elapsed_s: f64) -> Result<()> {
        let Some(metrics) = &mut self.metrics else { return Ok(()) };
        for (model, (&loss, member)) in losses.iter().zip(&self.members).enumerate() {
            let model = (self.members.len() > 1).then_some(model);
            let learning_rate = self.config.learning_rate(member, step - 1);
            metrics.write(&Row { step, model, loss, learning_rate, elapsed_s })?;
        }
        Ok(())
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
        for (step, losses) in (first_step + 1..).zip(losses.chunks_exact(models)) {
            if reported(step, self.metrics_every, self.steps) {
                self.write_metrics(step, losses, elapsed_s)?;
            }
            if self.bar.is_none() && !self.quiet && reported(step, self.every, self.steps) {
                self.print(step, losses);
            }
        }
        if let Some(bar) = &self.bar {
            let best = losses.iter().rev().take(models).copied().reduce(f32::min);
            bar.set_message(loss_text(best.unwrap_or(f32::NAN)));
            bar.set_position(first_step + (losses.len() / models) as u64);
        }
        let tail = losses.len().saturating_sub(models);
        self.last = (first_step + (losses.len() / models) as u64, losses[tail..].to_vec());
        self.metrics.as_mut().map_or(Ok(()), MetricsWriter::flush)
    }

    fn notice(&mut self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| say(format_args!("note: {text}"))),
            None => say(format_args!("note: {text}")),
        }
    }
}
