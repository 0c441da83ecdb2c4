//! Embeddings of the inputs: trained rows in place of the indices of categories.

use num_traits::ToPrimitive;

use super::model::MAX_WIDTH;
use crate::error::{Error, Result};

/// A column of the input with the index of a category, which the first layer reads as a trained row of a table
/// (Flax `nnx.Embed`). Reference: Guo, Berkhahn (2016), "Entity embeddings of categorical variables".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Embedding {
    /// Its position in the input.
    pub column: usize,
    /// Rows of the table.
    pub categories: usize,
    /// Columns of the table.
    pub width: usize,
}

/// The most categories: their indices are exact in 32-bit floats.
const MAX_ROWS: usize = 1 << 24;

impl Embedding {
    /// The width of an embedding for which none is given: half of the categories, rounded up, and at most 50. Reference: Howard,
    /// Gugger (2020), "fastai: a layered API for deep learning", whose first rule this was.
    pub fn default_width(categories: usize) -> usize {
        categories.div_ceil(2).clamp(1, 50)
    }

    /// The row of the table that a number in its column stands for: the last one for what is too large, and the first for what is
    /// no index.
    pub(crate) fn category<T: ToPrimitive>(&self, index: T) -> usize {
        index.to_usize().unwrap_or(0).min(self.categories - 1)
    }

    /// Checks the embeddings of an input of a width.
    pub(super) fn check_all(embeddings: &[Self], inputs: usize) -> Result<()> {
        let ordered = embeddings.windows(2).all(|pair| pair[0].column < pair[1].column);
        if !ordered || embeddings.last().is_some_and(|e| e.column >= inputs) {
            return Err(Error::Usage(format!("embeddings: expected columns in order, each once, below {inputs}")));
        }
        for e in embeddings {
            if !(1..=MAX_WIDTH).contains(&e.width) {
                let width = e.width;
                return Err(Error::Usage(format!("--embedding-width {width}: expected 1 to {MAX_WIDTH}")));
            }
            if !(1..=MAX_ROWS).contains(&e.categories) {
                let text = format!("an embedding of {} categories: expected 1 to {MAX_ROWS}", e.categories);
                return Err(Error::Usage(text));
            }
        }
        let encoded = embeddings.iter().fold(inputs - embeddings.len(), |sum, e| sum.saturating_add(e.width));
        if encoded > MAX_WIDTH {
            return Err(Error::Usage(format!(
                "--categorical embedding makes {encoded} inputs of {inputs}: expected at most {MAX_WIDTH}; lower \
                 --embedding-width"
            )));
        }
        Ok(())
    }
}
