//! What a run says at its end: a table for people, one object for machines.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use super::output::{loss_text, print as line};
use crate::config::TrainConfig;
use crate::error::{Error, Result};
use crate::gpu::AdapterSummary;
use crate::score::Scores;
use crate::trainer::Trained;

/// The object of `--json`.
#[derive(Debug, Serialize)]
struct Summary<'a> {
    steps: u64,
    verified_steps: u64,
    final_loss: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    train_loss: Option<f64>,
    seconds: f64,
    us_per_step: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    us_per_model_step: Option<f64>,
    first_step_seconds: f64,
    executor: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    auto: Option<&'a crate::calibrate::Choice>,
    iters_per_submit: usize,
    submissions: usize,
    dispatches_per_step: f64,
    recording_us_per_dispatch: f64,
    repeated_chunks: usize,
    parameters: usize,
    adapter: Option<&'a AdapterSummary>,
    seed: u64,
    interrupted: bool,
    /// Of a run of one model.
    #[serde(skip_serializing_if = "Option::is_none")]
    diverged_at: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resumed_from: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint: Option<SavedSummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    validation: Option<ValidationSummary>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stopped_early: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    models: Vec<ModelSummary<'a>>,
    version: &'static str,
}

/// The metrics of the parameters that are kept.
#[derive(Debug, Clone, Serialize)]
struct ValidationSummary {
    step: u64,
    #[serde(flatten)]
    scores: Scores,
}

/// Those of a model, if the run was validated.
fn validation(trained: &Trained, model: usize) -> Option<ValidationSummary> {
    let validated = trained.validated.as_ref()?;
    Some(ValidationSummary { step: validated.steps[model], scores: validated.scores[model].clone() })
}

/// The last checkpoint.
#[derive(Debug, Serialize)]
struct SavedSummary {
    path: PathBuf,
    step: u64,
}

/// One model of an ensemble.
#[derive(Debug, Serialize)]
struct ModelSummary<'a> {
    model: usize,
    seed: u64,
    /// The learning rate, and what else is swept.
    #[serde(flatten)]
    hyper: BTreeMap<&'a str, f64>,
    final_loss: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    train_loss: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    validation: Option<ValidationSummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diverged_at: Option<u64>,
}

fn models<'a>(config: &'a TrainConfig, trained: &Trained) -> Vec<ModelSummary<'a>> {
    let outcome = &trained.outcome;
    let summary = |(model, member): (usize, &crate::config::Member)| {
        let mut hyper = BTreeMap::from([("learning_rate", member.hyper.learning_rate)]);
        hyper.extend(config.swept(model));
        ModelSummary {
            model,
            seed: member.seed,
            hyper,
            final_loss: finite(outcome.final_losses[model]),
            train_loss: trained.train_losses.as_ref().map(|l| l[model]),
            validation: validation(trained, model),
            diverged_at: outcome.diverged[model],
        }
    };
    trained.members.iter().enumerate().map(summary).collect()
}

