"""What is measured on recordings in blocks of channels: none of it depends on frames, states or noise that fills."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.spatial.transform import Rotation

from homothety.models.frames.frames import Blocks
from homothety.models.frames.measurements import block_weights, line_axes, resting_recordings
from homothety.sequences import check_sequences


def test_recordings_rest_that_move_little_in_all_blocks(rng):
    blocks = Blocks(("point", "vector"), 3)
    moving = rng.normal(size=(50, 6))
    resting = 1e-4 * moving
    only_turning = np.column_stack([1e-4 * moving[:, :3], moving[:, 3:]])
    found = resting_recordings(
        blocks, check_sequences([moving, resting, resting + np.repeat([5.0, 0.0], 3), only_turning])
    )
    assert found.tolist() == [False, True, True, False]


def autoregressive(rng, n_steps, correlation, n_dims):
    noise = rng.normal(size=(n_steps, n_dims)) * np.sqrt(1 - correlation**2)
    return lfilter([1.0], [1.0, -correlation], noise, axis=0)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.8])
def test_weights_of_autoregressive_steps(correlation, rng):
    steps = autoregressive(rng, 20_000, correlation, 3)
    path, starts = np.zeros(len(steps), dtype=np.int64), np.array([0, len(steps)])
    (weight,) = block_weights(Blocks(("point",), 3), steps, path, starts)
    by_mean, by_square = (1 - correlation) / (1 + correlation), (1 - correlation**2) / (1 + correlation**2)
    assert weight == pytest.approx(min(by_mean, by_square), rel=0.15)


def test_blocks_have_weights_of_their_own_and_states_do_not_count(rng):
    steps = np.column_stack([autoregressive(rng, 10_000, 0.8, 3), rng.normal(size=(10_000, 3))])
    path = np.repeat(np.arange(10_000) // 500 % 2, 1).astype(np.int64)
    starts = np.array([0, 5_000, 10_000])
    blocks = Blocks(("point", "vector"), 3)
    plain = block_weights(blocks, steps, path, starts)
    assert plain[0] == pytest.approx(0.2 / 1.8, rel=0.2)
    assert plain[1] == pytest.approx(1, abs=0.15)
    apart = block_weights(blocks, steps + 50.0 * path[:, None], path, starts)
    np.testing.assert_allclose(apart, plain, rtol=1e-6)


def test_weights_do_not_depend_on_the_frame(rng):
    steps = autoregressive(rng, 2_000, 0.6, 3)
    path, starts = np.zeros(len(steps), dtype=np.int64), np.array([0, len(steps)])
    turn = Rotation.from_quat(rng.normal(size=4)).as_matrix()
    blocks = Blocks(("point",), 3)
    moved = block_weights(blocks, 7 * steps @ turn.T + 3, path, starts)
    np.testing.assert_allclose(moved, block_weights(blocks, steps, path, starts), rtol=1e-4)


def test_noise_does_not_count_in_the_weights_of_blocks(rng):
    path, starts = np.zeros(2000, dtype=int), np.array([0, 2000])
    slow = np.zeros((2000, 3))
    for t in range(1, 2000):
        slow[t] = 0.8 * slow[t - 1] + rng.normal(size=3)
    blocks = Blocks(("point",), 3)
    (expected,) = block_weights(blocks, slow, path, starts)
    slow[:, 1:] = rng.normal(size=(2000, 2))
    (found,) = block_weights(blocks, slow, path, starts, (1,))
    assert found == pytest.approx(expected, rel=0.3)


def test_lines_have_axes_where_nothing_else_tells_the_rotation_about_them(rng):
    line = np.outer(rng.normal(size=50), [0.0, 0.6, 0.8])
    recordings = check_sequences([line, rng.normal(size=(50, 3))], allow_constant=True)
    np.testing.assert_allclose(
        np.abs(line_axes(Blocks(("point",), 3), recordings)), [[0, 0.6, 0.8], [0, 0, 0]], atol=1e-9
    )
    assert not line_axes(Blocks(("point",), 3, "yaw"), recordings).any()
