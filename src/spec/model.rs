//! The network: a multilayer perceptron by its widths.

use super::{Activation, Embedding, InputEncoding, LayerOptions};
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
    /// Columns of the input that the first layer reads as rows of a table, by their position.
    pub embeddings: Vec<Embedding>,
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
        Ok(Self { widths, activation, w0: 1.0, options: LayerOptions::default(), embeddings: Vec::new() })
    }

    /// The same dense layers with `options` around them.
    ///
    /// # Errors
    /// [`Error::Usage`] for options that are out of their range or have no layer to work on.
    pub fn with(self, options: LayerOptions) -> Result<Self> {
        options.check(&self.widths)?;
        Self { options, ..self }.check_inputs()
    }

    /// The same network with embeddings of some columns of its input.
    ///
    /// # Errors
    /// [`Error::Usage`] for a table or a sum of widths that is out of its range, columns that are out of order, and an encoding of
    /// the inputs, which embeddings exclude.
    pub fn embed(self, embeddings: Vec<Embedding>) -> Result<Self> {
        Embedding::check_all(&embeddings, self.inputs())?;
        Self { embeddings, ..self }.check_inputs()
    }

    fn check_inputs(self) -> Result<Self> {
        if self.options.encoding != InputEncoding::None && !self.embeddings.is_empty() {
            return Err(Error::Usage(format!(
                "--encoding {} makes waves of numbers, and --categorical embedding has columns that are none: leave out one of \
                 them",
                self.options.encoding.name()
            )));
        }
        Ok(self)
    }

    /// Whether the first layer reads something else than the inputs.
    pub fn is_encoded(&self) -> bool {
        self.options.encoding != InputEncoding::None || !self.embeddings.is_empty()
    }

    /// The width of what the first layer reads: with embeddings the columns of the input in order, the row of its table in the place
    /// of each index.
    pub fn encoded_inputs(&self) -> usize {
        let numbers = self.inputs() - self.embeddings.len();
        self.embeddings.iter().fold(self.options.encoded_inputs(numbers), |sum, e| sum + e.width)
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
        let inputs = |i: usize| if i == 0 { self.encoded_inputs() } else { self.widths[i] };
        (1..self.widths.len()).map(move |i| (inputs(i - 1), self.widths[i]))
    }

    /// Name and shape of each trained tensor, as Flax has them: `layers.N.kernel` (inputs, outputs), `layers.N.bias`
    /// (outputs), with layer normalization `norms.N.scale` and `norms.N.bias` (outputs) of each hidden layer, and
    /// `embeddings.N.embedding` (categories, width) of each embedding.
    pub fn parameters(&self) -> Vec<(String, Vec<usize>)> {
        let dense = |(i, (inputs, outputs)): (usize, (usize, usize))| {
            [(format!("layers.{i}.kernel"), vec![inputs, outputs]), (format!("layers.{i}.bias"), vec![outputs])]
        };
        let norm = |i| ["scale", "bias"].map(|part| (format!("norms.{i}.{part}"), vec![self.widths[i + 1]]));
        let norms = (0..self.widths.len()).filter(|&i| self.has_norm(i));
        let table = |(i, e): (usize, &Embedding)| (format!("embeddings.{i}.embedding"), vec![e.categories, e.width]);
        let tables = self.embeddings.iter().enumerate().map(table);
        self.layers().enumerate().flat_map(dense).chain(norms.flat_map(norm)).chain(tables).collect()
    }

    /// Name and shape of each tensor that is drawn at the beginning and never trained: `frequencies` (inputs, features) of random
    /// Fourier features.
    pub fn constants(&self) -> Vec<(String, Vec<usize>)> {
        match self.options.encoding {
            InputEncoding::Fourier { features, .. } => vec![(FREQUENCIES.into(), vec![self.inputs(), features])],
            _ => Vec::new(),
        }
    }

    /// The widths with `between` between them.
    pub fn widths_text(&self, between: &str) -> String {
        self.widths.iter().map(ToString::to_string).collect::<Vec<_>>().join(between)
    }

    /// Categories and width of each embedding in a message, with a blank before it; empty where there is none.
    pub fn embedding_text(&self) -> String {
        let tables: Vec<_> = self.embeddings.iter().map(|e| format!("{}x{}", e.categories, e.width)).collect();
        if tables.is_empty() { String::new() } else { format!(" embedding {}", tables.join(",")) }
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
pub const MAX_WIDTH: usize = 16_384;
