//! What is said of a table before it is trained on.

use super::config::{ClassWeight, Missing, TableConfig, Validation};
use super::names::{count, shown};
use super::schema::{Encoding, Schema, Targets};
use super::{Dataset, Tables};

/// How many classes or columns are listed by name.
const SHOWN: usize = 12;

/// What was done about missing values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Gaps {
    /// Rows that were left out.
    pub(super) dropped: usize,
    /// Values that were filled in.
    pub(super) filled: usize,
}

/// A few lines about the rows, the columns and the missing values.
pub(super) fn summary(tables: &Tables, config: &TableConfig, stratified: bool, gaps: Gaps) -> String {
    let schema = &tables.schema;
    let mut lines = vec![rows(tables, config, stratified), inputs(schema), targets(schema)];
    lines.extend(constant(&tables.train));
    if config.missing == Missing::Drop && gaps.dropped > 0 {
        lines.push(format!("missing: {} left out, each with a missing value", count(gaps.dropped, "row")));
    }
    if config.missing == Missing::Mean && gaps.filled > 0 {
        let how = "numbers by the mean of their column, texts as a category of their own";
        lines.push(format!("missing: {} filled in, {how}", count(gaps.filled, "value")));
    }
    lines.join("\n")
}

/// The inputs that have one value in all rows.
fn constant(train: &Dataset) -> Option<String> {
    let width = train.feature_names.len();
    let first = train.features.get(..width)?;
    let mut same = vec![train.rows > 1; width];
    for row in train.features.chunks_exact(width) {
        same.iter_mut().zip(row.iter().zip(first)).for_each(|(same, (value, first))| *same &= value == first);
    }
    let names: Vec<_> =
        train.feature_names.iter().zip(&same).filter(|(_, same)| **same).map(|(name, _)| shown(name)).collect();
    let inputs = count(names.len(), "input");
    (!names.is_empty())
        .then(|| format!("constant: {inputs} with one value in all rows that are trained on: {}", some(&names)))
}

fn rows(tables: &Tables, config: &TableConfig, stratified: bool) -> String {
    let train = count(tables.train.rows, "row");
    let validation = tables.validation.as_ref().map_or(String::new(), |validation| {
        let from = match &config.validation {
            Some(Validation::File(path)) => format!("of {}", path.display()),
            _ if stratified => "drawn by class".into(),
            _ => "drawn by the seed".into(),
        };
        format!(", {} {from} to validate with", validation.rows)
    });
    let weight = tables.schema.weight.as_ref().map_or(String::new(), |name| format!(", weighed by {}", shown(name)));
    let balanced = if config.class_weight == ClassWeight::Balanced { ", classes balanced" } else { "" };
    format!("data: {train} to train on{validation}{weight}{balanced}")
}

fn inputs(schema: &Schema) -> String {
    let numbers = schema.inputs.iter().filter(|c| matches!(c.encoding, Encoding::Number { .. })).count();
    let categories = |column: &super::schema::InputColumn| match &column.encoding {
        Encoding::Number { .. } => None,
        Encoding::OneHot { categories } => {
            Some(format!("{} with {}", shown(&column.name), count(categories.len(), "category")))
        }
        Encoding::Index { categories, width } => {
            let (categories, width) = (count(categories.len(), "category"), count(*width, "number"));
            Some(format!("{} with {categories} as {width}", shown(&column.name)))
        }
    };
    let texts: Vec<_> = schema.inputs.iter().filter_map(categories).collect();
    let embedded = schema.inputs.iter().any(|c| matches!(c.encoding, Encoding::Index { .. }));
    let how = if embedded { "embedded" } else { "one-hot" };
    let mut kinds = Vec::new();
    if numbers > 0 {
        kinds.push(count(numbers, "column") + " of numbers");
    }
    if !texts.is_empty() {
        kinds.push(format!("{} of texts, {how}: {}", count(texts.len(), "column"), some(&texts)));
    }
    format!("inputs: {}, from {}", schema.inputs(), kinds.join(", and "))
}

fn targets(schema: &Schema) -> String {
    let list = |names: Vec<String>| some(&names.iter().map(|name| shown(name)).collect::<Vec<_>>());
    match &schema.targets {
        Targets::Numbers { columns } => {
            format!("target: {}", list(columns.iter().map(|column| column.name.clone()).collect()))
        }
        Targets::Labels { columns } => {
            let label = |column: &super::schema::LabelColumn| {
                let classes = column.classes.as_ref();
                let classes = classes.map_or(String::new(), |[zero, one]| format!(" (0: {zero}, 1: {one})"));
                shown(&column.name) + &classes
            };
            format!("target: {}", some(&columns.iter().map(label).collect::<Vec<_>>()))
        }
        Targets::Classes { name, classes } => {
            format!("target: {} of {} classes: {}", shown(name), classes.len(), list(classes.clone()))
        }
    }
}

/// The first of a list.
fn some(items: &[String]) -> String {
    let rest = items.len().saturating_sub(SHOWN);
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    items.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ") + &more
}
