//! A table as it was read: named columns of numbers or of texts, before it is decided what a network sees of them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::names::{listed, shown, unknown};
use super::source::Format;
use crate::error::{Error, Result};

/// A table as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// The file, which every error names.
    pub path: PathBuf,
    /// The columns, in the order of the file and of equal length.
    pub columns: Vec<Column>,
    /// Names that stand for several columns: an array `x` of three columns is `x0`, `x1` and `x2`.
    pub blocks: Vec<(String, Range<usize>)>,
    /// What is predicted where nothing else is asked for, in formats that say so.
    pub targets: Vec<String>,
    places: Places,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its name in the header.
    pub name: String,
    /// What is in it.
    pub values: Values,
    /// The first field that stands for a missing value, as it is written in the file; empty where nothing is written.
    pub marker: String,
}

/// The fields of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Numbers; NaN where one is missing.
    Numbers(Vec<f64>),
    /// Texts, not all of them numbers.
    Texts(Texts),
}

/// Texts, each different one stored once.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Texts {
    /// The different ones, in the order in which they were found.
    words: Vec<String>,
    /// Per row, which one it is; [`NONE`] where it is missing.
    index: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl Texts {
    /// The different texts.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Which of [`Texts::words`] a row has; `None` where it is missing.
    pub fn word(&self, row: usize) -> Option<usize> {
        (self.index[row] != NONE).then_some(self.index[row] as usize)
    }

    /// Those of an iterator.
    pub(super) fn of(texts: impl Iterator<Item = Option<String>>) -> Self {
        let (mut result, mut seen) = (Self::default(), HashMap::new());
        for text in texts {
            let index = text.map_or(NONE, |text| {
                let next = u32::try_from(seen.len()).unwrap_or(NONE);
                *seen.entry(text).or_insert(next)
            });
            result.index.push(index);
        }
        let mut words: Vec<_> = seen.into_iter().collect();
        words.sort_unstable_by_key(|word| word.1);
        result.words = words.into_iter().map(|word| word.0).collect();
        result
    }
}

/// How the place of a row is told.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Places {
    /// By its line in a text: that of the header, and that of each row.
    Lines(u32, Vec<u32>),
    /// By its number, of so many.
    Rows(usize),
}

impl Column {
    /// A column in which nothing is written for a missing value.
    pub(super) fn new(name: impl Into<String>, values: Values) -> Self {
        Self { name: name.into(), values, marker: String::new() }
    }

    /// Whether a row has no value.
    pub fn is_missing(&self, row: usize) -> bool {
        match &self.values {
            Values::Numbers(values) => values[row].is_nan(),
            Values::Texts(texts) => texts.word(row).is_none(),
        }
    }

    /// What a row has as a text; `None` where it is missing.
    pub fn text(&self, row: usize) -> Option<Cow<'_, str>> {
        match &self.values {
            Values::Numbers(values) => (!values[row].is_nan()).then(|| number_text(values[row]).into()),
            Values::Texts(texts) => texts.word(row).map(|word| texts.words[word].as_str().into()),
        }
    }

    /// The first row of a column of texts that is not a number, though at least half of those that are not missing are:
    /// rather a slip than a category.
    pub(super) fn stray(&self) -> Option<usize> {
        let Values::Texts(texts) = &self.values else { return None };
        let is_number: Vec<_> = texts.words.iter().map(|word| number(word).is_some()).collect();
        let found = || (0..texts.index.len()).filter_map(|row| Some((row, is_number[texts.word(row)?])));
        let numbers = found().filter(|found| found.1).count();
        found().find(|found| !found.1).filter(|_| 2 * numbers >= found().count()).map(|found| found.0)
    }

    /// What is wrong with a row that should have a number, and has a text.
    pub(super) fn no_number(&self, row: usize) -> String {
        let text = self.text(row).unwrap_or_default();
        let (expected, cure) = match text.parse::<f64>() {
            Ok(_) => ("a finite number", "fill in a number, or remove the row or the column"),
            Err(_) if text.contains(['\r', '\n']) => ("a number", "look for a quote that is not closed"),
            Err(_) => ("a number", "correct the value, encode the column, or leave it out with --exclude"),
        };
        format!("expected {expected}, found {}; {cure}", shown(&text))
    }
}

/// A number as a text: 3 and not 3.0.
pub(super) fn number_text(value: f64) -> String {
    // Negative zero is zero.
    format!("{}", value + 0.0)
}

/// The finite number that a text is, if it is one.
pub(super) fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

