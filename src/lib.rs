//! Trains small neural networks on any GPU through WebGPU, with the whole training loop on the device.

pub mod arenas;
pub mod bench;
pub mod calibrate;
pub mod checkpoint;
pub mod cli;
pub mod config;
pub mod cpu;
pub mod data;
pub mod error;
pub mod executor;
pub mod gpu;
pub mod interrupt;
pub mod metrics;
pub mod outcome;
pub mod pace;
pub mod plan;
pub mod real;
pub mod rng;
pub mod run;
pub mod shader;
pub mod spec;
pub mod trainer;
pub mod tune;
