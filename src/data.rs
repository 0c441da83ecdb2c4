//! Reads a numeric CSV file into the row-major `f32` tables that training uploads.
//!
//! Owns the checks of a table's contents and its standardization; knows nothing of models, batches or devices.
//! Invariant: every value of a [`Dataset`] is finite, so a NaN seen later was made by training.

pub mod schema;
mod standardize;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use csv::{ByteRecord, Reader, ReaderBuilder};

use crate::error::{Error, Result};
pub use standardize::{Standardization, Standardize};

/// How much of a field or name an error repeats, in characters.
const SHOWN_CHARS: usize = 40;
/// How many column names an error lists.
const SHOWN_NAMES: usize = 20;
/// An absent number, as this and other tools write it, in lower case.
const MISSING: [&str; 7] = ["", "na", "n/a", "null", "none", "?", "-"];

/// A numeric table split into features and targets, row-major, ready for upload.
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    /// Number of rows, at least 1.
    pub rows: usize,
    /// Names of the feature columns, in the order of the file.
    pub feature_names: Vec<String>,
    /// Names of the target columns, in the order they were asked for.
    pub target_names: Vec<String>,
    /// Features, shape `(rows, feature_names.len())`, after `feature_scale`.
    pub features: Vec<f32>,
    /// Targets, shape `(rows, target_names.len())`, after `target_scale`.
    pub targets: Vec<f32>,
    /// How the features were standardized; the identity if they were not.
    pub feature_scale: Standardization,
    /// How the targets were standardized; the identity if they were not.
    pub target_scale: Standardization,
}

impl Dataset {
    /// Checks that all targets are labels from 0 to 1; `path` is named where they are not.
    ///
    /// # Errors
    /// [`Error::Data`] with the column and the value.
    pub fn check_labels(&self, path: &Path) -> Result<()> {
        let columns = self.target_names.iter().cycle();
        let bad = self.targets.iter().zip(columns).find(|(value, _)| !(0.0..=1.0).contains(*value));
        bad.map_or(Ok(()), |(value, name)| {
            Err(Error::Data(format!(
                "{}: column {}: expected labels from 0 to 1 for --loss binary_cross_entropy, found {value}; encode the \
                 classes as 0 and 1",
                path.display(),
                shown(name)
            )))
        })
    }
}

/// Reads a numeric CSV file with a header.
///
/// The format is RFC 4180: commas, optional quotes, any line ending, UTF-8 with or without a byte order mark. Blanks
/// around names and numbers are dropped and empty lines skipped. Every column not in `targets` is a feature. What
/// `standardize` names is standardized by its own mean and deviation.
///
/// # Errors
///
/// [`Error::Io`] if the file cannot be read. [`Error::Data`] if the header or `targets` are unusable, a row has too few
/// or too many fields, there is no row, or a value is missing, not a number, or not finite as `f32` in the result. The
/// text names the line (of the file, counted from 1) at which the row starts.
pub fn read_csv(path: &Path, targets: &[String], standardize: impl Into<Standardize>) -> Result<Dataset> {
    let standardize = standardize.into();
    let bytes = fs::read(path).map_err(|e| Error::io(path, e))?;
    let source = Source { path, bytes: bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes) };
    let (table, target_columns) = source.table(targets)?;
    let feature_columns: Vec<usize> = (0..table.names.len()).filter(|c| !target_columns.contains(c)).collect();
    let (features, feature_scale) = source.take(&table, &feature_columns, standardize.features)?;
    let (targets, target_scale) = source.take(&table, &target_columns, standardize.targets)?;
    let pick = |columns: &[usize]| columns.iter().map(|&c| table.names[c].clone()).collect();
    let (feature_names, target_names) = (pick(&feature_columns), pick(&target_columns));
    let rows = table.starts.len();
    Ok(Dataset { rows, feature_names, target_names, features, targets, feature_scale, target_scale })
}

/// The parsed file, before features and targets are told apart.
struct Table {
    names: Vec<String>,
    /// Shape `(rows, names.len())`.
    values: Vec<f64>,
    /// Where each row starts, as [`Source::line`] takes it.
    starts: Vec<u64>,
}

