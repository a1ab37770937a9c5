"""Lanes of lines over bars of coloured boxes, all along one axis of steps."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.ticker import MaxNLocator

from homothety.errors import InputError
from homothety.known import range_of_known
from homothety.palette import contrasting, darkened, to_rgb
from homothety.viz._labels import NONE, Looks, legend_patch, number_labels
from homothety.viz.figures import axes_or_new, font_points, legend_beside, names_or_numbers, size_in_points

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from matplotlib.axes import Axes
    from matplotlib.patches import Patch
    from numpy.typing import ArrayLike

    from homothety.arrays import FloatArray, IntArray

WIDTH = 8.0  # inches
LANE_HEIGHT = 0.42  # of a dimension
MIN_HEIGHT, MAX_HEIGHT = 2.4, 9.0

LINE_COLOR = "#333333"
TINT = 0.22  # opacity of a colour behind the lines
LANE_SHARE = 0.8  # of the height of a lane, taken by its line
BAR = (-1.25, 0.6)  # bottom and height of the first bar below the lanes
BAR_PITCH = 0.7  # from one bar down to the next


class Run(NamedTuple):
    """Steps from `start` up to but without `end`, with one number."""

    start: int
    end: int
    number: int


class Bar(NamedTuple):
    """A row of boxes: what it is called, its runs and how they look."""

    title: str
    runs: list[Run]
    looks: Looks


def check_series(series: ArrayLike) -> FloatArray:
    """Return a series as an array of two axes, or raise."""
    values = np.asarray(series, dtype=np.float64)
    if values.ndim != 2 or values.size == 0:
        raise InputError(f"series has shape {values.shape}, needed (n_steps, n_dims). For one channel use x[:, None].")
    return values


def check_path(path: Any, n_steps: int, name: str = "path", kind: str = "state") -> tuple[IntArray, dict[int, str]]:
    """Return the number of every step, by default of its state, and the names of the numbers, or raise."""
    if np.shape(path) != (n_steps,):
        raise InputError(f"{name} has shape {np.shape(path)}, needed ({n_steps},): the {kind} of every step.")
    return number_labels(path, name)


def find_runs(numbers: IntArray) -> list[Run]:
    """Return the runs of equal numbers of one series."""
    edges = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]
    return [Run(start, end, int(numbers[start])) for start, end in pairwise(edges)]


def lanes_height(n_dims: int, n_bars: int) -> float:
    """Return the height in inches of Axes with a lane for each dimension and bars below."""
    n_lanes = n_dims + BAR_PITCH * (n_bars - 1)
    return float(np.clip(LANE_HEIGHT * n_lanes + 1.2, MIN_HEIGHT, MAX_HEIGHT))


def draw_lanes(
    ax: Axes | None,
    values: FloatArray,
    channels: Sequence[str] | None,
    bars: list[Bar],
    tint: Bar,
    handles: Collection[Patch],
    title: str | None = None,
) -> Axes:
    """Draw every dimension in its lane, the first on top, over the colours of a bar, and all bars below.

    The handles and the title are those of the legend; without handles there is none.
    """
    n_steps, n_dims = values.shape
    ax = axes_or_new(ax, (WIDTH, lanes_height(n_dims, len(bars))), n_entries=len(handles))
    names = names_or_numbers(channels, n_dims, "dimensions", "channels")
    lowest, extent = np.fmin.reduce(values), range_of_known(values)  # lines stop where values are missing
    shares = np.divide(values - lowest, extent, out=np.full(values.shape, 0.5), where=extent > 0)
    places = np.arange(n_dims)[::-1]
    for dim, place in enumerate(places):
        lane = place + LANE_SHARE * (shares[:, dim] - 0.5)
        ax.plot(np.arange(n_steps), lane, color=LINE_COLOR, linewidth=0.8)
    draw_runs(ax, tint, -0.55, n_dims + 0.1, alpha=TINT)
    bottoms = bar_bottoms(len(bars))
    for bottom, bar in zip(bottoms, bars, strict=True):
        draw_runs(ax, bar, bottom, BAR[1])
    ax.set(ylim=(bottoms[-1] - 0.1, n_dims - 0.45))
    label_rows(ax, np.append(places, np.add(bottoms, BAR[1] / 2)), [*names, *(bar.title for bar in bars)])
    label_steps(ax, n_steps)
    legend_beside(ax, handles, title, settle=False)
    write_names(ax, dict(zip(bottoms, bars, strict=True)), BAR[1])
    return ax


def bar_bottoms(n_bars: int) -> list[float]:
    """Return where bars below the lanes begin, the first on top."""
    return [BAR[0] - BAR_PITCH * place for place in range(n_bars)]


def draw_runs(ax: Axes, bar: Bar, bottom: float, height: float, alpha: float | None = None) -> None:
    """Draw the runs of each number as one collection of boxes; hatches only at full strength."""
    for number in sorted({run.number for run in bar.runs}):
        style = bar.looks[number].style
        spans = [(run.start - 0.5, run.end - run.start) for run in bar.runs if run.number == number]
        looks: dict[str, Any] = {"facecolor": style.color, "linewidth": 0, "alpha": alpha, "zorder": 0.5}
        if style.hatch and alpha is None:
            looks |= {"hatch": style.hatch, "edgecolor": darkened(style.color)}
        ax.broken_barh(spans, (bottom, height), **looks)


def label_steps(ax: Axes, n_steps: int) -> None:
    """Write the numbers of steps along the lower edge, which begins and ends with a whole step."""
    ax.set(xlabel="step", xlim=(-0.5, n_steps - 0.5))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))


def label_rows(ax: Axes, places: FloatArray | IntArray, names: list[str]) -> None:
    """Name rows, or every n-th if they are too many to be read; the last is named always."""
    low, high = sorted(ax.get_ylim())
    points = size_in_points(ax)[1] / (high - low)
    every = max(1, int(np.ceil(1.2 * font_points("ytick.labelsize") / points)))
    shown = range(len(names))[::-every][::-1]
    ax.set_yticks([places[row] for row in shown], [names[row] for row in shown])
    ax.tick_params(axis="y", length=0)
    ax.spines[["left", "right", "top"]].set_visible(False)


def write_names(ax: Axes, bars: dict[float, Bar], height: float) -> None:
    """Write the name of its number into each box that has room for it and no hatch, on which it could not be read.

    `bars` has the bars by the places of their lower edges, and `height` is the height of each.
    """
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    width_in_points, height_in_points = size_in_points(ax)
    size = 0.8 * font_points("font.size")
    if height * height_in_points / (high - low) < 1.2 * size:
        return
    for bottom, run, looks in ((bottom, run, bar.looks) for bottom, bar in bars.items() for run in bar.runs):
        name, style = looks[run.number]
        room = (run.end - run.start) * width_in_points / (right - left)
        if run.number != NONE and style.hatch is None and room > size * (0.7 * len(name) + 0.6):
            place = (run.start + run.end - 1) / 2, bottom + height / 2
            color = contrasting(*to_rgb(style.color))
            ax.text(*place, name, color=color, fontsize=size, ha="center", va="center_baseline", clip_on=True)


def bar_handles(bars: list[Bar], kind: str = "") -> dict[int, Patch]:
    """Return the legend entry of each number that occurs in bars of the same looks, named with its kind if given."""
    found = {run.number for bar in bars for run in bar.runs}
    return {number: legend_patch(look, kind) for number, look in bars[0].looks.items() if number in found}
