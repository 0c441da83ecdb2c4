//! The loops of the cpu executor that use the processor's vectors: chosen at run time from its features.

use multiversion::multiversion;

use crate::real::logarithm;
use crate::rng::{Key, bits_of_sixteen, erf_inv_from, unit_from_bits};
use crate::spec::{Activation, Constants, NORM_EPS, Optimizer, PerVariant, clip_value};

/// Activations, slopes and deltas below this count as zero. A saturated unit would else fill the arenas with subnormal
/// numbers, which cost a processor a hundred times as much as others; GPUs flush those by themselves.
const TINY: f32 = 1e-18;

/// The same for the state of the optimizer, which decays for ever where gradients are zero.
const VANISHING: f32 = 1e-36;

#[inline(always)]
fn flushed(value: f32, below: f32) -> f32 {
    if value.abs() < below { 0.0 } else { value }
}

#[inline(always)]
fn flush(values: &mut [f32], below: f32) {
    for value in values {
        *value = flushed(*value, below);
    }
}

/// Values and slopes of the pre-activations `z`, in place.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw", "x86_64+avx2+fma"))]
pub(super) fn activate(activation: Activation, z: &mut [f32], slope: &mut [f32]) {
    activation.specialize(Activate(z, slope));
}

struct Activate<'a>(&'a mut [f32], &'a mut [f32]);

impl PerVariant<Activation> for Activate<'_> {
    #[inline(always)]
    fn run<const VARIANT: usize>(self) {
        for (z, slope) in self.0.iter_mut().zip(self.1) {
            let (value, derivative) = const { Activation::ALL[VARIANT] }.evaluate(*z);
            (*z, *slope) = (flushed(value, TINY), flushed(derivative, TINY));
        }
    }
}

#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
pub(super) fn multiply_by(target: &mut [f32], factors: &[f32]) {
    for (t, f) in target.iter_mut().zip(factors) {
        *t = flushed(*t * f, TINY);
    }
}

/// `target += terms`.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
pub(super) fn add(target: &mut [f32], terms: &[f32]) {
    for (t, term) in target.iter_mut().zip(terms) {
        *t += term;
    }
}

/// What dropout multiplies with: `1 / keep` with probability `keep`, else 0.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq", "x86_64+avx2+fma"))]
pub(super) fn dropout_factors(key: Key, keep: f32, out: &mut [f32]) {
    for (chunk, block) in (0_u32..).zip(out.chunks_mut(16)) {
        let units = bits_of_sixteen(key, 16 * chunk).map(unit_from_bits);
        let factors = units.map(|unit| if unit < keep { 1.0 / keep } else { 0.0 });
        block.copy_from_slice(&factors[..block.len()]);
    }
}

/// `sum_i a[i] b[i]`, four columns at a time.
#[inline(always)]
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 4];
    for (a, b) in a.as_chunks::<4>().0.iter().zip(b.as_chunks::<4>().0) {
        for i in 0..4 {
            sums[i] += a[i] * b[i];
        }
    }
    sums.iter().sum()
}

/// Normalizes a padded row `z` of which `width` numbers are used, in place: its normal form, then `n scale + bias`. Returns the
/// inverse of the standard deviation.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "a width is far below 2^24")]
pub(super) fn normalize(z: &mut [f32], width: usize, normalized: &mut [f32], scale: &[f32], bias: &[f32]) -> f32 {
    let mean = z.iter().sum::<f32>() / width as f32;
    normalized.fill(0.0);
    normalized[..width].iter_mut().zip(&*z).for_each(|(n, z)| *n = z - mean);
    let variance = dot(normalized, normalized) / width as f32;
    let inverse = 1.0 / (variance + NORM_EPS as f32).sqrt();
    normalized.iter_mut().for_each(|n| *n *= inverse);
    for (((z, n), scale), bias) in z.iter_mut().zip(&*normalized).zip(scale).zip(bias) {
        *z = n * scale + bias;
    }
    flush(normalized, TINY);
    inverse
}

