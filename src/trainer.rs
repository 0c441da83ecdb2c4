//! From a config to a finished run: data, plan, executor, loop, summary.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use crate::arenas::Arenas;
use crate::calibrate::{Candidates, Choice};
use crate::config::{ExecutorChoice, Member, Task, TrainConfig};
use crate::cpu::{self, CpuExecutor};
use crate::data::{self, Dataset};
use crate::error::{Error, Result};
use crate::executor::Executor;
use crate::gpu::{self, AdapterChoice, AdapterSummary, Device, GpuExecutor, INSTALL};
use crate::plan::{Plan, Source, TrainStep};
use crate::recover::{Rebuild, Recovering};
use crate::run::{self, Observer, Outcome, Pace, Run};
use crate::shader::Walk;
use crate::spec::{Hyperparameters, Model};
use crate::tune::{self, Trial, Tuned};

/// A run that is ready to start.
pub struct Trainer {
    config: TrainConfig,
    members: Vec<Member>,
    table: Option<Dataset>,
    plan: Plan,
    executor: Box<dyn Executor>,
    adapter: Option<AdapterSummary>,
    choice: Option<Choice>,
    started: Instant,
}

/// A finished run.
#[derive(Debug, Clone)]
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
}

impl Trainer {
    /// Reads the data, lays out the plan, opens the adapter, and compiles the kernels.
    ///
    /// # Errors
    /// [`Error::Usage`] and [`Error::Data`] for what cannot be trained, before any device is touched; [`Error::Device`]
    /// when no adapter fits the choice or a limit is exceeded.
    pub fn new(config: TrainConfig, observer: &mut dyn Observer) -> Result<Self> {
        let started = Instant::now();
        let members = config.members()?;
        let (table, mut plan) = plan_of(&config, members.len())?;
        let seeds: Vec<_> = members.iter().map(|m| m.seed).collect();
        let hyper: Vec<_> = members.iter().map(|m| m.hyper).collect();
        let device = open_device(&config, &plan, observer)?;
        let adapter = device.as_ref().map(|d| d.summary.clone());
        let mut choice = None;
        let executor: Box<dyn Executor> = match &device {
            None => {
                let arenas = Arenas::initial(&plan, &seeds, table.as_ref(), 0.0)?;
                Box::new(CpuExecutor::new(plan.clone(), hyper, arenas))
            }
            Some(device) => {
                let tuned = tuned(&config, device, &plan, observer);
                let products = tuned.map_or(device.products, |t| t.products);
                plan = Plan::new(TrainStep { products, ..plan.step })?;
                let arenas = Arenas::initial(&plan, &seeds, table.as_ref(), 0.0)?;
                let (checked, steps) = (config.checked, config.steps);
                let candidates = Candidates { device, plan: &plan, hyper: &hyper, arenas: &arenas, checked, steps };
                let (executor, chosen) = on_device(config.executor, &candidates, tuned)?;
                choice = chosen;
                let rebuild = rebuild(&executor, device, &plan, &hyper, config.checked);
                Box::new(Recovering::new(Box::new(executor), &arenas, rebuild))
            }
        };
        run::check_pace(config.iters_per_submit, executor.capacity())?;
        Ok(Self { config, members, table, plan, executor, adapter, choice, started })
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
    /// As [`Run::train`]; [`Error::Diverged`] when every model's loss became NaN or infinite.
    pub fn train(mut self, stop: &AtomicBool, observer: &mut dyn Observer) -> Result<Trained> {
        let pace = Pace { iters_per_submit: self.config.iters_per_submit, submit_budget: self.config.submit_budget };
        let models = self.members.len();
        let mut run = Run { executor: self.executor.as_mut(), pace, started: self.started, models, stop };
        let outcome = run.train(0, self.config.steps, observer)?;
        let arenas = self.executor.read()?;
        let train_losses = self
            .table
            .as_ref()
            .map(|table| (0..models).map(|model| cpu::loss_over(&self.plan, &arenas, model, table)).collect());
        Ok(Trained {
            outcome,
            executor: self.executor.name(),
            plan: self.plan,
            arenas,
            members: self.members,
            train_losses,
            adapter: self.adapter,
            choice: self.choice,
        })
    }
}

/// The table of a config, if it has one, and its plan for the portable kernels.
///
/// # Errors
/// [`Error::Usage`] and [`Error::Data`] for what cannot be trained.
pub fn plan_of(config: &TrainConfig, models: usize) -> Result<(Option<Dataset>, Plan)> {
    let (table, source, inputs, outputs) = match &config.task {
        Task::Linreg { inputs, outputs } => (None, Source::Linreg, *inputs, *outputs),
        Task::Csv { path, targets, standardize } => {
            let table = data::read_csv(path, targets, *standardize)?;
            let (inputs, outputs) = (table.feature_names.len(), table.target_names.len());
            let source = Source::Table { rows: table.rows };
            (Some(table), source, inputs, outputs)
        }
    };
    let model = Model::new(inputs, &config.hidden, outputs, config.activation)?;
    let step = TrainStep::new(model, config.loss, config.optimizer, config.batch_size, source);
    Ok((table, Plan::new(TrainStep { models, ..step })?))
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

/// The executor that the config asks for, and how `auto` came to it.
fn on_device(
    executor: ExecutorChoice,
    candidates: &Candidates<'_>,
    tuned: Option<Tuned>,
) -> Result<(GpuExecutor, Option<Choice>)> {
    match (executor, tuned) {
        (ExecutorChoice::Persistent, _) => Ok((candidates.build(Walk::Persistent)?, None)),
        (ExecutorChoice::Recorded, _) => Ok((candidates.build(Walk::Recorded)?, None)),
        (_, Some(tuned)) => {
            let walk = if tuned.persistent { Walk::Persistent } else { Walk::Recorded };
            let executor = candidates.build(walk)?;
            let why = format!("`fori tune` found {} kernels at {:.1} µs per step", tuned.products, tuned.us_per_step);
            let choice = Choice { executor: executor.name(), why, recorded_us: None, persistent_us: None };
            Ok((executor, Some(choice)))
        }
        (_, None) => candidates.fastest().map(|(executor, choice)| (executor, Some(choice))),
    }
}

/// How an executor is made again on the same adapter, after its device failed.
fn rebuild(executor: &GpuExecutor, device: &Device, plan: &Plan, hyper: &[Hyperparameters], checked: bool) -> Rebuild {
    let (walk, summary) = (executor.walk(), device.summary.clone());
    let (plan, hyper) = (plan.clone(), hyper.to_vec());
    Box::new(move |arenas| {
        let found = gpu::adapters().into_iter().find(|found| found.summary == summary);
        let found = found.ok_or_else(|| Error::Device(format!("{summary} is no longer there")))?;
        let device = Device::open(&found)?;
        let executor = GpuExecutor::new(device, plan.clone(), hyper.clone(), arenas, walk, checked)?;
        Ok(Box::new(executor))
    })
}

/// What `fori tune` found for this network on this device, where `auto` may use it.
fn tuned(config: &TrainConfig, device: &Device, plan: &Plan, observer: &mut dyn Observer) -> Option<Tuned> {
    if config.executor != ExecutorChoice::Auto || !config.tune_cache {
        return None;
    }
    let found = tune::lookup(&tune::cache_path()?, &tune::cache_key(&device.summary, plan));
    found.unwrap_or_else(|reason| {
        observer.notice(&reason);
        None
    })
}

/// Searches the fastest way to train a config; returns the key of the cache, the result, and all trials.
///
/// # Errors
/// As [`Trainer::new`], and [`Error::Usage`] where there is no adapter to tune for.
pub fn tune(config: &TrainConfig, observer: &mut dyn Observer) -> Result<(String, Tuned, Vec<Trial>)> {
    let members = config.members()?;
    let (table, plan) = plan_of(config, members.len())?;
    let seeds: Vec<_> = members.iter().map(|m| m.seed).collect();
    let hyper: Vec<_> = members.iter().map(|m| m.hyper).collect();
    let device = open_device(config, &plan, observer)?
        .ok_or_else(|| Error::Usage("there is nothing to tune on the cpu executor: an adapter is needed".into()))?;
    let initial = |plan: &Plan| Arenas::initial(plan, &seeds, table.as_ref(), 0.0);
    let arenas = initial(&plan)?;
    let candidates =
        Candidates { device: &device, plan: &plan, hyper: &hyper, arenas: &arenas, checked: config.checked, steps: 1 };
    let (tuned, trials) = tune::search(&candidates, initial)?;
    Ok((tune::cache_key(&device.summary, &plan), tuned, trials))
}
