//! The command line: flags into configs, results onto the screen. The only module that knows clap.

mod adapters;
mod bench;
mod chart;
mod data;
mod describe;
mod doctor;
mod evaluate;
mod events;
mod experiment;
mod export;
mod import;
mod inspect;
mod layers;
mod live;
mod model;
mod optimizer;
mod output;
mod plan;
mod plot;
mod predict;
mod progress;
mod records;
mod resume;
mod schedule;
mod shell;
mod summary;
mod train;
mod tune;
mod validate;
mod values;
mod web;
mod which;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, parser::ValueSource};

use crate::error::{Error, Result};
use resume::Given;

/// Train small neural networks on any GPU through WebGPU, with the whole loop on the device.
#[derive(Debug, Parser)]
#[command(
    name = "fori",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = "Results go to stdout, all else to stderr. Exit codes: 0 done, 1 failed, 2 usage, 3 diverged, 130 interrupted.\n\n\
                  Examples:\n  fori train\n  \
                  fori train --data table.csv --target price --validation 0.2 --checkpoint run.safetensors\n  \
                  fori predict run.safetensors --data new.csv --out predicted.csv\n  fori COMMAND --help"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Train a network.
    Train(Box<train::TrainArgs>),
    /// Measure how fast each way of running the train step is on this machine.
    Bench(Box<bench::BenchArgs>),
    /// List the adapters of this machine, and which one is taken.
    Adapters(adapters::AdaptersArgs),
    Plot(Box<plot::PlotArgs>),
    /// Check that an adapter computes correctly; attach what it prints to a report of a fault.
    Doctor(doctor::DoctorArgs),
    /// Find the fastest way to train a network on an adapter, and keep it for `fori train`.
    Tune(Box<tune::TuneArgs>),
    /// Show what is in the columns of a table: kinds, ranges, categories, missing values.
    Data(describe::DescribeArgs),
    Evaluate(Box<evaluate::EvaluateArgs>),
    Predict(Box<predict::PredictArgs>),
    Inspect(inspect::InspectArgs),
    Export(Box<export::ExportArgs>),
    Import(Box<import::ImportArgs>),
    /// Write a page that trains a network in the browser, with the same kernels.
    Web(Box<web::WebArgs>),
    /// Print the train step of a network: its ops, tiles, arenas, and the WGSL.
    Plan(Box<plan::PlanArgs>),
    /// Print the completions of a shell.
    Completions(shell::CompletionsArgs),
    /// Print the manual pages.
    Man(shell::ManArgs),
}

/// Parses the command line, runs the command, prints `error: ...` where it fails, and returns the exit code.
pub fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().collect();
    let (all, experiment) = match experiment::expand(&args, &command()) {
        Ok(expanded) => expanded,
        Err(error) => return failed(&error),
    };
    let matches = match command().try_get_matches_from(all) {
        Ok(matches) => matches,
        Err(error) => {
            let with = |entries: &[_]| command().try_get_matches_from(experiment::join(&args, entries)).err();
            if let Some(error) = experiment.and_then(|experiment| experiment.explain(&error, with)) {
                return failed(&error);
            }
            let failed = error.use_stderr();
            // A closed pipe is all that printing can fail of.
            let _ = error.print();
            return ExitCode::from(if failed { 2 } else { 0 });
        }
    };
    let parsed = Cli::from_arg_matches(&matches).map_err(|e| Error::Usage(e.to_string()));
    match refuse(&matches).and(parsed).and_then(|cli| run(&cli, &matches)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&experiment.iter().fold(error, |error, experiment| experiment.translate(error))),
    }
}

fn failed(error: &Error) -> ExitCode {
    progress::complain(error);
    ExitCode::from(error.exit_code())
}

/// The flags. A value may begin with a minus sign, so that the message about it says what was expected.
fn command() -> clap::Command {
    Cli::command().mut_subcommands(|command| {
        command.mut_args(|arg| {
            let takes_value = arg.get_action().takes_values();
            arg.allow_negative_numbers(takes_value)
        })
    })
}

