//! `fori evaluate`.

use std::path::PathBuf;

use clap::Args;

use super::output::print;
use super::predict::TableArgs;
use super::which::{self, WhichArgs};
use crate::checkpoint::Checkpoint;
use crate::data::count;
use crate::error::{Error, Result};
use crate::evaluate::{Confusion, Evaluation, evaluate};
use crate::network::Predictor;
use crate::score::Scores;

/// Compare the predictions of a trained network with the targets of a table.
///
/// The columns are found by their names, in any order. Of numbers it tells the loss in the units of training, and mean
/// absolute error, root mean squared error and R2 in those of the table; of labels and classes accuracy, balanced accuracy,
/// F1, area under the ROC curve, the log loss of classes, and which classes were taken for which.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  fori evaluate run.safetensors --data test.csv\n  \
        fori evaluate run.safetensors --data test.csv --ensemble mean --json")]
pub(super) struct EvaluateArgs {
    /// The checkpoint of a run.
    checkpoint: PathBuf,
    #[command(flatten)]
    table: TableArgs,
    #[command(flatten)]
    which: WhichArgs,
    /// Print one JSON object on stdout.
    #[arg(long)]
    json: bool,
}

/// Evaluates, and prints the result.
pub(super) fn run(args: &EvaluateArgs) -> Result<()> {
    let checkpoint = Checkpoint::read(&args.checkpoint)?;
    let named = which::name_checkpoint(&args.checkpoint);
    let predictor = Predictor::of(&checkpoint, args.which.which()).map_err(&named)?;
    let config = checkpoint.experiment.config(args.checkpoint.clone()).map_err(&named)?;
    let frame = args.table.read()?;
    let table = predictor.schema().apply(&frame)?;
    if table.targets.is_empty() {
        let missing = table.target_names.iter().filter(|name| frame.column(name).is_none());
        let missing: Vec<_> = missing.map(|name| format!("{name:?}")).collect();
        return Err(Error::Data(format!(
            "--data {}: it lacks the target {}, which predictions are compared with; `fori predict` needs none",
            args.table.data.display(),
            missing.join(", ")
        )));
    }
    let evaluation = evaluate(&predictor, &table, config.loss, config.label_smoothing);
    if args.json {
        let mut value = serde_json::to_value(&evaluation).map_err(|e| Error::io("stdout", e.into()))?;
        value["models"] = predictor.models.clone().into();
        value["step"] = checkpoint.step().into();
        return print(value);
    }
    let what = which::text(&predictor.models, which::models(&checkpoint));
    print(format_args!(
        "{} of {}, by {what} at step {}",
        count(table.rows, "row"),
        args.table.data.display(),
        checkpoint.step()
    ))?;
    print_scores(&evaluation)?;
    evaluation.confusion.iter().try_for_each(print_confusion)
}

/// The metrics, a column for each target.
fn print_scores(evaluation: &Evaluation) -> Result<()> {
    let several = !evaluation.targets.is_empty();
    let columns: Vec<(String, &Scores)> = if several {
        let mean = ("mean".to_owned(), &evaluation.metrics);
        evaluation.targets.iter().map(|part| (shown(&part.target), &part.metrics)).chain([mean]).collect()
    } else {
        vec![(String::new(), &evaluation.metrics)]
    };
    if several {
        let names: String = columns.iter().map(|(name, _)| format!(" {name:>14}")).collect();
        print(format_args!("{:<18}{names}", ""))?;
    }
    for (row, (metric, _)) in evaluation.metrics.named().iter().enumerate() {
        let values = columns.iter().map(|(_, scores)| format!(" {:>14}", number(scores.named()[row].1)));
        print(format_args!("{:<18}{}", metric.replace('_', " "), values.collect::<String>()))?;
    }
    Ok(())
}

/// The matrix, unless it is too large to be read.
fn print_confusion(confusion: &Confusion) -> Result<()> {
    let Confusion { target, classes, counts } = confusion;
    if classes.len() > 20 {
        return print(format_args!(
            "\n{}: {} classes; --json has which were taken for which",
            shown(target),
            classes.len()
        ));
    }
    let names: Vec<_> = classes.iter().map(|class| shown(class)).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(7);
    print(format_args!("\n{}: rows by class (down) and by prediction (across)", shown(target)))?;
    let cells = |cells: Vec<String>| cells.iter().map(|cell| format!(" {cell:>width$}")).collect::<String>();
    print(format_args!("{:>width$}{}", "", cells(names.clone())))?;
    names.iter().zip(counts).try_for_each(|(name, counts)| {
        print(format_args!("{name:>width$}{}", cells(counts.iter().map(ToString::to_string).collect())))
    })
}

/// A name of a file: short, and without control characters.
fn shown(name: &str) -> String {
    name.chars().take(14).flat_map(char::escape_debug).collect()
}

/// Six digits.
fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || (1e-4..1e6).contains(&size) || !size.is_finite() {
        format!("{value:.6}")
    } else {
        format!("{value:.5e}")
    }
}
