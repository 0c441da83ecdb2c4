//! What is done to a gradient before the optimizer sees it, for the oracle. The kernels are in
//! `shaders/shared/optimizers.wgsl` and `shaders/update.wgsl`.

use num_traits::Float;

/// `g` cut to ±`limit` (optax `clip`); as it is where `limit` is 0, or `g` is NaN.
#[inline(always)]
pub(crate) fn clip_value<T: Float>(g: T, limit: T) -> T {
    if limit == T::zero() {
        g
    } else if g > limit {
        limit
    } else if g < -limit {
        -limit
    } else {
        g
    }
}

/// What gradients of the global norm `norm` are multiplied by (optax `clip_by_global_norm`): 1 below `limit`, and where
/// `limit` is 0. Reference: Pascanu, Mikolov, Bengio (2012), "On the difficulty of training recurrent neural networks".
pub(crate) fn norm_factor<T: Float>(norm: T, limit: T) -> T {
    if limit == T::zero() || norm < limit { T::one() } else { limit / norm }
}
