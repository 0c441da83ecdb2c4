//! Experiment files: what the flags of `fori train` say, as TOML.
//!
//! A key is the name of a flag with underscores. The entries of a file become arguments before those of the command line, so that
//! flags and keys have one grammar and one check; an entry whose flag is given too is left out.

mod explain;
mod kind;
mod save;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::{ArgMatches, Command, parser::ValueSource};
use toml::de::{DeTable, DeValue};

use crate::data::closest;
use crate::error::{Error, Result};
use kind::Kind;
pub(super) use save::save;

/// Flags that are no keys: of the file itself, and of another run than the one that it describes.
const NOT_KEYS: [&str; 4] = ["help", "save-experiment", "resume", "override"];

/// A key of a file.
#[derive(Debug)]
struct Entry {
    key: String,
    line: usize,
    /// Its value as it stands in the file.
    shown: String,
    /// What it stands for on the command line; none for a switch that is off.
    args: Vec<OsString>,
}

/// An experiment file that was read.
#[derive(Debug)]
pub(super) struct Experiment {
    path: PathBuf,
    entries: Vec<Entry>,
}

/// The arguments of a process with those of the experiment file that they name, if they name one.
///
/// # Errors
/// [`Error::Usage`] with file, line and key.
pub(super) fn expand(args: &[OsString], command: &Command) -> Result<(Vec<OsString>, Option<Experiment>)> {
    let unchanged = Ok((args.to_vec(), None));
    // What the command line lacks may be in the file.
    let Ok(matches) = command.clone().ignore_errors(true).try_get_matches_from(args) else { return unchanged };
    let Some(("train", matches)) = matches.subcommand() else { return unchanged };
    let Some(path) = matches.get_one::<PathBuf>("experiment") else { return unchanged };
    let Some(train) = command.find_subcommand("train") else { return unchanged };
    let text = std::fs::read_to_string(path).map_err(|e| {
        Error::Usage(format!("{}: {e}; expected an experiment file in TOML, as hidden = [64, 64]", path.display()))
    })?;
    let mut experiment = Experiment { path: path.clone(), entries: Vec::new() };
    experiment.entries = experiment.parse(&text, train)?;
    experiment.yield_to(matches);
    let entries: Vec<_> = experiment.entries.iter().flat_map(|entry| entry.args.clone()).collect();
    Ok((join(args, &entries), Some(experiment)))
}

/// The arguments of a process with those of entries before its own.
pub(super) fn join(args: &[OsString], entries: &[OsString]) -> Vec<OsString> {
    let place = args.iter().position(|arg| arg == "train").map_or(args.len(), |at| at + 1);
    args[..place].iter().chain(entries).chain(&args[place..]).cloned().collect()
}

/// The keys of a file, and the flags that they stand for.
fn keys(train: &Command) -> impl Iterator<Item = (String, &clap::Arg)> {
    let named = train.get_arguments().filter_map(|arg| Some((arg.get_long()?, arg)));
    named.filter(|(long, _)| !NOT_KEYS.contains(long)).map(|(long, arg)| (long.replace('-', "_"), arg))
}

impl Experiment {
    /// The entries of a text, in its order.
    fn parse(&self, text: &str, train: &Command) -> Result<Vec<Entry>> {
        let table = DeTable::parse(text).map_err(|e| {
            let why = e.message().replace('\n', ", ");
            self.error(line(text, e.span().map_or(0, |span| span.start)), &format!("this is no TOML: {why}"))
        })?;
        let mut found: Vec<_> = table.get_ref().iter().collect();
        found.sort_by_key(|(key, _)| key.span().start);
        found.into_iter().map(|(key, value)| self.entry(text, train, (key.get_ref(), key.span()), value)).collect()
    }

    fn entry(
        &self,
        text: &str,
        train: &Command,
        (key, place): (&str, Range<usize>),
        value: &toml::Spanned<DeValue<'_>>,
    ) -> Result<Entry> {
        let line = line(text, place.start);
        let Some((key, arg)) = keys(train).find(|(name, _)| name == key) else {
            return Err(self.error(line, &unknown(key, train)));
        };
        let shown = shown(text.get(value.span()).unwrap_or_default());
        let flag = format!("--{}", key.replace('_', "-"));
        let words = Kind::of(arg).words(value.get_ref(), self.folder()).map_err(|expected| {
            // The place of a table is its header.
            let found = if value.get_ref().is_table() { "a table".into() } else { shown.clone() };
            self.error(line, &format!("{key} = {found}: expected {expected}"))
        })?;
        let argument = |word: Option<OsString>| {
            let mut argument = OsString::from(&flag);
            if let Some(word) = word {
                argument.push("=");
                argument.push(word);
            }
            argument
        };
        Ok(Entry { key, line, shown, args: words.into_iter().map(argument).collect() })
    }

    /// Where relative paths begin.
    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    /// Leaves out what the command line says otherwise.
    fn yield_to(&mut self, matches: &ArgMatches) {
        let ids = matches.ids().filter(|id| matches.value_source(id.as_str()) == Some(ValueSource::CommandLine));
        // An id may differ from the name of its flag only among those that are no keys.
        let given: Vec<_> = ids.map(|id| id.as_str()).collect();
        let swept = matches.try_get_many::<(String, Vec<f64>)>("sweep").ok().flatten();
        let swept: Vec<_> = swept.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
        self.entries.retain(|entry| !given.contains(&&*entry.key) && !swept.contains(&&*entry.key));
        for entry in self.entries.iter_mut().filter(|entry| entry.key == "sweep") {
            let name = |arg: &OsString| arg.to_str()?.strip_prefix("--sweep=")?.split('=').next().map(str::to_owned);
            entry
                .args
                .retain(|arg| !name(arg).is_some_and(|name| given.contains(&name.trim().replace('-', "_").as_str())));
        }
    }

    fn error(&self, line: usize, text: &str) -> Error {
        Error::Usage(format!("{}, line {line}: {text}", self.path.display()))
    }
}

/// What is said of a key that there is not.
fn unknown(key: &str, train: &Command) -> String {
    let long = key.replace('_', "-");
    if NOT_KEYS.contains(&long.as_str()) {
        return format!("{key:?} cannot be in an experiment file: give --{long} on the command line");
    }
    let names: Vec<_> = keys(train).map(|(name, _)| name).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let hint = match closest(&names, &key.replace('-', "_")) {
        Some(name) => format!("did you mean {name:?}?"),
        None => "expected the name of a flag of `fori train`, with underscores".into(),
    };
    format!("unknown key {key:?}: {hint}")
}

/// The line of a byte, counted from 1.
fn line(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|&byte| byte == b'\n').count()
}

/// A value in a message: in one line, not too long.
fn shown(value: &str) -> String {
    let words: Vec<_> = value.split_whitespace().collect();
    let text = words.join(" ");
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
