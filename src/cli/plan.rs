//! `fori plan`.

use clap::Args;

use super::model::{self, DeviceArgs, ModelArgs};
use super::output::print;
use crate::config::ExecutorChoice;
use crate::error::Result;
use crate::gpu;
use crate::plan::{Plan, TrainStep};
use crate::shader::{Shader, Walk};
use crate::trainer::plan_of;

/// Arguments of `fori plan`.
#[derive(Debug, Args)]
#[command(
    after_help = "Nothing is trained. The kernels are those of the adapter that training would take, and the portable ones where there \
                         is none.\n\nExamples:\n  fori plan --hidden 32,32\n  fori plan --executor persistent --wgsl > step.wgsl"
)]
pub(super) struct PlanArgs {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    device: DeviceArgs,
    /// Print the whole WGSL module instead of the plan.
    #[arg(long, help_heading = "Output")]
    wgsl: bool,
}

/// Prints the plan for the adapter that training would take; the portable one where it would take none.
pub(super) fn run(args: &PlanArgs) -> Result<()> {
    let config = model::config(&args.model, &args.device, 1);
    args.model.check(&config)?;
    let members = config.members()?;
    let (_, mut plan) = plan_of(&config, members.len()).map_err(|e| model::name_flag(e, &config))?;
    if config.executor != ExecutorChoice::Cpu {
        gpu::prepare_software_adapters(true);
        if let Some(found) = gpu::choose(&config.adapter)? {
            plan = Plan::new(TrainStep { products: found.products(), ..plan.step })?;
        }
    }
    let walk = if config.executor == ExecutorChoice::Persistent { Walk::Persistent } else { Walk::Recorded };
    let shader = Shader::of(&plan, walk);
    shader.validate()?;
    if args.wgsl { print(shader.text.trim_end()) } else { print(plan.to_string().trim_end()) }
}
