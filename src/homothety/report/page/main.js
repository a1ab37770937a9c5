// Draw everything, and again when the colours change or the page is printed.

const data = JSON.parse(document.getElementById("data").textContent);
const series = (data.series || []).map((record) => new Series(record));
const shared = {
  series,
  stretch: new Stretch(Math.max(1, ...series.map((one) => one.steps))),
  choice: new Choice(series.length),
};

shared.cuts = new Cuts(data, series);

const DRAW = { series: drawSeries, space: drawSpace, aligned: drawAligned, gallery: drawGallery, matrix: drawMatrix, traces: drawTraces };

function repaint(now = false) {
  theme.read();
  fills.clear();
  Legends.forEach((swatch) => swatch.draw());
  Sheet.all.forEach((sheet) => (now ? sheet.paint() : sheet.redraw()));
}

theme.read();
for (const figure of document.querySelectorAll("[data-chart]")) {
  DRAW[figure.dataset.chart](figure, figure.querySelector(".drawing"), data, shared);
}
repaint();
document.querySelectorAll("figure.chart").forEach(addSave);
window.requestIdleCallback?.(paintRest, { timeout: 2000 });

/** Paint the charts that are not in sight, one at a time: screenshots and previews show them too. */
function paintRest() {
  const next = Sheet.all.find((sheet) => sheet.dirty && sheet.width);
  if (!next) return;
  next.paint();
  window.requestIdleCallback(paintRest, { timeout: 2000 });
}

/** Let a chart be saved as a picture: all its sheets, one below the other. */
function addSave(figure) {
  const sheets = () => Sheet.all.filter((sheet) => figure.contains(sheet.canvas) && sheet.width);
  const save = () => {
    const shown = sheets();
    shown.forEach((sheet) => sheet.paint());
    const width = Math.max(...shown.map((sheet) => sheet.canvas.width));
    const height = shown.reduce((sum, sheet) => sum + sheet.canvas.height + 8, 0);
    const whole = make("canvas", { width, height });
    const pen = whole.getContext("2d");
    pen.fillStyle = theme.paper;
    pen.fillRect(0, 0, width, height);
    let top = 0;
    for (const sheet of shown) {
      pen.drawImage(sheet.canvas, 0, top);
      top += sheet.canvas.height + 8;
    }
    whole.toBlob((blob) => {
      const link = make("a", { href: URL.createObjectURL(blob), download: `${figure.dataset.name}.png` });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
  };
  const button = makeButton("PNG", "Save this chart as a PNG picture", save);
  button.className = "save";
  figure.append(button);
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => repaint());

const folded = []; // what is open only while the page is printed

function print(isPrinting) {
  document.documentElement.toggleAttribute("data-print", isPrinting);
  Sheet.printing = isPrinting;
  if (isPrinting) {
    folded.push(...document.querySelectorAll("details:not([open])"));
    folded.forEach((one) => { one.open = true; });
  } else folded.splice(0).forEach((one) => { one.open = false; });
  repaint(isPrinting);
}

window.addEventListener("beforeprint", () => print(true));
window.addEventListener("afterprint", () => print(false));

/** Show a segment in the charts of series: a little more than it, in the middle. */
function showPlace(text) {
  const [i, start, end] = text.split(",").map(Number);
  const margin = Math.max(5, 0.5 * (end - start));
  const box = document.getElementById(`series-${i}`);
  if (!box) return;
  shared.choice.set(i, true);
  shared.stretch.set(start - margin, end + margin);
  box.scrollIntoView({ block: "center" });
  box.querySelector("canvas").focus({ preventScroll: true });
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-place]");
  if (button) showPlace(button.dataset.place);
});
