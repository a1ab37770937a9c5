// Series over time: curves, bars of labels, doubt and changes; all series move together.

const ROW = 34;
const LANE = 22;
const GAP = 6;
const AXIS = 20;
const FEW_SERIES = 12; // whose boxes are all shown at first

/** One series, decoded once. */
class Series {
  constructor(record) {
    Object.assign(this, record);
    this.lows = (record.low || []).map(codesOf);
    this.highs = record.high ? record.high.map(codesOf) : this.lows;
    this.ranges = this.lows.map((lows, dim) => rangeOf(lows, this.highs[dim]));
    this.known = Object.fromEntries(Object.entries(record.chances).map(([name, text]) => [name, bytesOf(text)]));
  }

  binOf(step) {
    return Math.floor(step / this.every);
  }

  chance(name, step) {
    return this.known[name] ? this.known[name][this.binOf(step)] / 255 : null;
  }

  /** Return what is known of a step, line by line. */
  describe(step, data) {
    const time = data.rate ? ` (${shown(step / data.rate)} s)` : "";
    const lines = [`${this.name}, step ${step}${time}`];
    for (const [lane, runs] of Object.entries(this.lanes)) {
      const label = runs.labels[runAt(runs, step)];
      const chance = this.chance(lane, step);
      const sure = chance === null ? "" : `, probability ${chance.toFixed(2)}`;
      lines.push(`${lane} ${label < 0 ? "not known" : data.looks[lane][label].name}${sure}`);
    }
    for (const name of ["change of action", "change of state"]) {
      const chance = this.chance(name, step);
      if (chance !== null) lines.push(`probability of a ${name}: ${chance.toFixed(2)}`);
    }
    if (this.lows.length) lines.push(this.values(step, data).join(", "));
    return lines;
  }

  values(step, data) {
    const bin = this.binOf(step);
    return data.shown.map((dim) => {
      const ends = [this.lows[dim][bin], this.highs[dim][bin]];
      if (ends.includes(MISSING)) return `${data.channels[dim].name} missing`;
      const texts = ends.map((code) => shown(valueOf(code, data.channels[dim])));
      return `${data.channels[dim].name} ${texts[0] === texts[1] ? texts[0] : texts.join(" to ")}`;
    });
  }
}

/** Return the least and the largest code of what was measured. */
function rangeOf(lows, highs) {
  let [low, high] = [MISSING, 0];
  lows.forEach((code, bin) => {
    if (code === MISSING) return;
    low = Math.min(low, code);
    high = Math.max(high, highs[bin]);
  });
  return low < high ? { low, high } : { low: 0, high: MISSING - 1 };
}

const WHOLE = { low: 0, high: MISSING - 1 };

/** The chart of one series. */
class SeriesChart {
  constructor(parent, series, data, stretch, tip) {
    Object.assign(this, { series, data, stretch, tip });
    this.shown = series.lows.length ? data.shown : [];
    this.lanes = Object.keys(series.lanes);
    this.main = this.lanes[0] === "truth" ? this.lanes[1] : this.lanes[0];
    this.changes = ["change of action", "change of state"].find((name) => series.known[name]);
    const rows = this.shown.length * ROW + this.lanes.length * (LANE + GAP);
    const height = rows + (series.known[this.main] ? LANE + GAP : 0) + (this.changes ? ROW + GAP : 0) + AXIS + GAP;
    const words = `${series.name}: ${series.steps} steps. Arrow keys point at steps, with shift they move, + and - zoom.`;
    this.sheet = new Sheet(parent, height, words, (pen, width) => this.draw(pen, width));
    stretch.listeners.push(() => this.sheet.redraw());
    this.follow();
  }

  get left() {
    return Math.min(110, 0.22 * this.sheet.width);
  }

  x(step) {
    return this.left + ((step - this.stretch.from) / this.stretch.span) * (this.sheet.width - this.left);
  }

  stepAt(x) {
    return this.stretch.from + ((x - this.left) / (this.sheet.width - this.left)) * this.stretch.span;
  }

