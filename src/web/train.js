// Runs a plan on navigator.gpu: the plan is data, made by fori, and the kernels are those of the native program.

const plan = JSON.parse(document.getElementById("plan").textContent);
const element = (id) => document.getElementById(id);
const BUDGET_MS = 50; // of a submission, so that the page and the screen stay alive
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
  const rate = plan.rates[Math.min(count, plan.rates.length - 1)];
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
    if (bad) throw new Error(`the shader does not compile: line ${bad.lineNum}: ${bad.message}`);
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
    device.queue.writeBuffer(this.state, 0, new Uint32Array(part.state));
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
}

// The first steps one by one, later every n-th, so that the chart of a long run stays light.
class Curve {
  constructor() {
    this.points = [];
    this.every = 1;
  }

  add(step, loss) {
    if (step % this.every === 0 && Number.isFinite(loss) && loss > 0) this.points.push([step, loss]);
    if (this.points.length > 4000) {
      this.every *= 2;
      this.points = this.points.filter(([at]) => at % this.every === 0);
    }
  }

  draw(canvas) {
    const context = canvas.getContext("2d");
    const style = getComputedStyle(document.documentElement);
    const [left, bottom] = [56, 24];
    const [width, height] = [canvas.width - left - 8, canvas.height - bottom - 8];
    context.clearRect(0, 0, canvas.width, canvas.height);
    if (this.points.length < 2) return;
    const logs = this.points.map(([, loss]) => Math.log10(loss));
    const low = Math.floor(Math.min(...logs) * 2) / 2;
    const high = Math.max(low + 0.5, Math.ceil(Math.max(...logs) * 2) / 2);
    const last = this.points[this.points.length - 1][0];
    const x = (step) => left + (width * step) / last;
    const y = (log) => 8 + (height * (high - log)) / (high - low);
    context.font = "12px system-ui, sans-serif";
    context.fillStyle = getComputedStyle(document.body).color;
    context.strokeStyle = style.getPropertyValue("--faint");
    for (let log = Math.ceil(low); log <= high; log++) {
      context.beginPath();
      context.moveTo(left, y(log));
      context.lineTo(left + width, y(log));
      context.stroke();
      context.textAlign = "right";
      context.fillText(`1e${log}`, left - 6, y(log) + 4);
    }
    context.textAlign = "center";
    for (let i = 0; i <= 4; i++) {
      const at = left + (width * i) / 4;
      context.textAlign = i === 4 ? "right" : i === 0 ? "left" : "center";
      context.fillText(String(Math.round((last * i) / 4)), at, canvas.height - 6);
    }
    context.strokeStyle = style.getPropertyValue("--line");
    context.lineWidth = 1.2;
    context.beginPath();
    this.points.forEach(([step], i) => context.lineTo(x(step), y(logs[i])));
    context.stroke();
  }
}

// Ten colors that differ in lightness as well as in hue.
const CLASSES = ["#0b3c5d", "#d9b310", "#7a1f3d", "#7fd1ae", "#4b4e9e", "#f2a07b", "#2e7d32", "#c9c6e8", "#8d5a2b", "#59b3e6"];

function color(text) {
  return [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16));
}

// Draws what the network says of each point of the grid.
function drawMap(map, answers) {
  const canvas = element("map");
  const context = canvas.getContext("2d");
  const image = context.createImageData(map.width, map.height);
  const values = (point) => answers.subarray(point * map.stride, point * map.stride + map.columns);
  let [low, high] = [Infinity, -Infinity];
  for (let point = 0; point < map.width * map.height; point++) {
    low = Math.min(low, values(point)[0]);
    high = Math.max(high, values(point)[0]);
  }
  for (let point = 0; point < map.width * map.height; point++) {
    const v = values(point);
    let rgb;
    if (map.kind === "color") rgb = [v[0] * 255, v[1] * 255, v[2] * 255];
    else if (map.kind === "classes") rgb = color(CLASSES[v[0] % CLASSES.length]);
    else {
      const share = map.kind === "label" ? 1 / (1 + Math.exp(-v[0])) : (v[0] - low) / (high - low || 1);
      rgb = [40 + 215 * share, 60 + 150 * share, 110 - 30 * share];
    }
    image.data.set([...rgb, 255], 4 * point);
  }
  context.putImageData(image, 0, 0);
}

