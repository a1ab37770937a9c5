"""From labels of any kind to numbers, names and styles: of clusters, of actions, and of states as their shades."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from scipy.optimize import linear_sum_assignment

from homothety.errors import InputError
from homothety.palette import ClusterStyle, cluster_style, darkened, shade_style, to_rgb

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from homothety.arrays import BoolArray, FloatArray, IntArray

NONE = -1  # number of items that belong to no cluster
BLANK = -2  # number of places where there is no item


class Look(NamedTuple):
    """How a number is called and drawn."""

    name: str
    style: ClusterStyle


Looks: TypeAlias = dict[int, Look]
"""By number, in the order of a legend. It has an entry for -1, which belongs to none."""


@dataclass(frozen=True, eq=False)
class Cluster:
    """The items of one cluster, in their order, and how they are drawn; the name is empty if there were no labels."""

    name: str
    members: IntArray
    style: ClusterStyle


def number_labels(labels: Any, name: str = "labels") -> tuple[IntArray, dict[int, str]]:
    """Return the number that decides how each item looks, and the names of the numbers.

    Parameters
    ----------
    labels : array-like
        Whole numbers from 0 stand for themselves, so that a cluster looks the same wherever it is drawn. Anything else,
        such as strings, is numbered by sorted order; strings of digits are sorted as numbers. Items that are -1, NaN,
        None or masked are in no cluster.
    name : str
        What the messages call the labels.

    Returns
    -------
    numbers : ndarray of the shape of `labels`
        Items in no cluster have -1.
    names : dict of int to str
        In ascending order of the numbers.
    """
    missing, values = np.ma.getmaskarray(labels).copy(), np.asarray(np.ma.getdata(labels))
    if values.dtype.kind in "biuf":
        numbers = _whole_numbers(values, missing, name)
        return numbers, {int(number): str(number) for number in np.unique(numbers)}
    if values.dtype.kind == "O":
        missing |= np.array([value is None for value in values.flat]).reshape(values.shape)
    found, inverse = np.unique(values[~missing].astype(str), return_inverse=True)
    numeric = all(map(str.isdecimal, found))  # so that 2 is before 10
    order = sorted(range(len(found)), key=lambda place: int(found[place]) if numeric else place)
    numbers = np.full(values.shape, NONE, dtype=np.int64)
    numbers[~missing] = np.argsort(order)[inverse]
    return numbers, {number: str(found[place]) for number, place in enumerate(order)}


def _whole_numbers(values: NDArray[Any], missing: BoolArray, name: str) -> IntArray:
    """Return numeric labels as integers with -1 where they are missing, or raise naming the first that is no label."""
    missing = missing | np.isnan(values)
    wrong = ~missing & ((values != np.floor(values)) | (values < NONE) | np.isinf(values))
    if wrong.any():
        where = ", ".join(map(str, np.argwhere(wrong)[0]))
        raise InputError(
            f"{name}[{where}] is {values[wrong][0]}, needed whole numbers from 0 up, or -1 for items in no cluster. "
            "Round them or pass strings."
        )
    numbers = np.where(missing, 0, values).astype(np.int64)  # first to a type that has negative numbers
    numbers[missing] = NONE
    return numbers


def match_numbers(
    truth: IntArray, truth_names: dict[int, str], estimate: IntArray, given: Mapping[str, int] | None = None
) -> tuple[IntArray, dict[int, str]]:
    """Return the true classes under the numbers of clusters, and the names of these numbers.

    Parameters
    ----------
    truth, estimate : ndarray of the same shape
        Numbers; -1 for none.
    truth_names : dict of int to str
        Of the true classes.
    given : mapping of str to int, optional
        The number of each true class by its name. By default it is that of the cluster it shares most items with, in
        pairs one to one; classes without a cluster of their own get numbers that no cluster has.
    """
    classes = np.unique(truth[truth >= 0])
    if given is None:
        clusters = np.unique(estimate[estimate >= 0])
        both = (truth >= 0) & (estimate >= 0)
        overlaps = np.zeros((len(classes), len(clusters)), dtype=np.int64)
        np.add.at(overlaps, (np.searchsorted(classes, truth[both]), np.searchsorted(clusters, estimate[both])), 1)
        pairs = {int(classes[i]): int(clusters[j]) for i, j in zip(*linear_sum_assignment(-overlaps), strict=True)}
        unused = (number for number in count() if number not in clusters)
        new_numbers = {old: pairs[old] if old in pairs else next(unused) for old in classes.tolist()}
    else:
        missing = [truth_names[old] for old in classes.tolist() if truth_names[old] not in given]
        if missing:
            raise InputError(
                f"truth_actions has no {missing[0]!r}, needed an action for each true one. Use match_truth."
            )
        new_numbers = {old: given[truth_names[old]] for old in classes.tolist()}
    matched = truth.copy()
    for old, new in new_numbers.items():
        matched[truth == old] = new
    return matched, {new: truth_names[old] for old, new in new_numbers.items()}


# --- clusters: items that look the same -----------------------------------------------------------------------------


def group_items(labels: ArrayLike | None, n_items: int, name: str = "labels") -> list[Cluster]:
    """Return the clusters of `n_items` items in the order of their labels, items in none last.

    Parameters
    ----------
    labels : array-like of shape (n_items,) or None
        See `number_labels`. None makes one nameless cluster of all items.
    n_items : int
    name : str
        What the messages call the labels.
    """
    if labels is None:
        return [Cluster("", np.arange(n_items), cluster_style(0))]
    if np.shape(labels) != (n_items,):
        raise InputError(f"{name} has shape {np.shape(labels)}, needed ({n_items},): one label for each item.")
    return group_numbers(*number_labels(labels, name))


def group_numbers(numbers: IntArray, names: dict[int, str]) -> list[Cluster]:
    """Return the clusters of numbered items in ascending order, those in none last; blank places are in no group.

    `members` index the flattened array.
    """
    order = np.argsort(numbers, axis=None, kind="stable")
    found, starts = np.unique(numbers.ravel()[order], return_index=True)
    groups = {int(number): members for number, members in zip(found, np.split(order, starts[1:]), strict=True)}
    shown = [*(number for number in groups if number >= 0), *({NONE} & groups.keys())]
    looks = looks_of(names)
    return [Cluster(looks[number].name, groups[number], looks[number].style) for number in shown]


def named(clusters: list[Cluster]) -> list[Cluster]:
    """Return the clusters that have a name to put into a legend."""
    return [cluster for cluster in clusters if cluster.name]


def sorted_items(clusters: list[Cluster]) -> IntArray:
    """Return the items cluster by cluster, each cluster in its items' own order."""
    return np.concatenate([cluster.members for cluster in clusters])


