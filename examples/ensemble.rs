//! Ten networks at once from ten seeds: where there is no data they differ, and their standard deviation says how unsure the mean
//! is. Draws mean, deviation and data.
//!
//! `cargo run --release --example ensemble -- ensemble.svg`
#![allow(clippy::print_stdout, reason = "an example prints")]

use fori::{Error, Experiment, Frame, Predictions, Result, Task, Which};
use plotters::prelude::*;

/// Points with a little noise, between -1 and 1.
fn data() -> Vec<(f64, f64)> {
    let noise = |i: u32| (f64::from(i) * 12.9898).sin() * 0.1;
    (0..40).map(|i| (f64::from(i) / 19.5 - 1.0, i)).map(|(x, i)| (x, (4.0 * x).sin() + noise(i))).collect()
}

/// Where is predicted: from -2 to 2.
pub(crate) fn places() -> Vec<f64> {
    (0..161).map(|i| f64::from(i) / 40.0 - 2.0).collect()
}

/// Predictions at all places, with what `base` says about everything else.
pub(crate) fn train(base: Experiment) -> Result<Predictions> {
    let (xs, ys) = data().into_iter().unzip();
    let task = Task::frame(Frame::of_columns(vec![("x", xs), ("y", ys)])?, &["y"]);
    let trained =
        Experiment { task, ensemble: 10, hidden: vec![32, 32], batch_size: 20, steps: 2000, ..base }.train()?;
    trained.predictor(Which::Mean)?.predict_frame(&Frame::of_columns(vec![("x", places())])?)
}

fn draw(path: &str, predictions: &Predictions) -> Result<(), Box<dyn std::error::Error>> {
    let root = SVGBackend::new(path, (720, 360)).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .margin(10)
        .x_label_area_size(25)
        .y_label_area_size(35)
        .build_cartesian_2d(-2.0..2.0, -4.0..4.0)?;
    chart.configure_mesh().light_line_style(TRANSPARENT).draw()?;
    let places = places();
    let edge = |sign: f64| {
        let at = |i: usize| (places[i], (predictions.answers[i] + sign * predictions.std[i]).clamp(-4.0, 4.0));
        (0..places.len()).map(at).collect::<Vec<_>>()
    };
    let band: Vec<_> = edge(2.0).into_iter().chain(edge(-2.0).into_iter().rev()).collect();
    chart.draw_series([Polygon::new(band, BLUE.mix(0.2))])?;
    chart.draw_series([PathElement::new(edge(0.0), BLUE.stroke_width(2))])?;
    chart.draw_series(data().into_iter().map(|point| Circle::new(point, 3, BLACK.filled())))?;
    root.present()?;
    Ok(())
}

fn main() -> Result<()> {
    let predictions = train(Experiment::default())?;
    for (i, x) in places().iter().enumerate().step_by(16) {
        println!("x {x:5.1}: {:6.3} ± {:.3}", predictions.answers[i], predictions.std[i]);
    }
    let Some(path) = std::env::args().nth(1) else { return Ok(()) };
    draw(&path, &predictions).map_err(|e| Error::Usage(format!("{path}: {e}; expected a file that can be written")))
}
