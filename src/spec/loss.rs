//! Losses: value and gradient of one element, for the oracle. The kernels are in `shaders/shared/losses.wgsl`.

use crate::real::Real;

/// What is minimized: always the mean over the elements of the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Loss {
    /// Mean squared error, `(p - t)²` (optax `squared_error`).
    #[default]
    Mse,
}

super::named_enum!(Loss, "loss", Mse => "mse");

impl Loss {
    /// Value and derivative by the prediction of one element, before the mean.
    #[inline(always)]
    pub fn evaluate<T: Real>(self, prediction: T, target: T) -> (T, T) {
        match self {
            Self::Mse => {
                let error = prediction - target;
                (error * error, error + error)
            }
        }
    }
}
