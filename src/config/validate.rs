//! When a run is validated, and what follows from it.

use std::path::PathBuf;

/// When a run is validated, and what follows from it. Without rows to validate with, nothing of it applies.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ValidateConfig {
    /// Steps between two validations. Default: about 100 in a run.
    pub every: Option<u64>,
    /// Validations without a better loss after which a model has finished; the run ends when all have, and the best
    /// parameters are kept. Default none: the run goes on to its last step, whose parameters are kept.
    pub patience: Option<u64>,
    /// By how much a loss must be lower to be better. Default 0.
    pub min_delta: f64,
    /// When the learning rate is lowered. Default never.
    pub plateau: Option<PlateauConfig>,
    /// Where the state is written whenever a model has a better loss than all before. Default nowhere.
    pub best: Option<PathBuf>,
}

/// How the learning rate of a model is lowered whose validation loss has stopped falling.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlateauConfig {
    /// Validations without a loss that is lower by a ten-thousandth.
    pub patience: u64,
    /// What the learning rate is then multiplied with.
    pub factor: f64,
}

impl ValidateConfig {
    /// Steps between two validations of a run of `steps` steps.
    pub fn period(&self, steps: u64) -> u64 {
        self.every.unwrap_or_else(|| steps.div_ceil(100)).max(1)
    }

    /// Whether the best parameters so far are kept.
    pub fn keeps_best(&self) -> bool {
        self.patience.is_some() || self.best.is_some()
    }
}
