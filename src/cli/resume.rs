//! Checkpoints on the command line: which flags may change when a run goes on, and which may not.

use std::collections::HashSet;
use std::path::PathBuf;

use clap::{ArgMatches, Args, parser::ValueSource};

use super::train::TrainArgs;
use super::values;
use crate::checkpoint::Checkpoint;
use crate::config::{CheckpointConfig, ExecutorChoice, OnDivergence, Task, TrainConfig, Validation};
use crate::error::{Error, Result};
use crate::spec::InputEncoding;

/// Flags of checkpoints.
#[derive(Debug, Args)]
pub(super) struct CheckpointArgs {
    /// Write the state at the end, and when the run is interrupted, into a safetensors file, from which --resume goes on.
    #[arg(long, value_name = "FILE", help_heading = "Checkpoints")]
    checkpoint: Option<PathBuf>,
    /// Write it also after each N-th step.
    #[arg(long, value_name = "N", value_parser = values::whole::<u64>(1..=u64::MAX), help_heading = "Checkpoints")]
    checkpoint_every: Option<u64>,
    /// Keep also the last N of them, under the names FILE.STEP.
    #[arg(long, value_name = "N", value_parser = values::whole::<usize>(1..=1_000_000), help_heading = "Checkpoints")]
    keep: Option<usize>,
    /// Go on from a checkpoint to --steps, counted from the first beginning. Flags that are left out are those of the
    /// checkpoint, and later checkpoints replace it unless --checkpoint names another file. A metrics file is continued.
    #[arg(long, value_name = "FILE", help_heading = "Checkpoints")]
    pub(super) resume: Option<PathBuf>,
    /// Let the flags of the optimizer's numbers replace those of the checkpoint.
    #[arg(long = "override", requires = "resume", help_heading = "Checkpoints")]
    overrides: bool,
    /// When the loss becomes NaN or infinite: stop, or continue to the last step. In a run of several models, when all
    /// of them have diverged.
    #[arg(long, value_name = "WHAT", default_value = "stop", value_parser = values::named::<OnDivergence>, help_heading = "Training")]
    pub(super) on_divergence: OnDivergence,
}

impl CheckpointArgs {
    /// What the flags ask for; what they leave out is that of the resumed run.
    pub(super) fn config(&self, resumed: Option<&CheckpointConfig>) -> Option<CheckpointConfig> {
        let path = self.checkpoint.clone().or_else(|| resumed.map(|c| c.path.clone()))?;
        let every = self.checkpoint_every.or_else(|| resumed.and_then(|c| c.every));
        let keep = self.keep.or_else(|| resumed.map(|c| c.keep)).unwrap_or(0);
        Some(CheckpointConfig { path, every, keep })
    }

    /// Fails where a flag needs a file that is not named.
    fn check(&self) -> Result<()> {
        let flags = [("--checkpoint-every", self.checkpoint_every.is_some()), ("--keep", self.keep.is_some())];
        match flags.iter().find(|(_, given)| *given) {
            Some((flag, _)) if self.checkpoint.is_none() && self.resume.is_none() => {
                Err(Error::Usage(format!("{flag} needs a file: add --checkpoint FILE")))
            }
            _ => Ok(()),
        }
    }
}

/// The flags that were given, by their names in clap.
#[derive(Debug, Default)]
pub(super) struct Given(HashSet<String>);

impl Given {
    /// Those of a subcommand.
    pub(super) fn of(matches: &ArgMatches) -> Self {
        let names = matches.ids().map(|id| id.as_str());
        let given = names.filter(|name| matches.value_source(name) == Some(ValueSource::CommandLine));
        Self(given.map(String::from).collect())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }
}

/// Whether a flag may differ from the checkpoint.
#[derive(Debug, Clone, Copy, PartialEq)]
enum May {
    /// Never.
    Not,
    /// With `--override`.
    Overridden,
    /// Always.
    Change,
}

/// A flag by its name in clap, what it stands for in a config, and how it is taken over.
struct Flag {
    name: &'static str,
    may: May,
    text: fn(&TrainConfig) -> String,
    take: fn(&mut TrainConfig, &TrainConfig),
}

/// A flag whose value is a field of the config.
macro_rules! flag {
    ($name:literal, $may:ident, $($field:ident).+) => {
        Flag {
            name: $name,
            may: May::$may,
            text: |c| format!("{:?}", c.$($field).+),
            take: |to, from| to.$($field).+.clone_from(&from.$($field).+),
        }
    };
}

/// A flag whose value has a name.
macro_rules! named_flag {
    ($name:literal, $may:ident, $field:ident) => {
        Flag { name: $name, may: May::$may, text: |c| c.$field.to_string(), take: |to, from| to.$field = from.$field }
    };
}

