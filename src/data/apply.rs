//! Puts a table through a schema: the numbers that a network sees.

use std::collections::HashMap;

use super::Dataset;
use super::frame::{Column, Frame, Values};
use super::names::{listed, shown, unknown};
use super::schema::{Encoding, LabelColumn, Schema, Targets};
use crate::error::{Error, Result};

/// What helps against a missing value.
const FILL: &str = "fill it in, or train with --missing drop or --missing mean";
const FILL_TARGET: &str = "fill it in, or leave the row out (--missing drop)";

impl Schema {
    /// The numbers of a table, whose columns are found by name in any order; those that the schema does not know are ignored.
    /// Targets and weights are empty where the table lacks their columns.
    ///
    /// # Errors
    /// [`Error::Data`] with the place: an input column that is not there, a missing value that the schema does
    /// not fill, a text for a number, a category or class that the schema does not know, a number beyond 32-bit floats.
    pub fn apply(&self, frame: &Frame) -> Result<Dataset> {
        let rows: Vec<_> = (0..frame.rows()).collect();
        Rows { frame, rows: &rows }.dataset(self)
    }

    /// As [`Schema::apply`], without targets and weights, whatever the table has in their columns.
    ///
    /// # Errors
    /// As [`Schema::apply`], of the inputs.
    pub fn apply_inputs(&self, frame: &Frame) -> Result<Dataset> {
        let rows: Vec<_> = (0..frame.rows()).collect();
        Rows { frame, rows: &rows }.inputs(self)
    }

    /// Names of the network's inputs: of a column, or `column=category`.
    pub fn input_names(&self) -> Vec<String> {
        let names = self.inputs.iter().flat_map(|column| match &column.encoding {
            Encoding::OneHot { categories } => categories.iter().map(|c| format!("{}={c}", column.name)).collect(),
            _ => vec![column.name.clone()],
        });
        names.collect()
    }

    /// Names of the target columns.
    pub fn target_names(&self) -> Vec<String> {
        match &self.targets {
            Targets::Numbers { columns } => columns.iter().map(|column| column.name.clone()).collect(),
            Targets::Labels { columns } => columns.iter().map(|column| column.name.clone()).collect(),
            Targets::Classes { name, .. } => vec![name.clone()],
        }
    }
}

/// Rows of a table.
pub(super) struct Rows<'a> {
    pub(super) frame: &'a Frame,
    pub(super) rows: &'a [usize],
}

