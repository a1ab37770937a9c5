"""Name and style of every number in a picture: of clusters, of actions, and of the states that are shades of them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from homothety.errors import InputError
from homothety.palette import ClusterStyle, cluster_style, shade_style
from homothety.viz._clusters import NONE, number_labels

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from homothety.arrays import IntArray


class Look(NamedTuple):
    """How a number is called and drawn."""

    name: str
    style: ClusterStyle


Looks: TypeAlias = dict[int, Look]
"""By number, in the order of a legend. What belongs to none is there too."""


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
    return looks | {NONE: Look("none", cluster_style(NONE))}


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
    given = check_state_actions(state_actions)
    highest = int(states.max(initial=NONE))
    if highest >= len(given):
        raise InputError(
            f"state_actions has {len(given)} entries, needed one for each state, and there is a state {highest}."
        )
    return dict(enumerate(given))


def check_state_actions(state_actions: ArrayLike) -> list[int]:
    """Return the number of the action of each state, or raise."""
    numbers, _ = number_labels(state_actions, "state_actions")
    if numbers.ndim != 1:
        raise InputError(f"state_actions has shape {numbers.shape}, needed (n_states,): the action of each state.")
    return [int(number) for number in numbers]


def _most_frequent(numbers: IntArray) -> int:
    """Return the number that occurs most often, the least of several; -1 if there is none but that."""
    found = numbers[numbers >= 0]
    return int(np.bincount(found).argmax()) if len(found) else NONE
