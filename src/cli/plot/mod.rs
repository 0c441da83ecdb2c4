//! `fori plot`: the losses of runs, and what a network has learned; the chart of `fori train --plot`.

mod curves;
mod learned;
mod losses;
mod thin;
mod training;

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::{ArgMatches, Args, ValueEnum};

use super::chart::{self, Labels, Target};
use super::output::say;
use super::resume::Given;
use crate::error::{Error, Result};
use learned::LearnedArgs;
pub(super) use training::TrainingChart;

/// Draw the losses of runs, or what a network has learned.
///
/// Of metrics files the losses are drawn, each file a run. Of a checkpoint, what its network has learned: an image beside the
/// original; the curve over one input; the classes or the number over two inputs; which classes were taken for which; or the
/// predicted numbers over the true ones.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  fori plot metrics.csv --out loss.svg\n  \
        fori plot a.csv b.csv c.csv --smooth 0.9 --out compare.png\n  \
        fori plot run.safetensors --out learned.svg\n  \
        fori plot run.safetensors --data test.csv --kind confusion --out confusion.png")]
pub(super) struct PlotArgs {
    /// Metrics files of `fori train --metrics`, CSV or JSON lines, each a run; or one checkpoint.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The picture to write, by the end of its name as SVG or PNG.
    #[arg(long, value_name = "FILE.svg|FILE.png", value_parser = chart::parse_path)]
    out: PathBuf,
    /// A line above the chart.
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    #[command(flatten)]
    losses: LossArgs,
    #[command(flatten)]
    learned: LearnedArgs,
}

/// How losses are drawn.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Losses of runs")]
struct LossArgs {
    /// The column to draw; validation_COLUMN is drawn beside it where the file has it.
    #[arg(long, value_name = "NAME", default_value_t = Self::default().column)]
    column: String,
    /// Draw moving averages, whose weight of the past is W, from 0 to less than 1, and the values themselves faintly.
    #[arg(long, value_name = "W", default_value_t = Self::default().smooth, value_parser = parse_weight)]
    smooth: f64,
    /// What goes to the right.
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Self::default().x)]
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
}

impl Default for LossArgs {
    fn default() -> Self {
        Self { column: "loss".into(), smooth: 0.0, x: X::Step, linear: false, log_x: false, each: false }
    }
}

/// The flags of a group, by their names in clap.
fn flags_of<A: Args>() -> Vec<String> {
    A::augment_args(clap::Command::new("plot")).get_arguments().map(|arg| arg.get_id().to_string()).collect()
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

/// Draws the picture.
pub(super) fn run(args: &PlotArgs, matches: &ArgMatches) -> Result<()> {
    let target = Target::open("--out", &args.out)?;
    let given = Given::of(matches);
    let wrong = |flags: Vec<String>| flags.iter().find(|flag| given.has(flag)).map(|flag| flag.replace('_', "-"));
    let Some(checkpoint) = args.files.iter().find(|path| is_checkpoint(path)) else {
        if let Some(flag) = wrong(flags_of::<LearnedArgs>()).filter(|_| args.files[0].exists()) {
            let text = format!("--{flag} is for a checkpoint, and {} is none", args.files[0].display());
            return Err(Error::Usage(text));
        }
        let files: Vec<_> = args.files.iter().map(|path| (path.display().to_string(), path.as_path())).collect();
        return draw(&files, &args.losses, args.title.as_deref(), &target);
    };
    let path = checkpoint.display();
    if args.files.len() > 1 {
        return Err(Error::Usage(format!("{path} is a checkpoint, which is drawn alone: leave the other files out")));
    }
    if let Some(flag) = wrong(flags_of::<LossArgs>()) {
        return Err(Error::Usage(format!("--{flag} is for metrics files, and {path} is a checkpoint: leave it out")));
    }
    learned::run(checkpoint, &args.learned, args.title.as_deref(), &target)
}

/// Whether a file is one of safetensors: it begins with the length of its header, far below 4 GiB, in 8 bytes, and the header.
fn is_checkpoint(path: &Path) -> bool {
    if path.extension().is_some_and(|extension| extension == "safetensors") {
        return true;
    }
    let mut begin = [0; 9];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut begin));
    read.is_ok() && begin[4..] == *b"\0\0\0\0{"
}

fn draw(files: &[(String, &Path)], args: &LossArgs, title: Option<&str>, target: &Target) -> Result<()> {
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
        title: title.map(Into::into),
        x: if args.x == X::Time { "seconds".into() } else { "step".into() },
        y: format!("{}{scale}", args.column.replace('_', " ")),
    };
    let (svg, hidden) = losses::draw(&curves, &losses::Frame { labels, log_x: args.log_x, log_y: !args.linear })?;
    if hidden > 0 {
        say(format_args!("note: {hidden} values of 0 or less are not on a logarithmic axis; --linear shows them"));
    }
    target.write_svg(&svg)
}
