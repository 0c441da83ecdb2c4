//! Metrics files: `step,loss,learning_rate,elapsed_s` as CSV or as JSON lines, a row per logged step, with a `model` column
//! after `step` for an ensemble.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::{Error, Result};

/// One logged step of one model.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
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
    /// Whether the partial file is worth keeping.
    has_rows: bool,
}

impl MetricsWriter {
    /// Opens the file; `.jsonl` at its end means JSON lines, anything else CSV.
    ///
    /// # Errors
    /// [`Error::Usage`] when it cannot be created.
    pub fn create(path: &Path, ensemble: bool) -> Result<Self> {
        let refuse = |text: String| Error::Usage(format!("--metrics {}: {text}", path.display()));
        let json = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("jsonl"));
        let (path, partial, file) = open(path).map_err(refuse)?;
        let mut writer = Self { path, partial, file: BufWriter::new(file), json, has_rows: false };
        if !json {
            let model = if ensemble { "model," } else { "" };
            writer.line(&format!("step,{model}loss,learning_rate,elapsed_s"))?;
        }
        Ok(writer)
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
        self.line(&format!("{},{model}{:?},{:?},{:.6}", row.step, row.loss, row.learning_rate, row.elapsed_s))
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

/// Opens what is written until the run ends: the final path, the partial one, and the file; or why it cannot be opened.
fn open(path: &Path) -> Result<(PathBuf, PathBuf, File), String> {
    if path.is_dir() {
        return Err("expected a file, found a folder; add the name of a file".into());
    }
    if path == Path::new("/dev/stdout") {
        return Err("stdout is for the summary; name a file".into());
    }
    let stream = path.metadata().is_ok_and(|found| !found.is_file());
    // A link stays a link: its file is what is replaced.
    let target = if stream { None } else { path.canonicalize().ok() };
    let path = target.unwrap_or_else(|| path.to_path_buf());
    let mut partial = path.clone().into_os_string();
    partial.push(if stream { "" } else { ".partial" });
    let partial = PathBuf::from(partial);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match (File::create(&partial), folder) {
        (Ok(file), _) => Ok((path, partial, file)),
        (Err(_), Some(folder)) if !folder.is_dir() => {
            Err(format!("there is no folder {}; make it first", folder.display()))
        }
        (Err(error), _) => Err(format!("cannot write {}: {error}", partial.display())),
    }
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
