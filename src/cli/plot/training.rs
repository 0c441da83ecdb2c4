//! The chart of `fori train --plot`: drawn from the metrics file of the run, which is a temporary one where none is named.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{LossArgs, draw};
use crate::cli::chart::Target;
use crate::cli::output::say;
use crate::error::{Error, Result};

/// The chart of a run that is yet to end.
pub(in crate::cli) struct TrainingChart {
    target: Target,
    metrics: PathBuf,
    /// Removed with the chart.
    _folder: Option<TempDir>,
}

impl TrainingChart {
    /// Opens the file of the chart.
    pub(in crate::cli) fn open(path: &Path, metrics: Option<&Path>) -> Result<Self> {
        let target = Target::open("--plot", path)?;
        let Some(metrics) = metrics else {
            let folder = tempfile::tempdir().map_err(|e| Error::io(std::env::temp_dir(), e))?;
            return Ok(Self { target, metrics: folder.path().join("metrics.csv"), _folder: Some(folder) });
        };
        if metrics.metadata().is_ok_and(|found| !found.is_file()) {
            return Err(Error::Usage(format!(
                "--plot draws what --metrics holds, and {} cannot be read again: name a file",
                metrics.display()
            )));
        }
        Ok(Self { target, metrics: metrics.into(), _folder: None })
    }

    /// The metrics file that the run must write.
    pub(in crate::cli) fn metrics(&self) -> &Path {
        &self.metrics
    }

    /// Draws the chart of a run that has ended.
    pub(in crate::cli) fn draw(self, title: &str) -> Result<()> {
        draw(&[("training".into(), &self.metrics)], &LossArgs::default(), Some(title), &self.target)
    }

    /// The same for a run whose end is worth more words than a chart that cannot be drawn.
    pub(in crate::cli) fn draw_after(self, title: &str, end: Result<()>) -> Result<()> {
        match (self.draw(title), end) {
            (Err(error), Err(end)) => {
                say(format_args!("note: no chart was drawn: {error}"));
                Err(end)
            }
            (drawn, end) => end.and(drawn),
        }
    }
}
