//! `fori train --tensorboard`: a run for TensorBoard, or one for each of several models.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use serde_json::Value;

use super::output::say;
use super::values;
use crate::checkpoint::StoredExperiment;
use crate::config::{MAX_MODELS, Member, TrainConfig};
use crate::error::{Error, Result};
use crate::score::Scores;
use crate::tensorboard::{EventWriter, Hparam};

/// Flags of TensorBoard.
#[derive(Debug, Args)]
pub(super) struct TensorBoardArgs {
    /// Write losses, learning rates and hyperparameters for TensorBoard into a folder, those of several models into
    /// folders below it: `tensorboard --logdir DIR` shows them.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    tensorboard: Option<PathBuf>,
    /// Write at most the first N models of an ensemble for TensorBoard [default: 16]
    #[arg(long, value_name = "N", requires = "tensorboard", value_parser = values::whole::<usize>(1..=MAX_MODELS as u64), help_heading = "Output")]
    tensorboard_models: Option<usize>,
}

impl TensorBoardArgs {
    /// Where the events are asked for.
    pub(super) fn folder(&self) -> Option<&PathBuf> {
        self.tensorboard.as_ref()
    }
}

/// The event files of a run.
pub(super) struct Events {
    /// Of the first models.
    writers: Vec<EventWriter>,
}

/// What is no hyperparameter in an experiment, or is said for each model.
const LEFT_OUT: [&str; 9] = [
    "hyperparameters",
    "seed",
    "sweep",
    "ensemble",
    "checkpoint_every",
    "keep",
    "checked",
    "on_divergence",
    "checkpoint_best",
];

impl Events {
    /// Opens the files that the flags ask for, if any; `from` is the step of a resumed run.
    pub(super) fn open(
        args: &TensorBoardArgs,
        config: &TrainConfig,
        members: &[Member],
        from: Option<u64>,
    ) -> Result<Option<Self>> {
        let Some(folder) = &args.tensorboard else { return Ok(None) };
        let shown = members.len().min(args.tensorboard_models.unwrap_or(16));
        if shown < members.len() {
            say(format_args!(
                "note: TensorBoard gets the first {shown} of {} models; --tensorboard-models changes that",
                members.len()
            ));
        }
        let digits = (members.len() - 1).to_string().len();
        let one = |(model, member): (usize, &Member)| {
            let below = format!("model_{model:0digits$}");
            let folder = if members.len() == 1 { folder.clone() } else { folder.join(below) };
            let mut writer = EventWriter::create(&folder, from)?;
            let hparams = hparams(config, member)?;
            if from.is_none() {
                writer.text("configuration", &markdown(&hparams))?;
                writer.hparams(hparams.into_iter().map(|(name, value)| (name, hparam(value))).collect())?;
            }
            writer.flush()?;
            Ok(writer)
        };
        let writers = members.iter().take(shown).enumerate().map(one).collect::<Result<_>>()?;
        Ok(Some(Self { writers }))
    }

    /// Adds a step: per model its loss and learning rate, and its scores where it was validated.
    pub(super) fn report(&mut self, step: u64, losses: &[f32], rates: &[f64], scores: &[Scores]) -> Result<()> {
        for (model, (writer, &loss)) in self.writers.iter_mut().zip(losses).enumerate() {
            writer.scalars(step, &[("loss", f64::from(loss)), ("learning_rate", rates[model])])?;
            let scores = scores.get(model).map_or_else(Vec::new, Scores::named);
            let tags: Vec<_> = scores.iter().map(|(name, value)| (format!("validation_{name}"), *value)).collect();
            let values: Vec<_> = tags.iter().map(|(tag, value)| (tag.as_str(), *value)).collect();
            if !values.is_empty() {
                writer.scalars(step, &values)?;
            }
        }
        Ok(())
    }

    /// Hands over what there is.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.writers.iter_mut().try_for_each(EventWriter::flush)
    }

    /// Says that the run is over.
    pub(super) fn end(&mut self, success: bool) -> Result<()> {
        self.writers.iter_mut().try_for_each(|writer| writer.end(success))
    }
}

/// The settings of a model by name.
fn hparams(config: &TrainConfig, member: &Member) -> Result<BTreeMap<String, Value>> {
    let value =
        serde_json::to_value(StoredExperiment::of(config, None)).map_err(|e| Error::io("--tensorboard", e.into()))?;
    let mut named = BTreeMap::new();
    let Value::Object(settings) = value else { return Ok(named) };
    for (name, value) in settings.into_iter().filter(|(name, _)| !LEFT_OUT.contains(&name.as_str())) {
        flatten(name, value, &mut named);
    }
    // The table is not read yet.
    named.retain(|name, _| !name.contains(".data."));
    named.extend(member.hyper.named().map(|(name, value)| (name.to_owned(), value.into())));
    named.insert("seed".into(), member.seed.into());
    Ok(named)
}

/// Adds a value, those of an object under `name.key`; what says nothing is left out.
fn flatten(name: String, value: Value, named: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                flatten(format!("{name}.{key}"), value, named);
            }
        }
        Value::Null => {}
        Value::String(text) if text.is_empty() => {}
        Value::Array(list) => {
            let text: Vec<_> = list.iter().map(|v| v.as_str().map_or(v.to_string(), String::from)).collect();
            named.insert(name, text.join(", ").into());
        }
        value => {
            named.insert(name, value);
        }
    }
}

fn hparam(value: Value) -> Hparam {
    match value {
        Value::Bool(truth) => truth.into(),
        Value::String(text) => text.into(),
        value => value.as_f64().map_or_else(|| value.to_string().into(), Hparam::from),
    }
}

/// The settings as a table.
fn markdown(named: &BTreeMap<String, Value>) -> String {
    let row = |(name, value): (&String, &Value)| {
        let text = value.as_str().map_or(value.to_string(), String::from);
        format!("| {name} | {} |\n", text.replace('|', "\\|"))
    };
    let rows: String = named.iter().map(row).collect();
    format!("fori {}\n\n| setting | value |\n|---|---|\n{rows}", env!("CARGO_PKG_VERSION"))
}
