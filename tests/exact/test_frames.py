"""Moves of frames against posteriors that are known: of two recordings in the plane by quadrature, and of the prior.

States and transitions are given; paths and sharing are enumerated, places integrated out in closed form, rotations and
sizes on a grid.
"""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from functools import cache, partial
from itertools import pairwise, product
from unittest import mock

import numpy as np
import pytest
from scipy import stats

import naive_frames
from homothety.models import ibphmm
from homothety.models.emissions import Emission
from homothety.models.frames import Blocks, ChainState, Frames, Model, Prior, _kernels, candidates, default_sweep, moves
from naive import total_variation

N_SWEEPS, N_SWEEPS_LONG = 2_000, 120_000
MAX_DISTANCE = {"paths": 0.18, "rotation": 0.14, "size": 0.08, "place": 0.08}  # total variation; twice what is left
MAX_DISTANCE_LONG = {"paths": 0.02, "rotation": 0.015, "size": 0.01, "place": 0.01}

# --- the smallest posterior ------------------------------------------------------------------------------------------

BLOCKS = Blocks(("point",), dim=2)
PRIOR = Prior(0.5, np.array([[0.2, -0.1]]), np.array([0.8]))
WEIGHT, CONCENTRATION = 0.7, 0.8
STEPS = np.array([[1.3, 0.4], [0.9, 0.7], [-0.8, 0.9], [0.3, -1.4], [0.2, -0.5], [-0.5, 1.1]])
STARTS = np.array([0, 3, 6])
MEANS = np.array([[0.9, 0.1], [-0.8, 0.5]])
COVARIANCES = np.array([[[0.3, 0.05], [0.05, 0.1]], [[0.1, 0.0], [0.0, 0.4]]])
TRANSITION = np.array([[0.7, 0.3], [0.4, 0.6]])
N_ANGLES, LOG_SIZES = 128, np.linspace(-2.2, 2.2, 89)
SIZE_EDGES = (-0.225, 0.275)  # halfway between points of the grid
N_SECTORS = 8
NEAR = 0.3  # of proposals about candidates: few steps leave frames wide open
PATHS = list(product((0, 1), repeat=3))


def tiny_model(steps=STEPS, starts=STARTS, **settings):
    emission = Emission.gaussian_blocks([2], [np.zeros(2)], [1.0], [np.eye(2)], [5.0], [WEIGHT])
    segmentation = ibphmm.Model(emission.augment_steps(steps), starts, emission)
    return Model(steps, segmentation, BLOCKS, PRIOR, **{"concentration": CONCENTRATION} | settings)


def tiny_start(model, labels=(0, 1)):
    whiteners = model.emission.whiteners_of(MEANS[:, :, None], COVARIANCES)
    weights, path = np.array([TRANSITION] * len(labels)), np.array([0, 0, 1, 1, 0, 0])
    both = np.ones((len(labels), 2), dtype=bool)
    segmentation = ibphmm.ChainState(both, np.arange(2), weights, whiteners, path, 1.0, 1.0, 1.0, 1.0, 2)
    frames = naive_frames.draw_frames(np.random.default_rng(0), BLOCKS, PRIOR, labels)
    return ChainState(segmentation, frames)


@cache
def grid():
    """Angles and log sizes, (n, 1) and (1, m); per state the precision of a step and the mean less the place."""
    angles = (np.arange(N_ANGLES) + 0.5)[:, None] * 2 * np.pi / N_ANGLES
    log_sizes = LOG_SIZES[None]
    c, s = np.cos(angles), np.sin(angles)
    rotations = np.stack([np.stack([c, -s], -1), np.stack([s, c], -1)], -2)  # (n, 1, 2, 2)
    sizes = np.exp(log_sizes)[..., None, None]
    precisions = [rotations @ np.linalg.inv(one) @ np.swapaxes(rotations, -1, -2) / sizes**2 for one in COVARIANCES]
    means = [(sizes * rotations @ mean[:, None])[..., 0] for mean in MEANS]
    return angles, log_sizes, precisions, means


