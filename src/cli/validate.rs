//! Flags of validation.

use std::path::PathBuf;

use clap::Args;

use super::values;
use crate::config::{PlateauConfig, TrainConfig, ValidateConfig};
use crate::error::{Error, Result};

/// Flags that say when a run is validated, and what follows from it.
#[derive(Debug, Args)]
pub(super) struct ValidateArgs {
    /// Validate after each N-th step, and at the end [default: about 100 times in the run]
    #[arg(long, value_name = "N", value_parser = values::whole::<u64>(1..=u64::MAX), help_heading = "Validation")]
    validate_every: Option<u64>,
    /// Stop after N validations without a better loss, and keep the parameters of the best one. In a run of several models,
    /// each keeps its own, and the run ends when all have stopped.
    #[arg(long, value_name = "N", value_parser = values::whole::<u64>(1..=u64::MAX), help_heading = "Validation")]
    patience: Option<u64>,
    /// By how much a loss must be lower to be better.
    #[arg(long, value_name = "D", default_value_t = 0.0, value_parser = values::at_least_zero, requires = "patience", help_heading = "Validation")]
    min_delta: f64,
    /// Lower the learning rate of a model after N validations without a loss that is lower by a ten-thousandth.
    #[arg(long, value_name = "N", value_parser = values::whole::<u64>(1..=u64::MAX), help_heading = "Validation")]
    reduce_on_plateau: Option<u64>,
    /// What the learning rate is then multiplied with.
    #[arg(long, value_name = "F", default_value_t = 0.1, value_parser = values::share, requires = "reduce_on_plateau", help_heading = "Validation")]
    plateau_factor: f64,
    /// Write a checkpoint whenever the validation loss is better than before.
    #[arg(long, value_name = "FILE", help_heading = "Validation")]
    checkpoint_best: Option<PathBuf>,
}

impl ValidateArgs {
    /// Fails where there is nothing to validate with.
    ///
    /// # Errors
    /// [`Error::Usage`] with the flag.
    pub(super) fn check(&self, config: &TrainConfig) -> Result<()> {
        let validated = config.task.table().is_some_and(|table| table.validation.is_some());
        let flags = [
            ("--validate-every", self.validate_every.is_some()),
            ("--patience", self.patience.is_some()),
            ("--reduce-on-plateau", self.reduce_on_plateau.is_some()),
            ("--checkpoint-best", self.checkpoint_best.is_some()),
        ];
        match flags.iter().find(|(_, given)| *given && !validated) {
            Some((flag, _)) => {
                let text = format!(
                    "{flag} needs rows to validate with: add --validation SHARE or --validation FILE to --data"
                );
                Err(Error::Usage(text))
            }
            None => Ok(()),
        }
    }

    /// What they describe.
    pub(super) fn config(&self) -> ValidateConfig {
        ValidateConfig {
            every: self.validate_every,
            patience: self.patience,
            min_delta: self.min_delta,
            plateau: self.reduce_on_plateau.map(|patience| PlateauConfig { patience, factor: self.plateau_factor }),
            best: self.checkpoint_best.clone(),
        }
    }
}
