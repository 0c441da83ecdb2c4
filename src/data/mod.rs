//! Reads tables and makes of them the row-major `f32` numbers that training uploads.
//!
//! ```text
//! file -> Frame: named columns of numbers or texts     csv and other readers
//!      -> Schema: how columns become numbers           fit
//!      -> Dataset: the numbers                         apply
//! ```
//!
//! Owns the checks of a table's contents, its encoding and its split; knows nothing of models, batches or devices.
//! Invariant: every value of a [`Dataset`] is finite, so a NaN seen later was made by training.

mod apply;
mod array;
mod balance;
mod config;
mod csv;
mod describe;
mod fit;
mod frame;
mod idx;
mod image;
mod names;
mod npy;
#[cfg(feature = "parquet")]
mod parquet;
pub mod schema;
mod source;
mod split;
mod standardize;
mod summary;
mod tensors;
#[cfg(test)]
mod tests;

use std::path::Path;

use crate::error::{Error, Result};
use crate::spec::TargetKind;
use apply::Rows;
pub use config::{Categorical, ClassWeight, ImageConfig, Missing, TableConfig, Validation};
pub use describe::{Contents, Description};
use fit::{Fit, Roles};
pub use frame::{Column, Frame, Texts, Values};
pub(crate) use image::center;
pub(crate) use names::{closest, count};
pub use schema::Schema;
use source::Format;
use summary::Gaps;

/// Rows as numbers, row-major, ready for upload.
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    /// Number of rows, at least 1.
    pub rows: usize,
    /// Names of the inputs, in the order of the network's: of a column, or `column=category`.
    pub feature_names: Vec<String>,
    /// Names of the target columns, in the order they were asked for.
    pub target_names: Vec<String>,
    /// Inputs, shape `(rows, feature_names.len())`.
    pub features: Vec<f32>,
    /// Targets, shape `(rows, target_names.len())`; of classes, one column with the index of the class. Empty where the
    /// table has none.
    pub targets: Vec<f32>,
    /// Weight of each row in the loss, with a mean of 1; `None` where all weigh the same.
    pub weights: Option<Vec<f32>>,
}

/// What a run is trained on.
#[derive(Debug, Clone, PartialEq)]
pub struct Tables {
    /// How columns became numbers.
    pub schema: Schema,
    /// The rows that are trained on.
    pub train: Dataset,
    /// The rows that are validated with.
    pub validation: Option<Dataset>,
    /// A few lines about all that, for people.
    pub summary: String,
}

/// Reads a table as it is. The format is told by the end of the name; a file that is compressed with gzip is read like a plain one.
///
/// | name | columns |
/// |---|---|
/// | `.csv`, `.tsv`, any other | those of the header; separated by commas, semicolons or tabs, in a `.tsv` by tabs |
/// | `.npz`, `.safetensors` | an array `x` of one number a row is `x`, of several `x0`, `x1`, ...; the first axis counts rows |
/// | `.npy` | `c0`, `c1`, ... |
/// | `.idx`, `...-ubyte` | pixels `p0`, `p1`, ..., and `label`, of the file `labels` or of the one beside it |
/// | `.parquet` | those of the file (only with the feature `parquet`) |
/// | `.png`, `.jpg` | of each pixel `x` and `y` from -1 to 1, `r`, `g` and `b` from 0 to 1 |
///
/// # Errors
/// [`Error::Io`] if a file cannot be read, [`Error::Data`] with the place if it is no such table, [`Error::Usage`] where `labels`
/// are given for another format than IDX.
pub fn read_frame(path: &Path, labels: Option<&Path>) -> Result<Frame> {
    let format = Format::of(path);
    if labels.is_some() && format != Format::Idx {
        let text = "--labels goes with images in an IDX file, as train-images-idx3-ubyte.gz: name one with --data";
        return Err(Error::Usage(text.into()));
    }
    let bytes = source::read(path)?;
    // An image has no need of its name.
    let format = if format == Format::Csv && image::recognizes(&bytes) { Format::Image } else { format };
    match format {
        Format::Csv => csv::read(path, &bytes, csv::separator(&bytes)),
        Format::Tsv => csv::read(path, &bytes, b'\t'),
        Format::Npy => npy::read(path, &bytes),
        Format::Npz => npy::read_archive(path, &bytes),
        Format::Idx => idx::read(path, &bytes, labels),
        Format::Safetensors => tensors::read(path, &bytes),
        Format::Image => image::read(path, &bytes),
        #[cfg(feature = "parquet")]
        Format::Parquet => parquet::read(path, bytes),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => Err(Error::Data(format!(
            "{}: this fori was built without the feature parquet: build it with --features parquet, or save the table as CSV",
            path.display()
        ))),
    }
}

