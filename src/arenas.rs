//! The arenas as host vectors: what a run starts from, what is read back, and what the oracle computes on.

use num_traits::Float;

use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::plan::{Arena, Plan, Source, State};
use crate::real::lit;
use crate::rng::Key;
use crate::spec::{initial_extras, initial_parameters, linreg_truth};

/// All arenas of a plan, for all of its models.
#[derive(Debug, Clone, PartialEq)]
pub struct Arenas<T> {
    /// Scalars of each arena, by [`Arena`] as index.
    pub scalars: [Vec<T>; 5],
    /// State of each model.
    pub state: Vec<State>,
}

impl<T: Float> Arenas<T> {
    /// The arenas before the first step: model `m` has the seed `seeds[m]`. Everything that a step writes before it reads
    /// holds `fresh`, which is 0 in a run and NaN in tests.
    ///
    /// # Errors
    /// [`Error::Usage`] when the plan gathers from a table and none of that shape is given.
    pub fn initial(plan: &Plan, seeds: &[u64], table: Option<&Dataset>, fresh: T) -> Result<Self> {
        let models = plan.step.models;
        let scalars = Arena::ALL.map(|arena| {
            let per_model = if shared_by_models(plan, arena) { 1 } else { models };
            let value = if arena == Arena::Activations || arena == Arena::Grads { fresh } else { T::zero() };
            vec![value; 4 * plan.sizes.of(arena) * per_model]
        });
        let mut arenas = Self { scalars, state: vec![State::default(); models] };
        arenas.begin_optimizer(plan);
        for (model, &seed) in seeds.iter().enumerate() {
            for (layer, (kernel, bias)) in
                initial_parameters(&plan.step.model, plan.step.init, seed).into_iter().enumerate()
            {
                arenas.set(plan, model, &format!("layers.{layer}.kernel"), &kernel);
                arenas.set(plan, model, &format!("layers.{layer}.bias"), &bias);
            }
            for (name, values) in initial_extras(&plan.step.model, seed) {
                arenas.set(plan, model, &name, &values);
            }
            let mut key = Key::from_seed(seed);
            if plan.step.source == Source::Linreg {
                let (weights, bias, loop_key) = linreg_truth(seed, plan.step.model.inputs(), plan.step.model.outputs());
                arenas.set(plan, model, "true_weights", &weights);
                arenas.set(plan, model, "true_bias", &bias);
                key = loop_key;
            }
            arenas.state[model] = [0, key.0[0], key.0[1], 0];
        }
        if let Some(rows) = plan.step.source.table_rows() {
            let table = table
                .filter(|t| t.rows == rows)
                .ok_or_else(|| Error::Usage(format!("a table of {rows} rows is needed to draw batches from")))?;
            arenas.set(plan, 0, "features", &table.features);
            arenas.set(plan, 0, "targets", &weighted_targets(plan, table));
        }
        Ok(arenas)
    }

    /// Fills the state of the optimizer; its padding stays 0.
    fn begin_optimizer(&mut self, plan: &Plan) {
        let value = lit(plan.step.optimizer.initial_state());
        for model in 0..plan.step.models {
            let base = Self::base(plan, Arena::Optimizer, model);
            for tensor in plan.tensors.iter().filter(|t| t.arena == Arena::Optimizer) {
                tensor.indices().for_each(|i| self.scalars[Arena::Optimizer as usize][base + i] = value);
            }
        }
    }

    /// The first scalar of a model's share of an arena.
    pub fn base(plan: &Plan, arena: Arena, model: usize) -> usize {
        if shared_by_models(plan, arena) { 0 } else { 4 * plan.sizes.of(arena) * model }
    }

    /// The numbers of a named tensor, row-major without padding; empty if the plan has none of that name.
    pub fn get(&self, plan: &Plan, model: usize, name: &str) -> Vec<T> {
        let Some(tensor) = plan.tensor(name) else { return Vec::new() };
        let base = Self::base(plan, tensor.arena, model);
        tensor.indices().map(|i| self.scalars[tensor.arena as usize][base + i]).collect()
    }

    /// Writes a named tensor, row-major without padding.
    ///
    /// # Panics
    /// When the plan has no tensor of that name: callers take names from the plan.
    pub fn set(&mut self, plan: &Plan, model: usize, name: &str, values: &[f32]) {
        let tensor = plan.tensor(name).unwrap_or_else(|| panic!("the plan has no tensor `{name}`"));
        let base = Self::base(plan, tensor.arena, model);
        for (i, &value) in tensor.indices().zip(values) {
            self.scalars[tensor.arena as usize][base + i] = lit(f64::from(value));
        }
    }
}

/// The targets of a table, each row with its weight at its end where the plan has weights.
fn weighted_targets(plan: &Plan, table: &Dataset) -> Vec<f32> {
    if !plan.step.weighted {
        return table.targets.clone();
    }
    let rows = table.targets.chunks(table.targets.len() / table.rows).enumerate();
    let weight = |row: usize| table.weights.as_ref().map_or(1.0, |weights| weights[row]);
    rows.flat_map(|(i, row)| row.iter().copied().chain([weight(i)])).collect()
}

/// Whether all models read the same copy of an arena: a table is not repeated.
pub(crate) fn shared_by_models(plan: &Plan, arena: Arena) -> bool {
    arena == Arena::Data && plan.step.source != Source::Linreg
}
