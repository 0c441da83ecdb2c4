//! What a driver does with long loops, subgroups, workgroup memory and timestamps.

use super::{Add, Finding};
use crate::error::Result;
use crate::gpu::{Device, Found, probe};

/// Runs all probes.
pub(super) fn run(found: &Found, device: &Device, add: &mut Add<'_>) -> Result<()> {
    add(loops(device))?;
    add(subgroups(found, device))?;
    add(workgroup_memory(device))?;
    add(timestamps(device))
}

fn loops(device: &Device) -> Finding {
    let what = "loop budget";
    match probe::loop_budget(device) {
        Ok(None) => Finding::note(what, format!("loops of {} trips are not cut short", probe::ENOUGH)),
        Ok(Some(trips)) => Finding::note(
            what,
            format!("all loops of an invocation end after {trips} trips without an error; dispatches are kept shorter"),
        ),
        Err(error) => Finding::check(false, what, error.to_string(), "a loop cannot be run on this adapter"),
    }
}

fn subgroups(found: &Found, device: &Device) -> Finding {
    let what = "subgroup width";
    let (low, high) = found.subgroups;
    if high == 0 {
        return Finding::note(what, "there are no subgroups; the tiled kernels need none");
    }
    let meaning = "kernels that exchange values between the lanes of a subgroup compute wrongly";
    match probe::subgroup_widths(device) {
        Ok((least, most)) => {
            let text = format!("kernels see {least} to {most}, the adapter says {low} to {high}");
            Finding::check(low <= least && most <= high, what, text, meaning)
        }
        Err(error) => Finding::check(false, what, error.to_string(), meaning),
    }
}

fn workgroup_memory(device: &Device) -> Finding {
    let what = "workgroup memory";
    let meaning = "the memory that a workgroup shares, or the barrier that orders it, does not work";
    match probe::workgroup_memory(device) {
        Ok((bytes, wrong)) => {
            let text = format!("{wrong} of {bytes} bytes, which is the limit, came back wrong");
            Finding::check(wrong == 0, what, text, meaning)
        }
        Err(error) => Finding::check(false, what, error.to_string(), meaning),
    }
}

fn timestamps(device: &Device) -> Finding {
    let what = "timestamps";
    match probe::timestamps(device) {
        Ok(None) => Finding::note(what, "the adapter has none; times are taken on the host"),
        Ok(Some(ns)) if ns > 0.0 => Finding::note(what, format!("they work: the loop probe took {:.3} ms", ns * 1e-6)),
        Ok(Some(_)) => Finding::note(what, "they do not advance; times are taken on the host"),
        Err(error) => Finding::note(what, format!("they do not work: {error}")),
    }
}
