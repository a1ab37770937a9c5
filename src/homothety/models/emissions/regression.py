"""Linear regression with conjugate prior as the emission of a state: Gaussian and autoregressive in one.

Sufficient statistics of states, and what follows from them in closed form: marginal likelihoods, draws, means.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety.arrays import frozen, read_only
from homothety.distributions.niw import is_spd
from homothety.errors import InputError, NotSPDError
from homothety.models._parts import check_array, check_labels
from homothety.models.emissions._kernels import Structure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.random import Generator

    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.sequences import Sequences

_ROUNDING = 1e-12


class Blocks(NamedTuple):
    """Blocks of dimensions that are independent given the state, in order."""

    sizes: tuple[int, ...]  # number of dimensions of each
    dofs: tuple[float, ...]  # more than the size plus one
    weights: tuple[float, ...]  # above 0, at most 1


@dataclass(frozen=True, eq=False)
class Emission:
    r"""How a state emits observations, with a prior over its parameters.

    :math:`x_t = A \tilde x_t + e_t` with :math:`e_t \sim \mathcal N(0, \Sigma)`, and the matrix-normal inverse-Wishart
    prior :math:`A \mid \Sigma \sim \mathcal{MN}(M_0, \Sigma, K^{-1})`, :math:`\Sigma \sim \mathcal{IW}(S_0, \nu_0)`.
    With the constant regressor :math:`\tilde x_t = 1` that is a Gaussian with normal-inverse-Wishart prior; with the
    last `order` observations as regressors, a vector autoregression.

    With `blocks` (see `gaussian_blocks`) a step counts as :math:`\sum_B w_B \log \mathcal N(x_B; \mu_B, \Sigma_B)`, and
    each block has a normal-inverse-Wishart prior of its own. There is then one constant regressor per block.

    Parameters
    ----------
    coefficients : ndarray of shape (n_dims, n_regressors)
        Prior mean of the coefficients, :math:`M_0`.
    precision : ndarray of shape (n_regressors, n_regressors)
        How much that prior mean counts, :math:`K`.
    scale : ndarray of shape (n_dims, n_dims)
        :math:`S_0`.
    dof : float
        :math:`\nu_0`, more than ``n_dims + 1``, so that the covariance has a prior mean.
    order : int, default=0
        Number of past observations in the regressors; 0 for a Gaussian.
    diagonal : bool, default=False
        Whether dimensions are independent given the regressors; of `scale` only the diagonal counts then.
    weight : float, default=1
        How much of an independent observation a step counts as: the density of a step is raised to this power. Less
        than one where neighbouring steps resemble each other.
    blocks : Blocks, optional
        Blocks of dimensions that are independent given the state. Made by `gaussian_blocks`; `dof` is then the smallest
        of theirs, and `weight` multiplies those of all blocks.
    """

    coefficients: FloatArray
    precision: FloatArray
    scale: FloatArray
    dof: float
    order: int = 0
    diagonal: bool = False
    weight: float = 1.0
    blocks: Blocks | None = None

    def __post_init__(self) -> None:
        for name in ("coefficients", "precision", "scale"):
            object.__setattr__(self, name, frozen(np.array(getattr(self, name), dtype=np.float64)))
        for name, n in (("precision", self.n_regressors), ("scale", self.n_dims)):
            matrix = getattr(self, name)
            if matrix.shape != (n, n):
                raise InputError(f"{name} has shape {matrix.shape}, needed {(n, n)} to match coefficients.")
            if not is_spd(matrix):
                raise NotSPDError(f"{name} is not symmetric positive definite. Use (m + m.T) / 2, or add a ridge.")
        if self.blocks is not None:
            self._check_blocks(self.blocks)
        elif not self.dof > (least := 2 if self.diagonal else self.n_dims + 1):
            raise InputError(f"dof is {self.dof}, needed more than {least} for the covariance to have a prior mean.")
        if not 0 < self.weight <= 1:
            raise InputError(f"weight is {self.weight}, needed a number above 0, and at most 1.")

    def _check_blocks(self, blocks: Blocks) -> None:
        if self.order or self.diagonal:
            raise InputError("Blocks are for Gaussian emissions: order must be 0, and diagonal False.")
        if len({self.n_regressors, *map(len, blocks)}) > 1 or min(blocks.sizes) < 1 or sum(blocks.sizes) != self.n_dims:
            raise InputError(
                f"Blocks have sizes {blocks.sizes}, {len(blocks.dofs)} dofs and {len(blocks.weights)} weights, with "
                f"{self.n_regressors} regressors: needed one each, and sizes that sum to n_dims = {self.n_dims}."
            )
        for b, (size, dof, weight) in enumerate(zip(*blocks, strict=True)):
            if not dof > size + 1:
                raise InputError(f"dofs[{b}] is {dof}, needed more than {size + 1} for a covariance to have a mean.")
            if not 0 < weight <= 1:
                raise InputError(f"weights[{b}] is {weight}, needed a number above 0, and at most 1.")
        if self.dof != min(blocks.dofs):
            raise InputError(f"dof is {self.dof}, but blocks have dofs of their own: {blocks.dofs}. Change those.")
        is_inside = self.structure_mask
        for name, matrix in (
            ("scale", np.where(is_inside[:, self.n_regressors :], 0.0, self.scale)),
            ("coefficients", np.where(is_inside[:, : self.n_regressors], 0.0, self.coefficients)),
            ("precision", self.precision - np.diag(np.diagonal(self.precision))),
        ):
            if matrix.any():
                raise InputError(f"{name} has entries between different blocks, needed zeros. Use gaussian_blocks.")

    @classmethod
    def gaussian(
        cls, mean: FloatArray, mean_strength: float, scale: FloatArray, dof: float, *, diagonal: bool = False
    ) -> Emission:
        """Return Gaussian emissions with normal-inverse-Wishart prior."""
        return cls(np.asarray(mean)[:, None], np.array([[mean_strength]]), scale, dof, 0, diagonal)

    @classmethod
    def gaussian_blocks(
        cls,
        sizes: Sequence[int],
        means: Sequence[FloatArray],
        mean_strengths: Sequence[float],
        scales: Sequence[FloatArray],
        dofs: Sequence[float],
        weights: Sequence[float] | None = None,
    ) -> Emission:
        r"""Return Gaussian emissions with block-diagonal covariances, each block with a prior and a weight of its own.

        Parameters
        ----------
        sizes : sequence of int, length n_blocks
            Number of dimensions of each block; blocks follow each other in the order of dimensions.
        means : sequence of ndarray, shapes (size,)
            Prior mean of each block.
        mean_strengths : sequence of float
            How many observations that prior mean counts as.
        scales : sequence of ndarray, shapes (size, size)
            Scale matrix of the inverse-Wishart prior of each block.
        dofs : sequence of float
            Its degrees of freedom, more than ``size + 1``.
        weights : sequence of float, optional
            How much of an independent observation a step counts as in each block, above 0 and at most 1; 1 if not
            given.

        Notes
        -----
        A step of a state has the log evidence :math:`\sum_B w_B \log \mathcal N(x_B; \mu_B, \Sigma_B)`. Each block is
        conjugate: its posterior is that of :math:`w_B n` observations.

        Examples
        --------
        >>> emission = Emission.gaussian_blocks(
        ...     [2, 1], [np.zeros(2), np.zeros(1)], [1.0, 0.5], [np.eye(2), np.eye(1)], [5.0, 4.0], [0.1, 0.3]
        ... )
        >>> emission.augment_steps(np.ones((1, 3))).round(2)
        array([[0.32, 0.55, 0.32, 0.32, 0.55]])
        """
        weights = [1.0] * len(sizes) if weights is None else weights
        if len(sizes) == 0:
            raise InputError("sizes is empty, needed at least one block.")
        given = {"means": means, "mean_strengths": mean_strengths, "scales": scales, "dofs": dofs, "weights": weights}
        for name, values in given.items():
            if len(values) != len(sizes):
                raise InputError(f"{name} has {len(values)} entries, needed one for each of {len(sizes)} blocks.")
        n_dims = sum(sizes)
        coefficients, scale, start = np.zeros((n_dims, len(sizes))), np.zeros((n_dims, n_dims)), 0
        for b, (size, mean, own) in enumerate(zip(sizes, means, scales, strict=True)):
            if np.shape(mean) != (size,) or np.shape(own) != (size, size):
                raise InputError(
                    f"means[{b}] and scales[{b}] have shapes {np.shape(mean)} and {np.shape(own)}, "
                    f"needed {(size,)} and {(size, size)} to match sizes[{b}]."
                )
            coefficients[start : start + size, b], scale[start : start + size, start : start + size] = mean, own
            start += size
        blocks = Blocks(tuple(map(int, sizes)), tuple(map(float, dofs)), tuple(map(float, weights)))
        precision = np.diag(np.asarray(mean_strengths, dtype=np.float64))
        return cls(coefficients, precision, scale, min(blocks.dofs), blocks=blocks)

    @classmethod
    def autoregressive(
        cls, order: int, precision: float, scale: FloatArray, dof: float, *, diagonal: bool = False
    ) -> Emission:
        """Return autoregressive emissions whose coefficients are zero a priori."""
        n_dims = len(scale)
        coefficients = np.zeros((n_dims, n_dims * order))
        return cls(coefficients, precision * np.eye(n_dims * order), scale, dof, order, diagonal)

    @property
    def n_dims(self) -> int:
        """Number of dimensions of an observation."""
        return int(self.coefficients.shape[0])

    @property
    def n_regressors(self) -> int:
        """Number of regressors."""
        return int(self.coefficients.shape[1])

    @cached_property
    def structure(self) -> Structure:
        """Which dimensions go together, as kernels want it: one block, a block per dimension, or those given."""
        n, d = self.n_regressors, self.n_dims
        if self.blocks is not None:
            sizes, dofs, weights = self.blocks
            regressors = [(b, b + 1) for b in range(n)]
        else:
            sizes = (1,) * d if self.diagonal else (d,)
            dofs, weights, regressors = (self.dof,) * len(sizes), (1.0,) * len(sizes), [(0, n)] * len(sizes)
        starts, pairs = np.cumsum([n, *sizes], dtype=np.int64), np.array(regressors, dtype=np.int64)
        for integers in (starts, pairs):
            integers.setflags(write=False)
        numbers = (frozen(np.array(values, dtype=np.float64)) for values in (dofs, weights))
        return Structure(n, starts, pairs, *numbers)

    @cached_property
    def structure_mask(self) -> BoolArray:
        """Whether each dimension depends on each entry of a step, (n_dims, n_regressors + n_dims)."""
        mask = np.zeros((self.n_dims, self.n_regressors + self.n_dims), dtype=bool)
        _, starts, regressors, _, _ = self.structure
        for (first, last), start, stop in zip(regressors, starts[:-1], starts[1:], strict=True):
            rows = slice(start - self.n_regressors, stop - self.n_regressors)
            mask[rows, first:last], mask[rows, start:stop] = True, True
        return mask

    @cached_property
    def dim_weights(self) -> FloatArray:
        """Weight of a step in the block of each dimension, (n_dims,); the weight of all blocks is not in it."""
        return frozen(np.repeat(self.structure.weights, np.diff(self.structure.starts)))

    @cached_property
    def prior_scale(self) -> FloatArray:
        """Matrix G of a state without steps, (n, n): the prior in the form of observations."""
        weighted = self.coefficients @ self.precision
        scale = np.diag(np.diagonal(self.scale)) if self.diagonal else self.scale
        return frozen(np.block([[self.precision, weighted.T], [weighted, scale + weighted @ self.coefficients.T]]))

    @cached_property
    def prior_factor(self) -> FloatArray:
        """Factor of it, (1, n, n)."""
        return frozen(np.asarray(np.linalg.cholesky(self.prior_scale), dtype=np.float64)[None])

    @cached_property
    def log_prior_constant(self) -> float:
        """What the log marginal likelihood takes from the prior's factor."""
        from homothety.models.emissions._kernels import log_evidence_constant

        return log_evidence_constant(0, 0.0, self.prior_factor, self.structure)

    def augment(self, sequences: Sequences) -> tuple[FloatArray, IntArray]:
        """Return the vectors ``z = (regressors, observation)`` of all steps, and where each recording starts.

        The first `order` steps of a recording are regressors only: they are left out. With blocks, regressors and
        values of each are multiplied by the root of its weight.
        """
        augmented = [self._augment_one(series) for series in sequences]
        starts = np.concatenate([[0], np.cumsum([len(part) for part in augmented])]).astype(np.int64)
        starts.setflags(write=False)
        return frozen(np.ascontiguousarray(np.concatenate(augmented))), starts

    def _augment_one(self, series: FloatArray) -> FloatArray:
        if self.order == 0:
            return self.augment_steps(series)
        n_kept = len(series) - self.order
        lags = [series[self.order - lag : self.order - lag + n_kept] for lag in range(1, self.order + 1)]
        return np.column_stack([*lags, series[self.order :]])

    def augment_steps(self, steps: FloatArray) -> FloatArray:
        """Return the vectors z of steps of Gaussian emissions, (n_steps, n_regressors + n_dims).

        Parameters
        ----------
        steps : ndarray of shape (n_steps, n_dims)
            Of any number of recordings, one after the other.
        """
        if self.order:
            raise InputError(f"Regressors of order {self.order} depend on where recordings begin. Use augment.")
        z = np.empty((len(steps), self.n_regressors + self.n_dims))
        z[:, : self.n_regressors] = 1.0 if self.blocks is None else np.sqrt(self.blocks.weights)
        np.multiply(steps, np.sqrt(self.dim_weights), out=z[:, self.n_regressors :])
        return z

    def coefficients_of(self, whiteners: FloatArray) -> FloatArray:
        """Return the coefficients, (n_states, n_dims, n_regressors), of parameters as the sampler keeps them."""
        solved = np.linalg.solve(whiteners[:, :, self.n_regressors :], whiteners[:, :, : self.n_regressors])
        return np.asarray(-solved, dtype=np.float64)

    def means_of(self, whiteners: FloatArray) -> FloatArray:
        """Return the means, (n_states, n_dims), of Gaussian parameters as the sampler keeps them."""
        if self.order:
            raise InputError("An autoregressive state has no mean; see coefficients_of.")
        # Of its regressors, all of them constant, a dimension uses one; the coefficients of the others are zero.
        return np.asarray(self.coefficients_of(whiteners).sum(axis=2))

    def log_evidence(self, z: FloatArray, whiteners: FloatArray) -> FloatArray:
        """Return the weighted log densities of augmented steps under each state, (n_steps, n_states)."""
        from homothety.models.emissions._kernels import BLOCK, write_all_evidence

        n = self.n_regressors + self.n_dims
        check_array(z, "z", (len(z), n), np.float64)
        check_array(whiteners, "whiteners", (len(whiteners), self.n_dims, n), np.float64)
        evidence, block = np.empty((len(z), len(whiteners))), np.empty((z.shape[1] + 2, BLOCK))
        write_all_evidence(z, 0, len(z), whiteners, self.weight, self.structure, evidence, block)
        return evidence

    def covariances_of(self, whiteners: FloatArray) -> FloatArray:
        """Return the covariances, (n_states, n_dims, n_dims), of parameters as the sampler keeps them."""
        roots = np.linalg.inv(whiteners[:, :, self.n_regressors :])
        return np.asarray(roots @ roots.transpose(0, 2, 1))

    def whiteners_of(self, coefficients: FloatArray, covariances: FloatArray) -> FloatArray:
        """Return parameters as the sampler keeps them, (n_states, n_dims, n_regressors + n_dims)."""
        inverse_roots = np.linalg.inv(np.linalg.cholesky(covariances))
        return np.ascontiguousarray(np.concatenate([-inverse_roots @ coefficients, inverse_roots], axis=2))


