//! The executors on a device: `recorded`, one dispatch per op, and `persistent`, one dispatch for many steps.

use std::collections::VecDeque;
use std::time::Instant;

use super::buffers::{Buffers, ChunkUniform};
use super::device::Device;
use super::pipelines::Pipelines;
use super::timer::{self, Timer};
use crate::arenas::Arenas;
use crate::error::{Error, Result};
use crate::executor::{Chunk, Executor, Report};
use crate::plan::{Arena, Plan, State};
use crate::shader::{Shader, Walk};
use crate::spec::Hyperparameters;

/// Submissions that may be in flight.
const IN_FLIGHT: usize = 2;

/// Bytes that the table and the history of a chunk may take.
const CHUNK_BYTES: usize = 64 << 20;

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
    submit_per_op: bool,
    timer: Option<Timer>,
}

impl GpuExecutor {
    /// Compiles the kernels of `plan`, allocates its arenas, and uploads `arenas`; `hyper` has one entry per model.
    ///
    /// # Errors
    /// [`Error::Device`] when a limit of the device is exceeded, with the limit and what lowers the need, or when the
    /// driver fails; [`Error::Shader`] when a kernel is refused.
    pub fn new(
        device: Device,
        mut plan: Plan,
        hyper: Vec<Hyperparameters>,
        arenas: &Arenas<f32>,
        walk: Walk,
        checked: bool,
    ) -> Result<Self> {
        device.fits(plan.step.products)?;
        plan.data_binding = plan.data_binding.min(device.largest_data_binding());
        let models = plan.step.models;
        let capacity = (CHUNK_BYTES / (20 * models)).clamp(1, 1 << 15);
        let buffers = Buffers::new(&device, &plan, capacity)?;
        let shader = Shader::of(&plan, walk);
        shader.validate()?;
        let module = device.module(&shader.text, checked);
        let pipelines = Pipelines::new(&device, &plan, &module, &buffers.layout, walk)?;
        device.check()?;
        let history = 4 * models * capacity;
        let state = size_of::<State>() * models;
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let staging =
            (0..IN_FLIGHT).map(|_| device.buffer("staging", (history + state) as u64 + timer::BYTES, usage)).collect();
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
            submit_per_op: false,
            timer: None,
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

    /// Submits each op of each step on its own from now on, whatever a chunk asks for, as programs do that record
    /// nothing. No effect on the persistent loop, which is one op. Off at first.
    pub fn submit_per_op(&mut self, on: bool) {
        self.submit_per_op = on;
    }

    /// Records `steps` steps, or only op `part` of them, and returns the dispatches that it took.
    fn record(&self, pass: &mut wgpu::ComputePass<'_>, steps: usize, part: Option<usize>) -> usize {
        #[expect(clippy::cast_possible_truncation, reason = "checked against the limit when the pipelines were made")]
        let models = self.plan.step.models as u32;
        pass.set_bind_group(0, &self.buffers.groups[0], &[]);
        match &self.pipelines {
            Pipelines::Recorded(ops) => {
                let ops = part.map_or(ops.as_slice(), |op| &ops[op..=op]);
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

    /// Records and submits steps, or one op of them. The last submission of a chunk also copies its results to `staging`.
    fn submit(
        &mut self,
        steps: usize,
        part: Option<usize>,
        staging: Option<&wgpu::Buffer>,
        report: &mut Report,
    ) -> Result<()> {
        self.make_room()?;
        let start = Instant::now();
        let mut encoder = self.device.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        {
            let timestamp_writes = self.timer.as_ref().and_then(|timer| timer.writes(report.submissions));
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label: None, timestamp_writes });
            report.dispatches += self.record(&mut pass, steps, part);
        }
        report.submissions += 1;
        if let Some(staging) = staging {
            let history = self.history_bytes(report.chunk.steps);
            encoder.copy_buffer_to_buffer(&self.buffers.history, 0, staging, 0, history);
            let state = (size_of::<State>() * self.plan.step.models) as u64;
            encoder.copy_buffer_to_buffer(&self.buffers.state, 0, staging, history, state);
            if let Some(timer) = &self.timer {
                timer.copy(&mut encoder, report.submissions, staging, history + state);
            }
        }
        let commands = encoder.finish();
        report.recording += start.elapsed();
        let submission = self.device.queue.submit([commands]);
        self.submissions.push_back(submission);
        Ok(())
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

    fn measure_gpu_time(&mut self, on: bool) {
        self.timer = if on { Timer::new(&self.device) } else { None };
    }

    fn scale_learning_rates(&mut self, scales: &[f64]) {
        self.hyper.iter_mut().zip(scales).for_each(|(hyper, &scale)| hyper.scale = scale);
    }

    fn enqueue(&mut self, chunk: Chunk) -> Result<()> {
        let staging = self.staging.pop().ok_or_else(|| Error::Device("more than two chunks in flight".into()))?;
        let mut report = Report::of(chunk);
        self.buffers.write_rows(&self.device, &self.plan.step, &self.hyper, chunk.first_step, chunk.steps);
        let ops = match &self.pipelines {
            Pipelines::Recorded(ops) if self.submit_per_op => Some(ops.len()),
            _ => None,
        };
        let most = ops.map_or(chunk.iters_per_submit, |_| 1);
        let mut left = chunk.steps;
        while left > 0 {
            let steps = left.min(most);
            if left == chunk.steps || left == steps {
                self.write_chunk(chunk, steps);
            }
            left -= steps;
            let last = (left == 0).then_some(&staging);
            match ops {
                None => self.submit(steps, None, last, &mut report)?,
                Some(ops) => {
                    for op in 0..ops {
                        let last = last.filter(|_| op + 1 == ops);
                        self.submit(steps, Some(op), last, &mut report)?;
                    }
                }
            }
        }
        let submission = self.submissions.back().cloned().ok_or_else(|| Error::Device("a chunk of no steps".into()))?;
        staging.map_async(wgpu::MapMode::Read, .., |_| {});
        self.pending.push_back(Pending { report, staging, submission });
        self.device.check()
    }

    fn collect(&mut self) -> Result<Option<Report>> {
        let Some(Pending { mut report, staging, submission }) = self.pending.pop_front() else { return Ok(None) };
        self.device.wait(&submission)?;
        let history = self.history_bytes(report.chunk.steps);
        let states = size_of::<State>() * self.plan.step.models;
        let words = self.device.take_mapped(&staging, staging.size())?;
        let (losses, rest) = words.split_at(usize::try_from(history).unwrap_or(usize::MAX));
        let (state, times) = rest.split_at(states);
        report.gpu = self.timer.as_ref().and_then(|timer| timer.total(report.submissions, times));
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

    fn read_arena(&mut self, arena: Arena) -> Result<Vec<f32>> {
        self.buffers.read_arena(&self.device, arena)
    }

    fn write_params(&mut self, params: &[f32], state: &[State]) -> Result<()> {
        self.buffers.write_params(&self.device, params, state)
    }
}
