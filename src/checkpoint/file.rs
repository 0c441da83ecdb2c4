//! The bytes of a checkpoint: written the same way each time, and read with suspicion.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use safetensors::Dtype;
use safetensors::tensor::Metadata;
use serde_json::{Value, json};

use super::{Checkpoint, Has, Words, all_tensors, is_float};
use crate::data::Schema;
use crate::error::{Error, Result};

/// What the files of this program call themselves.
const FORMAT: &str = "fori checkpoint";

/// The version of the format that is written, and the only one that is read.
pub const FORMAT_VERSION: &str = "2";

/// The longest header that is read: that of 100,000 swept values takes a quarter of it.
const MAX_HEADER: u64 = 8 << 20;

/// FNV-1a of 64 bits, over words of 32 bits. Not a signature: it finds damage, not deceit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Checksum(u64);

impl Default for Checksum {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Checksum {
    /// Adds a text and its length.
    pub(super) fn text(&mut self, text: &str) {
        self.words(text.bytes().map(u32::from));
    }

    /// Adds words and their number.
    pub(super) fn words(&mut self, words: impl Iterator<Item = u32>) {
        let mut count = 0;
        for word in words {
            self.add(u64::from(word));
            count += 1;
        }
        self.add(count);
    }

    fn add(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0100_0000_01b3);
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The checksum of all texts but its own, and of all tensors.
fn checksum(texts: &BTreeMap<String, String>, tensors: &BTreeMap<String, Words>) -> String {
    let mut sum = Checksum::default();
    for (name, text) in texts.iter().filter(|(name, _)| *name != "checksum") {
        sum.text(name);
        sum.text(text);
    }
    for (name, tensor) in tensors {
        sum.text(name);
        sum.words(tensor.words.iter().copied());
    }
    sum.to_string()
}

impl Checkpoint {
    /// The bytes of the file.
    ///
    /// # Errors
    /// [`Error::Io`] when a text cannot be written as JSON, which no value of ours is.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut header = serde_json::Map::new();
        header.insert("__metadata__".into(), json!(self.texts()?));
        let mut offset = 0;
        for (name, tensor) in &self.tensors {
            let end = offset + 4 * tensor.words.len();
            let dtype = if is_float(name) { "F32" } else { "U32" };
            let info = json!({"dtype": dtype, "shape": tensor.shape, "data_offsets": [offset, end]});
            header.insert(name.clone(), info);
            offset = end;
        }
        let mut header = Value::Object(header).to_string().into_bytes();
        header.resize(header.len().next_multiple_of(8), b' ');
        let mut bytes = Vec::with_capacity(8 + header.len() + offset);
        bytes.extend((header.len() as u64).to_le_bytes());
        bytes.extend(header);
        bytes.extend(self.tensors.values().flat_map(|tensor| &tensor.words).flat_map(|word| word.to_le_bytes()));
        Ok(bytes)
    }

    /// The metadata.
    fn texts(&self) -> Result<BTreeMap<String, String>> {
        let json = |text: serde_json::Result<String>| text.map_err(|e| Error::io("checkpoint", e.into()));
        let rows = [
            ("format", FORMAT.into()),
            ("format_version", FORMAT_VERSION.into()),
            ("fori_version", self.written_by.clone()),
            ("experiment", json(serde_json::to_string(&self.experiment))?),
            ("schema", json(serde_json::to_string(&self.schema))?),
            ("executor", self.executor.clone()),
            ("adapter", self.adapter.clone()),
            ("kernels", json(serde_json::to_string(&self.kernels))?),
        ];
        let mut texts: BTreeMap<_, _> =
            rows.into_iter().map(|(name, text): (&str, String)| (name.into(), text)).collect();
        texts.insert("checksum".into(), checksum(&texts, &self.tensors));
        Ok(texts)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`Error::Checkpoint`] with why it was refused.
    pub fn read(path: &Path) -> Result<Self> {
        let refuse = |reason: String| Error::Checkpoint { path: path.to_path_buf(), reason };
        // Before it is opened: a pipe would wait for a writer.
        let found = path.metadata().map_err(|e| refuse(e.to_string()))?;
        if !found.is_file() {
            return Err(refuse("expected a file, found something else".into()));
        }
        let file = File::open(path).map_err(|e| refuse(e.to_string()))?;
        Self::from_reader(file, found.len()).map_err(refuse)
    }

    /// Reads a checkpoint of `len` bytes. Nothing larger than it says it needs, and than `len`, is allocated.
    ///
    /// # Errors
    /// Why it was refused.
    pub fn from_reader(mut reader: impl Read, len: u64) -> Result<Self, String> {
        let mut prefix = [0; 8];
        take(&mut reader, &mut prefix)?;
        let header_len = u64::from_le_bytes(prefix);
        if header_len > MAX_HEADER {
            return Err(format!("it is no checkpoint, or it is damaged: its header would have {header_len} bytes"));
        }
        if len < 8 + header_len {
            return Err(CUT.into());
        }
        let mut header = vec![0; usize::try_from(header_len).map_err(|e| e.to_string())?];
        take(&mut reader, &mut header)?;
        let damaged =
            |e: serde_json::Error| format!("it is no checkpoint, or it is damaged: {}", shown(&e.to_string()));
        let header: Metadata = serde_json::from_slice(&header).map_err(damaged)?;
        let texts = header.metadata().clone().unwrap_or_default();
        let mut checkpoint = Self::from_texts(&texts)?;
        let expected = checkpoint.expected(header.tensors().contains_key("validation_loss"))?;
        compare(&header, &expected)?;
        let body = header.data_len() as u64;
        match len.cmp(&(8 + header_len + body)) {
            std::cmp::Ordering::Less => return Err(CUT.into()),
            std::cmp::Ordering::Greater => return Err("something was added at its end".into()),
            std::cmp::Ordering::Equal => {}
        }
        let mut bytes = vec![0; header.data_len()];
        take(&mut reader, &mut bytes)?;
        checkpoint.tensors = tensors(&header, &expected, &bytes);
        let found = checksum(&texts.iter().map(|(k, v)| (k.clone(), v.clone())).collect(), &checkpoint.tensors);
        if texts.get("checksum") != Some(&found) {
            return Err("it was altered or damaged: its checksum is not that of its contents".into());
        }
        checkpoint.check_state()?;
        Ok(checkpoint)
    }

