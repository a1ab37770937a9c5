"""Intervals of transformations hold what they say: the truth, in 95 % of many made-up data sets.

In three demonstrations two actions take turns. Each demonstration has a frame of its own: turned, resized and moved at
random. States are far from each other, so that it is the parameters that are in question and not the path.
The truth is taken between the same two states that a row compares, and of the rotations that cannot be told from the
true one, the nearest to the reported one.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import special_ortho_group

from homothety import ICSCHMM
from homothety.covariance.rotation import nearest_rotation, rotation_angle
from homothety.preprocessing import Preprocessing
from homothety.summaries import transforms

N_SETS = 150
LEVEL, MAX_Z = 0.95, 4.0
N_RECORDINGS, SEGMENT, N_SEGMENTS = 3, 25, 4
BOX, APART = 25.0, 12.0  # half the width of the space states are put into, and how far their means are from each other
# Lengths of axes, shortest first. Two are as good as equal. Axes between equal and clearly different are left out: told
# apart by chance only, their directions are surer than they should be.
SHAPES = {2: ([0.5, 1.2], [0.25, 1.6]), 3: ([0.3, 0.8, 1.6], [0.6, 0.62, 1.5])}


# Steps are independent, so each counts in full. Of states so far apart, a prior worth one step would blur all shapes.
SETTINGS = {"preprocessing": Preprocessing(), "step_weight": 1.0, "mean_strength": 0.05, "n_chains": 1, "n_sweeps": 20}


class Truth(NamedTuple):
    """True states: action 0 and 1 of the first series, then of the next."""

    means: np.ndarray  # (n_states, n_dims)
    log_sizes: np.ndarray  # (n_states,), of the axes, relative to their action
    lengths: np.ndarray  # (n_states, n_dims)
    frames: np.ndarray  # (n_states, n_dims, n_dims)


def draw_truth(rng, n_dims):
    n_states = 2 * N_RECORDINGS
    means = rng.uniform(-BOX, BOX, size=(n_states, n_dims))
    while np.linalg.norm(means[:, None] - means, axis=2)[np.triu_indices(n_states, 1)].min() < APART:
        means = rng.uniform(-BOX, BOX, size=(n_states, n_dims))
    log_sizes = np.repeat(rng.uniform(-0.5, 0.5, size=N_RECORDINGS), 2)
    lengths = np.exp(log_sizes)[:, None] * np.tile(SHAPES[n_dims], (N_RECORDINGS, 1))
    return Truth(means, log_sizes, lengths, special_ortho_group.rvs(n_dims, n_states, random_state=rng))


def draw_series(rng, truth):
    """Series in which two states take turns, and the path of each."""
    paths = [np.tile(np.repeat([2 * i, 2 * i + 1], SEGMENT), N_SEGMENTS // 2) for i in range(N_RECORDINGS)]
    n_dims = truth.means.shape[1]
    return [
        truth.means[path] + np.einsum("tij,tj->ti", truth.frames[path] * truth.lengths[path][:, None], noise)
        for path, noise in zip(paths, rng.normal(size=(N_RECORDINGS, N_SEGMENTS * SEGMENT, n_dims)), strict=True)
    ], paths


def what_is_held(row, truth, true_state):
    """Whether the intervals of a row hold scale, translation (a share of the dimensions) and rotation."""
    start, end = true_state[row.reference], true_state[row.state]
    scale = np.exp(np.log(truth.lengths[end]).mean() - np.log(truth.lengths[start]).mean())
    translation = truth.means[end] - truth.means[start]
    held = (row.translation_low <= translation) & (translation <= row.translation_high)
    blocks = np.repeat(np.arange(len(row.blocks)), [len(members) for members in row.blocks])
    rotation = nearest_rotation(truth.frames[start], truth.frames[end], blocks, row.rotation)
    error = rotation_angle(row.rotation.T @ rotation)
    is_turned = np.nan if row.orientation == "none" else float(error <= row.rotation_within)
    return [float(row.scale_low <= scale <= row.scale_high), held.mean(), is_turned]


def coverage_of_one_set(n_dims, seed):
    """Share of the rows of a fitted model whose intervals hold the truth: of scale, translation and rotation."""
    rng = np.random.default_rng([seed, n_dims])
    truth = draw_truth(rng, n_dims)
    series, paths = draw_series(rng, truth)
    model = ICSCHMM(start=paths, random_state=seed, **SETTINGS).fit(series)
    found, true = np.concatenate(model.paths_), np.concatenate(paths)
    true_state = [int(np.bincount(true[found == k]).argmax()) for k in range(model.n_states_)]
    rows = [row for row in model.transforms_ if not row.is_reference]
    assert min((row.support for row in rows), default=1.0) > 0.5
    held = np.array([what_is_held(row, truth, true_state) for row in rows]).reshape(-1, 3)
    return np.ma.masked_invalid(held).mean(axis=0).filled(np.nan)


def coverage(n_dims, n_sets=N_SETS):
    """Mean coverage over data sets, and how far it is from what is said in standard errors, rows of a set together."""
    sets = np.array([coverage_of_one_set(n_dims, seed) for seed in range(n_sets)])
    means, n = np.nanmean(sets, axis=0), np.isfinite(sets).sum(axis=0)
    assert (n > n_sets / 2).all()
    # The spread expected of exact intervals, should all rows of a set be held or missed together.
    error = np.sqrt(LEVEL * (1 - LEVEL) / n)
    return means, (means - LEVEL) / error


@pytest.mark.slow
@pytest.mark.parametrize("n_dims", SHAPES)
def test_intervals_hold_the_truth_as_often_as_they_say(n_dims):
    means, z = coverage(n_dims)
    print(f"coverage of scale, translation, rotation in {n_dims} dimensions: {means.round(3)}, z {z.round(2)}")
    assert np.abs(z).max() < MAX_Z


# --- intervals with a fault, which the same test must catch ----------------------------------------------------------


def with_steps_counted_twice(statistics_of, *arguments):
    """Observations are counted twice."""
    statistics = statistics_of(*arguments)
    return statistics._replace(sizes=2 * statistics.sizes, scales=2 * statistics.scales)


def means_alone(rng, emission, statistics):
    """Parameters are not drawn: all that is left is what differs between paths."""
    restored = statistics._replace(sizes=statistics.sizes + emission.dof + emission.n_regressors)
    return transforms.mean_parameters(emission, restored)


FAULTS = {
    "counted twice": ("statistics_of", partial(with_steps_counted_twice, transforms.statistics_of)),
    "means alone": ("draw_parameters", means_alone),
    "prior worth a step": ("_without_prior", lambda emission: replace(emission, precision=np.eye(1))),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_intervals_with_a_fault_are_caught(fault, monkeypatch):
    monkeypatch.setattr(transforms, *FAULTS[fault])
    means, z = coverage(2)
    print(f"coverage with fault '{fault}': {means.round(3)}, z {z.round(2)}")
    assert z.min() < -MAX_Z
