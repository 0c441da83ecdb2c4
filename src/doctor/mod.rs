//! Whether an adapter computes correctly: every op and a short training against the f64 oracle, and what the driver does
//! with long loops and long submissions. Prints nothing.

pub mod compare;
mod kernels;
mod probes;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Instant;

use serde::Serialize;

use crate::error::Result;
use crate::gpu::{AdapterSummary, Device, Found, INSTALL};

/// What a check came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// As it should be.
    Pass,
    /// Wrong: results of this adapter cannot be trusted.
    Fail,
    /// A fact that `fori` adapts to.
    Note,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Pass => "pass",
            Self::Fail => "FAIL",
            Self::Note => "note",
        })
    }
}

/// One check.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// What it came to.
    pub result: Verdict,
    /// What was checked.
    pub what: String,
    /// What was measured.
    pub measured: String,
    /// What a failure means.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meaning: Option<&'static str>,
}

impl Finding {
    /// A check that passed or failed; `meaning` is kept only where it failed.
    fn check(passed: bool, what: impl Into<String>, measured: impl Into<String>, meaning: &'static str) -> Self {
        let result = if passed { Verdict::Pass } else { Verdict::Fail };
        let meaning = (!passed).then_some(meaning);
        Self { result, what: what.into(), measured: measured.into(), meaning }
    }

    /// A fact.
    fn note(what: impl Into<String>, measured: impl Into<String>) -> Self {
        Self { result: Verdict::Note, what: what.into(), measured: measured.into(), meaning: None }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}  {}: {}", self.result, self.what, self.measured)?;
        self.meaning.map_or(Ok(()), |meaning| write!(f, "\n      {meaning}"))
    }
}

/// Everything that a report of a fault should say of the machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Examination {
    /// The version of this crate.
    pub version: &'static str,
    /// The operating system and the processor's kind.
    pub os: String,
    /// The adapter, if there is one.
    pub adapter: Option<AdapterSummary>,
    /// The kernels that training would use on it.
    pub kernels: Option<&'static str>,
    /// Its limits.
    pub limits: BTreeMap<&'static str, String>,
    /// The checks in order.
    pub findings: Vec<Finding>,
    /// Whether none of them failed.
    pub passed: bool,
    /// How long they took.
    pub seconds: f64,
}

impl Examination {
    /// What is known before any check.
    pub fn of(found: Option<&Found>) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            os: os(),
            adapter: found.map(|f| f.summary.clone()),
            kernels: found.map(|f| f.products().name()),
            limits: found.map_or_else(BTreeMap::new, |f| f.facts().into_iter().collect()),
            findings: Vec::new(),
            passed: true,
            seconds: 0.0,
        }
    }

    /// Runs all checks; `tell` hears of each as soon as it is done.
    ///
    /// # Errors
    /// What `tell` returns. A fault of the adapter is a finding.
    pub fn run(&mut self, found: Option<&Found>, tell: &mut dyn FnMut(&Finding) -> Result<()>) -> Result<()> {
        let started = Instant::now();
        let mut add = |finding: Finding| {
            self.passed &= finding.result != Verdict::Fail;
            tell(&finding)?;
            self.findings.push(finding);
            Ok(())
        };
        match found.map(|found| (found, Device::open(found))) {
            None => add(Finding::check(false, "adapter", "none was found", INSTALL))?,
            Some((_, Err(error))) => {
                add(Finding::check(false, "device", error.to_string(), "nothing can be run on this adapter"))?;
            }
            Some((found, Ok(device))) => {
                probes::run(found, &device, &mut add)?;
                kernels::run(found, &device, &mut add)?;
            }
        }
        self.seconds = started.elapsed().as_secs_f64();
        Ok(())
    }

    /// The checks that came to `result`.
    pub fn count(&self, result: Verdict) -> usize {
        self.findings.iter().filter(|f| f.result == result).count()
    }

    /// One sentence over all of it.
    pub fn verdict(&self) -> String {
        let (passed, failed) = (self.count(Verdict::Pass), self.count(Verdict::Fail));
        match &self.adapter {
            None => format!("no graphics adapter was found. {INSTALL}"),
            Some(adapter) if failed == 0 => {
                format!("{adapter} computes correctly: {passed} checks passed in {:.1} s", self.seconds)
            }
            Some(adapter) => format!(
                "{adapter} computes wrongly: {failed} of {} checks failed; do not trust its results, and try another \
                 driver or --executor cpu",
                passed + failed
            ),
        }
    }
}

/// What takes a finding.
type Add<'a> = dyn FnMut(Finding) -> Result<()> + 'a;

/// The operating system, as exactly as it says without asking for more than two small files.
fn os() -> String {
    let (family, architecture) = (std::env::consts::OS, std::env::consts::ARCH);
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let words = [name.unwrap_or_default().trim_matches('"'), family, kernel.trim(), architecture];
    words.into_iter().filter(|w| !w.is_empty()).collect::<Vec<_>>().join(" ")
}
