//! Random numbers and elementary functions of the kernels against the host's, on any adapter.

use fori::gpu::Device;
use fori::rng::Key;
use fori::spec::Loss;

use crate::adapter::run_kernel;
use crate::common::{assert_close, device, golden};

const NUMERICS: &str = include_str!("../../shaders/shared/numerics.wgsl");
const THREEFRY: &str = include_str!("../../shaders/shared/threefry.wgsl");
const LOSSES: &str = include_str!("../../shaders/shared/losses.wgsl");
const ACTIVATIONS: &str = include_str!("../../shaders/shared/activations.wgsl");

/// Keys from which the tests draw.
const KEYS: [Key; 5] = [Key([0, 0]), Key([0, 42]), Key([1, 0]), Key([0x1319_8a2e, 0x0370_7344]), Key([u32::MAX; 2])];

/// Applies `function`, from `vec4<f32>` to `vec4<f32>`, to numbers whose count is a multiple of four.
fn map(device: &Device, files: &[&str], function: &str, x: &[f32]) -> Vec<f32> {
    let input: Vec<u32> = x.iter().map(|v| v.to_bits()).collect();
    let body = format!("bitcast<vec4<u32>>({})", function.replace('$', "bitcast<vec4<f32>>(v)"));
    run_kernel(device, files, &body, &input).into_iter().map(f32::from_bits).collect()
}

/// Distance in units of the last place of `want` rounded to single precision.
#[expect(clippy::cast_possible_truncation, reason = "rounding is the purpose")]
fn ulps(got: f32, want: f64) -> f64 {
    let rounded = want.abs() as f32;
    let ulp = f64::from(rounded.next_up()) - f64::from(rounded);
    (f64::from(got) - want).abs() / ulp
}

/// Fails unless every result is within `limit` ulps.
fn assert_ulps(name: &str, x: &[f32], got: &[f32], want: impl Fn(f64) -> f64, limit: f64) {
    for (&x, &got) in x.iter().zip(got) {
        let want = want(f64::from(x));
        let distance = ulps(got, want);
        // Written so that NaN fails.
        assert!(distance <= limit, "{name}({x:e}) is {got:e}, {distance:.1} ulps from {want:e}");
    }
}

/// `count` numbers from `low` to `high` in equal steps.
#[expect(clippy::cast_possible_truncation, reason = "rounding to single precision is wanted")]
fn grid(low: f64, high: f64, count: u32) -> Vec<f32> {
    let step = (high - low) / f64::from(count - 1);
    (0..count).map(|i| (low + step * f64::from(i)) as f32).collect()
}

#[test]
fn random_words_are_the_hosts_bit_for_bit() {
    let Some(device) = device() else { return };
    let starts = [0_u32, 4, 1000, u32::MAX - 4];
    let rows: Vec<_> = KEYS.iter().flat_map(|key| starts.map(|start| [key.0[0], key.0[1], start, 0])).collect();
    let body = "random_bits(v.xy, vec4<u32>(v.z) + vec4<u32>(0u, 1u, 2u, 3u))";
    let got = run_kernel(&device, &[NUMERICS, THREEFRY], body, rows.as_flattened());
    for (row, got) in rows.iter().zip(got.chunks_exact(4)) {
        let want: Vec<_> = (0..4).map(|i| Key([row[0], row[1]]).bits(row[2] + i)).collect();
        assert_eq!(got, want, "bits of {row:x?}");
    }
}

#[test]
fn child_keys_are_the_hosts_bit_for_bit() {
    let Some(device) = device() else { return };
    let pairs = [[0_u32, 1], [2, 3], [1000, 1 << 31], [u32::MAX, 65_536]];
    let rows: Vec<_> = KEYS.iter().flat_map(|key| pairs.map(|[a, b]| [key.0[0], key.0[1], a, b])).collect();
    let body = "vec4<u32>(fold_in(v.xy, v.z), fold_in(v.xy, v.w))";
    let got = run_kernel(&device, &[NUMERICS, THREEFRY], body, rows.as_flattened());
    for (row, got) in rows.iter().zip(got.chunks_exact(4)) {
        let key = Key([row[0], row[1]]);
        let want = [key.fold_in(row[2]).0, key.fold_in(row[3]).0];
        assert_eq!(got, want.as_flattened(), "children of {row:x?}");
    }
}

