//! Random numbers on the host against JAX's.

use std::collections::HashMap;

use fori::rng::{Key, erf_inv, threefry2x32};

use crate::common::{assert_ulps, golden};

/// The golden tensors, as words and as numbers.
struct Golden(HashMap<String, Vec<f64>>);

impl Golden {
    fn load() -> Self {
        Self(golden("rng.safetensors"))
    }

    fn numbers(&self, name: &str) -> &[f64] {
        &self.0[name]
    }

    fn words(&self, name: &str) -> Vec<u32> {
        self.numbers(name).iter().map(|&v| crate::common::word(v)).collect()
    }

    fn pairs(&self, name: &str) -> Vec<[u32; 2]> {
        self.words(name).chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect()
    }
}

/// The names of the keys of the draws, in the order of `draw_keys`.
const DRAWS: [&str; 4] = ["key0", "key1", "key42", "key0_sub"];

/// What is drawn from each of [`DRAWS`]: name, key and the golden numbers of `what` for `shape`.
fn draws(data: &Golden, what: &str, shapes: &[&str]) -> Vec<(String, Key, Vec<f64>)> {
    let keys = data.pairs("draw_keys").into_iter().map(Key);
    let of_key = |(name, key): (&str, Key)| {
        let row = |shape: &&str| {
            let tensor = format!("{what}_{name}_{shape}");
            (tensor.clone(), key, data.numbers(&tensor).to_vec())
        };
        shapes.iter().map(row).collect::<Vec<_>>()
    };
    DRAWS.into_iter().zip(keys).flat_map(of_key).collect()
}

/// The first `count` numbers of an array.
fn take<T>(count: usize, draw: impl Fn(u32) -> T) -> Vec<T> {
    (0..).take(count).map(draw).collect()
}

#[test]
fn threefry_equals_jax() {
    let data = Golden::load();
    let [keys, counters, outputs] = ["key", "counter", "output"].map(|n| data.pairs(&format!("threefry_{n}")));
    assert_eq!(keys.len(), 32, "rows of the golden data");
    for ((key, counter), want) in keys.into_iter().zip(counters).zip(outputs) {
        assert_eq!(threefry2x32(key, counter), want, "key {key:x?} counter {counter:x?}");
    }
}

#[test]
fn seeds_equal_jax() {
    let data = Golden::load();
    for (seed, want) in data.words("seed").into_iter().zip(data.pairs("seed_key_data")) {
        assert_eq!(Key::from_seed(u64::from(seed)), Key(want), "seed {seed}");
    }
    assert_eq!(Key::from_seed(0x0123_4567_89ab_cdef), Key([0x0123_4567, 0x89ab_cdef]), "the high word comes first");
}

#[test]
fn split_and_fold_in_equal_jax() {
    let data = Golden::load();
    for seed in [0, 42] {
        let key = Key::from_seed(seed);
        for shape in ["2", "3", "5", "2x3"] {
            let want = data.pairs(&format!("split_key{seed}_{shape}"));
            assert_eq!(take(want.len(), |i| key.fold_in(i).0), want, "children of key({seed}), shape {shape}");
        }
        for (number, want) in data.words("fold_in_data").into_iter().zip(data.pairs(&format!("fold_in_key{seed}"))) {
            assert_eq!(key.fold_in(number).0, want, "fold_in(key({seed}), {number})");
        }
    }
}

#[test]
fn a_chain_of_splits_equals_jax() {
    let mut key = Key::from_seed(0);
    for (i, want) in Golden::load().pairs("split_chain_key0").chunks_exact(2).enumerate() {
        let sub;
        (key, sub) = key.split();
        assert_eq!([key.0, sub.0], *want, "split number {i}");
    }
}

