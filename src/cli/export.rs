//! `fori export`.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use clap::Args;

use super::output::{print_bytes, say};
use super::values;
use super::which::{self, ModelChoice};
use crate::checkpoint::Checkpoint;
use crate::error::{Error, Result};
use crate::export::{self, Exported, Format, Options};
use crate::files;
use crate::network::{Naming, Predictor};

/// Write a trained network for other programs: ONNX, safetensors, NumPy arrays, C, JSON or WGSL.
///
/// onnx, c and wgsl are whole programs: they take rows in the units of the table, with one input per number and per
/// category, standardize them, and give numbers in the units of the table, or probabilities. onnx is opset 17 with the
/// input `input` (N, inputs), the output `output` (N, outputs; logits of labels and classes) and for labels and classes
/// the output `probabilities`; c is one header of C99 with NAME_predict; wgsl is a compute shader with the entry point
/// predict, whose weights are in a second file beside it: of net.wgsl in net.weights.bin. In group 0, bind a storage
/// buffer of the rows to 0, one for the answers to 1, and one that has the bytes of that file to 2, and dispatch
/// ceil(rows / 64) workgroups. All numbers are 32-bit floats.
///
/// safetensors, npz and json have the weights exactly as they were trained (but with --w0 multiplied by it), which expect
/// standardized inputs: means, standard deviations, classes and categories are in the metadata (safetensors, under
/// `schema`), in arrays beside the weights (npz: input_mean, input_std, output_mean, output_std, schema), and under
/// `schema` (json). What is done with them, in order, is there under `stages`: dense, layer_norm (epsilon 1e-6), the name
/// of an activation, fork (keep the row), join (add the row that was kept), `fourier F` (sines, then cosines, of 2 pi x
/// frequencies) and `frequency K` (for each k below K the sines of 2^k pi x, then the cosines), both after the inputs
/// themselves with include_input.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  fori export run.safetensors --format onnx --out model.onnx\n  \
        fori export run.safetensors --format c --name heart > heart.h\n  \
        fori export run.safetensors --format safetensors --naming pytorch --out weights.safetensors")]
pub(super) struct ExportArgs {
    /// The checkpoint of a run.
    checkpoint: PathBuf,
    /// onnx, safetensors, npz, c, json or wgsl [default: by the end of the name of --out, where .h is c]
    #[arg(long, value_name = "NAME", value_parser = values::named::<Format>)]
    format: Option<Format>,
    /// Where it is written; without it, on stdout.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Names of the tensors in safetensors: flax (layers.0.kernel of (in, out)) or pytorch (0.weight of (out, in), for
    /// torch.nn.Sequential, whose modules are in the metadata under `sequential`; not of networks with --residual or
    /// --encoding) [default: flax]
    #[arg(long, value_name = "NAME", value_parser = values::named::<Naming>)]
    naming: Option<Naming>,
    /// What the functions of C begin with [default: from the name of --out, or of the checkpoint]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    choice: ModelChoice,
}

/// Writes a network in another format.
pub(super) fn run(args: &ExportArgs) -> Result<()> {
    let format = args.format()?;
    let checkpoint = Checkpoint::read(&args.checkpoint)?;
    let predictor =
        Predictor::of(&checkpoint, args.choice.which()).map_err(which::name_checkpoint(&args.checkpoint))?;
    let name = args.name.clone().unwrap_or_else(|| default_name(args.out.as_deref().unwrap_or(&args.checkpoint)));
    let options = Options { naming: args.naming.unwrap_or_default(), name, step: checkpoint.step() };
    let Exported { bytes, weights } = export::export(predictor.network(), format, &options)?;
    let Some(out) = &args.out else {
        if weights.is_some() {
            let text = "--format wgsl is two files, the module and its weights: add --out FILE, as net.wgsl";
            return Err(Error::Usage(text.into()));
        }
        if format.is_binary() && std::io::stdout().is_terminal() {
            return Err(Error::Usage(format!("--format {format} is not for a terminal: add --out FILE")));
        }
        return print_bytes(&bytes);
    };
    let beside = out.with_extension("weights.bin");
    let mut written: Vec<(&Path, &[u8])> = vec![(out, &bytes)];
    written.extend(weights.as_ref().map(|weights| (beside.as_path(), weights.as_slice())));
    for (path, _) in &written {
        which::refuse_overwriting("--out", path, &[&args.checkpoint])?;
    }
    files::replace_all("--out", &written)?;
    let what = which::text(&predictor.models, which::models(&checkpoint));
    let paths: Vec<_> = written.iter().map(|(path, _)| path.display().to_string()).collect();
    say(format_args!("wrote {what} at step {} as {format} into {}", checkpoint.step(), paths.join(" and ")));
    Ok(())
}

impl ExportArgs {
    /// The format that is asked for, and whether the other flags are for it.
    fn format(&self) -> Result<Format> {
        let extension = self.out.as_ref().and_then(|out| Format::of_extension(out.extension()?.to_str()?));
        let format = self.format.or(extension).ok_or_else(|| {
            Error::Usage("--format is missing: expected onnx, safetensors, npz, c, json or wgsl".into())
        })?;
        if self.naming.is_some() && format != Format::Safetensors {
            return Err(Error::Usage(format!("--naming is for --format safetensors, not {format}: leave it out")));
        }
        if self.name.is_some() && format != Format::C {
            return Err(Error::Usage(format!("--name is for --format c, not {format}: leave it out")));
        }
        Ok(format)
    }
}

/// The name of a file as functions can begin with it.
fn default_name(path: &Path) -> String {
    let stem = path.file_stem().map_or(String::new(), |stem| stem.to_string_lossy().into_owned());
    let name: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name } else { format!("network_{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_become_names_of_functions() {
        for (path, want) in [
            ("run.safetensors", "run"),
            ("a/b-c.h", "b_c"),
            ("3.onnx", "network_3"),
            ("größe.h", "gr__e"),
            ("", "network_"),
        ] {
            assert_eq!(default_name(Path::new(path)), want, "name of {path:?}");
        }
    }
}
