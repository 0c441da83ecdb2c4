//! Threefry-2x32 with JAX's key rules, on the host.
//!
//! Owns keys, bits, uniforms and normals; `shaders/shared/threefry.wgsl` is the same arithmetic on the device. The
//! rules are those of `jax.random` in its partitionable mode (the default of JAX since 0.5): element `i` of an array of
//! any shape is `x0 ^ x1` of one block whose counter is the flat index `i`.
//! Reference: Salmon, Moraes, Dror, Shaw (2011), "Parallel random numbers: as easy as 1, 2, 3".

/// A random key: two words, as `jax.random.key_data` shows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Key(pub [u32; 2]);

/// The bounds `erf(-2/√2)` and `erf(2/√2)` in f32, between which truncated normals draw their uniforms.
const TRUNCATION: f32 = 0.954_499_7;

impl Key {
    /// The key of a seed: its high and low 32 bits, as `jax.random.key(seed)`.
    pub fn from_seed(seed: u64) -> Self {
        let [a, b, c, d, e, f, g, h] = seed.to_be_bytes();
        Self([u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h])])
    }

    /// The child key number `data`, as `jax.random.fold_in` (and as child `data` of `jax.random.split`).
    pub fn fold_in(self, data: u32) -> Self {
        Self(threefry2x32(self.0, [0, data]))
    }

    /// `key, sub = jax.random.split(key)`.
    pub fn split(self) -> (Self, Self) {
        (self.fold_in(0), self.fold_in(1))
    }

    /// Random 32-bit word number `index` of an array drawn from this key.
    pub fn bits(self, index: u32) -> u32 {
        let [x0, x1] = threefry2x32(self.0, [0, index]);
        x0 ^ x1
    }

    /// Uniform number `index` in [0, 1): a multiple of 2⁻²³.
    pub fn uniform(self, index: u32) -> f32 {
        unit_from_bits(self.bits(index))
    }

    /// Uniform number `index` in `[low, high)`, as `jax.random.uniform(key, shape, minval=low, maxval=high)`.
    pub fn uniform_between(self, index: u32, low: f32, high: f32) -> f32 {
        // XLA forms `f * (high - low) + low` with one rounding, hence the fused multiply-add.
        self.uniform(index).mul_add(high - low, low).max(low)
    }

    /// Standard normal number `index`, as `jax.random.normal`: `√2 · erf_inv(u)`, u uniform in (-1, 1).
    pub fn normal(self, index: u32) -> f32 {
        normal_from_bits(self.bits(index))
    }

    /// Standard normal number `index` cut to (-2, 2), as `jax.random.truncated_normal(key, -2, 2)`.
    pub fn truncated_normal(self, index: u32) -> f32 {
        let u = self.uniform_between(index, -TRUNCATION, TRUNCATION);
        let limit = 2.0_f32.next_down();
        (std::f32::consts::SQRT_2 * erf_inv(u)).clamp(-limit, limit)
    }

    /// Number `i` of a permutation of the numbers below `count`, which this key chooses: a Feistel network over the bits of
    /// `count - 1`, walked until it is back below `count`. Reference: Black, Rogaway (2002), "Ciphers with arbitrary finite
    /// domains".
    pub fn permute(self, i: u32, count: u32) -> u32 {
        let mut x = self.permute_bits(i, count);
        while x >= count {
            x = self.permute_bits(x, count);
        }
        x
    }

    /// Each half of the bits in turn is changed by a mix of the other.
    fn permute_bits(self, x: u32, count: u32) -> u32 {
        let (low_bits, high_bits) = permutation_bits(count as usize);
        let (low_mask, high_mask) = ((1 << low_bits) - 1, (1 << high_bits) - 1);
        let (mut low, mut high) = (x & low_mask, x >> low_bits);
        for round in 0..4_u32 {
            let constant = round.wrapping_mul(0x9E37_79B9);
            high ^= mix_bits(low ^ self.0[0].wrapping_add(constant)) & high_mask;
            low ^= mix_bits(high ^ self.0[1].wrapping_add(constant)) & low_mask;
        }
        high << low_bits | low
    }

    /// `jax.random.randint(key, shape, 0, span)[index]` for 32-bit integers: two draws, so that the bias of the modulus is
    /// negligible.
    pub fn randint(self, index: u32, span: u32) -> u32 {
        let (high, low) = self.split();
        randint_from_bits(high.bits(index), low.bits(index), span)
    }
}

/// Bits of the low and of the high half of the numbers below `count`.
pub(crate) fn permutation_bits(count: usize) -> (u32, u32) {
    let bits = usize::BITS - count.saturating_sub(1).leading_zeros();
    (bits.div_ceil(2), bits / 2)
}

/// The finalizer of MurmurHash3.
fn mix_bits(x: u32) -> u32 {
    let h = (x ^ (x >> 16)).wrapping_mul(0x85EB_CA6B);
    let h = (h ^ (h >> 13)).wrapping_mul(0xC2B2_AE35);
    h ^ (h >> 16)
}

/// The integer in [0, span) that JAX forms from two random words.
fn randint_from_bits(high: u32, low: u32, span: u32) -> u32 {
    let half = (1 << 16) % span;
    let multiplier = half.wrapping_mul(half) % span;
    (high % span).wrapping_mul(multiplier).wrapping_add(low % span) % span
}

