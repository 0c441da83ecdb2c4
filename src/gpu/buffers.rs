//! The buffers of a plan on a device, and their binding.

use std::num::NonZeroU64;

use bytemuck::{Pod, Zeroable};

use super::device::Device;
use crate::arenas::{Arenas, shared_by_models};
use crate::error::{Error, Result};
use crate::plan::{Arena, Plan, State, TrainStep};
use crate::spec::{Constants, Hyperparameters};

/// What the host says of a submission: the layout of `Chunk` in `shaders/shared/arenas.wgsl`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
pub(super) struct ChunkUniform {
    pub(super) first_step: u32,
    pub(super) steps: u32,
    pub(super) one: u32,
    pub(super) reserved: u32,
}

/// Bytes of a vector.
const VECTOR: u64 = 16;

/// All buffers of a plan.
#[derive(Debug)]
pub(super) struct Buffers {
    pub(super) arenas: [wgpu::Buffer; 5],
    pub(super) table: wgpu::Buffer,
    pub(super) state: wgpu::Buffer,
    pub(super) history: wgpu::Buffer,
    /// Two of them, so that two lengths of a dispatch can be in one submission.
    pub(super) chunks: [wgpu::Buffer; 2],
    pub(super) layout: wgpu::PipelineLayout,
    pub(super) groups: [wgpu::BindGroup; 2],
    /// Copies of what a step leaves to the next: state, params, optimizer, and gradients that are being added up.
    saved: Vec<wgpu::Buffer>,
}

impl Buffers {
    /// Allocates everything for chunks of at most `capacity` steps.
    pub(super) fn new(device: &Device, plan: &Plan, capacity: usize) -> Result<Self> {
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        let models = plan.step.models as u64;
        let arena_bytes = |arena| {
            let per_model = VECTOR * plan.sizes.of(arena) as u64;
            if shared_by_models(plan, arena) { per_model } else { per_model * models }
        };
        let parts = data_parts(plan, arena_bytes(Arena::Data));
        for arena in Arena::ALL {
            let largest = if arena == Arena::Data { parts[0].1 } else { arena_bytes(arena) };
            fits(device, arena.name(), largest)?;
        }
        data_fits(device, arena_bytes(Arena::Data), parts.len())?;
        let arenas = Arena::ALL.map(|arena| device.buffer(arena.name(), arena_bytes(arena), usage));
        let rows = models * (3 + capacity as u64);
        let table = device.buffer("table", VECTOR * rows, usage);
        let state = device.buffer("state", VECTOR * models, usage);
        let history = device.buffer("history", 4 * models * capacity as u64, usage);
        let uniform = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let chunks = ["chunk", "rest"].map(|label| device.buffer(label, VECTOR, uniform));
        let (layout, groups) = bind(device, &arenas, &[&table, &state, &history], &chunks, &parts);
        let kept = if plan.step.accumulate > 1 { 3 } else { 2 };
        let live = std::iter::once(&state).chain(&arenas[..kept]);
        let saved = live.map(|buffer| device.buffer("saved", buffer.size(), usage)).collect();
        device.check()?;
        Ok(Self { arenas, table, state, history, chunks, layout, groups, saved })
    }

    /// What a checkpoint in device memory holds, with where it is kept.
    fn kept(&self) -> impl Iterator<Item = (&wgpu::Buffer, &wgpu::Buffer)> {
        std::iter::once(&self.state).chain(&self.arenas).zip(&self.saved)
    }

    /// Copies the trained state aside, or back.
    pub(super) fn copy_state(&self, device: &Device, back: bool) -> Result<()> {
        let mut encoder = device.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        for (live, saved) in self.kept() {
            let (from, to) = if back { (saved, live) } else { (live, saved) };
            encoder.copy_buffer_to_buffer(from, 0, to, 0, from.size());
        }
        let submission = device.queue.submit([encoder.finish()]);
        device.wait(&submission)
    }

    /// Uploads all arenas.
    pub(super) fn write(&self, device: &Device, arenas: &Arenas<f32>) -> Result<()> {
        for (buffer, scalars) in self.arenas.iter().zip(&arenas.scalars) {
            device.queue.write_buffer(buffer, 0, bytemuck::cast_slice(scalars));
        }
        device.queue.write_buffer(&self.state, 0, bytemuck::cast_slice(&arenas.state));
        device.check()
    }

    /// Uploads the parameters and the state.
    pub(super) fn write_params(&self, device: &Device, params: &[f32], state: &[State]) -> Result<()> {
        device.queue.write_buffer(&self.arenas[Arena::Params as usize], 0, bytemuck::cast_slice(params));
        device.queue.write_buffer(&self.state, 0, bytemuck::cast_slice(state));
        device.check()
    }

    /// Downloads one arena.
    pub(super) fn read_arena(&self, device: &Device, arena: Arena) -> Result<Vec<f32>> {
        Ok(bytemuck::pod_collect_to_vec(&device.read(&self.arenas[arena as usize])?))
    }

