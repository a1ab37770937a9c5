// Places in two or three dimensions, seen from any side: trajectories of series, or points of clusters.

const MOST_POINTS = 2000; // of one trajectory
const LEAP = 25; // places, with shift held
const START = { yaw: 0.6, pitch: 0.5, zoom: 1 };

/** Return the places of a trajectory, of which `place` makes from what was measured, and the steps they belong to. */
function trajectoryOf(series, dims, ranges, place) {
  const stride = Math.max(1, Math.ceil(series.lows[0].length / MOST_POINTS));
  const bins = Array.from({ length: Math.ceil(series.lows[0].length / stride) }, (_, i) => i * stride);
  const places = bins.map((bin) => place(dims.map((dim) => valueOf((series.lows[dim][bin] + series.highs[dim][bin]) / 2, ranges[dim]))));
  return { places, steps: bins.map((bin) => bin * series.every) };
}

/** What is drawn of recordings as they were recorded. */
function recordedView(data, dims, equal) {
  const scales = scalesOf(dims.map((dim) => data.channels[dim]), equal);
  const place = (values) => values.map((value, axis) => scales[axis](value));
  return { names: dims.map((dim) => data.channels[dim].name), equal, pathOf: (one) => trajectoryOf(one, dims, data.channels, place) };
}

/** What is drawn of recordings turned, resized and moved into one frame. */
function alignedView(data) {
  const { dims, ranges, maps } = data.aligned;
  const scales = scalesOf(ranges, true);
  const placeIn = ({ matrix, place }) => (values) => {
    const moved = values.map((value, k) => value - place[k]);
    return matrix.map((row, axis) => scales[axis](row.reduce((sum, entry, k) => sum + entry * moved[k], 0)));
  };
  return { ...recordedView(data, dims, true), pathOf: (one, i) => trajectoryOf(one, dims, data.channels, placeIn(maps[i])) };
}

/** Return functions from values to places between -1 and 1, to one scale or each to its own. */
function scalesOf(ranges, equal) {
  const widest = Math.max(...ranges.map((range) => range.high - range.low)) || 1;
  return ranges.map((range) => {
    const middle = (range.low + range.high) / 2;
    const half = (equal ? widest : range.high - range.low || 1) / 2;
    return (value) => (value - middle) / half;
  });
}

class SpaceChart {
  constructor(figure, place, names, label) {
    Object.assign(this, { names, tip: (figure.tip ??= new Tip(figure)), ...START, spots: [], cursor: null, only: null, twins: [this] });
    this.isFlat = names.length < 3;
    if (this.isFlat) Object.assign(this, { yaw: 0, pitch: Math.PI / 2 });
    const keys = `${this.isFlat ? "" : "Arrow keys turn it, "}n and p point at one place after the other, + and - zoom.`;
    const height = Math.min(520, Math.max(320, 0.9 * place.clientWidth));
    this.sheet = new Sheet(place, height, `${label} ${keys[0].toUpperCase()}${keys.slice(1)}`, (pen, width, height) => this.draw(pen, width, height));
    this.follow();
  }

  follow() {
    const { canvas } = this.sheet;
    followPointers(canvas, {
      point: (x, y) => this.point(x, y),
      leave: () => this.leave(),
      drag: (dx, dy) => this.isFlat || this.turn(dx / 120, dy / 120),
    });
    followWheel(canvas, (factor) => this.closer(factor));
    const turns = {
      ArrowLeft: () => this.turn(-0.15, 0),
      ArrowRight: () => this.turn(0.15, 0),
      ArrowUp: () => this.turn(0, -0.15),
      ArrowDown: () => this.turn(0, 0.15),
    };
    followKeys(canvas, {
      ...(this.isFlat ? {} : turns),
      n: () => this.walk(1),
      p: () => this.walk(-1),
      N: () => this.walk(LEAP),
      P: () => this.walk(-LEAP),
      Escape: () => this.leave(),
      "+": () => this.closer(1.25),
      "=": () => this.closer(1.25),
      "-": () => this.closer(0.8),
      0: () => this.reset(),
    });
  }

