//! The executors on a device: `recorded`, one dispatch per op, and `persistent`, one dispatch for many steps.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::buffers::{Buffers, ChunkUniform};
use super::device::Device;
use super::probe::loop_budget;
use crate::arenas::{Arenas, State};
use crate::error::{Error, Result};
use crate::executor::{Chunk, Executor, Report};
use crate::plan::Plan;
use crate::shader::{Shader, Walk, entry_point};
use crate::spec::Hyperparameters;

/// Submissions that may be in flight.
const IN_FLIGHT: usize = 2;

/// Bytes that the table and the history of a chunk may take.
const CHUNK_BYTES: usize = 64 << 20;

/// How the ops are walked on the device.
enum Pipelines {
    /// A pipeline and its workgroups per op.
    Recorded(Vec<(wgpu::ComputePipeline, u32)>),
    /// The loop, and how many steps of it one dispatch may run.
    Persistent(wgpu::ComputePipeline, usize),
}

/// A chunk that was handed to the device.
struct Pending {
    report: Report,
    staging: wgpu::Buffer,
    submission: wgpu::SubmissionIndex,
}

/// Runs a plan on a device.
pub struct GpuExecutor {
    device: Device,
    plan: Plan,
    hyper: Vec<Hyperparameters>,
    buffers: Buffers,
    pipelines: Pipelines,
    capacity: usize,
    /// Staging buffers that no chunk uses.
    staging: Vec<wgpu::Buffer>,
    submissions: VecDeque<wgpu::SubmissionIndex>,
    pending: VecDeque<Pending>,
}

impl GpuExecutor {
    /// Compiles the kernels of `plan`, allocates its arenas, and uploads `arenas`; `hyper` has one entry per model.
    ///
    /// # Errors
    /// [`Error::Device`] when a limit of the device is exceeded, with the limit and what lowers the need, or when the
    /// driver fails; [`Error::Shader`] when a kernel is refused.
    pub fn new(
        device: Device,
        plan: Plan,
        hyper: Vec<Hyperparameters>,
        arenas: &Arenas<f32>,
        walk: Walk,
        checked: bool,
    ) -> Result<Self> {
        let models = plan.step.models;
        let capacity = (CHUNK_BYTES / (20 * models)).clamp(1, 1 << 15);
        let buffers = Buffers::new(&device, &plan, capacity)?;
        let shader = Shader::of(&plan, walk);
        shader.validate()?;
        let module = device.module(&shader.text, checked);
        let pipelines = match walk {
            Walk::Recorded => record_pipelines(&device, &plan, &module, &buffers.layout)?,
            Walk::Persistent => {
                let pipeline = device.pipeline(&module, Some(&buffers.layout), "persistent");
                Pipelines::Persistent(pipeline, steps_per_dispatch(&device, &plan)?)
            }
        };
        device.check()?;
        let history = 4 * models * capacity;
        let state = size_of::<State>() * models;
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let staging = (0..IN_FLIGHT).map(|_| device.buffer("staging", (history + state) as u64, usage)).collect();
        buffers.write(&device, arenas)?;
        buffers.write_constants(&device, &hyper);
        Ok(Self {
            device,
            plan,
            hyper,
            buffers,
            pipelines,
            capacity,
            staging,
            submissions: VecDeque::new(),
            pending: VecDeque::new(),
        })
    }

    /// The device it runs on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// How it walks the ops.
    pub fn walk(&self) -> Walk {
        match self.pipelines {
            Pipelines::Recorded(_) => Walk::Recorded,
            Pipelines::Persistent(..) => Walk::Persistent,
        }
    }

    /// Records `steps` steps and returns the dispatches that it took.
    fn record(&self, pass: &mut wgpu::ComputePass<'_>, steps: usize) -> usize {
        #[expect(clippy::cast_possible_truncation, reason = "checked against the limit when the pipelines were made")]
        let models = self.plan.step.models as u32;
        pass.set_bind_group(0, &self.buffers.groups[0], &[]);
        match &self.pipelines {
            Pipelines::Recorded(ops) => {
                for _ in 0..steps {
                    for (pipeline, tiles) in ops {
                        pass.set_pipeline(pipeline);
                        pass.dispatch_workgroups(*tiles, models, 1);
                    }
                }
                steps * ops.len()
            }
            Pipelines::Persistent(pipeline, per_dispatch) => {
                pass.set_pipeline(pipeline);
                for _ in 0..steps / per_dispatch {
                    pass.dispatch_workgroups(models, 1, 1);
                }
                if !steps.is_multiple_of(*per_dispatch) {
                    pass.set_bind_group(0, &self.buffers.groups[1], &[]);
                    pass.dispatch_workgroups(models, 1, 1);
                }
                steps.div_ceil(*per_dispatch)
            }
        }
    }

