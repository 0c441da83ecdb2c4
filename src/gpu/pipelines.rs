//! The compiled kernels of a plan, and what the device allows of them.

use super::device::Device;
use super::probe::loop_budget;
use crate::error::{Error, Result};
use crate::plan::Plan;
use crate::shader::{Walk, entry_point};

/// How the ops are walked on the device.
pub(super) enum Pipelines {
    /// A pipeline and its workgroups per op.
    Recorded(Vec<(wgpu::ComputePipeline, u32)>),
    /// The loop, and how many steps of it one dispatch may run.
    Persistent(wgpu::ComputePipeline, usize),
}

impl Pipelines {
    /// Compiles the entry points of a walk.
    ///
    /// # Errors
    /// [`Error::Device`] when the device cannot run them.
    pub(super) fn new(
        device: &Device,
        plan: &Plan,
        module: &wgpu::ShaderModule,
        layout: &wgpu::PipelineLayout,
        walk: Walk,
    ) -> Result<Self> {
        match walk {
            Walk::Recorded => recorded(device, plan, module, layout),
            Walk::Persistent => {
                let pipeline = device.pipeline(module, Some(layout), "persistent");
                Ok(Self::Persistent(pipeline, steps_per_dispatch(device, plan)?))
            }
        }
    }
}

/// A pipeline per op, after checking that its workgroups can be dispatched and its loops can end.
fn recorded(
    device: &Device,
    plan: &Plan,
    module: &wgpu::ShaderModule,
    layout: &wgpu::PipelineLayout,
) -> Result<Pipelines> {
    let limit = device.device.limits().max_compute_workgroups_per_dimension as usize;
    let most = plan.ops.iter().map(|op| op.tiles).max().unwrap_or(0);
    if most > limit || plan.step.models > limit {
        return Err(Error::Device(format!(
            "{}: a dispatch of {most} x {} workgroups exceeds {limit} per dimension: lower --batch-size, --hidden or --ensemble",
            device.summary, plan.step.models
        )));
    }
    let trips = plan.trips_per_dispatch();
    if trips > 30_000 && loop_budget(device)?.is_some_and(|budget| trips > budget) {
        return Err(Error::Device(format!(
            "{}: this driver ends the loops of an invocation early, and one op needs {trips} trips: lower --batch-size or \
             --hidden, or use --executor cpu",
            device.summary
        )));
    }
    let ops = plan.ops.iter().map(|op| {
        let pipeline = device.pipeline(module, Some(layout), &entry_point(op.kind));
        (pipeline, u32::try_from(op.tiles).unwrap_or(u32::MAX))
    });
    Ok(Pipelines::Recorded(ops.collect()))
}

/// How many steps the persistent loop may run in one dispatch.
fn steps_per_dispatch(device: &Device, plan: &Plan) -> Result<usize> {
    let Some(budget) = loop_budget(device)? else { return Ok(usize::MAX >> 1) };
    let trips = plan.trips_per_step();
    if trips > budget {
        return Err(Error::Device(format!(
            "{}: this driver ends the loops of an invocation after {budget} trips, and one step of this network takes \
             {trips} in the persistent loop: use --executor recorded",
            device.summary
        )));
    }
    // Half of it: drivers count more trips than the source has (llvmpipe 22.3.6 a quarter more), and a dispatch costs little.
    Ok((budget / (2 * trips)).max(1))
}
