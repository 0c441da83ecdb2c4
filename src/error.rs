//! The one error type of the crate, grouped by who can act on it, and the exit code of each group.

use std::fmt;
use std::path::{Path, PathBuf};

/// What went wrong, by who can mend it.
///
/// The text of every variant says what was expected and how to mend it; `main` prints it after `error: `.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A flag, key or combination of them that cannot be run.
    Usage(String),
    /// No adapter, a limit of the adapter exceeded, or the adapter failed while it ran.
    Device(String),
    /// A kernel of ours that the shader compiler refused: always a fault of this crate.
    Shader(String),
    /// An input file whose contents cannot be used; the text names file, line and column.
    Data(String),
    /// The operating system refused a file.
    Io {
        /// The file that was being read or written.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A checkpoint that cannot be used.
    Checkpoint {
        /// The checkpoint file.
        path: PathBuf,
        /// Why it was refused.
        reason: String,
    },
    /// The loss or a parameter became NaN or infinite.
    Diverged {
        /// The step (counted from 1) at which it was first seen.
        step: u64,
        /// What became non-finite, and the last finite loss.
        quantity: String,
    },
    /// The run was ended by a signal after its state was saved.
    Interrupted,
}

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Builds an [`Error::Io`] for `path`.
    pub fn io(path: impl AsRef<Path>, source: std::io::Error) -> Self {
        Self::Io { path: path.as_ref().to_path_buf(), source }
    }

    /// The exit code of the process: 1 failed, 2 usage, 3 diverged, 130 interrupted.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Diverged { .. } => 3,
            Self::Interrupted => 130,
            _ => 1,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::Device(text) | Self::Data(text) => f.write_str(text),
            Self::Shader(text) => write!(f, "a kernel of fori does not compile; please report this: {text}"),
            Self::Io { path, source } => write!(f, "{}: {source}", path.display()),
            Self::Checkpoint { path, reason } => write!(f, "checkpoint {}: {reason}", path.display()),
            Self::Diverged { step, quantity } => {
                write!(f, "training diverged at step {step}: {quantity}; a smaller --learning-rate is the usual cure")
            }
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_fixed() {
        let io = Error::io("x", std::io::Error::from(std::io::ErrorKind::NotFound));
        let diverged = Error::Diverged { step: 1, quantity: "loss".into() };
        assert_eq!(io.exit_code(), 1, "failed");
        assert_eq!(Error::Usage(String::new()).exit_code(), 2, "usage");
        assert_eq!(diverged.exit_code(), 3, "diverged");
        assert_eq!(Error::Interrupted.exit_code(), 130, "interrupted");
    }
}
