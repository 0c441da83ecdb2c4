//! Reads delimited text: RFC 4180 with commas, semicolons or tabs, optional quotes, any line ending, UTF-8 with or without a byte order
//! mark. Blanks around names and fields are dropped and empty lines skipped.

use std::collections::HashMap;
use std::path::Path;

use csv::{ByteRecord, Reader, ReaderBuilder};

use super::frame::{Column, Frame, Places, Texts, Values, number};
use super::names::{count, shown};
use crate::error::{Error, Result};

/// An absent number, as this and other tools write it, in lower case.
const MISSING: [&str; 9] = ["", "na", "n/a", "nan", "null", "<na>", "none", "?", "-"];
/// How many of those stand for an absent text, too; the others may be categories.
const MISSING_TEXTS: usize = 6;

/// The file being read, which every error names.
struct Source<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    delimiter: u8,
}

/// What separates the fields of a file whose name does not say it: a comma where the first line has one outside of quotes, else a
/// semicolon or a tab, whichever is there more often.
pub(super) fn separator(bytes: &[u8]) -> u8 {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes).trim_ascii_start();
    let header = bytes.split(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or_default();
    // Every second part is within quotes.
    let outside = || header.split(|&byte| byte == b'"').step_by(2).flatten();
    let count = |of: u8| outside().filter(|&&byte| byte == of).count();
    match (count(b','), count(b';'), count(b'\t')) {
        (0, semicolons, tabs) if semicolons > tabs => b';',
        (0, _, tabs) if tabs > 0 => b'\t',
        _ => b',',
    }
}

/// What is known of a column after the first pass.
struct Scanned {
    name: String,
    numbers: Vec<f64>,
    marker: Option<String>,
    /// Whether a field is neither a number nor missing.
    is_text: bool,
}

/// The table in the bytes of a file. A column is one of numbers if all its fields are finite numbers or missing. Between
/// semicolons a number may have a decimal comma.
///
/// # Errors
/// [`Error::Data`] if the header is unusable, a row has too few or too many fields, or there is no row.
pub(super) fn read(path: &Path, bytes: &[u8], delimiter: u8) -> Result<Frame> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let source = Source { path, bytes, delimiter };
    let mut reader = source.reader();
    let mut record = ByteRecord::new();
    let mut lines = Lines { bytes, at: 0, line: 1 };
    let empty = || source.error(1, "the file is empty; expected a header and rows of numbers");
    let header = source.next(&mut reader, &mut record, &mut lines)?.ok_or_else(empty)?;
    let names = names_of(&record).map_err(|text| source.error(header, text))?;
    let column = |name| Scanned { name, numbers: Vec::new(), marker: None, is_text: false };
    let mut columns: Vec<_> = names.into_iter().map(column).collect();
    let mut rows = Vec::new();
    while let Some(line) = source.next(&mut reader, &mut record, &mut lines)? {
        let (found, expected) = (record.len(), columns.len());
        if found != expected {
            let expected = count(expected, "field");
            let text = format!("expected {expected}, found {found}; look for a stray separator or open quote");
            return Err(source.error(line, text));
        }
        for (field, column) in record.iter().zip(&mut columns) {
            let add = column.add(field, delimiter == b';');
            add.map_err(|text| source.error(line, format!("column {}: {text}", shown(&column.name))))?;
        }
        rows.push(line);
    }
    if rows.is_empty() {
        let line = lines.of(reader.position().byte());
        return Err(source.error(line, "the file ends after the header; expected rows"));
    }
    let columns = source.columns(columns, rows.len())?;
    Ok(Frame::new(path, columns, Places::Lines(header, rows)))
}

impl Scanned {
    /// Takes a field, or says what is wrong with it.
    fn add(&mut self, field: &[u8], decimal_comma: bool) -> Result<(), String> {
        let text = text_of(field)?;
        let with_point = || number(&text.replacen(',', ".", 1));
        let value = number(text).or_else(|| with_point().filter(|_| decimal_comma));
        if value.is_none() && is_missing(text, MISSING.len()) {
            self.marker.get_or_insert_with(|| text.to_owned());
        } else if value.is_none() {
            self.is_text = true;
        }
        self.numbers.push(value.unwrap_or(f64::NAN));
        Ok(())
    }
}

