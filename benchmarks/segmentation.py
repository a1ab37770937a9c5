"""How fast series are segmented: messages against other libraries, sweeps against evaluating the data, and scaling.

``python -m benchmarks.segmentation`` prints the tables and writes results/segmentation_speed.md with its plot. The
sweep is measured on the paper's grating recordings where they are at hand (HOMOTHETY_DATA), else on series of the same
size made here.
"""

from __future__ import annotations

import os
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import multivariate_normal

from benchmarks.pages import RESULTS, write_result
from benchmarks.timing import Row, best_of, print_rows, row, seconds
from homothety.estimators.hmm import make_emission
from homothety.models import ibphmm, icsc
from homothety.models.hmm import _kernels as messages
from homothety.preprocessing import Preprocessing
from homothety.sequences import Sequences, check_sequences

if TYPE_CHECKING:
    from collections.abc import Callable

    from homothety.models.ibphmm import ChainState, Model

N_STATES = 8
SIZES = {
    "steps per series": [500, 1000, 2000, 4000, 8000],
    "series": [4, 8, 16, 32, 64],
    "states": [2, 4, 8, 16, 32],
    "dimensions": [2, 4, 8, 16, 32],
}


def run() -> list[Row]:
    """Return every comparison of this file."""
    return message_rows() + sweep_rows() + action_rows()


# --- messages --------------------------------------------------------------------------------------------------------


def message_rows(n_steps: int = 2000, n_states: int = 10) -> list[Row]:
    """Compare filtering and backward sampling with dynamax and hmmlearn, where they are installed."""
    rng = np.random.default_rng(0)
    log_evidence = rng.normal(scale=3.0, size=(n_steps, n_states))
    initial, transition = np.full(n_states, 1 / n_states), rng.dirichlet(np.ones(n_states), n_states)
    ours = best_of(draw_function(log_evidence, initial, transition), repeats=50)
    name = f"A path drawn, {n_steps:,} steps, {n_states} states: "
    rows = []
    for label, floor, reference in (
        ("dynamax's hmm_posterior_sample, compiled", 10, dynamax_function),
        ("forward and backward passes of hmmlearn", 1, hmmlearn_function),
    ):
        try:
            rows.append(row(name + label, ours, best_of(reference(log_evidence, initial, transition), 20), floor))
        except ImportError as missing:
            print(f"Left out: {label} ({missing}).")
    return rows


def draw_function(log_evidence: np.ndarray, initial: np.ndarray, transition: np.ndarray) -> Callable[[], object]:
    """Return a function that draws one path, scaling of the evidence included."""
    n_steps, n_states = log_evidence.shape
    rng, states, path = np.random.default_rng(1), np.arange(n_states), np.empty(n_steps, dtype=np.int64)
    chain = messages.Chain(states, initial, transition)
    evidence, filtered, cumulative = messages.scaled(log_evidence), np.empty_like(log_evidence), np.empty(n_states)

    def draw() -> None:
        messages.scale_evidence(evidence)
        messages.filter_forward(evidence, chain, filtered)
        messages.draw_path(rng, transition, states, filtered, cumulative, path)

    return draw


def dynamax_function(log_evidence: np.ndarray, initial: np.ndarray, transition: np.ndarray) -> Callable[[], object]:
    """Return dynamax's draw of one path, compiled."""
    import jax
    from dynamax.hidden_markov_model import hmm_posterior_sample

    key, draw = jax.random.PRNGKey(0), jax.jit(hmm_posterior_sample)
    arrays = [jax.numpy.asarray(a) for a in (initial, transition, log_evidence)]
    return lambda: jax.block_until_ready(draw(key, *arrays))


def hmmlearn_function(log_evidence: np.ndarray, initial: np.ndarray, transition: np.ndarray) -> Callable[[], object]:
    """Return hmmlearn's two passes over a series, in logarithms as it has them by default."""
    from hmmlearn import _hmmc

    def passes() -> None:
        _hmmc.forward_log(initial, transition, log_evidence)
        _hmmc.backward_log(initial, transition, log_evidence)

    return passes


# --- sweeps ----------------------------------------------------------------------------------------------------------


