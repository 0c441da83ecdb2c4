//! What the first layer reads instead of the inputs.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Waves of the inputs, with which a network learns functions that vary fast. They are made of data, so nothing flows back.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum InputEncoding {
    /// The inputs as they are.
    #[default]
    None,
    /// `sin(2 pi x B)`, then `cos(2 pi x B)`, with `B ~ N(0, scale²)` drawn once from the seed. Reference: Tancik et al. (2020),
    /// "Fourier features let networks learn high frequency functions in low dimensional domains".
    Fourier {
        /// Columns of `B`, half of the waves. Default 64.
        features: usize,
        /// Standard deviation of `B`, in turns per unit of the input. Default 1.
        scale: f64,
    },
    /// For each `k` below `frequencies`, `sin(2^k pi x)` of all inputs, then `cos(2^k pi x)`. Reference: Mildenhall et al. (2020),
    /// "NeRF: representing scenes as neural radiance fields for view synthesis".
    Frequency {
        /// How many octaves, at most 32. Default 6.
        frequencies: usize,
    },
}

/// The most octaves: beyond them no bit of a 32-bit float is left.
pub const MAX_FREQUENCIES: usize = 32;

/// The most columns of random Fourier features.
pub const MAX_FEATURES: usize = super::model::MAX_WIDTH / 2;

impl InputEncoding {
    /// The name on the command line and in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Fourier { .. } => "fourier",
            Self::Frequency { .. } => "frequency",
        }
    }

    /// Sines made of a row of `inputs`; there are as many cosines.
    pub fn waves(self, inputs: usize) -> usize {
        match self {
            Self::None => 0,
            Self::Fourier { features, .. } => features,
            Self::Frequency { frequencies } => frequencies.saturating_mul(inputs),
        }
    }

    /// Sines that stand side by side, before as many cosines.
    pub fn group(self, inputs: usize) -> usize {
        if let Self::Frequency { .. } = self { inputs } else { self.waves(inputs) }
    }

    /// Checks its numbers.
    pub(super) fn check(self) -> Result<()> {
        match self {
            Self::Fourier { features, .. } if !(1..=MAX_FEATURES).contains(&features) => Err(Error::Usage(format!(
                "--fourier-features {features} is not possible: expected 1 to {MAX_FEATURES}"
            ))),
            #[expect(clippy::cast_possible_truncation, reason = "whether it survives is what is asked")]
            Self::Fourier { scale, .. } if !((scale as f32) > 0.0 && (scale as f32).is_finite()) => {
                let text = format!("--fourier-scale {scale} is not possible: expected a positive number, as 1 or 0.5");
                Err(Error::Usage(text))
            }
            Self::Frequency { frequencies } if !(1..=MAX_FREQUENCIES).contains(&frequencies) => Err(Error::Usage(
                format!("--frequencies {frequencies} is not possible: expected 1 to {MAX_FREQUENCIES}"),
            )),
            _ => Ok(()),
        }
    }
}
