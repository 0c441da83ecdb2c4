//! Activation functions: value and derivative, for the oracle. The kernels are in `shaders/shared/activations.wgsl`.

use crate::real::{Real, lit};

/// The nonlinearity after each hidden layer. The last layer has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Activation {
    /// `z`.
    Identity,
    /// `max(z, 0)`, derivative 0 at 0.
    Relu,
    /// `tanh(z)`.
    Tanh,
    /// The tanh form, `z/2 (1 + tanh(√(2/π) (z + 0.044715 z³)))`, as `flax.nnx.gelu` (PyTorch's default is the erf form).
    #[default]
    Gelu,
}

super::named_enum!(Activation, "activation", Identity => "identity", Relu => "relu", Tanh => "tanh", Gelu => "gelu");

impl Activation {
    /// Value and derivative at `z`.
    #[inline(always)]
    pub fn evaluate<T: Real>(self, z: T) -> (T, T) {
        let (zero, one) = (T::zero(), T::one());
        match self {
            Self::Identity => (z, one),
            // Not `max`, which would turn NaN into 0.
            Self::Relu => (if z < zero { zero } else { z }, if z > zero { one } else { zero }),
            Self::Tanh => {
                let h = z.hyperbolic_tangent();
                (h, one - h * h)
            }
            Self::Gelu => gelu(z),
        }
    }
}

/// `z s` with `s = 1 / (1 + e^{-2u})`, `u = √(2/π) (z + 0.044715 z³)`: the tanh form without its cancellation.
#[inline(always)]
fn gelu<T: Real>(z: T) -> (T, T) {
    let one = T::one();
    // Beyond ±10 the function is z or 0 to the last digit, and z³ stays finite.
    let c = z.max(lit(-10.0)).min(lit(10.0));
    let scale = lit::<T>(1.595_769_121_605_730_7);
    let cube = lit::<T>(0.044_715);
    let s = one / (one + (-(scale * c * (one + cube * c * c))).exponential());
    let slope = s + c * s * (one - s) * scale * (one + lit::<T>(3.0) * cube * c * c);
    // A huge negative z would scale up what is left of s; NaN stays NaN.
    (if z < lit(-10.0) { T::zero() } else { z * s }, slope)
}
