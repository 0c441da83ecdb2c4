//! How good predictions are: sums over rows, wherever they were computed, and the metrics that come of them.
//!
//! Definitions are scikit-learn's with its defaults; where there are several outputs, each metric is the plain mean over them.
//! The loss weighs rows as training does; the other metrics count each row once.

mod tally;

use serde::Serialize;

use crate::spec::TargetKind;
pub(crate) use tally::is_one;
pub use tally::{ClassCounts, ErrorSums, Tally, area_under_curve, spread};

/// The metrics of one model over a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Scores {
    /// Of predicted numbers.
    Numbers {
        /// The loss that is minimized, in the units of training.
        loss: f64,
        /// Mean absolute error, in the units of the file.
        mae: f64,
        /// Root of the mean squared error, in the units of the file.
        rmse: f64,
        /// Coefficient of determination; NaN where a target is constant.
        r2: f64,
    },
    /// Of labels from 0 to 1, taken as 1 where they are at least a half.
    Labels {
        /// The loss that is minimized.
        loss: f64,
        /// Share of the rows whose label is right.
        accuracy: f64,
        /// Mean over both labels of the share that is found.
        balanced_accuracy: f64,
        /// Harmonic mean of precision and recall of label 1.
        f1: f64,
        /// Area under the receiver operating characteristic; NaN where there is one label only.
        auc: f64,
    },
    /// Of one of several classes.
    Classes {
        /// The loss that is minimized, which label smoothing enlarges.
        loss: f64,
        /// Share of the rows whose class is right.
        accuracy: f64,
        /// Mean over the classes that occur of the share that is found.
        balanced_accuracy: f64,
        /// Mean over the classes that occur or are predicted of the harmonic mean of precision and recall.
        macro_f1: f64,
        /// Cross-entropy in nats, without smoothing.
        log_loss: f64,
        /// Area under the receiver operating characteristic of two classes.
        #[serde(skip_serializing_if = "Option::is_none")]
        auc: Option<f64>,
    },
}

impl Scores {
    /// The loss.
    pub fn loss(&self) -> f64 {
        match self {
            Self::Numbers { loss, .. } | Self::Labels { loss, .. } | Self::Classes { loss, .. } => *loss,
        }
    }

    /// Each metric by its name, the loss first.
    pub fn named(&self) -> Vec<(&'static str, f64)> {
        match *self {
            Self::Numbers { loss, mae, rmse, r2 } => vec![("loss", loss), ("mae", mae), ("rmse", rmse), ("r2", r2)],
            Self::Labels { loss, accuracy, balanced_accuracy, f1, auc } => {
                vec![
                    ("loss", loss),
                    ("accuracy", accuracy),
                    ("balanced_accuracy", balanced_accuracy),
                    ("f1", f1),
                    ("auc", auc),
                ]
            }
            Self::Classes { loss, accuracy, balanced_accuracy, macro_f1, log_loss, auc } => {
                let mut named = vec![
                    ("loss", loss),
                    ("accuracy", accuracy),
                    ("balanced_accuracy", balanced_accuracy),
                    ("macro_f1", macro_f1),
                    ("log_loss", log_loss),
                ];
                named.extend(auc.map(|auc| ("auc", auc)));
                named
            }
        }
    }

    /// The metric that is shown where there is room for one beside the loss.
    pub fn headline(&self) -> (&'static str, f64) {
        match *self {
            Self::Numbers { r2, .. } => ("r2", r2),
            Self::Labels { accuracy, .. } | Self::Classes { accuracy, .. } => ("accuracy", accuracy),
        }
    }
}

/// The names of the metrics of a kind of targets, as [`Scores::named`] has them.
pub fn names(kind: TargetKind) -> &'static [&'static str] {
    match kind {
        TargetKind::Numbers => &["loss", "mae", "rmse", "r2"],
        TargetKind::Labels => &["loss", "accuracy", "balanced_accuracy", "f1", "auc"],
        TargetKind::Classes => &["loss", "accuracy", "balanced_accuracy", "macro_f1", "log_loss", "auc"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_its_name() {
        let kinds = [
            (TargetKind::Numbers, Scores::Numbers { loss: 0.0, mae: 0.0, rmse: 0.0, r2: 0.0 }),
            (
                TargetKind::Labels,
                Scores::Labels { loss: 0.0, accuracy: 0.0, balanced_accuracy: 0.0, f1: 0.0, auc: 0.0 },
            ),
            (
                TargetKind::Classes,
                Scores::Classes {
                    loss: 0.0,
                    accuracy: 0.0,
                    balanced_accuracy: 0.0,
                    macro_f1: 0.0,
                    log_loss: 0.0,
                    auc: Some(0.0),
                },
            ),
        ];
        for (kind, scores) in kinds {
            let named: Vec<_> = scores.named().into_iter().map(|(name, _)| name).collect();
            assert_eq!(named, names(kind), "names of {kind:?}");
        }
    }
}
