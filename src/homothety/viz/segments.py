"""Segmented recordings: measurements, states and actions of all steps, and probabilities of changes."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from homothety.arrays import range_of_known
from homothety.errors import InputError
from homothety.palette import contrasting, darkened, to_rgb
from homothety.viz._figures import (
    NONE,
    Looks,
    actions_of_states,
    axes_or_new,
    font_points,
    legend_beside,
    legend_patch,
    looks_of,
    match_numbers,
    names_or_numbers,
    number_labels,
    panels_or_new,
    shaded_looks,
    size_in_points,
    state_looks,
    with_legend,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from homothety.arrays import FloatArray, IntArray
    from homothety.summaries.paths import BoundaryInterval


_WIDTH = 8.0  # inches
_LANE_HEIGHT = 0.42  # of a dimension
_MIN_HEIGHT, _MAX_HEIGHT = 2.4, 9.0

_LINE_COLOR = "#333333"
_TINT = 0.22  # opacity of a colour behind the lines
_LANE_SHARE = 0.8  # of the height of a lane, taken by its line
_BAR = (-1.25, 0.6)  # bottom and height of the first bar below the lanes
_BAR_PITCH = 0.7  # from one bar down to the next


class Run(NamedTuple):
    """Steps from `start` up to but without `end`, with one number."""

    start: int
    end: int
    number: int


class Bar(NamedTuple):
    """A row of boxes: its name, its runs and their styles."""

    title: str
    runs: list[Run]
    looks: Looks


def _check_series(series: ArrayLike) -> FloatArray:
    """Return a recording as an array of two axes, or raise."""
    values = np.asarray(series, dtype=np.float64)
    if values.ndim != 2 or values.size == 0:
        raise InputError(f"series has shape {values.shape}, needed (n_steps, n_dims). For one channel use x[:, None].")
    return values


def _check_path(path: Any, n_steps: int, name: str = "path", kind: str = "state") -> tuple[IntArray, dict[int, str]]:
    """Return the number of every step, by default of its state, and the names of the numbers, or raise."""
    if np.shape(path) != (n_steps,):
        raise InputError(f"{name} has shape {np.shape(path)}, needed ({n_steps},): the {kind} of every step.")
    return number_labels(path, name)


def find_runs(numbers: IntArray) -> list[Run]:
    """Return the runs of equal numbers of one recording."""
    edges = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]
    return [Run(start, end, int(numbers[start])) for start, end in pairwise(edges)]


def _lanes_height(n_dims: int, n_bars: int) -> float:
    """Return the height in inches of Axes with a lane for each dimension and bars below."""
    n_lanes = n_dims + _BAR_PITCH * (n_bars - 1)
    return float(np.clip(_LANE_HEIGHT * n_lanes + 1.2, _MIN_HEIGHT, _MAX_HEIGHT))


def _draw_lanes(
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
    ax = axes_or_new(ax, (_WIDTH, _lanes_height(n_dims, len(bars))), n_entries=len(handles))
    names = names_or_numbers(channels, n_dims, "dimensions", "channels")
    lowest, extent = np.fmin.reduce(values), range_of_known(values)  # lines stop where values are missing
    shares = np.divide(values - lowest, extent, out=np.full(values.shape, 0.5), where=extent > 0)
    places = np.arange(n_dims)[::-1]
    for dim, place in enumerate(places):
        lane = place + _LANE_SHARE * (shares[:, dim] - 0.5)
        ax.plot(np.arange(n_steps), lane, color=_LINE_COLOR, linewidth=0.8)
    _draw_runs(ax, tint, -0.55, n_dims + 0.1, alpha=_TINT)
    bottoms = _bar_bottoms(len(bars))
    for bottom, bar in zip(bottoms, bars, strict=True):
        _draw_runs(ax, bar, bottom, _BAR[1])
    ax.set(ylim=(bottoms[-1] - 0.1, n_dims - 0.45))
    label_rows(ax, np.append(places, np.add(bottoms, _BAR[1] / 2)), [*names, *(bar.title for bar in bars)])
    _label_steps(ax, n_steps)
    legend_beside(ax, handles, title, settle=False)
    _write_names(ax, dict(zip(bottoms, bars, strict=True)), _BAR[1])
    return ax


def _bar_bottoms(n_bars: int) -> list[float]:
    """Return where bars below the lanes begin, the first on top."""
    return [_BAR[0] - _BAR_PITCH * place for place in range(n_bars)]


def _draw_runs(ax: Axes, bar: Bar, bottom: float, height: float, alpha: float | None = None) -> None:
    """Draw the runs of each number as one collection of boxes; hatches only at full strength."""
    for number in sorted({run.number for run in bar.runs}):
        style = bar.looks[number].style
        spans = [(run.start - 0.5, run.end - run.start) for run in bar.runs if run.number == number]
        looks: dict[str, Any] = {"facecolor": style.color, "linewidth": 0, "alpha": alpha, "zorder": 0.5}
        if style.hatch and alpha is None:
            looks |= {"hatch": style.hatch, "edgecolor": darkened(style.color)}
        ax.broken_barh(spans, (bottom, height), **looks)


def _label_steps(ax: Axes, n_steps: int) -> None:
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


def _write_names(ax: Axes, bars: dict[float, Bar], height: float) -> None:
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


def _bar_handles(bars: list[Bar], kind: str = "") -> dict[int, Patch]:
    """Return the legend entry of each number that occurs in bars of the same looks, named with its kind if given."""
    found = {run.number for bar in bars for run in bar.runs}
    return {number: legend_patch(look, kind) for number, look in bars[0].looks.items() if number in found}


# Segments of recordings


_ROW_HEIGHT, _CHANGE_HEIGHT = 0.3, 1.5  # inches, of a recording and of the probabilities
_ROW_SHARE = 0.72
_INDENT = "   "  # of states below their action in a legend
_CHANGE_COLOR, _INTERVAL_COLOR = "#0072B2", "#D9D9D9"
_LEAST_SHOWN = 0.005  # lower probabilities are not drawn


def plot_segments(
    series: ArrayLike,
    path: ArrayLike,
    *,
    channels: Sequence[str] | None = None,
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw a recording, one dimension above the other, over the colours of its states.

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
    bar = Bar("state", find_runs(numbers), looks_of(names))
    return _draw_lanes(ax, values, channels, [bar], bar, _bar_handles([bar]).values() if legend else [], "state")


def plot_actions(
    series: ArrayLike,
    path: ArrayLike,
    actions: ArrayLike,
    *,
    truth: ArrayLike | None = None,
    truth_actions: Mapping[str, int] | None = None,
    state_actions: ArrayLike | None = None,
    channels: Sequence[str] | None = None,
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw a recording, one dimension above the other, and below it bars of its states and actions.

    Parameters
    ----------
    series : array-like of shape (n_steps, n_dims)
    path, actions : array-like of shape (n_steps,)
        State and action of every step; -1 for none.
    truth : array-like of shape (n_steps,), optional
        True action of every step, or whatever is to be compared with the actions. It is drawn as a third bar.
    truth_actions : mapping of str to int, optional
        The action whose colour each true action has, by its name as a string. Give it where several recordings are
        drawn, see `match_truth`; by default it is what matches best in this recording.
    state_actions : array-like of int, shape (n_states,), optional
        Action of each state, which decides its colour. Give it where several recordings are drawn, so that a state has
        one shade in all of them; by default a state belongs to the action that most of its steps have.
    channels : sequence of str, optional
        What the dimensions are called; their numbers by default.
    legend : bool, default=True
        Whether to name actions, each with its states below it, and true actions, beside the Axes.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    ax : Axes
        States are shades of the colour of their action. A true action has the colour of the action it is matched
        with: those pairs, one to one, that have most steps in common. The colours behind the lines are the actions'.

    Examples
    --------
    >>> ax = plot_actions([[0.0], [0.2], [3.0], [3.1]], [0, 0, 1, 2], [0, 0, 1, 1], channels=["x"])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['x', 'state', 'action']
    >>> [text.get_text().strip() for text in ax.get_legend().get_texts()]
    ['action 0', 'state 0', 'action 1', 'state 1', 'state 2']
    """
    values = _check_series(series)
    states, state_names = _check_path(path, len(values))
    numbers, names = _check_path(actions, len(values), "actions", "action")
    owners = actions_of_states(state_actions, states, numbers)
    bars = [
        Bar("state", find_runs(states), shaded_looks(state_names, owners)),
        Bar("action", find_runs(numbers), looks_of(names)),
    ]
    if truth is not None:
        known, known_names = _check_path(truth, len(values), "truth", "true action")
        matched, matched_names = match_numbers(known, known_names, numbers, truth_actions)
        bars.append(Bar("truth", find_runs(matched), looks_of(matched_names)))
    return _draw_lanes(ax, values, channels, bars, bars[1], _grouped_handles(bars, owners) if legend else [])


