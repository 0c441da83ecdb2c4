//! What the tests on an adapter share: plans, executors, runs of a number of steps, and small kernels.

use std::ops::Range;

use fori::arenas::Arenas;
use fori::config::Member;
use fori::data::Dataset;
use fori::executor::{Chunk, Executor};
use fori::gpu::{Device, GpuExecutor};
use fori::plan::{Plan, Products, Source, TrainStep};
use fori::shader::Walk;
use fori::spec::{Activation, Hyperparameters, Loss, Model, Optimizer};
use wgpu::util::DeviceExt;

/// Both walks of a plan on a device.
pub const WALKS: [Walk; 2] = [Walk::Recorded, Walk::Persistent];

/// The network of the golden data.
pub fn reference_step(products: Products) -> TrainStep {
    let model = Model::new(2, &[64, 64], 1, Activation::Gelu).expect("the widths are possible");
    TrainStep { products, ..TrainStep::new(model, Loss::Mse, Optimizer::Adam, 64, Source::Linreg) }
}

/// One model with the default hyperparameters.
pub fn member(seed: u64) -> Member {
    Member { seed, hyper: Hyperparameters::default() }
}

/// Arenas before the first step, for the seeds of `members`.
pub fn initial(plan: &Plan, members: &[Member], table: Option<&Dataset>, fresh: f32) -> Arenas<f32> {
    let seeds: Vec<_> = members.iter().map(|m| m.seed).collect();
    Arenas::initial(plan, &seeds, table, fresh).expect("the table fits the plan")
}

/// An executor that starts from `arenas`.
pub fn executor(
    device: Device,
    plan: &Plan,
    members: &[Member],
    arenas: &Arenas<f32>,
    walk: Walk,
    checked: bool,
) -> GpuExecutor {
    let hyper = members.iter().map(|m| m.hyper).collect();
    GpuExecutor::new(device, plan.clone(), hyper, arenas, walk, checked).expect("the kernels compile")
}

/// The reference network with seed 0 on `device`.
pub fn reference(device: Device, walk: Walk, checked: bool) -> (Plan, GpuExecutor) {
    let plan = Plan::new(reference_step(device.products)).expect("the plan is possible");
    let members = [member(0)];
    let arenas = initial(&plan, &members, None, f32::NAN);
    let executor = executor(device, &plan, &members, &arenas, walk, checked);
    (plan, executor)
}

/// Runs `steps` in chunks of `chunk`, and returns their losses, `(steps, models)` row-major.
pub fn train(executor: &mut dyn Executor, steps: Range<usize>, chunk: usize, iters_per_submit: usize) -> Vec<f32> {
    let mut losses = Vec::new();
    for first in steps.clone().step_by(chunk) {
        let count = chunk.min(steps.end - first);
        executor.enqueue(Chunk { first_step: first as u64, steps: count, iters_per_submit }).expect("the chunk starts");
        let report = executor.collect().expect("the chunk ends").expect("a chunk is in flight");
        for (model, state) in report.state.iter().enumerate() {
            assert_eq!(state[0] as usize, first + count, "finished steps of model {model}");
        }
        losses.extend(report.losses);
    }
    losses
}

/// The bits of numbers, for comparisons that must be exact.
pub fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

/// Fails unless the 2-norm of `got - want` is at most `limit` times that of `want`.
pub fn assert_norm(name: &str, got: &[f64], want: &[f64], limit: f64) {
    assert_eq!(got.len(), want.len(), "{name}: length");
    let norm = |values: &[f64]| values.iter().map(|v| v * v).sum::<f64>().sqrt();
    let difference: Vec<_> = got.iter().zip(want).map(|(g, w)| g - w).collect();
    let relative = norm(&difference) / norm(want);
    // Written so that NaN fails.
    assert!(relative <= limit, "{name}: differs by {relative:e} in the 2-norm, expected at most {limit:e}");
}

/// Runs the expression `body`, a `vec4<u32>` made from `v: vec4<u32>`, on every four words of `input`, in a module with
/// the shader files `files`.
pub fn run_kernel(device: &Device, files: &[&str], body: &str, input: &[u32]) -> Vec<u32> {
    let text = format!(
        "@group(0) @binding(0) var<storage, read> input: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> output: array<vec4<u32>>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
    if (id.x < arrayLength(&input)) {{
        let v = input[id.x];
        output[id.x] = {body};
    }}
}}
{}",
        files.concat()
    );
    let groups = u32::try_from(input.len() / 4).expect("a small input").div_ceil(64);
    run_module(device, &text, "main", &[input], input.len(), groups)
}

/// Runs an entry point of a module that reads `inputs` in bindings 0, 2, 3, ... and writes `words` words to binding 1.
pub fn run_module(device: &Device, text: &str, entry: &str, inputs: &[&[u32]], words: usize, groups: u32) -> Vec<u32> {
    let (device, queue) = device.handles();
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some("test"),
        source: wgpu::ShaderSource::Wgsl(text.into()),
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some("test"),
        layout: None,
        module: &module,
        entry_point: Some(entry),
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        cache: None,
    });
    let buffer = |contents: &[u32], usage| {
        let contents = bytemuck::cast_slice(contents);
        device.create_buffer_init(&wgpu::util::BufferInitDescriptor { label: Some("test"), contents, usage })
    };
    let sources: Vec<_> = inputs.iter().map(|input| buffer(input, wgpu::BufferUsages::STORAGE)).collect();
    // What is not written is seen.
    let unwritten = vec![u32::MAX; words];
    let target = buffer(&unwritten, wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC);
    let staging = buffer(&unwritten, wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST);
    let bindings = [0].into_iter().chain(2..);
    let mut entries: Vec<_> = bindings
        .zip(&sources)
        .map(|(binding, source)| wgpu::BindGroupEntry { binding, resource: source.as_entire_binding() })
        .collect();
    entries.push(wgpu::BindGroupEntry { binding: 1, resource: target.as_entire_binding() });
    let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("test"),
        layout: &pipeline.get_bind_group_layout(0),
        entries: &entries,
    });
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    {
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(groups, 1, 1);
    }
    encoder.copy_buffer_to_buffer(&target, 0, &staging, 0, target.size());
    queue.submit([encoder.finish()]);
    staging.map_async(wgpu::MapMode::Read, .., |_| {});
    device.poll(wgpu::PollType::wait_indefinitely()).expect("the kernel ends");
    bytemuck::pod_collect_to_vec(&staging.get_mapped_range(..).expect("the result is mapped"))
}
