//! All integration tests, in one binary so that they link once. Tiers: plain tests need no device; tests that call
//! `common::device()` need any adapter and fail without one when `FORI_REQUIRE_ADAPTER=1`, else say that they were skipped.
#![allow(
    unreachable_pub,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "a test crate exports nothing, and fails by panicking"
)]
#![expect(
    clippy::expect_used,
    clippy::print_stderr,
    reason = "a helper of tests fails them, and says why one is skipped"
)]
#![expect(unreachable_pub, reason = "the modules share their helpers")]

mod checkpoint;
mod checkpoint_damage;
mod checkpoint_flags;
mod checkpoint_kill;
mod cli;
mod cli_commands;
mod cli_errors;
mod cli_train;
mod common;
mod cpu;

mod back_ends;
mod dependencies;
mod gradients;
mod init;
mod modules;
mod network;
mod oracle;
mod plan;
mod rng;
mod rules;
mod shaders;
