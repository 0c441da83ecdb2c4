//! What a run is, as plain values with their defaults written once. The command line and the library fill the same structs.

mod members;
mod validate;

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Duration;

use crate::data::Frame;
pub use crate::data::{Categorical, ClassWeight, ImageConfig, Missing, TableConfig, Validation};
use crate::error::{Error, Result};
use crate::gpu::AdapterChoice;
use crate::plan::Sampling;
use crate::spec::{Activation, Embedding, Hyperparameters, Init, LayerOptions, Loss, Model, Optimizer, Schedule};
pub use members::{MAX_MODELS, Member};
pub use validate::{PlateauConfig, ValidateConfig};

/// Where the data comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum Task {
    /// The synthetic linear regression of the reference run: `y = x w + b + 0.1 noise`, drawn anew each step.
    Linreg {
        /// Width of `x`. Default 2.
        inputs: usize,
        /// Width of `y`. Default 1.
        outputs: usize,
    },
    /// A table in a file.
    Table(TableConfig),
    /// An image: from the coordinates of a pixel to its color.
    Image(ImageConfig),
    /// A table in memory, which a checkpoint does not hold: whoever resumes the run brings it again. The path of the config is
    /// but a name for it.
    Frame(Frame, TableConfig),
}

impl Task {
    /// A table in memory and what to predict of it, with the defaults of [`TableConfig`].
    pub fn frame(frame: Frame, targets: &[&str]) -> Self {
        let table = TableConfig::new(&frame.path, targets);
        Self::Frame(frame, table)
    }

    /// The table that is trained on; `None` for the synthetic task.
    pub fn table(&self) -> Option<Cow<'_, TableConfig>> {
        match self {
            Self::Linreg { .. } => None,
            Self::Table(table) | Self::Frame(_, table) => Some(Cow::Borrowed(table)),
            Self::Image(image) => Some(Cow::Owned(image.table())),
        }
    }
}

impl Default for Task {
    fn default() -> Self {
        Self::Linreg { inputs: 2, outputs: 1 }
    }
}

/// Who walks the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExecutorChoice {
    /// The fastest on this adapter, found by a short calibration; `cpu` where there is no adapter.
    #[default]
    Auto,
    /// One dispatch per op, many steps per submission.
    Recorded,
    /// The whole loop in one dispatch.
    Persistent,
    /// Plain Rust.
    Cpu,
}

crate::spec::named_enum!(
    ExecutorChoice, "executor", Auto => "auto", Recorded => "recorded", Persistent => "persistent", Cpu => "cpu"
);

/// What a run does when all its models have diverged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnDivergence {
    /// It ends.
    #[default]
    Stop,
    /// It goes on to its last step.
    Continue,
}

crate::spec::named_enum!(OnDivergence, "answer to divergence", Stop => "stop", Continue => "continue");

/// Where and when the state of a run is written, besides its end and an interrupt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointConfig {
    /// The file, always the newest.
    pub path: PathBuf,
    /// Also at every multiple of this step.
    pub every: Option<u64>,
    /// How many of the newest to keep beside it, under the names `FILE.STEP`.
    pub keep: usize,
}