  controls() {
    const turns = [["↺", "Turn left", -0.3, 0], ["↻", "Turn right", 0.3, 0], ["▲", "Tilt up", 0, -0.3], ["▼", "Tilt down", 0, 0.3]];
    return make("div", { class: "controls", role: "toolbar", "aria-label": "Point of view" },
      ...(this.isFlat ? [] : turns.map(([sign, words, yaw, pitch]) => makeButton(sign, words, () => this.turn(yaw, pitch)))),
      makeButton("+", "Closer", () => this.closer(1.25)),
      makeButton("−", "Farther", () => this.closer(0.8)),
      makeButton("reset", "As at first", () => this.reset()));
  }

  turn(yaw, pitch) {
    this.change((one) => ({ yaw: one.yaw + yaw, pitch: Math.min(Math.max(one.pitch + pitch, -Math.PI / 2), Math.PI / 2) }));
  }

  closer(factor) {
    this.change((one) => ({ zoom: Math.min(Math.max(one.zoom * factor, 0.5), 20) }));
  }

  reset() {
    this.change((one) => (one.isFlat ? { zoom: 1 } : START));
  }

  /** Change this chart and those beside it that show the same from the same side. */
  change(made) {
    this.twins.forEach((one) => {
      Object.assign(one, made(one));
      one.tip.hide();
      one.sheet.redraw();
    });
  }

  /** Return where a place is on the sheet: turned about the third axis, then tilted towards the reader. */
  project([x, y = 0, z = 0]) {
    const [cos, sin] = [Math.cos(this.yaw), Math.sin(this.yaw)];
    const [across, deep] = [cos * x - sin * y, sin * x + cos * y];
    const up = Math.sin(this.pitch) * deep + Math.cos(this.pitch) * z;
    const { width, height } = this.sheet;
    const size = this.zoom * Math.min(width, height) * (this.isFlat ? 0.43 : 0.29);
    const stretch = this.isFlat && !this.equal ? Math.max(width / height, 1) : 1;
    return [width / 2 + stretch * size * across, height / 2 - size * up];
  }

  draw(pen, width, height) {
    this.spots = [];
    pen.clearRect(0, 0, width, height);
    this.axes(pen);
    this.drawPlaces(pen);
    this.axisNames(pen);
    if (this.cursor !== null) this.ring(pen, this.spots[this.cursor]);
  }

  ring(pen, spot) {
    if (!spot) return;
    pen.strokeStyle = theme.ink;
    pen.lineWidth = 2;
    pen.beginPath();
    pen.arc(spot.x, spot.y, 9, 0, 2 * Math.PI);
    pen.stroke();
  }

  /** Point so many places further on, from the last one to the first. */
  walk(by) {
    const count = this.spots.length;
    if (!count) return;
    this.cursor = (((this.cursor ?? (by > 0 ? -1 : 0)) + by) % count + count) % count;
    const spot = this.spots[this.cursor];
    this.tip.show(spot.words(), this.sheet.canvas, spot.x, spot.y);
    this.sheet.redraw();
  }

  leave() {
    this.cursor = null;
    this.tip.hide();
    this.sheet.redraw();
  }

  /** Call back with the name and both ends of every axis, from the lowest corner of all data. */
  eachAxis(act) {
    this.names.forEach((name, axis) => {
      const end = [-1, -1, -1].map((low, i) => (i === axis ? 1 : low));
      act(name, this.project([-1, -1, -1]), this.project(end));
    });
  }

  axes(pen) {
    pen.strokeStyle = theme.line;
    this.eachAxis((_name, from, to) => stripe(pen, [...from, ...to]));
  }