    /// Tells the kernels where the chunk starts and how long their dispatches are.
    fn write_chunk(&self, chunk: Chunk, steps: usize) {
        let per_dispatch = match &self.pipelines {
            Pipelines::Recorded(_) => 1,
            Pipelines::Persistent(_, steps) => *steps,
        };
        #[expect(clippy::cast_possible_truncation, reason = "the count on the device has 32 bits and wraps around")]
        let first_step = chunk.first_step as u32;
        for (buffer, steps) in self.buffers.chunks.iter().zip([per_dispatch, steps % per_dispatch]) {
            let steps = u32::try_from(steps).unwrap_or(u32::MAX);
            let uniform = ChunkUniform { first_step, steps, one: 1, reserved: 0 };
            self.device.queue.write_buffer(buffer, 0, bytemuck::bytes_of(&uniform));
        }
    }

    /// Bytes of the history of `steps` steps.
    fn history_bytes(&self, steps: usize) -> u64 {
        (4 * self.plan.step.models * steps) as u64
    }

    /// Waits until there is room for one more submission.
    fn make_room(&mut self) -> Result<()> {
        while self.submissions.len() >= IN_FLIGHT {
            if let Some(oldest) = self.submissions.pop_front() {
                self.device.wait(&oldest)?;
            }
        }
        Ok(())
    }
}

/// A pipeline per op, after checking that its workgroups can be dispatched and its loops can end.
fn record_pipelines(
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

impl Executor for GpuExecutor {
    fn name(&self) -> &'static str {
        match self.walk() {
            Walk::Recorded => "recorded",
            Walk::Persistent => "persistent",
        }
    }

    fn capacity(&self) -> usize {
        self.capacity
    }

    fn shrink_dispatches(&mut self, steps: usize) {
        if let Pipelines::Persistent(_, per_dispatch) = &mut self.pipelines {
            *per_dispatch = steps.clamp(1, *per_dispatch);
        }
    }

    fn enqueue(&mut self, chunk: Chunk) -> Result<()> {
        let mut recording = Duration::ZERO;
        let models = self.plan.step.models;
        let staging = self.staging.pop().ok_or_else(|| Error::Device("more than two chunks in flight".into()))?;
        let (mut dispatches, mut submissions, mut left) = (0, 0, chunk.steps);
        self.buffers.write_rows(&self.device, &self.hyper, chunk.first_step, chunk.steps);
        let submission = loop {
            self.make_room()?;
            let steps = left.min(chunk.iters_per_submit);
            left -= steps;
            if submissions == 0 || left == 0 {
                self.write_chunk(chunk, steps);
            }
            let start = Instant::now();
            let mut encoder = self.device.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            {
                let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
                dispatches += self.record(&mut pass, steps);
            }
            if left == 0 {
                let history = self.history_bytes(chunk.steps);
                encoder.copy_buffer_to_buffer(&self.buffers.history, 0, &staging, 0, history);
                let state = (size_of::<State>() * models) as u64;
                encoder.copy_buffer_to_buffer(&self.buffers.state, 0, &staging, history, state);
            }
            let commands = encoder.finish();
            recording += start.elapsed();
            let submission = self.device.queue.submit([commands]);
            submissions += 1;
            self.submissions.push_back(submission.clone());
            if left == 0 {
                break submission;
            }
        };
        staging.map_async(wgpu::MapMode::Read, .., |_| {});
        let (losses, state, fault) = (Vec::new(), Vec::new(), None);
        let report = Report { chunk, losses, state, submissions, dispatches, recording, fault };
        self.pending.push_back(Pending { report, staging, submission });
        self.device.check()
    }

    fn collect(&mut self) -> Result<Option<Report>> {
        let Some(Pending { mut report, staging, submission }) = self.pending.pop_front() else { return Ok(None) };
        self.device.wait(&submission)?;
        let history = self.history_bytes(report.chunk.steps);
        let bytes = history + (size_of::<State>() * self.plan.step.models) as u64;
        let words = self.device.take_mapped(&staging, bytes)?;
        let (losses, state) = words.split_at(usize::try_from(history).unwrap_or(usize::MAX));
        report.losses = bytemuck::pod_collect_to_vec(losses);
        report.state = bytemuck::pod_collect_to_vec(state);
        self.staging.push(staging);
        Ok(Some(report))
    }

    fn save(&mut self) -> Result<()> {
        self.buffers.copy_state(&self.device, false)
    }

    fn restore(&mut self) -> Result<()> {
        self.buffers.copy_state(&self.device, true)
    }

    fn read(&mut self) -> Result<Arenas<f32>> {
        self.buffers.read(&self.device)
    }

    fn write(&mut self, arenas: &Arenas<f32>) -> Result<()> {
        self.buffers.write(&self.device, arenas)
    }
}
