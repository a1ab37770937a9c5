// One stretch of time for all charts of series, and hands, wheels and keys that move it.

/** The steps in sight, the step that is pointed at, and whether curves have a common scale; whoever listens is told of changes. */
class Stretch {
  constructor(length) {
    Object.assign(this, { length, from: 0, to: length, cursor: null, isCommon: false, listeners: [] });
  }

  tell() {
    this.listeners.forEach((listener) => listener());
  }

  set(from, to) {
    const span = Math.min(Math.max(to - from, Math.min(10, this.length)), this.length);
    this.from = Math.min(Math.max(from, 0), this.length - span);
    this.to = this.from + span;
    this.tell();
  }

  get span() {
    return this.to - this.from;
  }

  pan(share) {
    this.set(this.from + share * this.span, this.to + share * this.span);
  }

  /** Zoom such that the given step stays where it is. */
  zoom(factor, step = (this.from + this.to) / 2) {
    this.set(step - (step - this.from) / factor, step + (this.to - step) / factor);
  }

  reset() {
    this.set(0, this.length);
  }

  point(step) {
    this.cursor = step;
    this.tell();
  }
}

/** Which series are shown. */
class Choice {
  constructor(count) {
    this.chosen = new Set(Array.from({ length: count }, (_, i) => i));
    this.listeners = [];
  }

  has(i) {
    return this.chosen.has(i);
  }

  set(i, isShown) {
    if (isShown) this.chosen.add(i);
    else this.chosen.delete(i);
    this.listeners.forEach((listener) => listener());
  }
}

/** Call back for drags of one pointer and pinches of two, and for pointing without a button. */
function followPointers(canvas, { drag, pinch, point, leave }) {
  const held = new Map();
  const place = (event) => [event.offsetX, event.offsetY];
  canvas.addEventListener("pointerdown", (event) => {
    held.set(event.pointerId, place(event));
    canvas.setPointerCapture(event.pointerId);
    point(...place(event));
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = held.get(event.pointerId);
    const now = place(event);
    if (!before) return point(...now);
    const other = [...held].find(([id]) => id !== event.pointerId);
    if (other && pinch) pinch(other[1], before, now);
    else if (!other) drag(now[0] - before[0], now[1] - before[1], now);
    held.set(event.pointerId, now);
  });
  for (const name of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(name, (event) => held.delete(event.pointerId));
  }
  canvas.addEventListener("pointerleave", (event) => {
    // A finger leaves whenever it is lifted, and what it pointed at should stay to be read.
    if (event.pointerType === "mouse" && !held.size) leave();
  });
  canvas.addEventListener("blur", leave);
}

/** Let keys act on a chart: each is a function by the name of the key, with "Shift+" before it if that is held. */
function followKeys(canvas, keys) {
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const isArrow = event.key.startsWith("Arrow");
    const act = keys[isArrow && event.shiftKey ? `Shift+${event.key}` : event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
}

/** Zoom by a wheel only with a key held: without one it scrolls the page, as everywhere. */
function followWheel(canvas, zoom) {
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.shiftKey) return;
    event.preventDefault();
    zoom((event.deltaY || event.deltaX) < 0 ? 1.25 : 0.8, event.offsetX, event.offsetY);
  }, { passive: false });
}
