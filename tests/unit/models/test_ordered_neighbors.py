"""Neighbours on a grid, against a search one by one."""

from __future__ import annotations

import numpy as np
import pytest

import naive
from homothety.errors import InputError
from homothety.models.ordered import grid_neighbors


@pytest.mark.parametrize("n_axes", [1, 2, 3])
@pytest.mark.parametrize("share", [0.2, 0.7, 1.0])
def test_neighbours_are_those_found_one_by_one(n_axes, share):
    rng = np.random.default_rng(n_axes)
    places = np.argwhere(rng.random((5, 3, 4)[:n_axes]) <= share) - 2
    rng.shuffle(places)
    np.testing.assert_array_equal(grid_neighbors(places), naive.grid_neighbors(places))


def test_places_may_be_far_apart():
    far = 2**40
    assert grid_neighbors([[0, far, -far], [0, far, 1 - far], [far, 0, 0]])[:, 4:].tolist() == [
        [-1, 1],
        [0, -1],
        [-1, -1],
    ]


@pytest.mark.parametrize(
    ("positions", "message"),
    [
        ([0, 1, 2], r"positions has shape \(3,\), needed \(n_items, n_axes\)"),
        (np.empty((3, 0)), r"positions has shape \(3, 0\)"),
        (
            [[0, 1], [0.5, 1]],
            r"positions\[1\] is \[0.5, 1.0\], needed whole numbers \(1 such of 2\): the indices of voxels",
        ),
        ([[0, np.nan]], r"positions\[0\] is \[0.0, nan\], needed whole numbers"),
        ([[3, 1], [0, 0], [3, 1]], r"positions\[0\] and positions\[2\] are both \[3, 1\] \(1 such pairs\)"),
        ([["a", "b"]], "positions has dtype"),
    ],
)
def test_bad_positions_are_named(positions, message):
    with pytest.raises(InputError, match=message):
        grid_neighbors(positions)