    /// All but the tensors.
    fn from_texts(texts: &HashMap<String, String>) -> Result<Self, String> {
        let text = |name: &str| texts.get(name).cloned().unwrap_or_default();
        if text("format") != FORMAT {
            return Err("it was not written by fori as a checkpoint".into());
        }
        if text("format_version") != FORMAT_VERSION {
            return Err(format!(
                "it has version {} of the format, of fori {}, and this is fori {}, which reads version {FORMAT_VERSION}; \
                 go on with the version that wrote it",
                shown(&text("format_version")),
                shown(&text("fori_version")),
                env!("CARGO_PKG_VERSION")
            ));
        }
        let unusable =
            |what: &str, e: serde_json::Error| format!("its {what} cannot be used: {}", shown(&e.to_string()));
        let experiment = serde_json::from_str(&text("experiment")).map_err(|e| unusable("experiment", e))?;
        let schema = serde_json::from_str(&text("schema")).map_err(|e| unusable("schema", e))?;
        let kernels = serde_json::from_str(&text("kernels")).map_err(|e| unusable("kernels", e))?;
        let (executor, adapter, written_by) = (text("executor"), text("adapter"), text("fori_version"));
        Ok(Self { experiment, schema, executor, adapter, kernels, written_by, tensors: BTreeMap::new() })
    }

    /// Name and shape of the tensors that the experiment asks for; whether its last parameters were validated, it does not say.
    fn expected(&self, validation_loss: bool) -> Result<BTreeMap<String, Vec<usize>>, String> {
        let unusable = |e: Error| format!("its experiment cannot be used: {}", shown(&e.to_string()));
        let config = self.experiment.config(Default::default()).map_err(unusable)?;
        let models = config.member_count().map_err(unusable)?;
        let (inputs, outputs) = self.experiment.widths(self.schema.as_ref())?;
        let embeddings = self.schema.as_ref().map_or_else(Vec::new, Schema::embeddings);
        let model = config.model(inputs, outputs, embeddings).map_err(unusable)?;
        let has = Has { best: self.experiment.keeps_best(), plateau: self.experiment.has_plateau(), validation_loss };
        Ok(all_tensors(&model, config.optimizer, config.accumulate, models, has))
    }

    /// Whether the state words can be.
    fn check_state(&self) -> Result<(), String> {
        let (steps, diverged) = (self.words("step"), self.words("diverged"));
        if steps.iter().any(|&step| step != steps[0]) {
            return Err("its models are at different steps".into());
        }
        let possible = diverged.iter().all(|&at| at <= steps[0]);
        if possible { Ok(()) } else { Err("one of its models diverged at a step that is still to come".into()) }
    }
}

const CUT: &str = "it was cut: it ends before its contents do";

/// Fills a buffer.
fn take(reader: &mut impl Read, buffer: &mut [u8]) -> Result<(), String> {
    reader.read_exact(buffer).map_err(|e| match e.kind() {
        std::io::ErrorKind::UnexpectedEof => CUT.into(),
        _ => e.to_string(),
    })
}

/// Whether the header has just the tensors that the experiment asks for.
fn compare(header: &Metadata, expected: &BTreeMap<String, Vec<usize>>) -> Result<(), String> {
    let found = header.tensors();
    for (name, shape) in expected {
        let dtype = if is_float(name) { Dtype::F32 } else { Dtype::U32 };
        match found.get(name) {
            None => return Err(format!("it lacks the tensor {name}")),
            Some(info) if info.dtype != dtype || info.shape != *shape => {
                let found = shown(&format!("{:?} {:?}", info.dtype, info.shape));
                return Err(format!("its tensor {name} is {found}, and its experiment asks for {dtype:?} {shape:?}"));
            }
            Some(_) => {}
        }
    }
    match found.keys().find(|name| !expected.contains_key(*name)) {
        Some(name) => Err(format!("its experiment has no tensor {}", shown(name))),
        None => Ok(()),
    }
}

/// The tensors of a header that was compared, from bytes of its length.
fn tensors(header: &Metadata, expected: &BTreeMap<String, Vec<usize>>, bytes: &[u8]) -> BTreeMap<String, Words> {
    let words = |name: &str| {
        let (begin, end) = header.info(name).map_or((0, 0), |info| info.data_offsets);
        let words = bytes[begin..end].chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        words.collect()
    };
    expected.iter().map(|(name, shape)| (name.clone(), Words { shape: shape.clone(), words: words(name) })).collect()
}

/// A text of a file that is not trusted: short, and without control characters.
pub(super) fn shown(text: &str) -> String {
    text.chars().take(120).flat_map(char::escape_debug).collect()
}
