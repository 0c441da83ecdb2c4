//! Reads an image as a table of its pixels: `x`, `y`, `r`, `g`, `b`.

use std::io::Cursor;
use std::path::Path;

use png::Transformations;
use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

use super::frame::{Column, Frame, Places, Values};
use crate::error::{Error, Result};

/// The most pixels that are read, since each is a row of five numbers.
const MAX_PIXELS: usize = 1 << 25;

/// The pixels of an image, row by row, each of `channels` bytes: gray, or red, green and blue, perhaps with more after them.
struct Pixels {
    width: usize,
    channels: usize,
    bytes: Vec<u8>,
}

/// Whether bytes begin as those of a PNG or JPEG file.
pub(super) fn recognizes(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x89PNG") || bytes.starts_with(b"\xFF\xD8\xFF")
}

/// The pixels of a PNG or JPEG file, row by row. Coordinates of their centers go from -1 to 1, to the right and down; colors
/// from 0 to 1. Transparency is dropped, and of 16 bits the lower 8.
///
/// # Errors
/// [`Error::Data`] where it is no such file, or has too many pixels.
pub(super) fn read(path: &Path, bytes: &[u8]) -> Result<Frame> {
    let pixels = if bytes.starts_with(b"\x89PNG") { of_png(bytes) } else { of_jpeg(bytes) };
    let pixels = pixels.map_err(|text| Error::Data(format!("{}: {text}", path.display())))?;
    let rows = pixels.bytes.len() / pixels.channels;
    let height = rows / pixels.width;
    let column = |name: &str, values: Vec<f64>| Column::new(name, Values::Numbers(values));
    let color = |channel: usize| {
        let channel = if pixels.channels < 3 { 0 } else { channel };
        pixels.bytes.iter().skip(channel).step_by(pixels.channels).map(|&byte| f64::from(byte) / 255.0).collect()
    };
    let columns = vec![
        column("x", (0..rows).map(|i| center(i % pixels.width, pixels.width)).collect()),
        column("y", (0..rows).map(|i| center(i / pixels.width, height)).collect()),
        column("r", color(0)),
        column("g", color(1)),
        column("b", color(2)),
    ];
    let mut frame = Frame::new(path, columns, Places::Rows(rows));
    frame.targets = ["r", "g", "b"].map(String::from).into();
    Ok(frame)
}

/// Where the center of pixel `at` of a row or column of `of` pixels is, from -1 to 1.
pub(crate) fn center(at: usize, of: usize) -> f64 {
    (2.0 * number(at) + 1.0) / number(of) - 1.0
}

#[expect(clippy::cast_precision_loss, reason = "a count of pixels is far below 2^53")]
fn number(count: usize) -> f64 {
    count as f64
}

fn of_png(bytes: &[u8]) -> Result<Pixels, String> {
    let damaged = |e: png::DecodingError| format!("expected a PNG image: {e}");
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), png::Limits { bytes: 8 * MAX_PIXELS });
    decoder.set_transformations(Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().map_err(damaged)?;
    let (width, height) = (reader.info().width as usize, reader.info().height as usize);
    let size = check_size(width, height)?;
    let (color, _) = reader.output_color_type();
    let mut pixels = Pixels { width, channels: color.samples(), bytes: vec![0; size * color.samples()] };
    reader.next_frame(&mut pixels.bytes).map_err(damaged)?;
    Ok(pixels)
}

fn of_jpeg(bytes: &[u8]) -> Result<Pixels, String> {
    let damaged = |e: zune_jpeg::errors::DecodeErrors| format!("expected a PNG or JPEG image: {e}");
    let options = DecoderOptions::default().jpeg_set_out_colorspace(ColorSpace::RGB).set_strict_mode(true);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(damaged)?;
    let info = decoder.info().ok_or("expected a PNG or JPEG image, found no size")?;
    let (width, height) = (usize::from(info.width), usize::from(info.height));
    let size = check_size(width, height)?;
    let bytes = decoder.decode().map_err(damaged)?;
    if bytes.len() != 3 * size {
        return Err("expected a JPEG image in gray or in colors".into());
    }
    Ok(Pixels { width, channels: 3, bytes })
}

/// The number of pixels, or why they are too many.
fn check_size(width: usize, height: usize) -> Result<usize, String> {
    let size = width.checked_mul(height).filter(|size| (1..=MAX_PIXELS).contains(size));
    size.ok_or_else(|| format!("it has {width} by {height} pixels; expected 1 to {MAX_PIXELS} in all: scale it down"))
}
