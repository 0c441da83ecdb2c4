//! Makes a schema from a table: which columns are read, and how.

use std::collections::{BTreeSet, HashMap};

use super::config::{Categorical, Missing, TableConfig};
use super::frame::{Column, Frame, Texts, Values, number_text};
use super::names::{count, listed, shown};
use super::schema::{Encoding, InputColumn, LabelColumn, NumberColumn, Schema, Targets};
use super::standardize::moments;
use crate::error::{Error, Result};
use crate::spec::{Embedding, TargetKind};

/// The most categories of an input, and the most classes.
const MAX_CATEGORIES: usize = 1000;
/// The most categories of an input that is embedded.
const MAX_EMBEDDED: usize = 10_000;
/// From so many rows on, a column of texts that are all different is taken for a name of the rows.
const MANY_ROWS: usize = 20;

/// What each column is for, by its index.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Roles {
    pub(super) inputs: Vec<usize>,
    pub(super) targets: Vec<usize>,
    pub(super) weight: Option<usize>,
}

impl Roles {
    /// Finds the columns that a config names.
    pub(super) fn of(frame: &Frame, config: &TableConfig) -> Result<Self> {
        let names = if config.targets.is_empty() { &frame.targets } else { &config.targets };
        if names.is_empty() {
            return Err(frame.no_target());
        }
        let targets = frame.find("--target", names)?;
        let exclude = frame.find("--exclude", &config.exclude)?;
        let weight = frame.find("--weight-column", config.weight.as_slice())?;
        let features = frame.find("--features", &config.features)?;
        let flags = [("--target", &targets), ("--exclude", &exclude), ("--weight-column", &weight)];
        let mut roles = HashMap::new();
        for (flag, columns) in flags.into_iter().chain([("--features", &features)]) {
            for &column in columns {
                if let Some(other) = roles.insert(column, flag) {
                    let name = shown(&frame.columns[column].name);
                    let text = format!("{other} and {flag} both name {name}; leave it out of one");
                    return Err(frame.error(None, text));
                }
            }
        }
        let is_input = |column: &usize| match roles.get(column) {
            None => features.is_empty(),
            Some(flag) => *flag == "--features",
        };
        let inputs: Vec<_> = (0..frame.columns.len()).filter(is_input).collect();
        if inputs.is_empty() {
            let who = if exclude.is_empty() && weight.is_empty() {
                "--target names every column"
            } else {
                "--target, --exclude and --weight-column together name every column"
            };
            return Err(frame.error(None, format!("{who}; leave at least one as an input")));
        }
        Ok(Self { inputs, targets, weight: weight.first().copied() })
    }

    /// All columns that are read.
    pub(super) fn used(&self) -> impl Iterator<Item = usize> + '_ {
        self.inputs.iter().chain(&self.targets).chain(&self.weight).copied()
    }
}

/// What a schema is made from: a table, and the rows of it that count.
pub(super) struct Fit<'a> {
    pub(super) frame: &'a Frame,
    pub(super) config: &'a TableConfig,
    /// The rows that are trained on, whose means and deviations are taken.
    pub(super) train: &'a [usize],
    /// Those and the rows that are validated with: categories and classes are those of all, so that every split is possible.
    pub(super) all: &'a [usize],
}

impl Schema {
    /// The schema of a whole table for a kind of targets.
    ///
    /// # Errors
    /// [`Error::Usage`] where there is no target, [`Error::Data`] where the columns do not fit the config or the targets.
    pub fn fit(frame: &Frame, config: &TableConfig, kind: TargetKind) -> Result<Self> {
        let rows: Vec<_> = (0..frame.rows()).collect();
        Fit { frame, config, train: &rows, all: &rows }.schema(&Roles::of(frame, config)?, kind)
    }
}

