"""Summaries of sampled segmentations equal their slow twins and do not depend on names of states."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import naive_paths
from homothety.errors import InputError
from homothety.preprocessing import Preprocessing
from homothety.summaries.paths import (
    BoundaryInterval,
    Segment,
    boundary_intervals,
    change_probability,
    colabelling,
    expected_vi_paths,
    minimise_expected_vi_paths,
    segments_table,
    state_probability,
)

STARTS = [0, 9, 13, 25]


def draw_paths(rng, n_draws=12, n_steps=25, n_states=4, stay=0.7):
    """Random sticky paths under names of states that differ from path to path."""
    paths = []
    for _ in range(n_draws):
        states = rng.integers(n_states, size=n_steps)
        is_new = rng.random(n_steps) > stay
        is_new[0] = True
        path = states[np.maximum.accumulate(np.where(is_new, np.arange(n_steps), 0))]
        paths.append(rng.permutation(1000)[:n_states][path])
    return paths


def draw_around(rng, path, n_draws, flip=0.15):
    """Copies of a path with some steps changed, states renamed."""
    draws = []
    for _ in range(n_draws):
        noisy = np.where(rng.random(len(path)) < flip, rng.integers(path.max() + 1, size=len(path)), path)
        draws.append(rng.permutation(50)[noisy])
    return draws


@pytest.fixture(params=range(4))
def draws(request):
    return draw_paths(np.random.default_rng(request.param))


def renamed(paths, seed=5):
    rng = np.random.default_rng(seed)
    return [rng.permutation(2000)[path] for path in paths]


def test_change_probability_equals_its_twin(draws):
    np.testing.assert_allclose(change_probability(draws, STARTS), naive_paths.change_probability(draws, STARTS))
    np.testing.assert_array_equal(change_probability(draws, STARTS)[STARTS[:-1]], 0)


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_boundary_intervals_equal_their_twin(draws, level, stride):
    point, *rest = draws
    expected = []
    for series, step, positions in naive_paths.boundary_positions(point, rest, STARTS):
        low, high = naive_paths.shortest_interval(positions, level, stride) if positions else (None, None)
        expected.append(BoundaryInterval(series, step, low, high, pytest.approx(len(positions) / len(rest))))
    assert boundary_intervals(point, rest, STARTS, level, stride) == expected
    assert len(expected) > 2


def test_intervals_of_draws_that_agree_are_points(draws):
    for interval in boundary_intervals(draws[0], [draws[0]] * 5, STARTS):
        assert interval.low == interval.high == interval.step
        assert interval.share == 1


@pytest.mark.parametrize("stride", [2, 6, 33])
def test_intervals_of_draws_that_agree_go_from_look_to_look(stride):
    """A change that all draws have between two looks may be at any step after the first and up to the second."""
    recording = np.zeros((10 * stride, 1)) + np.arange(10 * stride)[:, None]
    expand = Preprocessing(subsample=stride).fit([recording]).expand
    path = expand([0, 0, 0, 0, 1, 1, 1, 1, 1, 1], 10 * stride)
    (interval,) = boundary_intervals(path, [path] * 5, [0, 10 * stride], stride=stride)
    assert (interval.low, interval.high) == (3 * stride + 1, 4 * stride)
    assert interval.low <= interval.step <= interval.high


@pytest.mark.parametrize("stride", [1, 3, 4])
def test_probabilities_between_looks_are_those_of_changes_at_random_steps(stride):
    rng, starts = np.random.default_rng(stride), [0, 15, 24]
    looked_at = draw_paths(rng, n_draws=3, n_steps=24, stay=0.5)
    nearest = np.concatenate([start + near_looks(end - start, stride) for start, end in pairwise(starts)])
    draws = [np.unique(path, return_inverse=True)[1][nearest] for path in looked_at]
    moved = [naive_paths.label_draws(path, starts, stride, 4000, rng) for path in draws]
    shares = np.mean([path == draws[0] for path in moved[0]], axis=0)
    np.testing.assert_allclose(state_probability(draws[0], draws[:1], starts, stride), shares, atol=0.05)
    together = np.mean([path[:, None] == path for paths in moved for path in paths], axis=0)
    found = colabelling(draws, np.arange(24), np.arange(24), starts, stride)
    np.testing.assert_allclose(found, together, atol=0.05)


def near_looks(n_steps, stride):
    """The nearest look of every step."""
    return np.minimum((np.arange(n_steps) + stride // 2) // stride, (n_steps - 1) // stride) * stride


def test_probability_is_interpolated_between_looks():
    path = np.repeat([0, 1], [8, 7])  # looks at 0, 5 and 10: the change is between 5 and 10
    certain = state_probability(path, [path], [0, 15], stride=5)
    np.testing.assert_allclose(certain, [1, 1, 1, 1, 1, 1, 0.8, 0.6, 0.6, 0.8, 1, 1, 1, 1, 1])


def test_intervals_hold_at_least_their_level(rng):
    truth = np.repeat([0, 1, 0], [60, 70, 70])
    positions = rng.integers(-20, 21, size=(200, 2)) + np.array([60, 130])
    draws = [np.repeat([0, 1, 0], np.diff([0, *both, 200])) for both in positions]
    for interval, sampled in zip(boundary_intervals(truth, draws, [0, 200], 0.8), positions.T, strict=True):
        assert np.mean((sampled >= interval.low) & (sampled <= interval.high)) >= 0.8
        assert interval.high - interval.low < 40


def test_a_path_without_changes_has_no_intervals():
    assert boundary_intervals([0] * 4, [[0, 1, 1, 1]], [0, 4]) == []
    assert boundary_intervals([0, 0, 1, 1], [[0, 1, 1, 1]], [0, 2, 4]) == []  # states change between series only
    (lonely,) = boundary_intervals([0, 1, 1, 1], [[0, 0, 0, 0]], [0, 4])
    assert lonely == BoundaryInterval(0, 1, None, None, 0.0)


def test_colabelling_equals_its_twin(draws):
    rows, columns = [0, 3, 24], [1, 1, 20, 7]
    np.testing.assert_allclose(colabelling(draws, rows, columns), naive_paths.colabelling(draws, rows, columns))
    assert colabelling(draws, [], [1]).shape == (0, 1)


def test_expected_vi_equals_its_twin(draws):
    expected = [naive_paths.expected_vi(path, draws[3:]) for path in draws[:5]]
    np.testing.assert_allclose(expected_vi_paths(draws[:5], draws[3:]), expected, atol=1e-12)


def test_state_probability_equals_its_twin():
    rng = np.random.default_rng(8)
    point = np.repeat([0, 1, 0, 2], [7, 6, 5, 9])
    for draw in draw_around(rng, point, 20, flip=0.3):
        agreement = tuple(state_probability(point, [draw]) == 1)
        assert agreement in naive_paths.matched_agreement(point.tolist(), draw.tolist())
    draws = draw_around(rng, point, 10)
    singly = np.mean([state_probability(point, [draw]) for draw in draws], axis=0)
    np.testing.assert_allclose(state_probability(point, draws), singly)


def test_names_of_states_do_not_matter(draws):
    others = renamed(draws)
    point, other_point = draws[0], renamed(draws[:1], 6)[0]
    np.testing.assert_array_equal(change_probability(draws, STARTS), change_probability(others, STARTS))
    assert boundary_intervals(point, draws, STARTS) == boundary_intervals(other_point, others, STARTS)
    np.testing.assert_allclose(expected_vi_paths(draws, draws), expected_vi_paths(draws, others))
    np.testing.assert_array_equal(minimise_expected_vi_paths(draws), minimise_expected_vi_paths(others))


def test_no_step_gains_by_moving(draws):
    """The answer is a local minimum, checked move by move against the definition."""
    point = minimise_expected_vi_paths(draws)
    least = naive_paths.expected_vi(point, draws)
    assert least <= min(naive_paths.expected_vi(path, draws) for path in draws) + 1e-9
    columns = np.unique(np.stack(draws), axis=1, return_inverse=True)[1].ravel()
    for item in np.unique(columns):
        for state in range(point.max() + 2):
            moved = np.where(columns == item, state, point)
            assert naive_paths.expected_vi(moved, draws) >= least - 1e-7


@pytest.mark.parametrize("seed", range(6))
def test_near_the_best_of_all_segmentations(seed):
    rng = np.random.default_rng(seed)
    draws = draw_around(rng, np.array([0, 0, 0, 1, 1, 0, 0]), 9)
    best = min(naive_paths.expected_vi(path, draws) for path in naive_paths.all_partitions(7))
    found = naive_paths.expected_vi(minimise_expected_vi_paths(draws), draws)
    assert best - 1e-9 <= found <= best + 0.05


def test_noise_is_averaged_out():
    """The answer is nearer to the truth than any draw is."""
    rng = np.random.default_rng(2)
    truth = rng.integers(3, size=12).repeat(10)
    draws = draw_around(rng, truth, 60)
    point = minimise_expected_vi_paths(draws, max_candidates=10)
    assert naive_paths.variation_of_information(point.tolist(), truth.tolist()) == pytest.approx(0, abs=1e-9)
    assert min(expected_vi_paths(draws, [truth])) > 0.1


def test_states_are_numbered_by_size(draws):
    sizes = np.bincount(minimise_expected_vi_paths(draws))
    assert (np.diff(sizes) <= 0).all()
    assert sizes.min() > 0


def test_a_state_may_be_split_off(rng):
    """All candidates hold one state less than the answer needs."""
    draws = [[0, 0, 0, 1, 1, 1, 1, 1, 1]] * 1 + [[0, 0, 0, 1, 1, 1, 2, 2, 2]] * 8
    np.testing.assert_array_equal(minimise_expected_vi_paths(draws, max_candidates=1), [0, 0, 0, 1, 1, 1, 2, 2, 2])


def test_segments_rebuild_the_path(draws):
    path, probability = draws[0], np.linspace(0, 1, 25)
    segments = segments_table(path, STARTS, probability)
    rebuilt = np.concatenate([np.full(segment.end - segment.start, segment.label) for segment in segments])
    np.testing.assert_array_equal(rebuilt, path)
    for segment in segments:
        start = STARTS[segment.series]
        assert start + segment.end <= STARTS[segment.series + 1]
        assert segment.probability == pytest.approx(probability[start + segment.start : start + segment.end].mean())
    assert segments_table([3, 3], [0, 1, 2]) == [Segment(0, 0, 1, 3, None), Segment(1, 0, 1, 3, None)]


def test_many_long_draws(rng):
    """A size at which a matrix over pairs of steps would take 300 megabytes."""
    truth = rng.integers(5, size=30).repeat(200)
    edges = np.flatnonzero(np.diff(truth)) + 1
    draws = []
    for _ in range(100):
        moved = np.sort(edges + rng.integers(-3, 4, size=len(edges)))
        draws.append(np.repeat(truth[np.append(0, edges)], np.diff(np.concatenate([[0], moved, [6000]]))))
    point = minimise_expected_vi_paths(draws)
    assert naive_agreement(point, truth) > 0.99
    intervals = boundary_intervals(point, draws, [0, 6000])
    assert len(intervals) == len(edges)
    assert all(interval.high - interval.low <= 6 and interval.share == 1 for interval in intervals)
    assert state_probability(point, draws).mean() > 0.98


def naive_agreement(point, truth):
    """Share of steps that keep their true state when each state is given the one it mostly covers."""
    return sum(np.bincount(truth[point == k]).max() for k in np.unique(point)) / len(truth)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: change_probability([], [0, 3]), "draws is empty"),
        (lambda: state_probability([0, 1], []), "draws is empty"),
        (lambda: change_probability([[0, 1], [0, 1, 2]], [0, 2]), "Path 1 has 3 steps but the first has 2"),
        (lambda: change_probability([[0.5, 1.0]], [0, 2]), "needed whole numbers"),
        (lambda: change_probability([[[0], [1]]], [0, 2]), r"Path 0 has shape \(2, 1\)"),
        (lambda: change_probability([[0, 1]], [0, 3]), "from 0 to 2"),
        (lambda: change_probability([[0, 1]], [0, 2, 2]), "ascending"),
        (lambda: boundary_intervals([0, 1], [[0, 1]], [0, 2], level=1), "level is 1"),
        (lambda: segments_table([0, 1], [0, 2], [1.0]), r"probability has shape \(1,\)"),
        (lambda: colabelling([[0, 1]], [2], [0]), "needed whole numbers from 0 to 1"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(InputError, match=message):
        call()
