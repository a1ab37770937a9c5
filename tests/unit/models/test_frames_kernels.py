"""Frames of recordings against slow twins: steps seen through them, their density, draws, and rotations."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.transform import Rotation
from scipy.special import logsumexp

import naive_frames as naive
from homothety.errors import InputError
from homothety.models.frames import Blocks, Frames, Prior, candidates, identity_frames
from homothety.models.frames import _kernels as kernels
from homothety.models.frames.candidates import NEAR, _log_turn_density, angles_between
from homothety.models.frames.frames import (
    aligned_steps,
    composed,
    draw_frame,
    draw_turn,
    inverse_turn,
    log_determinants,
    product_of_turns,
    rotation_matrices,
    states_in_frame,
    turn_of_matrix,
)

KINDS = ("point", "vector", "orientation", "plain", "point", "vector", "vector")
EVERY_KIND = Blocks(KINDS, still=(5,), shifted=(2, 5, 6))
LAYOUTS = {
    "every kind": EVERY_KIND,
    "yaw": Blocks(("point", "orientation", "vector"), rotations="yaw", shifted=(1,)),
    "none": Blocks(("vector", "point", "plain"), rotations="none"),
    "plane": Blocks(("point", "plain", "vector"), dim=2),
    "point": Blocks(("point",)),
    "still": Blocks(("vector", "orientation", "plain"), still=(0, 1)),
}
N_STATES = 3


@pytest.fixture(params=LAYOUTS)
def blocks(request):
    return LAYOUTS[request.param]


@pytest.fixture(params=["compiled", "interpreted"])
def _mode(request, interpret):
    """Run a test with kernels as they are, and as plain Python."""
    if request.param == "interpreted":
        interpret(kernels)


def frame_of(frames, f):
    return kernels.Frame(*(part.copy() for part in frames[f]))


def make_states(rng, blocks, weights=None):
    """Means and covariances of states, with zeros between blocks, and the same as kernels want them."""
    n = blocks.n_dims
    means, covariances = rng.normal(size=(N_STATES, n)), np.zeros((N_STATES, n, n))
    precisions = np.zeros_like(covariances)
    weights = rng.uniform(0.2, 1.0, len(blocks.kinds)) if weights is None else weights
    for k in range(N_STATES):
        for channels, weight in zip(blocks.slices, weights, strict=True):
            root = rng.normal(size=(channels.stop - channels.start,) * 2)
            covariances[k, channels, channels] = 0.2 * root @ root.T + 0.1 * np.eye(len(root))
            precisions[k, channels, channels] = weight * np.linalg.inv(covariances[k, channels, channels])
    return means, covariances, kernels.StateGaussians(means, precisions, weights)


def sums_of(blocks, steps, path):
    """Number, sum and sum of products of the steps of each state, and the middle of each block with a place."""
    members = [steps[path == k] for k in range(N_STATES)]
    centre = np.array([steps[:, blocks.slices[b]].mean(axis=0) for b in blocks.placed]).reshape(-1, blocks.dim)
    n = np.array([float(len(part)) for part in members])
    return kernels.Sums(n, np.array([p.sum(axis=0) for p in members]), np.array([p.T @ p for p in members]), centre)


def make_problem(seed, blocks, n_steps=30, weights=None):
    """Recorded steps with their states, of a frame drawn from its prior; the last state has no steps."""
    rng = np.random.default_rng(seed)
    prior = naive.make_prior(blocks)
    frames = naive.draw_frames(rng, blocks, prior, [0, 1])
    means, covariances, gaussians = make_states(rng, blocks, weights)
    path = rng.integers(N_STATES - 1, size=n_steps)
    noise = np.einsum("tab,tb->ta", np.linalg.cholesky(covariances)[path], rng.normal(size=(n_steps, blocks.n_dims)))
    steps = naive.recorded_steps(blocks, frames, np.tile(means[path] + noise, (2, 1)), [0, n_steps, 2 * n_steps])
    return frames, steps[:n_steps], path, (means, covariances), gaussians, prior


def slow_log_target(frames, f, steps, path, states, gaussians, prior, blocks):
    means, covariances = states
    total = naive.log_frame_prior(prior, frames, f)
    for step, k in zip(steps, path, strict=True):
        total += naive.log_step_density(blocks, frames, f, step, means[k], covariances[k], gaussians.block_weights)
    return total


# --- steps seen through frames ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("_mode")
def test_aligned_steps_are_those_that_were_recorded(rng, blocks):
    starts = np.array([0, 4, 5, 9])
    frames = naive.draw_frames(rng, blocks, naive.make_prior(blocks), [1, 0, 1])
    canonical = rng.normal(size=(9, blocks.n_dims))
    recorded = naive.recorded_steps(blocks, frames, canonical, starts)
    np.testing.assert_allclose(aligned_steps(blocks, frames, recorded, starts), canonical, atol=1e-12)
    np.testing.assert_array_equal(
        aligned_steps(blocks, identity_frames(blocks, np.zeros(3, int)), recorded, starts), recorded
    )


def test_each_kind_of_block_is_aligned_as_it_should_be(rng):
    frames = naive.draw_frames(rng, EVERY_KIND, naive.make_prior(EVERY_KIND), [0])
    rotation, sizes, places = naive.rotation_of(frames.turns[0]), np.exp(frames.log_sizes[0]), frames.places[0]
    steps = rng.normal(size=(5, EVERY_KIND.n_dims))
    found = aligned_steps(EVERY_KIND, frames, steps, np.array([0, 5]))
    point, vector, orientation, plain, other, still, force = (found[:, channels] for channels in EVERY_KIND.slices)
    np.testing.assert_allclose(point, (steps[:, :3] - places[0]) @ rotation / sizes[0])
    np.testing.assert_allclose(vector, steps[:, 3:6] @ rotation / sizes[1])  # turned without being moved
    np.testing.assert_allclose(orientation, (steps[:, 6:9] - places[1]) @ rotation)  # never resized
    np.testing.assert_array_equal(plain, steps[:, 9:10])
    np.testing.assert_allclose(other, (steps[:, 10:13] - places[2]) @ rotation / sizes[2])
    np.testing.assert_allclose(still, steps[:, 13:16] - places[3])
    np.testing.assert_allclose(force, (steps[:, 16:] - places[4]) @ rotation / sizes[3])


def test_rotations_about_the_third_axis_leave_it_alone(rng):
    blocks = LAYOUTS["yaw"]
    frames = draw_frame(rng, blocks, naive.make_prior(blocks))
    np.testing.assert_allclose(frames.rotations[0][:, 2], [0, 0, 1], atol=1e-15)
    np.testing.assert_allclose(frames.rotations[0][2], [0, 0, 1], atol=1e-15)


def test_composed_frames_act_one_after_the_other(rng, blocks):
    inner, outer = (naive.draw_frames(rng, blocks, naive.make_prior(blocks), [0, 1]) for _ in range(2))
    steps = rng.normal(size=(2, blocks.n_dims))
    both = naive.recorded_steps(blocks, outer, naive.recorded_steps(blocks, inner, steps, [0, 1, 2]), [0, 1, 2])
    found = naive.recorded_steps(blocks, composed(blocks, outer, inner), steps, [0, 1, 2])
    np.testing.assert_allclose(found, both, atol=1e-12)


def test_states_in_a_frame_are_those_of_recorded_steps(rng, blocks):
    frame = naive.draw_frames(rng, blocks, naive.make_prior(blocks), [0])
    means, covariances, _ = make_states(rng, blocks)
    matrix, shift = naive.transform_of(blocks, frame, 0)
    found = states_in_frame(blocks, frame, means, covariances)
    np.testing.assert_allclose(found[0], means @ matrix.T + shift, atol=1e-12)
    np.testing.assert_allclose(found[1], matrix @ covariances @ matrix.T, atol=1e-12)


def test_volume_is_the_determinant_of_what_a_frame_does(rng, blocks):
    frames = naive.draw_frames(rng, blocks, naive.make_prior(blocks), [0, 1])
    found = log_determinants(blocks, np.ones(len(blocks.kinds)), frames)
    for f in range(2):
        matrix, _ = naive.transform_of(blocks, frames, f)
        assert found[f] == pytest.approx(np.linalg.slogdet(matrix)[1], abs=1e-12)


def test_blocks_refuse_what_cannot_be():
    with pytest.raises(InputError, match="orientation, which needs three-dimensional"):
        Blocks(("point", "orientation"), dim=2)
    with pytest.raises(InputError, match="blocks has 'place'"):
        Blocks(("point", "place"))
    with pytest.raises(InputError, match="needed 2 or 3"):
        Blocks(("point",), dim=4)
    with pytest.raises(InputError, match="needed 'all', 'yaw' or 'none'"):
        Blocks(("point",), rotations="some")


# --- density of a frame ----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("_mode")
def test_log_target_is_the_density_of_all_steps_up_to_a_constant(blocks):
    frames, steps, path, states, gaussians, prior = make_problem(1, blocks)
    sums = sums_of(blocks, steps, path)
    fast = [
        kernels.log_target(frame_of(frames, f), kernels.Target(sums, gaussians, prior, blocks.layout)) for f in (0, 1)
    ]
    slow = [slow_log_target(frames, f, steps, path, states, gaussians, prior, blocks) for f in (0, 1)]
    assert fast[1] - fast[0] == pytest.approx(slow[1] - slow[0], rel=1e-9, abs=1e-9)
    priors = [kernels.log_frame_prior(*frame_rest_of(frames, f), prior) for f in (0, 1)]
    assert priors == pytest.approx([naive.log_frame_prior(prior, frames, f) for f in (0, 1)])


def frame_rest_of(frames, f):
    return frames.log_sizes[f], frames.places[f]


def test_recorded_steps_are_summed_by_state(rng):
    blocks = LAYOUTS["plane"]
    _, steps, path, *_ = make_problem(2, blocks)
    expected = sums_of(blocks, steps, path)
    for states in (path, np.eye(N_STATES)[path]):  # and by probabilities of states
        n, first, second = np.zeros((2, N_STATES)), np.zeros((2, N_STATES, 5)), np.zeros((2, N_STATES, 5, 5))
        add = kernels.add_recorded if states.ndim == 1 else kernels.add_expected
        add(steps, states, np.array([0, 11, 20, 30]), np.array([0, 1, 0]), n, first, second)
        second += np.swapaxes(np.tril(second, -1), -1, -2)
        for found, known in zip((n, first, second), expected, strict=False):
            np.testing.assert_allclose(found.sum(axis=0), known, atol=1e-12)
        np.testing.assert_array_equal(n[1], np.bincount(path[11:20], minlength=N_STATES))


@pytest.mark.parametrize("name", ["plane", "yaw", "every kind"])
def test_places_are_drawn_from_their_conditional(name):
    blocks, n_draws = LAYOUTS[name], 4_000
    frames, steps, path, _, gaussians, prior = make_problem(3, blocks, 8)
    sums, rng = sums_of(blocks, steps, path), np.random.default_rng(4)
    frame, target = frame_of(frames, 0), kernels.Target(sums, gaussians, prior, blocks.layout)
    places = frame.places
    draws = np.empty((n_draws, places.size))
    for draw in draws:
        kernels._draw_places(rng, frame, target)
        draw[:] = places.ravel()

    def log_density(flat):
        return kernels.log_target(frame._replace(places=flat.reshape(places.shape)), target)

    mean, covariance = moments_of_quadratic(log_density, places.size)
    z = (draws.mean(axis=0) - mean) / np.sqrt(np.diagonal(covariance) / n_draws)
    assert np.abs(z).max() < 4
    whitened = (draws - mean) @ np.linalg.inv(np.linalg.cholesky(covariance)).T
    np.testing.assert_allclose(whitened.T @ whitened / n_draws, np.eye(places.size), atol=4.5 * np.sqrt(2 / n_draws))


def moments_of_quadratic(log_density, n):
    """Mean and covariance of a Gaussian by its log density at a few points."""
    units, zero = np.eye(n), log_density(np.zeros(n))
    single = np.array([log_density(unit) for unit in units])
    opposite = np.array([log_density(-unit) for unit in units])
    precision = np.array(
        [[single[a] + single[b] - zero - log_density(units[a] + units[b]) for b in range(n)] for a in range(n)]
    )
    precision[np.diag_indices(n)] = 2 * zero - single - opposite
    covariance = np.linalg.inv(precision)
    return covariance @ ((single - opposite) / 2), covariance


def test_places_are_carried_so_that_the_middle_stays(blocks):
    frames, steps, path, _, _, _ = make_problem(5, blocks)
    sums = sums_of(blocks, steps, path)
    old, (turn, sizes, _) = frame_of(frames, 0), frame_of(frames, 1)
    places = np.empty_like(frames.places[1])
    kernels.carry_places(old, turn, sizes, sums.centre, blocks.layout, places)
    moved = Frames(np.array([0]), turn[None], sizes[None], places[None])
    middle = steps.mean(axis=0)
    before, after = (naive.aligned_step(blocks, one, 0, middle) for one in (frames, moved))
    for b in blocks.placed:
        np.testing.assert_allclose(after[blocks.slices[b]], before[blocks.slices[b]], atol=1e-12)


# --- climbing --------------------------------------------------------------------------------------------------------


def test_climbing_leads_upwards(blocks):
    frames, steps, path, _, gaussians, prior = make_problem(6, blocks)
    target = kernels.Target(sums_of(blocks, steps, path), gaussians, prior, blocks.layout)
    frame = frame_of(frames, 1)
    values = [kernels.log_target(frame, target)]
    for _ in range(10):
        values.append(kernels.climb(frame, target, 1))
        assert values[-1] == pytest.approx(kernels.log_target(frame, target))
        assert np.linalg.norm(frame[0]) == pytest.approx(1.0)
    assert (np.diff(values) >= 0).all()


@pytest.mark.parametrize("name", ["every kind", "yaw", "plane", "point"])
def test_climbing_ends_at_the_true_frame(name):
    blocks = LAYOUTS[name]
    frames, steps, path, _, gaussians, _ = make_problem(7, blocks, 3_000, np.ones(len(LAYOUTS[name].kinds)))
    prior = naive.make_prior(blocks, 2.0, 10.0)
    target, true = kernels.Target(sums_of(blocks, steps, path), gaussians, prior, blocks.layout), frame_of(frames, 0)
    start = kernels.Frame(product_of_turns(true.turn, small_turn(blocks, 0.3)), true.log_sizes + 0.2, true.places - 0.3)
    assert kernels.climb(start, target, 50) >= kernels.log_target(true, target)
    assert np.linalg.norm(angles_between(blocks, true.turn, start.turn)) < 0.05
    np.testing.assert_allclose(start.log_sizes, true.log_sizes, atol=0.06)
    np.testing.assert_allclose(start.places, true.places, atol=0.1)


@pytest.mark.parametrize(
    "blocks", [Blocks(("point",), dim=2), Blocks(("vector",)), Blocks(("point",), rotations="yaw")], ids=str
)
def test_width_is_that_of_all_likely_frames(monkeypatch, blocks):
    frames, steps, path, _, gaussians, _ = make_problem(8, blocks, 300, np.ones(len(blocks.kinds)))
    prior = naive.make_prior(blocks, 2.0, 1.0)
    target, frame = kernels.Target(sums_of(blocks, steps, path), gaussians, prior, blocks.layout), frame_of(frames, 0)
    log_target = kernels.climb(frame, target, 10)
    log_integral = log_target + kernels.log_width(log_target, frame, target)
    # By importance sampling from draws about the likeliest frame; a model is only asked for its blocks and prior here.
    model, mode = SimpleNamespace(blocks=blocks, prior=prior), Frames(np.zeros(1, int), *(part[None] for part in frame))
    rng = np.random.default_rng(9)
    monkeypatch.setattr(candidates, "NEAR", 0.08)
    draws = [candidates.draw_near(rng, model, mode, 0) for _ in range(4_000)]
    ratios = [
        kernels.log_target(frame_of(draw, 0), target) - candidates.log_density_near(model, mode, draw)[0]
        for draw in draws
    ]
    assert log_integral == pytest.approx(logsumexp(ratios) - np.log(len(ratios)), abs=0.25)


def small_turn(blocks, angle):
    turn = np.empty(blocks.turn_size)
    kernels.write_small_turn(np.full(blocks.n_angles, angle), blocks.n_angles, turn)
    return turn


# --- rotations -------------------------------------------------------------------------------------------------------

TURNING = {name: LAYOUTS[name] for name in ("every kind", "yaw", "plane", "point")} | {
    "yaw of points": Blocks(("point",), rotations="yaw")
}


@pytest.mark.parametrize("name", TURNING)
def test_products_and_inverses_are_those_of_matrices(rng, name):
    blocks = TURNING[name]
    left, right = draw_turn(rng, blocks), draw_turn(rng, blocks)
    np.testing.assert_allclose(rotation_matrices(left), naive.rotation_of(left), atol=1e-12)
    both = product_of_turns(left, right)
    np.testing.assert_allclose(naive.rotation_of(both), naive.rotation_of(left) @ naive.rotation_of(right), atol=1e-12)
    np.testing.assert_allclose(naive.rotation_of(inverse_turn(left)), naive.rotation_of(left).T, atol=1e-12)
    np.testing.assert_allclose(
        rotation_matrices(turn_of_matrix(rotation_matrices(left))), rotation_matrices(left), atol=1e-12
    )
    if blocks.dim == 3:
        np.testing.assert_allclose(both, naive.quaternion_product(left, right), atol=1e-12)


@pytest.mark.parametrize("name", TURNING)
def test_angles_between_rotations_are_those_of_the_turn_between(rng, name):
    blocks = TURNING[name]
    centre, angles = draw_turn(rng, blocks), rng.normal(size=blocks.n_angles)
    small = np.empty(blocks.turn_size)
    kernels.write_small_turn(angles, blocks.n_angles, small)
    if blocks.n_angles == 3:
        np.testing.assert_allclose(naive.rotation_of(small), Rotation.from_rotvec(angles).as_matrix(), atol=1e-12)
    turn = product_of_turns(centre, small)
    np.testing.assert_allclose(angles_between(blocks, centre, turn), angles, atol=1e-10)
    if blocks.dim == 3:
        np.testing.assert_allclose(angles_between(blocks, centre, -turn), angles, atol=1e-10)


@pytest.mark.parametrize("name", TURNING)
def test_rotations_are_likeliest_at_the_centre(rng, name):
    turn = draw_turn(rng, TURNING[name])
    assert _log_turn_density(TURNING[name], turn, turn) == pytest.approx(max_log_density(TURNING[name]))


def max_log_density(blocks):
    """Of normal angles against uniform rotations: 2 pi of one angle, 8 pi^2 of all."""
    volume = 8 * np.pi**2 if blocks.n_angles == 3 else 2 * np.pi
    volume /= stats.chi.cdf(np.pi / NEAR, blocks.n_angles)
    return np.log(volume) - blocks.n_angles * np.log(NEAR * np.sqrt(2 * np.pi))


def without_haar(blocks, centre, turn):
    """The fault: the density of angles, not of rotations."""
    angles = angles_between(blocks, centre, turn)
    return max_log_density(blocks) - 0.5 * (angles @ angles) / NEAR**2


def mean_density(monkeypatch, blocks, density, spread=0.8, n=20_000):
    """Mean density over uniform rotations, and its standard error; normal angles wide enough to be met."""
    from homothety.models.frames import candidates

    monkeypatch.setattr(candidates, "NEAR", spread)
    monkeypatch.setitem(globals(), "NEAR", spread)
    rng = np.random.default_rng(8)
    centre = draw_turn(rng, blocks)
    values = np.exp([density(blocks, centre, draw_turn(rng, blocks)) for _ in range(n)])
    return values.mean(), values.std() / np.sqrt(n)


@pytest.mark.parametrize("name", TURNING)
def test_density_of_rotations_integrates_to_one(monkeypatch, name):
    mean, error = mean_density(monkeypatch, TURNING[name], _log_turn_density)
    assert error < 0.03
    assert mean == pytest.approx(1.0, abs=4 * error)


def test_density_without_its_haar_factor_is_caught(monkeypatch):
    mean, error = mean_density(monkeypatch, TURNING["point"], without_haar)
    assert abs(mean - 1) > 5 * error


@pytest.mark.parametrize("name", TURNING)
def test_rotations_are_drawn_uniformly(name):
    blocks, rng = TURNING[name], np.random.default_rng(9)
    turns = np.array([draw_turn(rng, blocks) for _ in range(4_000)])
    if blocks.n_angles == 3:  # the angle of a uniform rotation has density (1 - cos) / pi
        angles = 2 * np.arccos(np.clip(np.abs(turns[:, 0]), 0, 1))
        uniform = (angles - np.sin(angles)) / np.pi
    else:
        uniform = (np.arctan2(turns[:, -1], turns[:, 0]) + np.pi) / (2 * np.pi)
    assert stats.kstest(uniform, "uniform").pvalue > 1e-3
    if blocks.n_angles == 3:
        assert np.abs(turns.mean(axis=0)).max() < 4 * 0.5 / np.sqrt(len(turns))


def test_frames_are_drawn_from_their_prior(rng):
    blocks = Blocks(("point", "vector"), dim=2)
    prior = Prior(0.4, np.array([[3.0, -1.0]]), np.array([2.0]))
    draws = [draw_frame(rng, blocks, prior) for _ in range(2_000)]
    sizes, places = np.concatenate([d.log_sizes for d in draws]), np.concatenate([d.places[:, 0] for d in draws])
    assert sizes.shape == (2_000, 2)
    assert stats.kstest(sizes.ravel() / 0.4, "norm").pvalue > 1e-3
    assert stats.kstest((places - [3.0, -1.0]).ravel() / 2.0, "norm").pvalue > 1e-3
