"""Segmented series: what was measured, the state of every step, and where it may change."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from homothety.errors import InputError
from homothety.viz._clusters import NONE, number_labels
from homothety.viz._figure import axes_or_new, font_points, legend_beside, new_figure, size_in_points, with_legend
from homothety.viz.palette import cluster_style, contrasting, darkened

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from homothety.arrays import FloatArray, IntArray
    from homothety.summaries.paths import BoundaryInterval

WIDTH = 8.0  # inches
LANE_HEIGHT, ROW_HEIGHT, CHANGE_HEIGHT = 0.42, 0.3, 1.5  # of a dimension, of a series, of the probabilities
MIN_HEIGHT, MAX_HEIGHT = 2.4, 9.0

LINE_COLOR, CHANGE_COLOR, INTERVAL_COLOR = "#333333", "#0072B2", "#D9D9D9"
TINT = 0.22  # opacity of a state's colour behind the lines
LANE_SHARE = 0.8  # of the height of a lane, taken by its line
BAR = (-1.25, 0.6)  # bottom and height of the bar of states, below the lanes
ROW_SHARE = 0.72
LEAST_SHOWN = 0.005  # probabilities below are no ink


class Run(NamedTuple):
    """Steps from `start` up to but without `end`, in one state."""

    start: int
    end: int
    number: int


def plot_segments(
    series: ArrayLike,
    path: ArrayLike,
    *,
    channels: Sequence[str] | None = None,
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw a series, one dimension above the other, over the colours of its states.

    Parameters
    ----------
    series : array-like of shape (n_steps, n_dims)
    path : array-like of shape (n_steps,)
        State of every step; -1 for none.
    channels : sequence of str, optional
        What the dimensions are called; their numbers by default.
    legend : bool, default=True
        Whether to name the states, beside the Axes.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    ax : Axes
        Every dimension fills a lane of its own, from its least to its greatest value. The bar below shows the states
        at full strength, with their numbers where these fit.

    Examples
    --------
    >>> ax = plot_segments([[0.0], [0.2], [3.0]], [1, 1, 0], channels=["x"])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['x', 'state']
    """
    values = _check_series(series)
    numbers, names = _check_path(path, len(values))
    ax = axes_or_new(ax, (WIDTH, _height(values.shape[1])), n_entries=len(names) * legend)
    runs = _runs(numbers)
    _draw_lanes(ax, values, runs)
    _label_lanes(ax, _channel_names(channels, values.shape[1]))
    ax.set(xlabel="step", xlim=(-0.5, len(values) - 0.5))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    if legend:
        legend_beside(ax, _state_handles(numbers, names), "state")
    _write_numbers(ax, {BAR[0]: runs}, names, BAR[1])
    return ax


