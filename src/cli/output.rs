//! The two streams of the command line. A reader that goes away early, as `head` does, is no failure.

use std::fmt::Display;
use std::io::{ErrorKind, Write as _};

use crate::error::{Error, Result};

/// Prints a result and a line feed on stdout.
pub(super) fn print(text: impl Display) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Error::io("stdout", error)),
        _ => Ok(()),
    }
}

/// Writes a result as it is on stdout.
pub(super) fn print_bytes(bytes: &[u8]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Error::io("stdout", error)),
        _ => Ok(()),
    }
}

/// Says something on stderr.
pub(super) fn say(text: impl Display) {
    // There is no place left to complain about a stderr that cannot be written.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// A loss in six decimals, or in scientific form where those would show nothing or noise.
pub(super) fn loss_text(loss: f32) -> String {
    let size = loss.abs();
    if size == 0.0 || (1e-4..1e6).contains(&size) || !size.is_finite() {
        format!("{loss:.6}")
    } else {
        format!("{loss:.5e}")
    }
}

/// A count with a comma before every three digits.
pub(super) fn thousands(count: u64) -> String {
    if count < 1_000 { count.to_string() } else { format!("{},{:03}", thousands(count / 1_000), count % 1_000) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_of_any_size_are_legible() {
        let rows = [
            (0.0, "0.000000"),
            (0.012_345_678, "0.012346"),
            (12.5, "12.500000"),
            (1.5e-7, "1.50000e-7"),
            (1.353_224e24, "1.35322e24"),
            (f32::NAN, "NaN"),
            (f32::INFINITY, "inf"),
        ];
        for (loss, want) in rows {
            assert_eq!(loss_text(loss), want, "text of {loss:e}");
        }
    }
}
