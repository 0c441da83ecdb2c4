//! The bytes of a file of data, and its format by its name.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use flate2::read::MultiGzDecoder;

use crate::error::{Error, Result};

/// The most that a compressed file may hold: 2 GiB. A few kilobytes can stand for terabytes.
pub(super) const MAX_UNPACKED: u64 = 1 << 31;

/// What a file is, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Csv,
    Tsv,
    Npy,
    Npz,
    Idx,
    Safetensors,
    Parquet,
    Image,
}

impl Format {
    /// By the end of the name, whatever its case; `.gz` after it does not count. Unknown names are those of CSV files.
    pub(super) fn of(path: &Path) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        match extension {
            "tsv" | "tab" => Self::Tsv,
            "npy" => Self::Npy,
            "npz" => Self::Npz,
            "safetensors" => Self::Safetensors,
            "parquet" => Self::Parquet,
            "png" | "jpg" | "jpeg" => Self::Image,
            "idx" => Self::Idx,
            // train-images-idx3-ubyte, train-images.idx3-ubyte
            _ if name.ends_with("ubyte") => Self::Idx,
            _ => Self::Csv,
        }
    }
}

/// The bytes of a file; of a gzip file, those that it holds.
///
/// # Errors
/// [`Error::Io`] if it cannot be read, [`Error::Data`] if it is damaged or holds more than [`MAX_UNPACKED`].
pub(super) fn read(path: &Path) -> Result<Vec<u8>> {
    let bytes = fs::read(path).map_err(|e| Error::io(path, e))?;
    if !bytes.starts_with(b"\x1f\x8b") {
        return Ok(bytes);
    }
    let refuse = |text: String| Error::Data(format!("{}: {text}", path.display()));
    let mut unpacked = Vec::new();
    let mut decoder = MultiGzDecoder::new(bytes.as_slice()).take(MAX_UNPACKED + 1);
    let damaged = |e| refuse(format!("the gzip file is damaged, or was cut: {e}"));
    decoder.read_to_end(&mut unpacked).map_err(damaged)?;
    if unpacked.len() as u64 > MAX_UNPACKED {
        return Err(refuse("it holds more than 2 GiB; unpack it with gunzip".into()));
    }
    Ok(unpacked)
}
