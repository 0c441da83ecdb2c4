//! Activation functions: value and derivative, for the oracle. The kernels are in `shaders/shared/activations.wgsl`.

use crate::real::{Real, lit};

/// The nonlinearity after each hidden layer. The last layer has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Activation {
    /// `z`.
    Identity,
    /// `max(z, 0)`, derivative 0 at 0.
    Relu,
    /// `z`, below 0 a hundredth of it; derivative 1 at 0.
    LeakyRelu,
    /// `z`, below 0 `e^z - 1`. Reference: Clevert, Unterthiner, Hochreiter (2015).
    Elu,
    /// `1.0507 elu` with `1.6733 (e^z - 1)` below 0, which keeps mean and variance. Reference: Klambauer et al. (2017).
    Selu,
    /// `tanh(z)`.
    Tanh,
    /// `1 / (1 + e^-z)`.
    Sigmoid,
    /// `z sigmoid(z)`, also called swish.
    Silu,
    /// The tanh form, `z/2 (1 + tanh(√(2/π) (z + 0.044715 z³)))`, as `flax.nnx.gelu` (PyTorch's default is the erf form).
    #[default]
    Gelu,
    /// `z Φ(z)` with the distribution function of the normal distribution, PyTorch's default gelu.
    GeluExact,
    /// `log(1 + e^z)`.
    Softplus,
    /// `sin(z)`, for implicit images and signals; `sin(w0 z)` with the `w0` of the model. Reference: Sitzmann et al. (2020).
    Sin,
}

super::named_enum!(
    Activation, "activation",
    Identity => "identity", Relu => "relu", LeakyRelu => "leaky_relu", Elu => "elu", Selu => "selu", Tanh => "tanh",
    Sigmoid => "sigmoid", Silu => "silu", Gelu => "gelu", GeluExact => "gelu_exact", Softplus => "softplus",
    Sin => "sin",
);

/// The scale and the factor below 0 of selu.
const SELU: (f64, f64) = (1.050_700_987_355_480_5, 1.673_263_242_354_377_2);

impl Activation {
    /// Value and derivative by `z` of the function at `w0 z`.
    #[inline(always)]
    pub fn evaluate_scaled<T: Real>(self, w0: T, z: T) -> (T, T) {
        let (value, slope) = self.evaluate(w0 * z);
        (value, w0 * slope)
    }

    /// Value and derivative at `z`.
    #[inline(always)]
    pub fn evaluate<T: Real>(self, z: T) -> (T, T) {
        let (zero, one) = (T::zero(), T::one());
        match self {
            Self::Identity => (z, one),
            // Not `max`, which would turn NaN into 0.
            Self::Relu => (if z < zero { zero } else { z }, if z > zero { one } else { zero }),
            Self::LeakyRelu => (if z < zero { lit::<T>(0.01) * z } else { z }, if z < zero { lit(0.01) } else { one }),
            Self::Elu => exponential_below_zero(z, one, one),
            Self::Selu => exponential_below_zero(z, lit(SELU.0), lit(SELU.1)),
            Self::Tanh => {
                let h = z.hyperbolic_tangent();
                (h, one - h * h)
            }
            Self::Sigmoid => {
                let s = sigmoid(z);
                (s, s * (one - s))
            }
            Self::Silu => silu(z),
            Self::Gelu => gelu(z),
            Self::GeluExact => gelu_exact(z),
            Self::Softplus => {
                let far = if z < zero { zero } else { z };
                (far + (-z.abs()).exponential().logarithm_of_one_plus(), sigmoid(z))
            }
            Self::Sin => z.sine_and_cosine(),
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

#[inline(always)]
pub(super) fn sigmoid<T: Real>(z: T) -> T {
    T::one() / (T::one() + (-z).exponential())
}

/// `scale z`, below 0 `scale factor (e^z - 1)`; the derivative at 0 is that of the right side.
#[inline(always)]
fn exponential_below_zero<T: Real>(z: T, scale: T, factor: T) -> (T, T) {
    let e = factor * z.exponential();
    if z > T::zero() {
        (scale * z, scale)
    } else {
        (scale * (e - factor), if z < T::zero() { scale * e } else { scale })
    }
}

#[inline(always)]
fn silu<T: Real>(z: T) -> (T, T) {
    let s = sigmoid(z);
    // A huge negative z would scale up what is left of s, or of 1 - s; NaN stays NaN.
    let value = if z < lit(-80.0) { T::zero() } else { z * s };
    (value, s + value * (T::one() - s))
}

/// `z Φ(z)` and `Φ(z) + z φ(z)`.
#[inline(always)]
fn gelu_exact<T: Real>(z: T) -> (T, T) {
    let below = z.normal_distribution();
    let c = z.max(lit(-40.0)).min(lit(40.0));
    let density = lit::<T>(0.398_942_280_401_432_7) * (lit::<T>(-0.5) * c * c).exponential();
    let value = if z < lit(-40.0) { T::zero() } else { z * below };
    (value, below + c * density)
}
