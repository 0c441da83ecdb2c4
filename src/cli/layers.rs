//! Flags of what there is around the dense layers.

use clap::Args;

use super::resume::Given;
use super::values;
use crate::error::{Error, Result};
use crate::spec::{InputEncoding, LayerOptions, MAX_FEATURES, MAX_FREQUENCIES};

/// What there is around the dense layers.
#[derive(Debug, Args)]
pub(super) struct LayerArgs {
    /// Probability with which a unit of a hidden layer is dropped in a step; the others are scaled up by as much. None is
    /// dropped when the network is evaluated.
    #[arg(long, value_name = "P", default_value = "0", value_parser = values::probability, help_heading = "Model")]
    dropout: f64,
    /// Normalize each hidden layer's product over its features before the activation, with trained scale and bias.
    #[arg(long, help_heading = "Model")]
    layer_norm: bool,
    /// Add its input to the output of each hidden layer that is as wide as the hidden layer before.
    #[arg(long, help_heading = "Model")]
    residual: bool,
    /// What the first layer reads: none (the inputs), fourier (sines and cosines of random combinations of the inputs),
    /// frequency (sines and cosines of 2^k pi times each input). With them a network learns functions that vary fast.
    #[arg(long, value_name = "NAME", default_value = "none", value_parser = ["none", "fourier", "frequency"], help_heading = "Model")]
    encoding: String,
    /// Combinations of --encoding fourier, half of what the first layer reads.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = values::whole::<usize>(1..=MAX_FEATURES as u64), help_heading = "Model")]
    fourier_features: usize,
    /// Standard deviation of the frequencies of --encoding fourier, in turns per unit of the (standardized) input.
    #[arg(long, value_name = "X", default_value = "1", value_parser = values::positive, help_heading = "Model")]
    fourier_scale: f64,
    /// Octaves of --encoding frequency.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = values::whole::<usize>(1..=MAX_FREQUENCIES as u64), help_heading = "Model")]
    frequencies: usize,
    /// Let the first layer read the inputs themselves, too.
    #[arg(long, help_heading = "Model")]
    include_input: bool,
}

impl LayerArgs {
    /// The options.
    pub(super) fn options(&self) -> LayerOptions {
        let encoding = match self.encoding.as_str() {
            "fourier" => InputEncoding::Fourier { features: self.fourier_features, scale: self.fourier_scale },
            "frequency" => InputEncoding::Frequency { frequencies: self.frequencies },
            _ => InputEncoding::None,
        };
        LayerOptions {
            dropout: self.dropout,
            layer_norm: self.layer_norm,
            residual: self.residual,
            encoding,
            include_input: self.include_input,
        }
    }
}

/// Flags that only one encoding has.
const OF_ENCODINGS: [(&str, &str); 3] =
    [("fourier_features", "fourier"), ("fourier_scale", "fourier"), ("frequencies", "frequency")];

/// Fails where a flag belongs to another encoding than that of the command line.
pub(super) fn check(encoding: Option<&str>, given: &Given) -> Result<()> {
    let Some(encoding) = encoding else { return Ok(()) };
    match OF_ENCODINGS.iter().find(|(flag, of)| given.has(flag) && *of != encoding) {
        Some((flag, of)) => Err(Error::Usage(format!(
            "--{} goes with --encoding {of}, and here --encoding is {encoding}",
            flag.replace('_', "-")
        ))),
        None => Ok(()),
    }
}