#[test]
fn random_integers_are_the_hosts_bit_for_bit() {
    let Some(device) = device() else { return };
    let spans = [1_u32, 2, 3, 150, 1797, 65_535, 65_536, 65_537, 1_000_003, 1 << 31, u32::MAX];
    let rows: Vec<_> =
        KEYS.iter().flat_map(|key| spans.into_iter().map(|span| [key.0[0], key.0[1], 7, span])).collect();
    let draw = |i: u32| format!("random_integer(v.xy, v.z + {i}u, v.w)");
    let body = format!("vec4<u32>({}, {}, {}, {})", draw(0), draw(1), draw(2), draw(3));
    let got = run_kernel(&device, &[NUMERICS, THREEFRY], &body, rows.as_flattened());
    for (row, got) in rows.iter().zip(got.chunks_exact(4)) {
        let want: Vec<_> = (0..4).map(|i| Key([row[0], row[1]]).randint(row[2] + i, row[3])).collect();
        assert_eq!(got, want, "integers of {row:x?}");
    }
}

/// Whether the device rounds `x * x` where the kernels rely on it, rather than fusing it into the subtraction.
fn rounds_squares(device: &Device) -> bool {
    let x = grid(0.0, 0.999, 4000);
    let got = map(device, &[], "1.0 - min($ * $, vec4<f32>(1.0))", &x);
    x.iter().zip(got).all(|(x, got)| got == 1.0 - x * x)
}

#[test]
fn random_normals_are_the_hosts_but_for_the_last_digits() {
    let Some(device) = device() else { return };
    let rounded = rounds_squares(&device);
    let rows: Vec<_> = KEYS.iter().flat_map(|key| (0..8192).step_by(4).map(|i| [key.0[0], key.0[1], i, 0])).collect();
    let body = "bitcast<vec4<u32>>(random_normal(v.xy, vec4<u32>(v.z) + vec4<u32>(0u, 1u, 2u, 3u)))";
    let got = run_kernel(&device, &[NUMERICS, THREEFRY], body, rows.as_flattened());
    for (row, got) in rows.iter().zip(got.chunks_exact(4)) {
        for (i, &got) in (0..).zip(got) {
            let (got, want) = (f32::from_bits(got), Key([row[0], row[1]]).normal(row[2] + i));
            let limit = if want.abs() < 3.0 { 5e-6 } else { 1e-4 };
            let close = if rounded { ulps(got, want.into()) <= 4.0 } else { (got - want).abs() <= limit };
            assert!(
                close,
                "normal {} of {:x?} is {got}, expected {want} (squares rounded: {rounded})",
                row[2] + i,
                &row[..2]
            );
        }
    }
}

#[test]
fn exponential_and_logarithm_are_right_to_four_ulps() {
    let Some(device) = device() else { return };
    // Beyond the clamps the result stays at the ends of the normal numbers.
    let ends = [-1e30_f32, -104.0, -103.0, -87.5, 88.5, 200.0, 1e30, f32::MIN_POSITIVE];
    let x = [grid(-90.0, 90.0, 60_000), grid(-1.0, 1.0, 20_000), ends.to_vec()].concat();
    let got = map(&device, &[NUMERICS], "exponential($)", &x);
    assert_ulps("exponential", &x, &got, |x| x.clamp(-87.0, 88.0).exp(), 4.0);

    let near_one = grid(0.5, 2.0, 40_000);
    let powers = grid(-37.9, 38.5, 40_000).into_iter().map(|e| 10_f32.powf(e)).collect();
    let ends = vec![f32::MIN_POSITIVE, f32::MAX, 1.0_f32.next_up(), 1.0_f32.next_down()];
    let x = [near_one, powers, ends].concat();
    let got = map(&device, &[NUMERICS], "logarithm($)", &x);
    assert_ulps("logarithm", &x, &got, f64::ln, 4.0);
}