/// Everything that a training run depends on.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainConfig {
    /// Where the data comes from.
    pub task: Task,
    /// Widths of the hidden layers. Default `[64, 64]`; may be empty.
    pub hidden: Vec<usize>,
    /// Activation of the hidden layers. Default gelu.
    pub activation: Activation,
    /// What there is around the dense layers. Default nothing.
    pub layers: LayerOptions,
    /// What the argument of the activation is multiplied by, as in SIREN; only with sin may it be other than 1. Default 1.
    pub w0: f64,
    /// How kernels begin. Default lecun_normal.
    pub init: Init,
    /// The loss. Default mse.
    pub loss: Loss,
    /// Share of the certainty of a class that softmax cross-entropy spreads over all classes. Default 0.
    pub label_smoothing: f64,
    /// The optimizer. Default adam.
    pub optimizer: Optimizer,
    /// Its numbers. Default those of adam; [`Optimizer::defaults`] has those of the others.
    pub hyper: Hyperparameters,
    /// The learning rate by the number of updates. Default constant.
    pub schedule: Schedule,
    /// Steps whose mean gradient makes one update. Default 1.
    pub accumulate: u32,
    /// Weight decay takes from biases too. Default true.
    pub decay_bias: bool,
    /// Rows of a batch. Default 64.
    pub batch_size: usize,
    /// How the rows of a batch are drawn from a table. Default shuffle.
    pub sampling: Sampling,
    /// Steps to train. Default 20,000.
    pub steps: u64,
    /// Seed of the first model. Default 0.
    pub seed: u64,
    /// Models per combination of the sweep, with seeds `seed, seed + 1, ...`. Default 1.
    pub ensemble: usize,
    /// Hyperparameters by name with the values to try; the models are the product of them.
    pub sweep: Vec<(String, Vec<f64>)>,
    /// What is done when all models have diverged. Default stop.
    pub on_divergence: OnDivergence,
    /// Where the state is written. Default nowhere.
    pub checkpoint: Option<CheckpointConfig>,
    /// When it is validated.
    pub validate: ValidateConfig,
    /// Who walks the plan.
    pub executor: ExecutorChoice,
    /// Steps per submission; `None` finds it from the budget.
    pub iters_per_submit: Option<usize>,
    /// The time that one submission should take. Default 100 ms.
    pub submit_budget: Duration,
    /// Which adapter.
    pub adapter: AdapterChoice,
    /// Compile the kernels with wgpu's run-time checks. Default false.
    pub checked: bool,
    /// Use what `fori tune` found. Default true.
    pub tune_cache: bool,
}

impl Default for TrainConfig {
    fn default() -> Self {
        Self {
            task: Task::default(),
            hidden: vec![64, 64],
            activation: Activation::default(),
            layers: LayerOptions::default(),
            w0: 1.0,
            init: Init::default(),
            loss: Loss::default(),
            label_smoothing: 0.0,
            optimizer: Optimizer::default(),
            hyper: Hyperparameters::default(),
            schedule: Schedule::default(),
            accumulate: 1,
            decay_bias: true,
            batch_size: 64,
            sampling: Sampling::default(),
            steps: 20_000,
            seed: 0,
            ensemble: 1,
            sweep: Vec::new(),
            on_divergence: OnDivergence::default(),
            checkpoint: None,
            validate: ValidateConfig::default(),
            executor: ExecutorChoice::default(),
            iters_per_submit: None,
            submit_budget: Duration::from_millis(100),
            adapter: AdapterChoice::default(),
            checked: false,
            tune_cache: true,
        }
    }
}

impl TrainConfig {
    /// Checks that what is made for sines is used with them.
    fn check_sine(&self) -> Result<()> {
        let refuse = |flag: String| {
            let text =
                format!("{flag} is made for --activation sin, not for {}: use that, or leave it out", self.activation);
            Err(Error::Usage(text))
        };
        match () {
            () if self.activation != Activation::Sin && self.init == Init::Siren => refuse("--init siren".into()),
            () if self.activation != Activation::Sin && self.w0 != 1.0 => refuse(format!("--w0 {:?}", self.w0)),
            () if !(self.w0 > 0.0 && self.w0 < 1e6) => Err(Error::Usage(format!(
                "--w0 {:?} is not possible: expected a number above 0 and below 1e6",
                self.w0
            ))),
            () => Ok(()),
        }
    }

    /// The network between rows of `inputs` and of `outputs`, where `embeddings` are the inputs that are indices of categories.
    ///
    /// # Errors
    /// As [`Model::new`], [`Model::with`] and [`Model::embed`].
    pub fn model(&self, inputs: usize, outputs: usize, embeddings: Vec<Embedding>) -> Result<Model> {
        let model = Model::new(inputs, &self.hidden, outputs, self.activation)?.with(self.layers.clone())?;
        Ok(Model { w0: self.w0, ..model.embed(embeddings)? })
    }

    /// Updates of the whole run, at least 1.
    pub fn updates(&self) -> u64 {
        (self.steps / u64::from(self.accumulate.max(1))).max(1)
    }

    /// The learning rate of a model in step `step`, counted from 0.
    pub fn learning_rate(&self, member: &Member, step: u64) -> f64 {
        self.schedule.at(member.hyper.learning_rate, step / u64::from(self.accumulate.max(1)))
    }
}
