//! What a run says while it lasts: a bar on a terminal, plain lines elsewhere, notices, and the metrics file.

#![expect(clippy::print_stderr, reason = "this is where the command line speaks")]

use std::io::IsTerminal as _;
use std::path::Path;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};

use crate::config::{Member, TrainConfig};
use crate::error::{Error, Result};
use crate::metrics::{MetricsWriter, Row};
use crate::run::Observer;
use crate::trainer::Trainer;

/// Prints an error on stderr.
pub(super) fn complain(error: &Error) {
    eprintln!("error: {error}");
}

/// The observer of the command line.
pub(super) struct Console {
    members: Vec<Member>,
    steps: u64,
    /// Reported steps on the screen.
    every: u64,
    /// Reported steps in the metrics file.
    metrics_every: u64,
    metrics: Option<MetricsWriter>,
    bar: Option<ProgressBar>,
    quiet: bool,
    started: Instant,
}

impl Console {
    /// Opens the metrics file.
    pub(super) fn new(
        config: &TrainConfig,
        members: &[Member],
        log_every: Option<u64>,
        metrics: Option<&Path>,
        quiet: bool,
    ) -> Result<Self> {
        let metrics = metrics.map(|path| MetricsWriter::create(path, members.len() > 1)).transpose()?;
        Ok(Self {
            members: members.to_vec(),
            steps: config.steps,
            every: log_every.unwrap_or_else(|| config.steps.div_ceil(20)),
            metrics_every: log_every.unwrap_or_else(|| config.steps.div_ceil(1000)),
            metrics,
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
        let model = &trainer.plan().step.model;
        let widths: Vec<_> = model.widths.iter().map(ToString::to_string).collect();
        let place = trainer.adapter().map_or("this processor".into(), ToString::to_string);
        let count = if self.members.len() == 1 { String::new() } else { format!("{} models of ", self.members.len()) };
        eprintln!(
            "training {count}[{}] ({} parameters) for {} steps, executor {} on {place}",
            widths.join(", "),
            model.parameter_count(),
            self.steps,
            trainer.executor(),
        );
        if std::io::stderr().is_terminal() {
            let bar = ProgressBar::new(self.steps);
            let template = "{bar:30} {pos}/{len} steps, loss {msg}, {per_sec}, {eta} left";
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            self.bar = Some(bar);
        }
    }

    /// Ends the bar and gives the metrics file its name.
    pub(super) fn finish(&mut self) -> Result<()> {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        self.metrics.take().map_or(Ok(()), MetricsWriter::finish)
    }

    /// Writes the rows of a step into the metrics file.
    fn write_metrics(&mut self, step: u64, losses: &[f32], elapsed_s: f64) -> Result<()> {
        let Some(metrics) = &mut self.metrics else { return Ok(()) };
        for (model, (&loss, member)) in losses.iter().zip(&self.members).enumerate() {
            let model = (self.members.len() > 1).then_some(model);
            let [learning_rate, ..] = member.hyper.at_step::<f64>(step - 1);
            metrics.write(&Row { step, model, loss, learning_rate, elapsed_s })?;
        }
        Ok(())
    }

    /// Prints the line of a step.
    fn print(&self, step: u64, losses: &[f32]) {
        let (best, worst) = losses.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(a, b), &l| (a.min(l), b.max(l)));
        if losses.len() == 1 {
            eprintln!("step {step:>9}  loss {best:.6}");
        } else {
            eprintln!("step {step:>9}  loss {best:.6} to {worst:.6}");
        }
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
            let best = losses.iter().rev().take(models).copied().fold(f32::INFINITY, f32::min);
            bar.set_message(format!("{best:.6}"));
            bar.set_position(first_step + (losses.len() / models) as u64);
        }
        self.metrics.as_mut().map_or(Ok(()), MetricsWriter::flush)
    }

    fn notice(&mut self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| eprintln!("note: {text}")),
            None => eprintln!("note: {text}"),
        }
    }
}
