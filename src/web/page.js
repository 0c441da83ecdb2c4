// The page: its buttons, its loop over submissions, and what it says.

const BUDGET_MS = 50; // of a submission, so that the page and the screen stay alive
const PAINTING = 0.2; // the share of the time that may go into drawing

const NO_WEBGPU = window.isSecureContext
  ? "This browser has no WebGPU. Recent versions of Chrome, Edge, Firefox and Safari have it; in some of them it must be turned on in the settings of experimental features."
  : "This page came over http, where browsers give no WebGPU: open it over https, from localhost, or as a file.";
const NO_ADAPTER =
  "This browser has WebGPU and found no graphics adapter for it: the driver may be missing, too old or blocked (chrome://gpu and about:support tell why), or hardware acceleration is turned off in the settings.";

class Page {
  async open() {
    this.device = await this.openDevice();
    this.program = new Program(this.device, plan.train);
    await this.program.compile();
    if (plan.map) await this.openMap();
    element("wgsl").textContent = plan.train.wgsl;
    element("start").addEventListener("click", () => (this.running ? this.pause() : this.start()));
    element("again").addEventListener("click", () => this.restart());
    element("download").addEventListener("click", () => this.download());
    window.addEventListener("resize", () => this.redraw());
    this.begin();
    await this.paint();
  }

  async openDevice() {
    if (!navigator.gpu) throw new Error(NO_WEBGPU);
    const adapter = await navigator.gpu.requestAdapter({ powerPreference: "high-performance" });
    if (!adapter) throw new Error(NO_ADAPTER);
    const most = Math.max(...plan.train.arenas, ...(plan.map ? plan.map.part.arenas : []));
    const limit = Math.min(adapter.limits.maxStorageBufferBindingSize, adapter.limits.maxBufferSize);
    if (most > limit) throw new Error(`The data or the network is too large for this adapter: an arena needs ${most} bytes, and it allows ${limit}.`);
    const requiredLimits = { maxStorageBufferBindingSize: Math.max(most, 1 << 27), maxBufferSize: Math.max(most, 1 << 28) };
    const device = await adapter.requestDevice({ requiredLimits });
    device.lost.then((info) => this.fail(new Error(`The graphics device was lost: ${info.message || info.reason}. Reload the page to start anew.`)));
    device.addEventListener("uncapturederror", (event) => this.fail(event.error));
    const info = adapter.info || {};
    element("adapter").textContent = [info.vendor, info.architecture, info.description].filter(Boolean).join(" ") || "unnamed";
    return device;
  }

  async openMap() {
    this.map = new Program(this.device, plan.map.part, this.program.arenas[0]);
    await this.map.compile();
    this.map.reset(false);
    const size = 4 * plan.map.points * plan.map.stride;
    this.answers = this.device.createBuffer({ size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
    element("picture").hidden = false;
    this.picture = new Picture(plan.map);
    this.device.queue.writeBuffer(this.map.arenas[4], 0, this.picture.grid());
  }

  begin() {
    this.program.reset(true);
    this.step = plan.first;
    this.losses = [];
    this.loss = undefined;
    this.speed = undefined;
    this.curve = new Curve(plan.first);
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
    await this.paint();
  }

  async loop() {
    let due = 0;
    while (this.running && this.step < plan.steps) {
      await this.chunk(Math.min(this.iters, plan.steps - this.step));
      if (performance.now() < due && this.running && this.step < plan.steps) continue;
      const began = performance.now();
      await this.paint();
      this.show();
      const now = performance.now();
      due = now + Math.max(200, (now - began) / PAINTING);
    }
    if (this.step === plan.steps) {
      this.running = false;
      element("start").textContent = "Done";
      element("start").disabled = true;
    }
  }

  // Trains some steps, and checks that the device has finished them.
  async chunk(steps) {
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
    this.loss = losses[steps - 1];
    const speed = (1000 * steps) / took;
    this.speed = this.speed ? 0.9 * this.speed + 0.1 * speed : speed;
    this.iters = Math.max(1, Math.min(CAPACITY, Math.round(steps * Math.min(4, Math.max(0.25, BUDGET_MS / took)))));
    if (!Number.isFinite(this.loss)) throw new Error(`The loss is no number after step ${this.step}: try a smaller learning rate.`);
  }

  show() {
    const count = (number) => number.toLocaleString("en-US");
    element("step").textContent = `${count(this.step)} of ${count(plan.steps)}`;
    [element("done").max, element("done").value] = [plan.steps - plan.first, this.step - plan.first];
    element("loss").textContent = this.loss === undefined ? "" : this.loss.toPrecision(5);
    element("speed").textContent = this.speed === undefined ? "" : count(Math.round(this.speed));
    element("iters").textContent = count(this.iters);
    this.curve.draw(element("chart"));
  }

  redraw() {
    this.curve.draw(element("chart"));
    if (this.picture && this.picture.answers) this.picture.draw(this.picture.answers);
  }

  // Answers the points of the map and draws them.
  async paint() {
    if (!this.map || this.painting) return;
    this.painting = true;
    const { map } = plan;
    this.map.rewind();
    const read = (encoder) => encoder.copyBufferToBuffer(this.map.arenas[2], 4 * map.offset, this.answers, 0, this.answers.size);
    this.map.submit(0, map.batches, read);
    await this.answers.mapAsync(GPUMapMode.READ);
    const answers = new Float32Array(this.answers.getMappedRange().slice(0));
    this.answers.unmap();
    this.picture.draw(answers);
    this.painting = false;
  }

  async download() {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(safetensors(await this.program.params()));
    link.download = "weights.safetensors";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  fail(error) {
    this.running = false;
    element("trouble").textContent = error.message;
    for (const id of ["start", "again"]) element(id).disabled = true;
    // Without a device there is nothing to show.
    if (!this.program) element("work").hidden = true;
    if (!this.program) element("advice").hidden = false;
  }
}

const page = new Page();
window.fori = page; // for tests, and for the curious
page.ready = page.open().catch((error) => page.fail(error));