/// That of the model with the least validation loss.
fn best_validation(models: &[ModelSummary<'_>]) -> Option<ValidationSummary> {
    let all = models.iter().filter_map(|model| model.validation.clone());
    all.min_by(|a, b| a.scores.loss().total_cmp(&b.scores.loss()))
}

fn finite(loss: f32) -> Option<f32> {
    loss.is_finite().then_some(loss)
}

/// Prints the JSON object.
pub(super) fn print_json(config: &TrainConfig, trained: &Trained) -> Result<()> {
    let outcome = &trained.outcome;
    let models = models(config, trained);
    let best = models.iter().filter_map(|m| m.final_loss).reduce(f32::min);
    let train_loss = trained.train_losses.as_ref().and_then(|l| l.iter().copied().reduce(f64::min));
    #[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
    let (count, steps) = (models.len() as f64, outcome.verified_steps.max(1) as f64);
    #[expect(clippy::cast_precision_loss, reason = "a count far below 2^53")]
    let dispatches_per_step = outcome.dispatches as f64 / steps;
    let summary = Summary {
        steps: outcome.steps,
        verified_steps: outcome.verified_steps,
        final_loss: best,
        train_loss,
        seconds: outcome.seconds,
        us_per_step: outcome.us_per_step,
        us_per_model_step: outcome.us_per_step.filter(|_| models.len() > 1).map(|us| us / count),
        first_step_seconds: outcome.first_step_seconds,
        executor: trained.executor,
        auto: trained.choice.as_ref(),
        iters_per_submit: outcome.iters_per_submit,
        submissions: outcome.submissions,
        dispatches_per_step,
        recording_us_per_dispatch: outcome.recording_us_per_dispatch,
        repeated_chunks: outcome.repeated_chunks,
        parameters: trained.plan.step.model.parameter_count(),
        adapter: trained.adapter.as_ref(),
        seed: config.seed,
        interrupted: outcome.interrupted,
        diverged_at: models.first().filter(|_| models.len() == 1).and_then(|model| model.diverged_at),
        resumed_from: trained.resumed_from,
        checkpoint: trained.saved.as_ref().and_then(|s| Some(SavedSummary { path: s.path.clone(), step: s.step? })),
        validation: best_validation(&models),
        stopped_early: trained.validated.as_ref().is_some_and(|v| v.stopped),
        models: if models.len() > 1 { models } else { Vec::new() },
        version: env!("CARGO_PKG_VERSION"),
    };
    let text = serde_json::to_string(&summary).map_err(|e| Error::io("stdout", e.into()))?;
    line(text)
}

/// Prints the summary for people.
pub(super) fn print(config: &TrainConfig, trained: &Trained) -> Result<()> {
    let outcome = &trained.outcome;
    let pace = outcome.us_per_step.map_or(String::new(), |us| format!(", {us:.1} µs per step"));
    let to = trained.resumed_from.map_or(String::new(), |from| format!(", from {from} to {},", outcome.steps));
    line(format_args!(
        "{} steps{to} in {:.2} s{pace} (first step after {:.2} s)",
        outcome.verified_steps, outcome.seconds, outcome.first_step_seconds
    ))?;
    line(format_args!(
        "executor {}, {} steps per submission, {} submissions, {} steps verified",
        trained.executor, outcome.iters_per_submit, outcome.submissions, outcome.verified_steps
    ))?;
    if let Some(choice) = &trained.choice {
        line(format_args!("executor auto took {}: {}", choice.executor, choice.why))?;
    }
    if let Some((saved, step)) = trained.saved.as_ref().and_then(|saved| Some((saved, saved.step?))) {
        line(format_args!("checkpoint of step {step} in {}", saved.path.display()))?;
    }
    if trained.validated.as_ref().is_some_and(|validated| validated.stopped) {
        let patience = config.validate.patience.unwrap_or(0);
        line(format_args!("stopped early: no better validation loss in {patience} validations"))?;
    }
    let models = models(config, trained);
    let [only] = models.as_slice() else { return print_models(models) };
    line(format_args!("final loss {}", loss_text(outcome.final_losses[0])))?;
    if let Some(loss) = only.train_loss {
        line(format_args!("loss over all rows that were trained on {}", table_text(loss)))?;
    }
    let Some(ValidationSummary { step, scores }) = &only.validation else { return Ok(()) };
    let metrics: Vec<_> = scores.named().iter().map(|(name, value)| format!("{name} {value:.4}")).collect();
    line(format_args!("validation of the parameters of step {step}: {}", metrics.join(", ")))
}

#[expect(clippy::cast_possible_truncation, reason = "for six decimals")]
fn table_text(loss: f64) -> String {
    loss_text(loss as f32)
}

/// Prints the table of an ensemble, best first.
fn print_models(mut models: Vec<ModelSummary<'_>>) -> Result<()> {
    let key = |m: &ModelSummary<'_>| {
        let validation = m.validation.as_ref().map(|v| v.scores.loss()).or(m.train_loss);
        validation.unwrap_or_else(|| m.final_loss.map_or(f64::INFINITY, f64::from))
    };
    models.sort_by(|a, b| key(a).total_cmp(&key(b)));
    let names: Vec<_> = models.first().map_or(Vec::new(), |m| m.hyper.keys().copied().collect());
    let headings: String = names.iter().map(|name| format!(" {name:>14}")).collect();
    let table_loss = models.iter().any(|m| m.train_loss.is_some());
    let heading = if table_loss { "   table loss" } else { "" };
    let headline = models.iter().find_map(|m| Some(m.validation.as_ref()?.scores.headline().0));
    let validation = headline.map_or(String::new(), |name| format!(" {:>12} {:>9}", "validation", name));
    line(format_args!("\n{:>6} {:>6}{headings} {:>12}{heading}{validation}", "model", "seed", "final loss"))?;
    for m in &models {
        let hyper: String = m.hyper.values().map(|value| format!(" {:>14}", format!("{value:?}"))).collect();
        let loss = m.final_loss.map_or("diverged".into(), loss_text);
        let table = m.train_loss.map_or(String::new(), |l| format!(" {:>12}", table_text(l)));
        let validation = m
            .validation
            .as_ref()
            .map_or(String::new(), |v| format!(" {:>12} {:>9.4}", table_text(v.scores.loss()), v.scores.headline().1));
        line(format_args!("{:>6} {:>6}{hyper} {loss:>12}{table}{validation}", m.model, m.seed))?;
    }
    Ok(())
}
