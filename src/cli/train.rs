//! `fori train`.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{ArgMatches, Args};

use super::chart;
use super::data::DataArgs;
use super::events::{Events, TensorBoardArgs};
use super::experiment;
use super::layers::LayerArgs;
use super::optimizer::OptimizerArgs;
use super::output::say;
use super::plot::TrainingChart;
use super::progress::Console;
use super::resume::{self, CheckpointArgs, Given};
use super::schedule::ScheduleArgs;
use super::summary;
use super::validate::ValidateArgs;
use super::values::{self, Iters, Widths};
use super::which;
use crate::config::{ExecutorChoice, MAX_MODELS, Task, TrainConfig, Validation};
use crate::error::{Error, Result};
use crate::gpu::AdapterChoice;
use crate::interrupt;
use crate::plan::{MAX_BATCH, Sampling};
use crate::spec::{Activation, Init, Loss};
use crate::trainer::{Trained, Trainer};

/// Flags that say what is trained.
#[derive(Debug, Args)]
pub(super) struct ModelArgs {
    #[command(flatten)]
    data: DataArgs,
    /// Widths of the hidden layers with commas between them; none for a linear model.
    #[arg(long, value_name = "WIDTHS", default_value = "64,64", value_parser = values::widths, help_heading = "Model")]
    hidden: Widths,
    /// Activation of the hidden layers: identity, relu, leaky_relu, elu, selu, tanh, sigmoid, silu, gelu (tanh form),
    /// gelu_exact, softplus, sin.
    #[arg(long, value_name = "NAME", default_value = "gelu", value_parser = values::named::<Activation>, help_heading = "Model")]
    activation: Activation,
    #[command(flatten)]
    layers: LayerArgs,
    /// Factor of sin(w0 z) [default: 1, with --init siren 30]
    #[arg(long, value_name = "X", value_parser = values::number, help_heading = "Model")]
    w0: Option<f64>,
    /// How kernels begin: lecun_normal, lecun_uniform, glorot_normal, glorot_uniform, he_normal, he_uniform, orthogonal,
    /// zeros, siren (with --activation sin).
    #[arg(long, value_name = "NAME", default_value = "lecun_normal", value_parser = values::named::<Init>, help_heading = "Model")]
    init: Init,
    /// What is minimized: mse, mae, huber, log_cosh, binary_cross_entropy (the output is a logit, the target a label
    /// from 0 to 1, or one of two texts), softmax_cross_entropy (an output per class, the target a class by its text or
    /// number).
    #[arg(long, value_name = "NAME", default_value = "mse", value_parser = values::named::<Loss>, help_heading = "Model")]
    loss: Loss,
    /// Share of the certainty of a class that softmax_cross_entropy spreads over all classes.
    #[arg(long, value_name = "S", default_value_t = 0.0, value_parser = values::share, help_heading = "Model")]
    label_smoothing: f64,
    #[command(flatten)]
    pub(super) optimizer: OptimizerArgs,
    /// Rows of a batch.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = values::whole::<usize>(1..=MAX_BATCH as u64), help_heading = "Training")]
    batch_size: usize,
    /// How the rows of a batch are drawn from a table: shuffle (each epoch has every row once, in an order drawn anew),
    /// replacement (each is any row).
    #[arg(long, value_name = "HOW", default_value = "shuffle", value_parser = values::named::<Sampling>, requires = "files", help_heading = "Training")]
    sampling: Sampling,
    /// Seed of the initial parameters and of the data, as nnx.Rngs(S) and jax.random.key(S).
    #[arg(long, value_name = "S", default_value_t = 0, value_parser = values::whole::<u64>(0..=u64::MAX), help_heading = "Training")]
    seed: u64,
    /// Train N models with the seeds S, S+1, ... at once.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = values::whole::<usize>(1..=MAX_MODELS as u64), help_heading = "Training")]
    ensemble: usize,
    /// Train a model for each value of a hyperparameter at once, for example learning_rate=1e-4,1e-3,1e-2. Repeated,
    /// it trains the product of the values.
    #[arg(long, value_name = "NAME=V1,V2,...", value_parser = values::sweep, help_heading = "Training")]
    sweep: Vec<(String, Vec<f64>)>,
}