class Statistics(NamedTuple):
    """Steps of each state, and the prior plus the sum of their outer products (lower triangles), both weighted."""

    sizes: FloatArray  # (n_states,)
    scales: FloatArray  # (n_states, n, n)


def empty_statistics(emission: Emission, n_states: int) -> Statistics:
    """Return the statistics of states without steps: the prior."""
    return Statistics(np.zeros(n_states), np.tile(emission.prior_scale, (n_states, 1, 1)))


def statistics_of(emission: Emission, z: FloatArray, path: IntArray, n_states: int) -> Statistics:
    """Return the statistics of the states of a path through augmented steps."""
    from homothety.models.emissions._kernels import add_steps

    check_array(z, "z", (len(z), len(emission.prior_scale)), np.float64)
    check_labels(path, "path", len(z), n_states)
    statistics = empty_statistics(emission, n_states)
    add_steps(z, read_only(path), 0, len(path), emission.weight, statistics.scales, statistics.sizes)
    return statistics


def _factors_of(emission: Emission, statistics: Statistics) -> FloatArray:
    """Return the factors of the statistics, (n_states, n, n)."""
    from homothety.models.emissions._kernels import factorise_all

    factors = np.zeros_like(statistics.scales)
    factorise_all(statistics.scales, factors, emission.structure)
    return factors


