"""A series with its states and actions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homothety.errors import InputError
from homothety.viz._clusters import match_numbers, number_labels
from homothety.viz._figure import axes_or_new, legend_beside, legend_patch
from homothety.viz._lanes import (
    BAR,
    WIDTH,
    Bar,
    bar_bottoms,
    check_path,
    check_series,
    draw_lanes,
    find_runs,
    lanes_height,
    write_names,
)
from homothety.viz._looks import actions_of_states, looks_of, shaded_looks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.patches import Patch
    from numpy.typing import ArrayLike

    from homothety.arrays import IntArray

INDENT = "   "  # of states below their action in a legend


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
        bars.append(_truth_bar(truth, numbers, truth_actions))
    handles = _grouped_handles(bars, owners)
    ax = axes_or_new(ax, (WIDTH, lanes_height(values.shape[1], len(bars))), n_entries=len(handles) * legend)
    draw_lanes(ax, values, channels, bars, tint=bars[1])
    if legend:
        legend_beside(ax, handles, settle=False)
    write_names(ax, dict(zip(bar_bottoms(len(bars)), bars, strict=True)), BAR[1])
    return ax


def match_truth(truth: Sequence[ArrayLike], actions: Sequence[ArrayLike]) -> dict[str, int]:
    """Return the action that each true one is matched with over all series: one to one, with most steps in common.

    Parameters
    ----------
    truth, actions : sequence of array-like of shape (n_steps_i,)
        True and found action of every step of each series; -1 for none.

    Returns
    -------
    matched : dict of str to int
        By the names of the true actions; those left over have numbers that no action has.

    Examples
    --------
    >>> match_truth([["cut", "cut", "lift"], ["lift"]], [[1, 1, 0], [0]])
    {'cut': 1, 'lift': 0}
    """
    numbers, names = number_labels(np.concatenate([np.asarray(one) for one in truth]), "truth")
    found, _ = number_labels(np.concatenate([np.asarray(one) for one in actions]), "actions")
    return {name: number for number, name in match_numbers(numbers, names, found)[1].items()}


def _truth_bar(truth: ArrayLike, actions: IntArray, truth_actions: Mapping[str, int] | None) -> Bar:
    """Return the bar of the true actions, in the colours of those found."""
    numbers, names = check_path(truth, len(actions), "truth", "true action")
    if truth_actions is None:
        matched, matched_names = match_numbers(numbers, names, actions)
    else:
        matched, matched_names = _renumbered(numbers, names, truth_actions)
    return Bar("truth", find_runs(matched), looks_of(matched_names))


def _renumbered(numbers: IntArray, names: dict[int, str], given: Mapping[str, int]) -> tuple[IntArray, dict[int, str]]:
    """Return true actions under the numbers given to their names, and these names."""
    known = {number: name for number, name in names.items() if number >= 0}
    missing = [name for name in known.values() if name not in given]
    if missing:
        raise InputError(f"truth_actions has no {missing[0]!r}, needed an action for each true one. Use match_truth.")
    renumbered = numbers.copy()
    for number, name in known.items():
        renumbered[numbers == number] = given[name]
    return renumbered, {given[name]: name for name in known.values()}


def _grouped_handles(bars: list[Bar], owners: dict[int, int]) -> list[Patch]:
    """Return the legend: every action that occurs followed by its states, in the end the other bars."""
    found = [{run.number for run in bar.runs} for bar in bars]
    states, actions, *_ = bars
    handles = []
    for action in actions.looks:
        if action in found[1]:
            handles.append(legend_patch(actions.looks[action], "action"))
        own = (look for state, look in states.looks.items() if state in found[0] and owners.get(state, -1) == action)
        handles += [legend_patch(look, f"{INDENT}state") for look in own]
    for bar, shown in zip(bars[2:], found[2:], strict=True):
        handles += [legend_patch(look, bar.title) for number, look in bar.looks.items() if number in shown]
    return handles
