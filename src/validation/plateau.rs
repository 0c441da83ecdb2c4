//! The learning rate of a model whose validation loss has stopped falling.

use super::{halves, joined};
use crate::config::PlateauConfig;

/// By how much of the best loss a loss must be lower to be better (optax `rtol`).
const TOLERANCE: f64 = 1e-4;

/// The learning rate of one model as a share of what its schedule says (optax `contrib.reduce_on_plateau`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plateau {
    /// The share.
    pub scale: f64,
    /// The best loss so far; infinite before the first validation.
    pub best: f64,
    /// Validations since the best, or since the last reduction.
    pub count: u64,
}

impl Default for Plateau {
    fn default() -> Self {
        Self { scale: 1.0, best: f64::INFINITY, count: 0 }
    }
}

impl Plateau {
    /// Takes over the loss of a validation, and returns whether the share is another now.
    pub fn take(&mut self, loss: f64, config: &PlateauConfig) -> bool {
        // A loss that is NaN is not better.
        let better = loss < (1.0 - TOLERANCE) * self.best;
        self.count = if better { 0 } else { self.count + 1 };
        self.best = if better { loss } else { self.best };
        let reduces = self.count >= config.patience;
        if reduces {
            self.count = 0;
            self.scale *= config.factor;
        }
        reduces
    }

    /// It as words: those of the share and of the best loss, the high ones first, and the count.
    #[expect(clippy::cast_possible_truncation, reason = "a count of at most 32 bits")]
    pub(crate) fn words(&self) -> Vec<u32> {
        [halves(self.scale), halves(self.best)].concat().into_iter().chain([self.count as u32]).collect()
    }

    /// From its words.
    pub(crate) fn from_words(words: &[u32]) -> Self {
        Self { scale: joined(words[0], words[1]), best: joined(words[2], words[3]), count: u64::from(words[4]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scales by optax 0.2.8: `contrib.reduce_on_plateau(factor=0.5, patience=2)` with the default tolerance.
    #[test]
    fn the_scale_follows_optax() {
        let config = PlateauConfig { patience: 2, factor: 0.5 };
        let losses = [3.0, 2.0, 2.0, 1.99999, 1.5, 1.6, f64::NAN, 1.5, 1.5, 1.4];
        let mut plateau = Plateau::default();
        let scales = losses.map(|loss| {
            plateau.take(loss, &config);
            plateau.scale
        });
        assert_eq!(scales, [1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.25, 0.25, 0.125, 0.125], "scales after each loss");
        assert_eq!(Plateau::from_words(&plateau.words()), plateau, "as words and back");
    }
}