def match_truth(truth: Sequence[ArrayLike], actions: Sequence[ArrayLike]) -> dict[str, int]:
    """Return the action that each true one is matched with over all recordings: one to one, with most steps in common.

    Parameters
    ----------
    truth, actions : sequence of array-like of shape (n_steps_i,)
        True and found action of every step of each recording; -1 for none.

    Returns
    -------
    matched : dict of str to int
        The number of the matched action by the name of the true one. True actions that are left over have numbers that
        no action has.

    Examples
    --------
    >>> match_truth([["cut", "cut", "lift"], ["lift"]], [[1, 1, 0], [0]])
    {'cut': 1, 'lift': 0}
    """
    numbers, names = number_labels(np.concatenate([np.asarray(one) for one in truth]), "truth")
    found, _ = number_labels(np.concatenate([np.asarray(one) for one in actions]), "actions")
    return {name: number for number, name in match_numbers(numbers, names, found)[1].items()}


def plot_change_probability(
    probability: ArrayLike,
    *,
    boundaries: Iterable[BoundaryInterval] = (),
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw the probability of a change of state at every step of a recording.

    Parameters
    ----------
    probability : array-like of shape (n_steps,)
        Probability that the state changes between the step before and this one, such as an entry of
        `change_probability_` of a fitted estimator.
    boundaries : iterable of BoundaryInterval, optional
        Reported changes, which are marked above the probabilities; their intervals are shaded.
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
    ax = axes_or_new(ax, (_WIDTH, _MIN_HEIGHT))
    steps, marked = np.flatnonzero(values >= _LEAST_SHOWN), list(boundaries)
    for low, high in ((one.low, one.high) for one in marked):
        if low is not None and high is not None:
            ax.axvspan(low - 1, high, color=_INTERVAL_COLOR, linewidth=0, zorder=0)
    # A change happens between two steps, where the colours of the segments meet.
    ax.vlines(steps - 0.5, 0, values[steps], color=_CHANGE_COLOR, linewidth=1.4)
    ax.plot([one.step - 0.5 for one in marked], np.full(len(marked), 1.06), "v", color="black", markersize=4)
    ax.set(ylabel="probability\nof a change", ylim=(0, 1.14))
    ax.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
    ax.spines[["right", "top"]].set_visible(False)
    _label_steps(ax, len(values))
    if legend and marked:
        mark = Line2D([], [], color="black", marker="v", markersize=4, linestyle="none", label="reported")
        legend_beside(ax, [mark, Patch(color=_INTERVAL_COLOR, label="90 % interval")], settle=False)
    return ax


def plot_segmentation(
    series: ArrayLike,
    path: ArrayLike,
    change_probability: ArrayLike,
    *,
    boundaries: Iterable[BoundaryInterval] = (),
    actions: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    truth_actions: Mapping[str, int] | None = None,
    state_actions: ArrayLike | None = None,
    channels: Sequence[str] | None = None,
    title: str = "",
    axes: Sequence[Axes] | None = None,
) -> list[Axes]:
    """Draw a segmented recording and, below it, the probability of a change of state at each of its steps.

    Parameters
    ----------
    series, path, channels
        See `plot_segments`.
    change_probability, boundaries
        See `plot_change_probability`.
    actions, truth, truth_actions, state_actions
        Where actions are given, the recording is drawn as by `plot_actions`.
    title : str
        What stands above the picture, such as the name of the recording.
    axes : sequence of two Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    axes : list of two Axes
    """
    values = _check_series(series)
    if actions is None and truth is not None:
        raise InputError("truth is given without actions, needed what it is compared with. Give actions= too.")
    given = {"path": path, "actions": actions, "truth": truth}
    names = [_check_path(one, len(values), name)[1] for name, one in given.items() if one is not None]
    heights = [_lanes_height(values.shape[1], len(names)), _CHANGE_HEIGHT]
    figsize = with_legend((_WIDTH, sum(heights)), sum(map(len, names)))
    panels = ["series", "change probability"]
    above, below = panels_or_new(axes, panels, figsize, stacked=True, sharex=True, height_ratios=heights)
    if actions is None:
        plot_segments(values, path, channels=channels, ax=above)
    else:
        known: dict[str, Any] = {"truth": truth, "truth_actions": truth_actions, "state_actions": state_actions}
        plot_actions(values, path, actions, **known, channels=channels, ax=above)
    plot_change_probability(change_probability, boundaries=boundaries, ax=below)
    above.set(title=title, xlabel="")
    above.tick_params(axis="x", bottom=False, labelbottom=False)
    above.spines["bottom"].set_visible(False)
    return [above, below]


def plot_paths(
    paths: Sequence[ArrayLike],
    names: Sequence[str] | None = None,
    *,
    state_actions: ArrayLike | None = None,
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw the states of many recordings as one bar each, the first on top.

    Parameters
    ----------
    paths : sequence of array-like of shape (n_steps_i,)
        State of every step of each recording; or several segmentations of one recording. -1 stands for no state.
    names : sequence of str, optional
        What the bars are called; their numbers by default.
    state_actions : array-like of int, shape (n_states,), optional
        Action of each state, whose colour the state has a shade of, as in `plot_actions`.
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
    rows = [np.asarray(path) for path in paths]
    lengths = [len(row) for row in rows]
    numbers, state_names = _check_path(np.concatenate(rows), sum(lengths))
    looks = state_looks(state_names, numbers, state_actions)
    titles = names_or_numbers(names, len(paths), "paths")
    runs = map(find_runs, np.split(numbers, np.cumsum(lengths)[:-1]))
    bars = [Bar(title, row, looks) for title, row in zip(titles, runs, strict=True)]
    height = float(np.clip(_ROW_HEIGHT * len(rows) + 0.8, _MIN_HEIGHT, _MAX_HEIGHT))
    ax = axes_or_new(ax, (_WIDTH, height), n_entries=len(state_names) * legend)
    by_bottom = {-place - _ROW_SHARE / 2: bar for place, bar in enumerate(bars)}
    for bottom, bar in by_bottom.items():
        _draw_runs(ax, bar, bottom, _ROW_SHARE)
    ax.set(ylim=(0.4 - len(rows), 0.6))
    _label_steps(ax, max(lengths))
    label_rows(ax, -np.arange(len(rows)), titles)
    legend_beside(ax, _bar_handles(bars).values() if legend else [], "state", settle=False)
    _write_names(ax, by_bottom, _ROW_SHARE)
    return ax


def _grouped_handles(bars: list[Bar], owners: dict[int, int]) -> list[Patch]:
    """Return the entries of the legend: every action, each followed by its states, then those of the other bars."""
    states, actions = _bar_handles(bars[:1], f"{_INDENT}state"), _bar_handles(bars[1:2], "action")
    handles = []
    for action in bars[1].looks:
        handles += [actions[action]] if action in actions else []
        handles += [handle for state, handle in states.items() if owners.get(state, -1) == action]
    for bar in bars[2:]:
        handles += _bar_handles([bar], bar.title).values()
    return handles
