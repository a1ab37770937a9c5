"""How many steps say something new."""

from __future__ import annotations

import numpy as np
import pytest

from homothety.decorrelation import (
    _MIN_KEPT,
    _MIN_KEPT_OF_SHORTEST,
    _correlations_in_stays,
    _in_own_size,
    decorrelating_stride,
    directed_steps,
    independent_share,
    mean_squared_displacement,
)


def circle(period, n_steps=2000):
    angle = 2 * np.pi * np.arange(n_steps) / period
    return np.column_stack([np.cos(angle), np.sin(angle)])


def slow_displacement(series, lag):
    """The definition: mean over all pairs `lag` steps apart of the squared distance."""
    moves = [one[t + lag] - one[t] for one in series for t in range(len(one) - lag)]
    return np.mean([move @ move for move in moves])


@pytest.mark.parametrize("lag", [1, 2, 7])
def test_displacement_is_its_definition(lag, rng):
    series = [rng.normal(size=(n, 3)) * [1, 10, 0.1] for n in (9, 6, 20)]
    np.testing.assert_allclose(mean_squared_displacement(series, lag), slow_displacement(series, lag))


def test_series_shorter_than_the_lag_do_not_count(rng):
    long, short = rng.normal(size=(50, 2)), rng.normal(size=(5, 2))
    expected = ((long[10:] - long[:-10]) ** 2).sum(axis=1).mean()
    np.testing.assert_allclose(mean_squared_displacement([long, short], 10), expected)


def test_where_a_series_is_and_how_large_does_not_matter(rng):
    series = [np.cumsum(rng.normal(size=(n, 3)), axis=0) for n in (300, 200)]
    moved = [3.0 * series[0] + [100.0, -5.0, 0.0], 0.2 * series[1] - 7.0]
    assert [np.mean(one**2) for one in _in_own_size(moved)] == pytest.approx([1.0, 1.0])
    assert directed_steps(moved) == directed_steps(series)


def test_a_recording_in_which_nothing_moves_has_no_say(rng):
    swings = [circle(80, 800) + 0.01 * rng.normal(size=(800, 2)) for _ in range(5)]
    resting = 1e-4 * rng.normal(size=(800, 2)) + 3.0
    assert directed_steps([*swings, resting]) == directed_steps(swings) > 10


def test_many_dimensions_are_looked_at_more_often():
    slow = np.tile(circle(2000), (1, 10))  # goes on for ever, in twenty dimensions
    assert decorrelating_stride([slow]) == 2000 // 20**2


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


@pytest.mark.parametrize("noise", [0.001, 0.05, 0.15])
def test_noise_on_a_slow_motion_does_not_hide_it(noise, rng):
    motion = circle(200)
    noisy = decorrelating_stride([motion + noise * rng.normal(size=motion.shape)])
    assert noisy == pytest.approx(decorrelating_stride([motion]), rel=0.3)


def test_enough_steps_are_left():
    ramp = np.linspace(0, 1, 400)[:, None]  # goes on in one direction for ever
    assert decorrelating_stride([ramp]) == 400 // _MIN_KEPT
    assert decorrelating_stride([ramp, ramp[:60], ramp[:100]]) == 100 // _MIN_KEPT
    assert decorrelating_stride([ramp, ramp, ramp[:10]]) == 10 // _MIN_KEPT_OF_SHORTEST


def test_a_demonstration_that_was_broken_off_does_not_decide_for_all():
    motion = circle(100)
    assert decorrelating_stride([motion, motion, motion[:100]]) == decorrelating_stride([motion, motion])


@pytest.mark.parametrize("n_steps", [2, 3, 5])
def test_the_shortest_series_are_looked_at_step_by_step(n_steps):
    assert decorrelating_stride([np.linspace(0, 1, n_steps)[:, None]]) == 1


def test_a_dimension_that_stands_still_does_not_divide_by_zero():
    still = np.column_stack([circle(100), np.zeros(2000)])
    assert decorrelating_stride([still]) == decorrelating_stride([circle(100)])


