//! What a network has besides its dense layers and their activation.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::InputEncoding;
use super::model::MAX_WIDTH;
use crate::error::{Error, Result};

/// What is done around the dense layers; the default is nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayerOptions {
    /// Probability with which a unit of a hidden layer is dropped in a step, from 0 (the default) to below 1. The others are
    /// divided by the probability to be kept, so that nothing is scaled in evaluation, where none is dropped.
    /// Reference: Srivastava et al. (2014), "Dropout: a simple way to prevent neural networks from overfitting".
    pub dropout: f64,
    /// Each hidden layer's product is normalized over its features, then scaled and shifted by trained numbers, before the
    /// activation. Default false. Reference: Ba, Kiros, Hinton (2016), "Layer normalization".
    pub layer_norm: bool,
    /// A hidden layer as wide as the hidden layer before adds that one's output to its own. Default false.
    /// Reference: He, Zhang, Ren, Sun (2015), "Deep residual learning for image recognition".
    pub residual: bool,
    /// What the first layer reads instead of the inputs. Default the inputs.
    pub encoding: InputEncoding,
    /// The first layer reads the inputs besides what `encoding` makes of them. Default false.
    pub include_input: bool,
}

impl fmt::Display for LayerOptions {
    /// What differs from the default, with a blank before each; the default is empty.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.encoding {
            InputEncoding::None => {}
            InputEncoding::Fourier { features, scale } => write!(f, " fourier {features} scale {scale}")?,
            InputEncoding::Frequency { frequencies } => write!(f, " frequency {frequencies}")?,
        }
        for (name, on) in
            [("include_input", self.include_input), ("layer_norm", self.layer_norm), ("residual", self.residual)]
        {
            if on {
                write!(f, " {name}")?;
            }
        }
        if self.dropout > 0.0 { write!(f, " dropout {}", self.dropout) } else { Ok(()) }
    }
}

/// What layer normalization adds to a variance, as in Flax.
pub const NORM_EPS: f64 = 1e-6;

impl Default for LayerOptions {
    fn default() -> Self {
        Self::NONE
    }
}

impl LayerOptions {
    /// Nothing around the dense layers.
    pub const NONE: Self =
        Self { dropout: 0.0, layer_norm: false, residual: false, encoding: InputEncoding::None, include_input: false };

    /// The probability that a unit is kept, in the precision in which it is compared with a uniform number.
    #[expect(clippy::cast_possible_truncation, reason = "kernels compare in single precision")]
    pub fn keep(&self) -> f32 {
        (1.0 - self.dropout) as f32
    }

    /// Inputs that the first layer reads as they are.
    pub fn kept_inputs(&self, inputs: usize) -> usize {
        if self.encoding == InputEncoding::None || self.include_input { inputs } else { 0 }
    }

    /// The width of what the first layer reads.
    pub fn encoded_inputs(&self, inputs: usize) -> usize {
        self.kept_inputs(inputs).saturating_add(self.encoding.waves(inputs).saturating_mul(2))
    }

    /// Checks the options for a network of the given widths, input first.
    pub(super) fn check(&self, widths: &[usize]) -> Result<()> {
        let hidden = &widths[1..widths.len() - 1];
        if !(0.0..1.0).contains(&self.dropout) || self.keep() <= 0.0 {
            let text = format!("--dropout {} is not possible: expected a probability from 0 to below 1", self.dropout);
            return Err(Error::Usage(text));
        }
        if self.dropout > 0.0 && hidden.is_empty() {
            return Err(Error::Usage("--dropout works on hidden layers: expected --hidden with one or more".into()));
        }
        self.encoding.check()?;
        let encoded = self.encoded_inputs(widths[0]);
        if encoded > MAX_WIDTH {
            return Err(Error::Usage(format!(
                "--encoding {} makes {encoded} inputs of {}: expected at most {MAX_WIDTH}",
                self.encoding.name(),
                widths[0]
            )));
        }
        if self.include_input && self.encoding == InputEncoding::None {
            let text =
                "--include-input goes with --encoding fourier or frequency: without one the inputs are there anyway";
            return Err(Error::Usage(text.into()));
        }
        if self.layer_norm && hidden.is_empty() {
            return Err(Error::Usage("--layer-norm works on hidden layers: expected --hidden with one or more".into()));
        }
        if self.residual && hidden.windows(2).all(|pair| pair[0] != pair[1]) {
            let text = "--residual skips hidden layers that are as wide as the one before: expected --hidden with two \
                        neighbors of one width, as 64,64";
            return Err(Error::Usage(text.into()));
        }
        Ok(())
    }
}
