//! Casts between the floating-point types that the oracle is generic over.

use num_traits::Float;

/// A literal in the type of the computation.
#[expect(clippy::expect_used, reason = "every f64 converts to f32 and f64")]
pub(crate) fn lit<T: Float>(value: f64) -> T {
    T::from(value).expect("f32 and f64 take any f64")
}
