//! The models of a run: the product of a sweep and the seeds of an ensemble.

use super::TrainConfig;
use crate::error::{Error, Result};
use crate::spec::Hyperparameters;

/// The most models of a run: what one dimension of a dispatch may have.
pub const MAX_MODELS: usize = 65_535;

/// One model of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Member {
    /// Its seed: initial parameters and data.
    pub seed: u64,
    /// Its hyperparameters.
    pub hyper: Hyperparameters,
}

impl TrainConfig {
    /// The models: for each combination of the sweep, in the order given with the last name fastest, the seeds of the
    /// ensemble.
    ///
    /// # Errors
    /// [`Error::Usage`] for an unknown hyperparameter, a value out of its range, a schedule that cannot be, no model at all,
    /// or more than [`MAX_MODELS`].
    pub fn members(&self) -> Result<Vec<Member>> {
        self.check_sweep()?;
        self.schedule.validate()?;
        self.check_sine()?;
        let mut hypers = vec![self.hyper];
        for (name, values) in &self.sweep {
            let mut product = Vec::with_capacity(hypers.len() * values.len());
            for hyper in &hypers {
                for &value in values {
                    let mut hyper = *hyper;
                    hyper.set(name, value)?;
                    product.push(hyper);
                }
            }
            hypers = product;
        }
        let seeds = || (0..self.ensemble as u64).map(|i| self.seed.wrapping_add(i));
        let members: Vec<_> =
            hypers.iter().flat_map(|&hyper| seeds().map(move |seed| Member { seed, hyper })).collect();
        for member in &members {
            member.hyper.validate()?;
        }
        Ok(members)
    }

    /// How many models there are.
    ///
    /// # Errors
    /// As [`TrainConfig::members`].
    pub fn member_count(&self) -> Result<usize> {
        self.check_sweep()?;
        Ok(self.sweep.iter().fold(self.ensemble, |n, (_, values)| n * values.len()))
    }

    /// The swept hyperparameters of a model of [`TrainConfig::members`], in the order given.
    pub fn swept(&self, model: usize) -> Vec<(&str, f64)> {
        let mut rest = model / self.ensemble;
        let mut swept = Vec::with_capacity(self.sweep.len());
        for (name, values) in self.sweep.iter().rev() {
            swept.push((name.as_str(), values[rest % values.len()]));
            rest /= values.len();
        }
        swept.reverse();
        swept
    }

    /// Whether some model has a hyperparameter above 0.
    pub(crate) fn uses(&self, name: &str) -> bool {
        match self.sweep.iter().find(|(swept, _)| swept == name) {
            Some((_, values)) => values.iter().any(|&value| value > 0.0),
            None => self.hyper.named().any(|(known, value)| known == name && value > 0.0),
        }
    }

    /// Checks that the sweep names each hyperparameter once and asks for some models, but not for too many.
    fn check_sweep(&self) -> Result<()> {
        if self.ensemble == 0 {
            return Err(Error::Usage("--ensemble 0 trains nothing: expected 1 or more".into()));
        }
        for (i, (name, values)) in self.sweep.iter().enumerate() {
            if values.is_empty() {
                let text = format!("--sweep {name}= trains nothing: expected --sweep NAME=V1,V2,...");
                return Err(Error::Usage(text));
            }
            if self.sweep[..i].iter().any(|(other, _)| other == name) {
                return Err(Error::Usage(format!("--sweep {name} is given twice: put all its values into one")));
            }
        }
        let models = self.sweep.iter().try_fold(self.ensemble, |n, (_, values)| n.checked_mul(values.len()));
        if models.is_none_or(|n| n > MAX_MODELS) {
            return Err(Error::Usage(format!(
                "--ensemble {} times the values of --sweep are too many models: expected at most {MAX_MODELS} in all",
                self.ensemble
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_the_product_of_the_sweep_with_the_last_name_and_the_seed_fastest() {
        let sweep = vec![("learning_rate".to_owned(), vec![0.1, 0.2]), ("b1".to_owned(), vec![0.5, 0.6, 0.7])];
        let config = TrainConfig { sweep, ensemble: 2, seed: 7, ..TrainConfig::default() };
        let members = config.members().expect("a valid sweep");
        assert_eq!(members.len(), 12, "2 learning rates, 3 decays, 2 seeds");
        for (i, member) in members.iter().enumerate() {
            let want = [("learning_rate", member.hyper.learning_rate), ("b1", member.hyper.b1)];
            assert_eq!(config.swept(i), want, "swept values of model {i}");
            assert_eq!(member.seed, 7 + i as u64 % 2, "seed of model {i}");
        }
        assert_eq!(members[2].hyper.b1, 0.6, "the last name is the fastest");
    }
}