def plot_change_probability(
    probability: ArrayLike,
    *,
    boundaries: Iterable[BoundaryInterval] = (),
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw how probable a change of state is at every step of a series.

    Parameters
    ----------
    probability : array-like of shape (n_steps,)
        Such as one of `change_probability_` of a fitted estimator: between each step and the one before.
    boundaries : iterable of BoundaryInterval, optional
        Changes that are reported, marked on top; where they have an interval, it is shaded.
    legend : bool, default=True
        Whether to explain the marks, beside the Axes.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    ax : Axes

    Examples
    --------
    >>> ax = plot_change_probability([0.0, 0.1, 0.9, 0.0])
    >>> len(ax.collections[0].get_segments())
    2
    """
    values = np.asarray(probability, dtype=np.float64)
    if values.ndim != 1 or not ((values >= 0) & (values <= 1)).all():
        raise InputError(f"probability has shape {values.shape}, needed (n_steps,) with values from 0 to 1.")
    ax = axes_or_new(ax, (WIDTH, MIN_HEIGHT))
    steps, marked = np.flatnonzero(values >= LEAST_SHOWN), list(boundaries)
    for low, high in ((one.low, one.high) for one in marked):
        if low is not None and high is not None:
            ax.axvspan(low - 1, high, color=INTERVAL_COLOR, linewidth=0, zorder=0)
    # A change happens between two steps, where the colours of the segments meet.
    ax.vlines(steps - 0.5, 0, values[steps], color=CHANGE_COLOR, linewidth=1.4)
    ax.plot([one.step - 0.5 for one in marked], np.full(len(marked), 1.06), "v", color="black", markersize=4)
    ax.set(xlabel="step", ylabel="probability\nof a change", xlim=(-0.5, len(values) - 0.5), ylim=(0, 1.14))
    ax.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
    ax.spines[["right", "top"]].set_visible(False)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    if legend and marked:
        legend_beside(ax, _boundary_handles())
    return ax


def plot_segmentation(
    series: ArrayLike,
    path: ArrayLike,
    change_probability: ArrayLike,
    *,
    boundaries: Iterable[BoundaryInterval] = (),
    channels: Sequence[str] | None = None,
    title: str = "",
    axes: Sequence[Axes] | None = None,
) -> list[Axes]:
    """Draw a segmented series and, below, how probable a change is at each of its steps.

    Parameters
    ----------
    series, path, channels
        See `plot_segments`.
    change_probability, boundaries
        See `plot_change_probability`.
    title : str
        Such as the name of the series.
    axes : sequence of two Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    axes : list of two Axes
    """
    values = _check_series(series)
    numbers, _ = _check_path(path, len(values))
    above, below = _stacked(values.shape[1], len(np.unique(numbers))) if axes is None else axes
    plot_segments(values, path, channels=channels, ax=above)
    plot_change_probability(change_probability, boundaries=boundaries, ax=below)
    above.set(title=title, xlabel="")
    above.tick_params(axis="x", bottom=False, labelbottom=False)
    above.spines["bottom"].set_visible(False)
    return [above, below]


def plot_paths(
    paths: Sequence[ArrayLike],
    names: Sequence[str] | None = None,
    *,
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw the states of many series as one bar each, the first on top.

    Parameters
    ----------
    paths : sequence of array-like of shape (n_steps_i,)
        State of every step of each series; or several segmentations of one series. -1 stands for no state.
    names : sequence of str, optional
        What the bars are called; their numbers by default.
    legend : bool, default=True
        Whether to name the states, beside the Axes.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    ax : Axes

    Examples
    --------
    >>> ax = plot_paths([[0, 0, 1], [1, 2]], ["first", "second"])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['first', 'second']
    """
    if len(paths) == 0:
        raise InputError("paths is empty, needed at least one array with the states of a series.")
    lengths = [len(np.asarray(path)) for path in paths]
    numbers, state_names = _check_path(np.concatenate([np.asarray(path) for path in paths]), sum(lengths))
    rows = np.split(numbers, np.cumsum(lengths)[:-1])
    height = float(np.clip(ROW_HEIGHT * len(rows) + 0.8, MIN_HEIGHT, MAX_HEIGHT))
    ax = axes_or_new(ax, (WIDTH, height), n_entries=len(state_names) * legend)
    bars = {-place - ROW_SHARE / 2: _runs(row) for place, row in enumerate(rows)}
    for bottom, runs in bars.items():
        _draw_runs(ax, runs, bottom, ROW_SHARE)
    ax.set(xlabel="step", xlim=(-0.5, max(lengths) - 0.5), ylim=(0.4 - len(rows), 0.6))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    _label_rows(ax, -np.arange(len(rows)), _row_names(names, len(rows)))
    if legend:
        legend_beside(ax, _state_handles(numbers, state_names), "state")
    _write_numbers(ax, bars, state_names, ROW_SHARE)
    return ax


def _check_series(series: ArrayLike) -> FloatArray:
    """Return a series as an array of two axes, or raise."""
    values = np.asarray(series, dtype=np.float64)
    if values.ndim != 2 or values.size == 0:
        raise InputError(f"series has shape {values.shape}, needed (n_steps, n_dims). For one channel use x[:, None].")
    return values


def _check_path(path: Any, n_steps: int) -> tuple[IntArray, dict[int, str]]:
    """Return the number of the state of every step and the names of the numbers, or raise."""
    if np.shape(path) != (n_steps,):
        raise InputError(f"path has shape {np.shape(path)}, needed ({n_steps},): the state of every step.")
    return number_labels(path, "path")


def _channel_names(channels: Sequence[str] | None, n_dims: int) -> list[str]:
    names = [str(dim) for dim in range(n_dims)] if not channels else list(channels)
    if len(names) != n_dims:
        raise InputError(f"channels has {len(names)} names, needed one for each of {n_dims} dimensions.")
    return names


def _row_names(names: Sequence[str] | None, n_rows: int) -> list[str]:
    given = [str(row) for row in range(n_rows)] if names is None else list(names)
    if len(given) != n_rows:
        raise InputError(f"names has {len(given)} entries, needed one for each of {n_rows} paths.")
    return given


def _runs(numbers: IntArray) -> list[Run]:
    """Return the runs of equal states of one series."""
    edges = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]
    return [Run(start, end, int(numbers[start])) for start, end in pairwise(edges)]


def _height(n_dims: int) -> float:
    return float(np.clip(LANE_HEIGHT * n_dims + 1.2, MIN_HEIGHT, MAX_HEIGHT))


