//! `fori web`.

use std::path::PathBuf;

use clap::Args;

use super::model::{DeviceArgs, ModelArgs, PlaceArgs, config, name_flag};
use super::output::print;
use super::schedule::ScheduleArgs;
use super::{values, which};
use crate::config::TrainConfig;
use crate::error::Result;
use crate::{files, web};

/// Arguments of `fori web`.
#[derive(Debug, Args)]
#[command(
    after_help = "The page has start, pause, the losses, a picture of what is learned where there are one or two inputs, and the weights as \
                  safetensors. The rows that are trained on become part of it. `fori export --format web` makes a page of a checkpoint.\
                  \n\nExamples:\n  fori web --out page.html\n  fori web --image photo.png --hidden 64,64 --activation sin --out photo.html"
)]
pub(super) struct WebArgs {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    schedule: ScheduleArgs,
    /// Steps (parameter updates) that the page trains.
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = values::whole::<u64>(1..=web::MAX_STEPS), help_heading = "Training")]
    steps: u64,
    /// The page: one HTML file that needs nothing else.
    #[arg(long, value_name = "FILE.html", help_heading = "Output")]
    out: PathBuf,
    #[command(flatten)]
    place: PlaceArgs,
}

/// Writes the page.
pub(super) fn run(args: &WebArgs) -> Result<()> {
    let config = config(&args.model, &DeviceArgs::anyhow(&args.place), args.steps);
    args.model.check(&config)?;
    let config = TrainConfig { schedule: args.schedule.schedule(config.updates())?, ..config };
    let page = web::page(&config).map_err(|error| name_flag(error, &config))?;
    which::refuse_overwriting_data("--out", &args.out, &config)?;
    files::replace("--out", &args.out, page.as_bytes())?;
    print(format_args!("open {} in a browser with WebGPU", args.out.display()))
}
