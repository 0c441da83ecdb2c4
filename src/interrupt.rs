//! Ctrl-C and SIGTERM: the first ends the run at the next visit to the host, the second ends the process at once.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use crate::error::{Error, Result};

/// The flag that a signal sets.
///
/// # Errors
/// [`Error::Device`] when the operating system refuses the handlers.
pub fn flag() -> Result<&'static AtomicBool> {
    static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    if let Some(flag) = FLAG.get() {
        return Ok(flag);
    }
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        // In this order: the second signal finds the flag set and ends the process.
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&flag))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&flag)))
            .map_err(|e| Error::Device(format!("signals cannot be handled: {e}")))?;
    }
    Ok(FLAG.get_or_init(|| flag))
}
