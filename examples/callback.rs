//! A function that is called at the end of each chunk: it shows how training goes, and ends it when the loss is small enough.
//!
//! `cargo run --release --example callback`
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::ops::ControlFlow;

use fori::{Experiment, Result, Trained};

/// Trains until the mean loss of a chunk is below `wanted`, and shows what `show` is told.
pub(crate) fn train(experiment: Experiment, wanted: f64, mut show: impl FnMut(u64, f64)) -> Result<Trained> {
    experiment.train_with(|chunk| {
        let loss = chunk.mean_loss(0);
        show(chunk.step, loss);
        if loss < wanted { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
}

fn main() -> Result<()> {
    let trained = train(Experiment::default(), 0.015, |step, loss| println!("step {step}: loss {loss:.4}"))?;
    println!("ended after {} steps with loss {:.4}", trained.outcome.steps, trained.outcome.final_losses[0]);
    Ok(())
}