/// A flag of one of the tasks, which never changes.
macro_rules! task_flag {
    ($name:literal, $pattern:pat => $text:expr) => {
        Flag {
            name: $name,
            may: May::Not,
            text: |c| if let $pattern = &c.task { $text } else { task(&c.task) },
            take: |_, _| {},
        }
    };
}

/// A flag of one of the encodings, which never changes.
macro_rules! encoding_flag {
    ($name:literal, $pattern:pat => $number:ident) => {
        Flag {
            name: $name,
            may: May::Not,
            text: |c| if let $pattern = c.layers.encoding { format!("{:?}", $number) } else { "none".into() },
            take: |_, _| {},
        }
    };
}

fn task(task: &Task) -> String {
    match task {
        Task::Linreg { .. } => "the linreg task".into(),
        Task::Table(table) | Task::Frame(_, table) => format!("the table {}", table.path.display()),
        Task::Image(image) => format!("the image {}", image.path.display()),
    }
}

/// Takes over where the data is: what it holds is compared when it is read.
fn move_data(to: &mut TrainConfig, from: &TrainConfig) {
    match (&mut to.task, &from.task) {
        (Task::Table(to), Task::Table(from)) => {
            to.path.clone_from(&from.path);
            to.labels.clone_from(&from.labels);
        }
        (Task::Image(to), Task::Image(from)) => to.path.clone_from(&from.path),
        _ => {}
    }
}

/// The rows to validate with, in a message.
fn validation(task: &Task) -> String {
    task.table().and_then(|table| table.validation.as_ref().map(Validation::to_string)).unwrap_or("none".into())
}

/// Names in a message.
fn names(names: &[String]) -> String {
    let texts: Vec<_> = names.iter().map(|name| values::name_text(name)).collect();
    if texts.is_empty() { "none".into() } else { texts.join(",") }
}

/// The flags that a checkpoint has an opinion of.
fn flags() -> Vec<Flag> {
    data_flags().into_iter().chain(other_flags()).collect()
}

fn data_flags() -> Vec<Flag> {
    vec![
        task_flag!("task", Task::Linreg { .. } => "linreg".into()),
        task_flag!("inputs", Task::Linreg { inputs, .. } => inputs.to_string()),
        task_flag!("outputs", Task::Linreg { outputs, .. } => outputs.to_string()),
        Flag { take: move_data, ..task_flag!("data", Task::Table(_) => "a table".into()) },
        Flag { take: move_data, ..task_flag!("labels", Task::Table(_) => "a table".into()) },
        Flag { take: move_data, ..task_flag!("image", Task::Image(_) => "an image".into()) },
        task_flag!("target", Task::Table(t) => names(&t.targets)),
        task_flag!("features", Task::Table(t) => names(&t.features)),
        task_flag!("exclude", Task::Table(t) => names(&t.exclude)),
        Flag { name: "validation", may: May::Not, text: |c| validation(&c.task), take: |_, _| {} },
        task_flag!("weight_column", Task::Table(t) => names(t.weight.as_slice())),
        task_flag!("missing", Task::Table(t) => t.missing.to_string()),
        task_flag!("categorical", Task::Table(t) => t.categorical.to_string()),
        task_flag!("embedding_width", Task::Table(t) => width(t.embedding_width)),
        task_flag!("no_standardize", Task::Table(t) => (!t.standardize).to_string()),
    ]
}

