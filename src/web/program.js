// Runs a plan on navigator.gpu: the plan is data, made by fori, and the kernels are those of the native program.

const plan = JSON.parse(document.getElementById("plan").textContent);
const element = (id) => document.getElementById(id);
const CAPACITY = 2048; // steps of a submission at most

function decode(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

// What the host computes for a step: learning rate and bias corrections (see `Hyperparameters::at_step`).
function row(step) {
  const count = Math.floor(step / plan.accumulate);
  const t = count + 1;
  const rate = plan.rates[Math.max(0, Math.min(count - plan.first_update, plan.rates.length - 1))];
  const correction = (decay, power) => 1 / (1 - Math.pow(decay, power));
  return [rate, correction(plan.b1, t), correction(plan.b2, t), correction(plan.b1, t + 1)];
}

// A module with its arenas: the one that trains, or the one that answers.
class Program {
  constructor(device, part, params) {
    this.device = device;
    this.part = part;
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
    const buffer = (size, use = usage) => device.createBuffer({ size: Math.max(16, size), usage: use });
    this.arenas = part.arenas.map((bytes, i) => (i === 0 && params ? params : buffer(bytes)));
    this.table = buffer(16 * (3 + CAPACITY));
    this.state = buffer(16);
    this.history = buffer(4 * CAPACITY);
    this.chunk = buffer(16, GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST);
    this.staging = buffer(4 * CAPACITY + 16, GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST);
  }

  async compile() {
    const { device, part } = this;
    const module = device.createShaderModule({ code: part.wgsl });
    const info = await module.getCompilationInfo();
    const bad = info.messages.find((message) => message.type === "error");
    if (bad) throw new Error(`The shader does not compile: line ${bad.lineNum}: ${bad.message}`);
    const types = ["storage", "storage", "storage", "storage", "read-only-storage", "read-only-storage", "storage", "storage", "uniform"];
    const entries = types.map((type, binding) => ({ binding, visibility: GPUShaderStage.COMPUTE, buffer: { type } }));
    const bindGroupLayout = device.createBindGroupLayout({ entries });
    const layout = device.createPipelineLayout({ bindGroupLayouts: [bindGroupLayout] });
    const names = [...new Set(part.ops.map((op) => op.entry))];
    const made = names.map((entryPoint) => device.createComputePipelineAsync({ layout, compute: { module, entryPoint } }));
    const pipelines = new Map((await Promise.all(made)).map((pipeline, i) => [names[i], pipeline]));
    this.ops = part.ops.map((op) => ({ pipeline: pipelines.get(op.entry), tiles: op.tiles }));
    const buffers = [...this.arenas, this.table, this.state, this.history, this.chunk];
    this.group = device.createBindGroup({
      layout: bindGroupLayout,
      entries: buffers.map((resource, binding) => ({ binding, resource: { buffer: resource } })),
    });
  }

  // Uploads what the plan brings; the rest of the arenas is zero.
  reset(first) {
    const { device, part } = this;
    part.arenas.forEach((bytes, i) => {
      if (i > 0 || first) device.queue.writeBuffer(this.arenas[i], 0, new Uint8Array(bytes));
    });
    for (const [arena, base64] of Object.entries(part.contents)) {
      if (arena !== "0" || first) device.queue.writeBuffer(this.arenas[Number(arena)], 0, decode(base64));
    }
    device.queue.writeBuffer(this.table, 0, new Float32Array(plan.constants));
    this.rewind();
  }

  rewind() {
    this.device.queue.writeBuffer(this.state, 0, new Uint32Array(this.part.state));
  }

  // Records `steps` steps after `first` into one submission.
  submit(first, steps, read) {
    const { device } = this;
    const rows = new Float32Array(4 * steps);
    for (let i = 0; i < steps; i++) rows.set(row(first + i), 4 * i);
    device.queue.writeBuffer(this.table, 48, rows);
    device.queue.writeBuffer(this.chunk, 0, new Uint32Array([first, 1, 1, 0]));
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setBindGroup(0, this.group);
    for (let i = 0; i < steps; i++) {
      for (const op of this.ops) {
        pass.setPipeline(op.pipeline);
        pass.dispatchWorkgroups(op.tiles, 1, 1);
      }
    }
    pass.end();
    encoder.copyBufferToBuffer(this.history, 0, this.staging, 0, 4 * steps);
    encoder.copyBufferToBuffer(this.state, 0, this.staging, 4 * CAPACITY, 16);
    if (read) read(encoder);
    device.queue.submit([encoder.finish()]);
  }

  // Waits for the submission, and returns the losses and how many steps the device has counted.
  async collect(steps) {
    await this.staging.mapAsync(GPUMapMode.READ);
    const copy = this.staging.getMappedRange().slice(0);
    this.staging.unmap();
    return { losses: new Float32Array(copy, 0, steps), counted: new Uint32Array(copy, 4 * CAPACITY, 1)[0] };
  }

  // The numbers of its parameters.
  async params() {
    const size = this.arenas[0].size;
    const staging = this.device.createBuffer({ size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
    const encoder = this.device.createCommandEncoder();
    encoder.copyBufferToBuffer(this.arenas[0], 0, staging, 0, size);
    this.device.queue.submit([encoder.finish()]);
    await staging.mapAsync(GPUMapMode.READ);
    const numbers = new Float32Array(staging.getMappedRange().slice(0));
    staging.destroy();
    return numbers;
  }
}

// The weights as a safetensors file: a header in JSON, then the numbers.
function safetensors(params) {
  const header = {};
  const parts = [];
  let at = 0;
  for (const tensor of plan.tensors) {
    const numbers = new Float32Array(tensor.rows * tensor.columns);
    for (let r = 0; r < tensor.rows; r++) {
      const from = 4 * (tensor.offset + r * tensor.stride);
      numbers.set(params.subarray(from, from + tensor.columns), r * tensor.columns);
    }
    header[tensor.name] = { dtype: "F32", shape: tensor.shape, data_offsets: [at, at + numbers.byteLength] };
    at += numbers.byteLength;
    parts.push(numbers);
  }
  let text = JSON.stringify(header);
  text = text.padEnd(Math.ceil(text.length / 8) * 8);
  const length = new Uint8Array(8);
  new DataView(length.buffer).setUint32(0, text.length, true);
  return new Blob([length, text, ...parts], { type: "application/octet-stream" });
}