impl Source<'_> {
    fn reader(&self) -> Reader<&[u8]> {
        ReaderBuilder::new().has_headers(false).flexible(true).delimiter(self.delimiter).from_reader(self.bytes)
    }

    /// Reads the next record and tells its line, counted from 1; `None` at the end.
    fn next(&self, reader: &mut Reader<&[u8]>, record: &mut ByteRecord, lines: &mut Lines<'_>) -> Result<Option<u32>> {
        let line = lines.of(reader.position().byte());
        reader.read_byte_record(record).map(|found| found.then_some(line)).map_err(|e| self.error(line, e))
    }

    /// The columns: those of texts are read in a second pass, since the first may have taken some of their fields for numbers.
    fn columns(&self, scanned: Vec<Scanned>, rows: usize) -> Result<Vec<Column>> {
        let mut texts: Vec<Vec<Option<String>>> = scanned.iter().map(|_| Vec::new()).collect();
        if scanned.iter().any(|column| column.is_text) {
            let records = self.reader().into_byte_records().skip(1);
            for record in records.take(rows) {
                let record = record.map_err(|e| self.error(1, e))?;
                for ((field, column), texts) in record.iter().zip(&scanned).zip(&mut texts) {
                    if column.is_text {
                        let text = text_of(field).map_err(|text| self.error(1, text))?;
                        texts.push((!is_missing(text, MISSING_TEXTS)).then(|| text.to_owned()));
                    }
                }
            }
        }
        let column = |(column, texts): (Scanned, Vec<_>)| Column {
            name: column.name,
            marker: column.marker.unwrap_or_default(),
            values: if column.is_text {
                Values::Texts(Texts::of(texts.into_iter()))
            } else {
                Values::Numbers(column.numbers)
            },
        };
        Ok(scanned.into_iter().zip(texts).map(column).collect())
    }

    fn error(&self, line: u32, text: impl std::fmt::Display) -> Error {
        Error::Data(format!("{}, line {line}: {text}", self.path.display()))
    }
}

/// Counts lines, counted from the bytes because the reader's own line is that of where it stopped, which lies before any
/// empty lines and, where lines end in CRLF, before the last line feed.
struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
    line: u32,
}

impl Lines<'_> {
    /// The line of the record that the reader finds from byte `start` on, which is not before that of the last call.
    fn of(&mut self, start: u64) -> u32 {
        let start = usize::try_from(start).unwrap_or(usize::MAX).clamp(self.at, self.bytes.len());
        let is_break = |byte: &&u8| matches!(byte, b'\r' | b'\n');
        let end = start + self.bytes[start..].iter().take_while(is_break).count();
        let above = &self.bytes[self.at..end];
        let breaks = above.iter().filter(is_break).count() - above.windows(2).filter(|pair| pair == b"\r\n").count();
        self.line = self.line.saturating_add(u32::try_from(breaks).unwrap_or(u32::MAX));
        self.at = end;
        self.line
    }
}

/// The column names in the header, or what is wrong with them.
fn names_of(header: &ByteRecord) -> Result<Vec<String>, String> {
    let mut names = Vec::with_capacity(header.len());
    let mut seen = HashMap::new();
    for (field, number) in header.iter().zip(1..) {
        let name = text_of(field).map_err(|text| format!("name of column {number}: {text}"))?;
        if name.is_empty() {
            return Err(format!("column {number} has no name; name it, or remove the column or the extra comma"));
        }
        if let Some(first) = seen.insert(name, number) {
            return Err(format!("columns {first} and {number} are both named {}; rename or remove one", shown(name)));
        }
        names.push(name.to_owned());
    }
    Ok(names)
}

/// The text of a field without surrounding blanks, or what is wrong with it.
fn text_of(field: &[u8]) -> Result<&str, String> {
    str::from_utf8(field).map(str::trim).map_err(|_| "expected UTF-8 text; save the file as UTF-8".to_owned())
}

/// Whether a field is one of the first `count` markers of an absent value.
fn is_missing(text: &str, count: usize) -> bool {
    MISSING[..count].iter().any(|marker| text.eq_ignore_ascii_case(marker))
}
