//! `fori export`.

use std::fmt;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use clap::Args;

use super::model::name_flag;
use super::output::{print_bytes, say};
use super::values;
use super::which::{self, ModelChoice};
use crate::checkpoint::Checkpoint;
use crate::config::{Task, TrainConfig};
use crate::error::{Error, Result};
use crate::export::{self, Exported, Format, Options};
use crate::network::{Naming, Predictor};
use crate::{files, web};

/// Write a trained network for other programs: ONNX, safetensors, NumPy arrays, C, JSON, WGSL or a web page.
///
/// onnx, c and wgsl are whole programs: they take rows in the units of the table, with one input per number and per
/// category (of a column that is embedded: one, the index of its category in the schema, from 0), standardize them, and
/// give numbers in the units of the table, or probabilities. onnx is opset 17 with the
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
/// themselves with include_input, and `embedding I J` (in the place of input I the row of that index in the first table,
/// in that of J one of the second).
///
/// web is one HTML file that goes on training where the checkpoint is, in a browser with WebGPU, with the same kernels. The
/// rows that it trains on become part of it: they are read from where they were, or from --data, and must be the same. Rows to
/// validate with are not used.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  fori export run.safetensors --format onnx --out model.onnx\n  \
        fori export run.safetensors --format c --name heart > heart.h\n  \
        fori export run.safetensors --format safetensors --naming pytorch --out weights.safetensors\n  \
        fori export run.safetensors --format web --steps 50000 --out page.html")]
pub(super) struct ExportArgs {
    /// The checkpoint of a run.
    checkpoint: PathBuf,
    /// Format: onnx, safetensors, npz, c, json, wgsl or web [default: by the end of the name of --out, where .h is c and .html
    /// is web]
    #[arg(long, value_name = "NAME", value_parser = target)]
    format: Option<Target>,
    /// Where it is written; without it, on stdout.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Names of the tensors in safetensors: flax (layers.0.kernel of (in, out)) or pytorch (0.weight of (out, in), for
    /// torch.nn.Sequential, whose modules are in the metadata under `sequential`; not of networks with --residual or
    /// --encoding). Tables of embeddings are embeddings.0.embedding or embeddings.0.weight [default: flax]
    #[arg(long, value_name = "NAME", value_parser = values::named::<Naming>)]
    naming: Option<Naming>,
    /// What the functions of C begin with [default: from the name of --out, or of the checkpoint]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Where the table or the image of the checkpoint is now (web) [default: where it was]
    #[arg(long, value_name = "FILE", visible_alias = "image")]
    data: Option<PathBuf>,
    /// Where the labels of its images are now (web) [default: where they were]
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    /// The last step of the page, counted from the first beginning (web) [default: that of the run; where it has been reached, as
    /// many again]
    #[arg(long, value_name = "N", value_parser = values::whole::<u64>(1..=4_000_000_000))]
    steps: Option<u64>,
    #[command(flatten)]
    choice: ModelChoice,
}

/// What a checkpoint is exported to.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Target {
    /// The network alone.
    Network(Format),
    /// A page that goes on training.
    Web,
}

/// A format by its name.
fn target(text: &str) -> Result<Target, String> {
    if text == "web" {
        return Ok(Target::Web);
    }
    let known = |error: String| format!("{error}, web");
    values::named::<Format>(text).map(Target::Network).map_err(known)
}

/// Writes a network in another format.
pub(super) fn run(args: &ExportArgs) -> Result<()> {
    let target = args.target()?;
    let checkpoint = Checkpoint::read(&args.checkpoint)?;
    let predictor =
        Predictor::of(&checkpoint, args.choice.which()).map_err(which::name_checkpoint(&args.checkpoint))?;
    match target {
        Target::Network(format) => write_network(args, &checkpoint, &predictor, format),
        Target::Web => write_page(args, &checkpoint, &predictor),
    }
}

