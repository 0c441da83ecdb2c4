//! Checkpoints: the whole state of a run in one safetensors file, and the way back.
//!
//! Tensors, for a network of dense layers counted from 0 as Flax counts them:
//!
//! | name | type | shape | |
//! |---|---|---|---|
//! | `layers.0.kernel`, `layers.0.bias`, ... | F32 | `(in, out)`, `(out)` | parameters |
//! | `norms.0.scale`, `norms.0.bias`, ... | F32 | `(out)` | those of layer normalization |
//! | `frequencies` | F32 | `(inputs, features)` | those of random Fourier features, which are not trained |
//! | `mu.layers.0.kernel`, ... | F32 | as the parameters | state of the optimizer, by its names in optax |
//! | `acc_grads.layers.0.kernel`, ... | F32 | as the parameters | the gradients that are being added up, as in optax's MultiSteps |
//! | `key` | U32 | `(2)` | the random key, which is also the position in the data |
//! | `step` | U32 | `()` | finished steps, as optax's `count` |
//! | `diverged` | U32 | `()` | the step, counted from 1, at which the model diverged; 0 if it did not |
//! | `loss` | F32 | `()` | the loss of the last step that had a finite one |
//! | `validation_loss` | U32 | `(2)` | that of the parameters, where they were validated (the words of an f64, the high one first) |
//! | `best.layers.0.kernel`, ... | F32 | as the parameters | those of the best validation so far, in a run that keeps them |
//! | `best` | U32 | `(4)` | its loss (as above), its step, validations since |
//! | `plateau` | U32 | `(5)` | share of the learning rate and best loss (each as above), validations since, where it is reduced |
//!
//! In a run of several models each has a leading axis of models. The metadata is text: `format` (`fori checkpoint`),
//! `format_version`, `fori_version`, `experiment` and `schema` (JSON), `executor`, `adapter`, `kernels` (JSON), and
//! `checksum`, which covers all the rest. Invariant: a file is taken whole or refused; nothing of a refused one is used.

mod divergence;
mod experiment;
mod file;
mod origin;
mod saver;
mod saving;

use std::collections::BTreeMap;
use std::path::PathBuf;

pub use experiment::StoredExperiment;
pub use file::FORMAT_VERSION;
pub use origin::Origin;
pub use saver::Saver;
pub use saving::{Saved, Saving};

use crate::arenas::Arenas;
use crate::config::{TrainConfig, Validation};
use crate::data::Schema;
use crate::error::{Error, Result};
use crate::outcome::Start;
use crate::plan::{Plan, Products, Tensor};
use crate::spec::{Model, Optimizer};
use crate::validation::{BestSoFar, Kept, Plateau, halves, joined};

/// The state of a run after a step, and what it takes to go on.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint {
    /// What is trained.
    pub experiment: StoredExperiment,
    /// How the columns of its table became numbers, if it has one.
    pub schema: Option<Schema>,
    /// The executor that made it: `recorded`, `persistent` or `cpu`.
    pub executor: String,
    /// The adapter that made it; empty on the cpu executor.
    pub adapter: String,
    /// Its kernels of the inner products.
    pub kernels: Option<Products>,
    /// The version of fori that wrote it.
    pub written_by: String,
    /// Every tensor by its name.
    tensors: BTreeMap<String, Words>,
}

/// A tensor as it is stored: `f32` by their bits, or `u32`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Words {
    shape: Vec<usize>,
    words: Vec<u32>,
}

/// What each model has beside its tensors: name, and words.
const STATE: [(&str, usize); 4] = [("diverged", 1), ("key", 2), ("loss", 1), ("step", 1)];

/// Whether a tensor holds `f32`.
fn is_float(name: &str) -> bool {
    !matches!(name, "best" | "diverged" | "key" | "plateau" | "step" | "validation_loss")
}

/// What stands before the name of a parameter of the best validation.
const BEST: &str = "best.";

/// Name and shape of the trained tensors of one model.
fn trained_tensors(model: &Model, optimizer: Optimizer, accumulate: u32) -> Vec<(String, Vec<usize>)> {
    let params = model.parameters();
    let sums = (accumulate > 1).then_some(&"acc_grads");
    let slots = optimizer.state_names().iter().chain(sums);
    let state =
        slots.flat_map(|slot| params.iter().map(move |(name, shape)| (format!("{slot}.{name}"), shape.clone())));
    params.iter().cloned().chain(model.constants()).chain(state).collect()
}

/// What a checkpoint has only in some runs.
#[derive(Debug, Clone, Copy)]
struct Has {
    best: bool,
    plateau: bool,
    validation_loss: bool,
}

