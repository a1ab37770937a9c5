// Traced numbers, sweep by sweep, one line for each chain.

class TraceChart {
  constructor(place, trace, looks, tip) {
    Object.assign(this, { trace, looks, tip, cursor: null });
    this.chains = trace.chains.map((chain) => ({ lows: codesOf(chain.low), highs: codesOf(chain.high) }));
    const box = make("div", { class: "one" }, make("h3", {}, trace.title));
    place.append(box);
    const label = `${trace.title} of ${this.chains.length} chains over ${trace.sweeps} sweeps. Arrow keys point at sweeps.`;
    this.sheet = new Sheet(box, 180, label, (pen, width, height) => this.draw(pen, width, height));
    const follow = (x) => this.point(Math.floor(((x - this.left) / (this.sheet.width - this.left)) * this.bins));
    followPointers(this.sheet.canvas, { point: follow, leave: () => this.leave(), drag: (_dx, _dy, [x]) => follow(x) });
    const walk = (sign) => () => this.point((this.cursor ?? -1) + sign * Math.max(1, Math.round(this.bins / 100)));
    followKeys(this.sheet.canvas, { ArrowRight: walk(1), ArrowLeft: walk(-1), Escape: () => this.leave() });
  }

  get bins() {
    return this.chains[0].lows.length;
  }

  get left() {
    return 64;
  }

  x(bin) {
    return this.left + ((bin + 0.5) / this.bins) * (this.sheet.width - this.left);
  }

  /** Return where a number is in the range that is drawn; what chains begin with, outside of it, is at its edge. */
  share(code) {
    const { low, high } = this.trace.drawn;
    return high > low ? Math.min(Math.max((valueOf(code, this.trace) - low) / (high - low), 0), 1) : 0;
  }

  draw(pen, width, height) {
    const bottom = height - 18;
    const y = (code) => bottom - 8 - this.share(code) * (bottom - 16);
    pen.fillStyle = theme.panel;
    pen.fillRect(this.left, 0, (this.trace.burn / this.trace.sweeps) * (width - this.left), bottom);
    pen.strokeStyle = theme.line;
    pen.lineWidth = 1;
    pen.strokeRect(this.left, 0.5, width - this.left - 1, bottom);
    this.labels(pen, width, bottom);
    this.chains.forEach((chain, k) => this.line(pen, chain, this.looks[k], y));
    if (this.cursor !== null) {
      pen.fillStyle = theme.ink;
      pen.fillRect(this.x(this.cursor) - 0.5, 0, 1, bottom);
    }
  }

  labels(pen, width, bottom) {
    pen.fillStyle = theme.soft;
    pen.textAlign = "right";
    const { low, high } = this.trace.drawn;
    pen.fillText(shown(high), this.left - 6, 9);
    if (high > low) pen.fillText(shown(low), this.left - 6, bottom - 8);
    pen.fillText(`sweep ${this.trace.sweeps}`, width, bottom + 10);
    pen.textAlign = "left";
    pen.fillText("1", this.left, bottom + 10);
  }

  line(pen, chain, look, y) {
    pen.strokeStyle = legible(look.color);
    pen.lineWidth = 1.4;
    pen.setLineDash(DASHES[look.dash]);
    pen.beginPath();
    chain.lows.forEach((low, bin) => {
      if (low === MISSING) return;
      pen.lineTo(this.x(bin), y(low));
      if (chain.highs[bin] !== low) pen.lineTo(this.x(bin), y(chain.highs[bin]));
    });
    pen.stroke();
    pen.setLineDash([]);
  }

  point(bin) {
    if (bin < 0 || bin >= this.bins) return this.leave();
    this.cursor = bin;
    const first = bin * this.trace.every + 1;
    const lines = this.chains.map((chain, k) => `${this.looks[k].name}: ${this.value(chain, bin)}`);
    this.tip.show([`${this.trace.title}, sweep ${first}`, ...lines], this.sheet.canvas, this.x(bin), 20);
    this.sheet.redraw();
  }

  value(chain, bin) {
    if (chain.lows[bin] === MISSING) return "none";
    return [...new Set([chain.lows[bin], chain.highs[bin]].map((code) => this.words(code)))].join(" to ");
  }

  /** Return a number; of one that is not drawn, on which side it is. */
  words(code) {
    const { low, high } = this.trace.drawn;
    if (code === 0) return `below ${shown(low)}`;
    return code === MISSING - 1 ? `above ${shown(high)}` : shown(valueOf(code, this.trace));
  }

  leave() {
    this.cursor = null;
    this.tip.hide();
    this.sheet.redraw();
  }
}

function drawTraces(figure, place, data) {
  const tip = new Tip(figure);
  place.append(makeLegend(data.looks.chain, "", paintLine));
  const several = make("div", { class: "several" });
  place.append(several);
  data.traces.forEach((trace) => new TraceChart(several, trace, data.looks.chain, tip));
}
