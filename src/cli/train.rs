//! `fori train`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::progress::Console;
use super::summary;
use crate::config::{ExecutorChoice, Task, TrainConfig};
use crate::error::{Error, Result};
use crate::gpu::AdapterChoice;
use crate::interrupt;
use crate::spec::{Activation, Hyperparameters, Loss, Optimizer};
use crate::trainer::Trainer;

/// Flags that say what is trained.
#[derive(Debug, Args)]
pub(super) struct ModelArgs {
    /// Built-in task. linreg: learn y = x w + b + 0.1 noise from batches drawn anew each step.
    #[arg(long, value_name = "NAME", value_parser = ["linreg"], conflicts_with = "data", help_heading = "Data")]
    task: Option<String>,
    /// Width of the input of the linreg task.
    #[arg(long, value_name = "N", default_value_t = 2, conflicts_with = "data", help_heading = "Data")]
    inputs: usize,
    /// Width of the output of the linreg task.
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "data", help_heading = "Data")]
    outputs: usize,
    /// Train on the rows of a numeric CSV file with a header.
    #[arg(long, value_name = "FILE.csv", requires = "target", help_heading = "Data")]
    data: Option<PathBuf>,
    /// Column to predict; several with commas. All other columns are inputs.
    #[arg(long, value_name = "COLUMN", value_delimiter = ',', requires = "data", help_heading = "Data")]
    target: Vec<String>,
    /// Use the columns as they are, instead of centering each and scaling it to unit variance.
    #[arg(long, requires = "data", help_heading = "Data")]
    no_standardize: bool,
    /// Widths of the hidden layers; `none` for a linear model.
    #[arg(long, value_name = "WIDTHS", default_value = "64,64", value_parser = parse_widths, help_heading = "Model")]
    hidden: Widths,
    /// Activation of the hidden layers: identity, relu, tanh, gelu.
    #[arg(long, value_name = "NAME", default_value = "gelu", value_parser = super::parse::<Activation>, help_heading = "Model")]
    activation: Activation,
    /// What is minimized: mse.
    #[arg(long, value_name = "NAME", default_value = "mse", value_parser = super::parse::<Loss>, help_heading = "Model")]
    loss: Loss,
    /// Update rule: sgd, adam.
    #[arg(long, value_name = "NAME", default_value = "adam", value_parser = super::parse::<Optimizer>, help_heading = "Optimizer")]
    optimizer: Optimizer,
    /// Step size of the optimizer.
    #[arg(long, value_name = "X", default_value_t = 1e-3, help_heading = "Optimizer")]
    learning_rate: f64,
    /// Decay of the first moment (adam).
    #[arg(long, value_name = "X", default_value_t = 0.9, help_heading = "Optimizer")]
    b1: f64,
    /// Decay of the second moment (adam).
    #[arg(long, value_name = "X", default_value_t = 0.999, help_heading = "Optimizer")]
    b2: f64,
    /// Added to the root of the second moment (adam).
    #[arg(long, value_name = "X", default_value_t = 1e-8, help_heading = "Optimizer")]
    eps: f64,
    /// Rows of a batch.
    #[arg(long, value_name = "N", default_value_t = 64, help_heading = "Training")]
    batch_size: usize,
    /// Seed of the initial parameters and of the data, as nnx.Rngs(S) and jax.random.key(S).
    #[arg(long, value_name = "S", default_value_t = 0, help_heading = "Training")]
    seed: u64,
    /// Train N models with the seeds S, S+1, ... at once.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Training")]
    ensemble: usize,
    /// Train a model for each value of a hyperparameter at once, for example learning_rate=1e-4,1e-3,1e-2. Repeated,
    /// it trains the product of the values.
    #[arg(long, value_name = "NAME=V1,V2,...", value_parser = parse_sweep, help_heading = "Training")]
    sweep: Vec<(String, Vec<f64>)>,
}

/// Flags that say where and how it is run.
#[derive(Debug, Args)]
pub(super) struct DeviceArgs {
    /// Who runs the steps: auto, recorded (one dispatch per op), persistent (the loop inside one dispatch), cpu.
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = super::parse::<ExecutorChoice>, help_heading = "Device")]
    executor: ExecutorChoice,
    /// Steps per submission: a number, or auto to fill the submit budget.
    #[arg(long, value_name = "N", default_value = "auto", value_parser = parse_iters, help_heading = "Device")]
    iters_per_submit: Iters,
    /// The time that one submission should take, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=10_000), help_heading = "Device")]
    submit_budget_ms: u64,
    /// Take the adapter whose name or driver contains this text.
    #[arg(long, value_name = "TEXT", help_heading = "Device")]
    adapter: Option<String>,
    /// Take an adapter of this graphics interface.
    #[arg(long, value_name = "NAME", value_parser = ["vulkan", "metal", "dx12", "gl"], help_heading = "Device")]
    backend: Option<String>,
    /// Compile the kernels with bounds checks and loop bounds.
    #[arg(long, help_heading = "Device")]
    checked: bool,
}