/// Name and shape of every tensor of a checkpoint.
fn all_tensors(
    model: &Model,
    optimizer: Optimizer,
    accumulate: u32,
    models: usize,
    has: Has,
) -> BTreeMap<String, Vec<usize>> {
    let state = STATE.map(|(name, words)| (name.to_owned(), if words == 1 { vec![] } else { vec![words] }));
    let best = model.parameters().into_iter();
    let best = best.map(|(name, shape)| (format!("{BEST}{name}"), shape)).chain([("best".into(), vec![4])]);
    let plateau = has.plateau.then(|| ("plateau".to_owned(), vec![5]));
    let validation_loss = has.validation_loss.then(|| ("validation_loss".to_owned(), vec![2]));
    let state = state.into_iter().chain(best.filter(|_| has.best)).chain(plateau).chain(validation_loss);
    let lead = if models == 1 { None } else { Some(models) };
    let shaped = |(name, shape): (String, Vec<usize>)| (name, lead.into_iter().chain(shape).collect());
    trained_tensors(model, optimizer, accumulate).into_iter().chain(state).map(shaped).collect()
}

impl Checkpoint {
    /// The state in `arenas`; `losses` are those of [`Start`], and `kept` is what is kept of the validation.
    pub fn capture(of: &Origin, plan: &Plan, arenas: &Arenas<f32>, losses: &[f32], kept: Kept<'_>) -> Self {
        let (step, Kept { best, plateaus, losses: validated }) = (&plan.step, kept);
        let has = Has { best: best.is_some(), plateau: plateaus.is_some(), validation_loss: validated.is_some() };
        let mut tensors = BTreeMap::new();
        for (name, shape) in all_tensors(&step.model, step.optimizer, step.accumulate, step.models, has) {
            let words = (0..step.models).flat_map(|model| match (name.as_str(), arenas.state[model]) {
                ("plateau", _) => plateaus.map_or_else(Vec::new, |plateaus| plateaus[model].words()),
                ("validation_loss", _) => validated.iter().flat_map(|losses| halves(losses[model])).collect(),
                ("best", _) => best.map_or_else(Vec::new, |best| best.words(model)),
                (name, _) if name.starts_with(BEST) => {
                    let name = &name[BEST.len()..];
                    let last = || arenas.get(plan, model, name).into_iter().map(f32::to_bits).collect();
                    best.filter(|best| best.has(model)).map_or_else(last, |best| best.parameter(plan, model, name))
                }
                ("step", [step, ..]) => vec![step],
                ("key", [_, k0, k1, _]) => vec![k0, k1],
                ("diverged", [.., diverged]) => vec![diverged],
                ("loss", _) => vec![losses[model].to_bits()],
                (name, _) => arenas.get(plan, model, name).into_iter().map(f32::to_bits).collect(),
            });
            let words = words.collect();
            tensors.insert(name, Words { shape, words });
        }
        let Origin { experiment, schema, executor, adapter, kernels } = of.clone();
        let written_by = env!("CARGO_PKG_VERSION").into();
        Self { experiment, schema, executor, adapter, kernels, written_by, tensors }
    }

    /// Puts the state into the arenas of a plan of the same experiment.
    pub fn restore(&self, plan: &Plan, arenas: &mut Arenas<f32>) {
        self.restore_from(plan, arenas, 0);
    }

    /// As [`Checkpoint::restore`], of its models from one on, counted from 0, into the arenas of a plan of as many or fewer.
    pub fn restore_from(&self, plan: &Plan, arenas: &mut Arenas<f32>, first: usize) {
        for (name, _) in trained_tensors(&plan.step.model, plan.step.optimizer, plan.step.accumulate) {
            let Some(tensor) = plan.tensor(&name) else { continue };
            self.copy((&name, first), plan, tensor, &mut arenas.scalars[tensor.arena as usize]);
        }
        let (steps, keys, diverged) = (self.words("step"), self.words("key"), self.words("diverged"));
        for (model, state) in (first..).zip(&mut arenas.state) {
            *state = [steps[model], keys[2 * model], keys[2 * model + 1], diverged[model]];
        }
    }

    /// Copies the numbers of the models from `first` on from the tensor `name` to where a plan has `tensor` in an arena.
    fn copy(&self, (name, first): (&str, usize), plan: &Plan, tensor: &Tensor, arena: &mut [f32]) {
        let words = self.words(name);
        let models = words.chunks_exact(words.len() / self.words("step").len());
        for (model, words) in models.skip(first).take(plan.step.models).enumerate() {
            let base = Arenas::<f32>::base(plan, tensor.arena, model);
            for (i, &word) in tensor.indices().zip(words) {
                arena[base + i] = f32::from_bits(word);
            }
        }
    }

