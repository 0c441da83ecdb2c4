//! Validation: scores over rows that are not trained on, the best parameters so far, and when to stop.

mod evaluator;
mod plateau;

pub use evaluator::Evaluator;
pub use plateau::Plateau;

use crate::arenas::Arenas;
use crate::config::ValidateConfig;
use crate::error::Result;
use crate::plan::{Arena, Plan};
use crate::score::Scores;

/// The best validation of a model so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Best {
    /// Its loss; infinite before the first validation.
    pub loss: f64,
    /// Its step.
    pub step: u64,
    /// Validations since.
    pub waited: u64,
}

impl Default for Best {
    fn default() -> Self {
        Self { loss: f64::INFINITY, step: 0, waited: 0 }
    }
}

/// A number as the two words of its bits, the high one first.
#[expect(clippy::cast_possible_truncation, reason = "a half at a time")]
pub(crate) fn halves(value: f64) -> [u32; 2] {
    [(value.to_bits() >> 32) as u32, value.to_bits() as u32]
}

/// The number of two words.
pub(crate) fn joined(high: u32, low: u32) -> f64 {
    f64::from_bits(u64::from(high) << 32 | u64::from(low))
}

/// The best parameters of each model so far.
#[derive(Debug, Clone, PartialEq)]
pub struct BestSoFar {
    /// Per model.
    pub best: Vec<Best>,
    /// The arena of parameters, with the best of each model.
    pub params: Vec<f32>,
}

impl BestSoFar {
    /// Nothing validated yet.
    pub fn new(models: usize, params: &[f32]) -> Self {
        Self { best: vec![Best::default(); models], params: params.to_vec() }
    }

    /// Takes over the models that are better than before, and returns whether there is one.
    pub fn take(&mut self, step: u64, scores: &[Scores], params: &[f32], min_delta: f64) -> bool {
        let share = params.len() / self.best.len();
        let mut improved = false;
        for (model, (best, scores)) in self.best.iter_mut().zip(scores).enumerate() {
            best.waited += 1;
            // A loss that is NaN is not better.
            if scores.loss() < best.loss - min_delta || (best.loss.is_infinite() && scores.loss().is_finite()) {
                *best = Best { loss: scores.loss(), step, waited: 0 };
                let range = model * share..(model + 1) * share;
                self.params[range.clone()].copy_from_slice(&params[range]);
                improved = true;
            }
        }
        improved
    }

    /// Gives the models that had no finite loss yet the parameters of `step`.
    fn fill(&mut self, step: u64, params: &[f32]) {
        let share = params.len() / self.best.len();
        for (model, best) in self.best.iter_mut().enumerate().filter(|(_, best)| best.loss.is_infinite()) {
            best.step = step;
            let range = model * share..(model + 1) * share;
            self.params[range.clone()].copy_from_slice(&params[range]);
        }
    }

    /// Whether a model had a finite loss yet.
    pub(crate) fn has(&self, model: usize) -> bool {
        self.best[model].loss.is_finite()
    }

    /// A parameter of a model by its bits, row-major without padding.
    pub(crate) fn parameter(&self, plan: &Plan, model: usize, name: &str) -> Vec<u32> {
        let base = Arenas::<f32>::base(plan, Arena::Params, model);
        let tensor = plan.tensor(name).into_iter();
        tensor.flat_map(|tensor| tensor.indices()).map(|i| self.params[base + i].to_bits()).collect()
    }

    /// The best validation of a model as words: those of its loss, its step, and how many there were since.
    #[expect(clippy::cast_possible_truncation, reason = "counts of at most 32 bits")]
    pub(crate) fn words(&self, model: usize) -> Vec<u32> {
        let Best { loss, step, waited } = self.best[model];
        let [high, low] = halves(loss);
        vec![high, low, step as u32, waited as u32]
    }

    /// Takes over the best validation of a model from its words.
    pub(crate) fn set(&mut self, model: usize, words: &[u32]) {
        let [step, waited] = [words[2], words[3]].map(u64::from);
        self.best[model] = Best { loss: joined(words[0], words[1]), step, waited };
    }

    /// Whether every model has waited long enough.
    pub fn is_over(&self, patience: u64) -> bool {
        self.best.iter().all(|best| best.waited >= patience)
    }
}

/// Validates a run.
pub struct Validation {
    config: ValidateConfig,
    period: u64,
    evaluator: Evaluator,
    /// What is kept of the best, where the config asks for it.
    progress: Option<BestSoFar>,
    /// Of each model, where the config asks for it.
    plateaus: Option<Vec<Plateau>>,
    /// Whether a learning rate is another since it was asked for.
    rescaled: bool,
    last: Option<(u64, Vec<Scores>)>,
}

/// What a checkpoint keeps of a validation.
#[derive(Debug, Clone, Default)]
pub struct Kept<'a> {
    /// The best parameters.
    pub best: Option<&'a BestSoFar>,
    /// The learning rates.
    pub plateaus: Option<&'a [Plateau]>,
    /// The validation loss of each model, where the parameters of the checkpoint are those that were validated.
    pub losses: Option<Vec<f64>>,
}

impl Validation {
    /// Validates a run of `steps` steps with `evaluator`. `progress` is what a resumed run has kept of the best, and
    /// `params` the parameters that a new one starts from.
    pub fn new(
        config: ValidateConfig,
        steps: u64,
        evaluator: Evaluator,
        (progress, plateaus): (Option<BestSoFar>, Option<Vec<Plateau>>),
        (models, params): (usize, &[f32]),
    ) -> Self {
        let period = config.period(steps);
        let progress = config.keeps_best().then(|| progress.unwrap_or_else(|| BestSoFar::new(models, params)));
        let plateaus = config.plateau.map(|_| plateaus.unwrap_or_else(|| vec![Plateau::default(); models]));
        let rescaled = plateaus.is_some();
        Self { config, period, evaluator, progress, plateaus, rescaled, last: None }
    }