    /// Downloads all arenas.
    pub(super) fn read(&self, device: &Device) -> Result<Arenas<f32>> {
        let mut scalars: [Vec<f32>; 5] = Default::default();
        for (buffer, target) in self.arenas.iter().zip(&mut scalars) {
            *target = bytemuck::pod_collect_to_vec(&device.read(buffer)?);
        }
        let state: Vec<State> = bytemuck::pod_collect_to_vec(&device.read(&self.state)?);
        Ok(Arenas { scalars, state })
    }

    /// Writes the constant rows of the table.
    pub(super) fn write_constants(&self, device: &Device, hyper: &[Hyperparameters]) {
        let rows: Vec<Constants<f32>> = hyper.iter().map(Hyperparameters::constants).collect();
        device.queue.write_buffer(&self.table, 0, bytemuck::cast_slice(&rows));
    }

    /// Writes the rows of the table for `steps` steps from `first`.
    pub(super) fn write_rows(
        &self,
        device: &Device,
        plan: &TrainStep,
        hyper: &[Hyperparameters],
        first: u64,
        steps: usize,
    ) {
        let rows: Vec<[f32; 4]> =
            (first..).take(steps).flat_map(|step| hyper.iter().map(move |h| plan.row(h, step))).collect();
        let offset = 3 * VECTOR * hyper.len() as u64;
        device.queue.write_buffer(&self.table, offset, bytemuck::cast_slice(&rows));
    }
}

/// Says which limit a buffer breaks, and what lowers it.
fn fits(device: &Device, what: &str, bytes: u64) -> Result<()> {
    let largest = device.largest_binding();
    if bytes <= largest {
        return Ok(());
    }
    let cure = match what {
        "data" => "use fewer rows or columns",
        "activations" => "lower --batch-size, --hidden or --ensemble",
        _ => "lower --hidden or --ensemble",
    };
    Err(Error::Device(format!(
        "{}: the {what} arena needs {bytes} bytes and a binding may have {largest}: {cure}",
        device.summary
    )))
}

/// Offset and bytes of each binding of the data.
fn data_parts(plan: &Plan, bytes: u64) -> Vec<(u64, u64)> {
    let count = plan.data_bindings() as u64;
    let largest = if count == 1 { bytes } else { VECTOR * plan.data_binding as u64 };
    (0..count).map(|part| (part * largest, largest.min(bytes - part * largest))).collect()
}

/// Says what a table breaks that is read through several bindings.
fn data_fits(device: &Device, bytes: u64, bindings: usize) -> Result<()> {
    let limits = device.device.limits();
    let (largest, room) =
        (limits.max_buffer_size, (limits.max_storage_buffers_per_shader_stage as usize).saturating_sub(STORAGES));
    if bytes <= largest && bindings - 1 <= room {
        return Ok(());
    }
    Err(Error::Device(format!(
        "{}: the table needs {bytes} bytes in {bindings} bindings; a buffer may have {largest} bytes and be read through {} of {} \
         bytes: use fewer rows or columns",
        device.summary,
        room + 1,
        device.largest_binding(),
    )))
}

/// Storage buffers of a plan whose data has one binding.
const STORAGES: usize = 8;

/// The one bind group layout, and a group for each length of a dispatch.
fn bind(
    device: &Device,
    arenas: &[wgpu::Buffer; 5],
    others: &[&wgpu::Buffer; 3],
    chunks: &[wgpu::Buffer; 2],
    data: &[(u64, u64)],
) -> (wgpu::PipelineLayout, [wgpu::BindGroup; 2]) {
    let storage = |read_only| wgpu::BufferBindingType::Storage { read_only };
    // In the order of shaders/shared/arenas.wgsl, where data and table are read only; then the rest of the data.
    let types: [_; STORAGES] = [false, false, false, false, true, true, false, false].map(storage);
    let rest = data[1..].iter().map(|_| storage(true));
    let types: Vec<_> = types.into_iter().chain([wgpu::BufferBindingType::Uniform]).chain(rest).collect();
    let entries: Vec<_> = (0..)
        .zip(types)
        .map(|(binding, ty)| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
            count: None,
        })
        .collect();
    let group_layout = device
        .device
        .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some("fori.arenas"), entries: &entries });
    let groups = [0, 1].map(|i| {
        let part = |&(offset, bytes): &(u64, u64)| {
            let buffer = &arenas[Arena::Data as usize];
            wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset, size: NonZeroU64::new(bytes) })
        };
        let whole =
            arenas.iter().chain(others.iter().copied()).chain([&chunks[i]]).map(wgpu::Buffer::as_entire_binding);
        let mut resources: Vec<_> = whole.chain(data[1..].iter().map(part)).collect();
        resources[Arena::Data as usize] = part(&data[0]);
        let entries: Vec<_> =
            (0..).zip(resources).map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource }).collect();
        let label = Some("fori.arenas");
        device.device.create_bind_group(&wgpu::BindGroupDescriptor { label, layout: &group_layout, entries: &entries })
    });
    let layout = device.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some("fori.arenas"),
        bind_group_layouts: &[Some(&group_layout)],
        immediate_size: 0,
    });
    (layout, groups)
}
