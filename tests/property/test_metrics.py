"""What holds of the metrics for every pair of labellings."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_metrics
from homothety import metrics

relaxed = settings(deadline=None, max_examples=60)  # how long an example takes is no property of a metric

METRICS = ["purity", "inverse_purity", "nmi", "f_measure", "hamming", "gce", "vi", "ari", "rand_index"]
SYMMETRIC = ["nmi", "hamming", "gce", "vi", "ari", "rand_index"]
ERRORS = {"hamming", "gce", "vi"}  # zero is best; for the others one is


def labellings(n_labellings, max_items=9, n_labels=4):
    """Draw several labellings of the same few items."""
    labels = st.lists(st.tuples(*[st.integers(0, n_labels - 1)] * n_labellings), min_size=1, max_size=max_items)
    return labels.map(lambda rows: [list(column) for column in zip(*rows, strict=True)])


def close(value):
    return pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("name", METRICS)
@relaxed
@given(pair=labellings(2, max_items=8))
def test_equals_its_slow_twin(name, pair):
    assert getattr(metrics, name)(*pair) == close(getattr(naive_metrics, name)(*pair))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("nmi", {"average": "arithmetic"}),
        ("f_measure", {"beta": 2.0}),
        ("f_measure", {"beta": 0.5}),
        ("hamming", {"matching": "many-to-one"}),
        ("vi", {"base": 10}),
    ],
)
@relaxed
@given(pair=labellings(2))
def test_options_equal_those_of_the_slow_twin(name, options, pair):
    assert getattr(metrics, name)(*pair, **options) == close(getattr(naive_metrics, name)(*pair, **options))


@pytest.mark.parametrize("name", METRICS)
@relaxed
@given(pair=labellings(2), names=st.permutations("wxyz"), offset=st.integers(-5, 5))
def test_renaming_labels_changes_nothing(name, pair, names, offset):
    truth, estimate = pair
    renamed = getattr(metrics, name)([names[label] for label in truth], [label * 7 + offset for label in estimate])
    assert renamed == close(getattr(metrics, name)(truth, estimate))


@pytest.mark.parametrize("name", METRICS)
@relaxed
@given(pair=labellings(2), data=st.data())
def test_order_of_items_does_not_matter(name, pair, data):
    order = data.draw(st.permutations(range(len(pair[0]))))
    shuffled = [[labels[item] for item in order] for labels in pair]
    assert getattr(metrics, name)(*shuffled) == close(getattr(metrics, name)(*pair))


@pytest.mark.parametrize("name", METRICS)
@relaxed
@given(pair=labellings(2), cut=st.integers(0, 9))
def test_cutting_into_sequences_changes_nothing(name, pair, cut):
    pieces = [[labels[:cut], np.array(labels[cut:], dtype=int)] for labels in pair]
    assert getattr(metrics, name)(*pieces) == close(getattr(metrics, name)(*pair))


@pytest.mark.parametrize("name", SYMMETRIC)
@relaxed
@given(pair=labellings(2))
def test_symmetry(name, pair):
    assert getattr(metrics, name)(*pair) == close(getattr(metrics, name)(*reversed(pair)))


@pytest.mark.parametrize("name", ["purity", "f_measure"])
def test_purity_and_f_are_not_symmetric(name):
    pair = ([1] * 6 + [2] * 4, [1] * 4 + [2] * 3 + [3] * 3)
    assert getattr(metrics, name)(*pair) != close(getattr(metrics, name)(*reversed(pair)))


@pytest.mark.parametrize("name", METRICS)
@relaxed
@given(pair=labellings(2))
def test_equal_partitions_score_best_and_none_better(name, pair):
    truth, estimate = pair
    best = 0 if name in ERRORS else 1
    assert getattr(metrics, name)(truth, truth) == best
    score = getattr(metrics, name)(truth, estimate)
    assert score >= best if name in ERRORS else score <= best


@relaxed
@given(pair=labellings(2))
def test_ranges(pair):
    n_items = len(pair[0])
    assert 0 < metrics.purity(*pair) <= 1
    assert 0 < metrics.f_measure(*pair) <= 1
    assert 0 <= metrics.nmi(*pair) <= 1
    assert 0 <= metrics.rand_index(*pair) <= 1
    assert 0 <= metrics.hamming(*pair) < 1
    assert 0 <= metrics.gce(*pair) < 1
    assert 0 <= metrics.vi(*pair) <= log2(n_items) + 1e-12


@relaxed
@given(three=labellings(3, max_items=12))
def test_vi_satisfies_the_triangle_inequality(three):
    first, second, third = three
    assert metrics.vi(first, third) <= metrics.vi(first, second) + metrics.vi(second, third) + 1e-12


@relaxed
@given(pair=labellings(2))
def test_gce_is_zero_exactly_when_one_partition_refines_the_other(pair):
    truth, estimate = pair
    finer = list(zip(truth, estimate, strict=True))
    assert metrics.gce(truth, finer) == 0
    n_cells = len(set(finer))
    refines = n_cells in (len(set(truth)), len(set(estimate)))
    assert (metrics.gce(truth, estimate) == 0) == refines


@relaxed
@given(pair=labellings(2))
def test_hamming_one_to_one_is_never_below_many_to_one(pair):
    assert metrics.hamming(*pair) >= metrics.hamming(*pair, matching="many-to-one")
    assert metrics.hamming(*pair, matching="many-to-one") == close(1 - metrics.purity(*pair))


@relaxed
@given(pair=labellings(2))
def test_geometric_nmi_is_never_below_arithmetic(pair):
    assert metrics.nmi(*pair) >= metrics.nmi(*pair, average="arithmetic") - 1e-12
