"""Sensitivity to the tolerance tau and the concentration alpha: F and log posterior over a grid of both."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from homothety._version import __version__
from homothety.estimators.methods import fit_whole
from homothety.estimators.spcm import SPCMMixture
from homothety.metrics import f_measure
from homothety.phrases import bullet_list, markdown_table
from homothety.viz import plot_heatmap
from paper.plan import Effort, Outcomes, Report, Task
from paper.sets import PaperSet, load_sets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from homothety.arrays import FloatArray

SETS = ("toy-3d", "task")
LOAD = load_sets
FULL, QUICK = Effort(runs=1, sweeps=200, grid=20), Effort(runs=1, sweeps=20, grid=3)

TITLE = "Sensitivity to tolerance and concentration"
TOLERANCES, CONCENTRATIONS = (1.0, 50.0), (0.1, 20.0)
MAX_TICKS = 7
PLATEAU = 0.99  # of the best mean F
CLAIMED_SAFE = 2.0  # "not really sensitive to the value alpha as long as alpha < 2"

CLAIMS = {
    "toy-3d": "F falls gradually from alpha >> 2.8 on; tau has no effect",
    "task": "best F within alpha = 0.1 to 6; larger tau makes it worse",
}
NOTES = (
    "Settings of `SPCMMixture(model='links')` but for tau and alpha. F is that of its point estimate; the log "
    "posterior is the best of all sweeps, and comparable along a row or column only as far as alpha and tau leave the "
    "constants of prior and embedding alone.",
    "*Best up to*: largest alpha at which F, averaged over tau, is still within 1% of its best. *Effect of tau*: "
    "largest difference that tau makes to F at one alpha below 2.",
    "The paper's text has tau > 1 *amplify* similarities; by its formula, and here, a larger tau lowers them, and "
    "hardly at all in six dimensions: 10^(50 e^-6) = 1.33.",
)


@dataclass(frozen=True)
class GridPoint:
    """What came out under one pair of settings."""

    f_measure: float
    log_posterior: float
    n_clusters: int


def tasks(sets: Sequence[PaperSet], effort: Effort) -> list[Task]:
    """Return the fits of the grid search."""
    return [
        Task(
            name=f"{paper_set.title}: alpha = {concentration:.3g}",
            key=(paper_set.key, row, column),
            run=partial(try_settings, paper_set, tolerance, concentration, effort.sweeps, effort.seed + run),
        )
        for paper_set in sets
        for row, concentration in enumerate(log_grid(CONCENTRATIONS, effort.grid))
        for column, tolerance in enumerate(log_grid(TOLERANCES, effort.grid))
        for run in range(effort.runs)
    ]


def log_grid(limits: tuple[float, float], n_values: int) -> FloatArray:
    """Return log-spaced values from one limit to the other."""
    return np.geomspace(*limits, n_values)


def try_settings(paper_set: PaperSet, tolerance: float, concentration: float, n_sweeps: int, seed: int) -> GridPoint:
    """Cluster once under the given settings."""
    model = SPCMMixture(
        model="links",
        measure=paper_set.measure,
        tolerance=tolerance,
        concentration=concentration,
        n_sweeps=n_sweeps,
        random_state=seed,
    )
    fit_whole(model, paper_set.items)
    best = float(np.nanmax(model.trace_["log_joint"]))
    return GridPoint(f_measure(paper_set.labels, model.labels_), best, model.n_clusters_)


def report(sets: Sequence[PaperSet], effort: Effort, outcomes: Outcomes) -> Report:
    """Return a summary beside the paper's claims, F by concentration, and heat maps."""
    scores = {paper_set.key: grid_of(paper_set, "f_measure", effort.grid, outcomes) for paper_set in sets}
    header = ["Set", "mean F, alpha < 2", "mean F, alpha >= 2", "best up to", "effect of tau", "paper"]
    summary = markdown_table(header, [_summary(paper_set, scores[paper_set.key], effort.grid) for paper_set in sets])
    by_concentration = _by_concentration(sets, scores, effort, outcomes)
    runs = f"{effort.runs} run{'s' * (effort.runs > 1)} of {effort.sweeps} sweeps each, seeds from {effort.seed}"
    source = f"homothety {__version__}, {effort.grid} x {effort.grid} log-spaced settings, {runs}."
    return Report(
        markdown=f"{summary}\n\n## By concentration\n\n{by_concentration}\n\n{bullet_list([*NOTES, source])}",
        figures={"sensitivity": partial(draw, sets, effort, outcomes)},
    )