/// Arguments of `fori train`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fori train\n  fori train --data table.csv --target price --hidden 128,128 --steps 50000"
)]
pub(super) struct TrainArgs {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    device: DeviceArgs,
    /// Steps (parameter updates) to train.
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..=4_000_000_000), help_heading = "Training")]
    steps: u64,
    /// Report every N-th step. Default: about 20 reports, and every report in a metrics file of 1,000 rows.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Output")]
    log_every: Option<u64>,
    /// Write step, loss, learning rate and time of each reported step, as CSV or (FILE.jsonl) JSON lines.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    metrics: Option<PathBuf>,
    /// Print the summary as one JSON object on stdout.
    #[arg(long, help_heading = "Output")]
    json: bool,
    /// Print nothing but the summary, warnings and errors.
    #[arg(long, short, help_heading = "Output")]
    quiet: bool,
}

/// The widths of `--hidden`.
#[derive(Debug, Clone)]
struct Widths(Vec<usize>);

fn parse_widths(text: &str) -> std::result::Result<Widths, String> {
    if text == "none" {
        return Ok(Widths(Vec::new()));
    }
    let width = |w: &str| w.trim().parse::<usize>().ok().filter(|&w| w > 0);
    let widths = text.split(',').map(width).collect::<Option<Vec<_>>>();
    widths.map(Widths).ok_or_else(|| "expected widths of 1 or more, as 64,64, or none".into())
}

/// The value of `--iters-per-submit`.
#[derive(Debug, Clone, Copy)]
struct Iters(Option<usize>);

fn parse_iters(text: &str) -> std::result::Result<Iters, String> {
    match text {
        "auto" => Ok(Iters(None)),
        _ => match text.parse() {
            Ok(n) if n > 0 => Ok(Iters(Some(n))),
            _ => Err("expected auto or a number of 1 or more".into()),
        },
    }
}

fn parse_sweep(text: &str) -> std::result::Result<(String, Vec<f64>), String> {
    let expected = "expected NAME=V1,V2,... with numbers, as learning_rate=1e-4,1e-3";
    let (name, values) = text.split_once('=').ok_or(expected)?;
    let values = values.split(',').map(|v| v.trim().parse::<f64>()).collect::<std::result::Result<Vec<_>, _>>();
    let values = values.map_err(|_| expected)?;
    let mut probe = Hyperparameters::default();
    probe.set(name.trim(), values[0]).map_err(|e| e.to_string())?;
    Ok((name.trim().to_string(), values))
}

/// The config that the flags describe.
pub(super) fn config(model: &ModelArgs, device: &DeviceArgs, steps: u64) -> TrainConfig {
    let task = match &model.data {
        Some(path) => {
            Task::Csv { path: path.clone(), targets: model.target.clone(), standardize: !model.no_standardize }
        }
        None => Task::Linreg { inputs: model.inputs, outputs: model.outputs },
    };
    TrainConfig {
        task,
        hidden: model.hidden.0.clone(),
        activation: model.activation,
        loss: model.loss,
        optimizer: model.optimizer,
        hyper: Hyperparameters { learning_rate: model.learning_rate, b1: model.b1, b2: model.b2, eps: model.eps },
        batch_size: model.batch_size,
        steps,
        seed: model.seed,
        ensemble: model.ensemble,
        sweep: model.sweep.clone(),
        executor: device.executor,
        iters_per_submit: device.iters_per_submit.0,
        submit_budget: Duration::from_millis(device.submit_budget_ms),
        adapter: AdapterChoice { name: device.adapter.clone(), backend: device.backend.clone() },
        checked: device.checked,
        ..TrainConfig::default()
    }
}

/// Trains, reporting on the way.
pub(super) fn run(args: &TrainArgs) -> Result<()> {
    let config = config(&args.model, &args.device, args.steps);
    let members = config.members()?;
    let mut console = Console::new(&config, &members, args.log_every, args.metrics.as_deref(), args.quiet)?;
    let stop = interrupt::flag()?;
    let trainer = Trainer::new(config.clone(), &mut console)?;
    console.start(&trainer);
    let trained = trainer.train(stop, &mut console);
    let finished = console.finish();
    let trained = trained?;
    finished?;
    if args.json {
        summary::print_json(&config, &trained)?;
    } else {
        summary::print(&trained);
    }
    if trained.outcome.interrupted {
        return Err(Error::Interrupted);
    }
    let diverged = trained.outcome.diverged.iter().flatten().min();
    match diverged {
        Some(&step) if trained.outcome.diverged.iter().all(Option::is_some) => {
            Err(Error::Diverged { step, quantity: "the loss is not finite".into() })
        }
        _ => Ok(()),
    }
}
