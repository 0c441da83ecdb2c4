//! `fori plot`, and the chart of `fori train --plot`.

mod curves;
mod losses;
mod thin;
mod training;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::chart::{self, Labels, Target};
use super::output::say;
use crate::error::{Error, Result};
pub(super) use training::TrainingChart;

/// Arguments of `fori plot`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples:\n  fori plot metrics.csv --out loss.svg\n  fori plot a.csv b.csv c.csv --smooth 0.9 --out compare.png"
)]
pub(super) struct PlotArgs {
    /// Metrics files of `fori train --metrics`, CSV or JSON lines; each is a run.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The picture to write, by the end of its name as SVG or PNG.
    #[arg(long, value_name = "FILE.svg|FILE.png", value_parser = chart::parse_path)]
    out: PathBuf,
    /// The column to draw; validation_COLUMN is drawn beside it where the file has it.
    #[arg(long, value_name = "NAME", default_value = "loss")]
    column: String,
    /// Draw moving averages, whose weight of the past is W, from 0 to less than 1, and the values themselves faintly.
    #[arg(long, value_name = "W", default_value_t = 0.0, value_parser = parse_weight)]
    smooth: f64,
    /// What goes to the right.
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = X::Step)]
    x: X,
    /// Linear instead of logarithmic values.
    #[arg(long)]
    linear: bool,
    /// Logarithmic steps or times.
    #[arg(long)]
    log_x: bool,
    /// Each model of an ensemble as a line of its own, instead of their median and spread.
    #[arg(long)]
    each: bool,
    /// A line above the chart.
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
}

/// What goes to the right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum X {
    /// Steps.
    Step,
    /// Seconds of training.
    Time,
}

fn parse_weight(text: &str) -> std::result::Result<f64, String> {
    let weight = text.trim().parse().ok().filter(|w| (0.0..1.0).contains(w));
    weight.ok_or_else(|| "expected a number from 0 to less than 1, as 0.9".into())
}

/// Draws the chart.
pub(super) fn run(args: &PlotArgs) -> Result<()> {
    let files: Vec<_> = args.files.iter().map(|path| (path.display().to_string(), path.as_path())).collect();
    let target = Target::open("--out", &args.out)?;
    draw(&files, args, &target)
}

fn draw(files: &[(String, &Path)], args: &PlotArgs, target: &Target) -> Result<()> {
    let curves = curves::read(files, args)?;
    if !curves.iter().flat_map(|curve| &curve.places).any(|place| place.middle().is_finite()) {
        let names: Vec<_> = files.iter().map(|(name, _)| name.as_str()).collect();
        return Err(Error::Data(format!(
            "{}: no {} is finite, so there is nothing to draw",
            names.join(", "),
            args.column
        )));
    }
    let scale = if args.linear { "" } else { ", logarithmic" };
    let labels = Labels {
        title: args.title.clone(),
        x: if args.x == X::Time { "seconds".into() } else { "step".into() },
        y: format!("{}{scale}", args.column.replace('_', " ")),
    };
    let (svg, hidden) = losses::draw(&curves, &losses::Frame { labels, log_x: args.log_x, log_y: !args.linear })?;
    if hidden > 0 {
        say(format_args!("note: {hidden} values of 0 or less are not on a logarithmic axis; --linear shows them"));
    }
    target.write_svg(&svg)
}
