from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fabricated import make_recordings, make_segmentation, with_parts
from homothety import ICSCHMM
from homothety.datasets import make_toy_2d
from homothety.report import describe, render_text
from homothety.report.sentences import doubts, one_recording, states_of
from homothety.summaries.tables import describe_states, summarise_segmentation

if TYPE_CHECKING:
    from homothety.summaries.result import Segmentation


@pytest.fixture(scope="module")
def fitted() -> Segmentation:
    recordings = make_toy_2d(0, n_steps=40)
    return ICSCHMM(n_chains=2, n_sweeps=20, random_state=0).fit(recordings).result_


def test_actions_are_told_of_steps_segments_and_states(fitted):
    actions, tables = fitted.actions, {name: list(rows) for name, rows in fitted.tables().items()}
    labels = tables["labels"]
    assert [row["action"] for row in labels] == actions.flat.tolist()
    for column, known in (("action_probability", actions.sure), ("action_change_probability", actions.changes)):
        np.testing.assert_allclose([row[column] for row in labels], known, atol=1e-4)

    for row, one in zip(tables["segments"], fitted.states.segments, strict=True):
        steps = actions.paths[one.series][one.start : one.end].tolist()
        assert steps.count(row["action"]) == max(steps.count(action) for action in steps)
    merged = tables["action_segments"]
    rebuilt = [row["action"] for row in merged for _ in range(row["start"], row["end"])]
    assert rebuilt == actions.flat.tolist()
    assert [row["series"] for row in merged] == [fitted.names[one.series] for one in actions.segments]

    states = describe_states(fitted)
    assert [one["action"] for one in states["states"]] == fitted.state_actions.tolist()
    np.testing.assert_allclose(states["coaction_probs"], fitted.coaction, atol=1e-4)
    assert {k for one in states["actions"] for k in one["states"]} == set(range(fitted.states.number))
    assert sum(one["steps"] for one in states["actions"]) == len(actions.flat)
    assert summarise_segmentation(fitted)["actions"] == actions.number


def test_tables_of_states_and_actions_cannot_contradict_each_other():
    """A state of which some steps are in another action is listed in both, with its share."""
    result = make_segmentation(make_recordings()).result_
    flat = result.actions.flat.copy()
    flat[np.flatnonzero(result.states.flat == 2)[:30]] = 2  # a sixth of state 2, whose action is 1
    result = with_parts(SimpleNamespace(result_=result), actions=replace(result.actions, flat=flat)).result_
    assert states_of(result) == ["0, 1", "2", "2 (17 %), 3"]
    listed = {one["action"]: one["states"] for one in describe_states(result)["actions"]}
    assert all(row["state"] in listed[row["action"]] for row in result.tables()["segments"])


@pytest.mark.parametrize(
    ("coaction", "said"),
    [
        ([[1.0]], "There is only one state"),
        ([[1.0, 0.95], [0.95, 1.0]], "Which states are one action is clear: 90% of the kept sweeps"),
        ([[1.0, 0.05], [0.05, 1.0]], "Which states are one action is clear"),
        (
            [[1, 0.2, 0.5], [0.2, 1, 0], [0.5, 0, 1]],
            "(agreement, the share of kept sweeps, in brackets): 0 and 2 (0.50), 0 and 1 (0.20).",
        ),
        (np.full((5, 5), 0.5), "0 and 3 (0.50), 0 and 4 (0.50), 1 and 2 (0.50) and 5 more pairs."),
    ],
)
def test_doubt_about_actions_is_put_in_words(coaction, said):
    assert said in doubts(np.array(coaction))


def test_the_terminal_lists_actions_and_whose_they_are(fitted):
    text = render_text(describe(fitted))
    assert doubts(fitted.coaction) in text
    (row,) = [line for line in text.splitlines() if line.startswith("| 0 ")]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[4] == states_of(fitted)[0]
    assert (cells[1], cells[3]) == (str(fitted.actions.counts[0]), f"{fitted.actions.active[:, 0].sum()} of 4")


@pytest.mark.parametrize(
    ("n_recordings", "grouping", "is_said"), [(1, "shapes", True), (2, "shapes", False), (1, "links", False)]
)
def test_one_recording_is_remarked_on_where_it_matters(n_recordings, grouping, is_said):
    result = SimpleNamespace(
        names=("a", "b")[:n_recordings], provenance=SimpleNamespace(settings={"grouping": grouping})
    )
    assert bool(one_recording(result)) == is_said
