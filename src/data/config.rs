//! What is read of a table or an image, and what becomes of it.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize, Serializer};

/// The settings of a table. Columns are named as in its header; a name of an array stands for all of its columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableConfig {
    /// The file; its format is told by its extension, as [`crate::data::read_frame`] says.
    #[serde(serialize_with = "as_text")]
    pub path: PathBuf,
    /// The labels of an IDX file of images. Default: the file beside it whose name has `labels-idx1` for `images-idx3`.
    #[serde(serialize_with = "as_optional_text")]
    pub labels: Option<PathBuf>,
    /// Columns to predict.
    pub targets: Vec<String>,
    /// Columns that are inputs. Default: all that have no other part.
    pub features: Vec<String>,
    /// Columns that are left out.
    pub exclude: Vec<String>,
    /// Column with the weight of each row in the loss. Default none: all rows weigh the same.
    pub weight: Option<String>,
    /// How classes are weighed in the loss that is trained on. Default none.
    #[serde(default, skip_serializing_if = "ClassWeight::is_none")]
    pub class_weight: ClassWeight,
    /// Rows that are not trained on. Default none.
    pub validation: Option<Validation>,
    /// Center and scale each column of numbers. Default true.
    pub standardize: bool,
    /// What is done about missing values. Default error.
    pub missing: Missing,
    /// How texts become numbers. Default one-hot.
    pub categorical: Categorical,
    /// Numbers that each category becomes where it is embedded. Default half as many as there are categories, at most 50.
    pub embedding_width: Option<usize>,
}

impl TableConfig {
    /// The defaults for a file and what to predict of it.
    pub fn new(path: impl Into<PathBuf>, targets: &[&str]) -> Self {
        Self {
            path: path.into(),
            labels: None,
            targets: targets.iter().map(|&name| name.into()).collect(),
            features: Vec::new(),
            exclude: Vec::new(),
            weight: None,
            class_weight: ClassWeight::default(),
            validation: None,
            standardize: true,
            missing: Missing::default(),
            categorical: Categorical::default(),
            embedding_width: None,
        }
    }
}

/// An image to be learned: from the coordinates of a pixel, -1 to 1 from left to right and from top to bottom, to its color,
/// red, green and blue from 0 to 1. Nothing is standardized, so that the loss is in units of the color.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageConfig {
    /// The file, PNG or JPEG.
    #[serde(serialize_with = "as_text")]
    pub path: PathBuf,
    /// Pixels that are not trained on. Default none.
    pub validation: Option<Validation>,
}

impl ImageConfig {
    /// The same as a table of pixels.
    pub fn table(&self) -> TableConfig {
        let table = TableConfig::new(&self.path, &["r", "g", "b"]);
        TableConfig { standardize: false, validation: self.validation.clone(), ..table }
    }
}

/// Rows that a network is judged by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Validation {
    /// This share of the rows, above 0 and below 1, drawn by the seed; of classes, this share of each.
    Share(f64),
    /// Those of another file.
    File(#[serde(serialize_with = "as_text")] PathBuf),
}

impl std::fmt::Display for Validation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Share(share) => write!(f, "{share}"),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}

/// What is done about missing values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    /// They are refused.
    #[default]
    Error,
    /// Their rows are left out.
    Drop,
    /// Numbers are filled in with the mean of the rows that are trained on; a missing text is a category of its own. Targets are
    /// never filled in.
    Mean,
}

crate::spec::named_enum!(Missing, "answer to missing values", Error => "error", Drop => "drop", Mean => "mean");

/// How classes are weighed in the loss that is trained on, besides the weights of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClassWeight {
    /// Not at all: each by the rows that it has.
    #[default]
    None,
    /// All alike, however many rows they have.
    Balanced,
}

crate::spec::named_enum!(ClassWeight, "weight of classes", None => "none", Balanced => "balanced");

impl ClassWeight {
    fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// How texts become numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Categorical {
    /// One input per category, 1 for that of the row.
    #[default]
    OneHot,
    /// One input, the index of the category, for an embedding layer.
    Embedding,
}

crate::spec::named_enum!(Categorical, "encoding of categories", OneHot => "one_hot", Embedding => "embedding");

/// A path that is not in UTF-8 is kept as well as a text can.
fn as_text<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

fn as_optional_text<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    path.as_ref().map(|path| path.to_string_lossy()).serialize(serializer)
}
