//! From a config to a finished run: data, plan, executor, loop, summary.

mod prepare;
mod simple;

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use crate::arenas::Arenas;
use crate::calibrate::{Candidates, Choice};
use crate::checkpoint::{Checkpoint, Origin, Saved, Saver, Saving};
use crate::config::{ExecutorChoice, Member, TrainConfig};
use crate::cpu::CpuExecutor;
use crate::data::{Dataset, Tables};
use crate::error::{Error, Result};
use crate::executor::Executor;
use crate::gpu::AdapterSummary;
use crate::network;
use crate::plan::{Arena, Plan, TrainStep};
use crate::recover::{Recovering, on_same_adapter};
use crate::run::{self, Observer, Outcome, Pace, Run, Start};
use crate::tune::{self, Search, Tuned};
use crate::validation::{Validated, Validation};
pub use prepare::plan_of;
pub(crate) use prepare::single_threaded;
use prepare::{arenas_of, best_saver, open_device, validation_of};
pub use simple::ChunkEnd;

/// A run that is ready to start.
pub struct Trainer {
    config: TrainConfig,
    members: Vec<Member>,
    tables: Option<Tables>,
    plan: Plan,
    executor: Box<dyn Executor>,
    adapter: Option<AdapterSummary>,
    choice: Option<Choice>,
    origin: Origin,
    start: Start,
    saver: Option<Saver>,
    validation: Option<Validation>,
    /// Where the state of the best validation is written.
    best: Option<Saver>,
    started: Instant,
}

/// A finished run.
#[derive(Debug)]
pub struct Trained {
    /// The loop's figures.
    pub outcome: Outcome,
    /// The plan that was run.
    pub plan: Plan,
    /// The arenas after the last step.
    pub arenas: Arenas<f32>,
    /// The models.
    pub members: Vec<Member>,
    /// Loss over the whole table per model, where there is a table.
    pub train_losses: Option<Vec<f64>>,
    /// The name of the executor.
    pub executor: &'static str,
    /// The adapter, `None` on the cpu executor.
    pub adapter: Option<AdapterSummary>,
    /// How `auto` came to the executor.
    pub choice: Option<Choice>,
    /// The step that a resumed run went on from.
    pub resumed_from: Option<u64>,
    /// What was saved, where the config asks for it.
    pub saved: Option<Saved>,
    /// The validation, where the config has rows for it.
    pub validated: Option<Validated>,
    /// What every checkpoint of the run has in common.
    pub origin: Origin,
}

impl Trainer {
    /// Reads the data, lays out the plan, opens the adapter, and compiles the kernels.
    ///
    /// # Errors
    /// [`Error::Usage`] and [`Error::Data`] for what cannot be trained, before any device is touched; [`Error::Device`]
    /// when no adapter fits the choice or a limit is exceeded.
    pub fn new(config: TrainConfig, observer: &mut dyn Observer) -> Result<Self> {
        Self::build(config, None, observer)
    }

    /// As [`Trainer::new`], to go on from a checkpoint of the file `from`. The config is that of its experiment, with what
    /// may change.
    ///
    /// # Errors
    /// As [`Trainer::new`]; [`Error::Data`] when the table is not that of the checkpoint.
    pub fn resume(
        config: TrainConfig,
        checkpoint: &Checkpoint,
        from: &Path,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        Self::build(config, Some((checkpoint, from)), observer)
    }

    fn build(
        mut config: TrainConfig,
        resumed: Option<(&Checkpoint, &Path)>,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        let started = Instant::now();
        let members = config.members()?;
        let checkpoint = resumed.map(|(checkpoint, _)| checkpoint);
        checkpoint.map_or(Ok(()), |c| c.check_config(&config))?;
        let (tables, mut plan) = plan_of(&config, members.len())?;
        checkpoint.map_or(Ok(()), |c| c.experiment.check_tables(tables.as_ref(), &config))?;
        let from = resumed.map(|(checkpoint, path)| (path, checkpoint.step()));
        let saver = config.checkpoint.as_ref().map(|c| Saver::open("--checkpoint", c, from)).transpose()?;
        let hyper: Vec<_> = members.iter().map(|m| m.hyper).collect();
        let device = open_device(&config, &plan, observer)?;
        let tuned = device.as_ref().and_then(|device| tune::found(&config, device, &plan, observer));
        if let Some(device) = &device {
            let before = checkpoint.filter(|_| config.executor != ExecutorChoice::Auto);
            let before = before.and_then(|c| c.kernels_on(&device.summary.to_string(), &tune::variants(device)));
            let products = tuned.map(|t| t.products).or(before).unwrap_or(device.products);
            plan = Plan::new(TrainStep { products, ..plan.step })?;
        }
        let start = checkpoint.map_or_else(|| Start::fresh(members.len()), Checkpoint::start);
        let arenas = arenas_of(&plan, &members, tables.as_ref().map(|t| &t.train), checkpoint)?;
        let params = arenas.scalars[Arena::Params as usize].clone();
        let (mut executor, choice): (Box<dyn Executor>, _) = match &device {
            None => (Box::new(CpuExecutor::new(plan.clone(), hyper, arenas)), None),
            Some(device) => {
                let (checked, steps) = (config.checked, config.steps - start.step.min(config.steps));
                let candidates = Candidates { device, plan: &plan, hyper: &hyper, arenas: &arenas, checked, steps };
                let (executor, choice) = tune::executor(config.executor, &candidates, tuned)?;
                let rebuild = on_same_adapter(&executor, device, &plan, &hyper, config.checked);
                (Box::new(Recovering::new(Box::new(executor), &arenas, rebuild)), choice)
            }
        };
        config.iters_per_submit = pace_of(&config, tuned, executor.capacity())?;
        let best = best_saver(&config)?;
        let kept = (checkpoint.and_then(|c| c.best(&plan, &params)), checkpoint.and_then(Checkpoint::plateaus));
        let mut validation = validation_of(&config, &plan, tables.as_ref(), device.as_ref(), kept, &params)?;
        if let Some(scales) = validation.as_mut().and_then(Validation::take_scales) {
            executor.scale_learning_rates(&scales);
            observer.scaled(start.step, &scales);
        }
        let adapter = device.map(|d| d.summary);
        let place = adapter.as_ref().map(|a| (a.to_string(), plan.step.products));
        let origin = Origin::new(&config, tables.as_ref(), executor.name(), place);
        if let Some(text) = checkpoint.and_then(|checkpoint| origin.elsewhere(checkpoint)) {
            observer.notice(&text);
        }
        Ok(Self {
            config,
            members,
            tables,
            plan,
            executor,
            adapter,
            choice,
            origin,
            start,
            saver,
            validation,
            best,
            started,
        })
    }

