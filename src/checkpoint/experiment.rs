//! The experiment as a checkpoint stores it: names and numbers, from a config and back.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::file::Checksum;
use crate::config::{CheckpointConfig, ImageConfig, PlateauConfig, TableConfig, Task, TrainConfig, ValidateConfig};
use crate::data::{Schema, Tables};
use crate::error::{Error, Result};
use crate::spec::{Hyperparameters, LayerOptions, Schedule};

/// Everything that the numbers of a run depend on, and how it is saved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredExperiment {
    task: TaskRecord,
    hidden: Vec<usize>,
    activation: String,
    layers: LayerOptions,
    w0: f64,
    init: String,
    loss: String,
    label_smoothing: f64,
    optimizer: String,
    hyperparameters: BTreeMap<String, f64>,
    schedule: Schedule,
    accumulate: u32,
    decay_bias: bool,
    batch_size: usize,
    sampling: String,
    steps: u64,
    seed: u64,
    ensemble: usize,
    sweep: Vec<(String, Vec<f64>)>,
    on_divergence: String,
    checked: bool,
    checkpoint_every: Option<u64>,
    keep: usize,
    validate_every: Option<u64>,
    patience: Option<u64>,
    min_delta: f64,
    reduce_on_plateau: Option<u64>,
    plateau_factor: Option<f64>,
    checkpoint_best: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
enum TaskRecord {
    Linreg { inputs: usize, outputs: usize },
    Table { config: TableConfig, data: Fingerprint },
    Image { config: ImageConfig, data: Fingerprint },
}

/// What tells a table from another: its rows, and a checksum of the schema, with the names of categories and classes, and of
/// the numbers as they are trained on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fingerprint {
    rows: usize,
    validation_rows: usize,
    checksum: String,
}

impl Fingerprint {
    fn of(tables: Option<&Tables>) -> Self {
        let sets = tables.into_iter().flat_map(|tables| std::iter::once(&tables.train).chain(&tables.validation));
        let mut sum = Checksum::default();
        if let Some(tables) = tables {
            sum.text(&serde_json::to_string(&tables.schema).unwrap_or_default());
        }
        for set in sets {
            for name in set.feature_names.iter().chain(&set.target_names) {
                sum.text(name);
            }
            for values in [&set.features, &set.targets].into_iter().chain(&set.weights) {
                sum.words(values.iter().map(|v| v.to_bits()));
            }
        }
        let validation = tables.and_then(|tables| tables.validation.as_ref());
        Self {
            rows: tables.map_or(0, |tables| tables.train.rows),
            validation_rows: validation.map_or(0, |set| set.rows),
            checksum: sum.to_string(),
        }
    }
}

impl StoredExperiment {
    /// That of a config, with its tables.
    pub fn of(config: &TrainConfig, tables: Option<&Tables>) -> Self {
        let task = match config.task.clone() {
            Task::Linreg { inputs, outputs } => TaskRecord::Linreg { inputs, outputs },
            Task::Table(config) | Task::Frame(_, config) => TaskRecord::Table { config, data: Fingerprint::of(tables) },
            Task::Image(config) => TaskRecord::Image { config, data: Fingerprint::of(tables) },
        };
        Self {
            task,
            hidden: config.hidden.clone(),
            activation: config.activation.to_string(),
            layers: config.layers.clone(),
            w0: config.w0,
            init: config.init.to_string(),
            loss: config.loss.to_string(),
            label_smoothing: config.label_smoothing,
            optimizer: config.optimizer.to_string(),
            hyperparameters: config.hyper.named().map(|(name, value)| (name.to_owned(), value)).collect(),
            schedule: config.schedule.clone(),
            accumulate: config.accumulate,
            decay_bias: config.decay_bias,
            batch_size: config.batch_size,
            sampling: config.sampling.to_string(),
            steps: config.steps,
            seed: config.seed,
            ensemble: config.ensemble,
            sweep: config.sweep.clone(),
            on_divergence: config.on_divergence.to_string(),
            checked: config.checked,
            checkpoint_every: config.checkpoint.as_ref().and_then(|c| c.every),
            keep: config.checkpoint.as_ref().map_or(0, |c| c.keep),
            // The number that holds for this run, so that one that goes on to a later step keeps it.
            validate_every: tables
                .and_then(|tables| tables.validation.as_ref())
                .map(|_| config.validate.period(config.steps)),
            patience: config.validate.patience,
            min_delta: config.validate.min_delta,
            reduce_on_plateau: config.validate.plateau.map(|plateau| plateau.patience),
            plateau_factor: config.validate.plateau.map(|plateau| plateau.factor),
            checkpoint_best: config.validate.best.as_ref().map(|path| path.to_string_lossy().into_owned()),
        }
    }