/// Reads the table of a config, splits it by `seed`, and makes of it what a network sees. Means, deviations and what is
/// filled in come from the rows that are trained on; categories and classes from those that are validated with, too, if
/// they are of the same file.
///
/// # Errors
/// As [`read_frame`], [`Schema::fit`] and [`Schema::apply`]; [`Error::Data`] where the split leaves a side without rows.
pub fn load(config: &TableConfig, kind: TargetKind, seed: u64) -> Result<Tables> {
    load_frame(&read_frame(&config.path, config.labels.as_deref())?, config, kind, seed)
}

/// As [`load`], of an image, whatever its name.
///
/// # Errors
/// As [`load`].
pub fn load_image(image: &ImageConfig, kind: TargetKind, seed: u64) -> Result<Tables> {
    let frame = image::read(&image.path, &source::read(&image.path)?)?;
    load_frame(&frame, &image.table(), kind, seed)
}

/// As [`load`], of a table in memory.
///
/// # Errors
/// As [`load`].
pub fn load_frame(frame: &Frame, config: &TableConfig, kind: TargetKind, seed: u64) -> Result<Tables> {
    let roles = Roles::of(frame, config)?;
    let all = kept_rows(frame, config, &roles)?;
    let targets: Vec<_> = roles.targets.iter().map(|&column| &frame.columns[column]).collect();
    let strata = split::strata(&targets, kind, &all);
    let (train, drawn) = match &config.validation {
        Some(Validation::Share(share)) => {
            split::split(&all, &strata, *share, seed).map_err(|text| frame.error(None, text))?
        }
        _ => (all.clone(), Vec::new()),
    };
    let schema = Fit { frame, config, train: &train, all: &all }.schema(&roles, kind)?;
    let mut gaps = Gaps { dropped: frame.rows() - all.len(), filled: filled(frame, &roles, &all) };
    let validation = match &config.validation {
        None => None,
        Some(Validation::Share(_)) => Some(Rows { frame, rows: &drawn }.dataset(&schema)?),
        Some(Validation::File(path)) => Some(validation_file(path, config, &schema, &mut gaps)?),
    };
    let mut train = Rows { frame, rows: &train }.dataset(&schema)?;
    if config.class_weight == ClassWeight::Balanced {
        balance::balance(&mut train, &schema.targets)?;
    }
    let mut tables = Tables { schema, train, validation, summary: String::new() };
    let stratified = strata.iter().any(|&stratum| stratum != strata[0]);
    tables.summary = summary::summary(&tables, config, stratified, gaps);
    Ok(tables)
}

/// The rows of another file to validate with.
fn validation_file(path: &Path, config: &TableConfig, schema: &Schema, gaps: &mut Gaps) -> Result<Dataset> {
    let frame = read_frame(path, None)?;
    let find = |name: &String| frame.columns.iter().position(|column| column.name == *name);
    let targets = schema.target_names();
    if let Some(name) = targets.iter().chain(&schema.weight).find(|name| find(name).is_none()) {
        let text = names::unknown(&frame.names(), name);
        return Err(frame.error(None, format!("--validation needs the column {}: {text}", names::shown(name))));
    }
    // An input that is not there is refused by the schema.
    let roles = Roles {
        inputs: schema.inputs.iter().filter_map(|input| find(&input.name)).collect(),
        targets: targets.iter().filter_map(find).collect(),
        weight: schema.weight.as_ref().and_then(find),
    };
    let rows = kept_rows(&frame, config, &roles)?;
    gaps.dropped += frame.rows() - rows.len();
    gaps.filled += filled(&frame, &roles, &rows);
    Rows { frame: &frame, rows: &rows }.dataset(schema)
}

/// The rows that are not left out for a missing value.
fn kept_rows(frame: &Frame, config: &TableConfig, roles: &Roles) -> Result<Vec<usize>> {
    let is_whole = |row: &usize| !roles.used().any(|column| frame.columns[column].is_missing(*row));
    let rows = 0..frame.rows();
    let kept: Vec<_> = if config.missing == Missing::Drop { rows.filter(is_whole).collect() } else { rows.collect() };
    if kept.is_empty() {
        return Err(frame.error(None, "every row has a missing value, so that --missing drop leaves none"));
    }
    Ok(kept)
}

/// How many inputs are missing.
fn filled(frame: &Frame, roles: &Roles, rows: &[usize]) -> usize {
    let missing = |&column: &usize| rows.iter().filter(|row| frame.columns[column].is_missing(**row)).count();
    roles.inputs.iter().map(missing).sum()
}
