//! `fori import`.

use std::path::PathBuf;

use clap::Args;

use super::model::{self, ModelArgs};
use super::output::say;
use super::values;
use super::which;
use crate::error::Result;
use crate::files;
use crate::import;
use crate::network::Naming;

/// Make a checkpoint of weights that another program wrote, for `fori train --resume` to start from.
///
/// The flags are those of `fori train`, and describe what will be trained.
///
/// Kernels are the tensors of two axes named ...kernel (Flax, shape (in, out)) or ...weight (PyTorch, shape (out, in)),
/// in the order of their names; each has a bias beside it. With --layer-norm its tensors are those of one axis named
/// ...scale (Flax) or ...weight (PyTorch), and --encoding fourier takes the tensor `frequencies`. With --categorical
/// embedding, tables are the tensors of two axes named ...embedding (Flax), or ...weight without a bias (PyTorch). They
/// are those of a network on standardized inputs, unless --no-standardize is given. All models of an ensemble or a sweep
/// start from the same weights.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  fori import weights.safetensors --hidden 128,128 --out start.safetensors\n  \
        fori train --resume start.safetensors --steps 5000")]
pub(super) struct ImportArgs {
    /// The weights, a safetensors file.
    weights: PathBuf,
    /// The checkpoint to write.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Names and layout of the weights: flax or pytorch [default: by the names in the file]
    #[arg(long, value_name = "NAME", value_parser = values::named::<Naming>)]
    naming: Option<Naming>,
    #[command(flatten)]
    model: ModelArgs,
    /// Steps to train when it is resumed.
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = values::whole::<u64>(1..=4_000_000_000), help_heading = "Training")]
    steps: u64,
}

/// Writes a checkpoint with the weights of a file.
pub(super) fn run(args: &ImportArgs) -> Result<()> {
    let config = model::model_config(&args.model, args.steps);
    args.model.check(&config)?;
    which::refuse_overwriting("--out", &args.out, &[&args.weights])?;
    let checkpoint = import::checkpoint(&config, &args.weights, args.naming);
    let checkpoint = checkpoint.map_err(|e| model::name_flag(e, &config))?;
    files::replace("--out", &args.out, &checkpoint.to_bytes()?)?;
    say(format_args!(
        "wrote a checkpoint of step 0 into {out}: fori train --resume {out} goes on from it",
        out = args.out.display()
    ));
    Ok(())
}