function curveMap(map, answers) {
  const canvas = element("map");
  const context = canvas.getContext("2d");
  context.clearRect(0, 0, canvas.width, canvas.height);
  const v = Array.from({ length: map.width }, (_, point) => answers[point * map.stride]);
  const [low, high] = [Math.min(...v), Math.max(...v)];
  context.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--line");
  context.lineWidth = 2;
  context.beginPath();
  v.forEach((value, i) => context.lineTo((canvas.width * i) / map.width, 8 + ((canvas.height - 16) * (high - value)) / (high - low || 1)));
  context.stroke();
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

class Page {
  async open() {
    if (!navigator.gpu) {
      throw new Error("This browser has no WebGPU. Recent versions of Chrome, Edge, Firefox and Safari have it; some need it turned on.");
    }
    const adapter = await navigator.gpu.requestAdapter({ powerPreference: "high-performance" });
    if (!adapter) throw new Error("This browser found no graphics adapter for WebGPU. See chrome://gpu or about:support.");
    const most = Math.max(...plan.train.arenas, ...(plan.map ? plan.map.part.arenas : []));
    const limit = Math.min(adapter.limits.maxStorageBufferBindingSize, adapter.limits.maxBufferSize);
    if (most > limit) throw new Error(`An arena needs ${most} bytes, and this adapter allows ${limit}.`);
    const requiredLimits = { maxStorageBufferBindingSize: Math.max(most, 1 << 27), maxBufferSize: Math.max(most, 1 << 28) };
    this.device = await adapter.requestDevice({ requiredLimits });
    this.device.lost.then((info) => this.fail(new Error(`The graphics device was lost: ${info.message || info.reason}.`)));
    this.device.addEventListener("uncapturederror", (event) => this.fail(event.error));
    const info = adapter.info || {};
    element("adapter").textContent = [info.vendor, info.architecture, info.description].filter(Boolean).join(" ") || "unnamed";
    this.program = new Program(this.device, plan.train);
    await this.program.compile();
    if (plan.map) {
      this.map = new Program(this.device, plan.map.part, this.program.arenas[0]);
      await this.map.compile();
      this.map.reset(false);
      const size = 4 * plan.map.points * plan.map.stride;
      this.answers = this.device.createBuffer({ size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
      const canvas = element("map");
      [canvas.width, canvas.height] = plan.map.kind === "curve" ? [320, 320] : [plan.map.width, plan.map.height];
      canvas.style.width = `${plan.map.kind === "color" ? 480 : 320}px`;
      element("legend").textContent = plan.map.legend;
      element("picture").hidden = false;
    }
    element("wgsl").textContent = plan.train.wgsl;
    element("start").addEventListener("click", () => (this.running ? this.pause() : this.start()));
    element("again").addEventListener("click", () => this.restart());
    element("download").addEventListener("click", () => this.download());
    this.begin();
  }

  begin() {
    this.program.reset(true);
    this.step = 0;
    this.losses = [];
    this.curve = new Curve();
    this.iters = 1;
    for (const id of ["start", "again", "download"]) element(id).disabled = false;
    element("start").textContent = "Start";
    this.show();
  }

  start() {
    this.running = true;
    element("start").textContent = "Pause";
    this.finished = this.loop().catch((error) => this.fail(error));
  }

  async pause() {
    this.running = false;
    element("start").textContent = this.step < plan.steps ? "Go on" : "Done";
    await this.finished;
  }

  async restart() {
    await this.pause();
    this.begin();
  }

  async loop() {
    let shown = 0;
    while (this.running && this.step < plan.steps) {
      const steps = Math.min(this.iters, plan.steps - this.step);
      const began = performance.now();
      this.program.submit(this.step, steps);
      const { losses, counted } = await this.program.collect(steps);
      const took = performance.now() - began;
      if (counted !== this.step + steps) {
        throw new Error(`The adapter finished ${counted - this.step} of ${steps} steps after step ${this.step} and reported no error.`);
      }
      losses.forEach((loss, i) => {
        this.curve.add(this.step + i + 1, loss);
        if (this.losses.length < 100000) this.losses.push(loss);
      });
      this.step += steps;
      this.speed = (1000 * steps) / took;
      this.iters = Math.max(1, Math.min(CAPACITY, Math.round(steps * Math.min(4, Math.max(0.25, BUDGET_MS / took)))));
      if (!Number.isFinite(losses[steps - 1])) throw new Error(`The loss is no number after step ${this.step}: try a smaller learning rate.`);
      if (performance.now() - shown > 250 || this.step === plan.steps) {
        await this.paint();
        this.show();
        shown = performance.now();
      }
      await new Promise((resume) => setTimeout(resume));
    }
    if (this.step === plan.steps) {
      this.running = false;
      element("start").textContent = "Done";
      element("start").disabled = true;
    }
  }

  show() {
    const loss = this.losses[this.losses.length - 1];
    element("step").textContent = `${this.step} of ${plan.steps}`;
    element("loss").textContent = loss === undefined ? "" : loss.toPrecision(5);
    element("speed").textContent = this.step ? Math.round(this.speed) : "";
    element("iters").textContent = this.iters;
    this.curve.draw(element("chart"));
  }

  // Answers the points of the map and draws them.
  async paint() {
    if (!this.map) return;
    const { map } = plan;
    this.map.device.queue.writeBuffer(this.map.state, 0, new Uint32Array(4));
    for (let batch = 0; batch < map.batches; batch++) {
      const last = batch + 1 === map.batches;
      const read = (encoder) => encoder.copyBufferToBuffer(this.map.arenas[2], 4 * map.offset, this.answers, 0, this.answers.size);
      this.map.submit(batch, 1, last ? read : undefined);
    }
    await this.answers.mapAsync(GPUMapMode.READ);
    const answers = new Float32Array(this.answers.getMappedRange().slice(0));
    this.answers.unmap();
    (map.kind === "curve" ? curveMap : drawMap)(map, answers);
  }

  async download() {
    const size = this.program.arenas[0].size;
    const staging = this.device.createBuffer({ size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
    const encoder = this.device.createCommandEncoder();
    encoder.copyBufferToBuffer(this.program.arenas[0], 0, staging, 0, size);
    this.device.queue.submit([encoder.finish()]);
    await staging.mapAsync(GPUMapMode.READ);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(safetensors(new Float32Array(staging.getMappedRange())));
    link.download = "weights.safetensors";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    staging.destroy();
  }

  fail(error) {
    this.running = false;
    element("trouble").textContent = error.message;
    for (const id of ["start", "again"]) element(id).disabled = true;
  }
}

const page = new Page();
window.fori = page; // for tests, and for the curious
page.ready = page.open().catch((error) => page.fail(error));
