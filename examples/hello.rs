//! Trains a network that tells flowers apart, on the GPU where there is one, and says how good it is.
//!
//! `cargo run --release --example hello`
#![allow(clippy::print_stdout, reason = "an example prints")]

use fori::{Experiment, Loss, Result, TableConfig, Task, Validation};

fn main() -> Result<()> {
    let mut table = TableConfig::new("tests/data/iris.csv", &["species"]);
    table.validation = Some(Validation::Share(0.25));
    let experiment = Experiment { task: Task::Table(table), loss: Loss::SoftmaxCrossEntropy, ..Experiment::default() };
    let trained = Experiment { steps: 1000, ..experiment }.train()?;
    println!("{:?}", trained.scores()[0]);
    Ok(())
}