impl Frame {
    /// A table without any blocks.
    pub(super) fn new(path: &Path, columns: Vec<Column>, places: Places) -> Self {
        Self { path: path.to_path_buf(), columns, blocks: Vec::new(), targets: Vec::new(), places }
    }

    /// A table in memory, of numbers, of which NaN is a missing one. Errors call it `table in memory`.
    ///
    /// # Errors
    /// [`Error::Data`] where there is no number, columns differ in length, or two have the same name.
    pub fn of_columns(columns: Vec<(&str, Vec<f64>)>) -> Result<Self> {
        let path = Path::new("table in memory");
        let refuse = |text: String| Err(Error::Data(format!("{}: {text}", path.display())));
        let rows = columns.first().map_or(0, |(_, values)| values.len());
        if rows == 0 {
            return refuse("expected a column with a row or more".into());
        }
        for (i, (name, values)) in columns.iter().enumerate() {
            if values.len() != rows {
                let text = format!(
                    "column {}: expected {rows} rows as in the first column, found {}",
                    shown(name),
                    values.len()
                );
                return refuse(text);
            }
            if columns[..i].iter().any(|(other, _)| other == name) {
                return refuse(format!("column {} is there twice: expected a name of its own for each", shown(name)));
            }
        }
        let column = |(name, values): (&str, _)| Column::new(name, Values::Numbers(values));
        Ok(Self::new(path, columns.into_iter().map(column).collect(), Places::Rows(rows)))
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        match &self.places {
            Places::Lines(_, lines) => lines.len(),
            Places::Rows(rows) => *rows,
        }
    }

    /// The names of the columns.
    pub fn names(&self) -> Vec<&str> {
        self.columns.iter().map(|column| column.name.as_str()).collect()
    }

    /// The column of a name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// The columns of names or blocks that a flag gave, each once.
    ///
    /// # Errors
    /// [`Error::Data`] for a name that is not there, with one that is like it, and for a column that is named twice.
    pub(super) fn find(&self, flag: &str, wanted: &[String]) -> Result<Vec<usize>> {
        let mut columns = Vec::with_capacity(wanted.len());
        for name in wanted.iter().map(|name| name.trim()) {
            let one = self.columns.iter().position(|column| column.name == name).map(|at| at..at + 1);
            let block = || self.blocks.iter().find(|(block, _)| block == name).map(|(_, columns)| columns.clone());
            let found = one.or_else(block);
            let found = found.ok_or_else(|| {
                let mut names = self.names();
                names.splice(0..0, self.blocks.iter().map(|(block, _)| block.as_str()));
                self.error(None, format!("{flag} {}: {}", shown(name), unknown(&names, name)))
            })?;
            if found.clone().any(|column| columns.contains(&column)) {
                let text = format!("{flag} names {} twice; name each column once", shown(name));
                return Err(self.error(None, text));
            }
            columns.extend(found);
        }
        Ok(columns)
    }

    /// An error at a row, or at the header.
    pub(super) fn error(&self, row: Option<usize>, text: impl std::fmt::Display) -> Error {
        let path = self.path.display();
        match (&self.places, row) {
            (Places::Lines(header, _), None) => Error::Data(format!("{path}, line {header}: {text}")),
            (Places::Lines(_, lines), Some(row)) => Error::Data(format!("{path}, line {}: {text}", lines[row])),
            (Places::Rows(_), Some(row)) => Error::Data(format!("{path}, row {}: {text}", row + 1)),
            (Places::Rows(_), None) => Error::Data(format!("{path}: {text}")),
        }
    }

    /// An error at a row of a column.
    pub(super) fn error_in(&self, column: &Column, row: usize, text: impl std::fmt::Display) -> Error {
        self.error(Some(row), format!("column {}: {text}", shown(&column.name)))
    }

    /// That a row of a column has no value.
    pub(super) fn missing(&self, column: &Column, row: usize, cure: &str) -> Error {
        let what = if matches!(column.values, Values::Numbers(_)) { "number" } else { "text" };
        let text = format!("missing value: expected a {what}, found {}; {cure}", shown(&column.marker));
        self.error_in(column, row, text)
    }

    /// That there is no target.
    pub(super) fn no_target(&self) -> Error {
        let names = listed(&self.names());
        let labels = if Format::of(&self.path) == Format::Idx { "--labels FILE, or " } else { "" };
        Error::Usage(format!(
            "--data {}: no target column was given; add {labels}--target with one or more of {names}",
            self.path.display()
        ))
    }
}
