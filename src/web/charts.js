// What is drawn: the losses, and what the network has learned.

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name);
const share = (value, low, high) => (value - low) / (high - low || 1);

// A number for people.
function short(value) {
  const size = Math.abs(value);
  if (size >= 1000 && size < 1e7) return Math.round(value).toLocaleString("en-US");
  return size !== 0 && (size < 1e-3 || size >= 1e7) ? value.toExponential(1) : String(Number(value.toPrecision(3)));
}

// The context of a canvas that is as wide as its place and as sharp as the screen, with its size in CSS pixels.
function sheet(canvas, aspect) {
  const width = Math.max(120, canvas.clientWidth);
  const height = Math.round(width * aspect);
  const ratio = window.devicePixelRatio || 1;
  [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.font = "12px system-ui, sans-serif";
  context.fillStyle = getComputedStyle(document.body).color;
  context.lineWidth = 1;
  return { context, width, height };
}

// 1, 2 or 5 times a power of ten, so that there are about four in a range.
function spacing(range) {
  const power = Math.pow(10, Math.floor(Math.log10(range / 4)));
  return power * [1, 2, 5, 10].find((factor) => (4.9 * factor * power) >= range);
}

// Mean, least and largest loss of groups of steps, which become larger as the run becomes longer.
class Curve {
  constructor(first) {
    this.first = first;
    this.every = 1;
    this.groups = [];
  }

  // The loss of a step, counted from 1.
  add(step, loss) {
    this.last = step;
    if (!(loss > 0 && loss < Infinity)) return;
    const at = Math.floor((step - 1 - this.first) / this.every);
    this.merge(this.groups, at, { sum: loss, count: 1, low: loss, high: loss });
    if (this.groups.length > 400) {
      this.every *= 2;
      const groups = [];
      this.groups.forEach((group, i) => this.merge(groups, i >> 1, group));
      this.groups = groups;
    }
  }

  merge(groups, at, { sum, count, low, high }) {
    const to = groups[at];
    if (to) Object.assign(to, { sum: to.sum + sum, count: to.count + count, low: Math.min(to.low, low), high: Math.max(to.high, high) });
    else groups[at] = { sum, count, low, high };
  }

  draw(canvas) {
    const { context, width, height } = sheet(canvas, 0.6);
    const groups = this.groups.map((group, i) => ({ ...group, at: this.first + (i + 0.5) * this.every })).filter(Boolean);
    if (groups.length < 2) return;
    const [left, right, top, bottom] = [48, width - 10, 10, height - 24];
    const logs = [Math.log10(Math.min(...groups.map((g) => g.low))), Math.log10(Math.max(...groups.map((g) => g.high)))];
    const low = Math.min(logs[0], logs[1] - 0.1);
    const x = (step) => left + (right - left) * share(step, this.first, this.last);
    const y = (loss) => bottom - (bottom - top) * share(Math.log10(loss), low, logs[1]);
    this.grid(context, [low, logs[1]], { left, right, bottom, x, y });
    context.fillStyle = context.strokeStyle = style("--line");
    context.globalAlpha = 0.25;
    context.beginPath();
    groups.forEach((group) => context.lineTo(x(group.at), y(group.high)));
    groups.reverse().forEach((group) => context.lineTo(x(group.at), y(group.low)));
    context.fill();
    context.globalAlpha = 1;
    context.lineWidth = 1.5;
    context.beginPath();
    groups.forEach((group) => context.lineTo(x(group.at), y(group.sum / group.count)));
    context.stroke();
  }

  grid(context, [low, high], { left, right, bottom, x, y }) {
    context.strokeStyle = style("--faint");
    context.textAlign = "right";
    const factors = high - low < 1.2 ? [1, 2, 3, 5, 7] : high - low < 2.5 ? [1, 3] : [1];
    for (let power = Math.floor(low); power <= high; power++) {
      for (const loss of factors.map((factor) => factor * Math.pow(10, power))) {
        if (Math.log10(loss) < low || Math.log10(loss) > high) continue;
        context.beginPath();
        context.moveTo(left, y(loss));
        context.lineTo(right, y(loss));
        context.stroke();
        context.fillText(short(loss), left - 6, y(loss) + 4);
      }
    }
    const step = Math.max(1, spacing(this.last - this.first));
    for (let at = Math.ceil(this.first / step) * step; at <= this.last; at += step) {
      context.textAlign = x(at) > right - 24 ? "right" : "center";
      context.fillText(at.toLocaleString("en-US"), x(at), bottom + 18);
    }
  }
}

// Ten colors that differ in lightness as well as in hue.
const CLASSES = ["#0b3c5d", "#d9b310", "#7a1f3d", "#7fd1ae", "#4b4e9e", "#f2a07b", "#2e7d32", "#c9c6e8", "#8d5a2b", "#59b3e6"];
const ofClass = (index) => CLASSES[index % CLASSES.length];
const ofShare = (share) => [40 + 215 * share, 60 + 150 * share, 110 - 30 * share];
const channels = (text) => [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16));

