//! `fori tune`: times every executor, kernel variant and size of submissions on a network and an adapter, and keeps the fastest
//! in a cache file.

mod cache;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::arenas::Arenas;
use crate::calibrate::{Candidates, Choice, finished_steps, measure, us_per_step};
use crate::config::{ExecutorChoice, TrainConfig};
use crate::error::{Error, Result};
use crate::executor::{Chunk, Executor as _};
use crate::gpu::{Device, GpuExecutor};
use crate::plan::{Plan, Products, TrainStep};
use crate::run::Observer;
use crate::shader::Walk;
pub use cache::{cache_key, cache_path, lookup, store};

/// The fastest way that was found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Tuned {
    /// Whether the persistent loop is the fastest; else recorded.
    pub persistent: bool,
    /// The kernels of the inner products.
    pub products: Products,
    /// Steps per submission.
    pub iters_per_submit: usize,
    /// Microseconds per step.
    pub us_per_step: f64,
}

/// What was found, and what was tried.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Search {
    /// The fastest way.
    pub best: Tuned,
    /// Executors and kernels, the fastest first.
    pub trials: Vec<Trial>,
    /// Sizes of the submissions of the fastest of them: steps per submission and median microseconds per step, the fastest first.
    pub submissions: Vec<(usize, f64)>,
}

/// One row of the search.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trial {
    /// The executor.
    pub executor: &'static str,
    /// The kernels of the inner products, as `broadcast 8` or `tiled 16`.
    pub kernels: String,
    /// Median microseconds per step.
    pub us_per_step: Option<f64>,
    /// Why it cannot run, if it cannot.
    pub reason: Option<String>,
}

/// Rounds of measurements, interleaved.
const ROUNDS: usize = 3;

/// Kernel variants that are worth a try on a device, its own first.
pub(crate) fn variants(device: &Device) -> Vec<Products> {
    let mut all = known(device.products, device.software);
    all.retain(|&products| device.fits(products).is_ok());
    all
}

/// An adapter's own kernels and the others, each once. Deep tiles and those of 128 x 128 take more invocations or memory of a
/// workgroup than WebGPU promises; on a processor they gain nothing and take longest to compile.
fn known(own: Products, software: bool) -> Vec<Products> {
    let portable = [16, 8].map(|side| Products::Tiled { side });
    let large = [Products::Deep { side: 16 }, Products::Deep { side: 8 }, Products::Tiled { side: 32 }];
    let others = portable.into_iter().chain(large.into_iter().filter(|_| !software));
    std::iter::once(own).chain(others.filter(|&other| other != own)).collect()
}

/// Times each combination of executor and kernels, and sizes of submissions up to those that fill `budget` for the fastest.
///
/// # Errors
/// [`Error::Device`] when no combination can run.
pub fn search(
    candidates: &Candidates<'_>,
    budget: Duration,
    initial: impl Fn(&Plan) -> Result<Arenas<f32>>,
) -> Result<Search> {
    let mut measured = Vec::new();
    for products in variants(candidates.device) {
        let plan = Plan::new(TrainStep { products, ..candidates.plan.step.clone() })?;
        let arenas = initial(&plan)?;
        for walk in [Walk::Recorded, Walk::Persistent] {
            let candidates = Candidates { plan: &plan, arenas: &arenas, ..*candidates };
            let executor = candidates.check(walk).and_then(|()| candidates.build(walk));
            measured.push((walk, products, executor, Vec::new()));
        }
    }
    for _ in 0..ROUNDS {
        for (_, _, executor, times) in &mut measured {
            let Ok(working) = executor else { continue };
            match measure(working) {
                Ok(us) => times.push(us),
                Err(error) => *executor = Err(error),
            }
        }
    }
    let us = |(.., executor, times): &Measured| executor.as_ref().map_or(f64::INFINITY, |_| median(times));
    measured.sort_by(|a, b| us(a).total_cmp(&us(b)));
    let trials = measured.iter().map(|row| Trial {
        executor: if row.0 == Walk::Persistent { "persistent" } else { "recorded" },
        kernels: row.1.to_string(),
        us_per_step: row.2.is_ok().then(|| us(row)),
        reason: row.2.as_ref().err().map(ToString::to_string),
    });
    let trials: Vec<_> = trials.collect();
    let (walk, products, executor, times) = measured.swap_remove(0);
    let mut executor = executor.map_err(|reason| Error::Device(format!("nothing can run: {reason}")))?;
    let submissions = submissions(&mut executor, budget.as_secs_f64() * 1e6 / median(&times))?;
    let (iters_per_submit, us_per_step) = submissions[0];
    let best = Tuned { persistent: walk == Walk::Persistent, products, iters_per_submit, us_per_step };
    Ok(Search { best, trials, submissions })
}