#[test]
fn activations_match_golden_values_and_slopes() {
    let Some(device) = device() else { return };
    let files = [NUMERICS, ACTIVATIONS];
    let golden = golden("activations.safetensors");
    #[expect(clippy::cast_possible_truncation, reason = "the points are single precision")]
    let mut x: Vec<f32> = golden["x"].iter().map(|&v| v as f32).collect();
    let points = x.len();
    let huge = [1e10_f32, -1e10, 1e20, -1e20];
    x.extend(huge);
    let names = [
        ("identity", "identity"),
        ("relu", "relu"),
        ("leaky_relu", "leaky_relu"),
        ("elu", "elu"),
        ("tanh", "tanh"),
        ("sigmoid", "sigmoid"),
        ("silu", "silu"),
        ("gelu", "gelu_tanh"),
        ("gelu_exact", "gelu_erf"),
        ("softplus", "softplus"),
        ("sin", "sin"),
    ];
    for (function, name) in names {
        for (part, suffix, slack) in [("value", "y", 1e-6), ("slope", "d", 4e-6)] {
            let got = map(&device, &files, &format!("{function}_activation($).{part}"), &x);
            let got: Vec<_> = got.into_iter().map(f64::from).collect();
            let want = &golden[&format!("{name}_{suffix}_f64")];
            // Absolute below 1, relative above it; slopes are absolute.
            let relative = if part == "value" { slack } else { 0.0 };
            assert_close(&format!("{name}.{part}"), &got[..points], want, relative, slack);
            for (&x, &got) in huge.iter().zip(&got[points..]) {
                if name == "sin" {
                    assert!(got.abs() <= 1.001, "{name}.{part}({x:e}) is {got:e}, expected -1 to 1");
                    continue;
                }
                let want = far(name, part, f64::from(x));
                assert!(
                    (got - want).abs() <= 1e-6 * want.abs().max(1.0),
                    "{name}.{part}({x:e}) is {got:e}, expected {want:e}"
                );
            }
        }
    }
}

#[test]
fn losses_match_the_host() {
    let Some(device) = device() else { return };
    let files = [NUMERICS, ACTIVATIONS, LOSSES];
    let predictions: Vec<f32> = (-100_i8..100).map(|i| f32::from(i) * 0.17).collect();
    for loss in Loss::ALL.iter().copied().filter(|loss| loss.is_elementwise()) {
        for target in [0.0_f32, 0.25, 1.0] {
            let (value, slope): (Vec<_>, Vec<_>) =
                predictions.iter().map(|&p| loss.evaluate(f64::from(p), f64::from(target))).unzip();
            for (part, want) in [("value", value), ("slope", slope)] {
                let got = map(&device, &files, &format!("{loss}($, vec4<f32>({target:?})).{part}"), &predictions);
                let got: Vec<_> = got.into_iter().map(f64::from).collect();
                assert_close(&format!("{loss}.{part} of target {target}"), &got, &want, 1e-6, 1e-6);
            }
        }
    }
}

/// Subnormal numbers cost software adapters a hundred times as much as others, and saturated units make them.
#[test]
fn vanishing_numbers_are_flushed_and_nan_is_kept() {
    let Some(device) = device() else { return };
    let x = [1e-17_f32, -1e-17, 1e-19, -1e-19, 1e-38, 0.0, 1.0, f32::NAN];
    let got = map(&device, &[NUMERICS], "flush($, TINY)", &x);
    assert_eq!(got[..7], [1e-17, -1e-17, 0.0, 0.0, 0.0, 0.0, 1.0], "values around the bound");
    assert!(got[7].is_nan(), "a diverged unit stays visible");
}

/// Value and slope far from 0.
fn far(name: &str, part: &str, x: f64) -> f64 {
    let positive = f64::from(u8::from(x > 0.0));
    match (name, part) {
        ("identity", "value") => x,
        ("identity", _) => 1.0,
        ("tanh", "value") => x.signum(),
        ("tanh" | "sigmoid", _) if part == "slope" => 0.0,
        ("sigmoid", _) => positive,
        ("leaky_relu", "value") if x < 0.0 => 0.01 * x,
        ("leaky_relu", _) if x < 0.0 => 0.01,
        ("elu", "value") if x < 0.0 => -1.0,
        (_, "value") => x * positive,
        _ => positive,
    }
}
