//! Writes the experiment of a run: every value that it was run with, so that `fori train FILE.toml` repeats it.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::{Arg, ArgMatches, parser::ValueSource};

use super::keys;
use super::kind::Kind;
use crate::config::TrainConfig;
use crate::error::{Error, Result};
use crate::files;
use crate::trainer::Trainer;

/// How a file that may be replaced begins.
const HEAD: &str = "# An experiment of fori";

/// A key with the values of its flag.
struct Setting<'a> {
    key: String,
    arg: &'a Arg,
    values: Vec<OsString>,
    /// A switch that is on.
    on: bool,
}

impl Setting<'_> {
    /// What it is on the command line.
    fn args(&self) -> Vec<OsString> {
        let flag = OsString::from(format!("--{}", self.key.replace('_', "-")));
        if self.on {
            return vec![flag];
        }
        let word = |value: &OsString| [flag.as_os_str(), OsStr::new("="), value].into_iter().collect();
        self.values.iter().map(word).collect()
    }
}

/// Writes the experiment of a run that is about to start into a file. `read` is the experiment file that it
/// was read from, if there is one; `matches` are the arguments that `config` is of.
///
/// # Errors
/// [`Error::Usage`] when the file cannot be written, or is another one than an experiment that was saved.
pub(in super::super) fn save(
    path: &Path,
    read: Option<&Path>,
    matches: &ArgMatches,
    config: &TrainConfig,
    trainer: &Trainer,
) -> Result<()> {
    let refuse = |text: String| Error::Usage(format!("--save-experiment {}: {text}", path.display()));
    check(path, read).map_err(refuse)?;
    let place = trainer.adapter().map_or("this processor".into(), ToString::to_string);
    let executor = trainer.executor();
    // What `fori tune` found are kernels, too, and those come with `auto` only.
    let tuned = trainer.choice().is_some_and(|choice| choice.recorded_us.is_none());
    let pinned = if tuned { "auto" } else { executor };
    let ran = if tuned { format!("{executor} with the kernels that `fori tune` found") } else { executor.to_owned() };
    let head = format!(
        "{HEAD} {}, written by --save-experiment: `fori train FILE.toml` repeats the run.\n# The executor was {ran}, on {place}.\n",
        env!("CARGO_PKG_VERSION")
    );
    let text = head + &text(path, matches, config, pinned).map_err(refuse)?;
    files::replace("--save-experiment", path, text.as_bytes())
}

/// Why a file must not be replaced.
fn check(path: &Path, read: Option<&Path>) -> Result<(), String> {
    let read = read.and_then(|read| read.canonicalize().ok());
    if read.is_some_and(|read| path.canonicalize().is_ok_and(|path| path == read)) {
        return Err("this is the file that the experiment was read from; name another one".into());
    }
    // A stream holds nothing that could be lost, and its end may never come.
    if !path.is_file() {
        return Ok(());
    }
    match std::fs::read(path) {
        Ok(bytes) if !bytes.starts_with(HEAD.as_bytes()) => {
            Err("it exists, and is no experiment that was saved; name another file, or remove it".into())
        }
        _ => Ok(()),
    }
}

/// The settings of a run by their headings.
fn text(path: &Path, matches: &ArgMatches, config: &TrainConfig, executor: &str) -> Result<String, String> {
    let command = super::super::command();
    let train = command.find_subcommand("train").ok_or("there is no `fori train`")?;
    let mut sections: Vec<(&str, String)> = Vec::new();
    for setting in settings(train, matches, config, executor) {
        let values: Vec<_> = setting.values.iter().map(|value| portable(value, path, &setting)).collect();
        let values: Vec<_> = values.iter().map(OsString::as_os_str).collect();
        let kind = Kind::of(setting.arg);
        let value =
            if kind == Kind::Switch { setting.on.to_string() } else { kind.toml(&values).map_err(not_unicode)? };
        let heading = setting.arg.get_help_heading().unwrap_or("Options");
        let at = sections.iter().position(|(known, _)| *known == heading).unwrap_or_else(|| {
            sections.push((heading, format!("\n# {heading}\n")));
            sections.len() - 1
        });
        sections[at].1.push_str(&format!("{} = {value}\n", setting.key));
    }
    Ok(sections.into_iter().map(|(_, text)| text).collect())
}

fn not_unicode(value: OsString) -> String {
    format!("{} is not in UTF-8, and TOML is: rename it", Path::new(&value).display())
}

/// Every setting that can be said beside the others: a default that goes with a flag that is not given has no part in the run.
fn settings<'a>(
    train: &'a clap::Command,
    matches: &ArgMatches,
    config: &TrainConfig,
    executor: &str,
) -> Vec<Setting<'a>> {
    let resolved = resolved(config, executor);
    let setting = |(key, arg): (String, &'a Arg)| {
        let id = arg.get_id().as_str();
        let known = resolved.iter().find(|(name, _)| *name == key).map(|(_, text)| vec![OsString::from(text)]);
        let raw = || matches.get_raw(id).into_iter().flatten().map(OsStr::to_os_string).collect();
        let on = Kind::of(arg) == Kind::Switch && matches.get_flag(id);
        let values = if Kind::of(arg) == Kind::Switch { Vec::new() } else { known.unwrap_or_else(raw) };
        let given = matches.value_source(id) == Some(ValueSource::CommandLine);
        (given, Setting { key, arg, values, on })
    };
    let all: Vec<_> = keys(train).map(setting).collect();
    let mut said: Vec<OsString> = ["fori", "train"].map(OsString::from).into();
    said.extend(all.iter().filter(|(given, _)| *given).flat_map(|(_, setting)| setting.args()));
    let goes = |setting: &Setting<'_>| {
        let with: Vec<_> = said.iter().cloned().chain(setting.args()).collect();
        !setting.values.is_empty() && super::super::possible(&with)
    };
    let keep = |given, setting: &Setting<'_>| given || Kind::of(setting.arg) == Kind::Switch || goes(setting);
    all.into_iter().filter(|(given, setting)| keep(*given, setting)).map(|(_, setting)| setting).collect()
}

/// What follows from other flags where it is not given.
fn resolved(config: &TrainConfig, executor: &str) -> Vec<(&'static str, String)> {
    let numbers = config.hyper.named().filter(|(name, _)| config.optimizer.reads(name));
    let mut known: Vec<_> = numbers.map(|(name, value)| (name, format!("{value:?}"))).collect();
    known.extend(config.schedule.parameters());
    known.push(("w0", format!("{:?}", config.w0)));
    known.push(("executor", executor.to_owned()));
    if config.task.table().is_some_and(|table| table.validation.is_some()) {
        known.push(("validate_every", config.validate.period(config.steps).to_string()));
    }
    known
}

/// A path that leads to the same file from the folder of the experiment; others stay as they are.
fn portable(value: &OsString, experiment: &Path, setting: &Setting<'_>) -> OsString {
    let is_path = match Kind::of(setting.arg) {
        Kind::Path => true,
        Kind::Place => value.to_str().is_none_or(|text| text.trim().parse::<f64>().is_err()),
        _ => false,
    };
    let here = experiment.parent().is_none_or(|folder| folder.as_os_str().is_empty());
    match std::path::absolute(value) {
        Ok(path) if is_path && !here => path.into_os_string(),
        _ => value.clone(),
    }
}
