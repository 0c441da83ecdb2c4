//! A trained network on the host: what it reads, what it computes, and what its outputs mean.
//!
//! Made from a checkpoint, without a device. Predictions, evaluations and every export start from here. Invariant: all
//! weights are finite, and the stages fit together and to the schema.

mod embedder;
mod encoder;
mod loss;
mod names;
mod predict;
mod stages;

pub use embedder::{Embedder, Part};
pub use encoder::{Encoder, Waves};
pub use loss::loss_over;
pub(crate) use names::transposed;
pub use names::{Naming, Tensor, tensors, torch_modules};
pub use predict::{Predictions, Predictor, Which};
pub use stages::{Dense, Stage};

use std::path::PathBuf;

use crate::checkpoint::Checkpoint;
use crate::data::schema::{Encoding, InputColumn, NumberColumn, Schema, Targets};
use crate::error::{Error, Result};
use crate::real::Real as _;
use stages::{forward, stages};

/// Rows that a core takes at once: enough that the weights are widened seldom, and few enough to stay in its cache.
const BLOCK: usize = 64;

/// A network with its weights, and what its numbers stand for.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    /// How columns become inputs, and outputs become answers. Without a table the columns are `x0, x1, ...` and `y0, y1,
    /// ...`, as they are.
    pub schema: Schema,
    /// What is computed, in order. The last stage has the outputs: no activation follows it.
    pub stages: Vec<Stage>,
}

/// One number that a network reads, before it is standardized: `(x - mean) / std`.
#[derive(Debug, Clone, PartialEq)]
pub struct Slot {
    /// The name of the column; `column=category` for an input that is 1 for that category and 0 for others.
    pub name: String,
    /// 0 where it is not standardized.
    pub mean: f64,
    /// 1 where it is not standardized.
    pub std: f64,
    /// What stands for NaN.
    pub fill: Option<f64>,
}

impl Network {
    /// The network of a model of a checkpoint, counted from 0.
    ///
    /// # Errors
    /// [`Error::Usage`] when there is no such model, or when it has diverged.
    pub fn of(checkpoint: &Checkpoint, model: usize) -> Result<Self> {
        let config = checkpoint.experiment.config(PathBuf::new())?;
        let start = checkpoint.start();
        let models = start.losses.len();
        if model >= models {
            let has = if models == 1 { "one model, 0".into() } else { format!("models 0 to {}", models - 1) };
            return Err(Error::Usage(format!("--model {model} is not possible: the checkpoint has {has}")));
        }
        if let Some(step) = start.diverged[model] {
            return Err(Error::Usage(format!(
                "model {model} of the checkpoint diverged at step {step}: it predicts nothing"
            )));
        }
        let schema = schema_of(checkpoint)?;
        let described = config.model(schema.inputs(), schema.targets.outputs(), schema.embeddings())?;
        let tensor = |name: &str| checkpoint.parameter(name, model);
        if described.parameters().iter().any(|(name, _)| tensor(name).iter().any(|weight| !weight.is_finite())) {
            return Err(Error::Usage(format!("model {model} of the checkpoint has a weight that is NaN or infinite")));
        }
        Ok(Self { schema, stages: stages(&described, tensor) })
    }

    /// Its dense layers.
    pub fn dense(&self) -> impl Iterator<Item = &Dense> {
        self.stages.iter().filter_map(|stage| if let Stage::Dense(dense) = stage { Some(dense) } else { None })
    }

    /// Width of a row that it reads.
    pub fn inputs(&self) -> usize {
        self.schema.inputs()
    }

    /// Width of a row that it answers with.
    pub fn outputs(&self) -> usize {
        self.schema.targets.outputs()
    }

    /// The widest row inside it.
    pub fn widest(&self) -> usize {
        self.dense().map(|dense| dense.outputs.max(dense.inputs)).chain([self.inputs()]).max().unwrap_or(1)
    }

    /// The number of its weights.
    pub fn parameters(&self) -> usize {
        let count = |stage: &Stage| match stage {
            Stage::Dense(dense) => dense.kernel.len() + dense.bias.len(),
            Stage::LayerNorm { scale, bias } => scale.len() + bias.len(),
            Stage::Embedding(embedder) => embedder.tables().iter().map(|(_, table)| table.len()).sum(),
            Stage::Activation(_) | Stage::Encoding(_) | Stage::Fork | Stage::Join => 0,
        };
        self.stages.iter().map(count).sum()
    }

