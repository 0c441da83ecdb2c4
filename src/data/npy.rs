//! Reads NumPy's files: one array (`.npy`), or several in a zip archive (`.npz`).
//!
//! Reference: NumPy enhancement proposal 1, "A simple file format for NumPy arrays". Its pickled objects are refused: they are
//! programs.

use std::io::Read;
use std::path::Path;

use flate2::bufread::DeflateDecoder;
use rawzip::{CompressionMethod, ZipArchive};

use super::array::{self, Array, Element, Kind};
use super::frame::Frame;
use super::names::shown;
use super::source::MAX_UNPACKED;
use crate::error::{Error, Result};

const MAGIC: &[u8] = b"\x93NUMPY";

/// The table of an `.npy` file: its columns are `c0`, `c1`, ...
pub(super) fn read(path: &Path, bytes: &[u8]) -> Result<Frame> {
    let array = parse("c", bytes).map_err(|text| Error::Data(format!("{}: {text}", path.display())))?;
    array::table(path, &[array], true)
}

/// The table of an `.npz` file, whose arrays have the names that they were saved with.
pub(super) fn read_archive(path: &Path, bytes: &[u8]) -> Result<Frame> {
    let refuse = |text: String| Error::Data(format!("{}: {text}", path.display()));
    let files = unpack(bytes).map_err(refuse)?;
    let in_array = |name: &str, text| refuse(format!("array {}: {text}", shown(name)));
    let arrays = files.iter().map(|(name, bytes)| parse(name, bytes).map_err(|text| in_array(name, text)));
    array::table(path, &arrays.collect::<Result<Vec<_>>>()?, false)
}

/// The `.npy` files in an archive by their names, or what is wrong with it.
fn unpack(bytes: &[u8]) -> Result<Vec<(String, Vec<u8>)>, String> {
    let no_archive = |e: rawzip::Error| format!("expected an archive of NumPy arrays: {e}");
    let archive = ZipArchive::from_slice(bytes).map_err(no_archive)?;
    let mut entries = archive.entries();
    let mut files = Vec::new();
    let mut left = MAX_UNPACKED;
    while let Some(entry) = entries.next_entry().map_err(no_archive)? {
        let path = entry.file_path();
        let name = path.try_normalize().map_err(no_archive)?;
        let Some(name) = name.as_ref().strip_suffix(".npy").map(String::from) else { continue };
        let packed = archive.get_entry(entry.wayfinder()).map_err(no_archive)?;
        let reader: Box<dyn Read> = match entry.compression_method() {
            CompressionMethod::Store => Box::new(packed.data()),
            CompressionMethod::Deflate => Box::new(DeflateDecoder::new(packed.data())),
            other => {
                return Err(format!("array {}: the compression {other:?} is not read; use np.savez", shown(&name)));
            }
        };
        let mut unpacked = Vec::new();
        let damaged = |e| format!("array {}: it is damaged, or was cut: {e}", shown(&name));
        packed.verifying_reader(reader).take(left + 1).read_to_end(&mut unpacked).map_err(damaged)?;
        let too_large = "its arrays take more than 2 GiB: save them as several files";
        left = left.checked_sub(unpacked.len() as u64).ok_or(too_large)?;
        files.push((name, unpacked));
    }
    Ok(files)
}

/// The array in the bytes of an `.npy` file, or what is wrong with them.
fn parse<'a>(name: &str, bytes: &'a [u8]) -> Result<Array<'a>, String> {
    let no_file = || "it is no .npy file, or it was cut: expected the header of a NumPy array".to_owned();
    let rest = bytes.strip_prefix(MAGIC).ok_or_else(no_file)?;
    let (len, rest) = match rest {
        [1, _, a, b, rest @ ..] => (usize::from(u16::from_le_bytes([*a, *b])), rest),
        [2 | 3, _, a, b, c, d, rest @ ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, rest),
        _ => return Err(no_file()),
    };
    let (header, body) = rest.split_at_checked(len).ok_or_else(no_file)?;
    let header = str::from_utf8(header).map_err(|_| no_file())?;
    let unusable = |what: &str| format!("its header cannot be used: {what} in {}", shown(header.trim_end()));
    let kind = value(header, "descr").ok_or_else(|| unusable("no descr"))?;
    let element = element(kind)?;
    let column_major = value(header, "fortran_order").map(|value| value.starts_with("True"));
    let shape = value(header, "shape").and_then(shape).ok_or_else(|| unusable("no shape"))?;
    let array = Array::new(name, shape, element, body)?;
    Ok(array.column_major(column_major.ok_or_else(|| unusable("no fortran_order"))?))
}

/// What follows a key in the text of a Python dictionary.
fn value<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let after = ['\'', '"'].iter().find_map(|quote| header.split_once(&format!("{quote}{key}{quote}")));
    after?.1.trim_start().strip_prefix(':').map(str::trim_start)
}

/// The numbers of a tuple.
fn shape(text: &str) -> Option<Vec<usize>> {
    let inner = text.strip_prefix('(')?.split_once(')')?.0.trim();
    let inner = inner.strip_suffix(',').unwrap_or(inner);
    if inner.is_empty() {
        return Some(Vec::new());
    }
    inner.split(',').map(|size| size.trim().parse().ok()).collect()
}

/// The element that a `descr` stands for, as `'<f8'`, or why it is not read.
fn element(descr: &str) -> Result<Element, String> {
    let save = "save numbers or texts";
    if descr.starts_with('[') {
        return Err(format!("arrays of records are not read; {save}, each column as an array of its own"));
    }
    let name = descr.strip_prefix(['\'', '"']).and_then(|rest| rest.split(['\'', '"']).next()).unwrap_or_default();
    let big_endian = name.starts_with('>');
    let code = name.trim_start_matches(['<', '>', '|', '=']);
    let size = code.get(1..).and_then(|size| size.parse::<usize>().ok());
    let number = |kind, sizes: &[usize]| size.filter(|size| sizes.contains(size)).map(|size| (kind, size));
    let found = match code.chars().next() {
        Some('b') => number(Kind::Unsigned, &[1]),
        Some('u') => number(Kind::Unsigned, &[1, 2, 4, 8]),
        Some('i') => number(Kind::Signed, &[1, 2, 4, 8]),
        Some('f') => number(Kind::Float, &[2, 4, 8]),
        Some('S') => size.filter(|&size| size > 0).map(|size| (Kind::Bytes, size)),
        Some('U') => size.filter(|&size| size > 0).and_then(|size| Some((Kind::Utf32, size.checked_mul(4)?))),
        Some('O') => return Err(format!("pickled Python objects are not read, since they may run anything; {save}")),
        _ => None,
    };
    let (kind, size) = found.ok_or_else(|| format!("elements of the type {} are not read; {save}", shown(name)))?;
    Ok(Element { kind, size, big_endian })
}
