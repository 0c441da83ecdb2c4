//! Where checkpoints are written. Invariant: under the name of the file there is at any moment a whole checkpoint, or none.
//!
//! A checkpoint is written beside its file, handed to the disk, and renamed; then the folder is handed to the disk.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::Checkpoint;
use crate::config::CheckpointConfig;
use crate::error::{Error, Result};
use crate::files::{self, PARTIAL};

/// Writes the checkpoints of a run.
#[derive(Debug)]
pub struct Saver {
    /// As the user wrote it.
    path: PathBuf,
    /// The same without links.
    target: PathBuf,
    folder: PathBuf,
    keep: usize,
    /// Steps of the files that are kept, in order.
    kept: VecDeque<u64>,
    /// The step of the file, if this run wrote or resumed it.
    saved: Option<u64>,
}

impl Saver {
    /// Makes sure that the file can be written, and removes what a killed run left half-written. `flag` is named in errors.
    /// `resumed` is the file that the run goes on from, and its step.
    ///
    /// # Errors
    /// [`Error::Usage`] when it cannot be written.
    pub fn open(flag: &str, config: &CheckpointConfig, resumed: Option<(&Path, u64)>) -> Result<Self> {
        let refuse = |text: String| Error::Usage(format!("{flag} {}: {text}", config.path.display()));
        files::check(&config.path).map_err(refuse)?;
        if config.path.exists() && !config.path.is_file() {
            return Err(refuse("expected a file, found something else; name another one".into()));
        }
        // A link stays a link: its file is what is replaced.
        let path = config.path.clone();
        let target = files::resolved(&path);
        let folder = files::folder_of(&target);
        let step =
            resumed.filter(|(from, _)| from.canonicalize().is_ok_and(|from| from == target)).map(|(_, step)| step);
        let mut saver = Self { path, target, folder, keep: config.keep, kept: VecDeque::new(), saved: step };
        saver.temporary().map_err(|e| refuse(format!("its folder cannot be written: {e}")))?;
        saver.look_around(step);
        // The run may have been killed before it gave the file its second name, or before it removed the oldest.
        if let Some(step) = step.filter(|_| saver.keep > 0) {
            if saver.kept.contains(&step) { saver.remove_oldest()? } else { saver.keep(step)? }
        }
        Ok(saver)
    }

    /// The file, as the config has it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The step of the file, if this run wrote or resumed it.
    pub fn saved(&self) -> Option<u64> {
        self.saved
    }

    /// Replaces the file.
    ///
    /// # Errors
    /// [`Error::Io`]; the file is then the old one.
    pub fn write(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        let failed = |e| Error::io(&self.target, e);
        let mut file = self.temporary().map_err(failed)?;
        file.write_all(&checkpoint.to_bytes()?).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
        file.persist(&self.target).map_err(|e| failed(e.error))?;
        self.sync_folder().map_err(failed)?;
        self.saved = Some(checkpoint.step());
        if self.keep > 0 { self.keep(checkpoint.step()) } else { Ok(()) }
    }

    /// Gives the file a second name with its step, and removes the oldest of those.
    fn keep(&mut self, step: u64) -> Result<()> {
        let path = self.numbered(step);
        let failed = |e| Error::io(&path, e);
        match fs::remove_file(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(failed(e)),
            _ => {}
        }
        // Not every file system has links.
        fs::hard_link(&self.target, &path).or_else(|_| fs::copy(&self.target, &path).map(|_| ())).map_err(failed)?;
        self.sync_folder().map_err(failed)?;
        self.kept.retain(|&kept| kept != step);
        self.kept.push_back(step);
        self.remove_oldest()
    }

    /// Removes the oldest files with a step until as many are left as are kept.
    fn remove_oldest(&mut self) -> Result<()> {
        while self.kept.len() > self.keep {
            if let Some(oldest) = self.kept.pop_front() {
                let oldest = self.numbered(oldest);
                fs::remove_file(&oldest).map_err(|e| Error::io(&oldest, e))?;
            }
        }
        Ok(())
    }

    fn numbered(&self, step: u64) -> PathBuf {
        self.folder.join(self.named("", &format!(".{step}")))
    }

    /// The name of the file with something before and after it.
    fn named(&self, before: &str, after: &str) -> OsString {
        let mut name = OsString::from(before);
        name.push(self.target.file_name().unwrap_or_default());
        name.push(after);
        name
    }

    /// A new file beside the file.
    fn temporary(&self) -> std::io::Result<NamedTempFile> {
        files::partial(&self.folder, &self.named(".", "."))
    }

    /// Removes half-written files, and finds the kept ones up to the step of a resumed run.
    fn look_around(&mut self, step: Option<u64>) {
        let (hidden, visible) = (self.named(".", "."), self.named("", "."));
        let (hidden, visible) = (hidden.to_string_lossy().into_owned(), visible.to_string_lossy().into_owned());
        let mut kept = Vec::new();
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            if name.strip_prefix(&hidden).and_then(|rest| rest.strip_suffix(PARTIAL)).is_some_and(|r| r.len() == 6) {
                // What cannot be removed is only in the way.
                let _ = fs::remove_file(entry.path());
            }
            let number = name.strip_prefix(&visible).and_then(|digits| digits.parse::<u64>().ok());
            kept.extend(number.filter(|number| step.is_some_and(|step| *number <= step)));
        }
        kept.sort_unstable();
        self.kept = kept.into();
    }

    /// Makes the rename last through a power cut.
    fn sync_folder(&self) -> std::io::Result<()> {
        if cfg!(unix) { fs::File::open(&self.folder)?.sync_all() } else { Ok(()) }
    }
}