    /// What it reads, in order.
    pub fn slots(&self) -> Vec<Slot> {
        let plain = |name: String| Slot { name, mean: 0.0, std: 1.0, fill: None };
        let slots = |column: &InputColumn| match &column.encoding {
            &Encoding::Number { mean, std, fill } => vec![Slot { name: column.name.clone(), mean, std, fill }],
            Encoding::OneHot { categories } => {
                categories.iter().map(|category| plain(format!("{}={category}", column.name))).collect()
            }
            Encoding::Index { .. } => vec![plain(column.name.clone())],
        };
        self.schema.inputs.iter().flat_map(slots).collect()
    }

    /// What each output is of: the target column, or the class.
    pub fn output_names(&self) -> Vec<String> {
        match &self.schema.targets {
            Targets::Numbers { columns } => columns.iter().map(|column| column.name.clone()).collect(),
            Targets::Labels { columns } => columns.iter().map(|column| column.name.clone()).collect(),
            Targets::Classes { classes, .. } => classes.clone(),
        }
    }

    /// The outputs for rows of standardized inputs, shape `(rows, inputs)`: numbers to be scaled back, or logits, shape
    /// `(rows, outputs)`. In f64, from the weights as they are.
    pub fn forward(&self, rows: &[f32]) -> Vec<f64> {
        forward(&self.stages, rows)
    }

    /// What a row of outputs means: numbers in the units of the file, or a probability per label or class.
    pub fn answers(&self, outputs: &[f64]) -> Vec<f64> {
        match &self.schema.targets {
            Targets::Numbers { columns } => {
                outputs.iter().zip(columns).map(|(output, column)| output * column.std + column.mean).collect()
            }
            Targets::Labels { .. } => outputs.iter().map(|logit| 1.0 / (1.0 + (-logit).exponential())).collect(),
            Targets::Classes { .. } => softmax(outputs),
        }
    }

    /// Outputs that have these answers: the inverse of [`Network::answers`], but for what all logits of classes have in common.
    pub fn outputs_of(&self, answers: &[f64]) -> Vec<f64> {
        // A probability of 0 is one that is too small for a float.
        let log = |p: f64| p.max(f64::MIN_POSITIVE).ln();
        match &self.schema.targets {
            Targets::Numbers { columns } => {
                answers.iter().zip(columns).map(|(answer, column)| (answer - column.mean) / column.std).collect()
            }
            Targets::Labels { .. } => answers.iter().map(|&p| log(p) - log(1.0 - p)).collect(),
            Targets::Classes { .. } => answers.iter().map(|&p| log(p)).collect(),
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "rounding to f32 is the purpose")]
pub(crate) fn narrow(value: f64) -> f32 {
    value as f32
}

/// `e^z / sum e^z`, relative to the largest.
fn softmax(logits: &[f64]) -> Vec<f64> {
    let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = logits.iter().map(|logit| (logit - largest).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.into_iter().map(|power| power / sum).collect()
}

/// The schema of a checkpoint; numbers as they are where it has no table.
fn schema_of(checkpoint: &Checkpoint) -> Result<Schema> {
    if let Some(schema) = &checkpoint.schema {
        return Ok(schema.clone());
    }
    let (inputs, outputs) = checkpoint.experiment.widths(None).map_err(Error::Usage)?;
    let encoding = Encoding::Number { mean: 0.0, std: 1.0, fill: None };
    let input = |i| InputColumn { name: format!("x{i}"), encoding: encoding.clone() };
    let output = |i| NumberColumn { name: format!("y{i}"), mean: 0.0, std: 1.0 };
    let targets = Targets::Numbers { columns: (0..outputs).map(output).collect() };
    Ok(Schema { inputs: (0..inputs).map(input).collect(), targets, weight: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_logits_have_probabilities() {
        for (logits, want) in [
            (vec![1e4, 0.0], vec![1.0, 0.0]),
            (vec![-1e4, -1e4], vec![0.5, 0.5]),
            (vec![0.0, 3f64.ln()], vec![0.25, 0.75]),
        ] {
            let got = softmax(&logits);
            let close = got.iter().zip(&want).all(|(got, want)| (got - want).abs() < 1e-15);
            assert!(close, "softmax of {logits:?} is {got:?}, expected {want:?}");
        }
    }
}