    /// Steps between two validations.
    pub fn period(&self) -> u64 {
        self.period
    }

    /// The best loss of any model; infinite where nothing is kept.
    pub fn best_loss(&self) -> f64 {
        let best = self.progress.iter().flat_map(|progress| &progress.best);
        best.fold(f64::INFINITY, |least, best| least.min(best.loss))
    }

    /// What a checkpoint of `step` keeps of it.
    pub fn kept(&self, step: u64) -> Kept<'_> {
        let last = self.last.as_ref().filter(|(at, _)| *at == step);
        let losses = last.map(|(_, scores)| scores.iter().map(Scores::loss).collect());
        Kept { best: self.progress.as_ref(), plateaus: self.plateaus.as_deref(), losses }
    }

    /// What the learning rates are to be multiplied with, if that is another than when it was asked for before.
    pub fn take_scales(&mut self) -> Option<Vec<f64>> {
        let rescaled = std::mem::take(&mut self.rescaled);
        let scales = self.plateaus.as_ref().filter(|_| rescaled)?.iter().map(|plateau| plateau.scale);
        Some(scales.collect())
    }

    /// Validates the parameters of `step`, of all models.
    ///
    /// # Errors
    /// As [`Evaluator::scores`].
    pub fn validate(&mut self, step: u64, params: &[f32]) -> Result<&[Scores]> {
        let scores = self.evaluator.scores(params)?;
        // A run that ends between two periods validates once more, which one that goes on from there must not notice.
        if step.is_multiple_of(self.period) {
            if let Some(progress) = &mut self.progress {
                progress.take(step, &scores, params, self.config.min_delta);
            }
            if let (Some(plateaus), Some(config)) = (&mut self.plateaus, &self.config.plateau) {
                for (plateau, scores) in plateaus.iter_mut().zip(&scores) {
                    self.rescaled |= plateau.take(scores.loss(), config);
                }
            }
        }
        let (_, scores) = self.last.insert((step, scores));
        Ok(scores)
    }

    /// The step of the last validation of this run.
    pub fn last_step(&self) -> Option<u64> {
        self.last.as_ref().map(|(step, _)| *step)
    }

    /// Whether every model has waited long enough.
    pub fn is_over(&self) -> bool {
        let over = |progress: &BestSoFar| self.config.patience.is_some_and(|patience| progress.is_over(patience));
        self.progress.as_ref().is_some_and(over)
    }

    /// The parameters that are kept, those of the best validation where the config has patience, and their scores with the
    /// step that each model has them from. `params` are those of `step`, the last of the run.
    ///
    /// # Errors
    /// As [`Evaluator::scores`].
    pub fn finish(mut self, step: u64, params: &[f32]) -> Result<Validated> {
        if self.last_step() != Some(step) {
            self.validate(step, params)?;
        }
        let stopped = self.is_over();
        let (Some(mut progress), true) = (self.progress, self.config.patience.is_some()) else {
            let scores = self.last.map(|(_, scores)| scores).unwrap_or_default();
            let steps = vec![step; scores.len()];
            return Ok(Validated { scores, steps, params: params.to_vec(), stopped });
        };
        progress.fill(step, params);
        let scores = self.evaluator.scores(&progress.params)?;
        let steps = progress.best.iter().map(|best| best.step).collect();
        Ok(Validated { scores, steps, params: progress.params, stopped })
    }
}

/// The validation of a finished run.
#[derive(Debug, Clone, PartialEq)]
pub struct Validated {
    /// Per model, the scores of the parameters that are kept.
    pub scores: Vec<Scores>,
    /// Per model, the step that they are from.
    pub steps: Vec<u64>,
    /// The arena of these parameters.
    pub params: Vec<f32>,
    /// Whether the run ended because no model got better.
    pub stopped: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(losses: [f64; 2]) -> Vec<Scores> {
        losses.map(|loss| Scores::Numbers { loss, mae: 0.0, rmse: 0.0, r2: 0.0 }).to_vec()
    }

    #[test]
    fn each_model_keeps_its_own_best_and_the_run_is_over_when_all_have_waited() {
        let mut progress = BestSoFar::new(2, &[0.0; 4]);
        assert!(progress.take(10, &scores([3.0, f64::NAN]), &[1.0, 1.0, 2.0, 2.0], 0.1), "a first loss is better");
        assert!(!progress.take(20, &scores([2.95, f64::NAN]), &[3.0, 3.0, 4.0, 4.0], 0.1), "less than min_delta");
        assert!(progress.take(30, &scores([4.0, 5.0]), &[5.0, 5.0, 6.0, 6.0], 0.1), "the second model's first");
        assert_eq!(progress.params, [1.0, 1.0, 6.0, 6.0], "the best of each");
        assert_eq!(progress.best[0], Best { loss: 3.0, step: 10, waited: 2 }, "model 0");
        assert_eq!(progress.best[1], Best { loss: 5.0, step: 30, waited: 0 }, "model 1");
        assert!(!progress.is_over(2), "model 1 has not waited");
        assert!(!progress.take(40, &scores([3.0, 5.0]), &[0.0; 4], 0.0), "equal is not better");
        assert!(!progress.take(50, &scores([f64::INFINITY, 6.0]), &[0.0; 4], 0.0), "infinite is not better");
        assert!(progress.is_over(2), "both have waited for two validations");
    }
}
