//! Flags of the data.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

use super::resume::Given;
use super::values::{self, Names};
use crate::config::{Categorical, ClassWeight, ImageConfig, Missing, TableConfig, Task, Validation};
use crate::error::{Error, Result};
use crate::spec::MAX_WIDTH;

/// Flags that say what is trained on.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("files").args(["data", "image"]))]
pub(super) struct DataArgs {
    /// Built-in task. linreg: learn y = x w + b + 0.1 noise from batches drawn anew each step.
    #[arg(long, value_name = "NAME", value_parser = ["linreg"], help_heading = "Data")]
    task: Option<String>,
    /// Width of the input of the linreg task.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = values::width, help_heading = "Data")]
    inputs: usize,
    /// Width of the output of the linreg task.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = values::width, help_heading = "Data")]
    outputs: usize,
    /// Train on the rows of a table: .csv, .tsv (with a header, also .gz), .npy, .npz, .safetensors, IDX (as MNIST's), .parquet.
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    data: Option<PathBuf>,
    /// Labels of the images of an IDX file [default: the file beside it with labels-idx1 for images-idx3 in its name]
    #[arg(long, value_name = "FILE", requires = "data", help_heading = "Data")]
    labels: Option<PathBuf>,
    /// Learn the color of each pixel of a PNG or JPEG file from its coordinates.
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    image: Option<PathBuf>,
    /// Column to predict; several with commas, a name with a comma in quotes. All other columns are inputs.
    #[arg(long, value_name = "COLUMN", value_parser = values::names, requires = "data", help_heading = "Data")]
    target: Vec<Names>,
    /// Columns to use as inputs, with commas between them [default: all others]
    #[arg(long, value_name = "COLUMNS", value_parser = values::names, requires = "data", help_heading = "Data")]
    features: Vec<Names>,
    /// Columns to leave out, with commas between them.
    #[arg(long, value_name = "COLUMNS", value_parser = values::names, requires = "data", help_heading = "Data")]
    exclude: Vec<Names>,
    /// Column with the weight of each row in the loss.
    #[arg(long, value_name = "COLUMN", requires = "data", help_heading = "Data")]
    weight_column: Option<String>,
    /// How classes are weighed in the loss that is trained on: none (by their rows), balanced (all alike, however rare).
    #[arg(long, value_name = "HOW", default_value = "none", value_parser = values::named::<ClassWeight>, requires = "data", help_heading = "Data")]
    class_weight: ClassWeight,
    /// Rows to validate with and not to train on: a share of the table, as 0.2, drawn by the seed (of classes, that share of
    /// each), or another file.
    #[arg(long, value_name = "SHARE|FILE", value_parser = values::validation, requires = "files", help_heading = "Data")]
    validation: Option<Validation>,
    /// What to do about missing values: error, drop (leave the row out), mean (fill in the mean of the column; a missing text
    /// becomes a category of its own).
    #[arg(long, value_name = "WHAT", default_value = "error", value_parser = values::named::<Missing>, requires = "data", help_heading = "Data")]
    missing: Missing,
    /// What a column of texts becomes: one_hot (one input per category), embedding (a trained row of numbers per category, as
    /// many as --embedding-width).
    #[arg(long, value_name = "WHAT", default_value = "one_hot", value_parser = values::named::<Categorical>, requires = "data", help_heading = "Data")]
    categorical: Categorical,
    /// Numbers that a category becomes with --categorical embedding [default: half as many as there are categories, at most 50]
    #[arg(long, value_name = "N", value_parser = values::whole::<usize>(1..=MAX_WIDTH as u64), requires = "data", help_heading = "Data")]
    embedding_width: Option<usize>,
    /// Use the columns as they are, instead of centering each and scaling it to unit variance.
    #[arg(long, requires = "data", help_heading = "Data")]
    no_standardize: bool,
}

/// Fails where flags contradict each other in a way that clap does not know.
pub(super) fn check(categorical: Option<Categorical>, given: &Given) -> Result<()> {
    if categorical == Some(Categorical::OneHot) && given.has("embedding_width") {
        let text = "--embedding-width goes with --categorical embedding: add that, or leave it out";
        return Err(Error::Usage(text.into()));
    }
    // A flag of the linreg task beside a file. To clap it would be a conflict, and where there is one it no longer asks for what
    // other flags require: `--inputs 2 --missing drop` would pass without a table.
    let first = |flags: &[&'static str]| flags.iter().copied().find(|flag| given.has(flag));
    match (first(&["task", "inputs", "outputs"]), first(&["data", "image"])) {
        (Some(task), Some(file)) => {
            Err(Error::Usage(format!("--{task} cannot be used with --{file}: leave one of them out")))
        }
        _ => Ok(()),
    }
}

/// All names of a flag that may be repeated.
fn flat(lists: &[Names]) -> Vec<String> {
    lists.iter().flat_map(|names| names.0.iter().cloned()).collect()
}

impl DataArgs {
    /// The task that they describe.
    pub(super) fn task(&self) -> Task {
        match (&self.data, &self.image) {
            (Some(path), _) => Task::Table(TableConfig {
                labels: self.labels.clone(),
                targets: flat(&self.target),
                features: flat(&self.features),
                exclude: flat(&self.exclude),
                weight: self.weight_column.clone(),
                class_weight: self.class_weight,
                validation: self.validation.clone(),
                standardize: !self.no_standardize,
                missing: self.missing,
                categorical: self.categorical,
                embedding_width: self.embedding_width,
                ..TableConfig::new(path, &[])
            }),
            (None, Some(path)) => Task::Image(ImageConfig { path: path.clone(), validation: self.validation.clone() }),
            (None, None) => Task::Linreg { inputs: self.inputs, outputs: self.outputs },
        }
    }
}
