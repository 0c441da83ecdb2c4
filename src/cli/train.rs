//! `fori train`.

use std::path::PathBuf;

use clap::{ArgMatches, Args};

use super::chart;
use super::events::{Events, TensorBoardArgs};
use super::experiment;
use super::model::{DeviceArgs, ModelArgs, config, name_flag};
use super::output::say;
use super::plot::TrainingChart;
use super::progress::Console;
use super::resume::{self, CheckpointArgs, Given};
use super::schedule::ScheduleArgs;
use super::summary;
use super::validate::ValidateArgs;
use super::values;
use super::which;
use crate::config::TrainConfig;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::trainer::{Trained, Trainer};

/// Arguments of `fori train`.
#[derive(Debug, Args)]
#[command(
    after_help = "Without --data or --image it trains the built-in task linreg. The summary goes to stdout, progress and notes to stderr. \
                  Ctrl-C ends the run after its chunk, with summary and checkpoint. Exit codes: 0 done, 1 failed, 2 usage, 3 diverged, \
                  130 interrupted.\n\nExamples:\n  fori train\n  fori train --data table.csv --target price --hidden 128,128 --steps 50000\n  fori train experiment.toml --seed 1"
)]
pub(super) struct TrainArgs {
    /// Take what the flags leave out from a TOML file. Its keys are the names of flags with underscores; relative paths in it
    /// begin in its folder.
    #[arg(value_name = "EXPERIMENT.toml")]
    experiment: Option<PathBuf>,
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    device: DeviceArgs,
    #[command(flatten)]
    schedule: ScheduleArgs,
    #[command(flatten)]
    pub(super) checkpoint: CheckpointArgs,
    #[command(flatten)]
    validate: ValidateArgs,
    /// Steps (parameter updates) to train.
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = values::whole::<u64>(1..=4_000_000_000), help_heading = "Training")]
    steps: u64,
    /// Write the whole experiment, every value resolved, into a TOML file before training starts: `fori train FILE.toml` repeats
    /// the run.
    #[arg(long, value_name = "FILE.toml", conflicts_with = "resume", help_heading = "Output")]
    save_experiment: Option<PathBuf>,
    /// Report every N-th step, and the last one [default: about 20 reports on the screen, 1,000 in a metrics file, fewer of more than 1,000 models]
    #[arg(long, value_name = "N", value_parser = values::whole::<u64>(1..=u64::MAX), help_heading = "Output")]
    log_every: Option<u64>,
    /// Write step, loss, learning rate and time of each reported step, as JSON lines into FILE.jsonl, as CSV into any
    /// other file.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    metrics: Option<PathBuf>,
    /// Draw the losses when the run has ended; `fori plot` draws the metrics of several runs.
    #[arg(long, value_name = "FILE.svg|FILE.png", value_parser = chart::parse_path, help_heading = "Output")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    tensorboard: TensorBoardArgs,
    /// Show the run in the terminal while it lasts: losses, speed, and the best models of an ensemble.
    #[arg(long, conflicts_with = "quiet", help_heading = "Output")]
    live: bool,
    /// Print the summary as one JSON object on stdout.
    #[arg(long, help_heading = "Output")]
    json: bool,
    /// Print nothing but the summary, notes and errors.
    #[arg(long, short, help_heading = "Output")]
    quiet: bool,
}

impl TrainArgs {
    /// The config of a training run.
    pub(super) fn config(&self) -> Result<TrainConfig> {
        let config = config(&self.model, &self.device, self.steps);
        Ok(TrainConfig {
            schedule: self.schedule.schedule(config.updates())?,
            on_divergence: self.checkpoint.on_divergence,
            checkpoint: self.checkpoint.config(None),
            validate: self.validate.config(),
            ..config
        })
    }
}

