//! Reads IDX files, the format of MNIST: images in one file, and their labels in another.
//!
//! Reference: LeCun, Cortes, Burges, "The MNIST database of handwritten digits". The columns are `p0`, `p1`, ... by rows of
//! pixels, and `label`.

use std::path::{Path, PathBuf};

use super::array::{self, Array, Element, Kind};
use super::frame::Frame;
use super::source;
use crate::error::{Error, Result};

/// The name of the column of labels.
const LABEL: &str = "label";

/// The table of an IDX file, with the labels in another: of `labels`, or of the file beside it that has `labels` for `images` in
/// its name, if there is one.
pub(super) fn read(path: &Path, bytes: &[u8], labels: Option<&Path>) -> Result<Frame> {
    let images = parse("p", bytes).map_err(|text| Error::Data(format!("{}: {text}", path.display())))?;
    let Some(labels) = labels.map(Path::to_path_buf).or_else(|| beside(path)) else {
        return array::table(path, &[images], true);
    };
    let bytes = source::read(&labels)?;
    let refuse = |text: String| Error::Data(format!("{}: {text}", labels.display()));
    let of_labels = parse(LABEL, &bytes).map_err(refuse)?;
    if of_labels.shape.len() != 1 {
        let text =
            format!("expected one label for each image, found {} axes: is it a file of images?", of_labels.shape.len());
        return Err(refuse(text));
    }
    let (found, expected) = (of_labels.shape[0], images.shape.first().copied().unwrap_or(0));
    if found != expected {
        return Err(refuse(format!("it has {found} labels, and {} has {expected} images", path.display())));
    }
    let mut frame = array::table(path, &[images], true)?;
    let with_label = array::table(&labels, &[of_labels], false)?;
    frame.columns.extend(with_label.columns);
    frame.targets = vec![LABEL.into()];
    Ok(frame)
}

/// The file of labels beside one of images, as MNIST names them.
fn beside(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let labels = name.replace("images", "labels").replace("idx3", "idx1");
    let beside = path.with_file_name(&labels);
    (labels != name && beside.is_file()).then_some(beside)
}

/// The array in the bytes of a file, or what is wrong with them.
fn parse<'a>(name: &str, bytes: &'a [u8]) -> Result<Array<'a>, String> {
    let no_file = || "it is no IDX file, or it was cut: expected two zeros, a type, and the number of axes".to_owned();
    let [0, 0, code, axes, rest @ ..] = bytes else { return Err(no_file()) };
    let (kind, size) = match code {
        0x08 => (Kind::Unsigned, 1),
        0x09 => (Kind::Signed, 1),
        0x0B => (Kind::Signed, 2),
        0x0C => (Kind::Signed, 4),
        0x0D => (Kind::Float, 4),
        0x0E => (Kind::Float, 8),
        _ => return Err(no_file()),
    };
    let (sizes, body) = rest.split_at_checked(4 * usize::from(*axes)).ok_or_else(no_file)?;
    let shape = sizes.chunks_exact(4).map(|size| u32::from_be_bytes([size[0], size[1], size[2], size[3]]) as usize);
    Array::new(name, shape.collect(), Element { kind, size, big_endian: true }, body)
}
