//! Checkpoints on the command line: their flags, and how those of a run that goes on are put together with those of its checkpoint.

mod flags;

use std::collections::HashSet;
use std::path::PathBuf;

use clap::{ArgMatches, Args, parser::ValueSource};

use super::train::TrainArgs;
use super::values;
use crate::checkpoint::Checkpoint;
use crate::config::{CheckpointConfig, ExecutorChoice, OnDivergence, TrainConfig};
use crate::error::{Error, Result};
use flags::{May, flags, sweep};

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