def log_marginals(emission: Emission, statistics: Statistics, factors: FloatArray | None = None) -> FloatArray:
    """Return the log marginal likelihood of the steps of each state, (n_states,); factors if they are known."""
    from homothety.models.emissions._kernels import write_log_marginals

    factors = _factors_of(emission, statistics) if factors is None else factors
    out = np.empty(len(statistics.sizes))
    write_log_marginals(statistics.sizes, factors, emission.prior_factor, emission.structure, out)
    return out


def draw_parameters(rng: Generator, emission: Emission, statistics: Statistics) -> FloatArray:
    """Draw the parameters of every state given its steps, (n_states, n_dims, n)."""
    from homothety.models.emissions._kernels import draw_whiteners

    factors = _factors_of(emission, statistics)
    whiteners = np.empty((len(factors), emission.n_dims, factors.shape[1]))
    draw_whiteners(rng, statistics.sizes, factors, emission.structure, whiteners)
    return whiteners


def mean_parameters(emission: Emission, statistics: Statistics, factors: FloatArray | None = None) -> FloatArray:
    """Return parameters at the posterior means of coefficients and covariance, (n_states, n_dims, n)."""
    from homothety.models.emissions._kernels import write_mean_whiteners

    factors = _factors_of(emission, statistics) if factors is None else factors
    whiteners = np.empty((len(factors), emission.n_dims, factors.shape[1]))
    write_mean_whiteners(statistics.sizes, factors, emission.structure, whiteners)
    return whiteners


