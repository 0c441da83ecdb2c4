//! The forward pass over a whole table, where the training runs: the scores of every model.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use crate::arenas::Arenas;
use crate::config::OnDivergence;
use crate::data::Dataset;
use crate::data::schema::Targets;
use crate::error::{Error, Result};
use crate::executor::Executor;
use crate::plan::{Arena, Plan, State};
use crate::recover::Rebuild;
use crate::run::{Pace, Run, Silent, Start};
use crate::score::{Scores, Tally, spread};

/// Rows that are answered at a time.
const BATCH: usize = 256;

/// New devices that are tried for one evaluation.
const TRIES: usize = 3;

/// Scores models over a table.
pub struct Evaluator {
    plan: Plan,
    /// The arenas of the plan, with the table in them.
    arenas: Arenas<f32>,
    /// `None` before the first evaluation, and after a device was lost.
    executor: Option<Box<dyn Executor>>,
    make: Rebuild,
    budget: Duration,
    table: Dataset,
    targets: Targets,
    spread: Vec<f64>,
}

impl Evaluator {
    /// An evaluator of the network that `trained` trains. `make` builds the executor of a plan that answers.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn new(
        trained: &Plan,
        table: Dataset,
        targets: Targets,
        budget: Duration,
        make: impl FnOnce(Plan) -> Rebuild,
    ) -> Result<Self> {
        let plan = Plan::new(trained.step.answering(table.rows, BATCH.min(table.rows)))?;
        let arenas = Arenas::initial(&plan, &vec![0; plan.step.models], Some(&table), 0.0)?;
        let spread = spread(&table.targets, table.targets.len() / table.rows);
        let make = make(plan.clone());
        Ok(Self { plan, arenas, executor: None, make, budget, table, targets, spread })
    }

    /// The scores of each model whose parameters are in the arena `params`.
    ///
    /// # Errors
    /// [`Error::Device`] when the device fails again and again, or does not finish.
    pub fn scores(&mut self, params: &[f32]) -> Result<Vec<Scores>> {
        let mut tries = 0;
        let answers = loop {
            match self.answers(params) {
                Err(Error::Device(_)) if tries < TRIES => {
                    self.executor = None;
                    tries += 1;
                }
                answers => break answers?,
            }
        };
        let share = 4 * self.plan.sizes.of(Arena::Grads);
        Ok(answers.chunks_exact(share).map(|answers| self.score(answers)).collect())
    }

    /// The arena of the answers, of all models.
    fn answers(&mut self, params: &[f32]) -> Result<Vec<f32>> {
        if self.executor.is_none() {
            self.executor = Some((self.make)(&self.arenas)?);
        }
        let Some(executor) = &mut self.executor else { return Ok(Vec::new()) };
        let models = self.plan.step.models;
        executor.write_params(params, &vec![State::default(); models])?;
        let mut run = Run {
            executor: executor.as_mut(),
            pace: Pace { iters_per_submit: None, submit_budget: self.budget },
            started: Instant::now(),
            pauses: Vec::new(),
            on_divergence: OnDivergence::Continue,
            stop: &AtomicBool::new(false),
        };
        run.train(&Start::fresh(models), self.plan.step.batches() as u64, &mut Silent)?;
        executor.read_arena(Arena::Grads)
    }

    /// The scores of one model by its answers.
    fn score(&self, answers: &[f32]) -> Scores {
        let step = &self.plan.step;
        let mut tally = Tally::new(&self.targets);
        let Some(tensor) = self.plan.tensor("answers") else { return tally.scores(&self.targets, &self.spread) };
        let columns = self.table.targets.len() / self.table.rows;
        let rows = answers[4 * tensor.offset..].chunks(4 * tensor.stride).zip(self.table.targets.chunks(columns));
        for (row, (answer, target)) in rows.enumerate() {
            let answer: Vec<_> = answer[..tensor.columns].iter().map(|&v| f64::from(v)).collect();
            let weight = self.table.weights.as_ref().map_or(1.0, |weights| f64::from(weights[row]));
            if step.loss.is_elementwise() {
                tally.add(step.loss, 0.0, &answer, target, weight);
            } else {
                tally.add_answer(&answer, target, weight);
            }
        }
        tally.scores(&self.targets, &self.spread)
    }
}
