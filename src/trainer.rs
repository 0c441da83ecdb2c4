//! From a config to a finished run: data, plan, executor, loop, summary.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use crate::arenas::Arenas;
use crate::calibrate::{Candidates, Choice};
use crate::checkpoint::{Checkpoint, Origin, Saved, Saver, Saving};
use crate::config::{ExecutorChoice, Member, TableConfig, Task, TrainConfig};
use crate::cpu::{self, CpuExecutor};
use crate::data::{self, Dataset, Tables};
use crate::error::{Error, Result};
use crate::executor::Executor;
use crate::gpu::{self, AdapterChoice, AdapterSummary, Device, INSTALL};
use crate::plan::{Plan, Source, TrainStep};
use crate::recover::{Recovering, on_same_adapter};
use crate::run::{self, Observer, Outcome, Pace, Run, Start};
use crate::spec::Model;
use crate::tune::{self, Trial, Tuned};

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

    fn build(config: TrainConfig, resumed: Option<(&Checkpoint, &Path)>, observer: &mut dyn Observer) -> Result<Self> {
        let started = Instant::now();
        let members = config.members()?;
        let checkpoint = resumed.map(|(checkpoint, _)| checkpoint);
        checkpoint.map_or(Ok(()), |c| c.check_config(&config))?;
        let (tables, mut plan) = plan_of(&config, members.len())?;
        checkpoint.map_or(Ok(()), |c| c.experiment.check_tables(tables.as_ref(), &config))?;
        let from = resumed.map(|(checkpoint, path)| (path, checkpoint.step()));
        let saver = config.checkpoint.as_ref().map(|c| Saver::open(c, from)).transpose()?;
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
        let (executor, choice): (Box<dyn Executor>, _) = match &device {
            None => (Box::new(CpuExecutor::new(plan.clone(), hyper, arenas)), None),
            Some(device) => {
                let (checked, steps) = (config.checked, config.steps - start.step.min(config.steps));
                let candidates = Candidates { device, plan: &plan, hyper: &hyper, arenas: &arenas, checked, steps };
                let (executor, choice) = tune::executor(config.executor, &candidates, tuned)?;
                let rebuild = on_same_adapter(&executor, device, &plan, &hyper, config.checked);
                (Box::new(Recovering::new(Box::new(executor), &arenas, rebuild)), choice)
            }
        };
        run::check_pace(config.iters_per_submit, executor.capacity())?;
        let adapter = device.map(|d| d.summary);
        let place = adapter.as_ref().map(|a| (a.to_string(), plan.step.products));
        let origin = Origin::new(&config, tables.as_ref(), executor.name(), place);
        if let Some(text) = checkpoint.and_then(|checkpoint| origin.elsewhere(checkpoint)) {
            observer.notice(&text);
        }
        Ok(Self { config, members, tables, plan, executor, adapter, choice, origin, start, saver, started })
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
        let mut run = Run {
            executor: self.executor.as_mut(),
            pace: Pace { iters_per_submit: config.iters_per_submit, submit_budget: config.submit_budget },
            started: self.started,
            pause_every: config.checkpoint.as_ref().and_then(|c| c.every),
            on_divergence: config.on_divergence,
            stop,
        };
        let mut saving = Saving::new(observer, &self.plan, &self.origin, self.saver);
        let trained = run.train(&self.start, config.steps, &mut saving);
        let read = trained.and_then(|outcome| Ok((outcome, self.executor.read()?)));
        let (mut outcome, mut arenas) = read.map_err(|e| saving.name_last(e))?;
        let saved = saving.finish(&mut outcome, &mut arenas);
        let loss =
            |table: &Dataset| (0..self.members.len()).map(|m| cpu::loss_over(&self.plan, &arenas, m, table)).collect();
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
        })
    }
}