def sweep_rows() -> list[Row]:
    """Compare a sweep with evaluating the log densities of the same states by SciPy, and say what 500 sweeps take."""
    sequences = grating()
    model, state = clustered(sequences, N_STATES)
    name = f"A sweep, {len(sequences)} series, {sequences.n_steps:,} steps, {sequences.n_dims}-D, {N_STATES} states"
    ours = median_sweep(model, state, n_sweeps=15)
    reference = best_of(lambda: scipy_evidence(sequences.steps, state.path), repeats=5)
    return [row(f"{name}: SciPy's log densities of these states", ours, reference, 0.2)]


def action_rows() -> list[Row]:
    """Compare a sweep that also groups its states into actions with one that does not, on the steps looked at."""
    recordings = grating()
    looks = Preprocessing(subsample="auto").fit(recordings).transform(recordings)
    model, state = clustered(looks, N_STATES)
    coupled = icsc.Model(model, coupling=None)
    start = icsc.init_state(np.random.default_rng(0), coupled, start=lambda *_: state)
    alone, grouped = alternately(
        lambda: sweep_once(model, state, ibphmm.default_sweep()),
        lambda: sweep_once(coupled, start, icsc.default_sweep()),
    )
    name = f"A sweep with actions, {looks.n_steps:,} looks, {N_STATES} states: one without"
    return [row(name, grouped, alone, 1 / 1.2)]


def alternately(one: Callable[[], object], other: Callable[[], object], repeats: int = 101) -> tuple[float, float]:
    """Return the median seconds of two calls made in turns, so that both see the machine in the same mood."""
    times = [(seconds(one), seconds(other)) for _ in range(repeats)]
    return tuple(np.median(times[1:], axis=0).tolist())


def sweep_once(model: Any, state: Any, sweep: dict[str, Any]) -> None:
    """Make one sweep from a state."""
    rng = np.random.default_rng(0)
    for move in sweep.values():
        state, _ = move(rng, model, state)


