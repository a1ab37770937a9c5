"""What counts as a labelling, and how two of them are tabulated."""

from __future__ import annotations

import numpy as np
import pytest

from homothety.errors import InputError
from homothety.metrics import ari, contingency_table, nmi
from homothety.metrics.clustering import count_overlaps


def test_table_of_overlaps():
    truth = [1] * 6 + [2] * 4
    estimate = [1] * 4 + [2] * 3 + [3] * 3
    np.testing.assert_array_equal(contingency_table(truth, estimate), [[4, 2, 0], [0, 1, 3]])


@pytest.mark.parametrize(
    "truth",
    [
        [10, 10, -3, -3, -3],
        np.array([10, 10, -3, -3, -3]),
        np.array([0.5, 0.5, 0.1, 0.1, 0.1]),
        ("b", "b", "a", "a", "a"),
        np.array(["b", "b", "a", "a", "a"]),
        [(1, "x"), (1, "x"), (0, "y"), (0, "y"), (0, "y")],
        [True, True, False, False, False],
        np.array([True, True, False, False, False]),
    ],
    ids=["ints", "int array", "float array", "strings", "string array", "tuples", "bools", "bool array"],
)
def test_any_hashable_label_in_ascending_order(truth):
    np.testing.assert_array_equal(contingency_table(truth, [0, 1, 1, 1, 2]), [[0, 2, 1], [1, 1, 0]])


def test_labels_that_cannot_be_compared_keep_their_order():
    np.testing.assert_array_equal(contingency_table([None, "1", 1, 1], [0, 0, 0, 1]), [[1, 0], [1, 0], [1, 1]])


def test_equal_values_of_different_types_are_one_label():
    assert nmi([1, 1.0, np.int64(1), 2], np.array([0, 0, 0, 1])) == 1


def test_object_array_is_told_apart_by_hashing():
    labels = np.array(["1", 1, 1], dtype=object)
    np.testing.assert_array_equal(contingency_table(labels, [0, 0, 0]), [[1], [2]])


@pytest.mark.parametrize("kind", [np.asarray, list], ids=["arrays", "lists"])
def test_sequences_are_joined(kind):
    truth = [kind([1, 1, 2]), kind([2, 2]), kind([1])]
    estimate = [kind([5, 5, 5]), kind([6, 6]), kind([5])]
    joined = contingency_table([1, 1, 2, 2, 2, 1], [5, 5, 5, 6, 6, 5])
    np.testing.assert_array_equal(contingency_table(truth, estimate), joined)
    np.testing.assert_array_equal(contingency_table(truth, np.concatenate(estimate)), joined)


def test_sequences_of_mixed_labels_are_not_coerced():
    np.testing.assert_array_equal(contingency_table([[1, "1"], ["1"]], [0, 0, 0]), [[1], [2]])


def test_a_sequence_may_be_empty_if_not_all_are():
    assert ari([[1, 1], [], [2]], [[4, 4], [], [3]]) == 1


def test_only_overlaps_that_occur_are_kept():
    n_items = 200_000  # the dense table would have 4e10 cells
    overlaps = count_overlaps(np.arange(n_items), np.arange(n_items)[::-1])
    assert len(overlaps.counts) == n_items
    assert ari(np.arange(n_items), np.arange(n_items)[::-1]) == 1


def test_marginals_are_sums_of_the_table(rng):
    overlaps = count_overlaps(rng.integers(0, 5, 100), rng.integers(0, 3, 100))
    np.testing.assert_array_equal(overlaps.dense().sum(axis=1), overlaps.class_sizes)
    np.testing.assert_array_equal(overlaps.dense().sum(axis=0), overlaps.cluster_sizes)
    assert overlaps.n_items == 100


@pytest.mark.parametrize(
    ("truth", "estimate", "message"),
    [
        ([], [], "truth and estimate are empty, needed at least one labelled item"),
        ([[], []], [[], []], "truth and estimate are empty"),
        ([1, 2], [1, 2, 3], "truth labels 2 items and estimate 3, needed one label each per item"),
        ([[1, 2], [3]], [[1], [2, 3]], "sequence 0 has 2 labels in truth and 1 in estimate"),
        (np.ones((2, 3)), np.ones(6), r"truth has shape \(2, 3\), needed a row of labels"),
        ([1, 2], np.array(3), r"estimate has shape \(\), needed a row of labels"),
        ([np.ones(2), np.ones((2, 1))], np.ones(4), r"truth\[1\] has shape \(2, 1\), needed a row of labels"),
        ([[1, 2], 3], [1, 2, 3], r"truth\[1\] is 3, needed a row of labels"),
        ([1, [2]], [1, 2], "truth holds a list as label of item 1, needed a hashable value"),
        ([1, 2, 3], [1.0, float("nan"), 2.0], "estimate is NaN for item 1, needed a label. Drop unlabelled items"),
        (np.array([np.nan, 1.0]), [1, 2], "truth is NaN for item 0"),
    ],
)
def test_unusable_labels_are_named(truth, estimate, message):
    with pytest.raises(InputError, match=message):
        contingency_table(truth, estimate)
