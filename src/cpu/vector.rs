//! The loops and products of the cpu executor that use the processor's vectors: chosen at run time from its features.

use multiversion::multiversion;

use crate::real::logarithm;
use crate::rng::{Key, bits_of_sixteen, erf_inv_from};
use crate::spec::{Activation, Constants, NORM_EPS, Optimizer, PerVariant, clip_value};

/// A matrix to read: scalars, and the steps from row to row and from column to column.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    scalars: &'a [f32],
    row: usize,
    column: usize,
}

impl<'a> View<'a> {
    pub(super) fn new(scalars: &'a [f32], row: usize) -> Self {
        Self { scalars, row, column: 1 }
    }

    pub(super) fn transposed(self) -> Self {
        Self { row: self.column, column: self.row, ..self }
    }

    /// Whether `rows` x `columns` of it lie inside its scalars.
    fn holds(&self, rows: usize, columns: usize) -> bool {
        (rows - 1) * self.row + (columns - 1) * self.column < self.scalars.len()
    }
}

/// `c = a b + beta c` with `(rows, inner)`, `(inner, columns)` and `(rows, columns)`.
pub(super) fn multiply(
    (rows, inner, columns): (usize, usize, usize),
    a: View<'_>,
    b: View<'_>,
    beta: f32,
    c: &mut [f32],
    stride: usize,
) {
    let inside = a.holds(rows, inner) && b.holds(inner, columns) && (rows - 1) * stride + columns <= c.len();
    assert!(inside, "a product of {rows} x {inner} x {columns} exceeds its arenas");
    #[expect(clippy::cast_possible_wrap, reason = "a stride is below 2^31")]
    let [ar, ac, br, bc, cr] = [a.row, a.column, b.row, b.column, stride].map(|s| s as isize);
    #[expect(unsafe_code, reason = "the GEMM crate takes pointers")]
    // SAFETY: all three matrices lie inside their slices, as asserted above, and `c` is borrowed mutably.
    unsafe {
        let (a, b, c) = (a.scalars.as_ptr(), b.scalars.as_ptr(), c.as_mut_ptr());
        matrixmultiply::sgemm(rows, inner, columns, 1.0, a, ar, ac, b, br, bc, beta, c, cr, 1);
    }
}

/// `c[r] += sum_k a[r, k] b[k]` for the one used column of a padded matrix: a GEMM would compute its padding too.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
pub(super) fn multiply_column(a: &[f32], a_stride: usize, b: &[f32], c: &mut [f32], stride: usize) {
    for (row, sum) in a.chunks_exact(a_stride).zip(c.iter_mut().step_by(stride)) {
        let mut sums = [0.0_f32; 16];
        let (blocks, rest) = row[..b.len()].as_chunks::<16>();
        for (x, w) in blocks.iter().zip(b.as_chunks::<16>().0) {
            for i in 0..16 {
                sums[i] += x[i] * w[i];
            }
        }
        let tail: f32 = rest.iter().zip(&b[16 * blocks.len()..]).map(|(x, w)| x * w).sum();
        *sum += sums.iter().sum::<f32>() + tail;
    }
}

/// `sums[k] = sum_r a[r, k] b[r]`, where `b` is the one used column of a padded matrix.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
pub(super) fn sum_of_rows(a: &[f32], a_stride: usize, b: &[f32], stride: usize, rows: usize, sums: &mut [f32]) {
    sums.fill(0.0);
    for (row, factor) in a.chunks_exact(a_stride).zip(b.iter().step_by(stride)).take(rows) {
        for (sum, x) in sums.iter_mut().zip(row) {
            *sum += x * factor;
        }
    }
}