/// Fails where an output is a file that is read, or another output.
fn check_outputs(args: &TrainArgs, config: &TrainConfig) -> Result<()> {
    // A checkpoint may replace the one that it goes on from.
    let resumed = args.checkpoint.resume.as_deref();
    let checkpoint = config.checkpoint.as_ref().map(|checkpoint| &checkpoint.path);
    let outputs = [
        ("--metrics", args.metrics.as_ref(), resumed),
        ("--plot", args.plot.as_ref(), resumed),
        ("--checkpoint", checkpoint, None),
        ("--checkpoint-best", config.validate.best.as_ref(), None),
    ];
    outputs.into_iter().filter_map(|(flag, path, resumed)| Some((flag, path?, resumed))).try_for_each(
        |(flag, path, resumed)| {
            let inputs: Vec<_> = args.experiment.as_deref().into_iter().chain(resumed).collect();
            which::refuse_overwriting(flag, path, &inputs)?;
            which::refuse_overwriting_data(flag, path, config)
        },
    )?;
    let more = [("--save-experiment", args.save_experiment.as_ref()), ("--tensorboard", args.tensorboard.folder())];
    let named = outputs.iter().map(|&(flag, path, _)| (flag, path)).chain(more);
    which::refuse_sharing(&named.filter_map(|(flag, path)| Some((flag, path?.as_path()))).collect::<Vec<_>>())
}

/// Trains, reporting on the way.
pub(super) fn run(args: &TrainArgs, matches: &ArgMatches) -> Result<()> {
    let (config, resumed) = resume::config(args, &Given::of(matches))?;
    args.model.check(&config)?;
    if u64::from(config.accumulate) > config.steps {
        return Err(Error::Usage(format!(
            "--accumulate {} makes no update in {} steps: expected as many --steps or more",
            config.accumulate, config.steps
        )));
    }
    args.validate.check(&config)?;
    check_outputs(args, &config)?;
    let members = config.members()?;
    let from = resumed.as_ref().map(|checkpoint| checkpoint.step());
    let chart = args.plot.as_deref().map(|path| TrainingChart::open(path, args.metrics.as_deref())).transpose()?;
    let metrics = chart.as_ref().map(TrainingChart::metrics).or(args.metrics.as_deref());
    let mut console = Console::new(&config, &members, args.log_every, metrics, from, args.quiet)?;
    if let Some(events) = Events::open(&args.tensorboard, &config, &members, from)? {
        console.report_to(events);
    }
    let stop = interrupt::flag()?;
    let trainer = match (&resumed, &args.checkpoint.resume) {
        (Some(checkpoint), Some(path)) => Trainer::resume(config.clone(), checkpoint, path, &mut console),
        _ => Trainer::new(config.clone(), &mut console),
    };
    let trainer = trainer.map_err(|e| name_flag(e, &config))?;
    if let Some(path) = &args.save_experiment {
        experiment::save(path, args.experiment.as_deref(), matches, &config, &trainer)?;
    }
    console.start(&trainer, args.live.then_some(stop));
    let trained = match trainer.train(stop, &mut console) {
        Ok(trained) => trained,
        Err(error) => {
            console.abandon();
            return Err(error);
        }
    };
    // The figures come first: they are not to be lost to a full disk.
    let finished = console.finish();
    if args.json {
        summary::print_json(&config, &trained)?;
    } else {
        summary::print(&config, &trained)?;
    }
    let title = title(&trained);
    let end = end(trained);
    if let Err(error) = finished {
        if end.is_err() {
            say(format_args!("note: {error}"));
        }
        return end.and(Err(error));
    }
    match chart {
        Some(chart) => chart.draw_after(&title, end),
        None => end,
    }
}

/// What was trained, for a chart.
fn title(trained: &Trained) -> String {
    let step = &trained.plan.step;
    format!("[{}], {} with {}", step.model.widths_text(", "), step.loss, step.optimizer)
}

/// The error that a run ends with, if it does.
fn end(trained: Trained) -> Result<()> {
    let diverged = trained.outcome.divergence();
    if let Some(saved) = trained.saved {
        match (saved.error, saved.step) {
            (Some(error), _) => return Err(error),
            (_, Some(step)) if diverged.is_some() => {
                say(format_args!("note: the last good checkpoint, of step {step}, is {}", saved.path.display()));
            }
            _ => {}
        }
    }
    match diverged {
        _ if trained.outcome.interrupted => Err(Error::Interrupted),
        Some(error) => Err(error),
        None => Ok(()),
    }
}
