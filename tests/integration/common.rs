//! What the tests share: golden tensors, comparisons, plans, and the adapter.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Once;

use fori::gpu::{AdapterChoice, Device, choose, prepare_software_adapters};
use safetensors::{Dtype, SafeTensors};

/// A file below `tests/`.
pub fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// All tensors of a golden file, cast to f64 (u32 words fit exactly).
pub fn golden(file: &str) -> HashMap<String, Vec<f64>> {
    let bytes = std::fs::read(path("golden").join(file)).expect("golden data is in the repository");
    let tensors = SafeTensors::deserialize(&bytes).expect("golden data is intact");
    let cast = |(name, view): (String, safetensors::tensor::TensorView<'_>)| {
        let data = view.data();
        let values = match view.dtype() {
            Dtype::F32 => bytemuck::pod_collect_to_vec::<u8, f32>(data).into_iter().map(f64::from).collect(),
            Dtype::F64 => bytemuck::pod_collect_to_vec::<u8, f64>(data),
            Dtype::U32 => bytemuck::pod_collect_to_vec::<u8, u32>(data).into_iter().map(f64::from).collect(),
            Dtype::I32 => bytemuck::pod_collect_to_vec::<u8, i32>(data).into_iter().map(f64::from).collect(),
            other => panic!("golden tensor {name} has the type {other:?}, which no test reads"),
        };
        (name, values)
    };
    tensors.tensors().into_iter().map(cast).collect()
}

/// Fails unless every value is finite and `|got - want| <= atol + rtol |want|`; shows the worst places.
pub fn assert_close(name: &str, got: &[f64], want: &[f64], rtol: f64, atol: f64) {
    assert_eq!(got.len(), want.len(), "{name}: length");
    if let Some(i) = got.iter().position(|v| !v.is_finite()) {
        panic!("{name}[{i}] is {}, expected {}", got[i], want[i]);
    }
    let excess = |i: usize| (got[i] - want[i]).abs() - (atol + rtol * want[i].abs());
    let mut worst: Vec<_> = (0..got.len()).filter(|&i| excess(i) > 0.0).collect();
    worst.sort_by(|&a, &b| excess(b).total_cmp(&excess(a)));
    let shown: Vec<_> = worst.iter().take(5).map(|&i| format!("[{i}] got {} want {}", got[i], want[i])).collect();
    assert!(worst.is_empty(), "{name}: {} of {} values differ: {}", worst.len(), got.len(), shown.join("; "));
}

/// Fails unless each value is within `share` of the largest wanted one.
pub fn assert_within(name: &str, got: &[f64], want: &[f64], share: f64) {
    let largest = want.iter().fold(0.0, |largest: f64, v| largest.max(v.abs()));
    assert_close(name, got, want, 0.0, share * largest);
}

/// Casts for [`assert_close`].
pub fn f64s(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&v| f64::from(v)).collect()
}

/// An opened adapter, the best of this machine. `None`, with a line that says so, where there is none and tests may be
/// skipped.
pub fn device() -> Option<Device> {
    // It sets environment variables, which no other thread may read meanwhile: all wait for the first.
    static PREPARED: Once = Once::new();
    PREPARED.call_once(|| prepare_software_adapters(true));
    let found = choose(&AdapterChoice::default()).expect("adapters can be listed");
    match found {
        Some(found) => Some(Device::open(&found).expect("the adapter opens")),
        None if std::env::var("FORI_REQUIRE_ADAPTER").is_ok_and(|v| v == "1") => {
            panic!("no adapter was found and FORI_REQUIRE_ADAPTER=1: install mesa-vulkan-drivers and libvulkan1")
        }
        None => {
            eprintln!("skipped: no adapter was found (install mesa-vulkan-drivers and libvulkan1)");
            None
        }
    }
}

/// Fails unless each value is within `ulps` steps of `f32`, or within `atol`, of the wanted one, itself an `f32`.
pub fn assert_ulps(name: &str, got: &[f32], want: &[f64], ulps: u32, atol: f64) {
    assert_eq!(got.len(), want.len(), "{name}: length");
    for (i, (&got, &want)) in got.iter().zip(want).enumerate() {
        let distance = ordered(got).abs_diff(ordered(single(want)));
        let close = distance <= ulps || (f64::from(got) - want).abs() <= atol;
        assert!(got.is_finite() && close, "{name}[{i}]: got {got}, want {want}, {distance} ulps apart");
    }
}

/// The place of a number among all `f32`, so that neighbors differ by 1.
fn ordered(value: f32) -> i32 {
    let bits = (value.to_bits() & 0x7fff_ffff).cast_signed();
    if value.is_sign_negative() { -bits } else { bits }
}

/// A golden number that was an `f32`.
#[expect(clippy::cast_possible_truncation, reason = "it was cast up from f32")]
pub fn single(value: f64) -> f32 {
    value as f32
}

/// A golden number that was a `u32`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it was cast up from u32")]
pub fn word(value: f64) -> u32 {
    value as u32
}

/// Golden numbers that were `f32`.
pub fn singles(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&v| single(v)).collect()
}

/// Fails unless `|got - want| <= rtol |want|` in the 2-norm.
pub fn assert_near(name: &str, got: &[f64], want: &[f64], rtol: f64) {
    assert_eq!(got.len(), want.len(), "{name}: length");
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>().sqrt();
    let difference = norm(&mut got.iter().zip(want).map(|(a, b)| a - b));
    let size = norm(&mut want.iter().copied());
    // A NaN is near nothing.
    assert!(difference <= rtol * size, "{name}: differs by {difference:e} of {size:e}, expected {rtol:e} of it");
}

/// All files below a folder.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder is in the repository");
    let paths = entries.map(|entry| entry.expect("an entry of a folder").path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// SplitMix64. Reference: Steele, Lea, Flood (2014), "Fast splittable pseudorandom number generators".
pub struct Random(pub u64);

impl Random {
    /// The next word.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound.max(1) as u64).unwrap_or(0)
    }
}
