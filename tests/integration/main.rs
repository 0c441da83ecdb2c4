//! All integration tests, in one binary so that they link once. Tiers: plain tests need no device; tests that call
//! `common::device()` need any adapter and fail without one when `FORI_REQUIRE_ADAPTER=1`, else say that they were skipped.
#![allow(
    unreachable_pub,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "a test crate exports nothing, and fails by panicking"
)]

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
