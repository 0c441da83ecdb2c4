//! The ensemble in a process of its own. A software adapter reads once per process how many threads it may have: one suits
//! the rows of a small network, all of them suit the ensemble. The two processes take turns; a request is a line of JSON on
//! the helper's standard input, after a line with the number of models, and its reply is one on the standard output.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use super::local::{Contestant, Local, Measured, Request, Source};
use super::{BenchConfig, Way};
use crate::error::{Error, Result};
use crate::gpu;

/// How to start a process that calls [`serve`] with the same config.
#[derive(Debug, Clone)]
pub struct Helper {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

/// A contestant in another process.
pub(super) struct Remote {
    process: Child,
    replies: BufReader<ChildStdout>,
}

impl Remote {
    /// Starts the helper, without the variables named in `unset`.
    pub(super) fn start(helper: &Helper, models: usize, unset: &[&str]) -> Result<Self, String> {
        let mut command = Command::new(&helper.program);
        command.args(&helper.arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        for name in unset {
            command.env_remove(name);
        }
        let mut process = command.spawn().map_err(|e| format!("its process cannot be started: {e}"))?;
        let replies = process.stdout.take().ok_or("its process has no output")?;
        let mut remote = Self { process, replies: BufReader::new(replies) };
        remote.tell(&models.to_string()).map_err(|e| format!("its process cannot be told its models: {e}"))?;
        Ok(remote)
    }

    fn tell(&mut self, line: &str) -> std::io::Result<()> {
        self.process.stdin.as_mut().map_or(Ok(()), |input| writeln!(input, "{line}"))
    }

    fn exchange(&mut self, request: Request) -> std::io::Result<String> {
        self.tell(&serde_json::to_string(&request)?)?;
        let mut reply = String::new();
        self.replies.read_line(&mut reply)?;
        Ok(reply)
    }
}

impl Contestant for Remote {
    fn ask(&mut self, request: Request) -> Result<Measured, String> {
        let reply = self.exchange(request).map_err(|e| format!("its process cannot be asked: {e}"))?;
        serde_json::from_str::<Result<Measured, String>>(&reply).map_err(|_| "its process ended early".to_string())?
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        // The end of its input ends it.
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// The other side: runs the ensemble as it is asked, until `input` ends.
///
/// # Errors
/// [`Error::Usage`] and [`Error::Data`] for what cannot be trained; [`Error::Io`] when the other side is gone. What the
/// device refuses is a reply.
pub fn serve(config: &BenchConfig, input: impl BufRead, mut output: impl Write) -> Result<()> {
    let failed = |e| Error::io("the other side of the benchmark", e);
    let mut lines = input.lines();
    let Some(first) = lines.next().transpose().map_err(failed)? else { return Ok(()) };
    let models = first.parse().map_err(|_| failed(std::io::ErrorKind::InvalidData.into()))?;
    let source = Source::read(config)?;
    gpu::prepare_software_adapters(false);
    let found = gpu::choose(&config.train.adapter)?;
    let mut local = Local::open(config, Way::Ensemble(models), found.as_ref(), &source);
    for line in lines {
        let request = serde_json::from_str(&line.map_err(failed)?).map_err(|e| failed(e.into()))?;
        let reply = match &mut local {
            Ok(local) => local.ask(request),
            Err(error) => Err(error.to_string()),
        };
        let reply = serde_json::to_string(&reply).map_err(|e| failed(e.into()))?;
        writeln!(output, "{reply}").and_then(|()| output.flush()).map_err(failed)?;
    }
    Ok(())
}
