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
/// in a file whose name has `.partial` at its end, so that an older result is never lost to a run that fails.
#[derive(Debug)]
pub struct MetricsWriter {
    path: PathBuf,
    partial: PathBuf,
    file: BufWriter<File>,
    json: bool,
}

impl MetricsWriter {
    /// Opens the file; `.jsonl` at its end means JSON lines, anything else CSV.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be created.
    pub fn create(path: &Path, ensemble: bool) -> Result<Self> {
        if path.is_dir() {
            return Err(Error::Usage(format!("--metrics {}: expected a file, found a folder", path.display())));
        }
        let mut name = path.as_os_str().to_owned();
        name.push(".partial");
        let partial = PathBuf::from(name);
        let file = BufWriter::new(File::create(&partial).map_err(|e| Error::io(&partial, e))?);
        let json = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("jsonl"));
        let mut writer = Self { path: path.to_path_buf(), partial, file, json };
        if !json {
            let model = if ensemble { "model," } else { "" };
            writer.line(&format!("step,{model}loss,learning_rate,elapsed_s"))?;
        }
        Ok(writer)
    }

    /// Adds a row.
    ///
    /// # Errors
    /// [`Error::Io`] when the disk is full or gone.
    pub fn write(&mut self, row: &Row) -> Result<()> {
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
        std::fs::rename(&self.partial, &self.path).map_err(|e| Error::io(&self.path, e))
    }

    fn line(&mut self, text: &str) -> Result<()> {
        writeln!(self.file, "{text}").map_err(|e| Error::io(&self.partial, e))
    }
}
