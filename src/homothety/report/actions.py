"""Text about actions: what they are, and which states may or may not be one."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from homothety.phrases import SURE

if TYPE_CHECKING:
    from homothety.arrays import FloatArray
    from homothety.summaries.result import Segmentation

EXPLANATION = "An action groups states that differ only in position, orientation and size."
IN_FRAMES = (
    "States are those of the aligned recordings. An action is one state, or several where there is evidence that they "
    "are pieces, or moved or turned copies, of one motion."
)
MAX_DOUBTS = 5  # pairs of states named in a sentence


def explanation(result: Segmentation) -> str:
    """Return what an action is in the model of a result."""
    return EXPLANATION if result.frame_table is None else IN_FRAMES


def doubts(coaction: FloatArray) -> str:
    """Return which states may or may not be one action, from the probability of each pair, (n_states, n_states)."""
    pairs = [(k, other, float(coaction[k, other])) for k, other in combinations(range(len(coaction)), 2)]
    unclear = sorted((pair for pair in pairs if 1 - SURE < pair[2] < SURE), key=lambda pair: abs(pair[2] - 0.5))
    if not pairs:
        return "There is only one state, and so one action."
    if not unclear:
        return f"Which states are one action is clear: {SURE:.0%} of the kept sweeps or more agree on every pair."
    named = ", ".join(f"{k} and {other} ({share:.2f})" for k, other, share in unclear[:MAX_DOUBTS])
    more = f" and {len(unclear) - MAX_DOUBTS} more pairs" if len(unclear) > MAX_DOUBTS else ""
    return f"It is not clear whether these states are one action (probability in brackets): {named}{more}."


def one_recording(result: Segmentation) -> str:
    """Return what a single recording means for actions found by shapes; nothing in other cases."""
    if len(result.names) > 1 or result.provenance.settings.get("grouping") != "shapes":
        return ""
    return (
        "There is only one recording, and in each an action is expected in one version: its states are less readily "
        "one action than those of several recordings would be. --grouping links looks at shapes alone."
    )


def states_in_words(states: list[int], shares: list[float]) -> str:
    """Return the states of an action; those with only some of their steps in it with their share.

    Examples
    --------
    >>> states_in_words([0, 3], [1.0, 0.2])
    '0, 3 (20 %)'
    """
    texts = [
        str(state) if share > 0.5 else f"{state} ({100 * share:.2g} %)"
        for state, share in zip(states, shares, strict=True)
    ]
    return ", ".join(texts) or "-"


def states_of(result: Segmentation) -> list[str]:
    """Return the states of each action, with shares of those that are mostly in another action."""
    steps = result.steps_by_action
    if steps is None:
        return []
    shares = steps / np.maximum(steps.sum(axis=1, keepdims=True), 1)
    found = [np.flatnonzero(column) for column in steps.T]
    return [states_in_words(states.tolist(), shares[states, action].tolist()) for action, states in enumerate(found)]
