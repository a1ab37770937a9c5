"""Geweke's test of the mixture of shapes: prior draws against a chain that redraws the points after every sweep."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import naive_crp
import naive_shapes as naive
from homothety.models import shapes
from homothety.models.shapes import _kernels

N_ITEMS, MAX_Z = 4, 4.0
# Enough degrees of freedom for the squares that are compared to have a variance.
KINDS = shapes.ClusterKinds(np.array([0.3, -0.2]), np.array([0.3, 0.1]), np.array([8.0, 1.0]), np.array([11.0, 14.0]))
SETTINGS = {"attraction": 1.3, "precisions": (1.0, 0.25), "precision_shares": (0.8, 0.2)}


def statistics(state, points):
    """Numbers that do not depend on how clusters are named."""
    sizes, together = np.bincount(state.labels), state.labels[0] == state.labels[1]
    return [
        len(sizes),
        (sizes**2).sum(),
        together,
        points.mean(),
        points[0] @ points[0],
        points[0] @ points[1],
        together * (points[0] @ points[1]),
        state.spreads.sum(),
        state.spreads[0] * (points[0] @ points[0]),
        state.kinds[state.labels[0]],
        state.kinds[state.labels[0]] * (points[0] @ points[0]),
        np.log(state.concentration),
    ]


def draw(rng):
    state = naive.sample_state(rng, N_ITEMS, KINDS, SETTINGS["attraction"], SETTINGS["precision_shares"])
    return state, naive.sample_points(rng, state, KINDS, SETTINGS["precisions"])


@cache
def prior_means(n_draws):
    rng = np.random.default_rng(100)
    return naive_crp.mean_and_error([statistics(*draw(rng)) for _ in range(n_draws)])


def largest_z(sweep, n_draws, seed=1, **other):
    """Largest difference of means between the two ways to draw, in standard errors."""
    rng = np.random.default_rng(seed)
    (state, points), draws = draw(rng), []
    for _ in range(n_draws):
        model = shapes.Model(points, KINDS, **SETTINGS | other)
        for move in sweep.values():
            state, _ = move(rng, model, state)
        draws.append(statistics(state, points))
        points = naive.sample_points(rng, state, KINDS, SETTINGS["precisions"])
    return naive_crp.z_scores(draws, *prior_means(4 * n_draws)).max()


def test_sweep_keeps_the_joint_prior():
    assert largest_z(shapes.default_sweep(), 4_000) < MAX_Z


@pytest.mark.slow
def test_sweep_keeps_the_joint_prior_at_length():
    assert largest_z(shapes.default_sweep(), 60_000, seed=2) < MAX_Z


@pytest.mark.parametrize(
    "other", [{"attraction": 2.3}, {"precisions": (1.0, 1.0)}, {"precision_shares": (0.5, 0.5)}], ids=str
)
def test_sweep_of_another_prior_is_caught(other):
    assert largest_z(shapes.default_sweep(), 4_000, **other) > 1.5 * MAX_Z


def test_split_without_the_probability_of_its_proposal_is_caught(monkeypatch):
    scan = _kernels.scan_sides
    monkeypatch.setattr(_kernels, "scan_sides", lambda *args: 0.0 * scan(*args))
    assert largest_z(shapes.default_sweep(), 4_000) > 1.5 * MAX_Z


def test_concentration_of_another_number_of_clusters_is_caught():
    def broken(rng, model, state):
        one_more = replace(state, labels=np.arange(N_ITEMS), kinds=np.zeros(N_ITEMS, dtype=np.int64))
        drawn, info = shapes.resample_concentration(rng, model, one_more)
        return replace(state, concentration=drawn.concentration), info

    assert largest_z(shapes.default_sweep() | {"concentration": broken}, 4_000) > 1.5 * MAX_Z