fn run(cli: &Cli, matches: &ArgMatches) -> Result<()> {
    match &cli.command {
        Command::Train(args) => matches.subcommand().map_or(Ok(()), |(_, matches)| train::run(args, matches)),
        Command::Bench(args) => bench::run(args),
        Command::Adapters(args) => adapters::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Tune(args) => tune::run(args),
        Command::Data(args) => describe::run(args),
        Command::Evaluate(args) => evaluate::run(args),
        Command::Predict(args) => predict::run(args),
        Command::Inspect(args) => inspect::run(args),
        Command::Export(args) => export::run(args),
        Command::Import(args) => import::run(args),
        Command::Web(args) => web::run(args),
        Command::Plan(args) => plan::run(args),
        Command::Plot(args) => matches.subcommand().map_or(Ok(()), |(_, matches)| plot::run(args, matches)),
        Command::Completions(args) => shell::completions(args),
        Command::Man(args) => shell::man(args),
    }
}

/// Fails where flags contradict each other in a way that clap does not know.
fn refuse(matches: &ArgMatches) -> Result<()> {
    let given = matches.subcommand().map_or_else(Given::default, |(_, matches)| Given::of(matches));
    let encoding = matches.subcommand().and_then(|(_, m)| m.try_get_one::<String>("encoding").ok().flatten());
    let categorical = matches.subcommand().and_then(|(_, m)| m.try_get_one("categorical").ok().flatten().copied());
    data::check(categorical, &given)?;
    refuse_swept_flags(matches).and_then(|()| layers::check(encoding.map(String::as_str), &given))
}

/// Whether arguments can be said together.
fn possible(args: &[OsString]) -> bool {
    command().try_get_matches_from(args).is_ok_and(|matches| refuse(&matches).is_ok())
}

/// Fails where a hyperparameter is both swept and set by its own flag.
fn refuse_swept_flags(matches: &ArgMatches) -> Result<()> {
    let Some((_, matches)) = matches.subcommand() else { return Ok(()) };
    let swept = matches.try_get_many::<(String, Vec<f64>)>("sweep").ok().flatten();
    let set = |name: &str| {
        let known = matches.try_contains_id(name).unwrap_or(false);
        known && matches.value_source(name) == Some(ValueSource::CommandLine)
    };
    match swept.into_iter().flatten().find(|(name, _)| set(name)) {
        Some((name, _)) => Err(Error::Usage(format!(
            "--{} and --sweep {name}=... contradict each other: leave one of them out",
            name.replace('_', "-")
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::TrainConfig;

    #[test]
    fn flags_left_out_give_the_defaults_of_the_library() {
        command().debug_assert();
        let matches = command().try_get_matches_from(["fori", "train"]).expect("no flag is required");
        let cli = Cli::from_arg_matches(&matches).expect("the flags fit their struct");
        let Command::Train(args) = &cli.command else { panic!("expected train, got {cli:?}") };
        assert_eq!(args.config().expect("the defaults are possible"), TrainConfig::default(), "config of `fori train`");
    }

    #[test]
    fn every_command_has_an_example_and_every_flag_a_sentence() {
        let mut fori = command();
        fori.build();
        for command in fori.get_subcommands().filter(|command| command.get_name() != "help") {
            let name = command.get_name();
            let help = command.clone().render_long_help().to_string();
            let (_, examples) = help.split_once("Example").unwrap_or_else(|| panic!("{name} --help has no example"));
            assert!(examples.contains(&format!("\n  fori {name}")), "the example of {name}: {examples}");
            // A longer line is broken by the terminal, and no command any more.
            let longest = examples.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            assert!(longest < 100, "an example of {name} has {longest} characters: {examples}");
            for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
                let text = arg.get_help().map(ToString::to_string).unwrap_or_default();
                let (first, last) = (text.chars().next(), text.chars().last());
                let begins = first.is_some_and(char::is_uppercase);
                // clap takes the period away.
                let ends = last.is_some_and(|c| c.is_alphanumeric() || ")]`\"".contains(c));
                let words = text.split_whitespace().count();
                assert!(begins && ends && words >= 2, "{name} --{} says {text:?}", arg.get_id());
            }
        }
    }
}
