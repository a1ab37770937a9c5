// Every action on its own: all its segments over each other, in one frame, and the most typical one.

/** Return functions from codes to places on a sheet, to one scale. */
function fitted(one, width, height) {
  const margin = 12;
  const size = Math.min((width - 2 * margin) / (one.width || 1), (height - 2 * margin) / (one.height || 1));
  const left = (width - size * one.width) / 2;
  const top = (height - size * one.height) / 2;
  return ([x, y]) => [left + size * x, height - top - size * y];
}

function pathOn(pen, points, place) {
  pen.beginPath();
  points.forEach((point) => pen.lineTo(...place(point)));
  pen.stroke();
}

function drawGallery(_figure, place, data) {
  place.classList.add("gallery");
  for (const one of data.gallery) {
    const look = data.looks.action[one.action];
    const box = make("div", {}, make("h3", {}, `action ${look.name}`));
    place.append(box);
    const words = `${one.paths.length} segments of action ${look.name} over each other, and the most typical one.`;
    const sheet = new Sheet(box, 190, words, (pen, width, height) => {
      const at = fitted(one, width, height);
      pen.clearRect(0, 0, width, height);
      pen.strokeStyle = theme.line;
      pen.strokeRect(0.5, 0.5, width - 1, height - 1);
      pen.strokeStyle = legible(look.color);
      pen.globalAlpha = Math.max(0.25, Math.min(0.8, 6 / one.paths.length));
      one.paths.forEach((points) => pathOn(pen, points, at));
      pen.globalAlpha = 1;
      pen.strokeStyle = theme.ink;
      pen.lineWidth = 3;
      pathOn(pen, one.typical, at);
      pen.fillStyle = theme.ink;
      pen.beginPath();
      pen.arc(...at(one.typical[0]), 4, 0, 2 * Math.PI);
      pen.fill();
    });
    sheet.canvas.style.cursor = "default";
    box.append(make("p", { class: "hint" }, one.words));
  }
}
