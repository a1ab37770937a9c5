r"""How the states of one action differ: rotation, scale and translation, and how sure each is.

An action's shape is placed as its *reference* is, the state with most of its steps. The similarity transformation that
takes the reference to state k is

.. math:: x \mapsto \mu_k + s R (x - \mu_{\mathrm{ref}}),

with s the ratio of the geometric means of the axis lengths, R the smallest rotation of the axes (see
`homothety.covariance.rotation`), and :math:`\mu_k - \mu_{\mathrm{ref}}` the translation.

Given a path, means and covariances are drawn from their posterior under the flat reference prior
:math:`p(\mu, \Sigma) \propto |\Sigma|^{-(D + 1) / 2}`, not under the prior the states were found with. That one knows
the size and the place of all data together, and draws all states towards it: of states far apart, its 95 % intervals
hold the true scale in three of four cases only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from scipy.special import digamma

from homothety.arrays import real_array
from homothety.covariance.rotation import (
    Axes,
    axes_in_blocks,
    axes_of,
    blocks_from_gaps,
    equivalent_rotations,
    nearest_rotation,
    rotation_angle,
    told_apart,
)
from homothety.errors import InputError
from homothety.models.emissions.regression import draw_parameters, mean_parameters, statistics_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.random import Generator
    from numpy.typing import ArrayLike

    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.models.emissions import Emission
    from homothety.models.emissions.regression import Statistics
    from homothety.sequences import Sequences
    from homothety.summaries.paths import PathDraws

_Orientation = Literal["full", "partial", "none"]

_N_DRAWS = 400  # of parameters, spread over the kept sweeps: quantiles of fewer are narrow by more than a per cent
_LEVEL = 0.95
_VANISHING = 1e-9  # share of the prior that is left: a billionth of a step keeps factors positive and tells nothing


class StateTransform(NamedTuple):
    """What takes the reference state of an action to one of its states; the row of a reference is the identity.

    Every `_low` and `_high` is a 95 % credible interval; it is infinite where a state has fewer observations than it
    takes to know a covariance, and NaN where no kept sweep has the state.
    """

    state: int
    action: int
    reference: int
    scale: float  # ratio of axis lengths
    scale_low: float
    scale_high: float
    rotation: FloatArray  # (n_dims, n_dims), the smallest of those that cannot be told apart
    angle: float  # of it, in degrees; NaN if there is no telling
    rotation_within: float  # degrees from `rotation` within which 95 % of the draws lie
    orientation: _Orientation  # which axes are known: all, some or none
    blocks: tuple[tuple[int, ...], ...]  # axes, from the shortest, that cannot be told apart
    n_equivalent: int  # rotations that differ from `rotation` by the signs of axes, itself included
    translation: FloatArray  # (n_dims,), of the mean
    translation_low: FloatArray
    translation_high: FloatArray
    mismatch: float  # root mean square difference of the logarithms of axis lengths, the scale taken out
    mismatch_low: float
    mismatch_high: float
    mean: FloatArray  # (n_dims,), of the state
    axes: FloatArray  # (n_dims, n_dims), of the reference in columns, from the shortest
    observations: float  # independent observations the state rests on
    agreement: float  # share of kept sweeps in which state and reference are one action
    support: float  # share of the draws in which both states are found: what the intervals rest on

    @property
    def is_reference(self) -> bool:
        """Whether this is the state that others of the action are compared with."""
        return self.state == self.reference

    def apply(self, points: ArrayLike) -> FloatArray:
        """Return points of the reference where the state has them, (..., n_dims)."""
        x = real_array(points, "points")
        if x.ndim == 0 or x.shape[-1] != len(self.mean):
            raise InputError(f"points has shape {x.shape}, needed {len(self.mean)} dimensions along the last axis.")
        if np.isnan(self.mean).any():
            raise InputError("Autoregressive states have no mean, so no points can be moved. Use Gaussian states.")
        return np.asarray(self.mean + self.scale * (x - (self.mean - self.translation)) @ self.rotation.T)

    def equivalents(self) -> Iterator[FloatArray]:
        """Yield the `n_equivalent` rotations that differ by the signs of axes, each as good as the one reported."""
        blocks = np.repeat(np.arange(len(self.blocks)), [len(members) for members in self.blocks])
        return equivalent_rotations(self.rotation, self.axes, blocks)


@dataclass(frozen=True, eq=False)
class TransformTable:
    """Transformations of all states as arrays, the first axis that of states: what is kept of a fit.

    Where there are three columns, they are the value and the ends of its interval.
    """

    reference: IntArray  # (n_states,)
    mean: FloatArray  # (n_states, n_dims)
    axes: FloatArray  # (n_states, n_dims, n_dims)
    observations: FloatArray  # (n_states,)
    support: FloatArray  # (n_states,)
    blocks: IntArray  # (n_states, n_dims)
    scale: FloatArray  # (n_states, 3)
    rotation: FloatArray  # (n_states, n_dims, n_dims)
    within: FloatArray  # (n_states,)
    translation: FloatArray  # (n_states, 3, n_dims)
    mismatch: FloatArray  # (n_states, 3)

    def rescaled(self, factor: float, offset: FloatArray) -> TransformTable:
        """Return the table in other units, those of which the present ones are ``factor * (x - offset)``."""
        translation = self.translation / factor
        translation[:, 1:] = np.sort(translation[:, 1:], axis=1)  # a negative factor swaps the ends
        return replace(self, mean=self.mean / factor + offset, translation=translation)

    def rows(self, actions: IntArray, together: FloatArray) -> list[StateTransform]:
        """Return one row for every state.

        Parameters
        ----------
        actions : ndarray of shape (n_states,)
        together : ndarray of shape (n_states, n_states)
            Share of kept sweeps in which two states are one action.
        """
        return [self._row(k, int(actions[k]), float(together[k, ref])) for k, ref in enumerate(self.reference)]

    def _row(self, k: int, action: int, agreement: float) -> StateTransform:
        orientation, blocks = _orientation_of(self.blocks[k]), axes_in_blocks(self.blocks[k])
        is_reference = k == self.reference[k]
        scale, scale_low, scale_high = self.scale[k].tolist()
        translation, translation_low, translation_high = self.translation[k]
        mismatch, mismatch_low, mismatch_high = self.mismatch[k].tolist()
        return StateTransform(
            state=k,
            action=action,
            reference=int(self.reference[k]),
            scale=scale,
            scale_low=scale_low,
            scale_high=scale_high,
            rotation=self.rotation[k],
            angle=float(rotation_angle(self.rotation[k])) if is_reference or orientation != "none" else np.nan,
            rotation_within=float(self.within[k]),
            orientation=orientation,
            blocks=tuple(tuple(members.tolist()) for members in blocks),
            n_equivalent=2 ** (len(blocks) - 1),
            translation=translation,
            translation_low=translation_low,
            translation_high=translation_high,
            mismatch=mismatch,
            mismatch_low=mismatch_low,
            mismatch_high=mismatch_high,
            mean=self.mean[k],
            axes=self.axes[k],
            observations=float(self.observations[k]),
            agreement=1.0 if is_reference else agreement,
            support=float(self.support[k]),
        )


class Placement(NamedTuple):
    """Where states are and how they lie; leading axes are those of draws and states."""

    means: FloatArray  # (..., n_dims)
    axes: Axes

    def at(self, index: tuple[BoolArray, int] | int) -> Placement:
        """Return the placements at an index."""
        return Placement(self.means[index], Axes(self.axes.log_lengths[index], self.axes.frames[index]))


class Similarity(NamedTuple):
    """Similarity transformations, and how far shapes are from being the same."""

    log_scale: FloatArray  # (...)
    rotation: FloatArray  # (..., n_dims, n_dims)
    translation: FloatArray  # (..., n_dims)
    mismatch: FloatArray  # (...)


def similarity_between(
    start: Placement, end: Placement, blocks: IntArray, target: FloatArray | None = None
) -> Similarity:
    """Return what takes one state to another, of all rotations that fit the one nearest to `target`, or the smallest.

    Examples
    --------
    >>> thin, turned = np.diag([1.0, 9.0]), np.diag([36.0, 4.0])
    >>> states = [Placement(np.full(2, mean), axes_of(cov)) for mean, cov in ((0.0, thin), (1.0, turned))]
    >>> found = similarity_between(*states, blocks=np.array([0, 1]))
    >>> float(np.exp(found.log_scale).round(6)), float(found.mismatch.round(6)), found.translation
    (2.0, 0.0, array([1., 1.]))
    """
    differences = end.axes.log_lengths - start.axes.log_lengths
    log_scale = differences.mean(axis=-1)
    mismatch = np.sqrt(((differences - log_scale[..., None]) ** 2).mean(axis=-1))
    rotation = nearest_rotation(start.axes.frames, end.axes.frames, blocks, target)
    return Similarity(log_scale, rotation, end.means - start.means, mismatch)


def transform_table(
    rng: Generator, emission: Emission, sequences: Sequences, point: IntArray, draws: PathDraws, actions: IntArray
) -> TransformTable:
    """Return how the states of a path differ from the reference states of their actions.

    Parameters
    ----------
    rng : Generator
    emission : Emission
    sequences : Sequences
        As prepared; the table has their units.
    point : ndarray of shape (n_augmented_steps,)
        The path that is reported, of states 0, 1, ..., over the steps that `emission.augment` leaves.
    draws : PathDraws
        The kept paths, over the same steps.
    actions : ndarray of shape (n_states,)
        Action of each state.
    """
    if emission.blocks is not None:
        raise InputError("Transformations between states are worked out for one block of dimensions, not for several.")
    flat, n_states = _without_prior(emission), len(actions)
    z, _ = flat.augment(sequences)
    statistics = statistics_of(flat, z, point, n_states)
    placement, n_spare = _place_states(flat, statistics), _spare_observations(flat, statistics)
    drawn = _draw_placements(rng, flat, z, point, draws, n_states)
    reference = _reference_states(statistics.sizes, actions)
    rows = [describe(placement, drawn, n_spare, pair, flat.diagonal) for pair in enumerate(reference.tolist())]
    columns = [np.stack(column) for column in zip(*rows, strict=True)]
    return TransformTable(reference, placement.means, placement.axes.frames[reference], statistics.sizes, *columns)


def _without_prior(emission: Emission) -> Emission:
    """Return emissions whose prior counts for next to nothing; its degrees of freedom are taken out elsewhere."""
    return replace(emission, precision=_VANISHING * emission.precision, scale=_VANISHING * emission.scale)


def _spare_observations(flat: Emission, statistics: Statistics) -> FloatArray:
    """Return the independent observations of each state, less those that its mean and its axes take, (n_states,)."""
    return statistics.sizes - flat.n_regressors - flat.n_dims + 1


def _reference_states(sizes: FloatArray, actions: IntArray) -> IntArray:
    """Return for each state the one with most steps of its action, (n_states,).

    Examples
    --------
    >>> _reference_states(np.array([5.0, 9.0, 3.0]), np.array([0, 0, 1]))
    array([1, 1, 2])
    """
    largest = [int(np.where(actions == action, sizes, -1.0).argmax()) for action in actions]
    return np.array(largest, dtype=np.int64)


def _common_blocks(log_lengths: FloatArray, n_spare: FloatArray, is_diagonal: bool) -> IntArray:
    """Return the blocks of axes that can be distinguished in both of two states, (n_dims,).

    With independent dimensions there is one: that axes are those of the coordinates was assumed, and not found.
    """
    if is_diagonal:
        return np.zeros(log_lengths.shape[1], dtype=np.int64)
    is_clear = told_apart(log_lengths, np.where(n_spare < 1, 0.0, n_spare))
    return blocks_from_gaps(is_clear[0] & is_clear[1])


def _place_states(flat: Emission, statistics: Statistics) -> Placement:
    """Return means, axes and the posterior mean of the logarithm of the size of every state."""
    whiteners = mean_parameters(flat, statistics)
    axes = axes_of(flat.covariances_of(whiteners))
    divisor = flat.dof + statistics.sizes - (2.0 if flat.diagonal else flat.n_dims + 1.0)
    shift = (np.log(divisor) - _expected_log_degrees(flat, statistics)) / 2
    return Placement(_means_of(flat, whiteners), axes._replace(log_lengths=axes.log_lengths + shift[:, None]))


def _expected_log_degrees(flat: Emission, statistics: Statistics) -> FloatArray:
    """Return the mean logarithm of the chi-squares by which a scatter matrix is divided in a draw, (n_states,).

    Without it, a state of few observations would seem smaller than it is.
    """
    taken = np.zeros(flat.n_dims) if flat.diagonal else np.arange(flat.n_dims)
    degrees = statistics.sizes[:, None] - flat.n_regressors - taken
    expected = digamma(np.maximum(degrees, 1.0) / 2).mean(axis=1) + np.log(2)
    return np.where(_spare_observations(flat, statistics) >= 1, expected, np.log(statistics.sizes))


def _means_of(flat: Emission, whiteners: FloatArray) -> FloatArray:
    """Return the means of states, (n_states, n_dims); autoregressive ones have none."""
    return flat.means_of(whiteners) if flat.order == 0 else np.full(whiteners.shape[:2], np.nan)


class Draws(NamedTuple):
    """Reported states as they are in draws of path and parameters."""

    placement: Placement  # leading axes (n_draws, n_states)
    is_found: BoolArray  # (n_draws, n_states)


def _draw_placements(
    rng: Generator, flat: Emission, z: FloatArray, point: IntArray, paths: PathDraws, n_states: int
) -> Draws:
    """Draw means and covariances of the reported states, from an even selection of the kept paths."""
    n_dims, sweeps = flat.n_dims, np.arange(_N_DRAWS) * len(paths) // _N_DRAWS
    means = np.full((_N_DRAWS, n_states, n_dims), np.nan)
    covariances = np.tile(np.eye(n_dims), (_N_DRAWS, n_states, 1, 1))
    is_found = np.zeros((_N_DRAWS, n_states), dtype=bool)
    for sweep in np.unique(sweeps).tolist():
        path = np.unique(paths[sweep], return_inverse=True)[1]
        states, statistics = _drawable_states(flat, z, point, path, n_states)
        for draw in np.flatnonzero(sweeps == sweep):
            whiteners = draw_parameters(rng, flat, statistics)
            means[draw, states] = _means_of(flat, whiteners)
            covariances[draw, states] = flat.covariances_of(whiteners)
            is_found[draw, states] = True
    return Draws(Placement(means, axes_of(covariances)), is_found)


def _drawable_states(
    flat: Emission, z: FloatArray, point: IntArray, path: IntArray, n_states: int
) -> tuple[IntArray, Statistics]:
    """Return which reported states a path has with enough steps, and their statistics there, ready to draw from."""
    partner = _matching_states(point, path, n_states)
    statistics = statistics_of(flat, z, path, int(path.max()) + 1)
    is_drawable = (partner >= 0) & (_spare_observations(flat, statistics)[partner] >= 1)
    states = np.flatnonzero(is_drawable)
    sizes, scales = statistics.sizes[partner[states]], statistics.scales[partner[states]]
    # The kernels add the prior's degrees of freedom, and the flat prior takes one for each regressor instead.
    return states, type(statistics)(sizes - flat.dof - flat.n_regressors, scales)


def _matching_states(point: IntArray, path: IntArray, n_states: int) -> IntArray:
    """Return which state of a path each reported one is, (n_states,); -1 for those it does not have.

    Two states are the same if they share more than half of the steps that either has: there is one such at most.

    Examples
    --------
    >>> _matching_states(np.array([0, 0, 0, 1, 1]), np.array([2, 2, 2, 2, 0]), 2)
    array([ 2, -1])
    """
    n_others = int(path.max()) + 1
    shared = np.bincount(point * n_others + path, minlength=n_states * n_others).reshape(n_states, n_others)
    in_either = shared.sum(axis=1, keepdims=True) + shared.sum(axis=0) - shared
    is_same = 2 * shared > in_either
    return np.where(is_same.any(axis=1), is_same.argmax(axis=1), -1)


class _Description(NamedTuple):
    """Description of one state, in the order of the columns of the table."""

    support: FloatArray  # ()
    blocks: IntArray  # (n_dims,)
    scale: FloatArray  # (3,)
    rotation: FloatArray  # (n_dims, n_dims)
    within: FloatArray  # ()
    translation: FloatArray  # (3, n_dims)
    mismatch: FloatArray  # (3,)


def describe(
    placement: Placement, drawn: Draws, n_spare: FloatArray, pair: tuple[int, int], is_diagonal: bool
) -> _Description:
    """Return the description of a state relative to its reference; `pair` has the indices of both."""
    k, reference = pair
    blocks = _common_blocks(placement.axes.log_lengths[[k, reference]], n_spare[[k, reference]], is_diagonal)
    both = drawn.is_found[:, k] & drawn.is_found[:, reference]
    if k == reference:
        return _identity(both.mean(), blocks)
    point = similarity_between(placement.at(reference), placement.at(k), blocks)
    start, end = drawn.placement.at((both, reference)), drawn.placement.at((both, k))
    spread = similarity_between(start, end, blocks, point.rotation)
    is_known = bool(n_spare[[k, reference]].min() >= 1)
    return _Description(
        both.mean(),
        blocks,
        np.exp(_with_interval(point.log_scale, spread.log_scale, is_known)),
        point.rotation,
        _radius(point.rotation, spread.rotation, blocks),
        _with_interval(point.translation, spread.translation, is_known),
        np.maximum(_with_interval(point.mismatch, spread.mismatch, is_known), 0.0),
    )


def _identity(support: FloatArray, blocks: IntArray) -> _Description:
    """Return the description of a reference, which is compared with itself."""
    none, n_dims = np.zeros(3), len(blocks)
    return _Description(
        support, blocks, np.exp(none), np.eye(n_dims), np.zeros(()), np.zeros((3, n_dims)), mismatch=none
    )


def _with_interval(point: FloatArray, draws: FloatArray, is_known: bool) -> FloatArray:
    """Return a value and the ends of its central interval one after the other, (3, ...)."""
    tail = (1 - _LEVEL) / 2
    ends = np.full((2, *point.shape), np.nan)
    if not is_known:
        ends[0], ends[1] = np.where(np.isnan(point), np.nan, -np.inf), np.where(np.isnan(point), np.nan, np.inf)
    elif len(draws):
        ends[:] = np.quantile(draws, [tail, 1 - tail], axis=0)
    return np.concatenate([point[None], ends])


def _radius(point: FloatArray, draws: FloatArray, blocks: IntArray) -> FloatArray:
    """Return the angle from a rotation within which a share of `_LEVEL` of the draws lie; NaN if it is arbitrary."""
    if _orientation_of(blocks) == "none" or len(draws) == 0:
        return np.array(np.nan)
    return np.asarray(np.quantile(rotation_angle(point.T @ draws), _LEVEL))


def _orientation_of(blocks: IntArray) -> _Orientation:
    """Return whether all directions of axes are known, some, or none; in one dimension there is nothing to know."""
    n_blocks = int(blocks[-1]) + 1
    if n_blocks == len(blocks):
        return "full"
    return "none" if n_blocks == 1 else "partial"
