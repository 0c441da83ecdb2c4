//! What is drawn: a predictor and the rows that it is drawn with, in the units of their file.

use std::path::PathBuf;

use super::LearnedArgs;
use crate::checkpoint::Checkpoint;
use crate::cli::chart::Axis;
use crate::config::{Task, TrainConfig};
use crate::data::schema::Targets;
use crate::data::{self, Dataset, read_frame};
use crate::error::{Error, Result};
use crate::evaluate::{Evaluation, evaluate};
use crate::network::{Predictions, Predictor, Slot, narrow};
use crate::spec::Loss;

/// A predictor and its rows.
pub(super) struct Subject {
    pub(super) predictor: Predictor,
    pub(super) slots: Vec<Slot>,
    loss: Loss,
    label_smoothing: f64,
    /// Those that it was trained on, and after them those that it was validated with, or those of a file that was named.
    parts: Vec<Dataset>,
    /// What the last part is, for people.
    judged: String,
    /// The file, if there is one.
    file: Option<PathBuf>,
}

/// The most points that are drawn.
pub(super) const MOST: usize = 2_000;

impl Subject {
    /// With the rows of `--data`, or with those of the file that the checkpoint remembers.
    pub(super) fn of(
        checkpoint: &Checkpoint,
        predictor: Predictor,
        config: &TrainConfig,
        args: &LearnedArgs,
    ) -> Result<Self> {
        let (parts, kind, file) = match (&args.data, &config.task) {
            (Some(path), _) => {
                let data = predictor.schema().apply(&read_frame(path, args.labels.as_deref())?)?;
                (vec![data], "", Some(path.clone()))
            }
            (None, Task::Linreg { .. }) => (Vec::new(), "", None),
            (None, task) => {
                let (parts, path) = remembered(checkpoint, config, task)?;
                let kind = if parts.len() > 1 { "validation " } else { "training " };
                (parts, kind, Some(path))
            }
        };
        let judged = format!("{} {kind}rows", parts.last().map_or(0, |part| part.rows));
        let slots = predictor.network().slots();
        let (loss, label_smoothing) = (config.loss, config.label_smoothing);
        Ok(Self { predictor, slots, loss, label_smoothing, parts, judged, file })
    }

    /// All rows: inputs and, if the table has them, targets, in the units of the file; of classes the index of the class. Of
    /// very many one in several.
    pub(super) fn points(&self) -> Vec<(Vec<f64>, Option<Vec<f64>>)> {
        let rows: usize = self.parts.iter().map(|part| part.rows).sum();
        let row = |part: &Dataset, i: usize| {
            let inputs = part.features.chunks_exact(self.slots.len()).nth(i).unwrap_or_default();
            let inputs = inputs.iter().zip(&self.slots).map(|(&x, slot)| f64::from(x) * slot.std + slot.mean).collect();
            let targets = part.targets.chunks_exact(part.target_names.len()).nth(i);
            (inputs, targets.map(|row| self.in_units(row)))
        };
        let all = self.parts.iter().flat_map(|part| (0..part.rows).map(move |i| (part, i)));
        all.step_by(rows.div_ceil(MOST).max(1)).map(|(part, i)| row(part, i)).collect()
    }

    /// Where an input mostly is, by its mean and standard deviation.
    pub(super) fn range(&self, input: usize) -> Axis {
        let Slot { mean, std, .. } = self.slots[input];
        Axis::linear(mean - 3.0 * std, mean + 3.0 * std)
    }

    /// What several outputs are.
    pub(super) fn quantity(&self) -> String {
        match self.predictor.schema().targets {
            Targets::Numbers { .. } => "prediction".into(),
            Targets::Labels { .. } | Targets::Classes { .. } => "probability".into(),
        }
    }

    /// Targets in the units of the file.
    pub(super) fn in_units(&self, targets: &[f32]) -> Vec<f64> {
        let targets = targets.iter().map(|&target| f64::from(target));
        match &self.predictor.schema().targets {
            Targets::Numbers { columns } => targets.zip(columns).map(|(y, c)| y * c.std + c.mean).collect(),
            Targets::Labels { .. } | Targets::Classes { .. } => targets.collect(),
        }
    }

    /// Predicts from inputs in the units of the file, shape `(rows, inputs)`.
    pub(super) fn predict(&self, inputs: impl Iterator<Item = f64>) -> Predictions {
        let slots = self.slots.iter().cycle();
        let features: Vec<_> = inputs.zip(slots).map(|(x, slot)| narrow((x - slot.mean) / slot.std)).collect();
        self.predictor.predict(&features)
    }

    /// The rows that say how good the predictions are.
    ///
    /// # Errors
    /// [`Error::Data`] where there are none, or they lack the target.
    pub(super) fn judged(&self) -> Result<&Dataset> {
        let found = self.parts.last().ok_or("the checkpoint has no table of its own");
        let found = found.and_then(|part| if part.targets.is_empty() { Err("it lacks the target") } else { Ok(part) });
        found.map_err(|why| {
            let names = self.predictor.schema().target_names().join(", ");
            Error::Data(format!("--data FILE must have rows with {names}, which predictions are compared with: {why}"))
        })
    }

    /// How good the predictions for these rows are.
    ///
    /// # Errors
    /// As [`Subject::judged`].
    pub(super) fn evaluation(&self) -> Result<Evaluation> {
        Ok(evaluate(&self.predictor, self.judged()?, self.loss, self.label_smoothing))
    }

    /// What [`Subject::judged`] is, for people.
    pub(super) fn judged_by(&self) -> &str {
        &self.judged
    }

    /// Which rows were drawn and where they are from, for people: all, or those that are judged.
    pub(super) fn rows(&self, all: bool) -> String {
        let Some(file) = &self.file else { return "without rows, as its task has no table".into() };
        let count: usize = self.parts.iter().map(|part| part.rows).sum();
        let rows = if all { format!("{count} rows") } else { self.judged.clone() };
        format!("with {rows} of {}", file.display())
    }
}

/// The rows of the file that a checkpoint remembers, and its name.
fn remembered(checkpoint: &Checkpoint, config: &TrainConfig, task: &Task) -> Result<(Vec<Dataset>, PathBuf)> {
    let table = match task {
        Task::Table(table) => table.clone(),
        Task::Image(image) => image.table(),
        Task::Linreg { .. } | Task::Frame(..) => {
            let text = "the checkpoint was trained on a table in memory: name a file with --data";
            return Err(Error::Data(text.into()));
        }
    };
    let path = table.path.clone();
    let missing = |error: Error| match error {
        Error::Io { path, source } => Error::Data(format!(
            "{}, which the checkpoint was trained with: {source}; name its place, or another table, with --data",
            path.display()
        )),
        other => other,
    };
    let tables = data::load(&table, config.loss.target_kind(), config.seed).map_err(missing)?;
    if checkpoint.experiment.check_tables(Some(&tables), config).is_err() {
        return Err(Error::Data(format!(
            "{} is not as it was when the checkpoint was trained: name a table to draw it with by --data",
            path.display()
        )));
    }
    Ok(([tables.train].into_iter().chain(tables.validation).collect(), path))
}
