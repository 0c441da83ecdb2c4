//! The `cpu` executor: the plan walked by plain Rust. In f64 it is the oracle of the kernels; in f32 it trains where a
//! machine has no adapter.

mod encode;
mod fast;
mod gradients;
mod input;
mod norm;
mod oracle;
mod oracle_encode;
mod oracle_norm;
mod products;
mod share;
mod vector;

use std::collections::VecDeque;

use rayon::prelude::*;

use crate::arenas::Arenas;
use crate::error::Result;
use crate::executor::{Chunk, Executor, Report};
use crate::plan::{Arena, OpKind, Plan, State, TrainStep};
use crate::real::Real;
use crate::rng::Key;
use crate::spec::Hyperparameters;
use fast::Fast;
use oracle::Oracle;
use share::{Share, shares};

pub(crate) use encode::{embed, encode, waves};

/// A plan, its arenas, and the hyperparameters of each model.
#[derive(Debug, Clone)]
pub struct Cpu<T> {
    plan: Plan,
    hyper: Vec<Hyperparameters>,
    arenas: Arenas<T>,
}

impl<T: Real> Cpu<T> {
    /// Starts from `arenas`; `hyper` has one entry per model.
    pub fn new(plan: Plan, hyper: Vec<Hyperparameters>, arenas: Arenas<T>) -> Self {
        Self { plan, hyper, arenas }
    }

    /// The arenas as they are.
    pub fn arenas(&self) -> &Arenas<T> {
        &self.arenas
    }

    /// Runs one step of all models and returns the loss of each before its update.
    pub fn step(&mut self) -> Vec<T> {
        (0..self.plan.step.models).map(|model| self.step_of(model)).collect()
    }

    /// Runs one op of one model on the arenas as they are. The loss is returned by the op that computes it.
    pub fn run_op(&mut self, model: usize, op: OpKind) -> Option<T> {
        self.oracle(model).run(op)
    }

    fn step_of(&mut self, model: usize) -> T {
        let mut oracle = self.oracle(model);
        let losses = oracle.plan.ops.iter().filter_map(|op| oracle.run(op.kind));
        losses.fold(T::nan(), |_, loss| loss)
    }

    fn oracle(&mut self, model: usize) -> Oracle<'_, T> {
        let hyper = &self.hyper[model];
        let step = u64::from(self.arenas.state[model][0]);
        let (constants, row) = (hyper.constants(), self.plan.step.row(hyper, step));
        Oracle { plan: &self.plan, arenas: &mut self.arenas, model, constants, row }
    }
}

/// The `cpu` executor: the same plan in f32, with products and loops that use the processor's vectors.
#[derive(Debug, Clone)]
pub struct CpuExecutor {
    plan: Plan,
    hyper: Vec<Hyperparameters>,
    arenas: Arenas<f32>,
    saved: Option<Arenas<f32>>,
    reports: VecDeque<Report>,
}

impl CpuExecutor {
    /// Starts from `arenas`; `hyper` has one entry per model.
    pub fn new(plan: Plan, hyper: Vec<Hyperparameters>, arenas: Arenas<f32>) -> Self {
        let mut executor = Self { plan, hyper, arenas, saved: None, reports: VecDeque::new() };
        executor.clear_padding();
        executor
    }

    /// The padding of the batch and of the activations is written by no op here, and read by none but as zero.
    fn clear_padding(&mut self) {
        self.arenas.scalars[Arena::Activations as usize].fill(0.0);
    }

    /// Runs steps of all models, side by side on the cores of the machine, and returns the losses of each model.
    fn run(&mut self, steps: usize) -> Vec<Vec<f32>> {
        let Self { plan, hyper, arenas, .. } = self;
        let plan = &*plan;
        let run = |(mut share, hyper): (Share<'_>, &Hyperparameters)| {
            let mut fast = Fast::new(plan);
            (0..steps).map(|_| step_of(plan, &mut share, hyper, &mut fast)).collect()
        };
        shares(plan, arenas).into_par_iter().zip(&*hyper).with_max_len(1).map(run).collect()
    }
}

/// Runs a step of a model and returns its loss before the update.
fn step_of(plan: &Plan, share: &mut Share<'_>, hyper: &Hyperparameters, fast: &mut Fast) -> f32 {
    let rows = (hyper.constants(), plan.step.row(hyper, u64::from(share.state[0])));
    let losses = plan.ops.iter().filter_map(|op| fast.run(op.kind, plan, share, &rows));
    losses.fold(f32::NAN, |_, loss| loss)
}

/// The key of the units that a hidden layer drops in a step: a child of that of the batch, of which the first two may draw rows.
fn dropout_key(step: &TrainStep, state: State, layer: usize) -> Key {
    #[expect(clippy::cast_possible_truncation, reason = "a network has few layers")]
    step.step_key(state).fold_in(2 + layer as u32)
}

/// Steps of one chunk: enough that the host's share is nothing.
const CAPACITY: usize = 1 << 14;

impl Executor for CpuExecutor {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn capacity(&self) -> usize {
        CAPACITY
    }

    fn scale_learning_rates(&mut self, scales: &[f64]) {
        self.hyper.iter_mut().zip(scales).for_each(|(hyper, &scale)| hyper.scale = scale);
    }

    fn enqueue(&mut self, chunk: Chunk) -> Result<()> {
        let of_models = self.run(chunk.steps);
        let losses = (0..chunk.steps).flat_map(|step| of_models.iter().map(move |losses| losses[step])).collect();
        let submissions = chunk.steps.div_ceil(chunk.iters_per_submit);
        let state = self.arenas.state.clone();
        self.reports.push_back(Report { losses, state, submissions, ..Report::of(chunk) });
        Ok(())
    }

    fn collect(&mut self) -> Result<Option<Report>> {
        Ok(self.reports.pop_front())
    }

    fn save(&mut self) -> Result<()> {
        self.saved = Some(self.arenas.clone());
        Ok(())
    }

    fn restore(&mut self) -> Result<()> {
        if let Some(saved) = &self.saved {
            self.arenas = saved.clone();
        }
        Ok(())
    }

    fn read(&mut self) -> Result<Arenas<f32>> {
        Ok(self.arenas.clone())
    }

    fn write(&mut self, arenas: &Arenas<f32>) -> Result<()> {
        self.arenas = arenas.clone();
        Ok(())
    }

    fn read_arena(&mut self, arena: Arena) -> Result<Vec<f32>> {
        Ok(self.arenas.scalars[arena as usize].clone())
    }

    fn write_params(&mut self, params: &[f32], state: &[State]) -> Result<()> {
        self.arenas.scalars[Arena::Params as usize].copy_from_slice(params);
        self.arenas.state.copy_from_slice(state);
        Ok(())
    }
}
