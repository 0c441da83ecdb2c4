//! Metrics files: `step,loss,learning_rate,elapsed_s` as CSV or as JSON lines, a row per logged step, with a `model` column
//! after `step` for an ensemble, and at the end `validation_loss` and the other metrics of a run that is validated.

mod table;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::{Error, Result};
use crate::files;
pub use table::{Record, Table, read};

/// One logged step of one model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The step, counted from 1.
    pub step: u64,
    /// The model, `None` in a run of one model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<usize>,
    /// Loss of that step before its update.
    pub loss: f32,
    /// Learning rate of that step.
    pub learning_rate: f64,
    /// Seconds from the start of the run to when the host saw it.
    pub elapsed_s: f64,
    /// Metrics of the validation after that step, if there was one.
    #[serde(flatten, serialize_with = "prefixed")]
    pub validation: Vec<(&'static str, f64)>,
}

/// The fields of a validation in JSON.
fn prefixed<S: serde::Serializer>(metrics: &[(&'static str, f64)], serializer: S) -> Result<S::Ok, S::Error> {
    let named = metrics.iter().map(|(name, value)| (format!("validation_{name}"), *value));
    serializer.collect_map(named)
}

/// A metrics file in the making. The file of the given name appears when the run ends; until then the rows are beside it,
/// in a file whose name has `.partial` at its end, so that an older result is never lost to a run that fails. A stream,
/// as a pipe, is written as the rows come.
#[derive(Debug)]
pub struct MetricsWriter {
    path: PathBuf,
    /// The same as `path` for a stream.
    partial: PathBuf,
    file: BufWriter<File>,
    json: bool,
    /// Metrics of a validation, in the order of their columns.
    validation: &'static [&'static str],
    /// Whether the partial file is worth keeping.
    has_rows: bool,
}

impl MetricsWriter {
    /// Opens the file; `.jsonl` at its end means JSON lines, anything else CSV. `validation` names the metrics of a run that is
    /// validated.
    ///
    /// A run that goes on from step `from` goes on with the rows that are there: those of the partial file that a killed run
    /// left, else those of the file. Rows after that step are dropped, since the run writes them again.
    ///
    /// # Errors
    /// [`Error::Usage`] when it cannot be created, or has other columns.
    pub fn open(path: &Path, ensemble: bool, validation: &'static [&'static str], from: Option<u64>) -> Result<Self> {
        let refuse = |text: String| Error::Usage(format!("--metrics {}: {text}", path.display()));
        let json = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("jsonl"));
        let model = if ensemble { "model," } else { "" };
        let columns: String = validation.iter().map(|name| format!(",validation_{name}")).collect();
        let header = if json { String::new() } else { format!("step,{model}loss,learning_rate,elapsed_s{columns}\n") };
        let (path, partial) = places(path).map_err(refuse)?;
        let earlier = from.map(|step| earlier_rows(&path, &partial, &header, step)).transpose().map_err(refuse)?;
        // A run that fails early leaves the rows that a killed one left.
        let has_rows = from.is_some() && partial != path && partial.exists();
        let file = create(&path, &partial, &earlier.unwrap_or(header)).map_err(refuse)?;
        Ok(Self { path, partial, file, json, validation, has_rows })
    }

    /// Where the rows of a run that failed are; `None` if it wrote none, or into a stream.
    pub fn partial(&self) -> Option<&Path> {
        (self.has_rows && self.partial != self.path).then_some(&self.partial)
    }

    /// Adds a row.
    ///
    /// # Errors
    /// [`Error::Io`] when the disk is full or gone.
    pub fn write(&mut self, row: &Row) -> Result<()> {
        self.has_rows = true;
        if self.json {
            // JSON has no NaN and no infinity; null stands for them.
            let text = serde_json::to_string(row).map_err(|e| Error::io(&self.partial, e.into()))?;
            return self.line(&text);
        }
        let model = row.model.map_or(String::new(), |m| format!("{m},"));
        let metric =
            |name: &&str| row.validation.iter().find(|(n, _)| n == name).map(|(_, value)| format!("{value:?}"));
        let validation: String =
            self.validation.iter().map(|name| format!(",{}", metric(name).unwrap_or_default())).collect();
        let (loss, rate) = (row.loss, row.learning_rate);
        self.line(&format!("{},{model}{loss:?},{rate:?},{:.6}{validation}", row.step, row.elapsed_s))
    }

    /// Hands the rows so far to the operating system.
    ///
    /// # Errors
    /// As for [`MetricsWriter::write`].
    pub fn flush(&mut self) -> Result<()> {
        self.file.flush().map_err(|e| Error::io(&self.partial, e))
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// As for [`MetricsWriter::write`].
    pub fn finish(mut self) -> Result<()> {
        self.flush()?;
        self.has_rows = true;
        if self.partial == self.path {
            return Ok(());
        }
        std::fs::rename(&self.partial, &self.path).map_err(|e| Error::io(&self.path, e))
    }

    fn line(&mut self, text: &str) -> Result<()> {
        writeln!(self.file, "{text}").map_err(|e| Error::io(&self.partial, e))
    }
}

