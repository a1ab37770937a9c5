"""Rotations between frames: the smallest of all that fit, and everything that fits is known."""

from __future__ import annotations

from functools import partial
from itertools import product

import numpy as np
import pytest
from scipy.linalg import block_diag, logm
from scipy.stats import ortho_group, special_ortho_group

from homothety.covariance.rotation import (
    axes_of,
    blocks_from_gaps,
    equivalent_rotations,
    nearest_rotation,
    rotation_angle,
    told_apart,
)

ALL_DIMS = [1, 2, 3, 7]


def random_rotation(rng, n_dims):
    return np.eye(1) if n_dims == 1 else special_ortho_group.rvs(n_dims, random_state=rng)


def random_frame(rng, n_dims):
    """Axes in columns, of any handedness: eigenvectors are of no other kind."""
    return rng.choice([-1.0, 1.0], size=(1, 1)) if n_dims == 1 else ortho_group.rvs(n_dims, random_state=rng)


def random_turn_inside(rng, blocks):
    """Any orthogonal matrix that mixes axes of one block only."""
    return block_diag(*(random_frame(rng, int(n)) for n in np.bincount(blocks)))


def by_enumeration(start, end):
    """The proper rotation with the largest trace among all signs of the axes."""
    candidates = [end * np.array(signs) @ start.T for signs in product((1, -1), repeat=len(start))]
    return max((one for one in candidates if np.linalg.det(one) > 0), key=np.trace)


def disagreement(rng, method, n_dims, n_pairs=20):
    """How far a method is from the enumeration, over random frames."""
    pairs = [(random_frame(rng, n_dims), random_frame(rng, n_dims)) for _ in range(n_pairs)]
    return max(np.abs(method(*pair) - by_enumeration(*pair)).max() for pair in pairs)


@pytest.mark.parametrize("n_dims", ALL_DIMS)
def test_distinct_axes_have_the_smallest_rotation_of_all_signs(n_dims, rng):
    assert disagreement(rng, partial(nearest_rotation, blocks=np.arange(n_dims)), n_dims) < 1e-12


@pytest.mark.parametrize("n_dims", [3, 7])
def test_methods_with_a_fault_are_noticed(n_dims, rng):
    def reflections_too(start, end):
        return end * np.sign((start * end).sum(axis=0)) @ start.T

    def as_the_eigenvectors_come(start, end):
        return end @ start.T

    for broken in (reflections_too, as_the_eigenvectors_come):
        assert disagreement(rng, broken, n_dims) > 0.1


@pytest.mark.parametrize("n_dims", ALL_DIMS)
def test_a_known_rotation_is_recovered_up_to_what_cannot_be_told(n_dims, rng):
    start, true, blocks = random_frame(rng, n_dims), random_rotation(rng, n_dims), np.arange(n_dims)
    end = true @ start * rng.choice([-1.0, 1.0], size=n_dims)
    found = nearest_rotation(start, end, blocks)
    equivalents = list(equivalent_rotations(found, start, blocks))
    assert len(equivalents) == 2 ** (n_dims - 1)
    assert min(np.abs(one - true).max() for one in equivalents) < 1e-12
    np.testing.assert_allclose(equivalents[0], found, atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(equivalents), 1.0)
    # Told which one is meant, it is that one.
    np.testing.assert_allclose(nearest_rotation(start, end, blocks, true), true, atol=1e-12)


@pytest.mark.parametrize("blocks", [[0, 0], [0, 0, 1], [0, 1, 1], [0, 0, 1, 2, 2, 2, 3], [0, 0, 0]])
def test_axes_that_cannot_be_told_apart_have_no_say(blocks, rng):
    blocks = np.array(blocks)
    start, end = random_frame(rng, len(blocks)), random_frame(rng, len(blocks))
    found = nearest_rotation(start, end, blocks)
    np.testing.assert_allclose(np.linalg.det(found), 1.0)
    for _ in range(20):
        inner = random_turn_inside(rng, blocks)
        np.testing.assert_allclose(nearest_rotation(start, end @ inner, blocks), found, atol=1e-10)
        np.testing.assert_allclose(nearest_rotation(start @ inner, end, blocks), found, atol=1e-10)
        other = end @ inner @ start.T
        assert np.linalg.det(other) < 0 or np.trace(other) < np.trace(found) + 1e-12
    for block in range(blocks[-1] + 1):  # the plane of a block goes over into that of the same block
        inside = blocks == block
        projector = end[:, inside] @ end[:, inside].T
        np.testing.assert_allclose(projector @ found @ start[:, inside], found @ start[:, inside], atol=1e-12)


def test_spheres_are_not_turned(rng):
    found = nearest_rotation(random_frame(rng, 3), random_frame(rng, 3), np.zeros(3, dtype=int))
    np.testing.assert_allclose(found, np.eye(3), atol=1e-12)


def test_many_pairs_at_once_are_the_pairs_one_by_one(rng):
    start, end = ortho_group.rvs(4, 10, random_state=rng), ortho_group.rvs(4, 10, random_state=rng)
    blocks, target = np.array([0, 1, 1, 2]), random_rotation(rng, 4)
    one_by_one = [nearest_rotation(*pair, blocks, target) for pair in zip(start, end, strict=True)]
    np.testing.assert_allclose(nearest_rotation(start, end, blocks, target), one_by_one)
    assert nearest_rotation(start[:0], end[:0], blocks).shape == (0, 4, 4)


@pytest.mark.parametrize("n_dims", ALL_DIMS)
def test_angle_is_the_norm_of_the_logarithm(n_dims, rng):
    rotation = random_rotation(rng, n_dims)
    expected = np.degrees(np.linalg.norm(logm(rotation)) / np.sqrt(2))
    np.testing.assert_allclose(rotation_angle(rotation), expected, atol=1e-9)
    assert rotation_angle(np.eye(n_dims)) == 0


def test_axes_come_from_the_shortest(rng):
    frame = random_frame(rng, 3)
    axes = axes_of(np.stack([frame * [1.0, 4.0, 16.0] @ frame.T] * 2))
    np.testing.assert_allclose(axes.log_lengths, np.log([[1.0, 2.0, 4.0]] * 2), atol=1e-12)
    np.testing.assert_allclose(np.abs(axes.frames[0].T @ frame), np.eye(3), atol=1e-12)
    assert axes_of(np.array([[4.0]])).log_lengths == np.log(2.0)
    assert np.isfinite(axes_of(np.diag([0.0, 1.0])).log_lengths).all()


@pytest.mark.parametrize(("n_dims", "n_steps", "most"), [(2, 200, 0.02), (3, 12, 0.03), (7, 10, 0.06)])
def test_equal_axes_are_hardly_ever_told_apart(n_dims, n_steps, most, rng):
    points = rng.normal(size=(2000, n_steps, n_dims))
    centred = points - points.mean(axis=1, keepdims=True)
    lengths = axes_of(centred.swapaxes(1, 2) @ centred).log_lengths
    assert told_apart(lengths, n_steps - n_dims).any(axis=1).mean() < most


def test_axes_of_other_lengths_are_told_apart():
    assert told_apart(np.log([1.0, 2.0]), 40).all()
    assert not told_apart(np.log([1.0, 2.0]), 10).any()
    np.testing.assert_array_equal(blocks_from_gaps(np.array([True, False, True])), [0, 1, 1, 2])
    np.testing.assert_array_equal(blocks_from_gaps(np.array([], dtype=bool)), [0])
