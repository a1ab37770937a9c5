// Elements, numbers, colours and canvases: what all charts need.

/** Make an element with attributes and children; texts are only ever set as texts. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** Make a button that says in words what its sign means. */
function makeButton(sign, words, act) {
  const button = make("button", { type: "button", "aria-label": words, title: words }, sign);
  button.addEventListener("click", act);
  return button;
}

const MISSING = 65535;

function bytesOf(text) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

/** Return 16-bit codes, lowest byte first, as all machines with browsers have them. */
function codesOf(text) {
  return new Uint16Array(bytesOf(text).buffer);
}

function valueOf(code, range) {
  return range.low + (code / (MISSING - 1)) * (range.high - range.low);
}

function shown(number) {
  const size = Math.abs(number);
  return size !== 0 && (size < 1e-3 || size >= 1e6) ? number.toExponential(2) : String(Number(number.toPrecision(4)));
}

/** Return the place of the last start that is not after a step. */
function runAt(runs, step) {
  let low = 0;
  let high = runs.starts.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (runs.starts[middle] <= step) low = middle;
    else high = middle;
  }
  return low;
}

const theme = {
  read() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["ink", "soft", "paper", "panel", "line", "accent"]) {
      this[name] = style.getPropertyValue(`--${name}`).trim();
    }
  },
};

function partsOf(color) {
  return [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
}

function lightness(color) {
  const [red, green, blue] = partsOf(color);
  return (0.299 * red + 0.587 * green + 0.114 * blue) / 255;
}

function mixed(color, other, share) {
  const parts = partsOf(other);
  return `rgb(${partsOf(color).map((part, i) => Math.round((1 - share) * part + share * parts[i])).join(",")})`;
}

/** Return a colour for lines and markers, which must stand out from the paper; that of areas stays as it is. */
function legible(color) {
  return Math.abs(lightness(color) - lightness(theme.paper)) < 0.22 ? mixed(color, theme.ink, 0.4) : color;
}

function inkOn(color) {
  return lightness(color) > 0.5 ? "#000000" : "#ffffff";
}

const DASHES = [[], [7, 4], [9, 3, 2, 3], [2, 3]];

// As in the other pictures: none, /, dots, \, x, -, +.
const HATCHES = [
  () => {},
  (pen) => stripe(pen, [0, 8, 8, 0]),
  (pen) => pen.fillRect(3, 3, 2, 2),
  (pen) => stripe(pen, [0, 0, 8, 8]),
  (pen) => stripe(pen, [0, 8, 8, 0], [0, 0, 8, 8]),
  (pen) => stripe(pen, [0, 4, 8, 4]),
  (pen) => stripe(pen, [0, 4, 8, 4], [4, 0, 4, 8]),
];

function stripe(pen, ...lines) {
  pen.beginPath();
  for (const [x, y, toX, toY] of lines) {
    pen.moveTo(x, y);
    pen.lineTo(toX, toY);
  }
  pen.stroke();
}

const fills = new Map();

/** Return what to fill an area with: a colour, or a colour with a hatch. */
function fillOf(look) {
  if (!look.hatch) return look.color;
  const key = `${look.color} ${look.hatch}`;
  if (!fills.has(key)) {
    const tile = make("canvas", { width: 8, height: 8 });
    const pen = tile.getContext("2d");
    pen.fillStyle = look.color;
    pen.fillRect(0, 0, 8, 8);
    pen.fillStyle = pen.strokeStyle = inkOn(look.color);
    HATCHES[look.hatch](pen);
    fills.set(key, pen.createPattern(tile, "repeat"));
  }
  return fills.get(key);
}

/** Draw a marker: circle, square, and then triangles, diamonds, crosses and stars by their corners. */
function mark(pen, marker, x, y, size) {
  pen.beginPath();
  if (marker === 0) pen.arc(x, y, size, 0, 2 * Math.PI);
  else CORNERS[marker].forEach(([dx, dy]) => pen.lineTo(x + size * dx, y + size * dy));
  pen.closePath();
  pen.fill();
  pen.stroke();
}

function star(points, turn, inner = 1) {
  const corners = inner === 1 ? points : 2 * points;
  return Array.from({ length: corners }, (_, i) => {
    const angle = turn + (2 * Math.PI * i) / corners;
    const far = i % 2 && inner !== 1 ? inner : 1.2;
    return [far * Math.sin(angle), -far * Math.cos(angle)];
  });
}

const UP = star(3, 0);
const CORNERS = [
  [], star(4, Math.PI / 4), UP, star(4, 0), star(3, Math.PI), star(4, 0, 0.4), star(4, Math.PI / 4, 0.4),
  star(3, -Math.PI / 2), star(3, Math.PI / 2), star(5, 0), star(5, 0, 0.45),
];

/** A canvas that is as sharp as the screen, drawn when it is in sight and something has changed. */
class Sheet {
  constructor(parent, height, label, draw) {
    Object.assign(this, { height, draw, dirty: true, seen: false });
    const spoken = { role: "application", "aria-roledescription": "chart", "aria-label": label };
    this.canvas = make("canvas", { class: "sheet", tabindex: 0, ...spoken });
    this.canvas.style.height = `${height}px`;
    parent.append(this.canvas);
    Sheet.all.push(this);
    new ResizeObserver(() => this.redraw()).observe(this.canvas);
    new IntersectionObserver(([entry]) => {
      this.seen = entry.isIntersecting;
      this.schedule();
    }, { rootMargin: "200px" }).observe(this.canvas);
  }

  get width() {
    return this.canvas.clientWidth;
  }

  redraw() {
    this.dirty = true;
    this.schedule();
  }

  schedule() {
    if (!this.dirty || !this.seen || this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.paint();
    });
  }

  paint() {
    if (!this.width) return;
    this.dirty = false;
    const ratio = Math.max(window.devicePixelRatio || 1, Sheet.printing ? 2 : 1);
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    const pen = this.canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.font = "12px system-ui, sans-serif";
    pen.textBaseline = "middle";
    this.draw(pen, this.width, this.height);
  }
}

