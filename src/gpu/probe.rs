//! Finds out by small kernels what a driver really does.
//!
//! The loop budget: Mesa's llvmpipe before version 23 ends all loops of an invocation after 65,535 trips in total, nested
//! ones counted together, and says nothing.

use super::device::Device;
use crate::error::Result;

/// Trips that a driver must grant to count as unlimited.
pub const ENOUGH: u32 = 1 << 18;

const LOOP: &str = "
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

const SUBGROUP: &str = "
@group(0) @binding(0) var<storage, read_write> words: array<u32>;

@compute @workgroup_size(128)
fn probe(@builtin(local_invocation_index) lane: u32, @builtin(subgroup_size) width: u32) {
    words[lane] = width;
    words[128u + lane] = subgroupAdd(1u);
}
";

/// Each lane writes its share of the memory and reads the share of another.
const WORKGROUP: &str = "
@group(0) @binding(0) var<storage, read_write> words: array<u32>;
var<workgroup> memory: array<u32, SIZE>;

@compute @workgroup_size(256)
fn probe(@builtin(local_invocation_index) lane: u32) {
    let seed = words[256];
    for (var i = lane; i < SIZE; i += 256u) {
        memory[i] = i * 2654435761u + seed;
    }
    workgroupBarrier();
    var wrong = 0u;
    for (var i = lane; i < SIZE; i += 256u) {
        let other = SIZE - 1u - i;
        wrong += select(1u, 0u, memory[other] == other * 2654435761u + seed);
    }
    words[lane] = wrong;
}
";

/// The loop trips that one invocation may take in all, `None` where no bound was found.
///
/// # Errors
/// [`crate::error::Error::Device`] when the probe itself cannot run.
pub fn loop_budget(device: &Device) -> Result<Option<usize>> {
    let words = run(device, LOOP, &[ENOUGH, 0], None)?;
    Ok((words[1] < ENOUGH).then_some(words[1] as usize))
}

/// The least and the largest subgroup width of a workgroup, both as the kernel is told it and as it counts lanes. The
/// adapter has subgroups.
///
/// # Errors
/// As [`loop_budget`].
pub fn subgroup_widths(device: &Device) -> Result<(u32, u32)> {
    let words = run(device, SUBGROUP, &[0; 256], None)?;
    let (least, most) = (words.iter().min(), words.iter().max());
    Ok((least.copied().unwrap_or(0), most.copied().unwrap_or(0)))
}

/// The limit of workgroup memory in bytes, and how many of them do not hold what was written.
///
/// # Errors
/// As [`loop_budget`].
pub fn workgroup_memory(device: &Device) -> Result<(u32, u32)> {
    let size = device.device.limits().max_compute_workgroup_storage_size / 4;
    let text = format!("const SIZE: u32 = {size}u;\n{WORKGROUP}");
    // A lane that does not run leaves the whole memory wrong.
    let words = run(device, &text, &[size; 257], None)?;
    let wrong = words[..256].iter().fold(0_u32, |sum, &w| sum.saturating_add(w));
    Ok((4 * size, 4 * wrong.min(size)))
}

/// Nanoseconds that the device's timestamps say the loop probe took; `None` where it has none.
///
/// # Errors
/// As [`loop_budget`].
pub fn timestamps(device: &Device) -> Result<Option<f64>> {
    if !device.device.features().contains(wgpu::Features::TIMESTAMP_QUERY) {
        return Ok(None);
    }
    let queries = device.device.create_query_set(&wgpu::QuerySetDescriptor {
        label: Some("fori.timestamps"),
        ty: wgpu::QueryType::Timestamp,
        count: 2,
    });
    run(device, LOOP, &[ENOUGH / 8, 0], Some(&queries))?;
    let usage = wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC;
    let buffer = device.buffer("timestamps", 16, usage);
    let mut encoder = device.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    encoder.resolve_query_set(&queries, 0..2, &buffer, 0);
    device.queue.submit([encoder.finish()]);
    let times: Vec<u64> = bytemuck::pod_collect_to_vec(&device.read(&buffer)?);
    #[expect(clippy::cast_precision_loss, reason = "a short time")]
    Ok(Some(times[1].saturating_sub(times[0]) as f64 * f64::from(device.queue.get_timestamp_period())))
}

/// Runs a kernel of one workgroup on a buffer of words, and returns them.
fn run(device: &Device, text: &str, words: &[u32], queries: Option<&wgpu::QuerySet>) -> Result<Vec<u32>> {
    let module = device.module(text, false);
    let pipeline = device.pipeline(&module, None, "probe");
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
    let buffer = device.buffer("probe", size_of_val(words) as u64, usage);
    device.queue.write_buffer(&buffer, 0, bytemuck::cast_slice(words));
    let group = device.device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[wgpu::BindGroupEntry { binding: 0, resource: buffer.as_entire_binding() }],
    });
    let mut encoder = device.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    {
        let timestamp_writes = queries.map(|query_set| wgpu::ComputePassTimestampWrites {
            query_set,
            beginning_of_pass_write_index: Some(0),
            end_of_pass_write_index: Some(1),
        });
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label: None, timestamp_writes });
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(1, 1, 1);
    }
    device.queue.submit([encoder.finish()]);
    device.read(&buffer).map(|bytes| bytemuck::pod_collect_to_vec(&bytes))
}
