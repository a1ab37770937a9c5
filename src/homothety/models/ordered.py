r"""The similarity-dependent mixture for very many items, of which no similarities are stored.

The paper lets every item link to every other one. With a million items, chains of links that lead to an item have
hundreds of members, and all of these change their cluster with that item. Here items stand in a random order, and each
links to an item before it, or to itself:

.. math::

    p(c_i = j) \propto \begin{cases} s_{ij} & j < i \\ \alpha & j = i . \end{cases}

With all similarities one that is the Chinese restaurant process. Items that lie on a grid may link besides to those
beside them on it, whatever their similarity: the weight of each link to one of the neighbours before an item is higher
by an equal part of :math:`b (i - 1)`, where :math:`b` is the neighbour share and :math:`i - 1` how many items are
before it. The sum over :math:`j < i` by which a row is divided does not depend on the links, and is never needed: no
similarity is left out, and none is stored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.arrays import check_positive, read_only, real_array
from homothety.covariance.measures import axis_lengths
from homothety.covariance.shape import coordinates_of_spectra
from homothety.errors import InputError
from homothety.models._parts import check_array
from homothety.models.ddcrp import ChainState, LinksInfo, check_links
from homothety.models.partitions import PointsOfClusters, compiled_prior, keep_labels, log_likelihood, scalars_of
from homothety.sampling.driver import Recording

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator
    from numpy.typing import ArrayLike

    from homothety.arrays import FloatArray, IntArray
    from homothety.covariance.measures import SPCMVariant
    from homothety.distributions import NIW, NormalGamma
    from homothety.distributions.niw_kernels import Prior
    from homothety.models._ddcrp_kernels import Tables
    from homothety.models._ordered_kernels import LinkWeights, Neighbors, Pairs

_NO_NEIGHBOR = -1
_N_SLOTS = 64  # tables there is room for at least
N_SAMPLE, _N_SWEEPS = 2000, 50
# To start with in the sample, at most: too many are merged in a few sweeps, one too few is hard to split.
_N_CLUSTERS = 30


@dataclass(frozen=True, eq=False)
class PairSimilarity:
    """B-SPCM of any two of many matrices, from a few numbers of each.

    Parameters
    ----------
    features : ndarray of shape (n_items, n_features)
        Axis lengths, ascending; or, for the dispersion "log", shape coordinates such that their squared distance is the
        dissimilarity.
    variant : SPCMVariant
    strength : float
        Of the decay.
    """

    features: FloatArray
    variant: SPCMVariant
    strength: float

    @classmethod
    def of_spectra(cls, spectra: FloatArray, variant: SPCMVariant, tolerance: float) -> PairSimilarity:
        """Return the similarity of matrices with the given eigenvalues, ascending and positive."""
        n_dims = spectra.shape[1]
        features = axis_lengths(spectra, variant)
        if variant.dispersion == "log":
            doubled = 1.0 if variant.length == "sqrt" else 2.0
            features = coordinates_of_spectra(spectra) * (doubled / np.sqrt(n_dims - variant.ddof))
        return cls(read_only(features), variant, variant.strength(n_dims, tolerance))

    def take(self, items: slice) -> PairSimilarity:
        """Return the similarity of some of the items."""
        return PairSimilarity(read_only(self.features[items]), self.variant, self.strength)

    @property
    def compiled(self) -> Pairs:
        """The same as the compiled loops want it."""
        from homothety.models import _ordered_kernels as _kernels

        dispersion = _kernels.DISPERSIONS[self.variant.dispersion]
        return _kernels.Pairs(
            self.features, self.variant.ddof, dispersion, _kernels.DECAYS[self.variant.decay], self.strength
        )


def grid_neighbors(positions: ArrayLike) -> IntArray:
    """Return the items one step away along each axis of a grid.

    Parameters
    ----------
    positions : array_like of int, shape (n_items, n_axes)
        Place of each item, such as its voxel. Places of which no item is are background, and nobody's neighbours.

    Returns
    -------
    neighbors : ndarray of int, shape (n_items, 2 * n_axes)
        The item before and the item behind along the first axis, then along the others; -1 where there is none.

    Notes
    -----
    Sorting puts neighbours along the axis that varies fastest next to each other: one sort per axis finds them all,
    however large the grid is around them.

    Examples
    --------
    Three in a row, and one below the first:

    >>> grid_neighbors([[0, 0], [0, 1], [0, 2], [1, 0]])
    array([[-1,  3, -1,  1],
           [-1, -1,  0,  2],
           [-1, -1,  1, -1],
           [ 0, -1, -1, -1]])
    """
    places = _check_places(positions)
    neighbors = np.full((len(places), 2 * places.shape[1]), _NO_NEIGHBOR)
    for axis in range(places.shape[1]):
        keys = np.roll(places, places.shape[1] - 1 - axis, axis=1)  # this axis last
        order = np.lexsort(keys.T[::-1])
        steps = np.diff(keys[order], axis=0)
        _check_apart(steps, order, places)
        beside = (steps[:, -1] == 1) & ~steps[:, :-1].any(axis=1)
        before, behind = order[:-1][beside], order[1:][beside]
        neighbors[behind, 2 * axis], neighbors[before, 2 * axis + 1] = before, behind
    return neighbors


def _check_places(positions: ArrayLike) -> IntArray:
    """Return places on a grid as whole numbers, or raise naming the first that is none."""
    array = real_array(positions, "positions")
    if array.ndim != 2 or array.shape[1] == 0:
        raise InputError(
            f"positions has shape {array.shape}, needed (n_items, n_axes): one column per axis of the grid.",
            "positions",
        )
    bad = ~(np.isfinite(array) & (np.rint(array) == array)).all(axis=1)
    if bad.any():
        first, n_bad = int(bad.argmax()), int(bad.sum())
        raise InputError(
            f"positions[{first}] is {array[first].tolist()}, needed whole numbers ({n_bad} such of {len(bad)}): the "
            "indices of voxels, not millimetres."
        )
    return array.astype(np.int64)


def _check_apart(steps: IntArray, order: IntArray, places: IntArray) -> None:
    """Raise if two items, next to each other in an order, are in the same place."""
    same = ~steps.any(axis=1)
    if same.any():
        one, other = sorted(order[[same.argmax(), same.argmax() + 1]].tolist())
        raise InputError(
            f"positions[{one}] and positions[{other}] are both {places[one].tolist()} ({int(same.sum())} such pairs): "
            "needed a place of its own for every item. Drop one of them."
        )


@dataclass(frozen=True, eq=False)
class Model(PointsOfClusters):
    """Points to cluster, in the order of the links, how alike they are, and the prior of a cluster. Never changes.

    Parameters
    ----------
    points : ndarray of shape (n_items, n_dims)
        What the likelihood sees.
    similarity : PairSimilarity
        Of the same items.
    base : NIW or NormalGamma
        Prior of the mean and covariance of a cluster.
    neighbors : ndarray of int, shape (n_items, n_most), optional
        Items each may link to besides; -1 where there are fewer. Those behind an item are left out.
    neighbor_share : float
        Weight of all such links of an item together, beside their similarity, as a share of the number of items before
        it.
    """

    points: FloatArray
    similarity: PairSimilarity
    base: NIW | NormalGamma
    neighbors: IntArray | None = None
    neighbor_share: float = 0.0

    def __post_init__(self) -> None:
        points = self.check_points()
        check_array(self.points, "points", points.shape, np.float64)
        features = self.similarity.features
        check_array(features, "features of the similarity", (len(points), *features.shape[1:2]), np.float64)
        if self.neighbors is not None:
            check_array(self.neighbors, "neighbors", (len(points), *self.neighbors.shape[1:2]), np.int64)
        if not (np.isfinite(self.neighbor_share) and self.neighbor_share >= 0):
            raise InputError(
                f"neighbor_share is {self.neighbor_share}, needed a finite number of at least 0.", "neighbor_share"
            )

    def check_state(self, state: ChainState) -> None:
        """Raise if a state does not fit this model, in which links lead to an item before, or to the item itself."""
        check_links(self.n_items, state)
        forward = state.links > np.arange(self.n_items)
        if forward.any():
            i = int(forward.argmax())
            raise InputError(f"item {i} links to item {state.links[i]}, needed one before it, or itself.")

    def first(self, n: int, base: NIW | NormalGamma) -> Model:
        """Return the model of the first items only, with a prior of its own."""
        near = None if self.neighbors is None else self.neighbors[:n]
        return replace(
            self, points=self.points[:n], similarity=self.similarity.take(slice(n)), base=base, neighbors=near
        )

    @cached_property
    def compiled_neighbors(self) -> Neighbors:
        """Neighbours before each item, as the compiled loops want them."""
        from homothety.models._ddcrp_kernels import NOBODY
        from homothety.models._ordered_kernels import Neighbors

        if self.neighbors is None:
            none = np.empty((self.n_items, 0), dtype=np.int64)
            return Neighbors(read_only(none), read_only(np.zeros(self.n_items, dtype=np.int64)), 0.0)
        before = (self.neighbors >= 0) & (self.neighbors < np.arange(self.n_items)[:, None])
        # Those that count come first in their row.
        places = np.argsort(~before, axis=1, kind="stable")
        packed = np.take_along_axis(np.where(before, self.neighbors, NOBODY), places, axis=1)
        return Neighbors(read_only(packed), read_only(before.sum(axis=1)), float(self.neighbor_share))

    def link_weights(self, concentration: float) -> LinkWeights:
        """Return what an item draws its link by, as the compiled loops want it."""
        from homothety.models._ordered_kernels import LinkWeights

        return LinkWeights(concentration, self.similarity.compiled, self.compiled_neighbors)


def _log_link_weights(model: Model, state: ChainState) -> float:
    """Log of the link prior, up to a constant."""
    from homothety.models._ordered_kernels import sum_log_weights

    model.check_state(state)
    return float(sum_log_weights(state.links, model.link_weights(state.concentration)))


def log_joint(model: Model, state: ChainState) -> float:
    """Log of link prior times likelihood, up to a constant: what the rows are divided by does not depend on links."""
    return _log_link_weights(model, state) + log_likelihood(model, state)


def resample_links(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, LinksInfo]:
    """Redraw every link given all others, in order (Algorithm 2, lines 6-16; Eqs. 21-23).

    The tables are rebuilt from the links on entry, so rounding never builds up over sweeps.
    """
    from homothety.models import _ddcrp_kernels as links_of
    from homothety.models._ordered_kernels import sweep_links

    model.check_state(state)
    links = links_of.build_links(state.links)
    tables = _visit_all(rng, sweep_links, model, state.concentration, links, model.compiled_prior)
    targets = links[:, links_of.TARGET].copy()
    info = LinksInfo(int((targets != state.links).sum()), links_of.total_log_marginal(tables))
    return replace(state, links=targets), info


def _visit_all(
    rng: Generator,
    kernel: Callable[..., int],
    model: Model,
    concentration: float,
    links: IntArray,
    prior: Prior,
    n_seated: int | None = None,
) -> Tables:
    """Let a kernel visit items, with more room for tables whenever it runs out; return them.

    Parameters
    ----------
    kernel : callable
        `sweep_links`, which visits all items, or `seat_links`, which visits those that have no link yet.
    links : ndarray
        As `build_links` makes them. Changed in place.
    n_seated : int, optional
        How many items, the first ones, have a link, for `seat_links`.
    """
    from homothety.models._ordered_kernels import build_scratch, build_tables

    first, n_slots = n_seated or 0, _N_SLOTS
    fixed = (model.centred_points, model.link_weights(concentration), links)
    while True:
        seated = model.n_items if n_seated is None else first
        tables, before = build_tables(seated, first, links, model.centred_points, prior, n_slots)
        first = kernel(rng, first, *fixed, tables, before, prior, build_scratch(tables))
        if first == model.n_items:
            return tables
        n_slots = 4 * len(tables.occupied)


def default_sweep() -> dict[str, Any]:
    """Return the moves of one sweep, in order, by name."""
    return {"links": resample_links}


def _trace_scalars(model: Model, state: ChainState, infos: dict[str, Any]) -> dict[str, float]:
    """Return log joint up to a constant, its likelihood part, and the number of clusters of one sweep."""
    known = infos["links"].log_likelihood if "links" in infos else log_likelihood(model, state)
    return scalars_of(state, _log_link_weights(model, state), known)


RECORDING = Recording(scalars=_trace_scalars, keep=keep_labels)


def grow_state(
    rng: Generator, model: Model, base_of: Callable[[FloatArray], NIW | NormalGamma], concentration: float = 1.0
) -> ChainState:
    """Return a state to start from: clusters of a sample, which all others have joined.

    A chain over the first items begins with many small clusters of points that lie close together; then the others
    join, one after the other.

    Parameters
    ----------
    rng : Generator
    model : Model
    base_of : callable
        From points to the prior of a cluster of them. The prior of a sample: one that counts as much as a share of a
        million items would let nobody be told apart before thousands are seated.
    concentration : float, default=1.0
    """
    from homothety.models._ddcrp_kernels import NOBODY, TARGET, attach_all
    from homothety.models._ordered_kernels import seat_links

    concentration = check_positive(concentration, "concentration")
    sample = model.first(N_SAMPLE, base_of(model.points[:N_SAMPLE]))
    state = ChainState(_star_links(_nearby(rng, sample.points)), concentration)
    for _ in range(_N_SWEEPS):
        state, _ = resample_links(rng, sample, state)
    links = np.full((model.n_items, 4), NOBODY)
    attach_all(state.links, links)
    alike = replace(model, base=sample.base)
    # Without concentration: thousands of items that fit nowhere would open tables, which all later items compare.
    _visit_all(rng, seat_links, alike, 0.0, links, compiled_prior(sample.base, model.n_items), sample.n_items)
    return ChainState(links[:, TARGET].copy(), concentration)


def _nearby(rng: Generator, points: FloatArray) -> IntArray:
    """Return many small clusters of points that lie close together."""
    from sklearn.cluster import KMeans

    n_clusters = min(_N_CLUSTERS, len(np.unique(points, axis=0)))
    means = KMeans(n_clusters, n_init=1, random_state=int(rng.integers(2**31)))
    return np.asarray(means.fit_predict(points), dtype=np.int64)


def _star_links(labels: IntArray) -> IntArray:
    """Return links of all members of a cluster to its first one.

    Examples
    --------
    >>> _star_links(np.array([2, 0, 2, 0]))
    array([0, 1, 0, 1])
    """
    _, first, numbered = np.unique(labels, return_index=True, return_inverse=True)
    return first[numbered]