def item_colors(clusters: list[Cluster], n_items: int) -> FloatArray:
    """Return red, green, blue and opacity of each item, shape (n_items, 4); items in no group are transparent."""
    colors = np.zeros((n_items, 4))
    for cluster in clusters:
        colors[cluster.members] = *to_rgb(cluster.style.color), 1.0
    return colors


# --- looks: name and style of every number ----------------------------------------------------------------------------


def looks_of(names: dict[int, str]) -> Looks:
    """Return the looks of numbered clusters in the order of their names, those in none last."""
    looks = {number: Look(name, cluster_style(number)) for number, name in names.items() if number >= 0}
    return looks | {NONE: Look("none", cluster_style(NONE))}


def shaded_looks(names: dict[int, str], actions: dict[int, int]) -> Looks:
    """Return the looks of states as shades of the colour of their action, action by action.

    Parameters
    ----------
    names : dict of int to str
        Of the states; a state that is not in it is called by its number.
    actions : dict of int to int
        Of each state; -1 for none.
    """
    looks: Looks = {}
    ranks: Counter[int] = Counter()
    for state in sorted(actions, key=lambda state: (actions[state] == NONE, actions[state], state)):
        action = actions[state]
        looks[state] = Look(names.get(state, str(state)), shade_style(cluster_style(action), ranks[action]))
        ranks[action] += 1
    return looks | looks_of({})


def state_looks(names: dict[int, str], states: IntArray, state_actions: ArrayLike | None) -> Looks:
    """Return the looks of states: shades of their actions, or as of clusters if these are not known."""
    if state_actions is None:
        return looks_of(names)
    return shaded_looks(names, actions_of_states(state_actions, states, states))


def legend_patch(look: Cluster | Look, kind: str = "") -> Patch:
    """Return the legend entry of what is filled with the colour of a cluster, named with its kind if that is given."""
    style = look.style
    label = f"{kind} {look.name}" if kind else look.name
    return Patch(facecolor=style.color, edgecolor=darkened(style.color), hatch=style.hatch, linewidth=0.4, label=label)


def legend_line(look: Cluster | Look, **options: Any) -> Line2D:
    """Return the legend entry of what is drawn in the line style and with the marker of a cluster; without data."""
    style = look.style
    looks = {"color": style.color, "linestyle": style.linestyle, "marker": style.marker}
    return Line2D([], [], label=look.name, markeredgecolor=darkened(style.color), **(looks | options))


def actions_of_states(state_actions: ArrayLike | None, states: IntArray, actions: IntArray) -> dict[int, int]:
    """Return the action of each state: the given one, or the one that most of its steps have.

    Parameters
    ----------
    state_actions : array-like of shape (n_states,) or None
    states, actions : ndarray of shape (n_steps,)
        Numbers; -1 for none.
    """
    if state_actions is None:
        return {int(state): _most_frequent(actions[states == state]) for state in np.unique(states[states >= 0])}
    given, _ = number_labels(state_actions, "state_actions")
    if given.ndim != 1:
        raise InputError(f"state_actions has shape {given.shape}, needed (n_states,): the action of each state.")
    if (highest := int(states.max(initial=NONE))) >= len(given):
        raise InputError(
            f"state_actions has {len(given)} entries, needed one for each state, and there is a state {highest}."
        )
    return dict(enumerate(given.tolist()))


def _most_frequent(numbers: IntArray) -> int:
    """Return the number from 0 up that occurs most often, the lowest if there are several; -1 if there is none."""
    found = numbers[numbers >= 0]
    return int(np.bincount(found).argmax()) if len(found) else NONE
