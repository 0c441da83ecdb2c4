//! Arrays of numbers or texts, of several file formats, and the table that they make: the first axis of each counts the rows,
//! and the others are spread over columns.

use std::collections::HashSet;
use std::path::Path;

use super::frame::{Column, Frame, Places, Texts, Values};
use super::names::{count, shown};
use crate::error::{Error, Result};

/// The most columns of a table of arrays: more than a network can read.
const MAX_COLUMNS: usize = 1 << 16;

/// How one element is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Element {
    pub(super) kind: Kind,
    /// Bytes of one element.
    pub(super) size: usize,
    pub(super) big_endian: bool,
}

/// What an element is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Unsigned,
    Signed,
    /// IEEE 754 of 2, 4 or 8 bytes.
    Float,
    /// The upper half of an `f32`.
    BrainFloat,
    /// A text of code points of 4 bytes, padded with zeros.
    Utf32,
    /// A text of bytes, padded with zeros.
    Bytes,
}

/// An array in the bytes of a file.
#[derive(Debug, Clone)]
pub(super) struct Array<'a> {
    pub(super) name: String,
    pub(super) shape: Vec<usize>,
    pub(super) element: Element,
    /// As many as shape and element ask for: [`Array::new`] checks it.
    bytes: &'a [u8],
    /// Whether the first index is the one that changes fastest.
    column_major: bool,
}

impl<'a> Array<'a> {
    /// An array of this shape in just these bytes, or what is wrong with them.
    pub(super) fn new(
        name: impl Into<String>,
        shape: Vec<usize>,
        element: Element,
        bytes: &'a [u8],
    ) -> Result<Self, String> {
        let size = shape.iter().try_fold(element.size, |size, &n| size.checked_mul(n));
        if size != Some(bytes.len()) {
            let (shape, found) = (shape_text(&shape), bytes.len());
            return Err(format!(
                "the shape {shape} with {} an element does not fit its {found} bytes: the file was cut or altered",
                count(element.size, "byte")
            ));
        }
        Ok(Self { name: name.into(), shape, element, bytes, column_major: false })
    }

    /// The same with the first index as the one that changes fastest.
    pub(super) fn column_major(self, column_major: bool) -> Self {
        Self { column_major, ..self }
    }

    /// Columns of its table.
    fn width(&self) -> usize {
        self.shape[1..].iter().product()
    }

    /// Its columns.
    fn columns(&self, numbered: bool) -> Vec<Column> {
        let width = self.width();
        let name = |c| if width == 1 && !numbered { self.name.clone() } else { format!("{}{c}", self.name) };
        if self.column_major || self.element.is_text() {
            return (0..width).map(|c| Column::new(name(c), self.column(c))).collect();
        }
        // Row by row, since a column alone would fetch the whole array through the cache for each of its numbers.
        let mut columns: Vec<_> = (0..width).map(|_| Vec::with_capacity(self.shape[0])).collect();
        for row in self.bytes.chunks_exact(width * self.element.size) {
            for (column, element) in columns.iter_mut().zip(row.chunks_exact(self.element.size)) {
                column.push(self.element.number(element));
            }
        }
        columns.into_iter().enumerate().map(|(c, values)| Column::new(name(c), Values::Numbers(values))).collect()
    }

    /// The values of column `c`.
    fn column(&self, c: usize) -> Values {
        let (first, stride) = if self.column_major { (self.first_of(c), 1) } else { (c, self.width()) };
        let elements = self.bytes.chunks_exact(self.element.size).skip(first).step_by(stride).take(self.shape[0]);
        if self.element.is_text() {
            Values::Texts(Texts::of(elements.map(|bytes| self.element.text(bytes))))
        } else {
            Values::Numbers(elements.map(|bytes| self.element.number(bytes)).collect())
        }
    }

    /// Where column `c` begins if the first index changes fastest.
    fn first_of(&self, c: usize) -> usize {
        let (mut rest, mut first) = (c, 0);
        for axis in (1..self.shape.len()).rev() {
            let stride: usize = self.shape[..axis].iter().product();
            first += rest % self.shape[axis] * stride;
            rest /= self.shape[axis];
        }
        first
    }
}

impl Element {
    fn is_text(self) -> bool {
        matches!(self.kind, Kind::Utf32 | Kind::Bytes)
    }

