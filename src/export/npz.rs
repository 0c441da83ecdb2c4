//! NumPy arrays in a zip file: the weights by their names in Flax, as they are, beside means and standard deviations.

use std::io::Write as _;

use rawzip::{CompressionMethod, ZipArchiveWriter};

use super::{Options, failed};
use crate::data::schema::Targets;
use crate::error::Result;
use crate::network::{Naming, Network, tensors};

/// The bytes of the file.
pub(super) fn write(network: &Network, options: &Options) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut archive = ZipArchiveWriter::new(&mut bytes);
    for (name, array) in arrays(network, options)? {
        // Weights are noise: compression would gain a tenth.
        let name = format!("{name}.npy");
        let file = archive.new_file(&name).compression_method(CompressionMethod::Store);
        let (mut file, config) = file.start().map_err(|e| failed("npz", e))?;
        let mut writer = config.wrap(&mut file);
        writer.write_all(&array).map_err(|e| failed("npz", e))?;
        let (_, descriptor) = writer.finish().map_err(|e| failed("npz", e))?;
        file.finish(descriptor).map_err(|e| failed("npz", e))?;
    }
    archive.finish().map_err(|e| failed("npz", e))?;
    Ok(bytes)
}

/// Each array by its name, in the format of a `.npy` file.
fn arrays(network: &Network, options: &Options) -> Result<Vec<(String, Vec<u8>)>> {
    let weights = tensors(network, Naming::Flax).into_iter();
    let mut arrays: Vec<_> =
        weights.map(|t| (t.name, npy("<f4", &t.shape, t.values.iter().flat_map(|v| v.to_le_bytes())))).collect();
    let mut doubles = |name: &str, values: Vec<f64>| {
        arrays.push((name.into(), npy("<f8", &[values.len()], values.iter().flat_map(|v| v.to_le_bytes()))));
    };
    let slots = network.slots();
    doubles("input_mean", slots.iter().map(|slot| slot.mean).collect());
    doubles("input_std", slots.iter().map(|slot| slot.std).collect());
    if let Targets::Numbers { columns } = &network.schema.targets {
        doubles("output_mean", columns.iter().map(|column| column.mean).collect());
        doubles("output_std", columns.iter().map(|column| column.std).collect());
    }
    let schema = serde_json::to_string(&network.schema).map_err(|e| failed("npz", e))?;
    let inputs: Vec<_> = slots.into_iter().map(|slot| slot.name).collect();
    for (name, texts, shape) in [
        ("input_names", inputs, None),
        ("output_names", network.output_names(), None),
        ("stages", super::safetensors::stages(network), None),
        ("schema", vec![schema], Some([].as_slice())),
    ] {
        arrays.push((name.into(), strings(&texts, shape)));
    }
    arrays.push(("step".into(), npy("<u8", &[], options.step.to_le_bytes().into_iter())));
    Ok(arrays)
}

/// Texts as an array of NumPy's `U`, by default of one dimension.
fn strings(texts: &[String], shape: Option<&[usize]>) -> Vec<u8> {
    let width = texts.iter().map(|text| text.chars().count()).max().unwrap_or(0).max(1);
    let padded = texts.iter().flat_map(|text| text.chars().chain(std::iter::repeat('\0')).take(width));
    let bytes = padded.flat_map(|c| u32::from(c).to_le_bytes());
    npy(&format!("<U{width}"), shape.unwrap_or(&[texts.len()]), bytes)
}

/// A `.npy` file. Reference: NumPy Enhancement Proposal 1, version 1.0 of the format.
pub(super) fn npy(dtype: &str, shape: &[usize], data: impl Iterator<Item = u8>) -> Vec<u8> {
    let shape: String = shape.iter().map(|n| format!("{n},")).collect();
    let mut header = format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({shape}), }}");
    // Magic, version and length take 10 bytes; the whole is a multiple of 64 and ends with a line feed.
    let total = (10 + header.len() + 1).next_multiple_of(64);
    header.push_str(&" ".repeat(total - 11 - header.len()));
    header.push('\n');
    let length = u16::try_from(header.len()).unwrap_or(u16::MAX);
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(length.to_le_bytes());
    bytes.extend(header.into_bytes());
    bytes.extend(data);
    bytes
}
