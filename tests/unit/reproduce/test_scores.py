from __future__ import annotations

import numpy as np
import pytest

from homothety.metrics import f_measure, gce, hamming, nmi, purity, vi
from homothety.reproduce.scores import format_cell, format_metric, format_seconds, score, score_segmentation, spread
from homothety.words.markdown import markdown_table


def test_score_has_the_columns_of_the_tables():
    truth, labels = [0, 0, 0, 1, 1], [7, 7, 8, 9, 9]
    assert score(truth, labels) == {
        "NMI": nmi(truth, labels),
        "purity": purity(truth, labels),
        "F": f_measure(truth, labels),
        "K": 3.0,
    }


def test_segmentations_have_the_columns_of_their_table():
    truth, labels = [0, 0, 0, 1, 1], [7, 7, 8, 9, 9]
    expected = {"Hamming": hamming(truth, labels), "GCE": gce(truth, labels), "VI": vi(truth, labels)}
    assert score_segmentation(truth, labels) == expected


def test_spread_is_the_papers():
    assert round(spread([3.0] * 9 + [2.0]), 3) == 0.316  # "2.900 (0.316)" of ten runs
    assert spread([1.0]) == 0.0


@pytest.mark.parametrize(
    ("values", "decimals", "text"),
    [
        ([0.5], 3, "0.500"),
        ([0.98, 0.988], 2, "0.98 (0.01)"),
        ([0.98, 0.981], 2, "0.98"),
        ([3.0] * 9 + [2.0], 0, "2.9 (0.3)"),
        ([3.0, 3.0], 0, "3"),
        ([], 3, "-"),
    ],
)
def test_cells(values, decimals, text):
    assert format_cell(values, decimals=decimals) == text


def test_numbers_of_clusters_are_whole():
    assert format_metric([{"K": 3.0, "F": 1.0}], "K") == "3"
    assert format_metric([{"K": 3.0, "F": 1.0}], "F") == "1.000"


def test_what_no_run_has_is_a_dash():
    assert format_metric([{"K": 3.0}, {"K": 3.0}], "K_Z") == "-"


@pytest.mark.parametrize(("seconds", "text"), [(0.0123, "12.3 ms"), (2.7, "2.7 s"), (1416, "1416 s")])
def test_seconds(seconds, text):
    assert format_seconds(seconds) == text


def test_tables_are_aligned_and_bars_in_cells_are_escaped():
    table = markdown_table(["a", "b"], [["x|y", 1], ["long\ncell", np.int64(22)]])
    lines = table.splitlines()
    assert len({len(line) for line in lines}) == 1
    assert r"x\|y" in lines[2]
    assert lines[1].startswith("| :-")
    assert lines[1].endswith("-: |")