impl Rows<'_> {
    /// All that a schema makes of them.
    pub(super) fn dataset(&self, schema: &Schema) -> Result<Dataset> {
        let mut dataset = self.inputs(schema)?;
        let names = &dataset.target_names;
        if names.iter().all(|name| self.frame.column(name).is_some()) {
            dataset.targets = self.targets(schema)?;
        }
        let weight = schema.weight.as_ref().and_then(|name| self.frame.column(name));
        dataset.weights = weight.map(|column| self.weights(column)).transpose()?;
        Ok(dataset)
    }

    /// The inputs.
    fn inputs(&self, schema: &Schema) -> Result<Dataset> {
        let mut features = Table::new(self.rows.len(), schema.inputs());
        let by_name: HashMap<_, _> = self.frame.columns.iter().map(|column| (&column.name, column)).collect();
        for input in &schema.inputs {
            let column = by_name.get(&input.name).copied().ok_or_else(|| self.no_column(&input.name))?;
            match &input.encoding {
                Encoding::Number { mean, std, fill } => {
                    let values = self.numbers(column, *fill, FILL)?;
                    features.push(self.scaled(column, &values, *mean, *std)?);
                }
                Encoding::OneHot { categories } => {
                    let index = self.categories(column, categories, FILL)?;
                    features.push_one_hot(&index, categories.len());
                }
                Encoding::Index { categories, .. } => {
                    let index = self.categories(column, categories, FILL)?;
                    features.push(index.iter().map(|&i| index_number(i)).collect());
                }
            }
        }
        Ok(Dataset {
            rows: self.rows.len(),
            feature_names: schema.input_names(),
            target_names: schema.target_names(),
            features: features.into_values(),
            targets: Vec::new(),
            weights: None,
        })
    }

    fn column(&self, name: &str) -> Result<&Column> {
        self.frame.column(name).ok_or_else(|| self.no_column(name))
    }

    fn no_column(&self, name: &str) -> Error {
        let text = format!("the model reads a column {}: {}", shown(name), unknown(&self.frame.names(), name));
        self.frame.error(None, text)
    }

    fn targets(&self, schema: &Schema) -> Result<Vec<f32>> {
        let mut targets = Table::new(self.rows.len(), schema.target_names().len());
        match &schema.targets {
            Targets::Numbers { columns } => {
                for target in columns {
                    let column = self.column(&target.name)?;
                    let values = self.numbers(column, None, FILL_TARGET)?;
                    targets.push(self.scaled(column, &values, target.mean, target.std)?);
                }
            }
            Targets::Labels { columns } => {
                for target in columns {
                    targets.push(self.labels(target)?);
                }
            }
            Targets::Classes { name, classes } => {
                let index = self.categories(self.column(name)?, classes, FILL_TARGET)?;
                targets.push(index.iter().map(|&i| index_number(i)).collect());
            }
        }
        Ok(targets.into_values())
    }

    /// The labels of a column, from 0 to 1.
    fn labels(&self, target: &LabelColumn) -> Result<Vec<f32>> {
        let column = self.column(&target.name)?;
        if let Some(classes) = &target.classes {
            let index = self.categories(column, classes, FILL_TARGET)?;
            return Ok(index.iter().map(|&i| index_number(i)).collect());
        }
        let values = self.numbers(column, None, FILL_TARGET)?;
        if let Some(at) = values.iter().position(|value| !(0.0..=1.0).contains(value)) {
            let text = format!(
                "expected labels from 0 to 1 for --loss binary_cross_entropy, found {}; encode the classes as 0 and 1, or use \
                 --loss softmax_cross_entropy",
                values[at]
            );
            return Err(self.frame.error_in(column, self.rows[at], text));
        }
        self.scaled(column, &values, 0.0, 1.0)
    }

    /// The weights of the rows, scaled to a mean of 1.
    fn weights(&self, column: &Column) -> Result<Vec<f32>> {
        let values = self.numbers(column, None, FILL_TARGET)?;
        if let Some(at) = values.iter().position(|value| *value < 0.0) {
            let text = format!("expected a weight of 0 or more, found {}", values[at]);
            return Err(self.frame.error_in(column, self.rows[at], text));
        }
        let largest = values.iter().copied().fold(0.0, f64::max);
        if largest == 0.0 {
            let text = format!("column {}: expected a weight above 0 in some row", shown(&column.name));
            return Err(self.frame.error(None, text));
        }
        #[expect(clippy::cast_precision_loss, reason = "a count of rows is far below 2^53")]
        let mean = values.iter().map(|value| value / largest).sum::<f64>() / values.len() as f64;
        self.scaled(column, &values, 0.0, largest * mean)
    }

    /// The finite numbers of a column.
    fn numbers(&self, column: &Column, fill: Option<f64>, cure: &str) -> Result<Vec<f64>> {
        let number = |&row: &usize| match &column.values {
            Values::Numbers(values) if values[row].is_finite() => Ok(values[row]),
            _ if column.is_missing(row) => fill.ok_or_else(|| self.frame.missing(column, row, cure)),
            // A column may be one of texts because of other rows than this.
            Values::Texts(texts) => {
                let number = texts.word(row).and_then(|word| super::frame::number(&texts.words()[word]));
                number.ok_or_else(|| self.frame.error_in(column, row, column.no_number(row)))
            }
            Values::Numbers(_) => Err(self.frame.error_in(column, row, column.no_number(row))),
        };
        self.rows.iter().map(number).collect()
    }

    /// Numbers, centered and scaled.
    #[expect(clippy::cast_possible_truncation, reason = "rounding to f32 is the purpose; overflow is refused")]
    fn scaled(&self, column: &Column, values: &[f64], mean: f64, std: f64) -> Result<Vec<f32>> {
        let scaled: Vec<_> = values.iter().map(|value| ((value - mean) / std) as f32).collect();
        if scaled.iter().all(|value| value.is_finite()) {
            return Ok(scaled);
        }
        // One huge value spoils the mean and so every row of its column: the largest is the one to mend.
        let size = |at: &usize| values[*at].abs();
        let at = (0..values.len()).max_by(|a, b| size(a).total_cmp(&size(b))).unwrap_or(0);
        let plain = mean == 0.0 && std == 1.0;
        let cure = if plain { "leave out --no-standardize, or rescale the column" } else { "rescale the column" };
        let text = format!("magnitude {:e} is too large for 32-bit floats; {cure}", size(&at));
        Err(self.frame.error_in(column, self.rows[at], text))
    }

    /// Which category each row has. A missing text is the one without a name, if there is one.
    fn categories(&self, column: &Column, categories: &[String], cure: &str) -> Result<Vec<usize>> {
        let known: HashMap<&str, usize> = categories.iter().map(String::as_str).zip(0..).collect();
        let find = |row: usize, text: &str| {
            known.get(text).copied().ok_or_else(|| {
                let text = format!("expected one of {}, found {}", listed(categories), shown(text));
                self.frame.error_in(column, row, text + "; the model knows no other")
            })
        };
        let missing = |row| known.get("").copied().ok_or_else(|| self.frame.missing(column, row, cure));
        let one = |&row: &usize| column.text(row).map_or_else(|| missing(row), |text| find(row, &text));
        self.rows.iter().map(one).collect()
    }
}

/// An index as the number that a device reads; exact, since there are far fewer than 2^24.
#[expect(clippy::cast_precision_loss, reason = "indices are far below 2^24")]
fn index_number(index: usize) -> f32 {
    index as f32
}

/// How many columns are written at once: enough that each row's share fills whole cache lines.
const BLOCK: usize = 64;

/// A row-major table that is filled column by column.
struct Table {
    width: usize,
    filled: usize,
    values: Vec<f32>,
    /// Columns that come after those that are filled.
    pending: Vec<Vec<f32>>,
}

impl Table {
    fn new(rows: usize, width: usize) -> Self {
        Self { width, filled: 0, values: vec![0.0; rows * width], pending: Vec::new() }
    }

    fn push(&mut self, column: Vec<f32>) {
        self.pending.push(column);
        if self.pending.len() == BLOCK {
            self.flush();
        }
    }

    fn push_one_hot(&mut self, index: &[usize], width: usize) {
        self.flush();
        for (row, &index) in self.values.chunks_exact_mut(self.width).zip(index) {
            row[self.filled + index] = 1.0;
        }
        self.filled += width;
    }

    /// Writes the pending columns.
    fn flush(&mut self) {
        for (r, row) in self.values.chunks_exact_mut(self.width).enumerate() {
            for (place, column) in row[self.filled..].iter_mut().zip(&self.pending) {
                *place = column[r];
            }
        }
        self.filled += self.pending.len();
        self.pending.clear();
    }

    fn into_values(mut self) -> Vec<f32> {
        self.flush();
        self.values
    }
}