    /// The plateau of each model, if the run has any.
    pub fn plateaus(&self) -> Option<Vec<Plateau>> {
        let words = self.words("plateau");
        (!words.is_empty()).then(|| words.chunks_exact(5).map(Plateau::from_words).collect())
    }

    /// What the run has kept of its best validation, if it did. `params` is the arena of its last parameters.
    pub fn best(&self, plan: &Plan, params: &[f32]) -> Option<BestSoFar> {
        let words = self.words("best");
        if words.is_empty() {
            return None;
        }
        let mut progress = BestSoFar::new(plan.step.models, params);
        for (model, words) in words.chunks_exact(4).enumerate() {
            progress.set(model, words);
        }
        for tensor in plan.tensors.iter().filter(|tensor| tensor.is_parameter()) {
            self.copy((&format!("{BEST}{}", tensor.name), 0), plan, tensor, &mut progress.params);
        }
        Some(progress)
    }

    /// The loss that each model is judged by, infinite where it is not finite: that of the validation of the parameters that count, or
    /// where they were not validated the last of the training.
    pub fn judged_losses(&self) -> Vec<f64> {
        let pairs = |words: &[u32], each| words.chunks_exact(each).map(|w| joined(w[0], w[1])).collect::<Vec<_>>();
        let best = if self.experiment.restores_best() { self.words("best") } else { &[] };
        let losses = match (best, self.words("validation_loss")) {
            ([], []) => self.start().losses.into_iter().map(f64::from).collect(),
            ([], last) => pairs(last, 2),
            (best, _) => pairs(best, 4),
        };
        losses.into_iter().map(|loss| if loss.is_finite() { loss } else { f64::INFINITY }).collect()
    }

    /// The numbers of a parameter of a model, counted from 0, that count in the end: those of the best validation where the run has
    /// patience, else the last; empty if there is none of that name.
    pub fn parameter(&self, name: &str, model: usize) -> Vec<f32> {
        let best = format!("{BEST}{name}");
        let restored = self.experiment.restores_best() && self.tensors.contains_key(&best);
        let words = self.words(if restored { &best } else { name });
        let len = words.len() / self.words("step").len();
        words[model * len..][..len].iter().map(|&bits| f32::from_bits(bits)).collect()
    }

    /// Checks that a config can go on from here.
    ///
    /// # Errors
    /// [`Error::Usage`] when its steps are over, [`Error::Data`] when its table is no file.
    pub fn check_config(&self, config: &TrainConfig) -> Result<()> {
        let step = self.step();
        if config.steps < step {
            return Err(Error::Usage(format!(
                "--steps {} is behind the checkpoint, which is at step {step}: --steps counts from the first beginning",
                config.steps
            )));
        }
        let Some(table) = config.task.table() else { return Ok(()) };
        let validation =
            table.validation.iter().filter_map(|v| if let Validation::File(path) = v { Some(path) } else { None });
        // The names come from a file: a device or a pipe of that name would never end.
        let strange = |path: &&PathBuf| path.exists() && !path.is_file();
        match [&table.path].into_iter().chain(&table.labels).chain(validation).find(strange) {
            Some(path) => Err(Error::Data(format!("--data {}: expected a file with a table", path.display()))),
            None => Ok(()),
        }
    }

    /// The kernels that give the same bits on an adapter, if it is the same and they are among its own.
    pub fn kernels_on(&self, adapter: &str, possible: &[Products]) -> Option<Products> {
        self.kernels.filter(|kernels| self.adapter == adapter && possible.contains(kernels))
    }

    /// Finished steps.
    pub fn step(&self) -> u64 {
        self.words("step").first().map_or(0, |&step| u64::from(step))
    }

    /// Where a run that goes on from here starts.
    pub fn start(&self) -> Start {
        let losses = self.words("loss").iter().map(|&bits| f32::from_bits(bits)).collect();
        let diverged = self.words("diverged").iter().map(|&step| (step != 0).then_some(u64::from(step))).collect();
        Start { step: self.step(), losses, diverged }
    }

    /// The numbers of a tensor, of all models; empty if there is none of that name.
    pub fn tensor(&self, name: &str) -> Vec<f32> {
        if is_float(name) { self.words(name).iter().map(|&bits| f32::from_bits(bits)).collect() } else { Vec::new() }
    }

    /// The words of a tensor.
    fn words(&self, name: &str) -> &[u32] {
        self.tensors.get(name).map_or(&[], |tensor| &tensor.words)
    }
}
