"""Orientations as rotation vectors, and back."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from homothety.preprocessing import (
    _quaternion_inverse,
    _quaternion_product,
    middle_orientation,
    orientations,
    rotation_vectors,
)


def as_quaternions(rotations):
    """Quaternions, w first."""
    return np.roll(rotations.as_quat(), 1, axis=-1)


def as_rotations(quaternions):
    return Rotation.from_quat(np.roll(quaternions, -1, axis=-1))


@pytest.fixture
def swaying(rng):
    """Orientations that sway about one in the middle."""
    vectors = np.cumsum(rng.normal(scale=0.05, size=(200, 3)), axis=0)
    return as_quaternions(Rotation.from_rotvec(vectors - vectors.mean(axis=0)) * Rotation.from_rotvec([0.3, 2.0, -1.0]))


def test_vectors_are_rotations_from_the_middle(swaying):
    middle = middle_orientation(swaying)
    found = rotation_vectors(swaying, middle)
    expected = (as_rotations(swaying) * as_rotations(middle).inv()).as_rotvec()
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=0.05)


def test_signs_do_not_matter(rng, swaying):
    signs = rng.choice([-1.0, 1.0], size=(len(swaying), 1))
    found = [rotation_vectors(one, middle_orientation(one)) for one in (swaying, signs * swaying)]
    np.testing.assert_allclose(found[0], found[1], atol=1e-9)


def test_vectors_turn_with_the_recording_and_not_with_the_grip(swaying):
    frame, grip = (as_quaternions(Rotation.from_rotvec(one)) for one in ([1.0, -0.4, 2.0], [0.1, 3.0, 0.2]))
    moved = _quaternion_product(_quaternion_product(frame, swaying), grip)
    before, after = (rotation_vectors(one, middle_orientation(one)) for one in (swaying, moved))
    np.testing.assert_allclose(after, before @ as_rotations(frame).as_matrix().T, atol=1e-9)


def test_a_turn_may_go_on_beyond_half_a_turn():
    angles = np.linspace(-0.5, 1.4, 100) * np.pi
    turning = as_quaternions(Rotation.from_rotvec(angles[:, None] * [0, 0, 1]))
    np.testing.assert_allclose(rotation_vectors(turning, np.array([1.0, 0, 0, 0]))[:, 2], angles, atol=1e-12)


def test_there_and_back(swaying):
    middle = middle_orientation(swaying)
    back = orientations(rotation_vectors(swaying, middle), middle)
    np.testing.assert_allclose(np.abs((back * swaying).sum(axis=1)), 1.0)
    np.testing.assert_allclose(_quaternion_product(middle, _quaternion_inverse(middle)), [1, 0, 0, 0], atol=1e-12)
