//! Predictions of one model, or the mean of several.

use rayon::prelude::*;

use super::{BLOCK, Network};
use crate::checkpoint::Checkpoint;
use crate::data::Frame;
use crate::data::schema::Schema;
use crate::error::{Error, Result};

/// Which models of a checkpoint predict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Which {
    /// The one with the least validation loss; where the parameters were not validated, with the least last loss of the training.
    #[default]
    Best,
    /// The one of this number, counted from 0.
    Model(usize),
    /// All that have not diverged: the mean of their answers.
    Mean,
}

/// One or several networks of the same shape that predict together.
#[derive(Debug, Clone, PartialEq)]
pub struct Predictor {
    /// The models, by their number in the checkpoint.
    pub models: Vec<usize>,
    networks: Vec<Network>,
}

/// What was predicted, row-major.
#[derive(Debug, Clone, PartialEq)]
pub struct Predictions {
    /// Numbers in the units of the file, or probabilities; shape `(rows, outputs)`. Of several models the mean.
    pub answers: Vec<f64>,
    /// The standard deviation (`ddof = 0`) of the answers of several models; empty for one.
    pub std: Vec<f64>,
    /// The outputs whose answers these are, as the loss takes them: numbers as they are trained on, or logits.
    pub outputs: Vec<f64>,
}

impl Predictor {
    /// The models of a checkpoint that are asked for.
    ///
    /// # Errors
    /// [`Error::Usage`] when there is none, or it has diverged.
    pub fn of(checkpoint: &Checkpoint, which: Which) -> Result<Self> {
        let (start, losses) = (checkpoint.start(), checkpoint.judged_losses());
        let sound: Vec<usize> = (0..start.losses.len()).filter(|&model| start.diverged[model].is_none()).collect();
        let models = match which {
            Which::Best => sound.into_iter().min_by(|&a, &b| losses[a].total_cmp(&losses[b])).into_iter().collect(),
            Which::Model(model) => vec![model],
            Which::Mean => sound,
        };
        if models.is_empty() {
            return Err(Error::Usage(
                "every model of the checkpoint has diverged: there is none to predict with".into(),
            ));
        }
        let networks = models.iter().map(|&model| Network::of(checkpoint, model)).collect::<Result<_>>()?;
        Ok(Self { models, networks })
    }

    /// How columns become inputs, and outputs become answers.
    pub fn schema(&self) -> &Schema {
        &self.network().schema
    }

    /// The first of its networks.
    pub fn network(&self) -> &Network {
        &self.networks[0]
    }

    /// Predicts the rows of a table as it was read; its columns are found by their names.
    ///
    /// # Errors
    /// [`Error::Data`] where an input is not there, or has a value that the schema does not know.
    pub fn predict_frame(&self, frame: &Frame) -> Result<Predictions> {
        Ok(self.predict(&self.schema().apply_inputs(frame)?.features))
    }

    /// Predicts from standardized inputs, shape `(rows, inputs)`; the rows on all cores.
    pub fn predict(&self, features: &[f32]) -> Predictions {
        let blocks = features.par_chunks(BLOCK * self.network().inputs());
        let mut all = Predictions { answers: Vec::new(), std: Vec::new(), outputs: Vec::new() };
        for block in blocks.map(|rows| self.predict_block(rows)).collect::<Vec<_>>() {
            all.answers.extend(block.answers);
            all.std.extend(block.std);
            all.outputs.extend(block.outputs);
        }
        all
    }

    fn predict_block(&self, rows: &[f32]) -> Predictions {
        let width = self.network().outputs();
        let mut outputs: Vec<_> = self.networks.iter().map(|network| network.forward(rows)).collect();
        let answers_of = |(network, outputs): (&Network, &Vec<f64>)| -> Vec<f64> {
            outputs.chunks_exact(width).flat_map(|row| network.answers(row)).collect()
        };
        let answers: Vec<_> = self.networks.iter().zip(&outputs).map(answers_of).collect();
        let of = |i: usize| moments(answers.iter().map(|answers| answers[i]));
        let (mean, std): (Vec<_>, Vec<_>) = (0..answers[0].len()).map(of).unzip();
        if outputs.len() == 1 {
            return Predictions { answers: mean, std: Vec::new(), outputs: outputs.remove(0) };
        }
        let outputs = mean.chunks_exact(width).flat_map(|row| self.network().outputs_of(row)).collect();
        Predictions { answers: mean, std, outputs }
    }
}

/// Mean and standard deviation.
fn moments(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let (count, sum) = values.clone().fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + value));
    let mean = sum / count;
    (mean, (values.map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt())
}
