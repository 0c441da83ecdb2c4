//! What the tests share: golden tensors, comparisons, plans, and the adapter.

use std::collections::HashMap;
use std::path::PathBuf;
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
