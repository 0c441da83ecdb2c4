//! What was learned of an image, to the right of the original.

use std::path::Path;

use crate::cli::chart::{Format, Target};
use crate::cli::output::say;
use crate::config::Task;
use crate::data::{Frame, Values, center, read_frame};
use crate::error::{Error, Result};
use crate::network::{Predictor, narrow};

/// A picture: the bytes of its pixels, red, green and blue, row by row.
struct Pixels {
    width: usize,
    bytes: Vec<u8>,
}

/// The side of what is drawn where there is no original.
const ALONE: usize = 256;
/// Small images are drawn this large, by whole pixels.
const LEAST: usize = 256;
/// White between the two.
const GAP: usize = 8;

/// Writes the picture, and says what it shows.
pub(super) fn draw(predictor: &Predictor, task: &Task, data: Option<&Path>, target: &Target) -> Result<String> {
    if target.format == Format::Svg {
        let text = "--out: an image is drawn as pixels: expected a name that ends in .png";
        return Err(Error::Usage(text.into()));
    }
    let Some(original) = original(task, data)? else {
        let centers = grid(ALONE, ALONE);
        let learned = of_answers(ALONE, predictor.predict(&centers).answers.iter().copied());
        target.write(&png(&learned)?)?;
        return Ok(format!("{ALONE} by {ALONE} pixels, without the original"));
    };
    let height = original.bytes.len() / 3 / original.width;
    let answers = predictor.predict(&grid(original.width, height)).answers;
    let learned = of_answers(original.width, answers.iter().copied());
    let errors = learned.bytes.iter().zip(&original.bytes).map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2));
    #[expect(clippy::cast_precision_loss, reason = "a count of pixels is far below 2^53")]
    let mean = errors.sum::<f64>() / original.bytes.len() as f64;
    target.write(&png(&beside(&original, &learned))?)?;
    Ok(format!(
        "the original, and what was learned to its right, PSNR {:.1} dB",
        10.0 * (255.0_f64.powi(2) / mean).log10()
    ))
}

/// The image that was named, or the one that was learned, if it is still there.
fn original(task: &Task, data: Option<&Path>) -> Result<Option<Pixels>> {
    let learned = if let Task::Image(image) = task { Some(image.path.as_path()) } else { None };
    let Some(path) = data.or(learned) else { return Ok(None) };
    match read_frame(path, None) {
        Ok(frame) => of_frame(&frame).map(Some),
        Err(Error::Io { source, .. }) if data.is_none() => {
            say(format_args!("note: {}: {source}; name the original with --data to have it beside", path.display()));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The pixels of a table that was read from an image.
fn of_frame(frame: &Frame) -> Result<Pixels> {
    let column = |name| match frame.column(name).map(|column| &column.values) {
        Some(Values::Numbers(values)) => Ok(values),
        _ => Err(Error::Data(format!("{}: expected a PNG or JPEG image", frame.path.display()))),
    };
    let (y, [r, g, b]) = (column("y")?, [column("r")?, column("g")?, column("b")?]);
    let width = y.iter().take_while(|at| **at == y[0]).count();
    Ok(of_answers(width, r.iter().zip(g).zip(b).flat_map(|((r, g), b)| [*r, *g, *b])))
}

/// Colors from 0 to 1.
fn of_answers(width: usize, colors: impl Iterator<Item = f64>) -> Pixels {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 255")]
    let byte = |color: f64| (color.clamp(0.0, 1.0) * 255.0).round() as u8;
    Pixels { width, bytes: colors.map(byte).collect() }
}

/// The centers of pixels, as the columns `x` and `y` of an image.
fn grid(width: usize, height: usize) -> Vec<f32> {
    let place = |at: usize, of: usize| narrow(center(at, of));
    (0..height).flat_map(|y| (0..width).flat_map(move |x| [place(x, width), place(y, height)])).collect()
}

/// One to the left of the other, which is as large.
fn beside(left: &Pixels, right: &Pixels) -> Pixels {
    let rows = left.bytes.chunks_exact(3 * left.width).zip(right.bytes.chunks_exact(3 * right.width));
    let height = left.bytes.len() / 3 / left.width;
    let times = LEAST.div_ceil(left.width.max(height));
    let enlarged = |row: &[u8]| row.chunks_exact(3).flat_map(|pixel| pixel.repeat(times)).collect::<Vec<_>>();
    let row = |(left, right)| [enlarged(left), vec![255; 3 * GAP], enlarged(right)].concat().repeat(times);
    Pixels { width: 2 * times * left.width + GAP, bytes: rows.flat_map(row).collect() }
}

/// The bytes of the file.
fn png(pixels: &Pixels) -> Result<Vec<u8>> {
    let refuse = |text: String| Error::Data(format!("the picture cannot be made: {text}"));
    let size = |length: usize| u32::try_from(length).map_err(|e| refuse(e.to_string()));
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, size(pixels.width)?, size(pixels.bytes.len() / 3 / pixels.width)?);
    encoder.set_color(png::ColorType::Rgb);
    let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(&pixels.bytes));
    written.map_err(|e| refuse(e.to_string()))?;
    Ok(bytes)
}
