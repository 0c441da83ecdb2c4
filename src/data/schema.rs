//! How the columns of a table become the numbers that a network sees, and how its outputs become answers again.
//!
//! A schema is made from the training rows, kept in the checkpoint, and applied as it is to every later table, whose columns
//! are found by name.

use serde::{Deserialize, Serialize};

use crate::spec::Embedding;

/// How a table becomes numbers, and outputs become answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schema {
    /// The input columns, in the order of the network's inputs.
    pub inputs: Vec<InputColumn>,
    /// What is predicted.
    pub targets: Targets,
    /// The column that weighs the rows in the loss, if there is one.
    pub weight: Option<String>,
}

/// A column that the network reads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputColumn {
    /// Its name in the header.
    pub name: String,
    /// How a field becomes numbers.
    pub encoding: Encoding,
}

/// How a field becomes numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, tag = "kind", rename_all = "snake_case")]
pub enum Encoding {
    /// `(v - mean) / std`.
    Number {
        /// In the units of the file; 0 where the column is not standardized.
        mean: f64,
        /// In the units of the file; 1 where the column is not standardized.
        std: f64,
        /// What stands for a missing number, in the units of the file; none where a missing number is an error.
        fill: Option<f64>,
    },
    /// One input per category: 1 for that of the field, 0 for the others.
    OneHot {
        /// The categories, sorted.
        categories: Vec<String>,
    },
    /// One input, the index of the category, which an embedding turns into a row of its table.
    Index {
        /// The categories, sorted.
        categories: Vec<String>,
        /// Numbers of a row of the table.
        width: usize,
    },
}

/// What is predicted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, tag = "kind", rename_all = "snake_case")]
pub enum Targets {
    /// Numbers, one output each.
    Numbers {
        /// In the order of the outputs.
        columns: Vec<NumberColumn>,
    },
    /// Labels from 0 to 1, one logit each.
    Labels {
        /// In the order of the outputs.
        columns: Vec<LabelColumn>,
    },
    /// One of several classes, one logit per class.
    Classes {
        /// The column.
        name: String,
        /// The classes in the order of the outputs: numbers by size, texts by the alphabet.
        classes: Vec<String>,
    },
}

/// A number that is predicted: `output * std + mean`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NumberColumn {
    /// Its name in the header.
    pub name: String,
    /// In the units of the file; 0 where the column is not standardized.
    pub mean: f64,
    /// In the units of the file; 1 where the column is not standardized.
    pub std: f64,
}

/// A label that is predicted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabelColumn {
    /// Its name in the header.
    pub name: String,
    /// The texts that stand for 0 and 1; none where the column has numbers.
    pub classes: Option<[String; 2]>,
}

impl Encoding {
    /// How many inputs of the network a column takes.
    pub fn width(&self) -> usize {
        match self {
            Self::Number { .. } | Self::Index { .. } => 1,
            Self::OneHot { categories } => categories.len(),
        }
    }
}

impl Targets {
    /// How many outputs the network has.
    pub fn outputs(&self) -> usize {
        match self {
            Self::Numbers { columns } => columns.len(),
            Self::Labels { columns } => columns.len(),
            Self::Classes { classes, .. } => classes.len(),
        }
    }
}

impl Schema {
    /// The inputs that are embedded.
    pub fn embeddings(&self) -> Vec<Embedding> {
        let mut next = 0;
        let embedding = |input: &InputColumn| {
            let column = next;
            next += input.encoding.width();
            match &input.encoding {
                Encoding::Index { categories, width } => {
                    Some(Embedding { column, categories: categories.len(), width: *width })
                }
                _ => None,
            }
        };
        self.inputs.iter().filter_map(embedding).collect()
    }

    /// Those inputs by their number, each with its categories.
    pub(crate) fn embedded(&self) -> impl Iterator<Item = (usize, &[String])> {
        let categories = self.inputs.iter().filter_map(|input| match &input.encoding {
            Encoding::Index { categories, .. } => Some(categories.as_slice()),
            _ => None,
        });
        self.embeddings().into_iter().map(|embedding| embedding.column).zip(categories)
    }

    /// How many inputs the network has.
    pub fn inputs(&self) -> usize {
        self.inputs.iter().map(|column| column.encoding.width()).sum()
    }
}
