//! `fori tune`.

use clap::Args;

use super::model::{self, DeviceArgs, ModelArgs};
use super::output::print;
use super::progress;
use crate::error::{Error, Result};
use crate::trainer;
use crate::tune;

/// Arguments of `fori tune`.
#[derive(Debug, Args)]
#[command(
    after_help = "It times each executor with each variant of the kernels, finds its steps per submission, prints all by their \
                  speed, and keeps the fastest in the cache of the user: by adapter, driver, network, batch size, models and submit budget.\n\n\
                  Example:\n  fori tune --hidden 128,128 --batch-size 256"
)]
pub(super) struct TuneArgs {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    device: DeviceArgs,
    /// Print one JSON object on stdout.
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// Times every way of running the network, prints them, and keeps the fastest for `fori train`.
pub(super) fn run(args: &TuneArgs) -> Result<()> {
    let config = model::config(&args.model, &args.device, 1);
    args.model.check(&config)?;
    let mut notices = progress::Notices;
    let (key, found) = trainer::tune(&config, &mut notices).map_err(|e| model::name_flag(e, &config))?;
    let path = tune::cache_path();
    if let Some(path) = &path {
        tune::store(path, &key, found.best)?;
    }
    if args.json {
        let value = serde_json::json!({
            "best": found.best, "trials": found.trials, "submissions": found.submissions, "key": key, "cache": path,
        });
        return print(value);
    }
    print(format!("{:<12} {:<14} {:>12}", "executor", "kernels", "µs per step"))?;
    for trial in &found.trials {
        let reason = || format!("cannot run: {}", trial.reason.as_deref().unwrap_or_default());
        let result = trial.us_per_step.map_or_else(reason, |us| format!("{us:>12.1}"));
        print(format!("{:<12} {:<14} {result}", trial.executor, trial.kernels))?;
    }
    print(format!("\n{:<27} {:>12}", "steps per submission", "µs per step"))?;
    for (steps, us) in &found.submissions {
        print(format!("{steps:<27} {us:>12.1}"))?;
    }
    match path {
        Some(path) => print(format!("kept in {}; `fori train` uses it for this network", path.display())),
        None => Err(Error::Usage("this system has no cache folder to keep the result in: set XDG_CACHE_HOME".into())),
    }
}