// What the network says of the points of a grid, beside the rows that it is trained on.
class Picture {
  constructor(map) {
    this.map = map;
    this.pixels = document.createElement("canvas");
    [this.pixels.width, this.pixels.height] = [map.width, map.height];
    const data = plan.train.contents[4];
    this.rows = map.rows && data ? this.read(new Float32Array(decode(data).buffer), map.rows) : [];
    if (map.kind === "color") this.drawImage();
    this.explain();
  }

  // Inputs and first targets of at most 2,000 rows, or all of an image.
  read(data, { count, features, targets }) {
    const every = this.map.kind === "color" ? 1 : Math.ceil(count / 2000);
    const take = (view, i) => Array.from(data.subarray(view.offset + i * view.stride, view.offset + i * view.stride + view.columns));
    return Array.from({ length: Math.ceil(count / every) }, (_, i) => [take(features, i * every), take(targets, i * every)]);
  }

  // The points of the grid, in the order of their answers: pictures from the top down, plots from the bottom up.
  grid() {
    const { map } = this;
    const numbers = new Float32Array(map.part.arenas[4] / 4);
    for (let point = 0; point < map.points; point++) {
      const [column, line] = [point % map.width, Math.floor(point / map.width)];
      const across = share(column, 0, map.width - 1);
      const down = map.height > 1 ? line / (map.height - 1) : 0;
      [across, map.kind === "color" ? down : 1 - down].slice(0, map.axes.length).forEach((at, i) => {
        const { low, high } = map.axes[i];
        numbers[map.grid.offset + point * map.grid.stride + i] = low + (high - low) * at;
      });
    }
    return numbers;
  }

  // The image as it is, of the pixels that are trained on.
  drawImage() {
    const canvas = element("image");
    [canvas.width, canvas.height] = this.map.image;
    const context = canvas.getContext("2d");
    const picture = context.createImageData(canvas.width, canvas.height);
    const [x, y] = this.map.axes;
    for (const [input, target] of this.rows) {
      const column = Math.round(share(input[0], x.low, x.high) * (canvas.width - 1));
      const line = Math.round(share(input[1], y.low, y.high) * (canvas.height - 1));
      picture.data.set([...target.slice(0, 3).map((v) => 255 * v), 255], 4 * (line * canvas.width + column));
    }
    context.putImageData(picture, 0, 0);
    element("original").hidden = false;
  }

  // What the colors stand for.
  explain() {
    const { kind, axes, output, classes } = this.map;
    const legend = element("legend");
    const say = (text) => legend.append(Object.assign(document.createElement("span"), { textContent: text }));
    const swatch = (background) => {
      const box = document.createElement("i");
      box.style.background = background;
      legend.append(box);
    };
    const scale = (...ends) => {
      say(ends[0]);
      swatch(`linear-gradient(90deg, rgb(${ofShare(0)}), rgb(${ofShare(1)}))`);
      legend.lastChild.className = "wide";
      say(ends[1]);
      return [legend.lastChild.previousSibling.previousSibling, legend.lastChild];
    };
    if (kind === "color") say("what the network has learned");
    if (kind === "curve") say(`${output.name} by ${axes[0].name}`);
    if (kind === "classes" && classes.length > CLASSES.length) say(`${output.name}, whose ${classes.length} classes share ten colors`);
    else if (kind === "classes") classes.forEach((name, i) => (swatch(ofClass(i)), say(name)));
    if (kind === "label" || kind === "number") say(`${kind === "label" ? "probability of " : ""}${output.name}:`);
    if (kind === "label") scale(classes[0] ?? "0", classes[1] ?? "1");
    if (kind === "number") this.ends = scale("", "");
    if (this.rows.length && kind !== "color") say("dots: rows of the table");
  }

