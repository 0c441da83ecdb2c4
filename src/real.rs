//! The floating-point types that the oracle and the cpu executor are generic over, with their elementary functions.

use num_traits::Float;

/// f32 or f64. In f64 the elementary functions are the platform's; in f32 they are polynomials to full precision, which a
/// compiler can vectorize (those of `shaders/shared/numerics.wgsl`).
pub trait Real: Float + Send + 'static {
    /// `e^self`, with the argument cut to where the result is a normal number.
    fn exponential(self) -> Self;

    /// The hyperbolic tangent.
    fn hyperbolic_tangent(self) -> Self;

    /// `log(1 + self)` for `self` in [0, 1].
    fn logarithm_of_one_plus(self) -> Self;

    /// The distribution function of the standard normal distribution.
    fn normal_distribution(self) -> Self;

    /// Sine and cosine; in f32 exact to 1e-6 up to 1e4, and between -1 and 1 everywhere.
    fn sine_and_cosine(self) -> (Self, Self);
}

impl Real for f64 {
    fn exponential(self) -> Self {
        self.exp()
    }

    fn hyperbolic_tangent(self) -> Self {
        self.tanh()
    }

    fn logarithm_of_one_plus(self) -> Self {
        self.ln_1p()
    }

    fn normal_distribution(self) -> Self {
        0.5 * libm::erfc(-self * std::f64::consts::FRAC_1_SQRT_2)
    }

    fn sine_and_cosine(self) -> (Self, Self) {
        self.sin_cos()
    }
}

impl Real for f32 {
    #[inline(always)]
    fn exponential(self) -> Self {
        // Cody-Waite reduction and a polynomial of degree 6 (Cephes expf). Adding and taking away 1.5 * 2^23 rounds.
        const ROUND: f32 = 12_582_912.0;
        let c = clamp(self, -87.0, 88.0);
        let n = (c * std::f32::consts::LOG2_E + ROUND) - ROUND;
        let r = c - n * 0.693_359_4 - n * -2.121_944_4e-4;
        let p = r * 1.987_569_1e-4 + 1.398_199_9e-3;
        let p = p * r + 8.333_452e-3;
        let p = p * r + 4.166_579_6e-2;
        let p = p * r + 1.666_666_5e-1;
        let p = p * r + 0.5;
        let p = p * r * r + r + 1.0;
        // The integer n is in the low bits of n + ROUND.
        let exponent = (n + ROUND).to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127);
        p * Self::from_bits(exponent << 23)
    }

    #[inline(always)]
    fn hyperbolic_tangent(self) -> Self {
        let e = (-2.0 * self.abs()).exponential();
        let far = ((1.0 - e) / (1.0 + e)).copysign(self);
        let s = self * self;
        let p = s * -5.704_988_7e-3 + 2.063_908_8e-2;
        let p = p * s - 5.373_971_6e-2;
        let p = p * s + 1.333_144_2e-1;
        let p = p * s - 0.333_332_8;
        if self.abs() < 0.625 { p * s * self + self } else { far }
    }

    #[inline(always)]
    fn logarithm_of_one_plus(self) -> Self {
        logarithm(1.0 + self)
    }

    #[inline(always)]
    fn normal_distribution(self) -> Self {
        // Abramowitz, Stegun (1964), 7.1.26: off by at most 7.5e-8.
        let x = clamp(self.abs() * std::f32::consts::FRAC_1_SQRT_2, 0.0, 9.0);
        let t = 1.0 / (1.0 + 0.327_591_1 * x);
        let p = t * 1.061_405_4 - 1.453_152;
        let p = p * t + 1.421_413_7;
        let p = p * t - 0.284_496_74;
        let p = p * t + 0.254_829_6;
        let upper = 0.5 * p * t * (-x * x).exponential();
        if self < 0.0 { upper } else { 1.0 - upper }
    }

    #[inline(always)]
    fn sine_and_cosine(self) -> (Self, Self) {
        // A quarter turn is taken away n times, in three parts; polynomials on the rest (Cephes sinf, cosf).
        let n = (self * std::f32::consts::FRAC_2_PI).round_ties_even();
        let r = ((self - n * 1.570_312_5) - n * 4.837_513e-4) - n * 7.549_79e-8;
        let r = clamp(r, -0.79, 0.79);
        let s = r * r;
        let sine = ((s * -1.951_529_6e-4 + 8.332_161e-3) * s - 1.666_665_5e-1) * s * r + r;
        let cosine = ((s * 2.443_315_7e-5 - 1.388_731_6e-3) * s + 4.166_664_6e-2) * s * s - 0.5 * s + 1.0;
        let quarter = n - 4.0 * (n * 0.25).floor();
        let odd = quarter == 1.0 || quarter == 3.0;
        let (a, b) = if odd { (cosine, sine) } else { (sine, cosine) };
        (if quarter >= 2.0 { -a } else { a }, if quarter == 1.0 || quarter == 2.0 { -b } else { b })
    }
}

/// `clamp` that a compiler turns into two instructions and that keeps NaN.
#[inline(always)]
fn clamp(x: f32, low: f32, high: f32) -> f32 {
    let x = if x < low { low } else { x };
    if x > high { high } else { x }
}

/// log(x) of a positive normal number: exponent and mantissa, a polynomial of degree 8 (Cephes logf).
#[inline(always)]
#[expect(clippy::cast_possible_wrap, clippy::cast_precision_loss, reason = "an exponent is below 256")]
pub(crate) fn logarithm(x: f32) -> f32 {
    let bits = x.to_bits();
    let mantissa = f32::from_bits((bits & 0x007F_FFFF) | 0x3F00_0000);
    let low = mantissa < std::f32::consts::FRAC_1_SQRT_2;
    let e = ((bits >> 23) as i32 - 126) as f32 - if low { 1.0 } else { 0.0 };
    let t = if low { mantissa + mantissa } else { mantissa } - 1.0;
    let z = t * t;
    let p = t * 7.037_683_6e-2 - 1.151_461e-1;
    let p = p * t + 1.167_699_9e-1;
    let p = p * t - 1.242_014_1e-1;
    let p = p * t + 1.424_932_3e-1;
    let p = p * t - 1.666_805_8e-1;
    let p = p * t + 2.000_071_5e-1;
    let p = p * t - 2.499_999_4e-1;
    let p = p * t + 0.333_333_3;
    t + (p * t * z - e * 2.121_944_4e-4 - 0.5 * z) + e * 0.693_359_4
}

/// A literal in the type of the computation.
#[inline(always)]
#[expect(clippy::expect_used, reason = "every f64 converts to f32 and f64")]
pub(crate) fn lit<T: Float>(value: f64) -> T {
    T::from(value).expect("f32 and f64 take any f64")
}