/// The way back: from the derivative by `n scale + bias` to that by `z`, in `delta`.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
#[expect(clippy::cast_precision_loss, reason = "a width is far below 2^24")]
pub(super) fn denormalize(
    delta: &mut [f32],
    width: usize,
    derivative: &[f32],
    normalized: &[f32],
    scale: &[f32],
    inverse: f32,
) {
    delta.iter_mut().zip(derivative).zip(scale).for_each(|((g, d), scale)| *g = d * scale);
    let mean = delta.iter().sum::<f32>() / width as f32;
    let product = dot(delta, normalized) / width as f32;
    for (g, n) in delta[..width].iter_mut().zip(normalized) {
        *g = inverse * (*g - mean - n * product);
    }
    flush(delta, TINY);
}

/// Sine and cosine of numbers of turns.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq", "x86_64+avx2+fma"))]
pub(super) fn waves(turns: &[f32], sines: &mut [f32], cosines: &mut [f32]) {
    super::encode::waves(turns, sines, cosines);
}

/// The optimizer on whole slices: parameters, gradients, and up to two slots of state.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
pub(super) fn update(
    optimizer: Optimizer,
    rows: &(Constants<f32>, [f32; 4]),
    p: &mut [f32],
    g: &[f32],
    mu: &mut [f32],
    nu: &mut [f32],
) {
    // The unused slots are scratch: state is as long as the parameters for each optimizer.
    let n = p.len();
    let (mu, nu) = (&mut mu[..n], &mut nu[..n]);
    optimizer.specialize(Update { rows, p, g: &g[..n], mu, nu });
}

struct Update<'a> {
    rows: &'a (Constants<f32>, [f32; 4]),
    p: &'a mut [f32],
    g: &'a [f32],
    mu: &'a mut [f32],
    nu: &'a mut [f32],
}

impl PerVariant<Optimizer> for Update<'_> {
    #[inline(always)]
    fn run<const VARIANT: usize>(self) {
        let (constants, row) = *self.rows;
        let state = self.mu.iter_mut().zip(self.nu);
        for ((p, g), (mu, nu)) in self.p.iter_mut().zip(self.g).zip(state) {
            let mut slots = [*mu, *nu];
            const { Optimizer::ALL[VARIANT] }.update(&constants, &row, *g, p, &mut slots);
            [*mu, *nu] = slots.map(|slot| flushed(slot, VANISHING));
        }
    }
}

/// Gradients cut to ±`limit`.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
pub(super) fn clip_values(g: &mut [f32], limit: f32) {
    for g in g {
        *g = clip_value(*g, limit);
    }
}

/// The means of sums of `count` gradients, cut to ±`limit`.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
pub(super) fn mean_gradients(sums: &[f32], count: f32, limit: f32, means: &mut [f32]) {
    for (mean, sum) in means.iter_mut().zip(sums) {
        *mean = clip_value(sum / count, limit);
    }
}

#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
pub(super) fn multiply_by_number(values: &mut [f32], factor: f32) {
    for value in values {
        *value *= factor;
    }
}

#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
pub(super) fn sum_of_squares(values: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 16];
    let (blocks, rest) = values.as_chunks::<16>();
    for block in blocks {
        for i in 0..16 {
            sums[i] += block[i] * block[i];
        }
    }
    sums.iter().sum::<f32>() + rest.iter().map(|v| v * v).sum::<f32>()
}

/// Elements `first..` of `jax.random.normal(key)`.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq", "x86_64+avx2+fma"))]
pub(super) fn normals(key: Key, first: u32, out: &mut [f32]) {
    for (chunk, block) in (0_u32..).zip(out.chunks_mut(16)) {
        let mut values = bits_of_sixteen(key, first + 16 * chunk).map(unit_from_bits);
        for value in &mut values {
            let lowest = -0.999_999_94_f32;
            let u = *value * 2.0 + lowest;
            let u = if u > lowest { u } else { lowest };
            *value = std::f32::consts::SQRT_2 * erf_inv_from(u, -logarithm(1.0 - u * u));
        }
        block.copy_from_slice(&values[..block.len()]);
    }
}
