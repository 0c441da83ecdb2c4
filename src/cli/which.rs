//! Flags that choose models of a checkpoint, and what is said of the choice.

use std::path::{Path, PathBuf};

use clap::Args;

use super::values;
use crate::checkpoint::Checkpoint;
use crate::config::{MAX_MODELS, TrainConfig, Validation};
use crate::error::{Error, Result};
use crate::network::Which;

/// Which model of a checkpoint of several.
#[derive(Debug, Clone, Args)]
pub(super) struct ModelChoice {
    /// Take this model of a checkpoint of several, counted from 0 [default: the one with the least loss, of the validation if there was one]
    #[arg(long, value_name = "K", value_parser = values::whole::<usize>(0..=MAX_MODELS as u64 - 1))]
    pub(super) model: Option<usize>,
}

/// Which models of a checkpoint of several predict.
#[derive(Debug, Clone, Args)]
pub(super) struct WhichArgs {
    #[command(flatten)]
    choice: ModelChoice,
    /// Take all models of a checkpoint of several: mean is the mean of their answers.
    #[arg(long, value_name = "HOW", value_parser = ["mean"], conflicts_with = "model")]
    ensemble: Option<String>,
}

impl ModelChoice {
    /// As the library has it.
    pub(super) fn which(&self) -> Which {
        self.model.map_or(Which::Best, Which::Model)
    }
}

impl WhichArgs {
    /// As the library has it.
    pub(super) fn which(&self) -> Which {
        if self.ensemble.is_some() { Which::Mean } else { self.choice.which() }
    }
}

/// Which models were taken, for people.
pub(super) fn text(models: &[usize], of: usize) -> String {
    match models {
        _ if of == 1 => "the model".into(),
        [model] => format!("model {model} of {of}"),
        models => format!("the mean of {} of {of} models", models.len()),
    }
}

/// Refuses to write over a file that is read.
///
/// # Errors
/// [`Error::Usage`] with the flag of the output.
pub(super) fn refuse_overwriting(flag: &str, out: &Path, inputs: &[&Path]) -> Result<()> {
    match inputs.iter().find(|input| crate::files::same(out, input)) {
        Some(input) => Err(Error::Usage(format!(
            "{flag} {}: this is {}, which is read: name another file",
            out.display(),
            input.display()
        ))),
        None => Ok(()),
    }
}

/// Refuses outputs of one place, of which all but one would be lost. Each has the name of its flag.
///
/// # Errors
/// [`Error::Usage`] with both flags.
pub(super) fn refuse_sharing(outputs: &[(&str, &Path)]) -> Result<()> {
    for (i, (flag, path)) in outputs.iter().enumerate() {
        if let Some((other, _)) = outputs[..i].iter().find(|(_, other)| crate::files::same_place(path, other)) {
            let text = format!("{other} and {flag} both name {}, and one would be lost: name two", path.display());
            return Err(Error::Usage(text));
        }
    }
    Ok(())
}

/// Refuses to write over the data of a config.
///
/// # Errors
/// [`Error::Usage`] with the flag of the output.
pub(super) fn refuse_overwriting_data(flag: &str, out: &Path, config: &TrainConfig) -> Result<()> {
    let Some(table) = config.task.table() else { return Ok(()) };
    let validation =
        table.validation.iter().filter_map(|v| if let Validation::File(path) = v { Some(path) } else { None });
    let inputs: Vec<&Path> =
        [&table.path].into_iter().chain(&table.labels).chain(validation).map(PathBuf::as_path).collect();
    refuse_overwriting(flag, out, &inputs)
}

/// Names the file of a checkpoint whose contents were refused after it was read.
pub(super) fn name_checkpoint(path: &Path) -> impl Fn(Error) -> Error {
    move |error| match error {
        Error::Usage(text) if !text.starts_with("--") => Error::Checkpoint { path: path.to_path_buf(), reason: text },
        other => other,
    }
}

/// The number of models in a checkpoint.
pub(super) fn models(checkpoint: &Checkpoint) -> usize {
    checkpoint.start().losses.len()
}
