//! A loop of one's own over the chunks of an executor: the learning rate is halved whenever a chunk of steps has brought no
//! progress, and training ends when that no longer helps.
//!
//! `cargo run --release --example custom_loop`
#![allow(clippy::print_stdout, reason = "an example prints")]

use fori::arenas::Arenas;
use fori::cpu::CpuExecutor;
use fori::executor::{Chunk, Executor as _};
use fori::trainer::plan_of;
use fori::{Error, Experiment, Result};

/// Steps between two looks at the loss.
const STEPS: u16 = 200;

/// The mean loss and the learning rate of each chunk.
pub(crate) fn train(experiment: &Experiment) -> Result<Vec<(f64, f64)>> {
    // The plan is the train step as data; the arenas are its memory: parameters, optimizer state, data.
    let (tables, plan) = plan_of(experiment, 1)?;
    let arenas = Arenas::initial(&plan, &[experiment.seed], tables.as_ref().map(|tables| &tables.train), 0.0)?;
    let mut hyper = experiment.hyper;
    let mut executor = CpuExecutor::new(plan.clone(), vec![hyper], arenas);
    let mut history: Vec<(f64, f64)> = Vec::new();
    for first_step in (0..experiment.steps).step_by(STEPS.into()) {
        executor.enqueue(Chunk { first_step, steps: STEPS.into(), iters_per_submit: STEPS.into() })?;
        let report = executor.collect()?.ok_or_else(|| Error::Device("expected the report of a chunk".into()))?;
        let loss = report.losses.iter().map(|&loss| f64::from(loss)).sum::<f64>() / f64::from(STEPS);
        let best = history.iter().fold(f64::INFINITY, |best, (loss, _)| best.min(*loss));
        history.push((loss, hyper.learning_rate));
        if loss > 0.99 * best {
            hyper.learning_rate /= 2.0;
            executor = CpuExecutor::new(plan.clone(), vec![hyper], executor.read()?);
        }
        if hyper.learning_rate < 1e-4 {
            break;
        }
    }
    Ok(history)
}

fn main() -> Result<()> {
    for (chunk, (loss, learning_rate)) in train(&Experiment::default())?.iter().enumerate() {
        println!("step {}: loss {loss:.5} with learning rate {learning_rate:.1e}", (chunk + 1) * usize::from(STEPS));
    }
    Ok(())
}
