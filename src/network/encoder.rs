//! What makes waves of the inputs.

use super::narrow;
use crate::cpu::{encode, waves};
use crate::spec::{InputEncoding, Model};

/// Gives the inputs, if they are kept, and after them sines and cosines of turns of the inputs.
#[derive(Debug, Clone, PartialEq)]
pub struct Encoder {
    model: Model,
    /// Those of random Fourier features, shape `(inputs, features)`; else empty.
    frequencies: Vec<f64>,
}

/// What the waves of an [`Encoder`] are of. A turn is `2 pi`.
#[derive(Debug, Clone, PartialEq)]
pub enum Waves {
    /// The sines of `x frequencies` turns, then their cosines.
    Fourier {
        /// The number of sines.
        features: usize,
        /// Shape `(inputs, features)`, row-major.
        frequencies: Vec<f32>,
    },
    /// For each `k` below this number the sines of `2^(k - 1) x` turns of all inputs, then their cosines.
    Octaves(usize),
}

impl Encoder {
    /// That of a model. `frequencies` are those of random Fourier features, if it has some.
    pub(super) fn new(model: &Model, frequencies: Vec<f64>) -> Self {
        Self { model: model.clone(), frequencies }
    }

    /// Width of a row that it reads.
    pub fn inputs(&self) -> usize {
        self.model.inputs()
    }

    /// Width of a row that it gives.
    pub fn outputs(&self) -> usize {
        self.model.options.encoded_inputs(self.inputs())
    }

    /// How many inputs stand before the waves: all or none.
    pub fn kept(&self) -> usize {
        self.model.options.kept_inputs(self.inputs())
    }

    /// What the waves are of.
    pub fn waves(&self) -> Waves {
        match self.model.options.encoding {
            InputEncoding::None => Waves::Octaves(0),
            InputEncoding::Frequency { frequencies } => Waves::Octaves(frequencies),
            InputEncoding::Fourier { features, .. } => {
                Waves::Fourier { features, frequencies: self.frequencies.iter().map(|&f| narrow(f)).collect() }
            }
        }
    }

    /// Of rows, one after the other.
    pub(super) fn forward(&self, rows: &[f64]) -> Vec<f64> {
        let rows = rows.chunks_exact(self.inputs());
        let mut encoded = vec![0.0; rows.len() * self.outputs()];
        for (row, encoded) in rows.zip(encoded.chunks_exact_mut(self.outputs())) {
            encode(&self.model, &self.frequencies, row, encoded, waves);
        }
        encoded
    }
}
