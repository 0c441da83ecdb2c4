//! Trains small neural networks on any GPU through WebGPU, with the whole training loop on the device.
//!
//! Small networks are bound by launches, not by arithmetic. So every op of the train step is a WGSL compute shader, and the host
//! hands the device one step, thousands of recorded steps, or the whole loop as one kernel.
//!
//! ```text
//! command line
//!   -> config      what a run is, as plain values                    config
//!   -> specs       model, activation, loss, optimizer, init, rng     spec, rng, data
//!   -> plan        ops, tiles, layout of the arenas; no device       plan
//!   -> shader      WGSL of a plan, checked by naga; no device        shader
//!   -> executor    recorded, persistent (gpu) or cpu                 gpu, cpu, executor
//!   -> run         chunks: submit, verify, report, start again       run, trainer
//!   -> outputs     metrics, summaries, benchmarks                    metrics, bench, cli
//!   -> afterwards  checkpoints, predictions, exports                 checkpoint, network, export
//! ```
//!
//! Words: a *step* is one parameter update. A *plan* is the train step as data: an ordered list of *ops*, each cut into *tiles*
//! of one workgroup. An *arena* is a storage buffer by its role. An *executor* runs a plan; a *submission* is one queue submit,
//! a *chunk* the steps between two visits to the host. An *ensemble* is several models trained by one plan.
//!
//! Invariants: results do not depend on how steps are chunked; a step is reported once, in order, after the device has counted it;
//! the f64 oracle in [`cpu`] computes what each kernel must.
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//! use fori::config::{ExecutorChoice, TrainConfig};
//! use fori::run::Silent;
//! use fori::trainer::Trainer;
//!
//! // `ExecutorChoice::Auto`, the default, takes the GPU where there is one.
//! let config = TrainConfig { hidden: vec![8], steps: 200, executor: ExecutorChoice::Cpu, ..TrainConfig::default() };
//! let trained = Trainer::new(config, &mut Silent)?.train(&AtomicBool::new(false), &mut Silent)?;
//! assert_eq!(trained.outcome.verified_steps, 200);
//! assert!(trained.outcome.final_losses[0] < 14.0);
//! # Ok::<(), fori::error::Error>(())
//! ```

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
pub mod trainer;
pub mod tune;
pub mod validation;
