r"""The mixture of shapes for matrices that lack rows and columns: their spectra are drawn along with the clusters.

See docs/model.md, section 2.14. Of a matrix whose axes point anywhere, the part that is there tells its whole spectrum
through the laws of corners: eigenvalues of a matrix and of the same matrix without a row and column interlace, and
Dixon and Anderson have their density. A matrix that lacks several dimensions is taken apart one at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from homothety.covariance.shape import shape_points
from homothety.distributions import NIW
from homothety.errors import InputError
from homothety.models.partitions import keep_labels
from homothety.models.shapes import model as whole
from homothety.models.shapes.moves import RECORDING as WHOLE_RECORDING
from homothety.models.shapes.moves import default_sweep, grow_state, resample_kinds
from homothety.sampling.codec import storable
from homothety.sampling.driver import Recording

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray
    from homothety.sampling.driver import Move

_N_ROUNDS = 2  # over the eigenvalues of incomplete matrices, in each sweep
_N_FIRST = 30  # before the first sweep
_WIDEST = 27.6  # an eigenvalue is at most so far, in its logarithm, outside of those of the part that is known


class Corners(NamedTuple):
    """Matrices that lack the same number of dimensions."""

    items: IntArray  # (n,) which ones
    known: FloatArray  # (n, n_known) logarithms of the eigenvalues of the part that is known, ascending
    n_missing: int


Levels = tuple[Any, ...]  # arrays (n, n_known + 1), (n, n_known + 2), ...: spectra with one dimension more each


@dataclass(frozen=True, eq=False)
class Model:
    """Points of which some are known only through a part of their matrix.

    Parameters
    ----------
    inner : shapes.Model
        With the points of incomplete matrices filled in somehow.
    corners : tuple of Corners
    noise : ndarray of shape (n_items, n_dims)
        What is added to the points of matrices.
    uses_size : bool
        Whether the size of a matrix is its last coordinate.
    """

    inner: whole.Model
    corners: tuple[Corners, ...]
    noise: FloatArray
    uses_size: bool = False

    def check_state(self, state: ChainState) -> None:
        """Raise if a state does not fit this model."""
        for corner, levels in zip(self.corners, state.levels, strict=True):
            if not np.isfinite(log_corner_density(corner.known, levels)).all():
                raise InputError("Spectra of matrices that lack dimensions do not fit the part that is known.")
        self.completed(state.levels).check_state(state.inner)

    def completed(self, levels: tuple[Levels, ...]) -> whole.Model:
        """Return the model of the points that follow from whole spectra."""
        points = np.array(self.inner.points)
        for corner, own in zip(self.corners, levels, strict=True):
            points[corner.items] = self.points_of(corner, own)
        return replace(self.inner, points=points)

    def points_of(self, corner: Corners, levels: Levels) -> FloatArray:
        """Return the points of matrices that lack dimensions, given their spectra, (n, n_dims)."""
        return shape_points(np.exp(levels[-1]), use_size=self.uses_size) + self.noise[corner.items]


@storable
@dataclass(frozen=True, eq=False)
class ChainState:
    """One point of the chain.

    Parameters
    ----------
    inner : shapes.ChainState
    levels : tuple of tuples of ndarray
        For matrices that lack the same number of dimensions: logarithms of eigenvalues, of (n, n_known + 1) and so on
        up to all dimensions.
    step : int
        Number of sweeps behind this state.
    """

    inner: whole.ChainState
    levels: tuple[Levels, ...]
    step: int = 0


def _log_gaps(one: FloatArray, other: FloatArray) -> FloatArray:
    """Logarithm of the distance of numbers whose logarithms are given."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(one, other) + np.log(-np.expm1(-np.abs(one - other))))


def log_corner_density(known: FloatArray, levels: Levels) -> FloatArray:
    r"""Log density of the spectra of parts of matrices given the largest one, up to a constant, (n,).

    Parameters
    ----------
    known : ndarray of shape (n, n_known)
        Logarithms of eigenvalues, ascending, as all others.
    levels : tuple of ndarray, (n, n_known + 1), (n, n_known + 2), ...

    Notes
    -----
    Eigenvalues :math:`\mu` of a matrix without one row and column have, given those of the matrix, whose axes point
    anywhere, the density :math:`\prod_{i<j} (\mu_j - \mu_i) \prod_{ij} |\mu_i - \lambda_j|^{-1/2}` where they
    interlace. Spectra between the known and the whole one are over their logarithms.
    """
    total = np.zeros(len(known))
    for small, large in zip((known, *levels[:-1]), levels, strict=True):
        one, other = np.triu_indices(small.shape[1], 1)
        total += _log_gaps(small[:, one], small[:, other]).sum(axis=1)
        total -= 0.5 * _log_gaps(small[:, :, None], large[:, None, :]).sum(axis=(1, 2))
        interlace = (large[:, :-1] < small).all(axis=1) & (small < large[:, 1:]).all(axis=1)
        total = np.where(interlace, total, -np.inf)
    return total + sum(level.sum(axis=1) for level in levels[:-1])