/// An executor, the kernels that it was made of, and the times of its rounds.
type Measured = (Walk, Products, Result<GpuExecutor>, Vec<f64>);

/// Times sizes of submissions, from `most` steps down by factors of four; the fastest is first.
fn submissions(executor: &mut GpuExecutor, most: f64) -> Result<Vec<(usize, f64)>> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a positive number, at most the capacity"
    )]
    let most = (most as usize).clamp(1, executor.capacity());
    let mut sizes: Vec<_> =
        (0..4).map(|k| most >> (2 * k)).filter(|&steps| steps > 0).map(|steps| (steps, Vec::new())).collect();
    let mut first_step = finished_steps(executor)?;
    for _ in 0..ROUNDS {
        for (iters_per_submit, times) in &mut sizes {
            let chunk = Chunk { first_step, steps: most, iters_per_submit: *iters_per_submit };
            times.push(us_per_step(executor, chunk)?);
            first_step += most as u64;
        }
    }
    let mut medians: Vec<_> = sizes.iter().map(|(steps, times)| (*steps, median(times))).collect();
    medians.sort_by(|a, b| a.1.total_cmp(&b.1));
    Ok(medians)
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::INFINITY)
}

/// The executor that the config asks for, and how `auto` came to it.
pub(crate) fn executor(
    executor: ExecutorChoice,
    candidates: &Candidates<'_>,
    tuned: Option<Tuned>,
) -> Result<(GpuExecutor, Option<Choice>)> {
    match (executor, tuned) {
        (ExecutorChoice::Persistent, _) => Ok((candidates.build(Walk::Persistent)?, None)),
        (ExecutorChoice::Recorded, _) => Ok((candidates.build(Walk::Recorded)?, None)),
        (_, Some(tuned)) => {
            let walk = if tuned.persistent { Walk::Persistent } else { Walk::Recorded };
            let executor = candidates.build(walk)?;
            let Tuned { products, iters_per_submit, us_per_step, .. } = tuned;
            let why = format!(
                "`fori tune` found {products} kernels at {us_per_step:.1} µs per step, {iters_per_submit} steps per submission"
            );
            let choice = Choice { executor: executor.name(), why, recorded_us: None, persistent_us: None };
            Ok((executor, Some(choice)))
        }
        (_, None) => candidates.fastest().map(|(executor, choice)| (executor, Some(choice))),
    }
}

/// What `fori tune` found for this network on this device, where `auto` may use it.
pub(crate) fn found(config: &TrainConfig, device: &Device, plan: &Plan, observer: &mut dyn Observer) -> Option<Tuned> {
    if config.executor != ExecutorChoice::Auto || !config.tune_cache {
        return None;
    }
    let found = lookup(&cache_path()?, &cache_key(&device.summary, plan, config.submit_budget), &variants(device));
    found.unwrap_or_else(|reason| {
        observer.notice(&reason);
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variant_is_tried_once_and_the_own_first() {
        let owns = [Products::Broadcast { width: 8 }, Products::Tiled { side: 16 }, Products::Deep { side: 16 }];
        for (own, software) in owns.into_iter().flat_map(|own| [(own, false), (own, true)]) {
            let all = known(own, software);
            assert_eq!(all[0], own, "the own kernels are first in {all:?}");
            let repeated = (1..all.len()).find(|&i| all[..i].contains(&all[i]));
            assert_eq!(repeated, None, "each once in {all:?}");
            assert_eq!(all.contains(&Products::Tiled { side: 32 }), !software, "the largest tiles in {all:?}");
        }
    }
}
