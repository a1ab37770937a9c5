from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from homothety.reproduce import paper
from homothety.reproduce.comparison import (
    IMPOSSIBLE_NOTE,
    Method,
    comparison_notes,
    comparison_results,
    comparison_tasks,
    printed_cell,
    printed_mean,
    score_labels,
)
from homothety.reproduce.plan import Effort, tried
from homothety.reproduce.sets import RESTRICTED_NOTE

ONE_CLUSTER = Method("one", "one cluster", lambda paper_set, effort, seed: np.zeros(len(paper_set), dtype=int))


def test_every_run_is_a_task_of_its_own(small_set):
    tasks = comparison_tasks([small_set], [ONE_CLUSTER], Effort(runs=3, seed=5), score_labels)
    assert [task.key for task in tasks] == [("toy-6d", "one")] * 3
    assert tasks[0].run() == {"NMI": 0.0, "purity": pytest.approx(1 / 3), "F": pytest.approx(0.5), "K": 1.0}


def test_runs_have_seeds_of_their_own(small_set):
    seeds = []
    noting = Method("m", "m", lambda paper_set, effort, seed: seeds.append(seed) or np.zeros(len(paper_set), dtype=int))
    for task in comparison_tasks([small_set], [noting], Effort(runs=3, seed=5), score_labels):
        task.run()
    assert seeds == [5, 6, 7]


def test_impossible_cells_are_marked_and_not_drawn(small_set):
    eth80 = replace(small_set, key="eth80")
    crp = replace(ONE_CLUSTER, key="crp")
    assert printed_cell(paper.TABLE_3, eth80, "crp", "NMI") == "1.800 (0.632) †"
    assert printed_cell(paper.TABLE_3, eth80, "crp", "K") == "1.800 (0.632)"
    assert np.isnan(printed_mean(paper.TABLE_3, eth80, crp, "NMI"))
    assert printed_mean(paper.TABLE_3, eth80, crp, "F") == 0.338


def test_what_was_not_printed_is_a_dash(small_set):
    assert printed_cell(paper.TABLE_3, replace(small_set, key="eth80-images"), "crp", "NMI") == "-"


def test_notes_explain_the_marks_that_occur(small_set):
    assert comparison_notes([small_set], paper.TABLE_3) == []
    assert comparison_notes([replace(small_set, restricted=True)], paper.TABLE_3) == [RESTRICTED_NOTE]
    assert comparison_notes([replace(small_set, key="eth80")], paper.TABLE_3) == [IMPOSSIBLE_NOTE]


def test_a_set_may_be_compared_with_the_rows_of_another(small_set):
    scaled = replace(small_set, key="toy-6d-scaled", printed_as="toy-6d")
    assert printed_cell(paper.TABLE_3, scaled, "crp", "NMI") == "0.633 (0.342)"


def test_results_leave_out_what_was_not_run(small_set):
    other = replace(ONE_CLUSTER, key="other")
    runs = [{"NMI": 0.0, "purity": 0.5, "F": 0.5, "K": 1.0}, {"NMI": 1.0, "purity": 1.0, "F": 1.0, "K": 3.0}]
    records = comparison_results([small_set], [ONE_CLUSTER, other], {("toy-6d", "one"): runs}, paper.TABLE_3)
    assert [record["metric"] for record in records] == list(paper.METRICS)
    assert records[3] == {
        "set": "toy-6d",
        "method": "one",
        "metric": "K",
        "mean": 2.0,
        "std": np.sqrt(2.0),
        "runs": 2,
        "paper": None,
    }


def test_sets_without_outcome_are_left_out(small_set):
    assert tried([small_set, replace(small_set, key="task")], {("task", "one"): []})[0].key == "task"
