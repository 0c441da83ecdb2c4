//! What is trained and where it runs: the flags that commands share.

use std::time::Duration;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use super::data::DataArgs;
use super::layers::LayerArgs;
use super::optimizer::OptimizerArgs;
use super::values::{self, Iters, Widths};
use crate::config::{ExecutorChoice, MAX_MODELS, Task, TrainConfig, Validation};
use crate::error::{Error, Result};
use crate::gpu::AdapterChoice;
use crate::plan::{MAX_BATCH, Sampling};
use crate::spec::{Activation, Init, Loss};

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
