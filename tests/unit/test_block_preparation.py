"""Preparation of blocks: strides, sizes and weights that no frame of a recording changes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from homothety.block_preparation import check_lengths, filled, motion_stride, prepare_blocks
from homothety.datasets import make_demonstrations
from homothety.errors import InputError
from homothety.models.frames.frames import Blocks
from homothety.models.frames.measurements import (
    place_prior,
    spans_of,
    typical_size,
)
from homothety.sequences import check_sequences


@pytest.fixture(scope="module")
def recordings():
    return make_demonstrations(0, n_frames=2, n_per_frame=1).sequences


def in_other_frames(rng, recordings):
    turns = [Rotation.from_quat(rng.normal(size=4)).as_matrix() for _ in recordings]
    sizes = np.exp(rng.uniform(-1, 1, size=len(recordings)))
    return [
        size * one @ turn.T + 5 * rng.normal(size=3) for one, turn, size in zip(recordings, turns, sizes, strict=True)
    ]


def test_strides_do_not_depend_on_frames(rng, recordings):
    assert motion_stride(in_other_frames(rng, recordings)) == motion_stride(recordings)


@pytest.mark.parametrize("noise", [0.002, 0.01])
def test_strides_do_not_depend_on_noise(noise, rng, recordings):
    clean = make_demonstrations(0, n_frames=2, n_per_frame=1, noise=0.0).sequences
    noisy = [one + noise * rng.normal(size=one.shape) for one in clean]
    assert abs(motion_stride(noisy) - motion_stride(clean)) <= 1


@pytest.mark.parametrize("period", [40, 80, 400])
def test_a_stride_is_an_eighth_of_a_swing(period):
    time = 2 * np.pi * np.arange(4000) / period
    swing = np.column_stack([np.sin(time), 0.3 * np.cos(time)])
    assert motion_stride([swing]) == pytest.approx(period / 8, abs=max(2, 0.1 * period / 8))


def test_steps_that_follow_no_path_have_no_stride_and_no_velocities(rng):
    steps = check_sequences([rng.normal(size=(300, 3)) for _ in range(2)])
    assert motion_stride(list(steps)) is None
    preparation, blocks = prepare_blocks(steps, ["point"], 3)
    assert preparation.settings.stride == 1
    assert blocks.kinds == ("point",)
    assert prepare_blocks(steps, ["point"], 3, velocities=True)[1].kinds == ("point", "vector")


@pytest.mark.parametrize(("kinds", "stride"), [(["vector"], 10), (["plain"] * 3, 10), (["point"], 1)])
def test_long_recordings_without_points_use_five_hundred_steps(kinds, stride, rng):
    steps = check_sequences([rng.normal(size=(n, 3)) for n in (4000, 5000, 9000)])
    assert prepare_blocks(steps, kinds, 3)[0].settings.stride == stride


def test_prepared_blocks_have_size_one_and_vectors_are_not_centred(recordings):
    given = check_sequences([np.column_stack([one, 3 + 0.1 * one, one[:, :1]]) for one in recordings])
    preparation, blocks = prepare_blocks(given, ["point", "vector", "plain"], 3, subsample=5)
    assert blocks.kinds == ("point", "vector", "plain", "vector")
    prepared = list(preparation.transform(given))
    for b, block in enumerate(blocks.slices):
        about_zero = b not in blocks.placed and blocks.kinds[b] == "vector"
        assert typical_size([one[:, block] for one in prepared], about_zero=about_zero) == pytest.approx(1)
        assert len(set(preparation.factors[block])) == 1
    np.testing.assert_array_equal(preparation.offset[[3, 4, 5, 7, 8, 9]], 0)


def test_zeros_of_vectors_differ_as_much_as_medians_do(rng, recordings):
    given = [np.column_stack([one, rng.normal(size=one.shape)]) for one in recordings]
    shift = 5.0 * np.arange(len(given))
    for added, differ in ((0.0, False), (1.0, True)):
        shifted = [one + added * np.array([0, 0, 0, 0, 0, by]) for one, by in zip(given, shift, strict=True)]
        preparation, blocks = prepare_blocks(check_sequences(shifted), ["point", "vector"], 3, subsample=5)
        prepared = preparation.transform(check_sequences(shifted))
        mean, spread = place_prior(blocks, prepared)
        medians = np.array([np.median(one[:, 3:6], axis=0) for one in prepared])
        assert spread[1] == pytest.approx(np.sqrt(medians.var(axis=0).mean()))
        assert (spread[1] > 1.0) == differ
        np.testing.assert_allclose(mean[1], medians.mean(axis=0))


def test_frames_change_prepared_recordings_by_a_frame_only(rng, recordings):
    both = [check_sequences(each) for each in (recordings, in_other_frames(rng, recordings))]
    settings = []
    for each in both:
        preparation, blocks = prepare_blocks(each, ["point"], 3)
        settings.append((preparation.settings.stride, preparation.settings.smooth, blocks))
    assert settings[0] == settings[1]


def test_short_recordings_are_named():
    recordings = check_sequences([np.eye(100, 3), np.eye(20, 3)])
    blocks = Blocks(("point",), 3)
    check_lengths(recordings, blocks, 4)
    with pytest.raises(InputError, match=r"Recording 1 \(series 1\) has 20 steps, needed at least 21: one of 5 steps"):
        check_lengths(recordings, blocks, 5)
    check_lengths(recordings, Blocks(("plain",) * 3, 3), 5)


def test_noise_fills_only_directions_in_which_no_recording_extends(rng):
    blocks = Blocks(("point",), 3)
    flat, solid = rng.normal(size=(200, 3)) * [1, 2, 0], rng.normal(size=(200, 3))
    planes = check_sequences([flat, flat[:, [2, 0, 1]]], allow_constant=True)
    assert spans_of(blocks, planes) == (2,)
    noisy = filled(blocks, (2,), planes)
    for one, plane, normal in zip(noisy, planes, (2, 0), strict=True):
        np.testing.assert_allclose(np.delete(one - plane, normal, axis=1), 0, atol=1e-12)
        assert one[:, normal].std() == pytest.approx(0.3 * np.sqrt(5 / 3), rel=0.2)
    mixed = check_sequences([flat, solid], allow_constant=True)
    assert spans_of(blocks, mixed) == (3,)
    assert filled(blocks, (3,), mixed) is mixed
    np.testing.assert_array_equal(filled(blocks, (2,), mixed)[1], solid)


def test_noise_grows_and_turns_with_its_recording(rng):
    blocks = Blocks(("point",), 3)
    flat, turn = rng.normal(size=(50, 3)) * [3, 2, 0], Rotation.from_rotvec([1.0, 2.0, 0.5]).as_matrix()
    one, other = (
        filled(blocks, (2,), check_sequences([steps], allow_constant=True))[0] for steps in (flat, 5 * flat @ turn.T)
    )
    np.testing.assert_allclose(np.linalg.svd(other - 5 * flat @ turn.T)[1], 5 * np.linalg.svd(one - flat)[1], atol=1e-9)
