//! `fori adapters`.

use clap::Args;

use super::output::print;
use crate::error::{Error, Result};
use crate::gpu::{self, Found};

/// Arguments of `fori adapters`.
#[derive(Debug, Args)]
#[command(
    after_help = "Discrete GPUs come first, software adapters last; --adapter and --backend of other commands choose among them. An \
                         adapter that cannot train is listed with the reason.\n\nExample:\n  fori adapters --json"
)]
pub(super) struct AdaptersArgs {
    /// Print one JSON array on stdout.
    #[arg(long)]
    json: bool,
}

/// Lists the adapters.
pub(super) fn run(args: &AdaptersArgs) -> Result<()> {
    gpu::prepare_software_adapters(false);
    let found = gpu::adapters();
    if args.json {
        let list: Vec<_> = found.iter().map(json).collect();
        let text = serde_json::to_string(&list).map_err(|e| Error::io("stdout", e.into()))?;
        return print(text);
    }
    if found.is_empty() {
        print("no adapter was found: training would use the built-in cpu executor")?;
        return print(gpu::INSTALL);
    }
    let taken = found.iter().position(|f| f.unsuitable.is_none());
    for (i, adapter) in found.iter().enumerate() {
        print(&adapter.summary)?;
        match &adapter.unsuitable {
            Some(reason) => print(format!("  cannot train: {reason}"))?,
            None if taken == Some(i) => print(format!("  taken by default: {}", why(adapter, &found)))?,
            None => print("  usable with --adapter or --backend")?,
        }
        for (name, value) in adapter.facts() {
            print(format!("  {name:<26} {value}"))?;
        }
    }
    Ok(())
}

/// Why the first usable adapter is taken.
fn why(adapter: &Found, found: &[Found]) -> &'static str {
    match (adapter.is_software(), found.len()) {
        (true, _) => "there is no GPU with a driver, so this software adapter, which computes on the processor",
        (false, 1) => "it is the only one",
        (false, _) => "a GPU comes before software, and a discrete one before an integrated one",
    }
}

fn json(found: &Found) -> serde_json::Value {
    let facts: serde_json::Map<_, _> =
        found.facts().into_iter().map(|(name, value)| (name.replace(' ', "_"), value.into())).collect();
    serde_json::json!({ "adapter": found.summary, "unsuitable": found.unsuitable, "facts": facts })
}