/// The final path and that of the rows until the run ends, or why there cannot be any.
fn places(path: &Path) -> Result<(PathBuf, PathBuf), String> {
    files::check(path)?;
    if path == Path::new("/dev/stdout") {
        return Err("stdout is for the summary; name a file".into());
    }
    let stream = path.metadata().is_ok_and(|found| !found.is_file());
    // A link stays a link: its file is what is replaced.
    let path = if stream { path.to_path_buf() } else { files::resolved(path) };
    let mut partial = path.clone().into_os_string();
    partial.push(if stream { "" } else { ".partial" });
    Ok((path, partial.into()))
}

/// Creates the partial file, or opens the stream, with `text` in it.
fn create(path: &Path, partial: &Path, text: &str) -> Result<BufWriter<File>, String> {
    let write = |to: &Path| {
        let mut file = BufWriter::new(File::create(to)?);
        file.write_all(text.as_bytes()).map(|()| file)
    };
    // Earlier rows are not to be lost to a crash between the old partial file and the new one.
    let result = if partial.exists() && partial != path {
        let mut fresh = partial.as_os_str().to_owned();
        fresh.push(".new");
        write(Path::new(&fresh)).and_then(|mut file| {
            file.flush()?;
            std::fs::rename(&fresh, partial).map(|()| file)
        })
    } else {
        write(partial)
    };
    result.map_err(|e| format!("cannot write {}: {e}", partial.display()))
}

/// The header and the whole rows up to `step` of what an earlier run left.
fn earlier_rows(path: &Path, partial: &Path, header: &str, step: u64) -> Result<String, String> {
    let left = [partial, path].into_iter().find(|path| path.is_file());
    let Some(left) = left.filter(|_| partial != path) else { return Ok(header.into()) };
    let text = std::fs::read_to_string(left).map_err(|e| format!("its rows cannot be continued: {e}"))?;
    let rows = match text.strip_prefix(header) {
        Some(rows) => rows,
        None if text.is_empty() => "",
        None => return Err(format!("its rows cannot be continued: expected the columns {}", header.trim_end())),
    };
    let kept = rows.split_inclusive('\n').filter(|row| row.ends_with('\n'));
    let kept = kept.take_while(|row| step_of(row).is_some_and(|row| row <= step));
    Ok(std::iter::once(header).chain(kept).collect())
}

/// The step of a row.
fn step_of(row: &str) -> Option<u64> {
    if row.starts_with('{') {
        return serde_json::from_str::<serde_json::Value>(row).ok()?.get("step")?.as_u64();
    }
    row.split(',').next()?.parse().ok()
}

impl Drop for MetricsWriter {
    /// Leaves nothing behind of a run that failed before its first row.
    fn drop(&mut self) {
        if !self.has_rows && self.partial != self.path {
            // What cannot be removed is harmless.
            let _ = std::fs::remove_file(&self.partial);
        }
    }
}
