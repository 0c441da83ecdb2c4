//! All integration tests, in one binary so that they link once. Tiers: plain tests need no device; tests that call
//! `common::device()` need any adapter and fail without one when `FORI_REQUIRE_ADAPTER=1`, else say that they were skipped.
#![allow(
    unreachable_pub,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "a test crate exports nothing, and fails by panicking"
)]

mod activations;
mod adapter;
mod after;
mod back_ends;
mod bench;
mod checkpoint;
mod checkpoint_damage;
mod checkpoint_flags;
mod checkpoint_kill;
mod cli;
mod cli_commands;
mod cli_errors;
mod cli_train;
mod clipping;
mod common;
mod cpu;
mod csv_damage;
mod dependencies;
mod doctor;
mod embedding;
mod examples;
mod experiments;
mod export_cases;
mod export_weights;
mod exports;
mod faulty;
mod format_damage;
mod formats;
mod gpu_bits;
mod gpu_embedding;
mod gpu_kernels;
mod gpu_layers;
mod gpu_optimizers;
mod gpu_rng;
mod gpu_rows;
mod gpu_step;
mod gradients;
mod imports;
mod init;
mod layers;
mod learned;
#[cfg(target_os = "linux")]
mod live;
mod losses;
mod modules;
mod network;
mod optimizers;
mod oracle;
mod peers;
mod plan;
mod plots;
mod predict;
mod readme;
mod recovery;
mod rng;
mod schedules;
mod scripted;
mod shaders;
mod shell;
mod splits;
mod svg;
mod tables;
mod tensorboard;
mod tune;
mod validation;
mod verification;
mod web;
