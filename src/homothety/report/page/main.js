// Draw everything, and again when the colours change or the page is printed.

const data = JSON.parse(document.getElementById("data").textContent);
const series = (data.series || []).map((record) => new Series(record));
const shared = {
  series,
  stretch: new Stretch(Math.max(1, ...series.map((one) => one.steps))),
  choice: new Choice(series.length),
};

shared.cuts = new Cuts(data, series);

const DRAW = { series: drawSeries, space: drawSpace, aligned: drawAligned, matrix: drawMatrix, traces: drawTraces };

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

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => repaint());

function print(isPrinting) {
  document.documentElement.toggleAttribute("data-print", isPrinting);
  Sheet.printing = isPrinting;
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
