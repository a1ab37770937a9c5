from __future__ import annotations

import pytest

from homothety.metrics import f_measure, gce, hamming, nmi, purity, vi
from paper.scores import format_metric, format_seconds, score, score_segmentation


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


def test_numbers_of_clusters_are_whole():
    assert format_metric([{"K": 3.0, "F": 1.0}], "K") == "3"
    assert format_metric([{"K": 3.0, "F": 1.0}], "F") == "1.000"


def test_what_no_run_has_is_a_dash():
    assert format_metric([{"K": 3.0}, {"K": 3.0}], "K_Z") == "-"


@pytest.mark.parametrize(("seconds", "text"), [(0.0123, "12.3 ms"), (2.7, "2.7 s"), (1416, "1416 s")])
def test_seconds(seconds, text):
    assert format_seconds(seconds) == text
