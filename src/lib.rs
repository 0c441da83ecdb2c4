//! Trains small neural networks on any GPU through WebGPU, with the whole training loop on the device.
//!
//! Small networks are bound by launches, not by arithmetic. So every op of the train step is a WGSL compute shader, and the host
//! hands the device one step, thousands of recorded steps, or the whole loop as one kernel.
//!
//! ```text
//!    flags, TOML, Experiment                      a table, an image, or a built-in task
//!              |  config                                     |  data
//!              v                                             v
//!    +------------------+      +---------------------+      +----------------------+
//!    | spec, rng        |      | plan                |      | shader               |
//!    | network, loss,   +----->| ops, tiles, layout  +----->| WGSL of the plan,    |   pure: no device
//!    | optimizer, init  |      | of the arenas       |      | checked by naga      |
//!    +------------------+      +----------+----------+      +----------+-----------+
//!                                         |                            |
//!                   +---------------------+----------+-----------------+
//!                   v                                v                 v
//!           +--------------+                 +--------------+  +---------------+
//!           | cpu          |                 | recorded     |  | persistent    |      executor, gpu, cpu:
//!           | plain Rust,  |                 | an op is a   |  | the loop is   |      one list of ops,
//!           | f32, or f64  |                 | dispatch     |  | one dispatch  |      three ways to walk it
//!           | as oracle    |                 |              |  |               |
//!           +-------+------+                 +-------+------+  +-------+-------+
//!                   +---------------------+----------+-----------------+
//!                                         v  losses, and how many steps the device counted
//!           +----------------------------------------------------------------------+
//!           | run: submit a chunk, verify the count, report, validate, save;       |      run, trainer, recover,
//!           | go back to the last good state where steps are missing               |      pace, validation
//!           +----------+----------------------+------------------------+-----------+
//!                      v                      v                        v
//!            metrics, tensorboard,       checkpoint ---------->  network: predict, evaluate,
//!            bench, cli                  (resume goes on)        export, import, web
//! ```
//!
//! Modules import one way only, down this drawing; `wgpu` is named in [`gpu`] alone, `clap` in [`cli`], `naga` in [`shader`].
//!
//! Words: a *step* is one parameter update. A *plan* is the train step as data: an ordered list of *ops*, each cut into *tiles*
//! of one workgroup. An *arena* is a storage buffer by its role. An *executor* runs a plan; a *submission* is one queue submit,
//! a *chunk* the steps between two visits to the host. An *ensemble* is several models trained by one plan.
//!
//! Invariants: results do not depend on how steps are chunked; a step is reported once, in order, after the device has counted it;
//! the f64 oracle in [`cpu`] computes what each kernel must.
//!
//! As a library, an [`Experiment`] says what is trained, a [`Trainer`] trains it, and [`Trained`] tells how it went and predicts:
//!
//! ```
//! use fori::{ExecutorChoice, Experiment, Loss, Result, TableConfig, Task, Validation, Which, read_frame};
//!
//! fn main() -> Result<()> {
//!     let mut table = TableConfig::new("tests/data/iris.csv", &["species"]);
//!     table.validation = Some(Validation::Share(0.25));
//!     // `ExecutorChoice::Auto`, the default, takes the GPU where there is one.
//!     let mut experiment = Experiment { task: Task::Table(table), executor: ExecutorChoice::Cpu, ..Experiment::default() };
//!     experiment.loss = Loss::SoftmaxCrossEntropy;
//!     experiment.steps = 500;
//!     let trained = experiment.train()?;
//!     let (name, value) = trained.scores()[0].headline();
//!     assert!(name == "accuracy" && value > 0.9);
//!     let predictions = trained.predictor(Which::Best)?.predict_frame(&read_frame("tests/data/iris.csv".as_ref(), None)?)?;
//!     assert_eq!(predictions.answers.len(), 150 * 3); // a probability per flower and species
//!     Ok(())
//! }
//! ```
//!
//! `examples/` has more. What is named at the root is all that most programs need; the modules have the parts.

pub mod arenas;
pub mod bench;
pub mod calibrate;
pub mod checkpoint;
pub mod cli;
pub mod config;
pub mod cpu;
pub mod data;
pub mod doctor;
pub mod error;
pub mod evaluate;
pub mod executor;
pub mod export;
pub mod files;
pub mod gpu;
pub mod import;
pub mod interrupt;
pub mod metrics;
pub mod network;
pub mod outcome;
pub mod pace;
pub mod plan;
pub mod real;
pub mod recover;
pub mod rng;
pub mod run;
pub mod score;
pub mod shader;
pub mod spec;
pub mod tensorboard;
pub mod trainer;
pub mod tune;
pub mod validation;
pub mod web;

pub use config::{
    ExecutorChoice, ImageConfig, TableConfig, Task, TrainConfig as Experiment, ValidateConfig, Validation,
};
pub use data::{Frame, read_frame};
pub use error::{Error, Result};
pub use network::{Network, Predictions, Predictor, Which};
pub use run::{Observer, Silent};
pub use score::Scores;
pub use spec::{Activation, Hyperparameters, Init, InputEncoding, LayerOptions, Loss, Optimizer, Schedule};
pub use trainer::{ChunkEnd, Trained, Trainer};
