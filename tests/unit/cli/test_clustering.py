from __future__ import annotations

import numpy as np

from homothety.cli.figures import some_of_each


def test_some_of_each_takes_from_all_clusters_in_turn():
    labels = np.array([0] * 10 + [1] * 2 + [2] * 10)
    chosen = some_of_each(labels, 8)
    assert (np.diff(chosen) > 0).all()
    np.testing.assert_array_equal(np.bincount(labels[chosen]), [3, 2, 3])


def test_some_of_each_takes_all_if_there_are_few():
    np.testing.assert_array_equal(some_of_each(np.array([1, 0, 1]), 8), [0, 1, 2])