  draw(answers) {
    this.answers = answers;
    const { map } = this;
    const values = (point) => answers.subarray(point * map.stride, point * map.stride + map.columns);
    const first = Array.from({ length: map.points }, (_, point) => values(point)[0]);
    const range = first.reduce(([low, high], v) => [Math.min(low, v), Math.max(high, v)], [Infinity, -Infinity]);
    if (map.kind === "curve") return this.curve(first, range);
    const context = this.pixels.getContext("2d");
    const picture = context.createImageData(map.width, map.height);
    for (let point = 0; point < map.points; point++) {
      picture.data.set([...this.color(values(point), range), 255], 4 * point);
    }
    context.putImageData(picture, 0, 0);
    if (map.kind === "color") {
      [element("map").width, element("map").height] = [map.width, map.height];
      element("map").getContext("2d").drawImage(this.pixels, 0, 0);
      return;
    }
    if (this.ends) this.ends.forEach((end, i) => (end.textContent = short(range[i] * map.output.std + map.output.mean)));
    this.plane(range);
  }

  color(values, range) {
    if (this.map.kind === "color") return [0, 1, 2].map((i) => 255 * values[i]);
    if (this.map.kind === "classes") return channels(ofClass(values[0]));
    return ofShare(this.map.kind === "label" ? 1 / (1 + Math.exp(-values[0])) : share(values[0], ...range));
  }

  // A map of two inputs with its axes and rows.
  plane(range) {
    const { context, width, height } = sheet(element("map"), 1);
    const [left, right, top, bottom] = [48, width - 10, 10, height - 40];
    context.imageSmoothingEnabled = false;
    context.drawImage(this.pixels, left, top, right - left, bottom - top);
    this.axes(context, { left, right, top, bottom });
    const [x, y] = this.map.axes;
    for (const [input, target] of this.rows) {
      context.beginPath();
      context.arc(left + (right - left) * share(input[0], x.low, x.high), bottom - (bottom - top) * share(input[1], y.low, y.high), 3, 0, 7);
      const color = this.map.kind === "classes" ? channels(ofClass(target[0])) : ofShare(Math.min(1, Math.max(0, this.map.kind === "label" ? target[0] : share(target[0], ...range))));
      context.fillStyle = `rgb(${color})`;
      context.strokeStyle = "white";
      context.fill();
      context.stroke();
    }
  }

  axes(context, { left, right, top, bottom }) {
    const [x, y] = this.map.axes;
    const real = (axis, value) => short(value * axis.std + axis.mean);
    context.textAlign = "left";
    context.fillText(real(x, x.low), left, bottom + 16);
    context.textAlign = "right";
    context.fillText(real(x, x.high), right, bottom + 16);
    context.textAlign = "center";
    context.fillText(x.name, (left + right) / 2, bottom + 32);
    if (!y) return;
    context.textAlign = "right";
    context.fillText(real(y, y.low), left - 6, bottom);
    context.fillText(real(y, y.high), left - 6, top + 10);
    context.save();
    context.translate(14, (top + bottom) / 2);
    context.rotate(-Math.PI / 2);
    context.textAlign = "center";
    context.fillText(y.name, 0, 0);
    context.restore();
  }

  // The output of a network of one input, with the rows.
  curve(values, range) {
    const { context, width, height } = sheet(element("map"), 0.6);
    const [left, right, top, bottom] = [48, width - 10, 10, height - 40];
    const [axis] = this.map.axes;
    const targets = this.rows.map(([, target]) => target[0]);
    const low = targets.reduce((low, v) => Math.min(low, v), range[0]);
    const high = targets.reduce((high, v) => Math.max(high, v), range[1]);
    const { output } = this.map;
    const x = (at) => left + (right - left) * at;
    const y = (v) => bottom - (bottom - top) * share(v, low, high);
    this.axes(context, { left, right, top, bottom });
    context.textAlign = "right";
    context.fillText(short(low * output.std + output.mean), left - 6, bottom);
    context.fillText(short(high * output.std + output.mean), left - 6, top + 10);
    context.fillStyle = style("--held");
    for (const [input, target] of this.rows) {
      context.fillRect(x(share(input[0], axis.low, axis.high)) - 1, y(target[0]) - 1, 2, 2);
    }
    context.strokeStyle = style("--line");
    context.lineWidth = 2;
    context.beginPath();
    values.forEach((value, i) => context.lineTo(x(i / (values.length - 1)), y(value)));
    context.stroke();
  }
}
