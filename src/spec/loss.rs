//! Losses: value and gradient of one element, for the oracle. The kernels are in `shaders/shared/losses.wgsl`.

use super::activation::sigmoid;
use crate::real::{Real, lit};

/// What is minimized: always the mean over the elements of the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Loss {
    /// Mean squared error, `(p - t)²` (optax `squared_error`).
    #[default]
    Mse,
    /// Mean absolute error, `|p - t|`; derivative 1 at 0, as JAX computes it (PyTorch: 0).
    Mae,
    /// `(p - t)²/2` up to a distance of 1, `|p - t| - 1/2` beyond. Reference: Huber (1964).
    Huber,
    /// `log(cosh(p - t))`.
    LogCosh,
    /// Binary cross-entropy of a logit `p` with a label `t` from 0 to 1, `max(p, 0) - p t + log(1 + e^-|p|)` (optax
    /// `sigmoid_binary_cross_entropy`).
    BinaryCrossEntropy,
}

/// What the outputs of a network are compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetKind {
    /// Any numbers, one output each.
    Numbers,
    /// Labels from 0 to 1, or one of two classes; one logit each. They are never standardized.
    Labels,
    /// One of several classes, one logit per class.
    Classes,
}

super::named_enum!(
    Loss, "loss", Mse => "mse", Mae => "mae", Huber => "huber", LogCosh => "log_cosh",
    BinaryCrossEntropy => "binary_cross_entropy",
);

impl Loss {
    /// What it compares the outputs of a network with.
    pub fn target_kind(self) -> TargetKind {
        match self {
            Self::Mse | Self::Mae | Self::Huber | Self::LogCosh => TargetKind::Numbers,
            Self::BinaryCrossEntropy => TargetKind::Labels,
        }
    }

    /// Value and derivative by the prediction of one element, before the mean.
    #[inline(always)]
    pub fn evaluate<T: Real>(self, prediction: T, target: T) -> (T, T) {
        let error = prediction - target;
        let (zero, one) = (T::zero(), T::one());
        match self {
            Self::Mse => (error * error, error + error),
            Self::Mae => (error.abs(), if error < zero { -one } else { one }),
            Self::Huber => {
                let near = error.abs() <= one;
                let far = (error.abs() - lit(0.5), if error > zero { one } else { -one });
                if near { (lit::<T>(0.5) * error * error, error) } else { far }
            }
            Self::LogCosh => {
                let size = error.abs();
                let tail = (lit::<T>(-2.0) * size).exponential().logarithm_of_one_plus();
                (size + tail - lit(std::f64::consts::LN_2), error.hyperbolic_tangent())
            }
            Self::BinaryCrossEntropy => {
                let positive = if prediction < zero { zero } else { prediction };
                let tail = (-prediction.abs()).exponential().logarithm_of_one_plus();
                (positive - prediction * target + tail, sigmoid(prediction) - target)
            }
        }
    }
}