/// Maps a random word to [0, 1).
#[inline(always)]
pub(crate) fn unit_from_bits(bits: u32) -> f32 {
    f32::from_bits((bits >> 9) | 0x3F80_0000) - 1.0
}

/// Maps a random word to a standard normal.
fn normal_from_bits(bits: u32) -> f32 {
    let lowest = (-1.0_f32).next_up();
    let u = (unit_from_bits(bits) * 2.0 + lowest).max(lowest);
    std::f32::consts::SQRT_2 * erf_inv(u)
}

/// The block function: twenty rounds over two counter words under two key words.
pub fn threefry2x32(key: [u32; 2], counter: [u32; 2]) -> [u32; 2] {
    const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
    let keys = [key[0], key[1], key[0] ^ key[1] ^ 0x1BD1_1BDA];
    let mut x0 = counter[0].wrapping_add(keys[0]);
    let mut x1 = counter[1].wrapping_add(keys[1]);
    for group in 0..5_u32 {
        for rotation in ROTATIONS[group as usize % 2] {
            x0 = x0.wrapping_add(x1);
            x1 = x1.rotate_left(rotation) ^ x0;
        }
        x0 = x0.wrapping_add(keys[(group as usize + 1) % 3]);
        x1 = x1.wrapping_add(keys[(group as usize + 2) % 3]).wrapping_add(group + 1);
    }
    [x0, x1]
}

/// The words `x0 ^ x1` of sixteen blocks with the counters `(0, first + i)`: elements of an array of random bits, in a form
/// that vectorizes.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "an index below 16")]
pub(crate) fn bits_of_sixteen(key: Key, first: u32) -> [u32; 16] {
    const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
    let [k0, k1] = key.0;
    let keys = [k0, k1, k0 ^ k1 ^ 0x1BD1_1BDA];
    let mut x0 = [k0; 16];
    let mut x1: [u32; 16] = std::array::from_fn(|i| (i as u32).wrapping_add(first).wrapping_add(k1));
    for group in 0..5_u32 {
        for rotation in ROTATIONS[group as usize % 2] {
            for (x0, x1) in x0.iter_mut().zip(&mut x1) {
                *x0 = x0.wrapping_add(*x1);
                *x1 = x1.rotate_left(rotation) ^ *x0;
            }
        }
        for (x0, x1) in x0.iter_mut().zip(&mut x1) {
            *x0 = x0.wrapping_add(keys[(group as usize + 1) % 3]);
            *x1 = x1.wrapping_add(keys[(group as usize + 2) % 3]).wrapping_add(group + 1);
        }
    }
    std::array::from_fn(|i| x0[i] ^ x1[i])
}

/// The inverse error function in single precision.
///
/// Reference: Giles (2012), "Approximating the erfinv function". The product `x * x` is rounded before the logarithm, as
/// XLA does; fusing it moves the far tail by 2e-5.
pub fn erf_inv(x: f32) -> f32 {
    if x.abs() >= 1.0 {
        return x * f32::INFINITY;
    }
    erf_inv_from(x, -(-(x * x)).ln_1p())
}

/// The inverse error function of `x` from `w = -log(1 - x²)`.
#[inline(always)]
pub(crate) fn erf_inv_from(x: f32, w: f32) -> f32 {
    const CENTER: [f32; 9] = [
        2.810_226_4e-8,
        3.432_739_4e-7,
        -3.523_387_7e-6,
        -4.391_506_5e-6,
        2.185_808_7e-4,
        -1.253_725e-3,
        -4.177_681_6e-3,
        0.246_640_73,
        1.501_409_4,
    ];
    const TAIL: [f32; 9] = [
        -2.002_142_6e-4,
        1.009_505_6e-4,
        1.349_343_2e-3,
        -3.673_428_4e-3,
        5.739_507_7e-3,
        -7.622_461e-3,
        9.438_87e-3,
        1.001_674,
        2.832_976_8,
    ];
    let polynomial =
        |t: f32, coefficients: &[f32; 9]| coefficients[1..].iter().fold(coefficients[0], |p, &c| c + p * t);
    let (center, tail) = (polynomial(w - 2.5, &CENTER), polynomial(w.sqrt() - 3.0, &TAIL));
    x * if w < 5.0 { center } else { tail }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threefry_matches_the_random123_vectors() {
        let pi = [[0x243f_6a88, 0x85a3_08d3], [0x1319_8a2e, 0x0370_7344]];
        let rows = [
            ([0, 0], [0, 0], [0x6b20_0159, 0x99ba_4efe]),
            ([u32::MAX; 2], [u32::MAX; 2], [0x1cb9_96fc, 0xbb00_2be7]),
            (pi[1], pi[0], [0xc492_3a9c, 0x483d_f7a0]),
        ];
        for (key, counter, want) in rows {
            assert_eq!(threefry2x32(key, counter), want, "key {key:x?} counter {counter:x?}");
        }
    }

    #[test]
    fn randint_covers_its_span_evenly() {
        let key = Key::from_seed(3);
        let mut counts = [0_u32; 7];
        for i in 0..7000 {
            counts[key.randint(i, 7) as usize] += 1;
        }
        assert!(counts.iter().all(|&c| (850..1150).contains(&c)), "{counts:?}");
    }
}
