from __future__ import annotations

import numpy as np

from homothety.cli.clustering import membership
from homothety.cli.figures import some_of_each


def test_membership_is_the_mean_over_the_other_members(rng):
    together = rng.uniform(size=(6, 6))
    together = (together + together.T) / 2
    np.fill_diagonal(together, 1.0)
    labels = np.array([0, 1, 0, 1, 1, 2])
    expected = [
        together[0, 2],
        together[1, [3, 4]].mean(),
        together[2, 0],
        together[3, [1, 4]].mean(),
        together[4, [1, 3]].mean(),
        1 - together[5, :5].max(),
    ]
    np.testing.assert_allclose(membership(together, labels), expected)


def test_a_single_matrix_is_sure_of_its_cluster():
    np.testing.assert_array_equal(membership(np.ones((1, 1)), np.array([0])), [1.0])


def test_some_of_each_takes_from_all_clusters_in_turn():
    labels = np.array([0] * 10 + [1] * 2 + [2] * 10)
    chosen = some_of_each(labels, 8)
    assert (np.diff(chosen) > 0).all()
    np.testing.assert_array_equal(np.bincount(labels[chosen]), [3, 2, 3])


def test_some_of_each_takes_all_if_there_are_few():
    np.testing.assert_array_equal(some_of_each(np.array([1, 0, 1]), 8), [0, 1, 2])