  follow() {
    const { canvas } = this.sheet;
    const share = (dx) => -dx / (this.sheet.width - this.left);
    followPointers(canvas, {
      point: (x, y) => this.point(Math.floor(this.stepAt(x)), x, y),
      leave: () => this.leave(),
      drag: (dx) => this.stretch.pan(share(dx)),
      pinch: (other, before, now) => {
        const factor = Math.abs(now[0] - other[0]) / Math.max(Math.abs(before[0] - other[0]), 1);
        this.stretch.zoom(Math.min(Math.max(factor, 0.5), 2), this.stepAt(other[0]));
      },
    });
    followWheel(canvas, (factor, x) => this.stretch.zoom(factor, this.stepAt(x)));
    const walk = (sign) => () => this.walk(sign);
    const zoom = (factor) => () => this.stretch.zoom(factor, this.stretch.cursor ?? undefined);
    followKeys(canvas, {
      ArrowRight: walk(1),
      ArrowLeft: walk(-1),
      "Shift+ArrowRight": () => this.stretch.pan(0.2),
      "Shift+ArrowLeft": () => this.stretch.pan(-0.2),
      "+": zoom(1.5),
      "=": zoom(1.5),
      "-": zoom(1 / 1.5),
      0: () => this.stretch.reset(),
      Escape: () => this.leave(),
    });
  }

  /** Point at the next step that can be told apart on the screen. */
  walk(sign) {
    const stride = Math.max(1, Math.round(this.stretch.span / 100));
    const start = this.stretch.cursor ?? Math.floor(this.stretch.from) - (sign > 0 ? stride : -stride);
    const step = Math.min(Math.max(start + sign * stride, 0), this.series.steps - 1);
    if (step < this.stretch.from || step >= this.stretch.to) this.stretch.pan(sign * 0.5);
    this.point(step, this.x(step + 0.5), 20);
  }

  point(step, x, y) {
    if (x < this.left || step < 0 || step >= this.series.steps) return this.leave();
    this.stretch.point(step);
    this.tip.show(this.series.describe(step, this.data), this.sheet.canvas, x, y);
  }

  leave() {
    this.tip.hide();
    this.stretch.point(null);
  }

  draw(pen, width) {
    let top = GAP;
    for (const dim of this.shown) {
      this.name(pen, this.data.channels[dim].name, top, ROW);
      top += ROW;
    }
    this.inside(pen, () => {
      this.tint(pen, top);
      this.shown.forEach((dim, row) => this.curve(pen, dim, GAP + row * ROW));
    });
    for (const lane of this.lanes) {
      this.bar(pen, lane, top);
      top += LANE + GAP;
    }
    if (this.series.known[this.main]) top = this.area(pen, "doubt", (bin) => 1 - this.series.known[this.main][bin] / 255, top, LANE);
    if (this.series.known[this.changes]) top = this.area(pen, "change", (bin) => this.series.known[this.changes][bin] / 255, top, ROW);
    this.axis(pen, top, width);
    this.crosshair(pen, top);
  }

  name(pen, text, top, height) {
    pen.fillStyle = theme.soft;
    pen.textAlign = "right";
    pen.fillText(shortened(pen, text, this.left - 8), this.left - 8, top + height / 2);
  }

  /** Draw only to the right of the names. */
  inside(pen, draw) {
    pen.save();
    pen.beginPath();
    pen.rect(this.left, 0, this.sheet.width, this.sheet.height);
    pen.clip();
    draw();
    pen.restore();
  }

  /** Call back for every stretch of one label that is in sight. */
  eachRun(lane, act) {
    const { starts, labels } = this.series.lanes[lane];
    for (let i = runAt(this.series.lanes[lane], this.stretch.from); i < starts.length && starts[i] < this.stretch.to; i++) {
      const end = i + 1 < starts.length ? starts[i + 1] : this.series.steps;
      if (labels[i] >= 0) act(this.data.looks[lane][labels[i]], this.x(starts[i]), this.x(end));
    }
  }

  tint(pen, height) {
    pen.globalAlpha = 0.16;
    this.eachRun(this.main, (look, from, to) => {
      pen.fillStyle = look.color;
      pen.fillRect(from, 0, to - from, height);
    });
    pen.globalAlpha = 1;
  }

  bar(pen, lane, top) {
    this.name(pen, lane, top, LANE);
    this.inside(pen, () => this.eachRun(lane, (look, from, to) => {
      pen.save();
      pen.translate(0, top);
      pen.fillStyle = fillOf(look);
      pen.fillRect(from, 0, to - from, LANE);
      pen.restore();
      pen.fillStyle = theme.paper;
      pen.fillRect(to - 0.5, top, 1, LANE);
      this.caption(pen, look, Math.max(from, this.left), Math.min(to, this.sheet.width), top);
    }));
    pen.strokeStyle = theme.soft;
    pen.strokeRect(this.left, top, Math.max(Math.min(this.x(this.series.steps), this.sheet.width) - this.left, 0), LANE);
  }