/// The arenas that a run starts from.
fn arenas_of(
    plan: &Plan,
    members: &[Member],
    table: Option<&Dataset>,
    checkpoint: Option<&Checkpoint>,
) -> Result<Arenas<f32>> {
    let seeds: Vec<_> = members.iter().map(|m| m.seed).collect();
    let mut arenas = Arenas::initial(plan, &seeds, table, 0.0)?;
    if let Some(checkpoint) = checkpoint {
        checkpoint.restore(plan, &mut arenas);
    }
    Ok(arenas)
}

/// The tables of a config, if it has any, and its plan for the portable kernels.
///
/// # Errors
/// [`Error::Usage`] and [`Error::Data`] for what cannot be trained.
pub fn plan_of(config: &TrainConfig, models: usize) -> Result<(Option<Tables>, Plan)> {
    let load = |table: &TableConfig| {
        let tables = data::load(table, config.loss.target_kind(), config.seed)?;
        let (source, schema) = (Source::Table { rows: tables.train.rows }, &tables.schema);
        let (inputs, outputs) = (schema.inputs(), schema.targets.outputs());
        Ok((Some(tables), source, inputs, outputs))
    };
    let (tables, source, inputs, outputs) = match &config.task {
        Task::Linreg { inputs, outputs } => (None, Source::Linreg, *inputs, *outputs),
        Task::Table(table) => load(table)?,
        Task::Image(image) => load(&image.table())?,
    };
    let model = Model::new(inputs, &config.hidden, outputs, config.activation)?.with(config.layers.clone())?;
    let step = TrainStep::new(model, config.loss, config.optimizer, config.batch_size, source);
    let step = TrainStep {
        models,
        schedule: config.schedule.clone(),
        clip_value: config.uses("clip_value"),
        clip_norm: config.uses("clip_norm"),
        accumulate: config.accumulate,
        decay_bias: config.decay_bias,
        ..step
    };
    Ok((tables, Plan::new(step)?))
}

/// Floating-point operations per step below which a thread pool costs a software adapter more than it brings.
const SMALL: usize = 8_000_000;

/// Whether a software adapter should do without its thread pool.
pub(crate) fn single_threaded(plan: &Plan) -> bool {
    plan.step.models == 1 && plan.flops() < SMALL
}

/// The adapter of a config; `None` where the cpu executor is asked for, or is all that there is.
fn open_device(config: &TrainConfig, plan: &Plan, observer: &mut dyn Observer) -> Result<Option<Device>> {
    if config.executor == ExecutorChoice::Cpu {
        if config.adapter != AdapterChoice::default() {
            let text =
                "--executor cpu uses no adapter: leave out --adapter and --backend, or choose another --executor";
            return Err(Error::Usage(text.into()));
        }
        return Ok(None);
    }
    let single_threaded = single_threaded(plan);
    gpu::prepare_software_adapters(single_threaded);
    let Some(found) = gpu::choose(&config.adapter)? else {
        if config.executor == ExecutorChoice::Auto {
            observer.notice(&format!(
                "no graphics adapter was found, so this trains on the built-in cpu executor. {INSTALL}"
            ));
            return Ok(None);
        }
        return Err(Error::Device(format!(
            "no graphics adapter was found for --executor {}. {INSTALL}; --executor cpu needs neither",
            config.executor
        )));
    };
    if found.is_software() {
        let llvmpipe = found.summary.name.contains("llvmpipe");
        let threads = if single_threaded && llvmpipe {
            ", without its thread pool, which does not pay for a small network"
        } else {
            ""
        };
        observer.notice(&format!("{} is a software adapter: it computes on the processor{threads}", found.summary));
    }
    Device::open(&found).map(Some)
}

/// Searches the fastest way to train a config; returns the key of the cache, the result, and all trials.
///
/// # Errors
/// As [`Trainer::new`], and [`Error::Usage`] where there is no adapter to tune for.
pub fn tune(config: &TrainConfig, observer: &mut dyn Observer) -> Result<(String, Tuned, Vec<Trial>)> {
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
    let (tuned, trials) = tune::search(&candidates, initial)?;
    Ok((tune::cache_key(&device.summary, &plan), tuned, trials))
}