def grid_of(paper_set: PaperSet, name: str, n_values: int, outcomes: Outcomes) -> FloatArray:
    """Return means over the runs, (concentrations, tolerances)."""
    table = np.empty((n_values, n_values))
    for row, column in np.ndindex(table.shape):
        table[row, column] = np.mean([getattr(point, name) for point in outcomes[paper_set.key, row, column]])
    return table


def _summary(paper_set: PaperSet, scores: FloatArray, n_values: int) -> list[str]:
    """Return the line of one set in the summary."""
    concentrations = log_grid(CONCENTRATIONS, n_values)
    low = concentrations < CLAIMED_SAFE
    return [
        paper_set.heading,
        f"{scores[low].mean():.3f}",
        f"{scores[~low].mean():.3f}",
        f"alpha = {plateau_end(concentrations, scores):.3g}",
        f"{effect_of_tolerance(scores[low]):.3f}",
        CLAIMS.get(paper_set.key, "-"),
    ]


def plateau_end(concentrations: FloatArray, scores: FloatArray) -> float:
    """Return the largest concentration whose mean score over tolerances is within 1% of the best such mean."""
    means = scores.mean(axis=1)
    return float(concentrations[means >= PLATEAU * means.max()].max())


def effect_of_tolerance(scores: FloatArray) -> float:
    """Return the largest difference between scores of one row."""
    return float(np.ptp(scores, axis=1).max())


def _by_concentration(
    sets: Sequence[PaperSet], scores: dict[str, FloatArray], effort: Effort, outcomes: Outcomes
) -> str:
    """Return a table of mean and least F and mean number of clusters for each concentration."""
    header = ["alpha"] + [f"{paper_set.heading}: {name}" for paper_set in sets for name in ("F", "least F", "K")]
    clusters = {paper_set.key: grid_of(paper_set, "n_clusters", effort.grid, outcomes) for paper_set in sets}
    rows = []
    for row, concentration in enumerate(log_grid(CONCENTRATIONS, effort.grid)):
        cells = [f"{concentration:.3g}"]
        for paper_set in sets:
            f_values, n_clusters = scores[paper_set.key][row], clusters[paper_set.key][row]
            cells += [f"{f_values.mean():.3f}", f"{f_values.min():.3f}", f"{n_clusters.mean():.1f}"]
        rows.append(cells)
    return markdown_table(header, rows)


def draw(sets: Sequence[PaperSet], effort: Effort, outcomes: Outcomes) -> Figure:
    """Draw heat maps of F above those of the log posterior, one column per set."""
    figure = Figure(figsize=(1 + 5.2 * len(sets), 8.4), layout="constrained")
    for paper_set, column in zip(sets, figure.subplots(2, len(sets), squeeze=False).T, strict=True):
        column[0].set_title(paper_set.heading)
        _draw_map(column[0], grid_of(paper_set, "f_measure", effort.grid, outcomes), "F", limits=(0.5, 1.0))
        _draw_map(column[1], grid_of(paper_set, "log_posterior", effort.grid, outcomes), "largest log posterior")
    return figure


def _draw_map(ax: Axes, values: FloatArray, value_label: str, limits: tuple[float, float] | None = None) -> None:
    rows, columns = log_grid(CONCENTRATIONS, len(values)), log_grid(TOLERANCES, len(values))
    names = {"row_label": r"$\alpha$", "column_label": r"$\tau$", "value_label": value_label}
    plot_heatmap(values, rows.tolist(), columns.tolist(), annotate=False, limits=limits, ax=ax, **names)
    # The same few ticks on all maps, whatever room each of them has.
    ticks = range(0, len(values), ceil(len(values) / MAX_TICKS))
    ax.set_xticks(ticks, [f"{columns[tick]:.3g}" for tick in ticks], rotation=0, ha="center")
    ax.set_yticks(ticks, [f"{rows[tick]:.2g}" for tick in ticks])
