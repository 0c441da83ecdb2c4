//! `fori predict`.

use std::path::{Path, PathBuf};

use clap::Args;

use super::output::{print_bytes, say};
use super::which::{self, WhichArgs};
use crate::checkpoint::Checkpoint;
use crate::data::{Dataset, Frame, read_frame};
use crate::error::{Error, Result};
use crate::export::answers;
use crate::files;
use crate::network::Predictor;

/// Predict the rows of a table with a trained network, in the order of the table.
///
/// The columns are found by their names, in any order; columns that the network does not read are ignored, the target
/// among them. Numbers are predicted in the units of the table the network was trained on, one column for each target.
/// Of a label, NAME is the more probable one and `probability` that of 1, or of the second of two texts in alphabetical
/// order (of several labels `probability(NAME)`). Of classes, NAME is the most probable one and each `p(CLASS)` its
/// probability. With --ensemble mean there is also the standard deviation of the models' answers, `std(...)`.
///
/// A file FILE.npy is an array of 64-bit floats with the columns of numbers and probabilities alone, which are followed
/// by those of the standard deviations.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  fori predict run.safetensors --data new.csv --out predicted.csv\n  \
        fori predict run.safetensors --data new.csv | head")]
pub(super) struct PredictArgs {
    /// The checkpoint of a run.
    checkpoint: PathBuf,
    #[command(flatten)]
    table: TableArgs,
    /// Where the predictions are written, as FILE.csv or FILE.npy; without it, on stdout as CSV.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    which: WhichArgs,
}

/// The table that a trained network is applied to.
#[derive(Debug, Args)]
pub(super) struct TableArgs {
    /// The table, in any format that `fori train --data` reads.
    #[arg(long, value_name = "FILE")]
    pub(super) data: PathBuf,
    /// The labels that go with images in an IDX file.
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
}

impl TableArgs {
    /// Reads it.
    pub(super) fn read(&self) -> Result<Frame> {
        read_frame(&self.data, self.labels.as_deref()).map_err(|error| match error {
            Error::Io { path, source } => Error::Data(format!("--data {}: {source}; expected a table", path.display())),
            other => other,
        })
    }
}

/// Predicts, and writes the predictions.
pub(super) fn run(args: &PredictArgs) -> Result<()> {
    let npy = args.out.as_deref().map_or(Ok(false), is_npy)?;
    let checkpoint = Checkpoint::read(&args.checkpoint)?;
    let named = which::name_checkpoint(&args.checkpoint);
    let predictor = Predictor::of(&checkpoint, args.which.which()).map_err(named)?;
    if let Some(out) = &args.out {
        which::refuse_overwriting("--out", out, &[&args.checkpoint, &args.table.data])?;
    }
    let Dataset { rows, features, .. } = predictor.schema().apply_inputs(&args.table.read()?)?;
    let predictions = predictor.predict(&features);
    let bytes = if npy { answers::npy(&predictions, rows) } else { answers::csv(predictor.schema(), &predictions)? };
    let Some(out) = &args.out else { return print_bytes(&bytes) };
    files::replace("--out", out, &bytes)?;
    let what = which::text(&predictor.models, which::models(&checkpoint));
    say(format_args!("wrote predictions of {rows} rows by {what} into {}", out.display()));
    Ok(())
}

/// Whether a file is to be an array of NumPy; it is CSV else.
fn is_npy(out: &Path) -> Result<bool> {
    let extension = out.extension().map_or(String::new(), |e| e.to_string_lossy().to_lowercase());
    match extension.as_str() {
        "npy" => Ok(true),
        "csv" => Ok(false),
        _ if out.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir()) => Ok(false),
        _ => Err(Error::Usage(format!("--out {}: expected a name that ends with .csv or .npy", out.display()))),
    }
}