/// The file being read, which every error names.
struct Source<'a> {
    path: &'a Path,
    bytes: &'a [u8],
}

impl Source<'_> {
    /// Parses the file and finds the columns of `targets`.
    fn table(&self, targets: &[String]) -> Result<(Table, Vec<usize>)> {
        let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(self.bytes);
        let mut record = ByteRecord::new();
        let empty = || self.error(0, "the file is empty; expected a header and rows of numbers");
        let start = self.next(&mut reader, &mut record)?.ok_or_else(empty)?;
        let names = names_of(&record).map_err(|text| self.error(start, text))?;
        let target_columns = find_targets(&names, targets).map_err(|text| self.error(start, text))?;
        let mut table = Table { names, values: Vec::new(), starts: Vec::new() };
        while let Some(start) = self.next(&mut reader, &mut record)? {
            let (found, expected) = (record.len(), table.names.len());
            if found != expected {
                let text = format!("expected {expected} fields, found {found}; look for a stray comma or open quote");
                return Err(self.error(start, text));
            }
            for (field, name) in record.iter().zip(&table.names) {
                let error = |text| self.error(start, format!("column {}: {text}", shown(name)));
                table.values.push(number_of(field).map_err(error)?);
            }
            table.starts.push(start);
        }
        if table.starts.is_empty() {
            return Err(self.error(reader.position().byte(), "the file ends after the header; expected rows"));
        }
        Ok((table, target_columns))
    }

    /// Reads the next record and tells where it starts; `None` at the end.
    fn next(&self, reader: &mut Reader<&[u8]>, record: &mut ByteRecord) -> Result<Option<u64>> {
        let start = reader.position().byte();
        reader.read_byte_record(record).map(|found| found.then_some(start)).map_err(|e| self.error(start, e))
    }

    /// Copies `columns` out of `table`, standardized if asked.
    fn take(&self, table: &Table, columns: &[usize], standardize: bool) -> Result<(Vec<f32>, Standardization)> {
        let rows = table.values.chunks_exact(table.names.len());
        let values: Vec<f64> = rows.flat_map(|row| columns.iter().map(|&c| row[c])).collect();
        let count = columns.len();
        let scale = if standardize { Standardization::of(&values, count) } else { Standardization::identity(count) };
        let scaled = scale.apply(&values);
        let Some(bad) = scaled.iter().position(|v| !v.is_finite()) else { return Ok((scaled, scale)) };
        // One huge value spoils the mean and so every row of its column: the largest is the one to mend.
        let column = columns[bad % count];
        let size = |row: &usize| table.values[row * table.names.len() + column].abs();
        let row = (0..table.starts.len()).max_by(|a, b| size(a).total_cmp(&size(b))).unwrap_or(bad / count);
        let (name, size) = (shown(&table.names[column]), size(&row));
        let cure = if standardize { "rescale the column" } else { "leave out --no-standardize, or rescale the column" };
        let text = format!("column {name}: magnitude {size:e} is too large for 32-bit floats; {cure}");
        Err(self.error(table.starts[row], text))
    }

    /// The line, counted from 1, of the record that the reader found from byte `start` on.
    ///
    /// Counted from the bytes because the reader's own line is that of `start`, which lies before any empty lines and,
    /// where lines end in CRLF, before the last line feed.
    fn line(&self, start: u64) -> usize {
        let start = usize::try_from(start).unwrap_or(usize::MAX).min(self.bytes.len());
        let is_break = |byte: &&u8| matches!(byte, b'\r' | b'\n');
        let above = &self.bytes[..start + self.bytes[start..].iter().take_while(is_break).count()];
        1 + above.iter().filter(is_break).count() - above.windows(2).filter(|pair| pair == b"\r\n").count()
    }

    fn error(&self, start: u64, text: impl std::fmt::Display) -> Error {
        Error::Data(format!("{}, line {}: {text}", self.path.display(), self.line(start)))
    }
}

