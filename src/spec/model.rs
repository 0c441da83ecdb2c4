//! The network: a multilayer perceptron by its widths.

use super::Activation;
use crate::error::{Error, Result};

/// A multilayer perceptron: `inputs -> hidden... -> outputs`, dense layers with bias, one activation between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// Widths from input to output, at least two of them.
    pub widths: Vec<usize>,
    /// Activation after each layer but the last.
    pub activation: Activation,
}

impl Model {
    /// A model with the given widths.
    ///
    /// # Errors
    /// [`Error::Usage`] when a width is zero or so large that a kernel could not be indexed with 32 bits.
    pub fn new(inputs: usize, hidden: &[usize], outputs: usize, activation: Activation) -> Result<Self> {
        let widths: Vec<_> = std::iter::once(inputs).chain(hidden.iter().copied()).chain([outputs]).collect();
        if let Some(width) = widths.iter().find(|&&w| w == 0 || w > MAX_WIDTH) {
            return Err(Error::Usage(format!(
                "a layer of width {width} is not possible: expected 1 to {MAX_WIDTH}; see --hidden, and the columns of --data"
            )));
        }
        Ok(Self { widths, activation })
    }

    /// `(inputs, outputs)` of each dense layer.
    pub fn layers(&self) -> impl ExactSizeIterator<Item = (usize, usize)> + '_ {
        self.widths.windows(2).map(|pair| (pair[0], pair[1]))
    }

    /// The number of trained numbers: kernels and biases.
    pub fn parameter_count(&self) -> usize {
        self.layers().map(|(inputs, outputs)| (inputs + 1) * outputs).sum()
    }

    /// The width of a row of the input.
    pub fn inputs(&self) -> usize {
        self.widths[0]
    }

    /// The width of a row of the output.
    pub fn outputs(&self) -> usize {
        self.widths[self.widths.len() - 1]
    }
}

/// The widest layer. A kernel of two such layers is at the 32-bit limit of a storage buffer.
pub(super) const MAX_WIDTH: usize = 16_384;