    /// A number of at most 8 bytes.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "integers beyond 2^53 are rounded, as in any f64; the others have as many bits as are taken"
    )]
    fn number(self, bytes: &[u8]) -> f64 {
        let word = self.word(bytes);
        let unused = 64 - 8 * self.size.min(8);
        match (self.kind, self.size) {
            (Kind::Signed, _) => ((word << unused).cast_signed() >> unused) as f64,
            (Kind::Float, 2) => half(word as u16),
            (Kind::Float, 4) => f64::from(f32::from_bits(word as u32)),
            (Kind::Float, _) => f64::from_bits(word),
            (Kind::BrainFloat, _) => f64::from(f32::from_bits((word as u32) << 16)),
            _ => word as f64,
        }
    }

    fn word(self, bytes: &[u8]) -> u64 {
        let mut little = [0; 8];
        for (place, &byte) in little.iter_mut().zip(bytes) {
            *place = byte;
        }
        if self.big_endian {
            little[..bytes.len().min(8)].reverse();
        }
        u64::from_le_bytes(little)
    }

    /// A text without its padding; `None` where it is empty.
    fn text(self, bytes: &[u8]) -> Option<String> {
        let text: String = if self.kind == Kind::Utf32 {
            let points = bytes.chunks_exact(4).map(|point| u32::try_from(self.word(point)).unwrap_or(0));
            points.map(|point| char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
        } else {
            String::from_utf8_lossy(bytes).into_owned()
        };
        let text = text.trim_end_matches('\0').trim();
        (!text.is_empty()).then(|| text.to_owned())
    }
}

/// A number of IEEE 754 in 16 bits.
fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let size = match exponent {
        0 => fraction * 2_f64.powi(-24),
        31 if fraction > 0.0 => f64::NAN,
        31 => f64::INFINITY,
        _ => (1.0 + fraction / 1024.0) * 2_f64.powi(exponent - 15),
    };
    if bits >> 15 == 0 { size } else { -size }
}

/// The table of arrays: `x` alone in a row is the column `x`, a block of several the columns `x0`, `x1`, ... and the block `x`.
/// `numbered` numbers a single one, too.
///
/// # Errors
/// [`Error::Data`] where they are none, have no rows or not the same number of them, or make too many columns.
pub(super) fn table(path: &Path, arrays: &[Array<'_>], numbered: bool) -> Result<Frame> {
    let refuse = |text: String| Err(Error::Data(format!("{}: {text}", path.display())));
    let Some(first) = arrays.first() else { return refuse("it holds no array; expected one or more".into()) };
    let mut width = 0_usize;
    for array in arrays {
        let (name, shape) = (shown(&array.name), shape_text(&array.shape));
        let Some(&rows) = array.shape.first() else {
            return refuse(format!("the array {name} is a single value; expected rows along the first axis"));
        };
        if array.shape.contains(&0) {
            return refuse(format!("the array {name} of shape {shape} has no elements; expected rows"));
        }
        if rows != first.shape[0] {
            let (other, expected) = (shown(&first.name), first.shape[0]);
            return refuse(format!(
                "the array {name} has {rows} rows, and {other} has {expected}; expected as many of each"
            ));
        }
        width = width.saturating_add(array.width());
    }
    if width > MAX_COLUMNS {
        return refuse(format!("it has {width} columns; expected at most {MAX_COLUMNS}"));
    }
    let mut frame = Frame::new(path, Vec::with_capacity(width), Places::Rows(first.shape[0]));
    for array in arrays {
        let begin = frame.columns.len();
        frame.columns.extend(array.columns(numbered));
        let columns = begin..frame.columns.len();
        if columns.len() > 1 {
            frame.blocks.push((array.name.clone(), columns));
        }
    }
    let mut seen = HashSet::new();
    if let Some(column) = frame.columns.iter().find(|column| !seen.insert(&column.name)) {
        return refuse(format!("two columns are named {}; rename an array", shown(&column.name)));
    }
    Ok(frame)
}

/// A shape as Python writes it.
fn shape_text(shape: &[usize]) -> String {
    let sizes: Vec<_> = shape.iter().map(ToString::to_string).collect();
    format!("({})", sizes.join(", "))
}
