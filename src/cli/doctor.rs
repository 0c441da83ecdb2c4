//! `fori doctor`.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use super::output::print;
use crate::doctor::Examination;
use crate::error::{Error, Result};
use crate::gpu::{self, AdapterChoice};

/// Arguments of `fori doctor`.
#[derive(Debug, Args)]
#[command(
    after_help = "It runs each kernel and a short training and compares them with a reference in 64-bit floats on the processor, and \
                         probes the driver for limits that it does not tell. It exits with 1 when something is wrong.\n\nExamples:\n  fori doctor\n  fori doctor --adapter nvidia --json > report.json"
)]
pub(super) struct DoctorArgs {
    /// Check the adapter whose name or driver contains this text; `fori adapters` lists them.
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    adapter: Option<String>,
    /// Check an adapter of this graphics interface.
    #[arg(long, value_name = "NAME", value_parser = gpu::BACKENDS)]
    backend: Option<String>,
    /// Print one JSON object on stdout.
    #[arg(long)]
    json: bool,
}

/// Checks an adapter; an error when it computes wrongly, or when there is none.
pub(super) fn run(args: &DoctorArgs) -> Result<()> {
    gpu::prepare_software_adapters(true);
    let found = gpu::choose(&AdapterChoice { name: args.adapter.clone(), backend: args.backend.clone() })?;
    let mut examination = Examination::of(found.as_ref());
    if args.json {
        examination.run(found.as_ref(), &mut |_| Ok(()))?;
        print(serde_json::to_string(&examination).map_err(|e| Error::io("stdout", e.into()))?)?;
    } else {
        print_heading(&examination)?;
        examination.run(found.as_ref(), &mut |finding| print(finding))?;
        print(format_args!("\n{}", examination.verdict()))?;
    }
    if examination.passed { Ok(()) } else { Err(Error::Device(examination.verdict())) }
}

/// What a report of a fault should begin with.
fn print_heading(examination: &Examination) -> Result<()> {
    print(format_args!("fori {} on {}", examination.version, examination.os))?;
    let Some(adapter) = &examination.adapter else { return Ok(()) };
    print(adapter)?;
    for (name, value) in &examination.limits {
        print(format_args!("  {name:<26} {value}"))?;
    }
    print(format_args!("  {:<26} {}\n", "kernels", examination.kernels.unwrap_or("none")))
}
