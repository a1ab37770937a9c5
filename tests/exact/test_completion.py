"""Spectra of matrices that lack dimensions: draws given a part of the matrix leave the joint distribution as it is."""

from __future__ import annotations

import numpy as np
import pytest

from homothety.covariance.shape import shape_points
from homothety.models.shapes import completion

N, N_DIMS = 6_000, 4
MEAN = shape_points(np.exp([[-1.0, -0.6, 0.5, 1.2]]), use_size=True)[0]
ROOT = np.linalg.cholesky(0.1 * np.eye(N_DIMS) + 0.05)  # of the covariance of shape coordinates and size
MOST_OFF = 4.5  # standard errors; the largest of some 30 numbers, of which each is normal


def draw_nested(rng, n_missing):
    """Logarithms of the eigenvalues of random matrices, and of what is left of them when dimensions are taken away."""
    points = MEAN + rng.standard_normal((10 * N, N_DIMS)) @ ROOT.T
    to_points = shape_points(np.exp(2 * np.eye(N_DIMS)), use_size=True)  # of unit vectors of log axis lengths
    spectra = 2 * points @ np.linalg.inv(to_points)
    spectra = spectra[(np.diff(spectra, axis=1) > 0).all(axis=1)][:N]
    assert len(spectra) == N
    turns = np.linalg.qr(rng.standard_normal((N, N_DIMS, N_DIMS)))[0]
    matrices = np.einsum("nab,nb,ncb->nac", turns, np.exp(spectra), turns)
    levels = [np.log(np.linalg.eigvalsh(matrices[:, k:, k:])) for k in range(n_missing, -1, -1)]
    return levels[0], tuple(levels[1:])


def log_prior(levels):
    """Log density of whole spectra, up to a constant."""
    points = shape_points(np.exp(levels[-1]), use_size=True)
    return -0.5 * np.square(np.linalg.solve(ROOT, (points - MEAN).T)).sum(axis=0)


def statistics(known, levels):
    """Numbers of each matrix: of its whole spectrum, and of that and the known part together."""
    whole = levels[-1]
    return np.column_stack([whole, whole**2, whole * known.mean(axis=1, keepdims=True), *levels[:-1]])


def largest_difference(n_missing, seed=0):
    """How far, in standard errors, means are off after a round of draws."""
    rng = np.random.default_rng(seed)
    known, levels = draw_nested(rng, n_missing)
    other_known, other = draw_nested(rng, n_missing)
    drawn = completion.redrawn(rng, known, levels, log_prior, 3)
    changed = np.abs(drawn[-1] - levels[-1]).mean()
    assert changed > 0.01
    one, two = statistics(known, drawn), statistics(other_known, other)
    errors = np.sqrt(one.var(axis=0) / N + two.var(axis=0) / N)
    return np.abs((one.mean(axis=0) - two.mean(axis=0)) / errors).max()


@pytest.mark.parametrize("n_missing", [1, 2])
def test_draws_given_a_part_keep_the_joint_distribution(n_missing):
    assert largest_difference(n_missing) < MOST_OFF


@pytest.mark.parametrize("n_missing", [1, 2])
def test_draws_that_only_interlace_are_caught(n_missing, monkeypatch):
    def only_interlacing(known, levels):
        total = np.zeros(len(known))
        for small, large in zip((known, *levels[:-1]), levels, strict=True):
            inside = (large[:, :-1] < small).all(axis=1) & (small < large[:, 1:]).all(axis=1)
            total = np.where(inside, total, -np.inf)
        return total

    monkeypatch.setattr(completion, "log_corner_density", only_interlacing)
    assert largest_difference(n_missing) > 2 * MOST_OFF
