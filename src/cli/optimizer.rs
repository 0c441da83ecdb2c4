//! Flags of the optimizer.

use clap::Args;

use super::values;
use crate::config::TrainConfig;
use crate::error::{Error, Result};
use crate::spec::{Hyperparameters, Optimizer};

/// The optimizer and its numbers; those that are left out are its defaults.
#[derive(Debug, Args)]
pub(super) struct OptimizerArgs {
    /// Update rule: sgd, adam, adamw, nadam, rmsprop, adagrad, lion.
    #[arg(long, value_name = "NAME", default_value = "adam", value_parser = values::named::<Optimizer>, help_heading = "Optimizer")]
    pub(super) optimizer: Optimizer,
    /// Step size of the optimizer.
    #[arg(long, value_name = "X", default_value = "1e-3", value_parser = values::hyper("learning_rate"), help_heading = "Optimizer")]
    learning_rate: f64,
    /// Decay of the first moment (adam, adamw, nadam, lion) [default: 0.9]
    #[arg(long, value_name = "X", value_parser = values::hyper("b1"), help_heading = "Optimizer")]
    b1: Option<f64>,
    /// Decay of the second moment (adam, adamw, nadam, rmsprop), and of the one that lion keeps [default: 0.999, rmsprop
    /// 0.9, lion 0.99]
    #[arg(long, value_name = "X", value_parser = values::hyper("b2"), help_heading = "Optimizer")]
    b2: Option<f64>,
    /// Added to the root of the second moment (adam, adamw, nadam), or inside it (rmsprop, adagrad) [default: 1e-8, adagrad
    /// 1e-7]
    #[arg(long, value_name = "X", value_parser = values::hyper("eps"), help_heading = "Optimizer")]
    eps: Option<f64>,
    /// What a step takes from every parameter, kernels and biases, times the learning rate (adamw, lion) [default: adamw
    /// 1e-4, lion 1e-3]
    #[arg(long, value_name = "X", value_parser = values::hyper("weight_decay"), help_heading = "Optimizer")]
    weight_decay: Option<f64>,
    /// Decay of the sum of the gradients (sgd) [default: 0, no momentum]
    #[arg(long, value_name = "X", value_parser = values::hyper("momentum"), help_heading = "Optimizer")]
    momentum: Option<f64>,
    /// Look ahead by one step of the momentum (sgd).
    #[arg(long, help_heading = "Optimizer")]
    nesterov: bool,
    /// Let weight decay take from kernels and tables of embeddings only (adamw, lion).
    #[arg(long, help_heading = "Optimizer")]
    no_bias_decay: bool,
    /// Cut every gradient to ±C; 0 is no limit.
    #[arg(long, value_name = "C", default_value_t = 0.0, value_parser = values::hyper("clip_value"), help_heading = "Optimizer")]
    clip_value: f64,
    /// Scale all gradients of a model down to the global norm C, after --clip-value; 0 is no limit.
    #[arg(long, value_name = "C", default_value_t = 0.0, value_parser = values::hyper("clip_norm"), help_heading = "Optimizer")]
    clip_norm: f64,
    /// Make one update from the mean gradient of N steps. Schedules count updates.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = values::whole::<u32>(1..=1_000_000), help_heading = "Optimizer")]
    pub(super) accumulate: u32,
}

impl OptimizerArgs {
    /// The hyperparameters.
    pub(super) fn hyper(&self) -> Hyperparameters {
        let defaults = self.optimizer.defaults();
        Hyperparameters {
            learning_rate: self.learning_rate,
            b1: self.b1.unwrap_or(defaults.b1),
            b2: self.b2.unwrap_or(defaults.b2),
            eps: self.eps.unwrap_or(defaults.eps),
            weight_decay: self.weight_decay.unwrap_or(defaults.weight_decay),
            momentum: self.momentum.unwrap_or(defaults.momentum),
            nesterov: f64::from(u8::from(self.nesterov)),
            clip_value: self.clip_value,
            clip_norm: self.clip_norm,
            scale: defaults.scale,
        }
    }

    /// Whether weight decay takes from biases.
    pub(super) fn decay_bias(&self) -> bool {
        !self.no_bias_decay
    }

    /// Fails where a number is given, or swept by `sweep`, that the updates of a config do not depend on.
    ///
    /// # Errors
    /// [`Error::Usage`] with the flag, and what it goes with.
    pub(super) fn check(&self, sweep: &[(String, Vec<f64>)], config: &TrainConfig) -> Result<()> {
        let optimizer = config.optimizer;
        let swept = sweep.iter().map(|(name, _)| (name.as_str(), format!("--sweep {name}")));
        let given = self.given().into_iter().map(|name| (name, format!("--{}", name.replace('_', "-"))));
        for (name, flag) in given.chain(swept) {
            // It is not a number itself, but goes with one.
            let number = if name == "no_bias_decay" { "weight_decay" } else { name };
            if !optimizer.reads(number) {
                let kinds = Optimizer::ALL.iter().filter(|kind| kind.reads(number)).map(|kind| kind.name());
                return Err(values::no_meaning(&flag, "--optimizer", optimizer.name(), kinds));
            }
            if name == "nesterov" && config.uses("nesterov") && !config.uses("momentum") {
                return Err(Error::Usage(format!("{flag} goes with a momentum: add --momentum 0.9, or leave it out")));
            }
        }
        Ok(())
    }

    /// The flags that not every optimizer has, of those that were given. No decay and no momentum are what every optimizer has.
    fn given(&self) -> Vec<&'static str> {
        let flags = [
            ("b1", self.b1.is_some()),
            ("b2", self.b2.is_some()),
            ("eps", self.eps.is_some()),
            ("weight_decay", self.weight_decay.is_some_and(|decay| decay != 0.0)),
            ("momentum", self.momentum.is_some_and(|momentum| momentum != 0.0)),
            ("nesterov", self.nesterov),
            ("no_bias_decay", self.no_bias_decay),
        ];
        flags.into_iter().filter(|(_, given)| *given).map(|(name, _)| name).collect()
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Probe {
        #[command(flatten)]
        args: OptimizerArgs,
    }

    fn hyper(flags: &str) -> Hyperparameters {
        let words = ["fori"].into_iter().chain(flags.split_whitespace());
        Probe::try_parse_from(words).expect("the flags are possible").args.hyper()
    }

    #[test]
    fn flags_replace_the_defaults_of_the_optimizer() {
        for &optimizer in Optimizer::ALL {
            assert_eq!(hyper(&format!("--optimizer {optimizer}")), optimizer.defaults(), "{optimizer} without flags");
            let given = "--learning-rate 0.5 --b1 0.1 --b2 0.2 --eps 0.3 --weight-decay 0.4 --momentum 0.6 --nesterov \
                         --clip-value 0.7 --clip-norm 0.8";
            let want = Hyperparameters {
                learning_rate: 0.5,
                b1: 0.1,
                b2: 0.2,
                eps: 0.3,
                weight_decay: 0.4,
                momentum: 0.6,
                nesterov: 1.0,
                clip_value: 0.7,
                clip_norm: 0.8,
                scale: 1.0,
            };
            assert_eq!(hyper(&format!("--optimizer {optimizer} {given}")), want, "{optimizer} with all flags");
        }
    }
}
