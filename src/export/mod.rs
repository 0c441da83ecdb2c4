//! Trained networks in the formats of other programs, each with its standardization.
//!
//! Invariant: all formats compute in 32-bit floats what [`Network::forward`](crate::network::Network::forward) and
//! [`Network::answers`](crate::network::Network::answers) compute in 64.

pub mod answers;
mod c;
mod json;
mod npz;
mod onnx;
mod protobuf;
mod safetensors;
mod scaling;
mod wgsl;

use crate::error::{Error, Result};
use crate::network::{Naming, Network};

/// A format that a network is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// An ONNX model, from the numbers of the table to answers.
    Onnx,
    /// The weights by name; how they are used is in the metadata.
    Safetensors,
    /// The weights by name as NumPy arrays, beside means and standard deviations.
    Npz,
    /// A C99 header with a function, from the numbers of the table to answers.
    C,
    /// Everything as text.
    Json,
    /// A compute shader, from the numbers of the table to answers, with its weights beside it.
    Wgsl,
}

crate::spec::named_enum!(
    Format, "format", Onnx => "onnx", Safetensors => "safetensors", Npz => "npz", C => "c", Json => "json", Wgsl => "wgsl"
);

impl Format {
    /// Whether it is for programs alone.
    pub fn is_binary(self) -> bool {
        matches!(self, Self::Onnx | Self::Safetensors | Self::Npz)
    }

    /// The format of a file by the end of its name: that of the format, or `.h`.
    pub fn of_extension(extension: &str) -> Option<Self> {
        let extension = extension.to_ascii_lowercase();
        if extension == "h" { Some(Self::C) } else { extension.parse().ok() }
    }
}

/// What some of the formats need to know besides the network.
#[derive(Debug, Clone)]
pub struct Options {
    /// What the tensors are called in safetensors.
    pub naming: Naming,
    /// What the functions of C begin with: letters, digits and underscores, not beginning with a digit.
    pub name: String,
    /// Where the network comes from, for the metadata: finished steps.
    pub step: u64,
}

/// A network in a format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// The bytes of the file.
    pub bytes: Vec<u8>,
    /// The weights of [`Format::Wgsl`], which are a file of their own: the contents of binding 2.
    pub weights: Option<Vec<u8>>,
}

/// Writes a network in a format.
///
/// # Errors
/// [`Error::Usage`] when a mean or a standard deviation is beyond the range of 32-bit floats, when the name is no name, or when
/// [`Naming::Pytorch`] is asked for and the network is no `torch.nn.Sequential`.
pub fn export(network: &Network, format: Format, options: &Options) -> Result<Exported> {
    let mut weights = None;
    let bytes = match format {
        Format::Onnx => onnx::write(network, options)?,
        Format::Safetensors => safetensors::write(network, options)?,
        Format::Npz => npz::write(network, options)?,
        Format::C => c::write(network, options)?.into_bytes(),
        Format::Json => json::write(network, options)?,
        Format::Wgsl => {
            let (text, beside) = wgsl::write(network)?;
            weights = Some(beside);
            text.into_bytes()
        }
    };
    Ok(Exported { bytes, weights })
}

/// A fault of a library that writes into memory.
fn failed(what: &str, error: impl std::fmt::Display) -> Error {
    Error::io(what, std::io::Error::other(error.to_string()))
}

/// An `f32` as a literal of C that is read back to the same bits.
fn literal(value: f32) -> String {
    format!("{value:?}f")
}

/// Literals in lines of at most eight.
fn literals(values: &[f32]) -> String {
    let lines = values.chunks(8).map(|line| line.iter().map(|&v| literal(v)).collect::<Vec<_>>().join(", "));
    lines.collect::<Vec<_>>().join(",\n    ")
}