/// `sums[c] = sum_r a[r, c]`.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
pub(super) fn sum_of_columns(a: &[f32], rows: usize, sums: &mut [f32]) {
    let stride = sums.len();
    // Blocks whose sums stay in registers.
    for (block, sums) in sums.chunks_mut(32).enumerate() {
        let mut wide = [0.0_f32; 32];
        for row in a.chunks_exact(stride).take(rows) {
            let row = &row[32 * block..];
            match row.first_chunk::<32>() {
                Some(row) => wide.iter_mut().zip(row).for_each(|(sum, x)| *sum += x),
                None => wide.iter_mut().zip(row).for_each(|(sum, x)| *sum += x),
            }
        }
        sums.copy_from_slice(&wide[..sums.len()]);
    }
}

/// `c = a^T b` with `(inner, rows)`, `(inner, columns)` and `(rows, columns)` for so few rows that packing them would take a GEMM
/// longer than the product.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
pub(super) fn multiply_thin(
    (rows, inner): (usize, usize),
    a: &[f32],
    a_stride: usize,
    b: &[f32],
    c: &mut [f32],
    stride: usize,
) {
    c.fill(0.0);
    for (a, b) in a.chunks_exact(a_stride).zip(b.chunks_exact(stride)).take(inner) {
        for (c, factor) in c.chunks_exact_mut(stride).zip(&a[..rows]) {
            c.iter_mut().zip(b).for_each(|(sum, x)| *sum += factor * x);
        }
    }
}

/// Activations, slopes and deltas below this count as zero. A saturated unit would else fill the arenas with subnormal
/// numbers, which cost a processor a hundred times as much as others; GPUs flush those by themselves.
const TINY: f32 = 1e-18;

/// The same for the state of the optimizer, which decays for ever where gradients are zero.
const VANISHING: f32 = 1e-36;

/// A loop of its own: inside another it keeps that from being vectorized.
#[inline(always)]
fn flush(values: &mut [f32], below: f32) {
    for value in values {
        *value = if value.abs() < below { 0.0 } else { *value };
    }
}

/// Values and slopes of the pre-activations `z`, in place.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw", "x86_64+avx2+fma"))]
pub(super) fn activate(activation: Activation, z: &mut [f32], slope: &mut [f32]) {
    // Blocks that stay in the nearest cache from one loop to the next.
    for (z, slope) in z.chunks_mut(BLOCK).zip(slope.chunks_mut(BLOCK)) {
        activation.specialize(Activate(z, slope));
        flush(z, TINY);
        flush(slope, TINY);
    }
}

const BLOCK: usize = 512;

struct Activate<'a>(&'a mut [f32], &'a mut [f32]);

impl PerVariant<Activation> for Activate<'_> {
    #[inline(always)]
    fn run<const VARIANT: usize>(self) {
        for (z, slope) in self.0.iter_mut().zip(self.1) {
            (*z, *slope) = const { Activation::ALL[VARIANT] }.evaluate(*z);
        }
    }
}

#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
pub(super) fn multiply_by(target: &mut [f32], factors: &[f32]) {
    for (t, f) in target.iter_mut().zip(factors) {
        *t *= f;
    }
    flush(target, TINY);
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
        let factors = bits_of_sixteen(key, 16 * chunk).map(|bits| if unit(bits) < keep { 1.0 / keep } else { 0.0 });
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
    flush(mu, VANISHING);
    flush(nu, VANISHING);
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
            [*mu, *nu] = slots;
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
        let mut values = bits_of_sixteen(key, first + 16 * chunk).map(unit);
        for value in &mut values {
            let lowest = -0.999_999_94_f32;
            let u = *value * 2.0 + lowest;
            let u = if u > lowest { u } else { lowest };
            *value = std::f32::consts::SQRT_2 * erf_inv_from(u, -logarithm(1.0 - u * u));
        }
        block.copy_from_slice(&values[..block.len()]);
    }
}

/// The number in [0, 1) that JAX makes of 32 random bits.
#[inline(always)]
fn unit(bits: u32) -> f32 {
    f32::from_bits((bits >> 9) | 0x3F80_0000) - 1.0
}
