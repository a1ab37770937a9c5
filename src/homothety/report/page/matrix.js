// Numbers from 0 to 1 for all pairs of items, sorted by cluster.

const STOPS = ["#00204d", "#414d6b", "#7c7b78", "#bcaf6f", "#ffea46"]; // cividis: the same for all eyes
const MARGIN = 28;

function heat(share) {
  const at = share * (STOPS.length - 1);
  const low = Math.min(Math.floor(at), STOPS.length - 2);
  const [from, to] = [partsOf(STOPS[low]), partsOf(STOPS[low + 1])];
  return from.map((part, i) => part + (at - low) * (to[i] - part));
}

class MatrixChart {
  constructor(figure, place, matrix, label) {
    Object.assign(this, { matrix, tip: new Tip(figure), cursor: null, cells: bytesOf(matrix.cells) });
    this.picture = this.paintCells();
    place.classList.add("matrix");
    const side = Math.min(place.clientWidth || 360, 480);
    this.sheet = new Sheet(place, side + MARGIN, `${label} Arrow keys point at pairs.`, (pen, width) => this.draw(pen, width));
    followPointers(this.sheet.canvas, {
      point: (x, y) => this.pointAt(x, y),
      leave: () => this.leave(),
      drag: (_dx, _dy, [x, y]) => this.pointAt(x, y),
    });
    const walk = (row, column) => () => this.walk(row, column);
    followKeys(this.sheet.canvas, {
      ArrowUp: walk(-1, 0), ArrowDown: walk(1, 0), ArrowLeft: walk(0, -1), ArrowRight: walk(0, 1), Escape: () => this.leave(),
    });
  }

  paintCells() {
    const { side } = this.matrix;
    const canvas = make("canvas", { width: side, height: side });
    const pen = canvas.getContext("2d");
    const image = pen.createImageData(side, side);
    this.cells.forEach((value, i) => image.data.set([...heat(value / 255), 255], 4 * i));
    pen.putImageData(image, 0, 0);
    return canvas;
  }

  /** The side of the picture; the rest of the sheet is for the scale. */
  get size() {
    return Math.min(this.sheet.width - MARGIN, this.sheet.height - MARGIN - 8);
  }

  draw(pen, width) {
    const { size } = this;
    pen.imageSmoothingEnabled = false;
    pen.drawImage(this.picture, MARGIN, 0, size, size);
    pen.strokeStyle = theme.soft;
    pen.strokeRect(MARGIN, 0, size, size);
    this.borders(pen, size);
    this.scale(pen, size);
    if (this.cursor) this.ring(pen, size, width);
  }

  borders(pen, size) {
    const { starts, labels } = this.matrix.clusters;
    const n = this.matrix.items.length;
    pen.fillStyle = theme.soft;
    pen.textAlign = "center";
    starts.forEach((start, k) => {
      const [from, to] = [start, starts[k + 1] ?? n].map((item) => (item / n) * size);
      pen.strokeStyle = "#ffffff";
      if (start) stripe(pen, [MARGIN + from, 0, MARGIN + from, size], [MARGIN, from, MARGIN + size, from]);
      if (to - from > 12) {
        pen.fillText(String(labels[k]), MARGIN / 2, (from + to) / 2);
      }
    });
  }

  scale(pen, size) {
    const top = size + 10;
    for (let x = 0; x < size; x++) {
      pen.fillStyle = `rgb(${heat(x / size).map(Math.round).join(",")})`;
      pen.fillRect(MARGIN + x, top, 1, 8);
    }
    pen.fillStyle = theme.soft;
    [[0, "left", "0"], [0.5, "center", "0.5"], [1, "right", "1"]].forEach(([at, align, text]) => {
      pen.textAlign = align;
      pen.fillText(text, MARGIN + at * size, top + 16);
    });
  }

  ring(pen, size) {
    const cell = size / this.matrix.side;
    const [row, column] = this.cursor;
    pen.strokeStyle = "#ffffff";
    pen.lineWidth = 2;
    pen.strokeRect(MARGIN + column * cell - 2, row * cell - 2, cell + 4, cell + 4);
    pen.strokeStyle = "#000000";
    pen.lineWidth = 1;
    pen.strokeRect(MARGIN + column * cell - 3.5, row * cell - 3.5, cell + 7, cell + 7);
  }

  pointAt(x, y) {
    const cell = this.size / this.matrix.side;
    this.point(Math.floor(y / cell), Math.floor((x - MARGIN) / cell));
  }

  walk(rows, columns) {
    const [row, column] = this.cursor || [0, 0];
    const most = this.matrix.side - 1;
    this.point(Math.min(Math.max(row + rows, 0), most), Math.min(Math.max(column + columns, 0), most));
  }

  point(row, column) {
    const { side } = this.matrix;
    if (Math.min(row, column) < 0 || Math.max(row, column) >= side) return this.leave();
    this.cursor = [row, column];
    const value = (this.cells[row * side + column] / 255).toFixed(2);
    const cell = this.size / side;
    this.tip.show([`${this.named(row)} and ${this.named(column)}: ${value}`], this.sheet.canvas, MARGIN + column * cell, row * cell);
    this.sheet.redraw();
  }

  /** Return which items a row stands for, and their clusters. */
  named(row) {
    const { every, items, clusters } = this.matrix;
    const first = row * every;
    const last = Math.min(first + every, items.length) - 1;
    const own = clusters.labels.slice(runAt(clusters, first), runAt(clusters, last) + 1);
    if (last === first) return `item ${items[first]} (cluster ${own[0]})`;
    return `${last - first + 1} items of cluster${own.length > 1 ? "s" : ""} ${own.join(", ")}`;
  }

  leave() {
    this.cursor = null;
    this.tip.hide();
    this.sheet.redraw();
  }
}

function drawMatrix(figure, place, data) {
  return new MatrixChart(figure, place, data[figure.dataset.name], figure.dataset.label);
}
