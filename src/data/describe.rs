//! What is in the columns of a table, for people who are about to train on it.

use std::collections::HashSet;

use serde::Serialize;

use super::frame::{Column, Frame, Texts, Values};
use super::standardize::moments;

/// How many texts of a column are listed.
const LISTED: usize = 8;

/// What is in a column.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Description {
    /// Its name.
    pub name: String,
    /// Rows without a value.
    pub missing: usize,
    /// Different values.
    pub distinct: usize,
    /// What the values are.
    #[serde(flatten)]
    pub contents: Contents,
}

/// What the values of a column are.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Contents {
    /// Numbers; without any, all of these are NaN.
    Numbers {
        /// The smallest.
        min: f64,
        /// The largest.
        max: f64,
        /// Their mean.
        mean: f64,
        /// Their population standard deviation; 1 where all are the same, as in training.
        std: f64,
    },
    /// Texts.
    Texts {
        /// The most frequent ones with how often they are there, the most frequent first.
        most: Vec<(String, usize)>,
    },
}

impl Frame {
    /// What is in each column.
    pub fn describe(&self) -> Vec<Description> {
        self.columns.iter().map(|column| describe(column, self.rows())).collect()
    }
}

fn describe(column: &Column, rows: usize) -> Description {
    let (distinct, contents) = match &column.values {
        Values::Numbers(values) => numbers(values),
        Values::Texts(texts) => (texts.words().len(), Contents::Texts { most: most(texts, rows) }),
    };
    let missing = (0..rows).filter(|&row| column.is_missing(row)).count();
    Description { name: column.name.clone(), missing, distinct, contents }
}

fn numbers(values: &[f64]) -> (usize, Contents) {
    let found = values.iter().copied().filter(|value| !value.is_nan());
    // Negative zero is zero.
    let distinct = found.clone().map(|value| (value + 0.0).to_bits()).collect::<HashSet<_>>().len();
    let (min, max) = (found.clone().fold(f64::NAN, f64::min), found.clone().fold(f64::NAN, f64::max));
    let (mean, std) = if distinct > 0 { moments(found) } else { (f64::NAN, f64::NAN) };
    (distinct, Contents::Numbers { min, max, mean, std })
}

/// The most frequent texts; of equally frequent ones, the first in the file.
fn most(texts: &Texts, rows: usize) -> Vec<(String, usize)> {
    let mut counts: Vec<_> = texts.words().iter().map(|word| (word.clone(), 0)).collect();
    for word in (0..rows).filter_map(|row| texts.word(row)) {
        counts[word].1 += 1;
    }
    counts.sort_by_key(|count| std::cmp::Reverse(count.1));
    counts.truncate(LISTED);
    counts
}
