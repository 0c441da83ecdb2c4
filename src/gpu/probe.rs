//! Finds how many loop trips an invocation gets. Mesa's llvmpipe before version 23 ends all loops of an invocation after
//! 65,535 trips in total, nested ones counted together, and says nothing.

use super::device::Device;
use crate::error::Result;

/// Trips that a driver must grant to count as unlimited.
const ENOUGH: u32 = 1 << 18;

const PROBE: &str = "
@group(0) @binding(0) var<storage, read_write> trips: array<u32>;

@compute @workgroup_size(1)
fn probe() {
    let bound = trips[0];
    var count = 0u;
    for (var i = 0u; i < bound; i++) {
        count += 1u;
        // Keeps the loop from being folded.
        trips[1] = count;
    }
}
";

/// The loop trips that one invocation may take in all, `None` where no bound was found.
///
/// # Errors
/// [`crate::error::Error::Device`] when the probe itself cannot run.
pub(super) fn loop_budget(device: &Device) -> Result<Option<usize>> {
    let module = device.module(PROBE, false);
    let pipeline = device.pipeline(&module, None, "probe");
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
    let buffer = device.buffer("probe", 8, usage);
    device.queue.write_buffer(&buffer, 0, bytemuck::cast_slice(&[ENOUGH, 0]));
    let group = device.device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[wgpu::BindGroupEntry { binding: 0, resource: buffer.as_entire_binding() }],
    });
    let mut encoder = device.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    {
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(1, 1, 1);
    }
    device.queue.submit([encoder.finish()]);
    let words: Vec<u32> = bytemuck::pod_collect_to_vec(&device.read(&buffer)?);
    Ok((words[1] < ENOUGH).then_some(words[1] as usize))
}