    /// The config that goes on with it, with checkpoints written to `path`. Where and how it is run is left to the defaults.
    ///
    /// # Errors
    /// [`Error::Usage`] for a name or a number that this version does not have.
    pub fn config(&self, path: PathBuf) -> Result<TrainConfig> {
        let task = match self.task.clone() {
            TaskRecord::Linreg { inputs, outputs } => Task::Linreg { inputs, outputs },
            TaskRecord::Table { config, .. } => Task::Table(config),
            TaskRecord::Image { config, .. } => Task::Image(config),
        };
        let mut hyper = Hyperparameters::default();
        for (name, &value) in &self.hyperparameters {
            hyper.set(name, value)?;
        }
        if let Some((name, _)) = hyper.named().find(|(name, _)| !self.hyperparameters.contains_key(*name)) {
            return Err(Error::Usage(format!("the hyperparameter {name} is missing")));
        }
        let config = TrainConfig {
            task,
            hidden: self.hidden.clone(),
            activation: self.activation.parse()?,
            layers: self.layers.clone(),
            w0: self.w0,
            init: self.init.parse()?,
            loss: self.loss.parse()?,
            label_smoothing: self.label_smoothing,
            optimizer: self.optimizer.parse()?,
            hyper,
            schedule: self.schedule.clone(),
            accumulate: self.accumulate,
            decay_bias: self.decay_bias,
            batch_size: self.batch_size,
            sampling: self.sampling.parse()?,
            steps: self.steps,
            seed: self.seed,
            ensemble: self.ensemble,
            sweep: self.sweep.clone(),
            on_divergence: self.on_divergence.parse()?,
            checked: self.checked,
            checkpoint: Some(CheckpointConfig { path, every: self.checkpoint_every, keep: self.keep }),
            validate: ValidateConfig {
                every: self.validate_every,
                patience: self.patience,
                min_delta: self.min_delta,
                plateau: self
                    .reduce_on_plateau
                    .zip(self.plateau_factor)
                    .map(|(patience, factor)| PlateauConfig { patience, factor }),
                best: self.checkpoint_best.as_ref().map(PathBuf::from),
            },
            ..TrainConfig::default()
        };
        Ok(config)
    }

    /// Whether its checkpoints keep the best parameters so far.
    pub(super) fn keeps_best(&self) -> bool {
        self.validate_every.is_some() && (self.patience.is_some() || self.checkpoint_best.is_some())
    }

    /// Whether its checkpoints keep what a plateau has made of the learning rate.
    pub(super) fn has_plateau(&self) -> bool {
        self.validate_every.is_some() && self.reduce_on_plateau.is_some() && self.plateau_factor.is_some()
    }

    /// Whether the best parameters are those that count in the end.
    pub(super) fn restores_best(&self) -> bool {
        self.validate_every.is_some() && self.patience.is_some()
    }

    /// Widths of the input and of the output, by the task or by the schema of its table.
    pub(crate) fn widths(&self, schema: Option<&Schema>) -> Result<(usize, usize), String> {
        match (&self.task, schema) {
            (TaskRecord::Linreg { inputs, outputs }, None) => Ok((*inputs, *outputs)),
            (TaskRecord::Table { .. } | TaskRecord::Image { .. }, Some(schema)) => {
                Ok((schema.inputs(), schema.targets.outputs()))
            }
            _ => Err("its experiment and its schema do not fit together".into()),
        }
    }

    /// Whether tables are those that the experiment was begun with.
    ///
    /// # Errors
    /// [`Error::Data`] with what differs.
    pub fn check_tables(&self, tables: Option<&Tables>, config: &TrainConfig) -> Result<()> {
        let (flag, was, data) = match &self.task {
            TaskRecord::Linreg { .. } => return Ok(()),
            TaskRecord::Table { config, data } => ("--data", &config.path, data),
            TaskRecord::Image { config, data } => ("--image", &config.path, data),
        };
        let found = Fingerprint::of(tables);
        let rows = [
            (found.rows, data.rows, "were trained on"),
            (found.validation_rows, data.validation_rows, "were validated with"),
        ];
        let other = rows.iter().find(|(found, was, _)| found != was);
        let what = match other {
            Some((found, was, what)) => format!("it has {found} rows, and {was} {what}"),
            None if found.checksum != data.checksum => "its columns, categories or numbers are others".into(),
            None => return Ok(()),
        };
        let path = config.task.table().map_or_else(Default::default, |table| table.path.clone());
        Err(Error::Data(format!(
            "{flag} {}: not the table of the checkpoint, which was {}: {what}; name the right file with {flag}: another \
             table takes a run of its own",
            path.display(),
            was.display()
        )))
    }
}
