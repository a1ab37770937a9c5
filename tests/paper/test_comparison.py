from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from paper import printed
from paper.comparison import (
    IMPOSSIBLE_NOTE,
    Method,
    comparison_notes,
    comparison_tasks,
    printed_cell,
    printed_mean,
    score_labels,
)
from paper.plan import Effort
from paper.sets import RESTRICTED_NOTE

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
    assert printed_cell(printed.TABLE_3, eth80, "crp", "NMI") == "1.800 (0.632) †"
    assert printed_cell(printed.TABLE_3, eth80, "crp", "K") == "1.800 (0.632)"
    assert np.isnan(printed_mean(printed.TABLE_3, eth80, crp, "NMI"))
    assert printed_mean(printed.TABLE_3, eth80, crp, "F") == 0.338


def test_what_was_not_printed_is_a_dash(small_set):
    assert printed_cell(printed.TABLE_3, replace(small_set, key="eth80-images"), "crp", "NMI") == "-"


def test_notes_explain_the_marks_that_occur(small_set):
    assert comparison_notes([small_set], printed.TABLE_3) == []
    assert comparison_notes([replace(small_set, restricted=True)], printed.TABLE_3) == [RESTRICTED_NOTE]
    assert comparison_notes([replace(small_set, key="eth80")], printed.TABLE_3) == [IMPOSSIBLE_NOTE]


def test_a_set_may_be_compared_with_the_rows_of_another(small_set):
    scaled = replace(small_set, key="toy-6d-scaled", printed_as="toy-6d")
    assert printed_cell(printed.TABLE_3, scaled, "crp", "NMI") == "0.633 (0.342)"