  /** Write the name of a label into its bar if there is room; a hatch would make it hard to read. */
  caption(pen, look, from, to, top) {
    const width = pen.measureText(look.name).width;
    if (to - from < width + 6) return;
    const middle = (from + to) / 2;
    if (look.hatch) {
      pen.fillStyle = look.color;
      pen.fillRect(middle - width / 2 - 3, top + 3, width + 6, LANE - 6);
    }
    pen.fillStyle = inkOn(look.color);
    pen.textAlign = "center";
    pen.fillText(look.name, middle, top + LANE / 2 + 1);
  }

  /** Draw one dimension: the least and the largest value of every pixel, or a line where there is room for one. */
  curve(pen, dim, top) {
    const columns = new Map();
    const [lows, highs] = [this.series.lows[dim], this.series.highs[dim]];
    const first = Math.max(this.series.binOf(this.stretch.from) - 1, 0);
    const last = Math.min(this.series.binOf(this.stretch.to) + 1, lows.length - 1);
    for (let bin = first; bin <= last; bin++) {
      const column = Math.round(2 * this.x((bin + 0.5) * this.series.every)) / 2;
      const ends = columns.get(column);
      if (lows[bin] === MISSING) columns.set(column, ends ?? null);
      else if (!ends) columns.set(column, [lows[bin], highs[bin]]);
      else {
        ends[0] = Math.min(ends[0], lows[bin]);
        ends[1] = Math.max(ends[1], highs[bin]);
      }
    }
    const range = this.stretch.isCommon ? WHOLE : this.series.ranges[dim];
    const y = (code) => top + ROW - 3 - ((code - range.low) / (range.high - range.low)) * (ROW - 6);
    pen.beginPath();
    let isBroken = true;
    for (const [column, ends] of columns) {
      if (ends && isBroken) pen.moveTo(column, y(ends[0]));
      if (ends) {
        pen.lineTo(column, y(ends[0]));
        pen.lineTo(column, y(ends[1]));
      }
      isBroken = !ends;
    }
    pen.strokeStyle = theme.ink;
    pen.lineWidth = 1;
    pen.stroke();
  }

  /** Draw a probability as an area, the largest of every pixel; return where it ends. */
  area(pen, title, chance, top, height) {
    this.name(pen, title, top, height);
    this.inside(pen, () => {
      pen.fillStyle = theme.accent;
      const most = new Map();
      const last = Math.min(this.series.binOf(this.stretch.to), this.series.binOf(this.series.steps - 1));
      for (let bin = this.series.binOf(this.stretch.from); bin <= last; bin++) {
        const column = Math.floor(this.x(bin * this.series.every));
        most.set(column, Math.max(most.get(column) || 0, chance(bin)));
      }
      const width = Math.max(1, this.x(this.series.every) - this.x(0));
      for (const [column, value] of most) pen.fillRect(column, top + (1 - value) * height, Math.ceil(width), value * height);
    });
    pen.strokeStyle = theme.line;
    pen.strokeRect(this.left, top, this.sheet.width - this.left - 1, height);
    return top + height + GAP;
  }

  axis(pen, top, width) {
    const rate = this.data.rate || 1;
    const wanted = this.stretch.span / rate / Math.max((width - this.left) / 90, 1);
    const step = this.data.rate ? niceNumber(wanted) : niceStep(wanted);
    pen.fillStyle = theme.soft;
    for (let n = Math.ceil(this.stretch.from / rate / step); n * step <= this.stretch.to / rate; n++) {
      const x = this.x(n * step * rate);
      const text = shown(n * step);
      pen.fillRect(x, top - 2, 1, 5);
      const half = pen.measureText(text).width / 2;
      pen.textAlign = "center";
      if (x + half <= width) pen.fillText(text, Math.max(x, this.left + half), top + 11);
    }
    this.name(pen, this.data.rate ? "seconds" : "step", top, AXIS);
  }

