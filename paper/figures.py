"""Pictures of a comparison: what was measured beside what was printed. Needs matplotlib."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from homothety.phrases import spread
from homothety.viz import cluster_colors
from paper.comparison import Method, printed_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from paper.plan import Outcomes
    from paper.printed import Cells
    from paper.sets import LabelledSet

MARKERS = "osD^vPX"
MOST_IN_A_ROW = 7  # entries of the legend
BAND = 0.7  # of the height of a row that its methods share


@dataclass(frozen=True)
class Panel:
    """One of the panels of a comparison: which metric of which methods."""

    title: str
    metric: str
    methods: Sequence[Method[Any, Any]]


def draw_comparison(
    panels: Sequence[Panel], names: Sequence[str], sets: Sequence[LabelledSet], outcomes: Outcomes, cells: Cells
) -> Figure:
    """Draw the mean of each method on each set as a filled marker, and the paper's as a hollow one.

    `names` are those of the methods, the same for all panels.
    """
    n_methods = max(len(panel.methods) for panel in panels)
    size = 1.2 + 4.2 * len(panels), 1.6 + len(sets) * max(0.5, 0.18 * n_methods)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for ax, panel in zip(axes, panels, strict=True):
        _draw_panel(ax, panel, sets, outcomes, cells)
    axes[0].set_yticks(range(len(sets)), [paper_set.heading for paper_set in sets])
    axes[0].set_ylim(len(sets) - 0.5, -0.5)
    handles = _legend(names)
    ncols = ceil(len(handles) / ceil(len(handles) / MOST_IN_A_ROW))
    figure.legend(handles=handles, loc="outside lower center", ncols=ncols, frameon=False, columnspacing=1.2)
    return figure


def _draw_panel(ax: Axes, panel: Panel, sets: Sequence[LabelledSet], outcomes: Outcomes, cells: Cells) -> None:
    offsets = BAND * (np.arange(len(panel.methods)) + 0.5) / len(panel.methods) - BAND / 2
    for index, (method, offset) in enumerate(zip(panel.methods, offsets, strict=True)):
        looks = _looks(index)
        for row, paper_set in enumerate(sets):
            values = [run[panel.metric] for run in outcomes[paper_set.key, method.key]]
            printed = printed_mean(cells, paper_set, method, panel.metric)
            ax.plot(printed, row + offset, markerfacecolor="none", linestyle="none", **looks)
            ax.errorbar(np.mean(values), row + offset, xerr=spread(values), linewidth=1, **looks)
    for boundary in np.arange(1, len(sets)) - 0.5:
        ax.axhline(boundary, color="0.85", linewidth=0.8, zorder=0)
    ax.set(title=panel.title, xlabel=panel.metric, xlim=(-0.05, 1.05))
    ax.tick_params(axis="y", length=0)


def _looks(index: int) -> dict[str, Any]:
    # Two of the first seven colours are too light for thin lines on white.
    dark = np.delete(cluster_colors(8), [1, 3], axis=0)
    return {"color": dark[index % len(dark)], "marker": MARKERS[index % len(MARKERS)], "markersize": 5}


def _legend(names: Sequence[str]) -> list[Line2D]:
    """Return one entry per method, and what filled and hollow mean."""
    entries = [Line2D([], [], linestyle="none", label=name, **_looks(index)) for index, name in enumerate(names)]
    grey: dict[str, Any] = {"linestyle": "none", "marker": "o", "color": "0.4", "markersize": 5}
    here = Line2D([], [], label="filled: here", **grey)
    paper = Line2D([], [], label="hollow: paper", markerfacecolor="none", **grey)
    return [*entries, here, paper]