impl Fit<'_> {
    /// The schema of columns with these roles.
    pub(super) fn schema(&self, roles: &Roles, kind: TargetKind) -> Result<Schema> {
        let columns = &self.frame.columns;
        let texts = |&column: &usize| matches!(columns[column].values, Values::Texts(_));
        if self.config.categorical == Categorical::Embedding && !roles.inputs.iter().any(texts) {
            let text = "no input has texts, so --categorical embedding has nothing to embed; leave it out";
            return Err(self.frame.error(None, text));
        }
        let input = |&column: &usize| {
            let column = &columns[column];
            Ok(InputColumn { name: column.name.clone(), encoding: self.encoding(column)? })
        };
        Ok(Schema {
            inputs: roles.inputs.iter().map(input).collect::<Result<_>>()?,
            targets: self.targets(&roles.targets, kind)?,
            weight: roles.weight.map(|column| columns[column].name.clone()),
        })
    }

    fn encoding(&self, column: &Column) -> Result<Encoding> {
        match &column.values {
            Values::Numbers(values) => {
                let (mean, std) = self.moments(column, values)?;
                let fill = (self.config.missing == Missing::Mean).then_some(mean);
                let (mean, std) = if self.config.standardize { (mean, std) } else { (0.0, 1.0) };
                Ok(Encoding::Number { mean, std, fill })
            }
            Values::Texts(texts) => {
                let categories = self.categories(column, texts)?;
                Ok(match self.config.categorical {
                    Categorical::OneHot => Encoding::OneHot { categories },
                    Categorical::Embedding => {
                        let width = self.config.embedding_width;
                        let width = width.unwrap_or_else(|| Embedding::default_width(categories.len()));
                        Encoding::Index { categories, width }
                    }
                })
            }
        }
    }

    /// Mean and deviation of the numbers that are trained on.
    fn moments(&self, column: &Column, values: &[f64]) -> Result<(f64, f64)> {
        let numbers = self.train.iter().map(|&row| values[row]).filter(|value| !value.is_nan());
        if numbers.clone().next().is_none() {
            let text = format!("column {} has no value in any row; leave it out with --exclude", shown(&column.name));
            return Err(self.frame.error(None, text));
        }
        Ok(moments(numbers))
    }

    /// The categories of an input; a missing text is one with an empty name where it is to be filled in.
    fn categories(&self, column: &Column, texts: &Texts) -> Result<Vec<String>> {
        self.refuse_stray(column)?;
        let mut categories = self.words(texts);
        let (name, found) = (shown(&column.name), categories.len());
        let names_rows = found == self.all.len() && found >= MANY_ROWS;
        let most = match self.config.categorical {
            Categorical::OneHot => MAX_CATEGORIES,
            Categorical::Embedding => MAX_EMBEDDED,
        };
        if names_rows || found > most {
            let what =
                if names_rows { "a different text in each row" } else { "too many different texts for categories" };
            let embedded = if found > most && found <= MAX_EMBEDDED { ", or use --categorical embedding" } else { "" };
            let first = shown(categories.first().map_or("", String::as_str));
            let text = format!(
                "column {name} has {what} ({found}), as {first}; write numbers with digits and a point alone, and leave names and dates \
                 out with --exclude {name}{embedded}"
            );
            return Err(self.frame.error(None, text));
        }
        let missing = self.all.iter().any(|&row| column.is_missing(row));
        if missing && self.config.missing == Missing::Mean {
            categories.insert(0, String::new());
        }
        if categories.is_empty() {
            return Err(self
                .frame
                .error(None, format!("column {name} has no value in any row; leave it out with --exclude")));
        }
        Ok(categories)
    }

    /// The different texts of the rows, sorted.
    fn words(&self, texts: &Texts) -> Vec<String> {
        let found: BTreeSet<_> = self.all.iter().filter_map(|&row| texts.word(row)).collect();
        let mut words: Vec<_> = found.into_iter().map(|word| texts.words()[word].clone()).collect();
        words.sort_unstable();
        words
    }

    fn refuse_stray(&self, column: &Column) -> Result<()> {
        match column.stray() {
            Some(row) => Err(self.frame.error_in(column, row, column.no_number(row))),
            None => Ok(()),
        }
    }

    fn targets(&self, targets: &[usize], kind: TargetKind) -> Result<Targets> {
        let columns = || targets.iter().map(|&column| &self.frame.columns[column]);
        match kind {
            TargetKind::Numbers => {
                Ok(Targets::Numbers { columns: columns().map(|column| self.number(column)).collect::<Result<_>>()? })
            }
            TargetKind::Labels => {
                Ok(Targets::Labels { columns: columns().map(|column| self.label(column)).collect::<Result<_>>()? })
            }
            TargetKind::Classes => match targets {
                [column] => self.classes(&self.frame.columns[*column]),
                _ => Err(Error::Usage(format!(
                    "--loss softmax_cross_entropy predicts the class in one column, and --target names {}: name one",
                    targets.len()
                ))),
            },
        }
    }

    fn number(&self, column: &Column) -> Result<NumberColumn> {
        let Values::Numbers(values) = &column.values else {
            self.refuse_stray(column)?;
            let row = self.all.iter().copied().find(|&row| !column.is_missing(row)).unwrap_or(0);
            let found = shown(&column.text(row).unwrap_or_default());
            let text = format!(
                "expected a number, found {found}; this loss predicts numbers: for classes, use --loss softmax_cross_entropy"
            );
            return Err(self.frame.error_in(column, row, text));
        };
        let (mean, std) = if self.config.standardize { self.moments(column, values)? } else { (0.0, 1.0) };
        Ok(NumberColumn { name: column.name.clone(), mean, std })
    }

    fn label(&self, column: &Column) -> Result<LabelColumn> {
        let name = column.name.clone();
        let Values::Texts(texts) = &column.values else { return Ok(LabelColumn { name, classes: None }) };
        self.refuse_stray(column)?;
        let words = self.words(texts);
        let classes = <[String; 2]>::try_from(words).map_err(|words| {
            let text = format!(
                "column {}: expected two classes for --loss binary_cross_entropy, found {} ({}); for any number of classes, use \
                 --loss softmax_cross_entropy",
                shown(&column.name),
                words.len(),
                listed(&words)
            );
            self.frame.error(None, text)
        })?;
        Ok(LabelColumn { name, classes: Some(classes) })
    }

    fn classes(&self, column: &Column) -> Result<Targets> {
        let classes = match &column.values {
            Values::Texts(texts) => self.words(texts),
            Values::Numbers(values) => {
                let mut numbers: Vec<_> = self.all.iter().map(|&row| values[row]).filter(|v| v.is_finite()).collect();
                numbers.sort_unstable_by(f64::total_cmp);
                // Text by text, since 0 and -0 are one class.
                let mut classes: Vec<_> = numbers.into_iter().map(number_text).collect();
                classes.dedup();
                classes
            }
        };
        let refuse = |text: String| Err(self.frame.error(None, format!("column {}: {text}", shown(&column.name))));
        let is_number = matches!(column.values, Values::Numbers(_));
        match classes.len() {
            0 | 1 => refuse(format!("expected two classes or more, found {} ({})", classes.len(), listed(&classes))),
            n if n > MAX_CATEGORIES => refuse(format!(
                "expected at most {MAX_CATEGORIES} classes, found {}; to predict numbers, use --loss mse",
                count(n, "value")
            )),
            n if is_number && n == self.all.len() && n >= MANY_ROWS => refuse(format!(
                "expected classes, found a different number in each of {n} rows; to predict numbers, use --loss mse"
            )),
            _ => Ok(Targets::Classes { name: column.name.clone(), classes }),
        }
    }
}
