//! `fori inspect`.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::output::{loss_text, print};
use super::which;
use crate::checkpoint::{Checkpoint, FORMAT_VERSION};
use crate::data::schema::{Encoding, InputColumn, Schema, Targets};
use crate::error::{Error, Result};
use crate::network::{Network, Predictor, Stage, Which};

/// Say what a checkpoint is: the run, its step and losses, the network, the columns.
///
/// A damaged file is refused with the reason.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fori inspect run.safetensors\n  fori inspect run.safetensors --json | jq .experiment"
)]
pub(super) struct InspectArgs {
    /// The checkpoint of a run.
    checkpoint: PathBuf,
    /// Print one JSON object on stdout.
    #[arg(long)]
    json: bool,
}

/// Prints what a checkpoint is.
pub(super) fn run(args: &InspectArgs) -> Result<()> {
    let checkpoint = Checkpoint::read(&args.checkpoint)?;
    if args.json {
        return print(as_json(&checkpoint).map_err(which::name_checkpoint(&args.checkpoint))?);
    }
    print(format_args!(
        "{}: checkpoint of step {}, format {FORMAT_VERSION}",
        args.checkpoint.display(),
        checkpoint.step()
    ))?;
    let rows = rows(&checkpoint).map_err(which::name_checkpoint(&args.checkpoint))?;
    rows.into_iter().try_for_each(|(name, text)| print(format_args!("  {name:<16} {text}")))
}

/// What is said of a checkpoint for people: names and texts.
fn rows(checkpoint: &Checkpoint) -> Result<Vec<(String, String)>> {
    let mut rows =
        vec![("written by".into(), format!("fori {}", checkpoint.written_by)), ("made by".into(), place(checkpoint))];
    let start = checkpoint.start();
    for (model, (&loss, diverged)) in start.losses.iter().zip(&start.diverged).enumerate() {
        let name = if start.losses.len() == 1 { "last loss".into() } else { format!("last loss of {model}") };
        let loss = if loss.is_nan() { "none yet".into() } else { loss_text(loss) };
        rows.push((name, diverged.map_or(loss.clone(), |step| format!("{loss}, diverged at step {step}"))));
    }
    if let Some(network) = network(checkpoint)? {
        rows.push(("network".into(), description(&network)));
        rows.push(("parameters".into(), network.parameters().to_string()));
        rows.extend(columns(&network.schema));
    }
    let experiment = value(&checkpoint.experiment)?;
    let fields = experiment.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    rows.extend(fields.map(|(name, value)| (name.replace('_', " "), plain(value))));
    Ok(rows)
}

/// The network of the best model, if one has not diverged.
fn network(checkpoint: &Checkpoint) -> Result<Option<Network>> {
    if checkpoint.start().diverged.iter().all(Option::is_some) {
        return Ok(None);
    }
    Ok(Some(Predictor::of(checkpoint, Which::Best)?.network().clone()))
}

/// Executor, adapter and kernels.
fn place(checkpoint: &Checkpoint) -> String {
    let kernels = checkpoint.kernels.map_or(String::new(), |kernels| format!(", {kernels} kernels"));
    let adapter = if checkpoint.adapter.is_empty() { "this processor" } else { &checkpoint.adapter };
    format!("executor {}{kernels} on {}", plain(&checkpoint.executor.clone().into()), plain(&adapter.into()))
}

/// The way of a row.
fn description(network: &Network) -> String {
    let stage = |stage: &Stage| match stage {
        Stage::Dense(dense) => dense.outputs.to_string(),
        Stage::Activation(activation) => activation.to_string(),
        Stage::Encoding(_) => "encoding".into(),
        Stage::Embedding(embedder) => format!("embedding {}", embedder.outputs()),
        Stage::LayerNorm { .. } => "layer norm".into(),
        Stage::Fork => "(".into(),
        Stage::Join => "+)".into(),
    };
    let stages = network.stages.iter().map(stage);
    std::iter::once(network.inputs().to_string()).chain(stages).collect::<Vec<_>>().join(" -> ")
}

/// How the columns of a table become inputs and targets.
fn columns(schema: &Schema) -> Vec<(String, String)> {
    let scaled = |mean: f64, std: f64| match (mean, std) {
        (0.0, 1.0) => "number as it is".into(),
        _ => format!("number, mean {mean:.6}, std {std:.6}"),
    };
    let input = |column: &InputColumn| {
        let how = match &column.encoding {
            Encoding::Number { mean, std, fill } => {
                scaled(*mean, *std) + &fill.map_or(String::new(), |fill| format!(", {fill} where it is missing"))
            }
            Encoding::OneHot { categories } => format!("one input for each of {}", listed(categories)),
            Encoding::Index { categories, width } => format!("an embedding of width {width} of {}", listed(categories)),
        };
        ("input".into(), format!("{}: {how}", text(&column.name)))
    };
    let mut rows: Vec<_> = schema.inputs.iter().map(input).collect();
    let target = |name: &str, how: String| ("target".into(), format!("{}: {how}", text(name)));
    match &schema.targets {
        Targets::Numbers { columns } => rows.extend(columns.iter().map(|c| target(&c.name, scaled(c.mean, c.std)))),
        Targets::Labels { columns } => rows.extend(columns.iter().map(|c| {
            let classes = c
                .classes
                .as_ref()
                .map_or(String::new(), |classes| format!(", 0 is {}, 1 is {}", text(&classes[0]), text(&classes[1])));
            target(&c.name, format!("label{classes}"))
        })),
        Targets::Classes { name, classes } => rows.push(target(name, format!("one of {}", listed(classes)))),
    }
    rows.extend(schema.weight.as_ref().map(|name| ("weight of rows".into(), text(name))));
    rows
}

/// A text of a file: no control characters get onto the screen.
fn text(text: &str) -> String {
    text.escape_debug().to_string()
}

fn listed(texts: &[String]) -> String {
    let first: Vec<_> = texts.iter().take(12).map(|t| text(t)).collect();
    let more = if texts.len() > 12 { format!(" and {} more", texts.len() - 12) } else { String::new() };
    first.join(", ") + &more
}

/// A JSON value as text for people.
fn plain(value: &Value) -> String {
    match value {
        Value::String(string) => text(string),
        Value::Array(values) => values.iter().map(plain).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| format!("{name} {}", plain(value))).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

fn value(of: &impl serde::Serialize) -> Result<Value> {
    serde_json::to_value(of).map_err(|e| Error::io("stdout", e.into()))
}

/// The object of `--json`.
fn as_json(checkpoint: &Checkpoint) -> Result<Value> {
    let start = checkpoint.start();
    let models = start.losses.iter().zip(&start.diverged);
    let models: Vec<_> = models
        .map(|(loss, diverged)| json!({ "loss": loss.is_finite().then_some(loss), "diverged_at": diverged }))
        .collect();
    let network = network(checkpoint)?;
    Ok(json!({
        "format_version": FORMAT_VERSION,
        "fori_version": checkpoint.written_by,
        "step": checkpoint.step(),
        "models": models,
        "network": network.as_ref().map(description),
        "parameters": network.as_ref().map(Network::parameters),
        "schema": network.as_ref().map(|network| &network.schema),
        "executor": checkpoint.executor,
        "adapter": Some(&checkpoint.adapter).filter(|adapter| !adapter.is_empty()),
        "kernels": checkpoint.kernels.map(|kernels| kernels.to_string()),
        "experiment": checkpoint.experiment,
    }))
}
