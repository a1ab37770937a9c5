from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from homothety.datasets.sets import anatomical_axes, voxel_sizes

DIRECTIONS = ("LR", "PA", "IS")


def codes_of(affine):
    """Return the letters of the directions in which the axes of the array run, as nibabel writes them."""
    codes = {
        axis.number: letters[axis.sign > 0] for axis, letters in zip(anatomical_axes(affine), DIRECTIONS, strict=True)
    }
    return tuple(codes[number] for number in range(3))


def affine_of(linear):
    affine = np.eye(4)
    affine[:3, :3] = linear
    return affine


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_axes_are_found_in_any_order_and_direction(order):
    for signs in product((-1, 1), repeat=3):
        linear = np.eye(3)[:, order] * signs * [1.5, 2.0, 4.0]
        expected = tuple(DIRECTIONS[direction][sign > 0] for direction, sign in zip(order, signs, strict=True))
        assert codes_of(affine_of(linear)) == expected
        np.testing.assert_allclose(voxel_sizes(affine_of(linear)), [1.5, 2.0, 4.0])


def test_oblique_images_are_as_nibabel_has_them():
    nibabel = pytest.importorskip("nibabel")
    for rotation in Rotation.random(200, random_state=0).as_matrix():
        affine = affine_of(rotation * [1.0, 2.0, 3.0])
        assert codes_of(affine) == nibabel.aff2axcodes(affine)


def test_an_affine_without_a_third_axis_still_has_three():
    affine = np.diag([2.0, 2.0, 0.0, 1.0])
    assert sorted(axis.number for axis in anatomical_axes(affine)) == [0, 1, 2]
