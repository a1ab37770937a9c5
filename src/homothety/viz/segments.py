"""Segmented series: what was measured, the state and action of every step, and where the state may change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from homothety.errors import InputError
from homothety.viz._labels import actions_of_states, looks_of, match_numbers, number_labels, shaded_looks, state_looks
from homothety.viz._lanes import (
    MAX_HEIGHT,
    MIN_HEIGHT,
    WIDTH,
    Bar,
    bar_handles,
    check_path,
    check_series,
    draw_lanes,
    draw_runs,
    find_runs,
    label_rows,
    label_steps,
    lanes_height,
    write_names,
)
from homothety.viz.figures import axes_or_new, legend_beside, names_or_numbers, panels_or_new, with_legend

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from homothety.summaries.paths import BoundaryInterval

ROW_HEIGHT, CHANGE_HEIGHT = 0.3, 1.5  # inches, of a series and of the probabilities
ROW_SHARE = 0.72
INDENT = "   "  # of states below their action in a legend
CHANGE_COLOR, INTERVAL_COLOR = "#0072B2", "#D9D9D9"
LEAST_SHOWN = 0.005  # lower probabilities are not drawn


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
    values = check_series(series)
    numbers, names = check_path(path, len(values))
    bar = Bar("state", find_runs(numbers), looks_of(names))
    return draw_lanes(ax, values, channels, [bar], bar, bar_handles([bar]).values() if legend else [], "state")


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
    """Draw a series, one dimension above the other, and below it bars of its states and actions.

    Parameters
    ----------
    series : array-like of shape (n_steps, n_dims)
    path, actions : array-like of shape (n_steps,)
        State and action of every step; -1 for none.
    truth : array-like of shape (n_steps,), optional
        True action of every step, or whatever is to be compared with the actions. It is drawn as a third bar.
    truth_actions : mapping of str to int, optional
        The action whose colour each true action has, by its name as a string. Give it where several series are drawn,
        see `match_truth`; by default it is what matches best in this series.
    state_actions : array-like of int, shape (n_states,), optional
        Action of each state, which decides its colour. Give it where several series are drawn, so that a state has
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
    values = check_series(series)
    states, state_names = check_path(path, len(values))
    numbers, names = check_path(actions, len(values), "actions", "action")
    owners = actions_of_states(state_actions, states, numbers)
    bars = [
        Bar("state", find_runs(states), shaded_looks(state_names, owners)),
        Bar("action", find_runs(numbers), looks_of(names)),
    ]
    if truth is not None:
        known, known_names = check_path(truth, len(values), "truth", "true action")
        matched, matched_names = match_numbers(known, known_names, numbers, truth_actions)
        bars.append(Bar("truth", find_runs(matched), looks_of(matched_names)))
    return draw_lanes(ax, values, channels, bars, bars[1], _grouped_handles(bars, owners) if legend else [])


def match_truth(truth: Sequence[ArrayLike], actions: Sequence[ArrayLike]) -> dict[str, int]:
    """Return the action that each true one is matched with over all series: one to one, with most steps in common.

    Parameters
    ----------
    truth, actions : sequence of array-like of shape (n_steps_i,)
        True and found action of every step of each series; -1 for none.

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
    """Draw the probability of a change of state at every step of a series.

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
    ax = axes_or_new(ax, (WIDTH, MIN_HEIGHT))
    steps, marked = np.flatnonzero(values >= LEAST_SHOWN), list(boundaries)
    for low, high in ((one.low, one.high) for one in marked):
        if low is not None and high is not None:
            ax.axvspan(low - 1, high, color=INTERVAL_COLOR, linewidth=0, zorder=0)
    # A change happens between two steps, where the colours of the segments meet.
    ax.vlines(steps - 0.5, 0, values[steps], color=CHANGE_COLOR, linewidth=1.4)
    ax.plot([one.step - 0.5 for one in marked], np.full(len(marked), 1.06), "v", color="black", markersize=4)
    ax.set(ylabel="probability\nof a change", ylim=(0, 1.14))
    ax.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
    ax.spines[["right", "top"]].set_visible(False)
    label_steps(ax, len(values))
    if legend and marked:
        mark = Line2D([], [], color="black", marker="v", markersize=4, linestyle="none", label="reported")
        legend_beside(ax, [mark, Patch(color=INTERVAL_COLOR, label="90 % interval")], settle=False)
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
    """Draw a segmented series and, below it, the probability of a change of state at each of its steps.

    Parameters
    ----------
    series, path, channels
        See `plot_segments`.
    change_probability, boundaries
        See `plot_change_probability`.
    actions, truth, truth_actions, state_actions
        Where actions are given, the series is drawn as by `plot_actions`.
    title : str
        What stands above the picture, such as the name of the series.
    axes : sequence of two Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    axes : list of two Axes
    """
    values = check_series(series)
    if actions is None and truth is not None:
        raise InputError("truth is given without actions, needed what it is compared with. Give actions= too.")
    given = {"path": path, "actions": actions, "truth": truth}
    names = [check_path(one, len(values), name)[1] for name, one in given.items() if one is not None]
    heights = [lanes_height(values.shape[1], len(names)), CHANGE_HEIGHT]
    figsize = with_legend((WIDTH, sum(heights)), sum(map(len, names)))
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
    """Draw the states of many series as one bar each, the first on top.

    Parameters
    ----------
    paths : sequence of array-like of shape (n_steps_i,)
        State of every step of each series; or several segmentations of one series. -1 stands for no state.
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
    numbers, state_names = check_path(np.concatenate(rows), sum(lengths))
    looks = state_looks(state_names, numbers, state_actions)
    titles = names_or_numbers(names, len(paths), "paths")
    runs = map(find_runs, np.split(numbers, np.cumsum(lengths)[:-1]))
    bars = [Bar(title, row, looks) for title, row in zip(titles, runs, strict=True)]
    height = float(np.clip(ROW_HEIGHT * len(rows) + 0.8, MIN_HEIGHT, MAX_HEIGHT))
    ax = axes_or_new(ax, (WIDTH, height), n_entries=len(state_names) * legend)
    by_bottom = {-place - ROW_SHARE / 2: bar for place, bar in enumerate(bars)}
    for bottom, bar in by_bottom.items():
        draw_runs(ax, bar, bottom, ROW_SHARE)
    ax.set(ylim=(0.4 - len(rows), 0.6))
    label_steps(ax, max(lengths))
    label_rows(ax, -np.arange(len(rows)), titles)
    legend_beside(ax, bar_handles(bars).values() if legend else [], "state", settle=False)
    write_names(ax, by_bottom, ROW_SHARE)
    return ax


def _grouped_handles(bars: list[Bar], owners: dict[int, int]) -> list[Patch]:
    """Return the entries of the legend: every action, each followed by its states, then those of the other bars."""
    states, actions = bar_handles(bars[:1], f"{INDENT}state"), bar_handles(bars[1:2], "action")
    handles = []
    for action in bars[1].looks:
        handles += [actions[action]] if action in actions else []
        handles += [handle for state, handle in states.items() if owners.get(state, -1) == action]
    for bar in bars[2:]:
        handles += bar_handles([bar], bar.title).values()
    return handles
