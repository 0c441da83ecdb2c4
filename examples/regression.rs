//! Predicts numbers: the progression of diabetes after a year from ten measurements. Training stops when rows that are held back
//! are predicted no better, and keeps the parameters that predicted them best.
//!
//! `cargo run --release --example regression`
#![allow(clippy::print_stdout, reason = "an example prints")]

use fori::{Experiment, Result, TableConfig, Task, Trained, ValidateConfig, Validation, Which, read_frame};

/// Trains with what `base` says about everything else.
pub(crate) fn train(base: Experiment) -> Result<Trained> {
    let table = TableConfig::new("tests/data/diabetes.csv", &["progression"]);
    let task = Task::Table(TableConfig { validation: Some(Validation::Share(0.25)), ..table });
    let validate = ValidateConfig { patience: Some(10), ..ValidateConfig::default() };
    Experiment { task, validate, hidden: vec![32], steps: 3000, ..base }.train()
}

fn main() -> Result<()> {
    let trained = train(Experiment::default())?;
    println!("stopped after {} steps", trained.outcome.steps);
    for (name, value) in trained.scores()[0].named() {
        println!("{name} {value:.3}");
    }
    let frame = read_frame("tests/data/diabetes.csv".as_ref(), None)?;
    let predictions = trained.predictor(Which::Best)?.predict_frame(&frame)?;
    for (row, predicted) in predictions.answers.iter().enumerate().take(5) {
        let found = frame.column("progression").and_then(|column| column.text(row)).unwrap_or_default();
        println!("patient {row}: predicted {predicted:.0}, found {found}");
    }
    Ok(())
}
