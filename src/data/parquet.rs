//! Reads Parquet files of plain columns.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use parquet::data_type::Decimal;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field;

use super::frame::{Column, Frame, Places, Texts, Values};
use super::names::shown;
use crate::error::{Error, Result};

/// A field: a number, a text, or nothing.
enum Cell {
    Missing,
    Number(f64),
    Text(String),
}

/// A column in the making.
#[derive(Default)]
struct Growing {
    /// NaN for what is no number.
    numbers: Vec<f64>,
    texts: Vec<Option<String>>,
    is_text: bool,
}

/// The table of a Parquet file. Numbers and times are numbers, booleans 0 and 1, dates days since 1970, null is a missing value.
///
/// # Errors
/// [`Error::Data`] where it is damaged or has columns of lists or of structs.
pub(super) fn read(path: &Path, bytes: Vec<u8>) -> Result<Frame> {
    let refuse = |text: String| Error::Data(format!("{}: {text}", path.display()));
    // The crate trusts much of what a file says of itself: a damaged one may make it panic.
    let parsed = catch_unwind(AssertUnwindSafe(|| columns(bytes)));
    let (columns, rows) = parsed.unwrap_or_else(|_| Err("the Parquet file is damaged".into())).map_err(refuse)?;
    if rows == 0 || columns.is_empty() {
        return Err(refuse("it has no rows; expected some".into()));
    }
    Ok(Frame::new(path, columns, Places::Rows(rows)))
}

/// The columns of a file and how many rows they have, or what is wrong with it.
fn columns(bytes: Vec<u8>) -> Result<(Vec<Column>, usize), String> {
    let damaged = |e: ParquetError| format!("expected a Parquet file: {e}");
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).map_err(damaged)?;
    let schema = reader.metadata().file_metadata().schema();
    let names: Vec<_> = schema.get_fields().iter().map(|field| field.name().to_owned()).collect();
    let mut growing: Vec<_> = names.iter().map(|_| Growing::default()).collect();
    let mut rows = 0;
    for row in reader.get_row_iter(None).map_err(damaged)? {
        let row = row.map_err(damaged)?;
        for ((name, field), column) in row.get_column_iter().zip(&mut growing) {
            let cell = cell(field);
            column.add(cell.map_err(|text| format!("row {}: column {}: {text}", rows + 1, shown(name)))?);
        }
        rows += 1;
    }
    let whole = |column: &Growing| column.numbers.len() == rows;
    if !growing.iter().all(whole) {
        return Err("its columns are not of the same length: it is damaged".into());
    }
    Ok((names.into_iter().zip(growing).map(|(name, column)| Column::new(name, column.values())).collect(), rows))
}

impl Growing {
    fn add(&mut self, cell: Cell) {
        let (number, text) = match cell {
            Cell::Missing => (f64::NAN, None),
            Cell::Number(number) => (number, None),
            Cell::Text(text) => (f64::NAN, Some(text)),
        };
        // Of a column of numbers, nothing is kept twice.
        if text.is_some() && !self.is_text {
            self.is_text = true;
            self.texts.resize(self.numbers.len(), None);
        }
        self.numbers.push(number);
        if self.is_text {
            self.texts.push(text);
        }
    }

    fn values(self) -> Values {
        if self.is_text { Values::Texts(Texts::of(self.texts.into_iter())) } else { Values::Numbers(self.numbers) }
    }
}

/// What a field holds, or why it is not read.
#[expect(clippy::cast_precision_loss, reason = "integers beyond 2^53 are rounded, as in any f64")]
fn cell(field: &Field) -> Result<Cell, String> {
    let number = match field {
        Field::Null => return Ok(Cell::Missing),
        Field::Str(text) => return Ok(text_cell(text)),
        Field::Bytes(bytes) => return Ok(text_cell(&String::from_utf8_lossy(bytes.data()))),
        Field::Bool(value) => f64::from(u8::from(*value)),
        Field::Byte(value) => f64::from(*value),
        Field::Short(value) => f64::from(*value),
        Field::Int(value) | Field::Date(value) | Field::TimeMillis(value) => f64::from(*value),
        Field::Long(value)
        | Field::TimeMicros(value)
        | Field::TimestampMillis(value)
        | Field::TimestampMicros(value) => *value as f64,
        Field::UByte(value) => f64::from(*value),
        Field::UShort(value) => f64::from(*value),
        Field::UInt(value) => f64::from(*value),
        Field::ULong(value) => *value as f64,
        Field::Float16(value) => value.to_f64(),
        Field::Float(value) => f64::from(*value),
        Field::Double(value) => *value,
        Field::Decimal(value) => decimal(value),
        Field::Group(_) | Field::ListInternal(_) | Field::MapInternal(_) => {
            return Err(
                "lists and structs are not read; leave such columns out of the file, or spread them over columns"
                    .into(),
            );
        }
    };
    Ok(Cell::Number(number))
}

fn text_cell(text: &str) -> Cell {
    let text = text.trim();
    if text.is_empty() { Cell::Missing } else { Cell::Text(text.to_owned()) }
}

/// A decimal: an integer in two's complement, highest byte first, times a power of ten.
fn decimal(value: &Decimal) -> f64 {
    let bytes = value.data();
    let sign = if bytes.first().is_some_and(|byte| byte >> 7 == 1) { -1.0 } else { 0.0 };
    let integer = bytes.iter().fold(sign, |sum, &byte| sum * 256.0 + f64::from(byte));
    integer / 10_f64.powi(value.scale())
}