def _stacked(n_dims: int, n_states: int) -> list[Axes]:
    """Return two Axes on a new figure, one above the other, with one axis of steps."""
    height = _height(n_dims)
    figure = new_figure(with_legend((WIDTH, height + CHANGE_HEIGHT), n_states))
    return list(figure.subplots(2, sharex=True, height_ratios=[height, CHANGE_HEIGHT]))


def _draw_lanes(ax: Axes, values: FloatArray, runs: list[Run]) -> None:
    """Draw every dimension in its lane, the first on top, over tinted states, and the bar of states below."""
    n_steps, n_dims = values.shape
    lowest, extent = values.min(axis=0), np.ptp(values, axis=0)
    shares = np.divide(values - lowest, extent, out=np.full(values.shape, 0.5), where=extent > 0)
    for dim in range(n_dims):
        lane = n_dims - 1 - dim + LANE_SHARE * (shares[:, dim] - 0.5)
        ax.plot(np.arange(n_steps), lane, color=LINE_COLOR, linewidth=0.8)
    _draw_runs(ax, runs, -0.55, n_dims + 0.1, alpha=TINT)
    _draw_runs(ax, runs, *BAR)
    ax.set_ylim(BAR[0] - 0.1, n_dims - 0.45)


def _draw_runs(ax: Axes, runs: list[Run], bottom: float, height: float, alpha: float | None = None) -> None:
    """Draw the runs of each state as one collection of boxes; hatches only at full strength."""
    for number in sorted({run.number for run in runs}):
        style = cluster_style(number)
        spans = [(run.start - 0.5, run.end - run.start) for run in runs if run.number == number]
        hatched: dict[str, Any] = {"hatch": style.hatch, "edgecolor": darkened(style.color)}
        hatched = hatched if style.hatch and alpha is None else {}
        extent = (bottom, height)
        ax.broken_barh(spans, extent, facecolor=style.color, linewidth=0, alpha=alpha, zorder=0.5, **hatched)


def _label_lanes(ax: Axes, channels: list[str]) -> None:
    bottom, height = BAR
    places = np.append(np.arange(len(channels))[::-1], bottom + height / 2)
    _label_rows(ax, places, [*channels, "state"])


def _label_rows(ax: Axes, places: FloatArray | IntArray, names: list[str]) -> None:
    """Name rows, or every n-th if they are too many to be read; the last is named always."""
    low, high = ax.get_ylim()
    points = size_in_points(ax)[1] / (high - low)
    every = max(1, int(np.ceil(1.2 * font_points("ytick.labelsize") / points)))
    shown = range(len(names))[::-every][::-1]
    ax.set_yticks([places[row] for row in shown], [names[row] for row in shown])
    ax.tick_params(axis="y", length=0)
    ax.spines[["left", "right", "top"]].set_visible(False)


def _write_numbers(ax: Axes, rows: dict[float, list[Run]], names: dict[int, str], height: float) -> None:
    """Write the name of the state into each box with room for it; on hatches it could not be read.

    `rows` are the runs of each bar by its bottom.
    """
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    width_in_points, height_in_points = size_in_points(ax)
    size = 0.8 * font_points("font.size")
    if height * height_in_points / (high - low) < 1.2 * size:
        return
    for bottom, run in ((bottom, run) for bottom, runs in rows.items() for run in runs):
        style, text = cluster_style(run.number), names.get(run.number, "")
        room = (run.end - run.start) * width_in_points / (right - left)
        if run.number != NONE and style.hatch is None and room > size * (0.7 * len(text) + 0.6):
            place = (run.start + run.end - 1) / 2, bottom + height / 2
            color = contrasting(*to_rgb(style.color))
            ax.text(*place, text, color=color, fontsize=size, ha="center", va="center_baseline", clip_on=True)


def _state_handles(numbers: IntArray, names: dict[int, str]) -> list[Patch]:
    """Return one legend entry for each state that occurs, those in none last."""
    found = np.unique(numbers)
    ordered = [*found[found >= 0].tolist(), *([NONE] if NONE in found else [])]
    handles = []
    for number in ordered:
        style = cluster_style(number)
        label = "none" if number == NONE else names[number]
        handles.append(
            Patch(facecolor=style.color, hatch=style.hatch, edgecolor=darkened(style.color), linewidth=0, label=label)
        )
    return handles


def _boundary_handles() -> list[Line2D | Patch]:
    mark = Line2D([], [], color="black", marker="v", markersize=4, linestyle="none", label="reported")
    return [mark, Patch(color=INTERVAL_COLOR, label="90 % interval")]