/// The column names in the header, or what is wrong with them.
fn names_of(header: &ByteRecord) -> Result<Vec<String>, String> {
    let mut names = Vec::with_capacity(header.len());
    let mut seen = HashMap::new();
    for (field, number) in header.iter().zip(1..) {
        let name = text_of(field).map_err(|text| format!("name of column {number}: {text}"))?;
        if name.is_empty() {
            return Err(format!("column {number} has no name; name it, or remove the column or the extra comma"));
        }
        if let Some(first) = seen.insert(name, number) {
            return Err(format!("columns {first} and {number} are both named {}; rename or remove one", shown(name)));
        }
        names.push(name.to_owned());
    }
    Ok(names)
}

/// The text of a field without surrounding blanks, or what is wrong with it.
fn text_of(field: &[u8]) -> Result<&str, String> {
    str::from_utf8(field).map(str::trim).map_err(|_| "expected UTF-8 text; save the file as UTF-8".to_owned())
}

/// The number in a field, or what is wrong with it.
fn number_of(field: &[u8]) -> Result<f64, String> {
    const FILL: &str = "fill in a number, or remove the row or the column";
    const ENCODE: &str = "only numeric columns are supported: correct the value, or remove or encode the column";
    let text = text_of(field)?;
    let (expected, cure) = match text.parse::<f64>() {
        Ok(value) if value.is_finite() => return Ok(value),
        Ok(_) => ("expected a finite number", FILL),
        Err(_) if MISSING.contains(&text.to_lowercase().as_str()) => ("missing value: expected a number", FILL),
        Err(_) if text.contains(['\r', '\n']) => ("expected a number", "look for a quote that is not closed"),
        Err(_) => ("expected a number", ENCODE),
    };
    Err(format!("{expected}, found {}; {cure}", shown(text)))
}

/// The column of each target, in the order of `targets`, or why they cannot be used.
fn find_targets(names: &[String], targets: &[String]) -> Result<Vec<usize>, String> {
    if targets.is_empty() {
        return Err(format!("no target column was given; give --target one or more of {}", listed(names)));
    }
    let mut columns = Vec::with_capacity(targets.len());
    for target in targets {
        let found = names.iter().position(|name| name == target.trim());
        let column = found.ok_or_else(|| unknown_target(names, target))?;
        if columns.contains(&column) {
            return Err(format!("--target names {} twice; name each column once", shown(target)));
        }
        columns.push(column);
    }
    if columns.len() == names.len() {
        return Err("--target names every column; leave at least one as an input".to_owned());
    }
    Ok(columns)
}

/// Why `target` is not there: another separator, no header, or a misspelling.
fn unknown_target(names: &[String], target: &str) -> String {
    let hint = match names {
        [only] if only.contains([';', '\t']) => "; fields must be separated by commas".to_owned(),
        _ if names.iter().all(|name| name.parse::<f64>().is_ok()) => "; the first line must be a header".to_owned(),
        _ => closest(names, target).map_or(String::new(), |name| format!("; did you mean {}?", shown(name))),
    };
    format!("--target {}: no such column{hint} (available columns: {})", shown(target), listed(names))
}

/// The name that differs from `wanted` in at most a third of its characters, if there is one.
fn closest<'a>(names: &'a [String], wanted: &str) -> Option<&'a String> {
    let wanted: Vec<char> = wanted.to_lowercase().chars().collect();
    let (edits, name) = names.iter().map(|n| (distance(&n.to_lowercase(), &wanted), n)).min_by_key(|best| best.0)?;
    (edits * 3 <= wanted.len().max(name.chars().count())).then_some(name)
}

/// Levenshtein distance: the fewest characters to insert, remove or replace.
fn distance(from: &str, to: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (a, i) in from.chars().zip(1..) {
        let mut diagonal = std::mem::replace(&mut row[0], i);
        for (j, &b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

/// `text` in quotes, with control characters escaped and its tail cut.
fn shown(text: &str) -> String {
    let end = text.char_indices().nth(SHOWN_CHARS).map_or(text.len(), |(end, _)| end);
    format!("{:?}{}", &text[..end], if end < text.len() { "..." } else { "" })
}

/// The first names, for an error.
fn listed(names: &[String]) -> String {
    let first: Vec<String> = names.iter().take(SHOWN_NAMES).map(|name| shown(name)).collect();
    let rest = names.len() - first.len();
    first.join(", ") + &if rest > 0 { format!(" and {rest} more") } else { String::new() }
}
