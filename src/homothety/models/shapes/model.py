"""The mixture of shapes: kinds of clusters, the prior of partitions, the model, and one point of its chain.

A kind of cluster says how wide and how round it is: each is a normal-inverse-Wishart prior. Partitions follow a Chinese
restaurant process whose clusters attract more than in proportion to their size.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln, multigammaln

from homothety.arrays import check_points, check_positive, frozen, read_only
from homothety.distributions import NIW
from homothety.distributions.niw import multigammaln_of
from homothety.errors import InputError
from homothety.models._parts import ReadOnly, check_array, check_finite, check_labels
from homothety.models.partitions import check_partition, number_by_appearance
from homothety.sampling.codec import storable

if TYPE_CHECKING:
    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.models.shapes._kernels import Compiled

# Neighbouring widths differ by this factor: a cluster is at most a factor of 1.4 from one of them.
_WIDTH_RATIO = 2.0
# Degrees of freedom beyond those at which the mean of the covariance exists: an ellipsoid, or nearly a ball. The
# sampling noise of log axis lengths is nearly a ball, so small clusters need not pay for a covariance of their own.
_ROUNDNESS = (10.0, 100.0)
# Standard deviation, per coordinate, of shapes before any is seen: axis lengths differ by a factor of about 1.6.
_UNIT = 0.5
# A cluster of n items attracts another one by n to this power. With 1, the Chinese restaurant process, the number of
# clusters grows with the number of items, because sampled spectra of one shape are not exactly Gaussian. To halve a
# cluster of n costs about (power - 1) * n * log(2) more: each matrix has to gain that much by it.
ATTRACTION = 1.1
# Values of the concentration, with the weights of a Gamma(1, 1) density on the logarithmic grid.
CONCENTRATIONS = frozen(np.geomspace(0.02, 100.0, 24))
_LOG_DENSITY = frozen(np.log(CONCENTRATIONS) - CONCENTRATIONS)
# Tails: one item in ten spreads twice as far about the mean of its cluster, one in a hundred four times. The smallest
# axis of a covariance from few samples has such a tail, and would make clusters of single matrices otherwise.
_PRECISIONS, _PRECISION_SHARES = (1.0, 1 / 4, 1 / 16), (0.89, 0.1, 0.01)
SHARE_MASS = 1.0  # of the Dirichlet prior of the shares of kinds, all kinds together: clusters tend to be of few kinds
_N_NEAREST = 20  # neighbours among which half of all split-merge proposals choose


@dataclass(frozen=True, eq=False)
class ClusterKinds:
    """Priors of the mean and covariance of a cluster, one for each kind.

    Parameters
    ----------
    mean : ndarray of shape (n_dims,)
        Prior mean of the mean of a cluster.
    strength : ndarray of shape (n_kinds,)
        How many points the prior mean counts for.
    scale : ndarray of shape (n_kinds,)
        Scale matrix of the inverse Wishart, as a multiple of the identity.
    dof : ndarray of shape (n_kinds,)
        Degrees of freedom of the inverse Wishart.

    Notes
    -----
    The mean of a cluster has the same broad prior whatever its width: its strength is the ratio of the two variances.
    """

    mean: FloatArray
    strength: FloatArray
    scale: FloatArray
    dof: FloatArray

    def __post_init__(self) -> None:
        for name in ("mean", "strength", "scale", "dof"):
            object.__setattr__(self, name, frozen(np.array(getattr(self, name), dtype=np.float64)))
        if not len(self.strength) == len(self.scale) == len(self.dof) > 0:
            raise InputError("strength, scale and dof need one number for each kind of cluster.")
        if not ((self.strength > 0).all() and (self.scale > 0).all() and (self.dof > self.n_dims - 1).all()):
            raise InputError("strength and scale must be positive, dof more than n_dims - 1.")

    @classmethod
    def of_points(cls, points: FloatArray, narrowest: float) -> ClusterKinds:
        """Return kinds from the narrowest width up to the spread of all points, of every roundness."""
        n_dims = points.shape[1]
        variance = float(points.var(axis=0).mean()) + _UNIT**2
        n_widths = 1 + max(int(np.ceil(np.log(np.sqrt(variance) / narrowest) / np.log(_WIDTH_RATIO))), 0)
        widths, extra = np.meshgrid(narrowest * _WIDTH_RATIO ** np.arange(n_widths), _ROUNDNESS, indexing="ij")
        width, free = widths.ravel() ** 2, extra.ravel()
        return cls(points.mean(axis=0), width / variance, width * free, n_dims + 1 + free)

    @property
    def n_kinds(self) -> int:
        """Number of kinds."""
        return len(self.scale)

    @property
    def n_dims(self) -> int:
        """Number of coordinates of a point."""
        return len(self.mean)

    def prior(self, kind: int) -> NIW:
        """Return one kind as a distribution."""
        scale = self.scale[kind] * np.eye(self.n_dims)
        return NIW(self.mean, float(self.strength[kind]), scale, float(self.dof[kind]))

    def size_tables(self, max_size: int) -> tuple[FloatArray, FloatArray]:
        """Tabulate what the log marginal of n points depends on besides their weights and scatter.

        Returns
        -------
        log_constant, half_dof : ndarray of shape (n_kinds, max_size + 1)
            The log marginal is ``log_constant[n] - half_dof[n] * log|posterior scale|``, plus ``n_dims / 2`` times the
            logarithm of the prior strength over the posterior strength.
        """
        sizes, n_dims = np.arange(max_size + 1), self.n_dims
        half_dof = (self.dof[:, None] + sizes) / 2
        log_constant = np.empty_like(half_dof)
        for kind, halves in enumerate(half_dof):
            log_gammas = multigammaln_of(halves, n_dims) - multigammaln(self.dof[kind] / 2, n_dims)
            log_scale = self.dof[kind] / 2 * n_dims * np.log(self.scale[kind])
            log_constant[kind] = log_gammas + log_scale - sizes * n_dims / 2 * np.log(np.pi)
        return log_constant, half_dof


def log_partition_weight(labels: IntArray, concentration: float, attraction: float) -> float:
    """Log weight of a partition: concentration per cluster, times the gamma function of each size to a power.

    Divided by its sum over all partitions, see `log_normaliser`, it is a probability (Lu, Li and Dunson 2018).

    Examples
    --------
    >>> float(np.exp(log_partition_weight(np.array([0, 0, 0, 1]), 0.5, 1.0)))
    0.5
    """
    sizes = np.unique(labels, return_counts=True)[1]
    return float(len(sizes) * np.log(concentration) + attraction * gammaln(sizes).sum())


@lru_cache(maxsize=16)
def _log_normalisers(n_items: int, attraction: float) -> FloatArray:
    """Log of the sum of the weights of all partitions, for each of the values of the concentration."""
    return frozen(np.array([log_normaliser(n_items, value, attraction) for value in CONCENTRATIONS]))


def log_normaliser(n_items: int, concentration: float, attraction: float) -> float:
    """Log of the sum of the weights of all partitions of some items.

    Notes
    -----
    By recursion over the size k of the cluster of the first item: ``choose(n - 1, k - 1)`` clusters, times the sum over
    all partitions of the others.

    Examples
    --------
    The Chinese restaurant process has ``concentration * (concentration + 1) * ...``:

    >>> round(float(np.exp(log_normaliser(3, 0.5, 1.0))), 6)
    1.875
    """
    from homothety.models.shapes._kernels import sum_partitions

    log_gammas = gammaln(np.maximum(np.arange(n_items + 2), 1))
    return float(sum_partitions(n_items, float(np.log(concentration)), attraction, log_gammas))


@dataclass(frozen=True, eq=False)
class Model:
    """Points to cluster and what is known of clusters beforehand. Never changes.

    Parameters
    ----------
    points : ndarray of shape (n_items, n_dims)
    kinds : ClusterKinds
    attraction : float
        Power of the size by which a cluster attracts items.
    precisions, precision_shares : tuple of float
        By what the precision of an item may be multiplied, and how probable that is.
    """

    points: FloatArray
    kinds: ClusterKinds
    attraction: float = ATTRACTION
    precisions: tuple[float, ...] = _PRECISIONS
    precision_shares: tuple[float, ...] = _PRECISION_SHARES

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", frozen(np.array(check_points(self.points))))
        if self.kinds.n_dims != self.points.shape[1]:
            raise InputError(f"The prior has {self.kinds.n_dims} dimensions, the points have {self.points.shape[1]}.")

    def check_state(self, state: ChainState) -> None:
        """Raise if a state does not fit a model; done by every move."""
        sizes = check_partition(state.labels, self.n_items)
        check_labels(state.kinds, "kinds", len(sizes), self.kinds.n_kinds)
        check_labels(state.spreads, "spreads", self.n_items, len(self.precisions))
        check_finite(check_array(state.log_shares, "log_shares", (self.kinds.n_kinds,), np.float64), "log_shares")
        check_positive(state.concentration, "concentration")

    @property
    def n_items(self) -> int:
        """Number of items to cluster."""
        return len(self.points)

    @cached_property
    def concentration_weights(self) -> FloatArray:
        """Log prior of the values of the concentration, less the log normaliser of the partitions."""
        return frozen(_LOG_DENSITY - _log_normalisers(self.n_items, self.attraction))

    @cached_property
    def nearest(self) -> IntArray:
        """The items nearest to each item, (n_items, n_nearest), itself among them."""
        from scipy.spatial import cKDTree

        n_nearest = min(_N_NEAREST + 1, self.n_items)
        found = cKDTree(self.points).query(self.points, k=n_nearest)[1]
        return read_only(np.asarray(found, dtype=np.int64).reshape(self.n_items, n_nearest))

    @cached_property
    def compiled(self) -> Compiled:
        """Points and priors as the compiled loops want them."""
        from homothety.models.shapes._kernels import Compiled

        kinds, points = self.kinds, np.ascontiguousarray(self.points - self.kinds.mean)
        log_constant, half_dof = kinds.size_tables(self.n_items)
        precisions = np.array(self.precisions, dtype=np.float64)
        log_precisions = kinds.n_dims / 2 * np.log(precisions) + np.log(self.precision_shares)
        # Log density of a point alone in a cluster, for every precision and kind.
        strength = kinds.strength * precisions[:, None] / (kinds.strength + precisions[:, None])
        spread = np.square(points).sum(axis=1)[:, None, None] * strength / kinds.scale
        log_det = kinds.n_dims * np.log(kinds.scale) + np.log1p(spread)
        log_strength = kinds.n_dims / 2 * np.log(strength / precisions[:, None])
        alone = log_constant[:, 1] - half_dof[:, 1] * log_det + log_strength
        return Compiled(
            points,
            frozen(precisions),
            frozen(log_precisions),
            frozen(alone + log_precisions[:, None]),
            frozen(log_constant),
            frozen(half_dof),
            kinds.strength,
            kinds.scale,
            float(self.attraction),
        )


def log_likelihood(model: Model, state: ChainState) -> float:
    """Log density of points and spreads given partition and kinds, means and covariances integrated out."""
    from homothety.models.shapes._kernels import log_marginals

    compiled, logs = model.compiled, np.empty(model.kinds.n_kinds)
    total = float(compiled.log_precisions[state.spreads].sum())
    for k, kind in enumerate(state.kinds):
        members = np.flatnonzero(state.labels == k)
        log_marginals(members, len(members), np.array(state.spreads), compiled, logs)
        total += float(logs[kind])
    return total


def log_joint(model: Model, state: ChainState) -> float:
    """Log of the density of everything in a state and the points: the reference of trace and tests."""
    n_kinds = model.kinds.n_kinds
    share = SHARE_MASS / n_kinds
    place = int(np.abs(CONCENTRATIONS - state.concentration).argmin())
    log_shares = (share - 1) * state.log_shares.sum() + gammaln(SHARE_MASS) - n_kinds * gammaln(share)
    log_partition = log_partition_weight(state.labels, state.concentration, model.attraction)
    log_kinds = float(state.log_shares[state.kinds].sum())
    log_concentration = float(model.concentration_weights[place])
    return log_partition + log_concentration + float(log_shares) + log_kinds + log_likelihood(model, state)


def cluster_posterior(model: Model, members: BoolArray) -> NIW:
    """Return what is known of the mean and covariance of a cluster, under its most likely kind.

    The kind is that of the largest marginal likelihood: all kinds count alike, because draws do not keep how probable
    each kind was. All members count as of the usual spread.
    """
    from homothety.models.shapes._kernels import log_marginals

    items, logs = np.flatnonzero(members), np.empty(model.kinds.n_kinds)
    log_marginals(items, len(items), np.zeros(model.n_items, dtype=np.int64), model.compiled, logs)
    return model.kinds.prior(int(logs.argmax())).posterior(model.points[items])


@storable
@dataclass(frozen=True, eq=False)
class ChainState(ReadOnly):
    """One point of the chain over partitions. Arrays are read-only.

    Parameters
    ----------
    labels : ndarray of shape (n_items,)
        Cluster of each item, numbered 0, 1, ... in order of first appearance.
    kinds : ndarray of shape (n_clusters,)
        Kind of each cluster.
    spreads : ndarray of shape (n_items,)
        Which of the spreads about the mean of its cluster an item has: 0 is the usual one, others are wider.
    log_shares : ndarray of shape (n_kinds,)
        Log probability of each kind.
    concentration : float
        Weight of a new cluster.
    step : int
        Number of sweeps behind this state.
    """

    labels: IntArray
    kinds: IntArray
    spreads: IntArray
    log_shares: FloatArray
    concentration: float
    step: int = 0

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.kinds)


def init_state(model: Model, labels: IntArray, concentration: float = 1.0) -> ChainState:
    """Return a state of given labels, of clusters of the widest, least round kind and items of the usual spread."""
    labels = number_by_appearance(labels)
    n_kinds, n_clusters = model.kinds.n_kinds, int(labels.max()) + 1
    kinds = np.full(n_clusters, n_kinds - 1)
    spreads, log_shares = np.zeros(model.n_items, dtype=np.int64), np.full(n_kinds, -np.log(n_kinds))
    return ChainState(labels, kinds, spreads, log_shares, check_positive(concentration, "concentration"))