#[test]
fn bits_equal_jax_and_do_not_depend_on_the_shape() {
    let data = Golden::load();
    for shape in ["scalar", "1", "7", "64x1", "64x2", "3x5x2", "1000"] {
        let want = data.words(&format!("bits_key42_{shape}"));
        assert_eq!(take(want.len(), |i| Key::from_seed(42).bits(i)), want, "bits of key(42), shape {shape}");
    }
    for (name, key, want) in draws(&data, "bits", &["64x1", "64x2"]) {
        let got: Vec<_> = take(want.len(), |i| f64::from(key.bits(i)));
        assert_eq!(got, want, "{name}");
    }
}

#[test]
fn uniforms_equal_jax() {
    for (name, key, want) in draws(&Golden::load(), "uniform", &["64x1", "64x2"]) {
        let got = take(want.len(), |i| f64::from(key.uniform(i)));
        assert_eq!(got, want, "{name}");
    }
}

#[test]
fn normals_are_within_four_ulps_of_jax() {
    for (name, key, want) in draws(&Golden::load(), "normal", &["64x1", "64x2"]) {
        assert_ulps(&name, &take(want.len(), |i| key.normal(i)), &want, 4, 0.0);
    }
}

#[test]
fn truncated_normals_are_within_four_ulps_of_jax() {
    for (name, key, want) in draws(&Golden::load(), "truncated_normal", &["2x64"]) {
        let got = take(want.len(), |i| key.truncated_normal(i));
        // Near 0 the last digit of the uniform number counts for more than the ulps of the result.
        assert_ulps(&name, &got, &want, 4, 2e-7);
        assert!(got.iter().all(|v| v.abs() < 2.0), "{name}: a number outside (-2, 2)");
    }
}

#[test]
fn the_truncation_is_at_two_standard_deviations() {
    let key = Key::from_seed(7);
    let numbers = take(20_000, |i| key.truncated_normal(i));
    let largest = numbers.iter().fold(0.0, |largest: f32, v| largest.max(v.abs()));
    assert!((1.99..2.0).contains(&largest), "the largest of 20,000 is {largest}");
}

#[test]
fn erf_inv_is_within_four_ulps_of_jax() {
    let data = Golden::load();
    let (x, want) = (data.numbers("erf_inv_x"), data.numbers("erf_inv_y"));
    let (mut got, mut finite) = (Vec::new(), Vec::new());
    for (&x, &want) in x.iter().zip(want) {
        let y = erf_inv(crate::common::single(x));
        if want.is_finite() {
            got.push(y);
            finite.push(want);
        } else {
            assert_eq!(f64::from(y), want, "erf_inv({x})");
        }
    }
    assert!(finite.len() > 400, "{} finite rows", finite.len());
    assert_ulps("erf_inv", &got, &finite, 4, 0.0);
}

/// What JAX's rule comes to: up to 2^16 the two words are one 64-bit number, and its remainder is taken. Above, the
/// square of 2^16 wraps to 0 in 32 bits, which leaves the low word.
fn integer_of(high: u32, low: u32, span: u32) -> u32 {
    let word = (u64::from(high) << 32) | u64::from(low);
    let taken = if span <= 1 << 16 { word } else { u64::from(low) };
    u32::try_from(taken % u64::from(span)).expect("a remainder by a 32-bit number")
}

#[test]
fn integers_follow_the_rule_of_jax() {
    let spans = [1, 2, 3, 7, 10, 442, 569, 1797, 65_535, 65_536, 65_537, 1_000_003, 1 << 31, u32::MAX];
    for seed in [0, 1, 42] {
        let key = Key::from_seed(seed);
        let (first, second) = (Key(threefry2x32(key.0, [0, 0])), Key(threefry2x32(key.0, [0, 1])));
        for span in spans {
            let want = take(500, |i| integer_of(first.bits(i), second.bits(i), span));
            let got = take(500, |i| key.randint(i, span));
            assert!(got.iter().all(|&v| v < span), "seed {seed} span {span}: out of range");
            assert_eq!(got, want, "seed {seed} span {span}");
        }
    }
}