  /** Write the names of the axes past their ends, over whatever is there, but inside the sheet. */
  axisNames(pen) {
    pen.fillStyle = theme.soft;
    pen.textAlign = "center";
    this.eachAxis((name, from, to) => {
      const past = to.map((value, i) => value + 14 * Math.sign(value - from[i] || 0) * (Math.abs(value - from[i]) > 20));
      const half = pen.measureText(name).width / 2;
      const within = (value, margin, size) => Math.min(Math.max(value, margin), size - margin);
      pen.fillText(name, within(past[0], half + 4, this.sheet.width), within(past[1], 10, this.sheet.height));
    });
  }

  point(x, y) {
    let [nearest, least] = [null, 14 ** 2];
    for (const spot of this.spots) {
      const distance = (spot.x - x) ** 2 + (spot.y - y) ** 2;
      if (distance < least) [nearest, least] = [spot, distance];
    }
    if (nearest) this.tip.show(nearest.words(), this.sheet.canvas, x, y);
    else this.tip.hide();
  }
}

/** Trajectories, coloured by label. */
class Trajectories extends SpaceChart {
  constructor(figure, place, data, shared, label, view) {
    super(figure, place, view.names, label);
    Object.assign(this, { data, ...shared, equal: view.equal, pathOf: view.pathOf });
    this.lane = Object.keys(shared.series[0].lanes)[0];
    shared.choice.listeners.push(() => this.sheet.redraw());
  }

  controls() {
    const bar = super.controls();
    const lanes = Object.keys(this.series[0].lanes);
    const only = make("select", { "aria-label": "Which to show" });
    const fill = () => only.replaceChildren(make("option", { value: "" }, `every ${this.lane}`),
      ...this.data.looks[this.lane].map((look, k) => make("option", { value: k }, `only ${this.lane} ${look.name}`)));
    const colour = make("select", { "aria-label": "Colour by" }, ...lanes.map((lane) => make("option", { value: lane }, `by ${lane}`)));
    const restart = (lane) => {
      this.change(() => ({ lane, only: null }));
      fill();
    };
    colour.addEventListener("change", () => restart(colour.value));
    only.addEventListener("change", () => this.change(() => ({ only: only.value === "" ? null : Number(only.value) })));
    this.cuts.listeners.push(() => restart(this.lane));
    fill();
    bar.append(colour, only);
    return bar;
  }

  drawPlaces(pen) {
    this.paths ??= this.series.map(this.pathOf);
    this.series.forEach((one, i) => {
      if (this.choice.has(i)) this.trajectory(pen, one, this.paths[i]);
    });
    this.numbers(pen, this.series.map((_, i) => i).filter((i) => this.choice.has(i)));
  }

  trajectory(pen, one, path) {
    const spots = path.places.map((place, at) => {
      const [x, y] = this.project(place);
      return { x, y, words: () => one.describe(path.steps[at], this.data) };
    });
    const runs = one.lanes[this.lane];
    let first = 0;
    runs.starts.forEach((_, run) => {
      const end = run + 1 < runs.starts.length ? runs.starts[run + 1] : Infinity;
      let last = first;
      while (last + 1 < spots.length && path.steps[last] < end) last++;
      this.stroke(pen, runs.labels[run], spots.slice(first, last + 1));
      first = last;
    });
    pen.fillStyle = theme.ink;
    pen.beginPath();
    pen.arc(spots[0].x, spots[0].y, 4, 0, 2 * Math.PI);
    pen.fill();
    path.spots = spots;
    this.spots.push(...spots);
  }

  stroke(pen, label, spots) {
    const look = label < 0 ? { color: theme.line, dash: 0 } : this.data.looks[this.lane][label];
    const isFaint = this.only !== null && this.only !== label;
    pen.globalAlpha = isFaint ? 0.12 : 0.85;
    pen.strokeStyle = label < 0 ? theme.line : legible(look.color);
    pen.lineWidth = isFaint ? 1 : 1.8;
    pen.setLineDash(DASHES[look.dash]);
    pen.beginPath();
    spots.forEach((spot) => pen.lineTo(spot.x, spot.y));
    pen.stroke();
    pen.setLineDash([]);
    pen.globalAlpha = 1;
  }

