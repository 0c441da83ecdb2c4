//! `fori data`.

use std::path::PathBuf;

use clap::Args;

use super::output::print;
use crate::data::{Contents, Description, read_frame};
use crate::error::Result;

/// Arguments of `fori data`.
#[derive(Debug, Args)]
#[command(
    after_help = "The table is read as `fori train --data` reads it; nothing is trained.\n\nExample:\n  fori data table.csv"
)]
pub(super) struct DescribeArgs {
    /// The table, in any format of fori train --data.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Labels of the images of an IDX file.
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    /// Print one JSON object on stdout.
    #[arg(long)]
    json: bool,
}

/// Prints what is in each column of a table.
pub(super) fn run(args: &DescribeArgs) -> Result<()> {
    let frame = read_frame(&args.file, args.labels.as_deref())?;
    let columns = frame.describe();
    if args.json {
        let value = serde_json::json!({ "rows": frame.rows(), "columns": columns });
        return print(value);
    }
    print(format_args!("{} rows, {} columns\n", frame.rows(), columns.len()))?;
    // Of a long name, the end of its line moves.
    let width = columns.iter().map(|column| shown(&column.name).chars().count()).max().unwrap_or(0).clamp(6, 30);
    print(format_args!("{:<width$} {:<8} {:>8} {:>10}  values", "column", "kind", "missing", "different"))?;
    columns.iter().try_for_each(|column| print(line(column, width)))
}

fn line(column: &Description, width: usize) -> String {
    let (kind, values) = match &column.contents {
        Contents::Numbers { min, max, mean, std } => {
            ("numbers", format!("{} to {}, mean {}, deviation {}", text(*min), text(*max), text(*mean), text(*std)))
        }
        Contents::Texts { most } => {
            let listed: Vec<_> = most.iter().map(|(text, count)| format!("{} ({count})", shown(text))).collect();
            let more = if column.distinct > most.len() { ", ..." } else { "" };
            ("texts", listed.join(", ") + more)
        }
    };
    let (name, missing, distinct) = (shown(&column.name), column.missing, column.distinct);
    format!("{name:<width$} {kind:<8} {missing:>8} {distinct:>10}  {values}")
}

/// A number in six digits.
fn text(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e7).contains(&size) && size.is_finite() {
        return format!("{value:.5e}");
    }
    let text = format!("{value:.5}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A text of the file in one line.
fn shown(text: &str) -> String {
    text.chars().take(40).flat_map(char::escape_debug).collect()
}