def first_levels(known: FloatArray, n_missing: int) -> Levels:
    """Return spectra that interlace: middles, and one at either end as far outside as the middle gap is wide."""
    levels, before = [], known
    for _ in range(n_missing):
        middles = (before[:, 1:] + before[:, :-1]) / 2
        gap = np.median(np.diff(before, axis=1), axis=1, keepdims=True) + 0.1
        before = np.hstack([before[:, :1] - gap / 2, middles, before[:, -1:] + gap / 2])
        levels.append(before)
    return tuple(levels)


def redrawn(
    rng: Generator, known: FloatArray, levels: Levels, log_density: Callable[[Levels], FloatArray], n_rounds: int
) -> Levels:
    """Return spectra after rounds of slice sampling, one eigenvalue of all matrices after the other (Neal 2003).

    Parameters
    ----------
    rng : Generator
    known : ndarray of shape (n, n_known)
    levels : tuple of ndarray
    log_density : callable
        From levels to the log density of whole spectra, (n,), besides that of their parts.
    n_rounds : int
    """
    current = [np.array(level) for level in levels]

    def density() -> FloatArray:
        return log_density(tuple(current)) + log_corner_density(known, tuple(current))

    for _ in range(n_rounds):
        for place, level in enumerate(current):
            for j in range(level.shape[1]):
                low, high = _bounds(known, current, place, j)
                _slice(rng, level[:, j], low, high, density)
    return tuple(current)


def _bounds(known: FloatArray, levels: list[FloatArray], place: int, j: int) -> tuple[FloatArray, FloatArray]:
    """Return between what an eigenvalue has to be, given those of the levels below and above, (n,) each."""
    below = known if place == 0 else levels[place - 1]
    low = below[:, j - 1] if j > 0 else below[:, 0] - _WIDEST
    high = below[:, j] if j < below.shape[1] else below[:, -1] + _WIDEST
    if place + 1 < len(levels):
        above = levels[place + 1]
        low, high = np.maximum(low, above[:, j]), np.minimum(high, above[:, j + 1])
    return low.copy(), high.copy()


def _slice(
    rng: Generator, values: FloatArray, low: FloatArray, high: FloatArray, density: Callable[[], FloatArray]
) -> None:
    """Draw numbers between bounds in place: uniform where the density exceeds a level drawn below the present one."""
    least = density() + np.log1p(-rng.random(len(values)))
    present, is_open = values.copy(), np.ones(len(values), dtype=bool)
    while is_open.any():
        proposed = low + (high - low) * rng.random(len(values))
        values[:] = np.where(is_open, proposed, present)
        accepted = is_open & (density() >= least)
        low = np.where(is_open & (proposed < present), proposed, low)
        high = np.where(is_open & (proposed >= present), proposed, high)
        present = np.where(accepted, proposed, present)
        is_open &= ~accepted & (high > low)
    values[:] = present


def resample_completions(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, tuple[()]]:
    """Redraw the spectra of matrices that lack dimensions given the clusters, whose parameters are drawn for it."""
    inner, current = state.inner, model.completed(state.levels)
    drawn = [_draw_cluster(rng, current, inner, k) for k in range(inner.n_clusters)]
    means, roots = np.stack([mean for mean, _ in drawn]), np.stack([root for _, root in drawn])
    scales = np.sqrt(np.array(current.precisions))[inner.spreads]
    levels = []
    for corner, own in zip(model.corners, state.levels, strict=True):
        of_items = inner.labels[corner.items]
        log_density = partial(
            _log_gaussian, model, corner, means[of_items], roots[of_items] * scales[corner.items, None, None]
        )
        levels.append(redrawn(rng, corner.known, own, log_density, _N_ROUNDS))
    return replace(state, levels=tuple(levels)), ()


def _log_gaussian(model: Model, corner: Corners, means: FloatArray, roots: FloatArray, levels: Levels) -> FloatArray:
    """Log density of the points of whole spectra in their clusters, up to a constant, (n,)."""
    deviations = model.points_of(corner, levels) - means
    return np.asarray(-0.5 * np.square(np.einsum("nab,nb->na", roots, deviations)).sum(axis=1))


