from __future__ import annotations

import csv
from types import SimpleNamespace

import numpy as np
import pytest

from homothety import ICSCHMM
from homothety.cli.segmentation import Segmentation, describe_states, report, summarise, write_tables
from homothety.datasets import make_toy_2d
from homothety.words.actions import doubts, one_recording


def read_table(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def fitted() -> Segmentation:
    recordings = make_toy_2d(0, n_steps=40)
    model = ICSCHMM(n_chains=2, n_sweeps=20, random_state=0).fit(recordings.sequences)
    return Segmentation(recordings, model, "toy", 0.0)


def test_actions_are_told_of_steps_segments_and_states(fitted, tmp_path):
    model, names = fitted.model, fitted.items.names
    write_tables(fitted, tmp_path)
    labels = read_table(tmp_path / "labels.csv")
    assert [int(row["action"]) for row in labels] == np.concatenate(model.actions_).tolist()
    for column, known in (
        ("action_probability", model.action_probability_),
        ("action_change_probability", model.action_change_probability_),
    ):
        np.testing.assert_allclose([float(row[column]) for row in labels], np.concatenate(known), atol=1e-4)

    for row, one in zip(read_table(tmp_path / "segments.csv"), model.segments_, strict=True):
        steps = model.actions_[one.series][one.start : one.end].tolist()
        assert steps.count(int(row["action"])) == max(steps.count(action) for action in steps)
    merged = read_table(tmp_path / "action_segments.csv")
    rebuilt = [int(row["action"]) for row in merged for _ in range(int(row["start"]), int(row["end"]))]
    assert rebuilt == np.concatenate(model.actions_).tolist()
    assert [row["series"] for row in merged] == [names[one.series] for one in model.action_segments_]

    states = describe_states(fitted)
    assert [one["action"] for one in states["states"]] == model.state_actions_.tolist()
    np.testing.assert_allclose(states["coaction_probs"], model.coaction_, atol=1e-4)
    assert sorted(k for one in states["actions"] for k in one["states"]) == list(range(model.n_states_))
    assert sum(one["steps"] for one in states["actions"]) == fitted.items.n_steps
    assert summarise(fitted)["actions"] == model.n_actions_


@pytest.mark.parametrize(
    ("coaction", "said"),
    [
        ([[1.0]], "There is but one state"),
        ([[1.0, 0.95], [0.95, 1.0]], "Which states are one action is clear: 90% of the kept sweeps"),
        ([[1.0, 0.05], [0.05, 1.0]], "Which states are one action is clear"),
        (
            [[1, 0.2, 0.5], [0.2, 1, 0], [0.5, 0, 1]],
            "(in brackets how probable it is): 0 and 2 (0.50), 0 and 1 (0.20).",
        ),
        (np.full((5, 5), 0.5), "0 and 3 (0.50), 0 and 4 (0.50), 1 and 2 (0.50) and 5 more pairs."),
    ],
)
def test_doubt_about_actions_is_put_in_words(coaction, said):
    model = SimpleNamespace(n_states_=len(coaction), coaction_=np.array(coaction))
    assert said in doubts(model)


def test_the_report_lists_actions_and_whose_they_are(fitted):
    model, text = fitted.model, report(fitted)
    assert doubts(model) in text
    (row,) = [line for line in text.splitlines() if line.startswith("| 0 ")]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    n_series = sum(0 in path for path in model.actions_)
    assert cells[1] == ", ".join(map(str, np.flatnonzero(model.state_actions_ == 0)))
    assert cells[2:4] == [str(np.sum(np.concatenate(model.actions_) == 0)), f"{n_series} of 4"]


@pytest.mark.parametrize(
    ("n_series", "grouping", "is_said"), [(1, "shapes", True), (2, "shapes", False), (1, "links", False)]
)
def test_one_recording_is_remarked_on_where_it_matters(n_series, grouping, is_said):
    model = SimpleNamespace(paths_=[np.zeros(3, dtype=int)] * n_series, grouping=grouping)
    assert bool(one_recording(model)) == is_said