fn write_network(args: &ExportArgs, checkpoint: &Checkpoint, predictor: &Predictor, format: Format) -> Result<()> {
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
    let what = which::text(&predictor.models, which::models(checkpoint));
    let paths: Vec<_> = written.iter().map(|(path, _)| path.display().to_string()).collect();
    say(format_args!("wrote {what} at step {} as {format} into {}", checkpoint.step(), paths.join(" and ")));
    Ok(())
}

/// Writes the page that goes on with a model.
fn write_page(args: &ExportArgs, checkpoint: &Checkpoint, predictor: &Predictor) -> Result<()> {
    let config = args.config(checkpoint)?;
    let page = web::page_from(&config, checkpoint, predictor.models[0]).map_err(|error| name_flag(error, &config))?;
    let Some(out) = &args.out else { return print_bytes(page.as_bytes()) };
    which::refuse_overwriting("--out", out, &[&args.checkpoint])?;
    which::refuse_overwriting_data("--out", out, &config)?;
    files::replace("--out", out, page.as_bytes())?;
    let what = which::text(&predictor.models, which::models(checkpoint));
    let (from, to) = (checkpoint.step(), config.steps);
    say(format_args!("wrote a page that trains {what} from step {from} to {to} into {}", out.display()));
    Ok(())
}

impl ExportArgs {
    /// The config of a page: that of the checkpoint, with its files where they are now.
    fn config(&self, checkpoint: &Checkpoint) -> Result<TrainConfig> {
        let config = checkpoint.experiment.config(PathBuf::new()).map_err(which::name_checkpoint(&self.checkpoint))?;
        let (mut task, step) = (config.task, checkpoint.step());
        let refuse = |flag: &str, what: &str| {
            Err(Error::Usage(format!("{flag} is not possible: the checkpoint is of {what}; leave it out")))
        };
        match (&mut task, &self.data, &self.labels) {
            (Task::Table(table), data, labels) => {
                table.path = data.clone().unwrap_or(table.path.clone());
                table.labels = labels.clone().or(table.labels.take());
            }
            (Task::Image(image), data, None) => image.path = data.clone().unwrap_or(image.path.clone()),
            (_, None, None) => {}
            (Task::Image(_), ..) => return refuse("--labels", "an image"),
            (_, Some(_), _) => return refuse("--data", "the linreg task"),
            (_, None, Some(_)) => return refuse("--labels", "the linreg task"),
        }
        let again = if config.steps > step { config.steps } else { step + config.steps.min(web::MAX_STEPS) };
        Ok(TrainConfig { task, steps: self.steps.unwrap_or(again), ..config })
    }

    /// What is asked for, and whether the other flags are for it.
    fn target(&self) -> Result<Target> {
        let of_extension = |extension: &str| match extension {
            extension if extension.eq_ignore_ascii_case("html") => Some(Target::Web),
            _ => Format::of_extension(extension).map(Target::Network),
        };
        let extension = self.out.as_ref().and_then(|out| of_extension(out.extension()?.to_str()?));
        let target = self.format.or(extension).ok_or_else(|| {
            Error::Usage(
                "--format is missing: expected onnx, safetensors, npz, c, json, wgsl or web, or an --out that ends with .onnx, \
                 .safetensors, .npz, .h, .json, .wgsl or .html"
                    .into(),
            )
        })?;
        let flags = [
            ("--naming", self.naming.is_some(), Target::Network(Format::Safetensors)),
            ("--name", self.name.is_some(), Target::Network(Format::C)),
            ("--data", self.data.is_some(), Target::Web),
            ("--labels", self.labels.is_some(), Target::Web),
            ("--steps", self.steps.is_some(), Target::Web),
        ];
        match flags.iter().find(|(_, given, of)| *given && *of != target) {
            Some((flag, _, of)) => {
                Err(Error::Usage(format!("{flag} is for --format {of}, not {target}: leave it out")))
            }
            None => Ok(target),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(format) => write!(f, "{format}"),
            Self::Web => f.write_str("web"),
        }
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
