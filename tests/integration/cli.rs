//! Runs the command in a folder of its own; a failed check shows the command, the folder, both streams and the exit code.

use std::fmt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// Flags of a run that takes no time and needs no adapter.
pub const TINY: &str = "--executor cpu --hidden 4 --batch-size 4";

/// A folder for one test.
pub struct Dir {
    dir: TempDir,
    env: Vec<(&'static str, String)>,
}

impl Dir {
    /// An empty folder.
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a temporary folder can be made"), env: Vec::new() }
    }

    /// The same without any adapter: neither Vulkan nor OpenGL finds a driver.
    pub fn without_adapter(mut self) -> Self {
        let absent = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES", "__EGL_VENDOR_LIBRARY_FILENAMES", "LIBGL_DRIVERS_PATH"];
        self.env.extend(absent.map(|name| (name, "/nonexistent".into())));
        self
    }

    /// The same with the caches of the user in the folder.
    pub fn with_own_cache(mut self) -> Self {
        let cache = self.path("cache").display().to_string();
        // The names on Linux, macOS and Windows.
        self.env.extend(["XDG_CACHE_HOME", "HOME", "LOCALAPPDATA"].map(|name| (name, cache.clone())));
        self
    }

    /// A path in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file.
    pub fn write(&self, name: &str, text: &str) -> &Self {
        std::fs::write(self.path(name), text).expect("a file can be written");
        self
    }

    /// Reads a file.
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|e| panic!("{}: {e}", self.path(name).display()))
    }

    /// Reads a file as it is.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|e| panic!("{}: {e}", self.path(name).display()))
    }

    /// The names of all files, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.dir.path()).expect("the folder can be listed");
        let mut names: Vec<_> =
            entries.map(|e| e.expect("an entry can be read").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// The command with arguments separated by blanks.
    pub fn command(&self, args: &str) -> Command {
        let args: Vec<_> = args.split_whitespace().collect();
        self.command_of(&args)
    }

    fn command_of(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fori"));
        command
            .args(args)
            .current_dir(self.dir.path())
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null());
        command
    }

    /// Runs the command with arguments separated by blanks.
    pub fn run(&self, args: &str) -> Ran {
        self.run_with(&args.split_whitespace().collect::<Vec<_>>())
    }

    /// Runs the command.
    pub fn run_with(&self, args: &[&str]) -> Ran {
        let output = self.command_of(args).output().expect("the command starts");
        Ran::new(self, args.join(" "), output)
    }
}

/// A command that ended.
pub struct Ran {
    what: String,
    /// The exit code; `None` after a signal.
    pub code: Option<i32>,
    /// What it printed as its result.
    pub stdout: String,
    /// What it said on the way.
    pub stderr: String,
}

impl Ran {
    /// Takes what a command printed.
    pub fn new(dir: &Dir, args: String, output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
        Self {
            what: format!("fori {args}\nin {}", dir.dir.path().display()),
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// Fails unless it ended with this code.
    pub fn exits(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "exit code of {self}");
        self
    }

    /// Fails unless stderr holds every text.
    pub fn says(&self, texts: &[&str]) -> &Self {
        for text in texts {
            assert!(self.stderr.contains(text), "stderr lacks {text:?}: {self}");
        }
        self
    }

    /// Fails unless stdout holds every text.
    pub fn prints(&self, texts: &[&str]) -> &Self {
        for text in texts {
            assert!(self.stdout.contains(text), "stdout lacks {text:?}: {self}");
        }
        self
    }

    /// Fails unless stdout is one JSON value, and returns it.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("stdout is no JSON ({e}): {self}"))
    }
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, code, stdout, stderr } = self;
        write!(f, "\n{what}\nexit code {code:?}\n--- stdout\n{stdout}--- stderr\n{stderr}---")
    }
}
