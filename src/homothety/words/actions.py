"""What is told of the actions of a segmentation: rows of tables, and words."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.words import SURE
from homothety.words.markdown import markdown_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homothety.estimators.action_reports import ReportsActions

EXPLANATION = "An action groups states that differ only in position, orientation and size."
IN_FRAMES = (
    "States are those of the aligned recordings. An action is one state, or several where there is evidence that they "
    "are pieces, or moved or turned copies, of one motion."
)
MAX_DOUBTS = 5  # pairs of states named in a sentence


def explanation(model: Any) -> str:
    """Return what an action is in a model."""
    return IN_FRAMES if hasattr(model, "frames_") else EXPLANATION


def columns_of_steps(model: ReportsActions, i: int) -> dict[str, list[Any]]:
    """Return the action of every step of a series, how sure it is, and how probable a change of action is at it."""
    return {
        "action": model.actions_[i].tolist(),
        "action_probability": np.round(model.action_probability_[i], 4).tolist(),
        "action_change_probability": np.round(model.action_change_probability_[i], 4).tolist(),
    }


def describe(model: ReportsActions, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the actions: which states and series have them, how many steps, and how sure these are on average."""
    actions, sure = np.concatenate(model.actions_), np.concatenate(model.action_probability_)
    return [
        {
            "action": number,
            "states": np.flatnonzero(model.state_actions_ == number).tolist(),
            "steps": int((actions == number).sum()),
            "series": [name for name, path in zip(names, model.actions_, strict=True) if number in path],
            "probability": round(float(sure[actions == number].mean()), 4),
        }
        for number in range(model.n_actions_)
    ]


def table(model: ReportsActions, names: Sequence[str]) -> str:
    """Return the actions as a table."""
    rows = [
        [
            one["action"],
            ", ".join(map(str, one["states"])) or "-",
            one["steps"],
            f"{len(one['series'])} of {len(names)}",
            f"{one['probability']:.2f}",
        ]
        for one in describe(model, names)
    ]
    return markdown_table(["action", "states", "steps", "recordings", "probability"], rows)


def doubts(model: ReportsActions) -> str:
    """Return in plain words which states may or may not be one action."""
    pairs = [(k, other, float(model.coaction_[k, other])) for k, other in combinations(range(model.n_states_), 2)]
    unclear = sorted((pair for pair in pairs if 1 - SURE < pair[2] < SURE), key=lambda pair: abs(pair[2] - 0.5))
    if not pairs:
        return "There is but one state, and so one action."
    if not unclear:
        return f"Which states are one action is clear: {SURE:.0%} of the kept sweeps or more agree on every two."
    named = ", ".join(f"{k} and {other} ({share:.2f})" for k, other, share in unclear[:MAX_DOUBTS])
    more = f" and {len(unclear) - MAX_DOUBTS} more pairs" * (len(unclear) > MAX_DOUBTS)
    return f"It is not clear whether these states are one action (in brackets how probable it is): {named}{more}."


def one_recording(model: ReportsActions) -> str:
    """Return what a single series means for actions; nothing if there are several, or nothing is taken for granted."""
    if len(model.paths_) > 1 or getattr(model, "grouping", None) != "shapes":
        return ""
    return (
        "There is only one recording, and in each an action is expected in one version: its states are less readily "
        "one action than those of several recordings would be. --grouping links looks at shapes alone."
    )