    /// Steps that a checkpoint brought.
    pub fn first_step(&self) -> u64 {
        self.start.step
    }

    /// The plan that will be run.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The models that will be trained.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The adapter, `None` on the cpu executor.
    pub fn adapter(&self) -> Option<&AdapterSummary> {
        self.adapter.as_ref()
    }

    /// What is trained on; `None` for the synthetic task.
    pub fn tables(&self) -> Option<&Tables> {
        self.tables.as_ref()
    }

    /// How `auto` came to the executor; `None` where it was named.
    pub fn choice(&self) -> Option<&Choice> {
        self.choice.as_ref()
    }

    /// The name of the executor.
    pub fn executor(&self) -> &'static str {
        self.executor.name()
    }

    /// Trains to the end of the config, or until `stop` is set.
    ///
    /// # Errors
    /// As [`Run::train`]. Divergence is no error here: [`Outcome::divergence`] tells of it.
    pub fn train(mut self, stop: &AtomicBool, observer: &mut dyn Observer) -> Result<Trained> {
        let config = &self.config;
        let every = config.checkpoint.as_ref().and_then(|c| c.every);
        let checkpoints = (self.saver, every);
        let mut saving = Saving::new(observer, &self.plan, &self.origin, checkpoints, (self.validation, self.best));
        let mut run = Run {
            executor: self.executor.as_mut(),
            pace: Pace { iters_per_submit: config.iters_per_submit, submit_budget: config.submit_budget },
            started: self.started,
            pauses: saving.pauses(),
            on_divergence: config.on_divergence,
            stop,
        };
        let trained = run.train(&self.start, config.steps, &mut saving);
        let read = trained.and_then(|outcome| Ok((outcome, self.executor.read()?)));
        let (mut outcome, mut arenas) = read.map_err(|e| saving.name_last(e))?;
        let (saved, validated) = saving.finish(&mut outcome, &mut arenas)?;
        if let Some(validated) = &validated {
            arenas.scalars[Arena::Params as usize].clone_from(&validated.params);
        }
        let loss = |table: &Dataset| {
            (0..self.members.len()).map(|m| network::loss_over(&self.plan, &arenas, m, table)).collect()
        };
        let train_losses = self.tables.as_ref().map(|tables| loss(&tables.train));
        Ok(Trained {
            outcome,
            executor: self.executor.name(),
            plan: self.plan,
            arenas,
            members: self.members,
            train_losses,
            adapter: self.adapter,
            choice: self.choice,
            resumed_from: (self.start.step > 0).then_some(self.start.step),
            saved,
            validated,
            origin: self.origin,
        })
    }
}

/// Steps per submission: what the config asks for, or what was found.
fn pace_of(config: &TrainConfig, tuned: Option<Tuned>, capacity: usize) -> Result<Option<usize>> {
    run::check_pace(config.iters_per_submit, capacity)?;
    Ok(config.iters_per_submit.or(tuned.map(|tuned| tuned.iters_per_submit.min(capacity))))
}

/// Searches the fastest way to train a config; returns the key of the cache, and what was found.
///
/// # Errors
/// As [`Trainer::new`], and [`Error::Usage`] where there is no adapter to tune for.
pub fn tune(config: &TrainConfig, observer: &mut dyn Observer) -> Result<(String, Search)> {
    let members = config.members()?;
    let (tables, plan) = plan_of(config, members.len())?;
    let seeds: Vec<_> = members.iter().map(|m| m.seed).collect();
    let hyper: Vec<_> = members.iter().map(|m| m.hyper).collect();
    let device = open_device(config, &plan, observer)?
        .ok_or_else(|| Error::Usage("there is nothing to tune on the cpu executor: an adapter is needed".into()))?;
    let table = tables.as_ref().map(|t| &t.train);
    let initial = |plan: &Plan| Arenas::initial(plan, &seeds, table, 0.0);
    let arenas = initial(&plan)?;
    let candidates =
        Candidates { device: &device, plan: &plan, hyper: &hyper, arenas: &arenas, checked: config.checked, steps: 1 };
    let found = tune::search(&candidates, config.submit_budget, initial)?;
    Ok((tune::cache_key(&device.summary, &plan, config.submit_budget), found))
}
