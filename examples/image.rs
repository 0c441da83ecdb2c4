//! Learns an image: from the coordinates of a pixel to its color, through random Fourier features (Tancik et al. 2020). Draws what
//! was learned, twice as large.
//!
//! `cargo run --release --example image -- learned.png`
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::fs::File;

use fori::{
    Error, Experiment, Frame, ImageConfig, InputEncoding, LayerOptions, Predictor, Result, Task, Trained, Which,
};

/// Trains with what `base` says about everything else.
pub(crate) fn train(base: Experiment) -> Result<Trained> {
    let task = Task::Image(ImageConfig { path: "examples/image.png".into(), validation: None });
    let encoding = InputEncoding::Fourier { features: 32, scale: 1.0 };
    Experiment { task, layers: LayerOptions { encoding, ..base.layers.clone() }, steps: 3000, ..base }.train()
}

/// The bytes of a picture of this width and height, red, green and blue of each pixel.
pub(crate) fn draw(predictor: &Predictor, size: u32) -> Result<Vec<u8>> {
    let place = |i: u32| (2.0 * f64::from(i) + 1.0) / f64::from(size) - 1.0;
    let xs = (0..size * size).map(|i| place(i % size)).collect();
    let ys = (0..size * size).map(|i| place(i / size)).collect();
    let colors = predictor.predict_frame(&Frame::of_columns(vec![("x", xs), ("y", ys)])?)?.answers;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a color from 0 to 1 becomes a byte")]
    Ok(colors.iter().map(|color| (255.0 * color.clamp(0.0, 1.0)).round() as u8).collect())
}

fn main() -> Result<()> {
    let trained = train(Experiment::default())?;
    // The loss is the mean squared error of colors from 0 to 1.
    let loss = trained.train_losses.as_ref().map_or(f64::NAN, |losses| losses[0]);
    println!("peak signal-to-noise ratio {:.1} dB", -10.0 * loss.log10());
    let Some(path) = std::env::args().nth(1) else { return Ok(()) };
    let pixels = draw(&trained.predictor(Which::Best)?, 96)?;
    let mut encoder = png::Encoder::new(File::create(&path).map_err(|e| Error::io(&path, e))?, 96, 96);
    encoder.set_color(png::ColorType::Rgb);
    let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(&pixels));
    written.map_err(|e| Error::io(&path, e.into()))
}