def residual_scatters(emission: Emission, statistics: Statistics) -> FloatArray:
    """Return the weighted scatter of the steps of each state about its own mean or regression, (n_states, D, D).

    Nothing of the prior is in it: it does not know where the middle of all data is, nor how large they are. Divided by
    the sizes of the statistics it is a covariance, also of blocks with weights of their own.
    """
    lower = np.tril(statistics.scales - emission.prior_scale)
    moments = lower + np.swapaxes(np.tril(lower, -1), -1, -2)
    structure, n = emission.structure, emission.n_regressors
    scatters = np.zeros((len(moments), emission.n_dims, emission.n_dims))
    for first, last in np.unique(structure.regressors, axis=0).tolist():
        own = np.flatnonzero(emission.structure_mask[:, first])
        parts = (slice(first, last), slice(n + own[0], n + own[-1] + 1))
        prior = np.trace(emission.prior_scale[parts[1], parts[1]])
        scatters[:, own[0] : own[-1] + 1, own[0] : own[-1] + 1] = _scatter_about_regression(moments, *parts, prior)
    return np.where(emission.structure_mask[:, n:], scatters, 0.0) / emission.dim_weights


def _scatter_about_regression(moments: FloatArray, regressors: slice, values: slice, prior: float) -> FloatArray:
    """Return what regressors leave of the scatter of values, (n_states, n_values, n_values).

    Parameters
    ----------
    moments : ndarray of shape (n_states, n, n)
    regressors, values : slice
    prior : float
        Trace of what was subtracted from the moments of the values: they are known up to its rounding.
    """
    mixed, total = moments[:, regressors, values], moments[:, values, values]
    explained = np.swapaxes(mixed, -1, -2) @ _pseudo_inverse(moments[:, regressors, regressors]) @ mixed
    lost = prior + np.trace(total, axis1=-2, axis2=-1)
    scatter = np.where(_is_rounding(total - explained, lost), 0.0, total - explained)
    scatter = (scatter + np.swapaxes(scatter, -1, -2)) / 2
    return _semidefinite(scatter) if mixed.shape[1] > 1 else scatter


def _semidefinite(matrices: FloatArray) -> FloatArray:
    """Return symmetric matrices without what is negative in them: rounding, where regressors explain all steps."""
    values, vectors = np.linalg.eigh(matrices)
    return np.asarray((vectors * np.maximum(values, 0.0)[:, None]) @ np.swapaxes(vectors, -1, -2))


def _pseudo_inverse(matrices: FloatArray) -> FloatArray:
    """Return the inverses of symmetric matrices, zero where there is nothing to invert."""
    if matrices.shape[-1] == 1:  # a mean: done in every sweep, so without a decomposition
        return np.divide(1.0, matrices, out=np.zeros_like(matrices), where=matrices > 0)
    return np.asarray(np.linalg.pinv(matrices, hermitian=True), dtype=np.float64)


def _is_rounding(differences: FloatArray, taken_from: FloatArray) -> BoolArray:
    """Whether what is left of sums is no more than what rounding leaves of them, (n_matrices, 1, 1)."""
    return (np.trace(differences, axis1=-2, axis2=-1) <= _ROUNDING * taken_from)[:, None, None]