def log_frame_evidence(steps, path):
    """Log evidence of the steps of one frame at every angle and size, the place integrated out; and that place."""
    angles, log_sizes, precisions, means = grid()
    spread, mean = PRIOR.place_spread[0], PRIOR.place_mean[0]
    precision, linear = np.eye(2) / spread**2, mean / spread**2
    total = -0.5 * (linear @ mean) - 2 * np.log(spread) + stats.norm.logpdf(log_sizes, 0, PRIOR.size_spread)
    for step, k in zip(steps, path, strict=True):
        apart, weighted = step - means[k], WEIGHT * precisions[k]
        precision, linear = precision + weighted, linear + (weighted @ apart[..., None])[..., 0]
        total = total - 0.5 * np.einsum("...a,...ab,...b", apart, weighted, apart)
        total = total + WEIGHT * (0.5 * np.linalg.slogdet(precisions[k])[1] - np.log(2 * np.pi))
    covariance = np.linalg.inv(precision)
    place = (covariance @ linear[..., None])[..., 0]
    total = total + 0.5 * (linear * place).sum(axis=-1) + 0.5 * np.linalg.slogdet(covariance)[1]
    cell = (LOG_SIZES[1] - LOG_SIZES[0]) / len(angles)
    return total + np.log(cell), stats.norm.sf(mean[0], place[..., 0], np.sqrt(covariance[..., 0, 0]))


def log_path(path):
    return np.log(0.5) + sum(np.log(TRANSITION[j, k]) for j, k in pairwise(path))


@cache
def tiny_posterior():
    """Probabilities of sharing with paths, and with sector, size and place of the first recording's frame."""
    joint = {name: Counter() for name in MAX_DISTANCE}
    sectors = np.arange(N_ANGLES) * N_SECTORS // N_ANGLES
    bins = np.searchsorted(SIZE_EDGES, LOG_SIZES)

    def add(together, log_rest, log_grid, right):
        weights = np.exp(log_grid + log_rest + 20)
        for a in range(N_SECTORS):
            joint["rotation"][together, a] += weights[sectors == a].sum()
        for a in range(len(SIZE_EDGES) + 1):
            joint["size"][together, a] += weights[:, bins == a].sum()
        joint["place"][together, True] += (weights * right).sum()
        joint["place"][together, False] += (weights * (1 - right)).sum()
        return weights.sum()

    log_prior = {True: -np.log(1 + CONCENTRATION), False: np.log(CONCENTRATION / (1 + CONCENTRATION))}
    second = {path: np.logaddexp.reduce(log_frame_evidence(STEPS[3:], path)[0], axis=None) for path in PATHS}
    for left in PATHS:
        alone = log_frame_evidence(STEPS[:3], left)
        for right in PATHS:
            log_paths = log_path(left) + log_path(right)
            shared = log_frame_evidence(STEPS, (*left, *right))
            joint["paths"][True, left + right] = add(True, log_prior[True] + log_paths, *shared)
            joint["paths"][False, left + right] = add(False, log_prior[False] + log_paths + second[right], *alone)
    return {name: {key: value / sum(c.values()) for key, value in c.items()} for name, c in joint.items()}


def tiny_chain(n_sweeps, sweep, seed):
    """What the posterior is told by, after every sweep."""
    model, rng = tiny_model(), np.random.default_rng(seed)
    state, found = tiny_start(model), []
    for _ in range(n_sweeps):
        with mock.patch.object(candidates, "NEAR", NEAR):
            for move in sweep.values():
                state, _ = move(rng, model, state)
        frames = state.frames
        f, together = frames.labels[0], bool(frames.labels[0] == frames.labels[1])
        angle = np.arctan2(frames.turns[f, 1], frames.turns[f, 0]) % (2 * np.pi)
        found.append(
            {
                "paths": (together, tuple(state.segmentation.path.tolist())),
                "rotation": (together, int(angle * N_SECTORS / (2 * np.pi))),
                "size": (together, int(np.searchsorted(SIZE_EDGES, frames.log_sizes[f, 0]))),
                "place": (together, bool(frames.places[f, 0, 0] > PRIOR.place_mean[0, 0])),
            }
        )
    return found


