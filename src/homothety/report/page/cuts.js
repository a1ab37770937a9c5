// Another number of actions than the inferred one: states are merged less or more, and everything is recoloured.

/** Return runs of actions from runs of states; neighbours of one action become one run. */
function mergedRuns(runs, actions) {
  const merged = { starts: [], labels: [] };
  runs.labels.forEach((state, run) => {
    if (actions[state] === merged.labels.at(-1)) return;
    merged.starts.push(runs.starts[run]);
    merged.labels.push(actions[state]);
  });
  return merged;
}

/** How many actions are shown; whoever listens is told of changes. */
class Cuts {
  constructor(data, series) {
    Object.assign(this, { data, series, listeners: [] });
    if (!data.cuts) return;
    this.count = data.cuts.inferred;
    data.looks.action = data.cuts.looks;
    series.forEach((one) => { one.inferred = { runs: one.lanes.action, known: one.known }; });
  }

  get isInferred() {
    return this.count === this.data.cuts.inferred;
  }

  set(count) {
    this.count = count;
    const { actions } = this.data.cuts;
    this.series.forEach((one) => {
      const { runs, known } = one.inferred;
      one.lanes.action = this.isInferred ? runs : mergedRuns(one.lanes.state, actions[Math.min(count, actions.length) - 1]);
      // Probabilities are those of the inferred actions.
      one.known = this.isInferred ? known : Object.fromEntries(Object.entries(known).filter(([name]) => name.endsWith("state")));
    });
    this.listeners.forEach((listener) => listener());
    Sheet.all.forEach((sheet) => sheet.redraw());
  }

  /** Show only those actions in a legend that there are. */
  follow(legend) {
    const tell = () => {
      const used = new Set(this.series.flatMap((one) => one.lanes.action.labels));
      [...legend.children].forEach((item, action) => { item.hidden = !used.has(action); });
    };
    this.listeners.push(tell);
    tell();
  }

  /** Make a slider, with the inferred number marked. */
  slider() {
    const { inferred, actions } = this.data.cuts;
    const mark = `inferred-${this.listeners.length}`;
    const input = make("input", { type: "range", min: 1, max: Math.max(actions.length, inferred), list: mark, "aria-label": "Number of actions" });
    const words = make("output");
    const tell = () => {
      input.value = this.count;
      words.textContent = `${this.count} action${this.count === 1 ? "" : "s"}${this.isInferred ? " (inferred)" : ""}`;
      input.setAttribute("aria-valuetext", words.textContent);
    };
    input.addEventListener("input", () => this.set(Number(input.value)));
    this.listeners.push(tell);
    tell();
    const reset = makeButton("inferred", "Show the inferred number of actions", () => this.set(inferred));
    return make("span", { class: "cuts" }, "fewer", input, "more", words, make("datalist", { id: mark }, make("option", { value: inferred })), reset);
  }
}
