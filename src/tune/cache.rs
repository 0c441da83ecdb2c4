//! The cache of what was found. It is a hint: a file that is missing, broken, or made by another version never stops a run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use etcetera::base_strategy::{BaseStrategy as _, choose_native_strategy};

use super::Tuned;
use crate::error::{Error, Result};
use crate::files;
use crate::gpu::AdapterSummary;
use crate::plan::{Plan, Products};

/// What a result of the search depends on: adapter, driver, network, the time that a submission may take, and version.
pub fn cache_key(adapter: &AdapterSummary, plan: &Plan, budget: Duration) -> String {
    let s = &plan.step;
    format!(
        "fori {} | {adapter} | {:?} {}{}{} {} {} batch {} models {} {:?}{} | {budget:?}",
        env!("CARGO_PKG_VERSION"),
        s.model.widths,
        s.model.activation,
        s.model.options,
        s.model.embedding_text(),
        s.loss,
        s.optimizer,
        s.batch_size,
        s.models,
        s.source,
        if s.is_fused() { "" } else { " separate update" },
    )
}

/// The cache file: `fori/tune.json` under the user's cache folder; `None` where there is no such folder.
pub fn cache_path() -> Option<PathBuf> {
    let folders = choose_native_strategy().ok()?;
    Some(folders.cache_dir().join("fori").join("tune.json"))
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

/// What the cache has for a key, on a device that can run the `possible` kernels.
///
/// # Errors
/// One sentence on why the file, or the entry, is ignored.
pub fn lookup(path: &Path, key: &str, possible: &[Products]) -> Result<Option<Tuned>, String> {
    let found = entries(path)?.get(key).copied();
    match found {
        Some(tuned) if !possible.contains(&tuned.products) || tuned.iters_per_submit == 0 => Err(format!(
            "the tune cache {} is ignored: it names kernels or submissions that this device does not have; `fori tune` finds \
             others",
            path.display()
        )),
        other => Ok(other),
    }
}

/// Adds an entry to the cache, beside those of other networks. A broken file is replaced.
///
/// # Errors
/// [`Error::Io`] or [`Error::Usage`] when the file cannot be written.
pub fn store(path: &Path, key: &str, tuned: Tuned) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
    let mut all = entries(path).unwrap_or_default();
    all.insert(key.to_string(), tuned);
    let text = serde_json::to_string_pretty(&all).map_err(|e| Error::io(path, e.into()))?;
    files::replace("the tune cache", path, text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TUNED: Tuned =
        Tuned { persistent: true, products: Products::Tiled { side: 16 }, iters_per_submit: 9, us_per_step: 4.5 };

    #[test]
    fn entries_are_kept_beside_each_other() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("deep").join("tune.json");
        assert_eq!(lookup(&path, "a", &[TUNED.products]), Ok(None), "no file is no entry");
        store(&path, "a", TUNED).expect("the folder is made");
        store(&path, "b", Tuned { persistent: false, ..TUNED }).expect("a second entry");
        assert_eq!(lookup(&path, "a", &[TUNED.products]), Ok(Some(TUNED)), "the first entry is still there");
    }

    #[test]
    fn broken_and_foreign_files_are_ignored_with_a_reason() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("tune.json");
        let impossible = r#"{"a": {"persistent": true, "products": {"Tiled": {"side": 32}}, "iters_per_submit": 9, "us_per_step": 1.0}}"#;
        let empty = impossible.replace("32", "16").replace('9', "0");
        for text in ["", "not json", "[1, 2]", r#"{"a": {"persistent": 3}}"#, impossible, &empty] {
            std::fs::write(&path, text).expect("a file");
            let reason = lookup(&path, "a", &[TUNED.products]).expect_err(text);
            assert!(reason.contains("tune.json is ignored"), "{text}: {reason}");
        }
        store(&path, "a", TUNED).expect("a broken file is replaced");
        assert_eq!(lookup(&path, "a", &[TUNED.products]), Ok(Some(TUNED)), "the new entry");
    }
}
