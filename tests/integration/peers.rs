//! The Python programs that read what fori writes.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::path;

/// Runs a script of `tests/peers`, and returns what it prints. Its Python is that of `FORI_PEERS`, or where `tests/run` puts it.
/// `None`, with a line that says so, where there is none and it is not required.
pub fn peers(script: &str, argument: &Path) -> Option<String> {
    let default = ["target/peers/bin/python", "target/peers/Scripts/python.exe"];
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = std::env::var_os("FORI_PEERS").map(PathBuf::from);
    let python = python.or_else(|| default.iter().map(|python| root.join(python)).find(|python| python.is_file()));
    let Some(python) = python else {
        assert!(
            std::env::var("FORI_REQUIRE_PEERS").is_err(),
            "FORI_REQUIRE_PEERS is set and there is no Python with tests/peers/requirements.txt: run tests/run"
        );
        eprintln!("skipped: no Python with tests/peers/requirements.txt was found; tests/run makes one");
        return None;
    };
    let output = Command::new(python).arg(path("peers").join(script)).arg(argument).output().expect("python starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}: {stderr}");
    Some(String::from_utf8(output.stdout).expect("Python prints UTF-8"))
}
