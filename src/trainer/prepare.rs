//! What a run is made of: tables, plan, device, arenas, validation.

use std::path::PathBuf;

use crate::arenas::Arenas;
use crate::checkpoint::{Checkpoint, Saver};
use crate::config::{CheckpointConfig, ExecutorChoice, Member, Task, TrainConfig};
use crate::cpu::CpuExecutor;
use crate::data::{self, Dataset, Tables};
use crate::error::{Error, Result};
use crate::gpu::{self, AdapterChoice, Device, INSTALL};
use crate::plan::{Plan, Source, TrainStep};
use crate::recover::{Rebuild, answering_on};
use crate::run::Observer;
use crate::spec::{Hyperparameters, Loss, TargetKind};
use crate::validation::{BestSoFar, Evaluator, Plateau, Validation};

/// The arenas that a run starts from.
pub(super) fn arenas_of(
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
    let (kind, seed) = (config.loss.target_kind(), config.seed);
    let sized = |tables: Tables| {
        let (source, schema) = (Source::Table { rows: tables.train.rows }, &tables.schema);
        let (inputs, outputs) = (schema.inputs(), schema.targets.outputs());
        (Some(tables), source, inputs, outputs)
    };
    let (tables, source, inputs, outputs) = match &config.task {
        Task::Linreg { inputs, outputs } => (None, Source::Linreg, *inputs, *outputs),
        Task::Table(table) => sized(data::load(table, kind, seed)?),
        Task::Image(image) => sized(data::load_image(image, kind, seed)?),
        Task::Frame(frame, table) => sized(data::load_frame(frame, table, kind, seed)?),
    };
    check_loss(config)?;
    let embeddings = tables.as_ref().map_or_else(Vec::new, |tables| tables.schema.embeddings());
    let model = config.model(inputs, outputs, embeddings)?;
    let step = TrainStep {
        models,
        schedule: config.schedule.clone(),
        init: config.init,
        clip_value: config.uses("clip_value"),
        clip_norm: config.uses("clip_norm"),
        accumulate: config.accumulate,
        decay_bias: config.decay_bias,
        label_smoothing: config.label_smoothing,
        sampling: config.sampling,
        weighted: tables.as_ref().is_some_and(|tables| tables.train.weights.is_some()),
        ..TrainStep::new(model, config.loss, config.optimizer, config.batch_size, source)
    };
    Ok((tables, Plan::new(step)?))
}

/// Checks that the loss fits the data, and its settings the loss.
fn check_loss(config: &TrainConfig) -> Result<()> {
    let loss = config.loss;
    if config.task.table().is_none() && loss.target_kind() != TargetKind::Numbers {
        return Err(Error::Usage(format!(
            "--loss {loss} needs labels, and the linreg task has numbers: name a table with --data, or leave out --loss"
        )));
    }
    if config.label_smoothing > 0.0 && loss != Loss::SoftmaxCrossEntropy {
        return Err(Error::Usage(format!(
            "--label-smoothing goes with --loss softmax_cross_entropy, and this is {loss}: leave one of them out"
        )));
    }
    Ok(())
}

/// What writes the state of the best validation, where the config asks for it.
///
/// # Errors
/// [`Error::Usage`] when the file cannot be written.
pub(super) fn best_saver(config: &TrainConfig) -> Result<Option<Saver>> {
    let config_of = |path: &PathBuf| CheckpointConfig { path: path.clone(), every: None, keep: 0 };
    let open = |path| Saver::open("--checkpoint-best", &config_of(path), None);
    config.validate.best.as_ref().map(open).transpose()
}

/// What validates a run, where it has rows for it. `kept` is what a resumed run has kept of its best.
pub(super) fn validation_of(
    config: &TrainConfig,
    plan: &Plan,
    tables: Option<&Tables>,
    device: Option<&Device>,
    kept: (Option<BestSoFar>, Option<Vec<Plateau>>),
    params: &[f32],
) -> Result<Option<Validation>> {
    let Some((tables, rows)) = tables.and_then(|t| Some((t, t.validation.as_ref()?))) else { return Ok(None) };
    let make = |plan: Plan| -> Rebuild {
        match device {
            Some(device) => answering_on(device, &plan, config.checked),
            None => Box::new(move |arenas| {
                let hyper = vec![Hyperparameters::default(); plan.step.models];
                Ok(Box::new(CpuExecutor::new(plan.clone(), hyper, arenas.clone())))
            }),
        }
    };
    let targets = tables.schema.targets.clone();
    let evaluator = Evaluator::new(plan, rows.clone(), targets, config.submit_budget, make)?;
    let start = (plan.step.models, params);
    Ok(Some(Validation::new(config.validate.clone(), config.steps, evaluator, kept, start)))
}

/// Floating-point operations per step below which a thread pool costs a software adapter more than it brings.
const SMALL: usize = 8_000_000;

/// Whether a software adapter should do without its thread pool.
pub(crate) fn single_threaded(plan: &Plan) -> bool {
    plan.step.models == 1 && plan.flops() < SMALL
}

/// The adapter of a config; `None` where the cpu executor is asked for, or is all that there is.
pub(super) fn open_device(config: &TrainConfig, plan: &Plan, observer: &mut dyn Observer) -> Result<Option<Device>> {
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
        let cure = if config.executor == ExecutorChoice::Auto { "; --executor cpu is often faster there" } else { "" };
        observer
            .notice(&format!("{} is a software adapter: it computes on the processor{threads}{cure}", found.summary));
    }
    Device::open(&found).map(Some)
}