Sheet.all = [];

const NARROW = 600; // pixels

/** Words beside the pointer; those who do not see them hear them. */
class Tip {
  constructor(figure) {
    this.figure = figure;
    this.element = make("div", { class: "tip", role: "status" });
    figure.append(this.element);
  }

  show(lines, canvas, x, y) {
    this.element.textContent = lines.join("\n");
    const home = this.figure.getBoundingClientRect();
    const at = canvas.getBoundingClientRect();
    const left = at.left - home.left + x + 14;
    const room = home.width - this.element.offsetWidth;
    this.element.style.left = `${Math.max(0, left > room ? left - this.element.offsetWidth - 28 : left)}px`;
    // On a phone it would cover what it is about, so it stands below.
    this.element.style.top = `${at.top - home.top + (home.width < NARROW ? at.height : y + 14)}px`;
  }

  hide() {
    this.element.textContent = "";
  }
}

/** A list of looks with what they are called. */
function makeLegend(looks, called, paint) {
  const list = make("ul", { class: "legend", "aria-label": `${called}s` });
  looks.forEach((look) => {
    const canvas = make("canvas", { width: 56, height: 28, "aria-hidden": "true" });
    const swatch = { draw: () => paint(canvas.getContext("2d"), look) };
    Legends.push(swatch);
    const of = look.of === undefined ? "" : ` (action ${look.of})`;
    list.append(make("li", {}, canvas, `${called} ${look.name}${of}`.trim()));
  });
  return list;
}

const Legends = [];

function paintArea(pen, look) {
  pen.clearRect(0, 0, 56, 28);
  pen.fillStyle = fillOf(look);
  pen.strokeStyle = theme.ink;
  pen.fillRect(1, 1, 54, 26);
  pen.strokeRect(1, 1, 54, 26);
}

function paintLine(pen, look) {
  pen.clearRect(0, 0, 56, 28);
  pen.strokeStyle = legible(look.color);
  pen.lineWidth = 4;
  pen.setLineDash(DASHES[look.dash].map((length) => 1.6 * length));
  stripe(pen, [0, 14, 56, 14]);
}

function paintMarker(pen, look) {
  pen.clearRect(0, 0, 56, 28);
  pen.fillStyle = look.color;
  pen.strokeStyle = theme.ink;
  mark(pen, look.marker, 28, 14, 9);
}