FRAME_MOVES = ("frames", "large rotations", "sharing of frames", "paths")
SWEEP = {name: move for name, move in default_sweep().items() if name in FRAME_MOVES}


def distances(n_sweeps, sweep=SWEEP, seed=1):
    """Total variation between a chain and the posterior."""
    chain, exact = tiny_chain(n_sweeps, sweep, seed), tiny_posterior()
    return {
        name: total_variation(
            exact[name], {key: n / n_sweeps for key, n in Counter(one[name] for one in chain).items()}
        )
        for name in MAX_DISTANCE
    }


def test_the_grid_is_fine_enough():
    exact = tiny_posterior()
    assert 0.2 < sum(prob for (together, _), prob in exact["paths"].items() if together) < 0.8
    coarse = log_frame_evidence(STEPS[:3], (0, 0, 1))[0]
    every_other = np.logaddexp.reduce(coarse[::2, ::2], axis=None) + np.log(4)
    assert np.logaddexp.reduce(coarse, axis=None) == pytest.approx(every_other, abs=1e-3)


def test_paths_frames_and_sharing_follow_the_posterior():
    found = distances(N_SWEEPS)
    assert all(found[name] < bound for name, bound in MAX_DISTANCE.items()), found


@pytest.mark.slow
def test_paths_frames_and_sharing_follow_the_posterior_at_length():
    found = distances(N_SWEEPS_LONG, seed=2)
    assert all(found[name] < bound for name, bound in MAX_DISTANCE_LONG.items()), found


# --- moves with a fault ----------------------------------------------------------------------------------------------


def without_jacobian(*args, original=_kernels.log_target):
    """Take away what counts for the volume of places."""
    return original(*args) - BLOCKS.dim * args[0].log_sizes[0]


@contextmanager
def sizes_without_jacobian():
    """Draw sizes as plain Python, without the Jacobian of places."""
    interpreted = {name: getattr(_kernels, name).py_func for name in ("move_frames", "_turn_locally", "_draw_sizes")}
    with mock.patch.multiple(_kernels, log_target=without_jacobian, **interpreted):
        yield