fn other_flags() -> Vec<Flag> {
    vec![
        Flag { text: |c| widths(&c.hidden), ..flag!("hidden", Not, hidden) },
        named_flag!("activation", Not, activation),
        flag!("dropout", Not, layers.dropout),
        flag!("layer_norm", Not, layers.layer_norm),
        flag!("residual", Not, layers.residual),
        Flag {
            name: "encoding",
            may: May::Not,
            text: |c| c.layers.encoding.name().into(),
            // Its numbers may be left to the checkpoint.
            take: |_, _| {},
        },
        encoding_flag!("fourier_features", InputEncoding::Fourier { features, .. } => features),
        encoding_flag!("fourier_scale", InputEncoding::Fourier { scale, .. } => scale),
        encoding_flag!("frequencies", InputEncoding::Frequency { frequencies } => frequencies),
        flag!("include_input", Not, layers.include_input),
        flag!("w0", Not, w0),
        named_flag!("init", Not, init),
        named_flag!("loss", Not, loss),
        flag!("label_smoothing", Not, label_smoothing),
        named_flag!("optimizer", Not, optimizer),
        flag!("learning_rate", Overridden, hyper.learning_rate),
        flag!("b1", Overridden, hyper.b1),
        flag!("b2", Overridden, hyper.b2),
        flag!("eps", Overridden, hyper.eps),
        flag!("weight_decay", Overridden, hyper.weight_decay),
        flag!("momentum", Overridden, hyper.momentum),
        Flag { text: |c| (c.hyper.nesterov > 0.0).to_string(), ..flag!("nesterov", Overridden, hyper.nesterov) },
        flag!("clip_value", Overridden, hyper.clip_value),
        flag!("clip_norm", Overridden, hyper.clip_norm),
        Flag { text: |c| (!c.decay_bias).to_string(), ..flag!("no_bias_decay", Overridden, decay_bias) },
        flag!("accumulate", Not, accumulate),
        // Its parameters cannot be given without it.
        Flag { text: |c| c.schedule.to_string(), ..flag!("schedule", Overridden, schedule) },
        flag!("batch_size", Not, batch_size),
        named_flag!("sampling", Not, sampling),
        flag!("seed", Not, seed),
        flag!("ensemble", Not, ensemble),
        Flag { text: |c| sweep(&c.sweep), ..flag!("sweep", Not, sweep) },
        flag!("steps", Change, steps),
        named_flag!("executor", Change, executor),
        flag!("checked", Change, checked),
        named_flag!("on_divergence", Change, on_divergence),
        flag!("validate_every", Change, validate.every),
        flag!("patience", Change, validate.patience),
        flag!("min_delta", Change, validate.min_delta),
        flag!("reduce_on_plateau", Change, validate.plateau),
        Flag { name: "plateau_factor", ..flag!("reduce_on_plateau", Change, validate.plateau) },
        flag!("checkpoint_best", Change, validate.best),
    ]
}

/// A width in a message.
fn width(width: Option<usize>) -> String {
    width.map_or("its default".into(), |width| width.to_string())
}

fn widths(hidden: &[usize]) -> String {
    let widths: Vec<_> = hidden.iter().map(ToString::to_string).collect();
    if widths.is_empty() { "none".into() } else { widths.join(",") }
}

fn sweep(sweep: &[(String, Vec<f64>)]) -> String {
    let one = |(name, values): &(String, Vec<f64>)| {
        let values: Vec<_> = values.iter().map(|v| format!("{v:?}")).collect();
        format!("{name}={}", values.join(","))
    };
    let all: Vec<_> = sweep.iter().map(one).collect();
    if all.is_empty() { "none".into() } else { all.join(" --sweep ") }
}

/// The config of a run, and the checkpoint that it goes on from, if there is one.
pub(super) fn config(args: &TrainArgs, given: &Given) -> Result<(TrainConfig, Option<Checkpoint>)> {
    args.checkpoint.check()?;
    let Some(path) = &args.checkpoint.resume else { return Ok((args.config()?, None)) };
    let checkpoint = Checkpoint::read(path)?;
    let unusable = |reason: Error| Error::Checkpoint { path: path.clone(), reason: reason.to_string() };
    let mut saved = checkpoint.experiment.config(path.clone()).map_err(unusable)?;
    saved.executor = checkpoint.executor.parse::<ExecutorChoice>().map_err(unusable)?;
    let config = merge(saved, &args.config()?, given, args.checkpoint.overrides)?;
    let checkpoints = args.checkpoint.config(config.checkpoint.as_ref());
    Ok((TrainConfig { checkpoint: checkpoints, ..config }, Some(checkpoint)))
}

/// The saved config with the flags that were given.
fn merge(saved: TrainConfig, flags_config: &TrainConfig, given: &Given, overrides: bool) -> Result<TrainConfig> {
    let mut config = TrainConfig {
        iters_per_submit: flags_config.iters_per_submit,
        submit_budget: flags_config.submit_budget,
        adapter: flags_config.adapter.clone(),
        tune_cache: flags_config.tune_cache,
        ..saved.clone()
    };
    for flag in flags().iter().filter(|flag| given.has(flag.name)) {
        let (asked, was) = ((flag.text)(flags_config), (flag.text)(&saved));
        let dashed = flag.name.replace('_', "-");
        if saved.sweep.iter().any(|(name, _)| name == flag.name) {
            return Err(Error::Usage(format!(
                "--{dashed} is swept in the checkpoint ({}): leave it out",
                sweep(&saved.sweep)
            )));
        }
        if asked != was && (flag.may == May::Not || flag.may == May::Overridden && !overrides) {
            let more = if flag.may == May::Overridden { ", add --override to change it" } else { "" };
            return Err(Error::Usage(format!(
                "--{dashed} {asked} contradicts the checkpoint, which has {was}: leave it out{more}, or start anew without \
                 --resume"
            )));
        }
        (flag.take)(&mut config, flags_config);
    }
    Ok(config)
}
