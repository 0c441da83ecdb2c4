//! The experiment as a checkpoint stores it: names and numbers, from a config and back.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::file::Checksum;
use crate::config::{CheckpointConfig, Task, TrainConfig};
use crate::data::{Dataset, Standardization};
use crate::error::{Error, Result};
use crate::spec::{Hyperparameters, Schedule};

/// Everything that the numbers of a run depend on, and how it is saved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    task: TaskRecord,
    hidden: Vec<usize>,
    activation: String,
    loss: String,
    optimizer: String,
    hyperparameters: BTreeMap<String, f64>,
    schedule: Schedule,
    batch_size: usize,
    steps: u64,
    seed: u64,
    ensemble: usize,
    sweep: Vec<(String, Vec<f64>)>,
    on_divergence: String,
    checked: bool,
    checkpoint_every: Option<u64>,
    keep: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
enum TaskRecord {
    Linreg { inputs: usize, outputs: usize },
    Csv { data: String, target: Vec<String>, standardize: bool, rows: usize, checksum: String },
}

/// The columns of a table, and how each was centered and scaled: `(v - mean) / std`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Columns {
    /// The inputs, in order.
    pub features: Vec<Column>,
    /// What is predicted, in order.
    pub targets: Vec<Column>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Its name in the header.
    pub name: String,
    /// Mean, in the units of the file.
    pub mean: f64,
    /// Standard deviation, in the units of the file.
    pub std: f64,
}

impl Columns {
    /// Those of a table.
    pub fn of(table: &Dataset) -> Self {
        let columns = |names: &[String], scale: &Standardization| {
            let numbers = scale.mean.iter().zip(&scale.std);
            names.iter().zip(numbers).map(|(name, (&mean, &std))| Column { name: name.clone(), mean, std }).collect()
        };
        let features = columns(&table.feature_names, &table.feature_scale);
        Self { features, targets: columns(&table.target_names, &table.target_scale) }
    }
}

impl Experiment {
    /// That of a config, with its table.
    pub fn of(config: &TrainConfig, table: Option<&Dataset>) -> Self {
        let task = match &config.task {
            Task::Linreg { inputs, outputs } => TaskRecord::Linreg { inputs: *inputs, outputs: *outputs },
            Task::Csv { path, targets, standardize } => TaskRecord::Csv {
                data: path.to_string_lossy().into_owned(),
                target: targets.clone(),
                standardize: *standardize,
                rows: table.map_or(0, |t| t.rows),
                checksum: table.map_or(String::new(), fingerprint),
            },
        };
        Self {
            task,
            hidden: config.hidden.clone(),
            activation: config.activation.to_string(),
            loss: config.loss.to_string(),
            optimizer: config.optimizer.to_string(),
            hyperparameters: config.hyper.named().map(|(name, value)| (name.to_owned(), value)).collect(),
            schedule: config.schedule.clone(),
            batch_size: config.batch_size,
            steps: config.steps,
            seed: config.seed,
            ensemble: config.ensemble,
            sweep: config.sweep.clone(),
            on_divergence: config.on_divergence.to_string(),
            checked: config.checked,
            checkpoint_every: config.checkpoint.as_ref().and_then(|c| c.every),
            keep: config.checkpoint.as_ref().map_or(0, |c| c.keep),
        }
    }

    /// The config that goes on with it, with checkpoints written to `path`. Where and how it is run is left to the defaults.
    ///
    /// # Errors
    /// [`Error::Usage`] for a name or a number that this version does not have.
    pub fn config(&self, path: PathBuf) -> Result<TrainConfig> {
        let task = match &self.task {
            TaskRecord::Linreg { inputs, outputs } => Task::Linreg { inputs: *inputs, outputs: *outputs },
            TaskRecord::Csv { data, target, standardize, .. } => {
                Task::Csv { path: data.into(), targets: target.clone(), standardize: *standardize }
            }
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
            loss: self.loss.parse()?,
            optimizer: self.optimizer.parse()?,
            hyper,
            schedule: self.schedule.clone(),
            batch_size: self.batch_size,
            steps: self.steps,
            seed: self.seed,
            ensemble: self.ensemble,
            sweep: self.sweep.clone(),
            on_divergence: self.on_divergence.parse()?,
            checked: self.checked,
            checkpoint: Some(CheckpointConfig { path, every: self.checkpoint_every, keep: self.keep }),
            ..TrainConfig::default()
        };
        Ok(config)
    }

    /// Widths of the input and of the output, by the task or by the columns of its table.
    pub(super) fn widths(&self, columns: Option<&Columns>) -> Result<(usize, usize), String> {
        match (&self.task, columns) {
            (TaskRecord::Linreg { inputs, outputs }, None) => Ok((*inputs, *outputs)),
            (TaskRecord::Csv { .. }, Some(columns)) => Ok((columns.features.len(), columns.targets.len())),
            _ => Err("its experiment and its standardization do not fit together".into()),
        }
    }

    /// Whether a table is the one that the experiment was begun with.
    ///
    /// # Errors
    /// [`Error::Data`] with what differs.
    pub fn check_table(&self, table: Option<&Dataset>, config: &TrainConfig) -> Result<()> {
        let (Some(table), Task::Csv { path, .. }) = (table, &config.task) else { return Ok(()) };
        let TaskRecord::Csv { data, rows, checksum, .. } = &self.task else { return Ok(()) };
        let what = if table.rows != *rows {
            format!("it has {} rows, and {rows} were trained on", table.rows)
        } else if fingerprint(table) != *checksum {
            "its columns or numbers are others".into()
        } else {
            return Ok(());
        };
        Err(Error::Data(format!(
            "--data {}: not the table of the checkpoint, which was {data}: {what}; name the right file with --data and \
             --target, or start anew without --resume",
            path.display()
        )))
    }
}

/// A checksum of the names and of the numbers as they are trained on.
fn fingerprint(table: &Dataset) -> String {
    let mut sum = Checksum::default();
    for name in table.feature_names.iter().chain(&table.target_names) {
        sum.text(name);
    }
    for values in [&table.features, &table.targets] {
        sum.words(values.iter().map(|v| v.to_bits()));
    }
    sum.to_string()
}