FAULTS = {
    "sizes without jacobian": sizes_without_jacobian,
    "no prior of frames": partial(mock.patch.object, _kernels, "log_frame_prior", return_value=0.0),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_broken_move_is_caught(fault):
    with FAULTS[fault]():
        found = distances(N_SWEEPS // 2)
    assert any(found[name] > 1.5 * bound for name, bound in MAX_DISTANCE.items()), found


def no_volumes(blocks, weights, frames):
    return np.zeros(frames.n_frames)


def test_evidence_without_volume_is_caught():
    # Sizes that other moves would redraw come from new frames alone.
    sweep = {name: move for name, move in SWEEP.items() if name != "frames"}
    assert distances(N_SWEEPS // 2, sweep)["size"] < 0.25
    with mock.patch.object(moves, "log_determinants", no_volumes):
        found = distances(N_SWEEPS // 2, sweep)
    assert found["size"] > 0.4, found


# --- recordings that rest --------------------------------------------------------------------------------------------

# The third recording rests, and only the others are proposed another frame. Partitions in which it is alone are none.
RESTING_STEPS = np.array([[1.3, 0.4], [-0.8, 0.9], [0.2, -0.5], [-0.5, 1.1], [0.6, 0.3], [0.6, 0.3]])
RESTING_STARTS = np.array([0, 2, 4, 6])
RESTING_CONCENTRATION, N_TRIALS = 3.0, 4
PARTITIONS = [((0, 1, 2),), ((0, 2), (1,)), ((0,), (1, 2))]
MAX_SHARING, MAX_SHARING_LONG = 0.07, 0.02  # total variation in the short run and in the long one


def resting_model():
    settings = {"concentration": RESTING_CONCENTRATION, "n_global": N_TRIALS}
    return tiny_model(RESTING_STEPS, RESTING_STARTS, resting=np.array([False, False, True]), **settings)


@cache
def resting_posterior():
    """Probabilities of who shares a frame, paths and frames integrated out."""
    short = list(product((0, 1), repeat=2))

    def log_alone(recordings):
        """Log evidence of the recordings of one frame."""
        steps = np.concatenate([RESTING_STEPS[RESTING_STARTS[i] : RESTING_STARTS[i + 1]] for i in recordings])
        each = [
            sum(map(log_path, paths)) + np.logaddexp.reduce(log_frame_evidence(steps, sum(paths, ()))[0], axis=None)
            for paths in product(short, repeat=len(recordings))
        ]
        return np.logaddexp.reduce(each)

    scores = []
    for partition in PARTITIONS:
        labels = np.array([next(f for f, own in enumerate(partition) if i in own) for i in range(3)])
        scores.append(naive_frames.log_sharing(labels, RESTING_CONCENTRATION) + sum(map(log_alone, partition)))
    probs = np.exp(np.array(scores) - np.logaddexp.reduce(scores))
    return dict(zip(PARTITIONS, probs.tolist(), strict=True))


def distance_of_sharing(n_sweeps, sweep=SWEEP, seed=1):
    """Total variation between who shares a frame along a chain and the posterior."""
    model, rng, found = resting_model(), np.random.default_rng(seed), Counter()
    state = tiny_start(model, [0, 1, 0])
    for _ in range(n_sweeps):
        with mock.patch.object(candidates, "NEAR", NEAR):
            for move in sweep.values():
                state, _ = move(rng, model, state)
        labels = state.frames.labels.tolist()
        found[tuple(sorted({tuple(i for i in range(3) if labels[i] == one) for one in labels}))] += 1
    return total_variation(resting_posterior(), {key: n / n_sweeps for key, n in found.items()})


def test_a_recording_that_rests_is_never_alone_and_sharing_follows_its_posterior():
    assert min(resting_posterior().values()) > 0.1, resting_posterior()
    assert distance_of_sharing(N_SWEEPS) < MAX_SHARING


@pytest.mark.slow
def test_sharing_with_a_recording_that_rests_follows_its_posterior_at_length():
    assert distance_of_sharing(N_SWEEPS_LONG // 4, seed=2) < MAX_SHARING_LONG


def sharing_with_frames_of_resting_recordings(rng, model, state):
    """The fault: the recording that rests may be left alone."""
    for _ in range(N_TRIALS):
        i = int(rng.integers(2))
        proposed, log_ratio = moves._another_frame(rng, model, state, i)
        if proposed is not None:
            _, state = moves._accept_frames(rng, model, state, proposed, np.array([i]), log_ratio, shared=True)
    return state, None


def sharing_proposed_again(rng, model, state):
    """The fault: instead of staying where it is, the chain proposes until no recording that rests is alone."""
    for _ in range(N_TRIALS):
        while True:
            i = int(rng.integers(2))
            proposed, log_ratio = moves._another_frame(rng, model, state, i)
            if proposed is None or len(np.unique(proposed.labels[:2])) == proposed.n_frames:
                break
        if proposed is not None:
            _, state = moves._accept_frames(rng, model, state, proposed, np.array([i]), log_ratio, shared=True)
    return state, None


@pytest.mark.parametrize(
    ("fault", "n_sweeps"),
    [(sharing_with_frames_of_resting_recordings, N_SWEEPS // 4), (sharing_proposed_again, 3 * N_SWEEPS // 2)],
)
def test_wrong_sharing_with_a_recording_that_rests_is_caught(fault, n_sweeps):
    assert distance_of_sharing(n_sweeps, SWEEP | {"sharing of frames": fault}) > 1.5 * MAX_SHARING


# --- sharing without data --------------------------------------------------------------------------------------------

SPACE = Blocks(("vector", "plain"))
PROPOSED = Frames(np.zeros(1, np.int64), np.array([[0.5, 0.5, -0.5, 0.5]]), np.array([[0.2]]), np.zeros((1, 0, 3)))
WIDE = 3.0  # of proposals, radians: the volume of rotations matters at such angles


def angles_of_first(n_sweeps, seed=3):
    """Angle between the first recording's frame and the candidate, and sizes; the likelihood put to one."""
    world = naive_frames.FrameWorld(n_recordings=2, n_steps=1, blocks=SPACE, concentration=2.0)
    rng = np.random.default_rng(seed)
    model, state = naive_frames.draw_world(rng, world, n_global=2)
    patches = {"candidate_frames": lambda *_: PROPOSED, "log_evidence": lambda *_: 0.0}
    angles, sizes, together = np.empty((3, n_sweeps))
    with mock.patch.multiple(moves, **patches), mock.patch.object(candidates, "NEAR", WIDE):
        for n in range(n_sweeps):
            state, _ = moves.resample_sharing(rng, model, state)
            frames = state.frames
            f = frames.labels[0]
            angles[n] = np.linalg.norm(candidates.angles_between(SPACE, PROPOSED.turns[0], frames.turns[f]))
            sizes[n] = frames.log_sizes[f, 0]
            together[n] = frames.labels[0] == frames.labels[1]
    return angles, sizes, together


def distances_from_prior(n_sweeps):
    """Total variation of the angle in ten bins, of the size in ten, and of sharing, from what the prior has."""
    angles, sizes, together = angles_of_first(n_sweeps)
    uniform = (angles - np.sin(angles)) / np.pi, stats.norm.cdf(sizes / 0.5)
    histograms = [np.histogram(values, np.linspace(0, 1, 11))[0] / n_sweeps for values in uniform]
    angle, size = (0.5 * np.abs(histogram - 0.1).sum() for histogram in histograms)
    return {"angle": angle, "size": size, "sharing": abs(together.mean() - 1 / 3)}


def density_without_haar(blocks, centre, turn):
    """The fault: the density of angles, not of rotations."""
    angles = candidates.angles_between(blocks, centre, turn)
    normal = stats.norm.logpdf(angles, 0, candidates.NEAR).sum()
    return float(normal + np.log(8 * np.pi**2 / candidates._share_within_half_turn(blocks)))


MAX_FROM_PRIOR = {"angle": 0.1, "size": 0.12, "sharing": 0.04}  # after 4,000 sweeps; twice what is left


def test_without_likelihood_frames_follow_their_prior():
    found = distances_from_prior(4_000)
    assert all(found[name] < bound for name, bound in MAX_FROM_PRIOR.items()), found


@pytest.mark.slow
def test_without_likelihood_frames_follow_their_prior_at_length():
    found = distances_from_prior(200_000)
    assert max(found.values()) < 0.012, found


def test_density_without_its_haar_factor_is_caught():
    # What is gained by a new frame is wrong, and with it how often there is one.
    with mock.patch.object(candidates, "_log_turn_density", density_without_haar):
        found = distances_from_prior(5_000)
    assert found["sharing"] > 1.2 * MAX_FROM_PRIOR["sharing"], found


def test_no_prior_of_new_frames_is_caught():
    with mock.patch.object(_kernels, "log_frame_prior", return_value=0.0):
        found = distances_from_prior(2_000)
    assert found["size"] > 2 * MAX_FROM_PRIOR["size"], found
