//! Measures how fast each way of walking the train step is on this machine.
//!
//! All ways start from the same state and first run to a common step, where their losses are compared. Then they take
//! turns, round after round, so that what else the machine does falls on all of them. Invariant: every figure of a [`Bench`]
//! comes from one such run, and the time to the first step is never part of the speed.

mod contest;
mod figures;
mod helper;
mod local;

use std::sync::atomic::AtomicBool;
use std::time::Duration;

pub use contest::run;
pub use figures::{Bench, Figures, Row, Spread};
pub use helper::{Helper, serve};

use crate::config::TrainConfig;

/// What is measured, and for how long.
#[derive(Debug, Clone)]
pub struct BenchConfig {
    /// The network, its data, and the device. `executor` and `steps` play no part.
    pub train: TrainConfig,
    /// Turns of each way. Default 5.
    pub rounds: usize,
    /// The time of a turn. Default 0.5 s.
    pub turn: Duration,
    /// Models of the ensemble; `None` chooses by the adapter.
    pub models: Option<usize>,
    /// The process that runs the ensemble where this one keeps a software adapter to a single thread.
    pub helper: Option<Helper>,
}

impl Default for BenchConfig {
    fn default() -> Self {
        let (rounds, turn) = (5, Duration::from_millis(500));
        Self { train: TrainConfig::default(), rounds, turn, models: None, helper: None }
    }
}

/// A way of walking the train step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Each op of each step in a submission of its own.
    OpByOp,
    /// So many recorded steps in a submission.
    Recorded(usize),
    /// The loop in one dispatch.
    Persistent,
    /// The loop in one dispatch for so many models.
    Ensemble(usize),
    /// Plain Rust.
    Cpu,
}

impl Way {
    /// All ways, in the order of the table.
    pub fn all(models: usize) -> Vec<Self> {
        let recorded = [1, 10, 100, 1_000, 10_000].map(Self::Recorded);
        [Self::OpByOp]
            .into_iter()
            .chain(recorded)
            .chain([Self::Persistent, Self::Ensemble(models), Self::Cpu])
            .collect()
    }

    /// Its name in the table.
    pub fn name(self) -> String {
        match self {
            Self::OpByOp => "one submission per op".into(),
            Self::Recorded(1) => "one submission per step".into(),
            Self::Recorded(steps @ 1_000..) => format!("{},{:03} steps per submission", steps / 1_000, steps % 1_000),
            Self::Recorded(steps) => format!("{steps} steps per submission"),
            Self::Persistent => "persistent".into(),
            Self::Ensemble(models) => format!("persistent, ensemble of {models}"),
            Self::Cpu => "cpu".into(),
        }
    }

    /// The run that it belongs to: the ensemble replaces what the config says of models.
    fn config(self, config: &TrainConfig) -> TrainConfig {
        match self {
            Self::Ensemble(models) => TrainConfig { ensemble: models, sweep: Vec::new(), ..config.clone() },
            _ => config.clone(),
        }
    }
}

/// What the benchmark tells of its progress.
pub trait Observer {
    /// A way made its first step, after so many seconds; or why it cannot run.
    fn prepared(&mut self, name: &str, first_step: Result<f64, &str>);

    /// A round begins.
    fn round(&mut self, round: usize, of: usize);

    /// Something that the user should know.
    fn notice(&mut self, text: &str);
}

/// Set by a signal.
pub type Stop<'a> = &'a AtomicBool;
