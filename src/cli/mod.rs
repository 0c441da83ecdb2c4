//! The command line: flags into configs, results onto the screen. The only module that knows clap.

mod adapters;
mod plan;
mod progress;
mod summary;
mod train;

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::error::Result;

/// Train small neural networks on any GPU through WebGPU, with the whole loop on the device.
#[derive(Debug, Parser)]
#[command(name = "fori", version, max_term_width = 100, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Train a network.
    Train(Box<train::TrainArgs>),
    /// List the adapters of this machine, and which one is taken.
    Adapters(adapters::AdaptersArgs),
    /// Print the train step of a network: its ops, tiles, arenas, and the WGSL.
    Plan(Box<plan::PlanArgs>),
}

/// Parses the command line, runs the command, prints `error: ...` where it fails, and returns the exit code.
pub fn main() -> ExitCode {
    let matches = match Cli::command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => {
            let failed = error.use_stderr();
            // A closed pipe is all that printing can fail of.
            let _ = error.print();
            return ExitCode::from(if failed { 2 } else { 0 });
        }
    };
    let result = Cli::from_arg_matches(&matches).map_err(|e| crate::error::Error::Usage(e.to_string()));
    match result.and_then(|cli| run(&cli)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            progress::complain(&error);
            ExitCode::from(error.exit_code())
        }
    }
}

fn run(cli: &Cli) -> Result<()> {
    match &cli.command {
        Command::Train(args) => train::run(args),
        Command::Adapters(args) => adapters::run(args),
        Command::Plan(args) => plan::run(args),
    }
}

/// Parses by `FromStr`, for clap.
fn parse<T: std::str::FromStr<Err = crate::error::Error>>(text: &str) -> std::result::Result<T, String> {
    text.parse().map_err(|e: crate::error::Error| e.to_string())
}
