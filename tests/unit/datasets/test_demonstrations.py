"""Demonstrations of a task in several frames."""

import numpy as np
import pytest

from homothety.datasets import make_demonstrations
from homothety.datasets.synthetic import _HOME, _STROKE, _WORK
from homothety.errors import InputError


def test_they_are_the_same_again_for_the_same_seed():
    one, again, other = (make_demonstrations(seed) for seed in (3, 3, 4))
    assert all(np.array_equal(a, b) for a, b in zip(one.sequences, again.sequences, strict=True))
    assert len(one.sequences[0]) != len(other.sequences[0])


def test_frames_are_those_of_one_task_turned_resized_and_moved():
    # Without noise, the shape of an action in two frames differs only by how it happens to be performed.
    made = make_demonstrations(0, n_frames=2, n_per_frame=5, noise=0.0)
    steps, states = np.concatenate(made.sequences), np.concatenate(made.states)
    shapes = np.array([log_axes(steps[states == k]) for k in range(6)]).reshape(2, 3, 3)
    assert np.abs(shapes[0] - shapes[1]).max() < 0.25
    reach, stroke, back = shapes[0]
    assert min(np.abs(stroke - other).max() for other in (reach, back)) > 0.6
    sizes = [np.ptp(steps[np.isin(states, [3 * i, 3 * i + 1])], axis=0).max() for i in range(2)]
    assert sizes[0] != pytest.approx(sizes[1], rel=0.05)


def test_true_frames_are_kept():
    made = make_demonstrations(0, n_frames=2, n_per_frame=3, noise=0.0)
    frames = made.frames
    assert frames.label.tolist() == [0, 0, 0, 1, 1, 1]
    np.testing.assert_allclose(
        frames.rotation @ frames.rotation.swapaxes(1, 2), np.tile(np.eye(3), (6, 1, 1)), atol=1e-12
    )
    np.testing.assert_allclose(np.linalg.det(frames.rotation), 1)
    for one, rotation, size, origin, _ in zip(made.sequences, *frames, strict=True):
        # The first reach of every demonstration begins at home and ends at the far end of a stroke.
        canonical = (one - origin) @ rotation / size
        np.testing.assert_allclose(canonical[0], _HOME, atol=1e-12)
        assert np.linalg.norm(canonical - (_WORK + _STROKE), axis=1).min() < 1e-12


def test_the_same_seed_makes_the_same_data_as_ever():
    # Noted before the truth of frames was kept.
    made = make_demonstrations(0)
    assert [len(one) for one in made.sequences] == [1333, 873, 847, 868, 840, 1390]
    np.testing.assert_allclose(made.sequences[0][0], [-0.8092689323153031, -0.16617989106392184, -0.1277710195872484])
    np.testing.assert_allclose(made.sequences[-1][-1], [-0.5208766862179467, -0.10455435931494161, 0.6289071317328877])


def log_axes(points):
    """Logarithms of axis lengths relative to the longest, down to a twentieth."""
    logs = 0.5 * np.log(np.maximum(np.linalg.eigvalsh(np.cov(points.T)), 1e-12))
    return np.maximum(logs - logs.max(), -3.0)


def test_hands_do_not_jump():
    made = make_demonstrations(1, n_frames=1, n_per_frame=1, noise=0.0)
    moves = np.linalg.norm(np.diff(made.sequences[0], axis=0), axis=1)
    assert moves.max() < 10 * np.median(moves)


def test_actions_follow_each_other():
    made = make_demonstrations(2)
    for path in made.actions:
        order = path[np.flatnonzero(np.diff(path, prepend=-1))]
        assert order.tolist() == [0, 1, 2] * (len(order) // 3)


@pytest.mark.parametrize(("options", "named"), [({"n_frames": 0}, "n_frames"), ({"noise": -1.0}, "noise")])
def test_settings_that_make_no_sense_are_refused(options, named):
    with pytest.raises(InputError, match=named):
        make_demonstrations(0, **options)
