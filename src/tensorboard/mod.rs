//! Event files of TensorBoard: scalars per step, a text, and the hyperparameters of a run.
//!
//! A file is a row of records, each a length, a payload and their checksums, as TensorFlow's `TFRecord`; a payload is an
//! `Event` in the encoding of Protocol Buffers. Reference: `tensorboard/compat/proto` and
//! `tensorboard/plugins/hparams/plugin_data.proto` of TensorBoard 2.21.

mod proto;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use prost::Message as _;

use crate::error::{Error, Result};
pub use proto::Hparam;
use proto::event::What;
use proto::{Event, HparamsData, Metadata, PluginData, Session, SessionEnd, SessionLog, SessionStart, Summary, Value};

/// An event file, in a folder that TensorBoard shows as one run.
#[derive(Debug)]
pub struct EventWriter {
    path: PathBuf,
    file: BufWriter<File>,
}

impl EventWriter {
    /// Makes the folder and a file in it. Of a run that goes on from step `from`, TensorBoard forgets what older files of
    /// the folder have of later steps.
    ///
    /// # Errors
    /// [`Error::Usage`] when the file cannot be made, or when the folder has events of another run and this one does not go
    /// on from it.
    pub fn create(folder: &Path, from: Option<u64>) -> Result<Self> {
        let refuse = |text: String| Error::Usage(format!("--tensorboard {}: {text}", folder.display()));
        std::fs::create_dir_all(folder).map_err(|e| refuse(format!("expected a folder: {e}")))?;
        if from.is_none() && has_events(folder) {
            let text =
                "it has the events of another run, and TensorBoard would mix them: name another folder, or remove it";
            return Err(refuse(text.into()));
        }
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // A process may write several files within a second.
        let name =
            format!("events.out.tfevents.{}.fori.{}.{}", since.as_secs(), std::process::id(), since.subsec_nanos());
        let path = folder.join(name);
        let file = File::create_new(&path).map_err(|e| refuse(format!("cannot write into it: {e}")))?;
        let mut writer = Self { path, file: BufWriter::new(file) };
        writer.add(0, What::FileVersion("brain.Event:2".into()))?;
        if let Some(step) = from {
            writer.add(step + 1, What::SessionLog(SessionLog { status: SessionLog::START }))?;
        }
        Ok(writer)
    }

    /// Adds values by their tags at a step.
    ///
    /// # Errors
    /// [`Error::Io`] when the disk is full or gone.
    #[expect(clippy::cast_possible_truncation, reason = "TensorBoard keeps 32 bits of a number")]
    pub fn scalars(&mut self, step: u64, values: &[(&str, f64)]) -> Result<()> {
        let values = values.iter().map(|(tag, value)| Value::scalar(tag, *value as f32)).collect();
        self.add(step, What::Summary(Summary { values }))
    }

    /// Adds a text in Markdown.
    ///
    /// # Errors
    /// As [`EventWriter::scalars`].
    pub fn text(&mut self, tag: &str, markdown: &str) -> Result<()> {
        self.add(0, What::Summary(Summary { values: vec![Value::text(tag, markdown)] }))
    }

    /// Adds the hyperparameters of the run.
    ///
    /// # Errors
    /// As [`EventWriter::scalars`].
    pub fn hparams(&mut self, hparams: BTreeMap<String, Hparam>) -> Result<()> {
        let start = SessionStart { hparams, start_time_secs: now() };
        self.session("_hparams_/session_start_info", Session::Start(start))
    }

    /// Says that the run is over, and whether it did what it should.
    ///
    /// # Errors
    /// As [`EventWriter::scalars`].
    pub fn end(&mut self, success: bool) -> Result<()> {
        let status = if success { SessionEnd::SUCCESS } else { SessionEnd::FAILURE };
        self.session("_hparams_/session_end_info", Session::End(SessionEnd { status, end_time_secs: now() }))?;
        self.flush()
    }

    /// Hands the events so far to the operating system, where TensorBoard sees them.
    ///
    /// # Errors
    /// As [`EventWriter::scalars`].
    pub fn flush(&mut self) -> Result<()> {
        self.file.flush().map_err(|e| Error::io(&self.path, e))
    }

    fn session(&mut self, tag: &str, session: Session) -> Result<()> {
        let content = HparamsData { version: 0, session: Some(session) }.encode_to_vec();
        let plugin = PluginData { plugin_name: "hparams".into(), content };
        let metadata = Metadata { plugin: Some(plugin), data_class: Metadata::TENSOR };
        self.add(0, What::Summary(Summary { values: vec![Value::empty(tag, metadata)] }))
    }

    fn add(&mut self, step: u64, what: What) -> Result<()> {
        let event = Event { wall_time: now(), step: step.cast_signed(), what: Some(what) };
        let record = record(&event.encode_to_vec());
        self.file.write_all(&record).map_err(|e| Error::io(&self.path, e))
    }
}

/// Whether a folder has event files.
fn has_events(folder: &Path) -> bool {
    let Ok(mut entries) = std::fs::read_dir(folder) else { return false };
    entries.any(|entry| entry.is_ok_and(|e| e.file_name().to_string_lossy().contains("tfevents")))
}

/// Seconds since 1970.
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// The bytes of a payload in a file.
fn record(payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u64).to_le_bytes();
    let mut record = Vec::with_capacity(payload.len() + 16);
    record.extend(length);
    record.extend(checksum(&length).to_le_bytes());
    record.extend(payload);
    record.extend(checksum(payload).to_le_bytes());
    record
}

/// CRC-32C, turned and shifted, since payloads may hold checksums themselves.
fn checksum(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_those_of_tensorflow() {
        // The first record of any file that TensorBoard's own writer makes, with the time set to 0.
        let event = Event { wall_time: 0.0, step: 0, what: Some(What::FileVersion("brain.Event:2".into())) };
        let payload = event.encode_to_vec();
        assert_eq!(payload, b"\x1a\x0dbrain.Event:2", "the payload");
        let bytes = record(&payload);
        assert_eq!(bytes.len(), 8 + 4 + payload.len() + 4, "the length");
        assert_eq!(&bytes[..8], 15_u64.to_le_bytes(), "the length in the file");
        // crc32c("123456789") = e3069283. Reference: RFC 3720, appendix B.4.
        let want = 0xe306_9283_u32.rotate_right(15).wrapping_add(0xa282_ead8);
        assert_eq!(checksum(b"123456789"), want, "the masked checksum");
    }

    #[test]
    fn a_folder_with_the_events_of_another_run_is_refused() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let folder = dir.path().join("a/b");
        EventWriter::create(&folder, None).expect("an empty folder");
        let error = EventWriter::create(&folder, None).expect_err("refused").to_string();
        assert!(error.contains("events of another run"), "{error}");
        EventWriter::create(&folder, Some(5)).expect("a run that goes on");
    }
}
