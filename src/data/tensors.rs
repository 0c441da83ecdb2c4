//! Reads safetensors files: named tensors are columns, or blocks of columns, in the order of their names.

use std::path::Path;

use safetensors::{Dtype, SafeTensors};

use super::array::{self, Array, Element, Kind};
use super::frame::Frame;
use super::names::shown;
use crate::error::{Error, Result};

/// The table of a safetensors file.
pub(super) fn read(path: &Path, bytes: &[u8]) -> Result<Frame> {
    let refuse = |text: String| Error::Data(format!("{}: {text}", path.display()));
    let file = SafeTensors::deserialize(bytes).map_err(|e| refuse(format!("expected a safetensors file: {e}")))?;
    let mut tensors = file.tensors();
    tensors.sort_by(|a, b| a.0.cmp(&b.0));
    let mut arrays = Vec::with_capacity(tensors.len());
    for (name, tensor) in &tensors {
        let in_tensor = |text: String| refuse(format!("tensor {}: {text}", shown(name)));
        let element = element(tensor.dtype()).ok_or_else(|| {
            in_tensor(format!("elements of the type {:?} are not read; save integers or floats", tensor.dtype()))
        })?;
        arrays.push(Array::new(name, tensor.shape().to_vec(), element, tensor.data()).map_err(in_tensor)?);
    }
    array::table(path, &arrays, false)
}

fn element(dtype: Dtype) -> Option<Element> {
    let (kind, size) = match dtype {
        Dtype::BOOL | Dtype::U8 => (Kind::Unsigned, 1),
        Dtype::U16 => (Kind::Unsigned, 2),
        Dtype::U32 => (Kind::Unsigned, 4),
        Dtype::U64 => (Kind::Unsigned, 8),
        Dtype::I8 => (Kind::Signed, 1),
        Dtype::I16 => (Kind::Signed, 2),
        Dtype::I32 => (Kind::Signed, 4),
        Dtype::I64 => (Kind::Signed, 8),
        Dtype::F16 => (Kind::Float, 2),
        Dtype::BF16 => (Kind::BrainFloat, 2),
        Dtype::F32 => (Kind::Float, 4),
        Dtype::F64 => (Kind::Float, 8),
        _ => return None,
    };
    Some(Element { kind, size, big_endian: false })
}
