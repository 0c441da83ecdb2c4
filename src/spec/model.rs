//! The network: a multilayer perceptron by its widths.

use super::{Activation, InputEncoding, LayerOptions};
use crate::error::{Error, Result};

/// A multilayer perceptron: `inputs -> hidden... -> outputs`, dense layers with bias, one activation between them,
/// and what [`LayerOptions`] add.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// Widths from input to output, at least two of them.
    pub widths: Vec<usize>,
    /// Activation after each layer but the last.
    pub activation: Activation,
    /// What the activation's argument is multiplied by, as in SIREN's `sin(w0 z)`. 1 for none.
    pub w0: f64,
    /// What there is around the dense layers.
    pub options: LayerOptions,
}

impl Model {
    /// A model with the given widths, and nothing but its dense layers.
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
        Ok(Self { widths, activation, w0: 1.0, options: LayerOptions::default() })
    }

    /// The same dense layers with `options` around them.
    ///
    /// # Errors
    /// [`Error::Usage`] for options that are out of their range or have no layer to work on.
    pub fn with(self, options: LayerOptions) -> Result<Self> {
        options.check(&self.widths)?;
        Ok(Self { options, ..self })
    }

    /// Whether layer normalization follows the product of a layer: it is a hidden one.
    pub fn has_norm(&self, layer: usize) -> bool {
        self.options.layer_norm && layer + 2 < self.widths.len()
    }

    /// Whether the input of a layer is added to its output: both are hidden layers of one width.
    pub fn has_skip(&self, layer: usize) -> bool {
        let hidden = 1..self.widths.len() - 2;
        self.options.residual && hidden.contains(&layer) && self.widths[layer] == self.widths[layer + 1]
    }

    /// `(inputs, outputs)` of each dense layer.
    pub fn layers(&self) -> impl ExactSizeIterator<Item = (usize, usize)> + '_ {
        let inputs = |i: usize| if i == 0 { self.options.encoded_inputs(self.widths[0]) } else { self.widths[i] };
        (1..self.widths.len()).map(move |i| (inputs(i - 1), self.widths[i]))
    }

    /// Name and shape of each trained tensor, as Flax has them: `layers.N.kernel` (inputs, outputs), `layers.N.bias`
    /// (outputs), and with layer normalization `norms.N.scale` and `norms.N.bias` (outputs) of each hidden layer.
    pub fn parameters(&self) -> Vec<(String, Vec<usize>)> {
        let dense = |(i, (inputs, outputs)): (usize, (usize, usize))| {
            [(format!("layers.{i}.kernel"), vec![inputs, outputs]), (format!("layers.{i}.bias"), vec![outputs])]
        };
        let norm = |i| ["scale", "bias"].map(|part| (format!("norms.{i}.{part}"), vec![self.widths[i + 1]]));
        let norms = (0..self.widths.len()).filter(|&i| self.has_norm(i));
        self.layers().enumerate().flat_map(dense).chain(norms.flat_map(norm)).collect()
    }

    /// Name and shape of each tensor that is drawn at the beginning and never trained: `frequencies` (inputs, features) of random
    /// Fourier features.
    pub fn constants(&self) -> Vec<(String, Vec<usize>)> {
        match self.options.encoding {
            InputEncoding::Fourier { features, .. } => vec![(FREQUENCIES.into(), vec![self.inputs(), features])],
            _ => Vec::new(),
        }
    }

    /// The number of trained numbers.
    pub fn parameter_count(&self) -> usize {
        self.parameters().iter().map(|(_, shape)| shape.iter().product::<usize>()).sum()
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

/// The name of the frequencies of random Fourier features.
pub const FREQUENCIES: &str = "frequencies";

/// The widest layer. A kernel of two such layers is at the 32-bit limit of a storage buffer.
pub(super) const MAX_WIDTH: usize = 16_384;
