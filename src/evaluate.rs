//! How good the predictions of a table are.

use serde::Serialize;

use crate::data::Dataset;
use crate::data::schema::{LabelColumn, Targets};
use crate::network::{Predictions, Predictor};
use crate::score::{Scores, Tally, is_one, spread};
use crate::spec::{Loss, largest};

/// What an evaluation finds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evaluation {
    /// Rows of the table.
    pub rows: usize,
    /// The metrics; of several targets their means.
    pub metrics: Scores,
    /// The metrics of each target, where there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<TargetScores>,
    /// Which classes were taken for which, of each label or of the classes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub confusion: Vec<Confusion>,
}

/// The metrics of one target.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TargetScores {
    /// Its column.
    pub target: String,
    /// Its metrics.
    pub metrics: Scores,
}

/// How often each class was taken for each.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Confusion {
    /// The target.
    pub target: String,
    /// The classes.
    pub classes: Vec<String>,
    /// Rows by their class, then by the predicted one.
    pub counts: Vec<Vec<usize>>,
}

/// Compares predictions with the targets of a table, which are not empty.
pub fn evaluate(predictor: &Predictor, table: &Dataset, loss: Loss, smoothing: f64) -> Evaluation {
    let targets = &predictor.schema().targets;
    let predictions = predictor.predict(&table.features);
    let scores = |targets: &Targets, column: Option<usize>| {
        let mut tally = Tally::new(targets);
        let width = table.target_names.len();
        let outputs = predictions.outputs.chunks_exact(predictor.network().outputs());
        for (row, (outputs, target)) in outputs.zip(table.targets.chunks_exact(width)).enumerate() {
            let weight = table.weights.as_ref().map_or(1.0, |weights| f64::from(weights[row]));
            match column {
                None => tally.add(loss, smoothing, outputs, target, weight),
                Some(c) => tally.add(loss, smoothing, &outputs[c..=c], &target[c..=c], weight),
            }
        }
        let spread = spread(&table.targets, width);
        tally.scores(targets, column.map_or(&spread[..], |c| &spread[c..=c]))
    };
    let parts = parts(targets);
    let each = parts.iter().enumerate().filter(|_| parts.len() > 1);
    Evaluation {
        rows: table.rows,
        metrics: scores(targets, None),
        targets: each
            .map(|(c, part)| TargetScores { target: table.target_names[c].clone(), metrics: scores(part, Some(c)) })
            .collect(),
        confusion: confusion(targets, &predictions, table),
    }
}

/// Targets of one column each.
fn parts(targets: &Targets) -> Vec<Targets> {
    match targets {
        Targets::Numbers { columns } => {
            columns.iter().map(|column| Targets::Numbers { columns: vec![column.clone()] }).collect()
        }
        Targets::Labels { columns } => {
            columns.iter().map(|column| Targets::Labels { columns: vec![column.clone()] }).collect()
        }
        Targets::Classes { .. } => vec![targets.clone()],
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the index of a class")]
fn confusion(targets: &Targets, predictions: &Predictions, table: &Dataset) -> Vec<Confusion> {
    let empty = |target: &str, classes: &[String]| Confusion {
        target: target.into(),
        classes: classes.to_vec(),
        counts: vec![vec![0; classes.len()]; classes.len()],
    };
    match targets {
        Targets::Numbers { .. } => Vec::new(),
        Targets::Labels { columns } => {
            let one = |(c, column): (usize, &LabelColumn)| {
                let classes = column.classes.clone().unwrap_or(["0", "1"].map(String::from));
                let mut confusion = empty(&column.name, &classes);
                let of = |values: usize| (0..table.rows).map(move |row| row * values + c);
                for at in of(columns.len()) {
                    let actual = usize::from(is_one(f64::from(table.targets[at])));
                    confusion.counts[actual][usize::from(is_one(predictions.answers[at]))] += 1;
                }
                confusion
            };
            columns.iter().enumerate().map(one).collect()
        }
        Targets::Classes { name, classes } => {
            let mut confusion = empty(name, classes);
            for (answers, &actual) in predictions.answers.chunks_exact(classes.len()).zip(&table.targets) {
                confusion.counts[actual as usize][largest(answers)] += 1;
            }
            vec![confusion]
        }
    }
}
