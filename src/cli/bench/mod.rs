//! `fori bench`.

mod plot;
mod report;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::chart::{self, Target};
use super::model::{self, DeviceArgs, ModelArgs, PlaceArgs};
use super::output::{print, say};
use super::values;
use crate::bench::{self, BenchConfig, Helper, Observer};
use crate::config::MAX_MODELS;
use crate::error::Result;
use crate::interrupt;
use report::Heading;

/// Arguments of `fori bench`.
#[derive(Debug, Args)]
#[command(
    after_help = "The rows of the table take turns: one submission per op, one per step, more and more steps per submission, \
                  the loop as one kernel, an ensemble, and the processor. Only rows of one table can be compared.\n\n\
                  Examples:\n  fori bench\n  fori bench --hidden 32,32 --markdown --plot speed.svg"
)]
pub(super) struct BenchArgs {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    place: PlaceArgs,
    /// Models of the ensemble row. Default: 128 on a GPU, twice the processor cores and at most 64 on a software adapter.
    #[arg(long, value_name = "N", value_parser = values::whole::<usize>(1..=MAX_MODELS as u64), help_heading = "Measuring")]
    bench_models: Option<usize>,
    /// Rounds in which the rows take turns; the table has their medians.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = values::whole::<usize>(1..=10_000), help_heading = "Measuring")]
    rounds: usize,
    /// Time of each row in each round, in seconds.
    #[arg(long, value_name = "S", default_value_t = 0.5, value_parser = parse_seconds, help_heading = "Measuring")]
    seconds: f64,
    /// Print one JSON object on stdout.
    #[arg(long, conflicts_with = "markdown", help_heading = "Output")]
    json: bool,
    /// Print the table as Markdown.
    #[arg(long, help_heading = "Output")]
    markdown: bool,
    /// Also draw the table as a bar chart.
    #[arg(long, value_name = "FILE.svg|FILE.png", value_parser = chart::parse_path, help_heading = "Output")]
    plot: Option<PathBuf>,
    /// Print nothing but the results, warnings and errors.
    #[arg(long, short, help_heading = "Output")]
    quiet: bool,
    /// Run the ensemble row alone, as another process asks on standard input.
    #[arg(long, hide = true)]
    only_ensemble: bool,
}

fn parse_seconds(text: &str) -> std::result::Result<f64, String> {
    let seconds = text.parse().ok().filter(|s| (1e-3..=3600.0).contains(s));
    seconds.ok_or_else(|| "expected a number of seconds from 0.001 to 3600".into())
}

/// Measures, and prints the table.
pub(super) fn run(args: &BenchArgs) -> Result<()> {
    let config = BenchConfig {
        train: model::config(&args.model, &DeviceArgs::anyhow(&args.place), 1),
        rounds: args.rounds,
        turn: Duration::from_secs_f64(args.seconds),
        models: args.bench_models,
        helper: helper(),
    };
    args.model.check(&config.train)?;
    if args.only_ensemble {
        return bench::serve(&config, std::io::stdin().lock(), std::io::stdout().lock());
    }
    let target = args.plot.as_deref().map(|path| Target::open("--plot", path)).transpose()?;
    let mut console = Console { quiet: args.quiet };
    let stop = interrupt::flag()?;
    let bench = bench::run(&config, stop, &mut console).map_err(|e| model::name_flag(e, &config.train))?;
    let heading = Heading::of(&config, &bench);
    if args.json {
        print(report::json(&heading, &bench))?;
    } else if args.markdown {
        print(report::markdown(&heading, &bench))?;
    } else {
        print(report::text(&heading, &bench))?;
    }
    target.map_or(Ok(()), |target| target.write_svg(&plot::chart(&heading, &bench)?))
}

/// This program with the same arguments, to run the ensemble.
fn helper() -> Option<Helper> {
    let program = std::env::current_exe().ok()?;
    let arguments = std::env::args_os().skip(1).chain(["--only-ensemble".into()]).collect();
    Some(Helper { program, arguments })
}

/// Tells of the progress on stderr.
struct Console {
    quiet: bool,
}

impl Observer for Console {
    fn prepared(&mut self, name: &str, first_step: std::result::Result<f64, &str>) {
        match first_step {
            _ if self.quiet => {}
            Ok(seconds) => say(format_args!("{name}: first step after {seconds:.2} s")),
            Err(reason) => say(format_args!("{name}: {reason}")),
        }
    }

    fn round(&mut self, round: usize, of: usize) {
        if !self.quiet {
            say(format_args!("round {round} of {of}"));
        }
    }

    fn notice(&mut self, text: &str) {
        say(format_args!("note: {text}"));
    }
}
