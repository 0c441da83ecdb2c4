//! Losses: value and gradient of one element, for the oracle. The kernels are in `shaders/shared/losses.wgsl`.

use super::activation::sigmoid;
use crate::real::{Real, lit};

/// What is minimized: the mean over the elements of the batch, or over its rows where it has no elements.
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
    /// Cross-entropy of a row of logits with the index of its class, `log(sum_j e^p_j) - sum_j q_j p_j`, where `q` is 1 for
    /// the class and 0 elsewhere, or with label smoothing `s`, `(1 - s) q + s / classes` (optax
    /// `softmax_cross_entropy_with_integer_labels`, `smooth_labels`). The mean is over rows. Reference for smoothing:
    /// Szegedy et al. (2015), "Rethinking the Inception architecture for computer vision".
    SoftmaxCrossEntropy,
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
    BinaryCrossEntropy => "binary_cross_entropy", SoftmaxCrossEntropy => "softmax_cross_entropy",
);

impl Loss {
    /// What it compares the outputs of a network with.
    pub fn target_kind(self) -> TargetKind {
        match self {
            Self::Mse | Self::Mae | Self::Huber | Self::LogCosh => TargetKind::Numbers,
            Self::BinaryCrossEntropy => TargetKind::Labels,
            Self::SoftmaxCrossEntropy => TargetKind::Classes,
        }
    }

    /// Whether it is a sum over elements. Softmax cross-entropy looks at a row as a whole.
    pub fn is_elementwise(self) -> bool {
        self != Self::SoftmaxCrossEntropy
    }

    /// How many terms of the mean a row of `outputs` has.
    pub fn terms(self, outputs: usize) -> usize {
        if self.is_elementwise() { outputs } else { 1 }
    }

    /// How many numbers the target of a row of `outputs` has.
    pub fn target_columns(self, outputs: usize) -> usize {
        self.terms(outputs)
    }

    /// The sum over the terms of a row, whose derivatives by the outputs go to `slopes`.
    #[inline(always)]
    pub fn row<T: Real>(self, outputs: &[T], expected: &[T], smoothing: T, slopes: &mut [T]) -> T {
        if !self.is_elementwise() {
            let class = expected[0].to_usize().unwrap_or(0).min(outputs.len() - 1);
            softmax_slopes(outputs, class, smoothing, slopes);
            return softmax_cross_entropy(outputs, class, smoothing);
        }
        let mut sum = T::zero();
        for ((&output, &expected), slope) in outputs.iter().zip(expected).zip(slopes) {
            let (value, derivative) = self.evaluate(output, expected);
            sum = sum + value;
            *slope = derivative;
        }
        sum
    }

    /// Value and derivative by the prediction of one element, before the mean; NaN where the loss has no elements.
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
            Self::SoftmaxCrossEntropy => (T::nan(), T::nan()),
        }
    }
}

/// The class of the largest output, the first of equals.
pub fn largest<T: PartialOrd>(outputs: &[T]) -> usize {
    (1..outputs.len()).fold(0, |best, o| if outputs[o] > outputs[best] { o } else { best })
}

/// The largest of some logits, and the sum of the exponentials of their distances from it.
fn largest_and_sum<T: Real>(logits: &[T]) -> (T, T) {
    let largest = logits.iter().fold(T::neg_infinity(), |a, &b| a.max(b));
    (largest, logits.iter().fold(T::zero(), |sum, &z| sum + (z - largest).exponential()))
}

/// Cross-entropy of a row of logits with the class of an index below their number.
pub fn softmax_cross_entropy<T: Real>(logits: &[T], class: usize, smoothing: T) -> T {
    let (largest, sum) = largest_and_sum(logits);
    let count = T::from(logits.len()).unwrap_or_else(T::one);
    let mean = logits.iter().fold(T::zero(), |sum, &z| sum + (z - largest)) / count;
    sum.ln() - (T::one() - smoothing) * (logits[class] - largest) - smoothing * mean
}

/// `softmax - q`, with `q` the smoothed share of each class.
fn softmax_slopes<T: Real>(logits: &[T], class: usize, smoothing: T, slopes: &mut [T]) {
    let (largest, sum) = largest_and_sum(logits);
    let share = smoothing / T::from(logits.len()).unwrap_or_else(T::one);
    for (o, (&logit, slope)) in logits.iter().zip(slopes).enumerate() {
        let wanted = if o == class { T::one() - smoothing + share } else { share };
        *slope = (logit - largest).exponential() / sum - wanted;
    }
}
