"""Trivial partitions, where formulas meet 0/0, and options that do not exist."""

from __future__ import annotations

from math import copysign

import pytest

from homothety import metrics
from homothety.errors import InputError

BEST = {"purity": 1, "nmi": 1, "f_measure": 1, "hamming": 0, "gce": 0, "vi": 0, "ari": 1, "rand_index": 1}


@pytest.mark.parametrize("name", BEST)
@pytest.mark.parametrize(
    ("truth", "estimate"),
    [
        (["a"], [1]),
        (["a"] * 7, [1] * 7),
        (range(6), "fedcba"),
        ([1, 2, 2, 3, 3, 3], "abbccc"),
        ([1] * 49 + [2], [2] * 49 + [1]),
    ],
    ids=["one item", "one group", "all apart", "three groups", "one item off"],
)
def test_equal_partitions_score_best_exactly(name, truth, estimate):
    score = getattr(metrics, name)(truth, estimate)
    assert score == BEST[name]
    assert copysign(1, score) == 1  # never minus zero
    assert isinstance(score, float)


@pytest.mark.parametrize("average", ["geometric", "arithmetic"])
def test_nmi_is_zero_when_one_side_says_nothing(average):
    assert metrics.nmi([1, 1, 2], [1, 1, 1], average=average) == 0
    assert metrics.nmi([1, 1, 1], [1, 2, 3], average=average) == 0


def test_nmi_of_independent_labels_is_not_negative():
    truth = [0, 1, 2] * 21
    estimate = sorted(range(7)) * 9
    assert metrics.nmi(truth, sorted(estimate)) == pytest.approx(0, abs=1e-15)
    assert metrics.nmi(truth, sorted(estimate)) >= 0


def test_ari_can_be_worse_than_chance():
    assert metrics.ari([1, 1, 2, 2], [1, 2, 1, 2]) == -0.5


def test_unmatched_classes_and_clusters_are_errors():
    assert metrics.hamming([1, 2, 3, 3], [1, 1, 1, 1]) == 0.5
    assert metrics.hamming([1, 1, 1, 1], [1, 2, 3, 3]) == 0.5


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("nmi", {"average": "max"}, 'average is \'max\', needed "geometric" or "arithmetic"'),
        ("f_measure", {"beta": 0}, "beta is 0, needed a positive number"),
        ("f_measure", {"beta": float("nan")}, "beta is nan, needed a positive number"),
        ("hamming", {"matching": "greedy"}, 'matching is \'greedy\', needed "one-to-one" or "many-to-one"'),
        ("vi", {"base": 1}, "base is 1, needed a number above 1"),
    ],
)
def test_unknown_options_are_named(name, options, message):
    with pytest.raises(InputError, match=message):
        getattr(metrics, name)([1, 2], [1, 2], **options)
