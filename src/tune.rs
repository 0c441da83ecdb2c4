//! `fori tune`: times every executor and kernel variant on a network and an adapter, and keeps the fastest in a cache file.
//!
//! The cache is a hint: a file that is missing, broken, or made by another version never stops a run.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::arenas::Arenas;
use crate::calibrate::{Candidates, Choice, measure};
use crate::config::{ExecutorChoice, TrainConfig};
use crate::error::{Error, Result};
use crate::executor::Executor as _;
use crate::gpu::{AdapterSummary, Device, GpuExecutor};
use crate::plan::{Plan, Products, TrainStep};
use crate::run::Observer;
use crate::shader::Walk;

/// The fastest way that was found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Tuned {
    /// Whether the persistent loop is the fastest; else recorded.
    pub persistent: bool,
    /// The kernels of the inner products.
    pub products: Products,
    /// Microseconds per step.
    pub us_per_step: f64,
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

/// Kernel variants that a device can run.
pub(crate) fn variants(device: &Device) -> Vec<Products> {
    let mut all = vec![device.products, Products::Tiled { side: 16 }, Products::Tiled { side: 8 }];
    all.dedup();
    all
}

/// Times each combination; the fastest is first among the trials.
///
/// # Errors
/// [`Error::Device`] when no combination can run.
pub fn search(
    candidates: &Candidates<'_>,
    initial: impl Fn(&Plan) -> Result<Arenas<f32>>,
) -> Result<(Tuned, Vec<Trial>)> {
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
    let mut results: Vec<_> = measured
        .into_iter()
        .map(|(walk, products, executor, times)| {
            (walk, products, executor.map(|_| median(times)).map_err(|e| e.to_string()))
        })
        .collect();
    results.sort_by(|a, b| key(&a.2).total_cmp(&key(&b.2)));
    let (walk, products, best) = &results[0];
    let us_per_step = best.clone().map_err(|reason| Error::Device(format!("nothing can run: {reason}")))?;
    let tuned = Tuned { persistent: *walk == Walk::Persistent, products: *products, us_per_step };
    let trials = results.into_iter().map(|(walk, products, result)| Trial {
        executor: if walk == Walk::Persistent { "persistent" } else { "recorded" },
        kernels: products.to_string(),
        us_per_step: result.as_ref().ok().copied(),
        reason: result.err(),
    });
    Ok((tuned, trials.collect()))
}

fn key(result: &Result<f64, String>) -> f64 {
    *result.as_ref().unwrap_or(&f64::INFINITY)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::INFINITY)
}

/// What a result of the search depends on: adapter, driver, network and version.
pub fn cache_key(adapter: &AdapterSummary, plan: &Plan) -> String {
    let s = &plan.step;
    format!(
        "fori {} | {adapter} | {:?} {}{} {} {} batch {} models {} {:?}{}",
        env!("CARGO_PKG_VERSION"),
        s.model.widths,
        s.model.activation,
        s.model.options,
        s.loss,
        s.optimizer,
        s.batch_size,
        s.models,
        s.source,
        if s.is_fused() { "" } else { " separate update" },
    )
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
            let why = format!("`fori tune` found {} kernels at {:.1} µs per step", tuned.products, tuned.us_per_step);
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
    let found = lookup(&cache_path()?, &cache_key(&device.summary, plan));
    found.unwrap_or_else(|reason| {
        observer.notice(&reason);
        None
    })
}

/// The cache file: `fori/tune.json` under the user's cache folder; `None` where there is no such folder.
pub fn cache_path() -> Option<PathBuf> {
    dirs::cache_dir().map(|dir| dir.join("fori").join("tune.json"))
}

/// The entries of a cache file.
///
/// # Errors
/// One sentence on why the file is ignored.
fn entries(path: &Path) -> Result<BTreeMap<String, Tuned>, String> {
    let ignored =
        |why: String| format!("the tune cache {} is ignored: {why}; `fori tune` makes a new one", path.display());
    match std::fs::read(path) {
        Ok(text) => serde_json::from_slice(&text).map_err(|e| ignored(e.to_string())),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(BTreeMap::new()),
        Err(e) => Err(ignored(e.to_string())),
    }
}

/// What the cache has for a key.
///
/// # Errors
/// One sentence on why the file, or the entry, is ignored.
pub fn lookup(path: &Path, key: &str) -> Result<Option<Tuned>, String> {
    let found = entries(path)?.get(key).copied();
    match found {
        Some(tuned) if !tuned.products.is_possible() => {
            Err(format!("the tune cache {} is ignored: it names kernels that do not exist", path.display()))
        }
        other => Ok(other),
    }
}

/// Adds an entry to the cache, beside those of other networks. A broken file is replaced.
///
/// # Errors
/// [`Error::Io`] when the file cannot be written.
pub fn store(path: &Path, key: &str, tuned: Tuned) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
    let mut all = entries(path).unwrap_or_default();
    all.insert(key.to_string(), tuned);
    let text = serde_json::to_string_pretty(&all).map_err(|e| Error::io(path, e.into()))?;
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(|e| Error::io(folder, e))?;
    file.write_all(text.as_bytes()).map_err(|e| Error::io(path, e))?;
    file.persist(path).map_err(|e| Error::io(path, e.error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TUNED: Tuned = Tuned { persistent: true, products: Products::Tiled { side: 16 }, us_per_step: 4.5 };

    #[test]
    fn entries_are_kept_beside_each_other() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("deep").join("tune.json");
        assert_eq!(lookup(&path, "a"), Ok(None), "no file is no entry");
        store(&path, "a", TUNED).expect("the folder is made");
        store(&path, "b", Tuned { persistent: false, ..TUNED }).expect("a second entry");
        assert_eq!(lookup(&path, "a"), Ok(Some(TUNED)), "the first entry is still there");
    }

    #[test]
    fn broken_and_foreign_files_are_ignored_with_a_reason() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("tune.json");
        let impossible = r#"{"a": {"persistent": true, "products": {"Tiled": {"side": 7}}, "us_per_step": 1.0}}"#;
        for text in ["", "not json", "[1, 2]", r#"{"a": {"persistent": 3}}"#, impossible] {
            std::fs::write(&path, text).expect("a file");
            let reason = lookup(&path, "a").expect_err(text);
            assert!(reason.contains("tune.json is ignored"), "{text}: {reason}");
        }
        store(&path, "a", TUNED).expect("a broken file is replaced");
        assert_eq!(lookup(&path, "a"), Ok(Some(TUNED)), "the new entry");
    }
}