# --- how much a step counts ------------------------------------------------------------------------------------------


def autoregression(rng, correlation, n_steps=4000, n_dims=2):
    """A stationary series in which every step is correlated with the next by as much as is said."""
    series = rng.normal(size=(n_steps, n_dims))
    for t in range(1, n_steps):
        series[t] = correlation * series[t - 1] + np.sqrt(1 - correlation**2) * series[t]
    return series


def edges(*lengths):
    return np.cumsum([0, *lengths])


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_correlation_of_successive_steps_is_found(correlation, rng):
    series = [autoregression(rng, correlation), autoregression(rng, correlation, 2000)]
    share = independent_share(np.concatenate(series), edges(4000, 2000))
    assert share == pytest.approx((1 - correlation) / (1 + correlation), abs=0.06)


def test_share_is_that_of_the_variance_of_a_mean(rng):
    correlation, n_steps = 0.7, 200
    means = [autoregression(rng, correlation, n_steps, 1).mean() for _ in range(1000)]
    independent = 1 / (n_steps * (1 - correlation) / (1 + correlation))
    assert np.var(means) == pytest.approx(independent, rel=0.15)


@pytest.mark.parametrize(("n_steps", "n_dims"), [(25, 6), (50, 14)])
def test_few_independent_steps_in_many_dimensions_count_nearly_in_full(n_steps, n_dims, rng):
    # Their correlations are not zero by chance, at many lags.
    shares = [independent_share(rng.normal(size=(10 * n_steps, n_dims)), edges(*[n_steps] * 10)) for _ in range(20)]
    assert np.mean(shares) > 0.93


def test_slow_swings_count_less_than_the_next_step_tells(rng):
    # Neighbours are hardly correlated, but a swing goes through the whole stay.
    noise, swing = rng.normal(size=(4000, 1)), np.sin(2 * np.pi * np.arange(4000) / 50)[:, None]
    mixed = (noise + swing) / np.sqrt(1.5)
    lag_one = float((mixed[1:] * mixed[:-1]).mean())
    assert independent_share(mixed, edges(4000)) < 0.3 * (1 - lag_one) / (1 + lag_one)


def test_steps_of_different_stays_are_not_compared(rng):
    alone = autoregression(rng, 0.8, 400, 1)
    share = independent_share(alone, edges(400))
    shuffled = np.concatenate([alone, -alone, alone])  # correlated across stays, but not more inside them
    assert independent_share(shuffled, edges(400, 400, 400)) == pytest.approx(share, rel=0.1)
    assert independent_share(alone, np.arange(401)) == 1.0  # stays of one step have no pairs


def test_a_share_is_at_most_one(rng):
    alternating = np.tile([[1.0], [-1.0]], (50, 1)) + 0.01 * rng.normal(size=(100, 1))
    assert 0 < independent_share(alternating, edges(100)) < 0.1  # each step tells all others
    assert independent_share(rng.normal(size=(3, 2)), edges(3)) <= 1.0


def test_missing_residuals_make_no_pairs():
    rng = np.random.default_rng(0)
    walk = rng.normal(size=(6000, 2))
    for t in range(1, len(walk)):
        walk[t] += 0.5 * walk[t - 1]
    edges = np.array([0, 2500, 6000])
    gappy = np.where(rng.random(walk.shape) < 0.5, np.nan, walk)
    (whole, n_whole), (found, n_found) = (_correlations_in_stays(one, edges) for one in (walk, gappy))
    np.testing.assert_allclose(found[:4], whole[:4], atol=0.06)
    assert n_found[0] == (~np.isnan(gappy)).sum() / 2
    np.testing.assert_allclose(n_found[1:4] / n_whole[1:4], 0.25, atol=0.02)
    assert independent_share(gappy, edges) == pytest.approx(independent_share(walk, edges), abs=0.07)
    # Zeros in the place of what is missing would look independent.
    assert independent_share(np.nan_to_num(gappy), edges) > independent_share(walk, edges) + 0.15