def grating() -> Sequences:
    """Return the full grating recordings, or series of their size."""
    folder = Path(os.environ.get("HOMOTHETY_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
    if (folder / "grating_7d.npz").exists():
        with np.load(folder / "grating_7d.npz", allow_pickle=False) as archive:
            return check_sequences(archive["x"], lengths=archive["lengths"])
    return made(n_recordings=12, n_steps=2882, n_dims=7)


def made(n_recordings: int = 8, n_steps: int = 2000, n_dims: int = 4, n_states: int = N_STATES) -> Sequences:
    """Return series that stay about 50 steps in each of some Gaussian states."""
    rng = np.random.default_rng(n_dims)
    means, series = 4 * rng.normal(size=(n_states, n_dims)), []
    for _ in range(n_recordings):
        path = np.repeat(rng.integers(n_states, size=n_steps // 50 + 1), 50)[:n_steps]
        series.append(means[path] + rng.normal(size=(n_steps, n_dims)))
    return check_sequences(series)


def clustered(sequences: Sequences, n_states: int) -> tuple[Model, ChainState]:
    """Return the model of series, and a state of so many features found by k-means."""
    emission = make_emission(sequences, "gaussian", 0, 1.0, None, 0.1)
    model = ibphmm.Model.from_sequences(sequences, emission)
    return model, ibphmm.init_from_clusters(np.random.default_rng(0), model, n_clusters=n_states)


def median_sweep(model: Model, state: ChainState, n_sweeps: int) -> float:
    """Return how long a sweep from this very state takes, so that the number of states is known."""
    rng = np.random.default_rng(0)
    once(rng, model, state)
    return float(np.median([seconds(lambda: once(rng, model, state)) for _ in range(n_sweeps)]))


def once(rng: np.random.Generator, model: Model, state: ChainState) -> ChainState:
    """Return the state after one sweep."""
    for move in ibphmm.default_sweep().values():
        state, _ = move(rng, model, state)
    return replace(state, step=state.step + 1)


def scipy_evidence(steps: np.ndarray, path: np.ndarray) -> None:
    """Evaluate the log density of all steps under each state of a path."""
    for k in range(path.max() + 1):
        own = steps[path == k]
        multivariate_normal.logpdf(steps, own.mean(axis=0), np.cov(own.T), allow_singular=True)


def scaling() -> dict[str, dict[int, float]]:
    """Return seconds per sweep by what grows, and its size."""
    settings = {"steps per series": "n_steps", "series": "n_recordings", "states": "n_states", "dimensions": "n_dims"}
    times: dict[str, dict[int, float]] = {}
    for name, sizes in SIZES.items():
        times[name] = {size: time_of(**{settings[name]: size}) for size in sizes}
    return times


def time_of(**sizes: int) -> float:
    """Return seconds per sweep of series of some size."""
    model, state = clustered(made(**sizes), sizes.get("n_states", N_STATES))
    return median_sweep(model, state, n_sweeps=7)


def exponent(times: dict[int, float]) -> float:
    """Return the slope of log time against log size over the three largest, where overheads no longer count."""
    sizes = sorted(times)[-3:]
    return float(np.polyfit(np.log(sizes), np.log([times[size] for size in sizes]), 1)[0])


def memory_ratio() -> float:
    """Return the peak memory of a sweep at ten states over the size of the data."""
    sequences = grating()
    model, state = clustered(sequences, 10)
    once(np.random.default_rng(0), model, state)
    tracemalloc.start()
    once(np.random.default_rng(0), model, state)
    peak = tracemalloc.get_traced_memory()[1] + model.z.nbytes
    tracemalloc.stop()
    return peak / sequences.steps.nbytes


# --- report ----------------------------------------------------------------------------------------------------------


def main() -> None:
    """Measure everything, print it and write the page."""
    rows, times, memory = run(), scaling(), memory_ratio()
    plot(times, RESULTS / "figures" / "segmentation_scaling.png")
    write_result("segmentation_speed.md", page(rows, times, memory))
    print_rows(rows)
    for name, series in times.items():
        print(f"Time grows with {name} as n^{exponent(series):.2f}.")
    print(f"Peak memory of a sweep at 10 states: {memory:.1f} times the data.")


def page(rows: list[Row], times: dict[str, dict[int, float]], memory: float) -> str:
    """Return the page as Markdown."""
    lines = [
        "# Benchmarks of segmentation",
        "",
        "Written by `make bench`. Both sides of a ratio are measured in the same run, so the machine cancels.",
        "",
        "| ours | reference | ratio | at least | reference is |",
        "| ---: | ---: | ---: | ---: | --- |",
        *(
            f"| {line['ours'] * 1e3:,.2f} ms | {line['reference'] * 1e3:,.1f} ms | {line['ratio']:,.1f} "
            f"| {line['floor']:,.1f} | {line['name']} |"
            for line in rows
        ),
        "",
        f"Peak memory of a sweep at 10 states is {memory:.1f} times that of the data.",
        "",
        "## A sweep against the size of the data",
        "",
        f"Made series, {N_STATES} states; unless it is what grows, 8 series of 2,000 steps in 4 dimensions. The",
        "exponents are fitted to the three largest sizes.",
        "",
        "| what grows | sizes | milliseconds per sweep | exponent |",
        "| --- | --- | --- | ---: |",
        *(
            f"| {name} | {', '.join(f'{n:,}' for n in series)} | "
            f"{', '.join(f'{1e3 * value:.0f}' for value in series.values())} | {exponent(series):.2f} |"
            for name, series in times.items()
        ),
        "",
        "![Time of a sweep against the size of the data](figures/segmentation_scaling.png)",
        "",
    ]
    return "\n".join(lines)


def plot(times: dict[str, dict[int, float]], path: Path) -> None:
    """Draw measured times, one panel for each of what grows."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 2.8), layout="constrained")
    for axes, (name, series) in zip(figure.subplots(1, len(times), sharey=True), times.items(), strict=True):
        sizes, milliseconds = np.array(list(series)), 1e3 * np.array(list(series.values()))
        axes.loglog(sizes, milliseconds, "o-", color="#0072B2")
        axes.loglog(sizes, milliseconds[-1] * sizes / sizes[-1], "--", color="#999999", label="linear")
        axes.set(xlabel=name, title=f"exponent {exponent(series):.2f}")
        axes.set_xticks(sizes, [f"{n:,}" for n in sizes])
        axes.minorticks_off()
    figure.axes[0].set_ylabel("milliseconds per sweep")
    figure.axes[0].legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
