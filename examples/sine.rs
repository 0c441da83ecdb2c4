//! Learns a fast sine, from a table in memory. Sines as activations (SIREN, Sitzmann et al. 2020) follow it, where the default
//! network draws a nearly flat line.
//!
//! `cargo run --release --example sine`
#![allow(clippy::print_stdout, reason = "an example prints")]

use fori::{Activation, Experiment, Frame, Init, Result, Task, Which};

/// About ten periods between -1 and 1.
fn signal(x: f64) -> f64 {
    (32.0 * x).sin()
}

/// Points between -1 and 1.
fn grid(points: u32) -> Vec<f64> {
    (0..points).map(|i| 2.0 * (f64::from(i) + 0.5) / f64::from(points) - 1.0).collect()
}

/// The root of the mean squared error between the points that were trained on.
pub(crate) fn train(experiment: Experiment) -> Result<f64> {
    let (xs, between) = (grid(256), grid(999));
    let ys = xs.iter().map(|&x| signal(x)).collect();
    let task = Task::frame(Frame::of_columns(vec![("x", xs), ("y", ys)])?, &["y"]);
    let trained = Experiment { task, ..experiment }.train()?;
    let wanted: Vec<_> = between.iter().map(|&x| signal(x)).collect();
    let predicted = trained.predictor(Which::Best)?.predict_frame(&Frame::of_columns(vec![("x", between)])?)?;
    let squares: f64 = predicted.answers.iter().zip(&wanted).map(|(y, wanted)| (y - wanted).powi(2)).sum();
    Ok((squares / 999.0).sqrt())
}

/// A network of sines, with what `base` says about everything else.
pub(crate) fn siren(base: Experiment) -> Experiment {
    Experiment { activation: Activation::Sin, init: Init::Siren, w0: Init::Siren.default_w0(), ..base }
}

fn main() -> Result<()> {
    let plain = Experiment { steps: 1000, ..Experiment::default() };
    println!("sin:  root mean squared error {:.4}", train(siren(plain.clone()))?);
    println!("gelu: root mean squared error {:.4}", train(plain)?);
    Ok(())
}
