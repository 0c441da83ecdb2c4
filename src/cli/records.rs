//! What a run writes for whoever reads it later: the metrics file, and the events for TensorBoard.
//!
//! Invariant: what cannot be written does not end the run. Its error is told at once, and is that of the command at the end, when
//! the checkpoint and the summary are safe.

use std::path::Path;

use super::events::Events;
use crate::error::{Error, Result};
use crate::metrics::{MetricsWriter, Row};
use crate::score::Scores;

/// A step that is reported.
pub(super) struct Step<'a> {
    /// Counted from 1.
    pub(super) step: u64,
    /// Of each model.
    pub(super) losses: &'a [f32],
    /// Of each model.
    pub(super) rates: &'a [f64],
    /// Seconds since the run began.
    pub(super) elapsed_s: f64,
    /// Of each model, where it was validated.
    pub(super) scores: &'a [Scores],
}

/// The files of a run, and why they end early, if they do.
#[derive(Default)]
pub(super) struct Records {
    metrics: Option<MetricsWriter>,
    events: Option<Events>,
    failure: Option<Error>,
}

impl Records {
    /// With a metrics file, if there is one.
    pub(super) fn new(metrics: Option<MetricsWriter>) -> Self {
        Self { metrics, ..Self::default() }
    }

    /// Writes for TensorBoard too.
    pub(super) fn report_to(&mut self, events: Events) {
        self.events = Some(events);
    }

    /// Adds a step. What is to be said of it, if it could not be written.
    #[must_use]
    pub(super) fn add(&mut self, step: &Step<'_>) -> Option<String> {
        let result = self.write(step);
        self.note(result)
    }

    /// Hands over what there is. What is to be said of it, as of [`Records::add`].
    #[must_use]
    pub(super) fn flush(&mut self) -> Option<String> {
        if self.failure.is_some() {
            return None;
        }
        let events = self.events.as_mut().map_or(Ok(()), Events::flush);
        let result = events.and_then(|()| self.metrics.as_mut().map_or(Ok(()), MetricsWriter::flush));
        self.note(result)
    }

    fn write(&mut self, step: &Step<'_>) -> Result<()> {
        if self.failure.is_some() {
            return Ok(());
        }
        if let Some(events) = &mut self.events {
            events.report(step.step, step.losses, step.rates, step.scores)?;
        }
        let Some(metrics) = &mut self.metrics else { return Ok(()) };
        let several = step.losses.len() > 1;
        for (model, (&loss, &learning_rate)) in step.losses.iter().zip(step.rates).enumerate() {
            let validation = step.scores.get(model).map_or_else(Vec::new, Scores::named);
            let model = several.then_some(model);
            let (step, elapsed_s) = (step.step, step.elapsed_s);
            metrics.write(&Row { step, model, loss, learning_rate, elapsed_s, validation })?;
        }
        Ok(())
    }

    /// Keeps the first failure.
    fn note(&mut self, result: Result<()>) -> Option<String> {
        let error = result.err()?;
        let text = format!("{error}; training goes on, and its losses are not written from here on");
        self.failure = Some(error);
        Some(text)
    }

    /// Ends the files of a run that is over.
    ///
    /// # Errors
    /// The first that a file had; the rows so far are then where [`Records::partial`] says.
    pub(super) fn finish(&mut self) -> Result<()> {
        let failed = self.failure.take().map_or(Ok(()), Err);
        let events = self.events.take().map_or(Ok(()), |mut events| events.end(failed.is_ok()));
        failed?;
        self.metrics.take().map_or(Ok(()), MetricsWriter::finish).and(events)
    }

    /// Ends the files of a run that failed.
    pub(super) fn abandon(&mut self) {
        if let Some(mut events) = self.events.take() {
            // The error of the run is the one that counts.
            let _ = events.end(false);
        }
    }

    /// Where the rows of a metrics file are that was not finished.
    pub(super) fn partial(&self) -> Option<&Path> {
        self.metrics.as_ref().and_then(MetricsWriter::partial)
    }
}
