"""How many steps say something new."""

from __future__ import annotations

import numpy as np
import pytest

from homothety.decorrelation import (
    MIN_KEPT,
    decorrelating_stride,
    directed_steps,
    mean_squared_displacement,
)


def circle(period, n_steps=2000):
    angle = 2 * np.pi * np.arange(n_steps) / period
    return np.column_stack([np.cos(angle), np.sin(angle)])


def slow_displacement(series, lag):
    """The definition: mean over all pairs `lag` steps apart of the squared distance in standard deviations."""
    deviations = np.concatenate(series).std(axis=0)
    moves = [(one[t + lag] - one[t]) / deviations for one in series for t in range(len(one) - lag)]
    return np.mean([move @ move for move in moves])


@pytest.mark.parametrize("lag", [1, 2, 7])
def test_displacement_is_its_definition(lag, rng):
    series = [rng.normal(size=(n, 3)) * [1, 10, 0.1] for n in (9, 6, 20)]
    np.testing.assert_allclose(mean_squared_displacement(series, lag), slow_displacement(series, lag))


def test_series_shorter_than_the_lag_do_not_count(rng):
    long, short = rng.normal(size=(50, 2)), rng.normal(size=(5, 2))
    variance = np.concatenate([long, short]).var(axis=0)
    expected = ((long[10:] - long[:-10]) ** 2 / variance).sum(axis=1).mean()
    np.testing.assert_allclose(mean_squared_displacement([long, short], 10), expected)


def test_independent_steps_are_all_looked_at(rng):
    series = [rng.normal(size=(500, 3)) for _ in range(3)]
    assert directed_steps(series) == 1
    assert decorrelating_stride(series) == 1


def test_a_circle_is_left_after_a_quarter_of_its_period():
    # |x(t + l) - x(t)|^2 = 2 - 2 cos(2 pi l / p) doubles with the lag until cos(2 pi l / p) = 0.
    for period in (40, 100, 200):
        assert abs(directed_steps([circle(period)]) - period / 4) <= 0.25 * period / 4 + 1


def test_a_swing_is_looked_at_about_four_times():
    looks = [period / decorrelating_stride([circle(period)]) for period in (40, 100, 200)]
    assert all(3 <= number <= 5 for number in looks)


def test_recording_twice_as_fast_doubles_the_stride():
    slow, fast = (decorrelating_stride([circle(period)]) for period in (80, 160))
    assert abs(fast / slow - 2) < 0.35


def test_units_of_a_dimension_do_not_matter(rng):
    series = [np.cumsum(np.cumsum(rng.normal(size=(400, 2)), axis=0), axis=0) for _ in range(2)]
    scaled = [one * [1.0, 2.0**20] for one in series]
    assert directed_steps(series) == directed_steps(scaled) > 1


def test_noise_on_a_slow_motion_does_not_hide_it(rng):
    motion = circle(200)
    assert decorrelating_stride([motion + 0.001 * rng.normal(size=motion.shape)]) > 5


def test_enough_steps_of_the_shortest_series_are_left():
    ramp = np.linspace(0, 1, 400)[:, None]  # goes on in one direction for ever
    assert decorrelating_stride([ramp]) == 400 // MIN_KEPT
    assert decorrelating_stride([ramp, ramp[:60]]) == 60 // MIN_KEPT
    assert decorrelating_stride([ramp, ramp[:10]]) == 1


@pytest.mark.parametrize("n_steps", [2, 3, 5])
def test_the_shortest_series_are_looked_at_step_by_step(n_steps):
    assert decorrelating_stride([np.linspace(0, 1, n_steps)[:, None]]) == 1


def test_a_dimension_that_stands_still_does_not_divide_by_zero():
    still = np.column_stack([circle(100), np.zeros(2000)])
    assert decorrelating_stride([still]) == decorrelating_stride([circle(100)])
