//! Everything that touches wgpu: adapters, devices, buffers, and the executors `recorded` and `persistent`.

mod adapter;
mod buffers;
mod device;
mod executor;
mod pipelines;
pub mod probe;
mod timer;

pub use adapter::{AdapterChoice, AdapterSummary, BACKENDS, Found, INSTALL, adapters, choose};
pub use device::Device;
pub use executor::GpuExecutor;
pub use timer::MEASURED_SUBMISSIONS;

/// Tells Mesa's llvmpipe, before it is loaded, whether to use its thread pool. The pool costs about 50 µs per dispatch,
/// which small networks cannot win back. What the user has set stays.
pub fn prepare_software_adapters(single_threaded: bool) {
    let wanted =
        [("LP_NUM_THREADS", single_threaded.then_some("0")), ("XDG_RUNTIME_DIR", std::env::temp_dir().to_str())]
            .map(|(name, value)| (name, value.map(String::from)));
    for (name, value) in wanted {
        let Some(value) = value.filter(|_| std::env::var_os(name).is_none() && cfg!(target_os = "linux")) else {
            continue;
        };
        #[expect(unsafe_code, reason = "set before any thread of ours or of a driver reads the environment")]
        // SAFETY: no other thread runs yet: drivers are loaded after this.
        unsafe {
            std::env::set_var(name, value);
        }
    }
}
