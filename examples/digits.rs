//! Reads handwritten digits of 8 by 8 pixels, and shows of some how sure it is.
//!
//! `cargo run --release --example digits`
#![allow(clippy::print_stdout, reason = "an example prints")]

use fori::{Experiment, Loss, Result, TableConfig, Task, Trained, Validation, Which, read_frame};

/// Trains with what `base` says about everything else.
pub(crate) fn train(base: Experiment) -> Result<Trained> {
    let table = TableConfig::new("tests/data/digits.csv", &["digit"]);
    let task = Task::Table(TableConfig { validation: Some(Validation::Share(0.25)), ..table });
    Experiment { task, loss: Loss::SoftmaxCrossEntropy, steps: 2000, ..base }.train()
}

fn main() -> Result<()> {
    let trained = train(Experiment::default())?;
    let (name, value) = trained.scores()[0].headline();
    println!("{name} {value:.4} on {}", trained.executor);
    let frame = read_frame("tests/data/digits.csv".as_ref(), None)?;
    let predictions = trained.predictor(Which::Best)?.predict_frame(&frame)?;
    for (image, probabilities) in predictions.answers.chunks_exact(10).enumerate().take(10) {
        let best = (0..10).fold(0, |best, digit| if probabilities[digit] > probabilities[best] { digit } else { best });
        println!("image {image} is a {best} with probability {:.4}", probabilities[best]);
    }
    Ok(())
}