  crosshair(pen, bottom) {
    const { cursor, from, to } = this.stretch;
    if (cursor === null || cursor < from || cursor >= to || cursor >= this.series.steps) return;
    pen.fillStyle = theme.ink;
    pen.fillRect(this.x(cursor + 0.5) - 0.5, 0, 1, bottom);
  }
}

/** Return a round whole number that is not smaller. */
function niceStep(least) {
  return niceNumber(Math.max(least, 1));
}

/** Return a round number that is not smaller. */
function niceNumber(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= least);
}

function shortened(pen, text, width) {
  if (pen.measureText(text).width <= width) return text;
  let kept = text.length;
  while (kept > 1 && pen.measureText(`${text.slice(0, kept)}…`).width > width) kept--;
  return `${text.slice(0, kept)}…`;
}

/** All series with their controls. */
function drawSeries(figure, place, data, shared) {
  const { stretch, choice, series } = shared;
  const tip = new Tip(figure);
  place.append(
    make("div", { class: "controls", role: "toolbar", "aria-label": "Move through time" },
      makeButton("◀", "Earlier", () => stretch.pan(-0.25)),
      makeButton("▶", "Later", () => stretch.pan(0.25)),
      makeButton("+", "Zoom in", () => stretch.zoom(1.5)),
      makeButton("−", "Zoom out", () => stretch.zoom(1 / 1.5)),
      makeButton("whole", "Show all steps", () => stretch.reset()),
      ...(data.channels.length ? [makeScalePicker(stretch)] : []),
      ...(data.cuts ? [shared.cuts.slider()] : [])),
    makeToggles(series, choice),
  );
  for (const [called, looks] of Object.entries(data.looks)) {
    if (called === "chain") continue;
    place.append(makeLegend(looks, called, paintArea));
    if (called === "action" && data.cuts) shared.cuts.follow(place.lastChild);
    if (called === "action") letRename(place.lastChild, looks);
  }
  place.append(make("p", { class: "hint" }, "Drag to move, pinch or turn the wheel with shift held to zoom, point to read. "
    + "With the keyboard: tab to a chart; arrows point, shift and arrows move, + and − zoom, 0 shows all."));
  series.forEach((one, i) => {
    const box = make("div", { class: "one", id: `series-${i}` }, make("h3", {}, one.name));
    place.append(box);
    const chart = new SeriesChart(box, one, data, stretch, tip);
    choice.listeners.push(() => {
      box.hidden = !choice.has(i);
      chart.sheet.redraw();
    });
  });
}

/** Let readers give actions names: all charts show them; the command that keeps them is shown below the legend. */
function letRename(legend, looks) {
  const kept = make("p", { class: "hint" });
  [...legend.children].forEach((item, action) => {
    const button = makeButton("rename", `Give action ${looks[action].name} a name`, () => {
      const name = window.prompt("Name of the action", looks[action].name);
      if (!name) return;
      looks[action].name = name;
      item.childNodes[1].textContent = `action ${name}`;
      const names = looks.map((look) => look.name.replaceAll(",", " ")).join(",");
      kept.textContent = `To keep the names: homothety report FOLDER --names "${names}"`;
      Sheet.all.forEach((sheet) => sheet.redraw());
    });
    button.className = "rename";
    item.append(button);
  });
  legend.after(kept);
}

function makeScalePicker(stretch) {
  const picker = make("select", { "aria-label": "Scale of the curves" },
    make("option", { value: "own" }, "each recording to its own scale"), make("option", { value: "common" }, "one scale for all recordings"));
  picker.addEventListener("change", () => {
    stretch.isCommon = picker.value === "common";
    stretch.tell();
  });
  return picker;
}

function makeToggles(series, choice) {
  const set = make("fieldset", { class: "toggles" }, make("legend", {}, "Recordings shown"));
  series.forEach((one, i) => {
    const box = make("input", { type: "checkbox" });
    box.checked = true;
    box.addEventListener("change", () => choice.set(i, box.checked));
    choice.listeners.push(() => { box.checked = choice.has(i); });
    set.append(make("label", {}, box, one.name));
  });
  const all = (isShown) => () => series.forEach((_, i) => choice.set(i, isShown));
  if (series.length > 2) set.append(makeButton("all", "Show all recordings", all(true)), makeButton("none", "Hide all recordings", all(false)));
  const folded = make("details", { class: "choice" }, make("summary", {}, `Choose among ${series.length} recordings`), set);
  folded.open = series.length <= FEW_SERIES;
  return folded;
}