def _draw_cluster(rng: Generator, model: whole.Model, state: whole.ChainState, k: int) -> tuple[FloatArray, FloatArray]:
    """Draw the mean of a cluster and a root of its precision, given its members and their spreads."""
    members = np.flatnonzero(state.labels == k)
    prior, weights = model.kinds.prior(int(state.kinds[k])), np.array(model.precisions)[state.spreads[members]]
    centred = model.points[members] - prior.mean
    total, strength = weights @ centred, prior.mean_strength + weights.sum()
    scale = prior.scale + (weights[:, None] * centred).T @ centred - np.outer(total, total) / strength
    mean, covariance = NIW(prior.mean + total / strength, strength, scale, prior.dof + len(members)).sample(rng)
    return mean, np.linalg.inv(np.linalg.cholesky(covariance))


def _move_completed(move: Move, rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, Any]:
    """Make a move of points that are all known, on those that follow from the spectra of the state."""
    inner, info = move(rng, model.completed(state.levels), replace(state.inner, step=state.step))
    return replace(state, inner=inner), info


def lifted_sweep() -> dict[str, Move]:
    """Return the moves of one sweep: those of whole matrices, and the one that draws spectra."""
    lifted: dict[str, Move] = {name: partial(_move_completed, move) for name, move in default_sweep().items()}
    return lifted | {"completions": resample_completions}


def init_state(rng: Generator, model: Model) -> ChainState:
    """Return a first state: clusters grown from the whole matrices, each incomplete one in the likeliest of them."""
    incomplete = np.concatenate([corner.items for corner in model.corners])
    complete = np.setdiff1d(np.arange(model.inner.n_items), incomplete)
    part = replace(model.inner, points=model.inner.points[complete])
    grown = grow_state(rng, part).labels
    labels, levels = np.empty(model.inner.n_items, dtype=np.int64), []
    labels[complete] = grown
    for corner in model.corners:
        found, own = _likeliest(rng, model, corner, part, grown)
        labels[corner.items] = found
        levels.append(own)
    return ChainState(whole.init_state(model.completed(tuple(levels)), labels), tuple(levels))


def _likeliest(
    rng: Generator, model: Model, corner: Corners, part: whole.Model, labels: IntArray
) -> tuple[IntArray, Levels]:
    """Return for incomplete matrices the likeliest cluster of whole ones, (n,), and spectra drawn in it."""
    n, first = len(corner.items), first_levels(corner.known, corner.n_missing)
    drawn, scores = [], np.empty((int(labels.max()) + 1, n))
    for k in range(len(scores)):
        posterior = whole.cluster_posterior(part, labels == k)
        covariance = posterior.scale / (posterior.dof - posterior.n_dims - 1)
        root = np.linalg.inv(np.linalg.cholesky(covariance))
        log_density = partial(_log_gaussian, model, corner, np.tile(posterior.mean, (n, 1)), np.tile(root, (n, 1, 1)))
        drawn.append(redrawn(rng, corner.known, first, log_density, _N_FIRST))
        scores[k] = log_density(drawn[k]) + log_corner_density(corner.known, drawn[k])
        scores[k] += np.log(np.diagonal(root)).sum() + np.log((labels == k).sum())
    best = scores.argmax(axis=0)
    chosen = [np.stack(own)[best, np.arange(n)] for own in zip(*drawn, strict=True)]
    return best, tuple(chosen)


def expected_points(rng: Generator, model: Model, labels: IntArray, n_rounds: int = 100) -> FloatArray:
    """Return the points of all matrices, (n_items, n_dims): those of incomplete ones averaged given the clusters."""
    state, total = init_state(rng, model), np.zeros_like(model.inner.points)
    state = replace(state, inner=whole.init_state(model.completed(state.levels), labels))
    for _ in range(n_rounds):
        inner, _ = resample_kinds(rng, model.completed(state.levels), state.inner)
        state, _ = resample_completions(rng, model, replace(state, inner=inner))
        total += model.completed(state.levels).points / n_rounds
    return total


def _trace_completed(model: Model, state: ChainState, infos: dict[str, Any]) -> dict[str, float]:
    """Return the numbers of one sweep, on the points that follow from the spectra of the state."""
    known = {name: info for name, info in infos.items() if name != "kinds"}  # of the spectra before they were redrawn
    return WHOLE_RECORDING.scalars(model.completed(state.levels), state.inner, known)


def _keep_inner(state: ChainState) -> Any:
    """Return what is kept of a state: labels."""
    return keep_labels(state.inner)


RECORDING = Recording(scalars=_trace_completed, keep=_keep_inner)