  /** Number the longest stretch of every label, so that colours are not all there is to go by; once where twins share the room. */
  numbers(pen, chosen) {
    const groups = this.twins.length > 1 ? [chosen] : chosen.map((i) => [i]);
    for (const group of groups) {
      const longest = new Map();
      for (const i of group) {
        const { starts, labels } = this.series[i].lanes[this.lane];
        starts.forEach((start, run) => {
          const length = (run + 1 < starts.length ? starts[run + 1] : this.series[i].steps) - start;
          if (length > (longest.get(labels[run]) || [0])[0]) longest.set(labels[run], [length, start + length / 2, this.paths[i]]);
        });
      }
      for (const [label, [, middle, path]] of longest) {
        if (label < 0 || (this.only !== null && this.only !== label)) continue;
        const at = path.steps.findIndex((step) => step >= middle); // none if the last bin holds the middle
        this.badge(pen, this.data.looks[this.lane][label], path.spots.at(at));
      }
    }
  }

  badge(pen, look, spot) {
    const half = pen.measureText(look.name).width / 2 + 5;
    pen.fillStyle = look.color;
    pen.strokeStyle = theme.ink;
    pen.lineWidth = 1;
    pen.beginPath();
    pen.roundRect(spot.x - half, spot.y - 8, 2 * half, 16, 8);
    pen.fill();
    pen.stroke();
    pen.fillStyle = inkOn(look.color);
    pen.textAlign = "center";
    pen.fillText(look.name, spot.x, spot.y + 1);
  }
}

/** Items as markers. */
class Points extends SpaceChart {
  constructor(figure, place, data, label) {
    super(figure, place, data.space.names, label);
    const { space } = data;
    const ranges = space.low.map((low, axis) => ({ low, high: space.high[axis] }));
    const scales = scalesOf(ranges, true);
    const codes = space.places.map(codesOf);
    this.places = space.labels.map((_, i) => codes.map((axis, k) => scales[k](valueOf(axis[i], ranges[k]))));
    Object.assign(this, { data, space, equal: true });
    place.prepend(this.controls(), makeLegend(data.looks.cluster, "cluster", paintMarker));
  }

  drawPlaces(pen) {
    const size = this.places.length > 400 ? 3 : 5;
    pen.lineWidth = 1;
    this.places.forEach((place, i) => {
      const [x, y] = this.project(place);
      const look = this.data.looks.cluster[this.space.labels[i]];
      pen.fillStyle = look.color;
      pen.strokeStyle = theme.ink;
      mark(pen, look.marker, x, y, size);
      this.spots.push({ x, y, words: () => [`item ${this.space.items[i]}, cluster ${look.name}`] });
    });
  }
}

function drawSpace(figure, place, data, shared) {
  place.classList.add("space");
  const { label } = figure.dataset;
  if (data.space.places) return new Points(figure, place, data, label);
  const chart = new Trajectories(figure, place, data, shared, label, recordedView(data, data.space.dims, data.space.equal));
  place.prepend(chart.controls());
  return chart;
}

/** Recordings as recorded and in one frame, side by side, seen from the same side. */
function drawAligned(figure, place, data, shared) {
  const views = { "as recorded": recordedView(data, data.aligned.dims, true), "aligned in one frame": alignedView(data) };
  const boxes = Object.keys(views).map((title) => make("div", { class: "space" }, make("h3", {}, title)));
  place.append(make("div", { class: "several" }, ...boxes));
  const charts = Object.entries(views).map(([title, view], k) =>
    new Trajectories(figure, boxes[k], data, shared, figure.dataset.label.replace("{}", title), view));
  charts.forEach((one) => { one.twins = charts; });
  const bar = charts[0].controls();
  if (data.cuts) bar.append(shared.cuts.slider());
  place.prepend(bar);
}