impl ModelArgs {
    /// Fails where a number is given that has no part in the config.
    pub(super) fn check(&self, config: &TrainConfig) -> Result<()> {
        self.optimizer.check(&self.sweep, config)
    }
}

/// Flags that say where and how it is run.
#[derive(Debug, Args)]
pub(super) struct DeviceArgs {
    /// Who runs the steps: auto, recorded (one dispatch per op), persistent (the loop inside one dispatch), cpu.
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = values::named::<ExecutorChoice>, help_heading = "Device")]
    executor: ExecutorChoice,
    /// Steps per submission: a number, or auto to fill the submit budget.
    #[arg(long, value_name = "N", default_value = "auto", value_parser = values::iters, help_heading = "Device")]
    iters_per_submit: Iters,
    /// Do not use what `fori tune` found.
    #[arg(long, help_heading = "Device")]
    no_tune_cache: bool,
    #[command(flatten)]
    place: PlaceArgs,
}

/// Flags that say where it is run.
#[derive(Debug, Clone, Args)]
pub(super) struct PlaceArgs {
    /// The time that one submission should take, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 100, value_parser = values::whole::<u64>(1..=10_000), help_heading = "Device")]
    submit_budget_ms: u64,
    /// Take the adapter whose name or driver contains this text; `fori adapters` lists them.
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new(), help_heading = "Device")]
    adapter: Option<String>,
    /// Take an adapter of this graphics interface.
    #[arg(long, value_name = "NAME", value_parser = crate::gpu::BACKENDS, help_heading = "Device")]
    backend: Option<String>,
    /// Compile the kernels with bounds checks and loop bounds.
    #[arg(long, help_heading = "Device")]
    checked: bool,
}

impl DeviceArgs {
    /// With nothing asked of the way it is run.
    pub(super) fn anyhow(place: &PlaceArgs) -> Self {
        Self {
            executor: ExecutorChoice::Auto,
            iters_per_submit: Iters(None),
            no_tune_cache: true,
            place: place.clone(),
        }
    }
}

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

/// The config that the flags describe.
pub(super) fn config(model: &ModelArgs, device: &DeviceArgs, steps: u64) -> TrainConfig {
    TrainConfig {
        executor: device.executor,
        iters_per_submit: device.iters_per_submit.0,
        submit_budget: Duration::from_millis(device.place.submit_budget_ms),
        adapter: AdapterChoice { name: device.place.adapter.clone(), backend: device.place.backend.clone() },
        checked: device.place.checked,
        tune_cache: !device.no_tune_cache,
        ..model_config(model, steps)
    }
}

/// What is trained, run anyhow.
pub(super) fn model_config(model: &ModelArgs, steps: u64) -> TrainConfig {
    TrainConfig {
        task: model.data.task(),
        hidden: model.hidden.0.clone(),
        activation: model.activation,
        layers: model.layers.options(),
        w0: model.w0.unwrap_or(model.init.default_w0()),
        init: model.init,
        loss: model.loss,
        label_smoothing: model.label_smoothing,
        optimizer: model.optimizer.optimizer,
        hyper: model.optimizer.hyper(),
        accumulate: model.optimizer.accumulate,
        decay_bias: model.optimizer.decay_bias(),
        batch_size: model.batch_size,
        sampling: model.sampling,
        steps,
        seed: model.seed,
        ensemble: model.ensemble,
        sweep: model.sweep.clone(),
        ..TrainConfig::default()
    }
}

/// Names the flag of a file that the operating system refused.
pub(super) fn name_flag(error: Error, config: &TrainConfig) -> Error {
    let table = config.task.table();
    let (Error::Io { path, source }, Some(table)) = (&error, &table) else { return error };
    let flag = match (&config.task, &table.validation) {
        (Task::Image(_), _) if table.path == *path => "--image",
        (_, Some(Validation::File(validation))) if validation == path => "--validation",
        _ if table.labels.as_ref() == Some(path) => "--labels",
        _ => "--data",
    };
    let expected = if flag == "--image" { "a PNG or JPEG file" } else { "a CSV file with a header, or another table" };
    Error::Data(format!("{flag} {}: {source}; expected {expected}", path.display()))
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
