r"""Two ways to group the states of a segmentation into actions.

`LinkGrouping` is the paper's: a spectral embedding of the similarity of states, and links that follow it.

`ShapeGrouping` groups states by shape, with the noise their shapes have, by recording, and by the order they come in.

A state is the point :math:`y_k` of its shape coordinates, free of rotation and scale. About the shape :math:`m_z` of
its action it scatters by what the same action may differ, and by the noise of a covariance from :math:`n_k`
observations, whose logarithmic axis lengths have variance :math:`1 / 2 n_k`:

.. math::

    y_k \mid m_z \sim \mathcal N\Big(m_z, \big(\sigma^2 + \tfrac{1}{2 n_k}\big) I\Big), \qquad
    m_z \sim \mathcal N(0, \tau^2 I), \qquad
    Z \sim \mathrm{CRP}(\alpha).

Shape alone cannot tell a reach from a return. Two things can. A task has an order: which action follows action
:math:`z`, or that the recording ends, has unknown, fixed probabilities. And a recording is made in one frame: which of
the :math:`s_z` states of action :math:`z` stands for it in recording :math:`i` has probabilities that may favour one.
Both are Dirichlet distributed, and integrated out. With :math:`c_z` the counts of what follows action :math:`z`, or the
beginning, and :math:`v_{iz}` those of how often recording :math:`i` stays in each of the states of action :math:`z`,

.. math::

    p(\text{stays} \mid Z) = \prod_z \mathrm{DirMult}(c_z; \beta)
    \cdot \frac{1}{|H|} \sum_{\eta \in H} \prod_{i, z} s_z \, \mathrm{DirMult}(v_{iz}; \eta) .

The factor :math:`s_z` leaves the first version of an action in a recording out of account: it depends on where the
recording was made, which is not predicted. How loyal recordings are to a version afterwards, :math:`\eta`, is unknown
and the same for all. If it were fixed, every further recording would add to the cost of a second frame, and with many
recordings no two frames would ever share an action.

A reach in one frame grouped with a return in another would leave nobody able to say what comes next; a reach grouped
with a return of the same recording would be one action in two versions, in every recording.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from scipy.special import expit

from homothety.covariance.embedding import spectral_embedding
from homothety.covariance.shape import coordinates_of_spectra
from homothety.covariance.similarity import pairwise_similarity
from homothety.covariance.spectra import DEFAULT_FLOOR
from homothety.errors import EmbeddingWarning, InputError
from homothety.models import ddcrp
from homothety.models._parts import ReadOnly, check_labels, check_starts
from homothety.models.ddcrp import labels_from_links
from homothety.models.partitions import base_measure
from homothety.sampling.codec import storable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray
    from homothety.covariance.embedding import DimensionRule
    from homothety.models.icsc._kernels import Shapes

_TINY = np.finfo(float).tiny
_DEGREES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)  # small: a recording keeps to one version of an action
_LEAST_SIZE = 1e-2  # observations that a state counts as at least: the shape of one without steps is unknown


@dataclass(frozen=True)
class LinkGrouping:
    """Group states by a few sweeps of the similarity-dependent mixture (Algorithm 2; lines 12 and 13 of Algorithm 3).

    Fragile where states are few: two states have the same embedding whatever their similarity.

    Parameters
    ----------
    variant, tolerance : str, float
        Reading of the similarity, and its tolerance.
    n_components : int or str
        Columns of the embedding, or the rule for their number.
    concentration : float
        Weight of a link to oneself.
    n_warm, n_reset : int
        Sweeps over the links if the states are those of the sweep before, and if they are not.
    """

    variant: str = "published"
    tolerance: float = 1.0
    n_components: int | DimensionRule = "damped"
    concentration: float = 1.0
    n_warm: int = 5
    n_reset: int = 10

    def draw(self, rng: Generator, states: States, before: Clusters) -> Clusters:
        """Draw clusters of states, beginning from those of the sweep before if the states are the same."""
        ids = states.ids
        if len(ids) == 1:
            return Clusters.apart(ids)
        links, warm = _links_to_start_from(ids, before)
        model = self.link_model(states.covariances)
        state = ddcrp.ChainState(admissible(links, model.weights), self.concentration)
        for _ in range(self.n_warm if warm else self.n_reset):
            state, info = ddcrp.resample_links(rng, model, state)
        log_prior = ddcrp.log_link_prior(state.links, model.weights, state.concentration)
        return Clusters(np.array(ids), ids[state.links], float(log_prior + info.log_likelihood))

    def link_model(self, covariances: FloatArray) -> ddcrp.Model:
        """Return the mixture of embedded states whose links follow the similarity of their shapes."""
        similarity = pairwise_similarity(covariances, variant=self.variant, tolerance=self.tolerance)
        with warnings.catch_warnings():
            # A handful of states may well be all alike, or all different: that is an answer here.
            warnings.simplefilter("ignore", EmbeddingWarning)
            points = spectral_embedding(similarity, n_components=self.n_components).points
        base = base_measure(points, mean_strength=1.0, dof=None, scale=None, share=0.0, diagonal=False)
        return ddcrp.Model.from_similarity(points, similarity, base)


def _links_to_start_from(ids: IntArray, before: Clusters) -> tuple[IntArray, bool]:
    """Return links between the positions of states: those of the sweep before if the states are the same, else none.

    Returns
    -------
    links : ndarray of int, shape (n_states,)
    warm : bool
        Whether they are those of the sweep before.
    """
    if before.is_of(ids):
        return positions_of(before.links[positions_of(ids, before.ids)], ids), True
    return np.arange(len(ids)), False


def admissible(links: IntArray, weights: FloatArray) -> IntArray:
    """Return links with those that have become impossible turned into self-links."""
    items = np.arange(len(links))
    return np.where((links == items) | (weights[items, links] > 0), links, items)


class States(NamedTuple):
    """What is known of the states to cluster."""

    ids: IntArray  # (n_states,) persistent numbers
    covariances: FloatArray  # (n_states, n_dims, n_dims)
    sizes: FloatArray  # (n_states,) how many independent observations each covariance rests on
    visits: FloatArray  # (n_recordings, n_states) how often each recording stays in each state
    succession: FloatArray  # (n_states + 1, n_states + 1) how often one follows another; the last is begin and end
    known: IntArray | None = None  # (n_states,) labels whose steps they hold, -1 for none; None if no step has one


class Grouping(Protocol):
    """A way to cluster states."""

    def draw(self, rng: Generator, states: States, before: Clusters) -> Clusters:
        """Draw clusters of states, beginning from those of the sweep before where that is of use."""
        ...


@storable
@dataclass(frozen=True, eq=False)
class Clusters(ReadOnly):
    """Clusters of states.

    Parameters
    ----------
    ids : ndarray of int, shape (n_states,)
        Persistent numbers of the states that were clustered.
    links : ndarray of int, shape (n_states,)
        Number of the state that each links to; clusters are what hangs together.
    log_density : float
        Log density of the clusters and of what they were drawn from. Of different states, or another embedding of them,
        in every sweep: values of different sweeps cannot be compared.
    """

    ids: IntArray
    links: IntArray
    log_density: float = 0.0

    @classmethod
    def none(cls) -> Clusters:
        """Return clusters of no states at all, which nothing can begin from."""
        return cls.apart(np.empty(0, dtype=np.int64))

    @classmethod
    def apart(cls, ids: IntArray) -> Clusters:
        """Return clusters of one state each."""
        return cls(np.array(ids), np.array(ids))

    @classmethod
    def from_labels(cls, ids: IntArray, labels: IntArray, log_density: float = 0.0) -> Clusters:
        """Return given clusters; every state links to the first one of its cluster."""
        _, first, number = np.unique(labels, return_index=True, return_inverse=True)
        clusters = cls(np.array(ids), np.asarray(ids)[first[number]], log_density)
        rank = np.empty_like(first)
        rank[np.argsort(first)] = np.arange(len(first))
        clusters.__dict__["labels"] = rank[number]  # known already, and asked for in every sweep
        return clusters

    @cached_property
    def labels(self) -> IntArray:
        """Cluster of each state, (n_states,), numbered in order of first appearance."""
        return labels_from_links(positions_of(self.links, self.ids))

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.labels.max(initial=-1)) + 1

    def label_of(self, ids: IntArray) -> IntArray:
        """Return the cluster of states, given by their numbers."""
        return self.labels[positions_of(ids, self.ids)]

    def is_of(self, ids: IntArray) -> bool:
        """Whether these are the states that were clustered, in any order."""
        # A birth and a death in one sweep leave the number of states as it was: sets are compared, not numbers.
        return np.array_equal(np.sort(ids), np.sort(self.ids))


def positions_of(wanted: IntArray, ids: IntArray) -> IntArray:
    """Return where each of the wanted numbers stands among `ids`; all of them must be there."""
    order = np.argsort(ids)
    return np.asarray(order[np.searchsorted(ids, wanted, sorter=order)])


def count_stays(path: IntArray, starts: IntArray, n_states: int) -> tuple[FloatArray, FloatArray]:
    """Count how often recordings stay in states, and how often a stay in one is followed by a stay in another.

    Parameters
    ----------
    path : ndarray of int, shape (n_steps,)
        States, of all recordings one after the other.
    starts : ndarray of int, shape (n_recordings + 1,)
        First step of each recording, and the number of steps.
    n_states : int

    Returns
    -------
    visits : ndarray of shape (n_recordings, n_states)
    succession : ndarray of shape (n_states + 1, n_states + 1)
        Over all recordings. Its last row says where recordings begin, its last column where they end.
    """
    from homothety.models.icsc._kernels import add_stays

    path, starts = np.asarray(path), np.asarray(starts)
    check_labels(path, "path", len(path), n_states)
    check_starts(starts, len(path))
    visits, succession = np.zeros((len(starts) - 1, n_states)), np.zeros((n_states + 1, n_states + 1))
    add_stays(path, starts, visits, succession)
    return visits, succession


@dataclass(frozen=True)
class ShapeGrouping:
    r"""Group states by shape.

    Parameters
    ----------
    within : float
        :math:`\sigma`: how much the logarithms of the axis lengths of one action may differ, beyond noise.
    between : float
        :math:`\tau`: how much those of different actions do.
    concentration : float
        :math:`\alpha`: the larger, the more actions.
    followers : float or None
        :math:`\beta`: the smaller, the more regular the order of actions is expected to be. None leaves the order out.
    versions : sequence of float, float or None
        :math:`H`, what :math:`\eta` may be: the smaller, the rarer an action is shown in two versions by one recording.
        None leaves it out which recording shows which states.
    n_warm, n_reset : int
        Sweeps if the states are those of the sweep before, and, from either end, if they are not.
    """

    within: float = 0.2
    between: float = 1.0
    concentration: float = 1.0
    followers: float | None = 0.5
    versions: Sequence[float] | float | None = _DEGREES
    n_warm: int = 2
    n_reset: int = 10

    def draw(self, rng: Generator, states: States, before: Clusters) -> Clusters:
        """Draw actions of states, beginning from those of the sweep before if the states are the same.

        States of the same known label are one action, as if they were one state; those of different labels never are.
        """
        shapes, whose = self.shapes_of(states), np.arange(len(states.ids))
        if states.known is not None:
            shapes, whose = merged_by_label(shapes)
        if before.is_of(states.ids) and agrees_with(states.known, before.label_of(states.ids)):
            first = np.unique(whose, return_index=True)[1]
            labels = redrawn(rng, before.label_of(states.ids)[first], shapes, np.ones(self.n_warm))
            return Clusters.from_labels(states.ids, labels[whose], log_density(labels, shapes))
        labels, density = self.draw_anew(rng, shapes)
        return Clusters.from_labels(states.ids, labels[whose], density)

    def draw_anew(self, rng: Generator, shapes: Shapes) -> tuple[IntArray, float]:
        """Draw actions from both ends, and one of the two outcomes by its density; return it and the logarithm of that.

        Order holds actions together: a stroke in two frames cannot become one while the return that follows it is
        still two. So states are also grouped by shape first, and order and recordings come in little by little.
        """
        apart = np.arange(len(shapes.points))
        # Cubes: with hundreds of recordings, even a tenth of what their stays say would outweigh all shapes.
        ends = np.ones(self.n_reset), np.linspace(0.0, 1.0, self.n_reset) ** 3
        drawn = [redrawn(rng, apart, shapes, powers) for powers in ends]
        one, other = ((labels, log_density(labels, shapes)) for labels in drawn)
        return other if rng.random() < expit(other[1] - one[1]) else one

    def shapes_of(self, states: States) -> Shapes:
        """Return states as points with noise."""
        from homothety.models.icsc._kernels import Shapes

        _check_states(states)
        points = coordinates_of_spectra(_spectra_of(states.covariances))
        precisions = 1.0 / (self.within**2 + 0.5 / np.maximum(states.sizes, _LEAST_SIZE))
        prior = self.between**-2, self.concentration
        most_in_recordings, most_in_all = int(states.visits.sum(axis=1).max(initial=0.0)), int(states.succession.sum())
        followers = _log_rising_factorials(_weights_of(self.followers), len(points) + 2, most_in_all)
        versions = _log_rising_factorials(_weights_of(self.versions), len(points), most_in_recordings)
        followers = followers[0] if len(followers) else np.empty((0, 0))
        known = np.full(len(points), -1) if states.known is None else np.asarray(states.known, dtype=np.int64)
        return Shapes(points, precisions, states.visits, states.succession, *prior, followers, versions, known)


def merged_by_label(shapes: Shapes) -> tuple[Shapes, IntArray]:
    """Return shapes with all states of one known label as one state, and the number there of every state, (n_states,).

    Points of states of one action determine its shape only through their weighted mean and summed precision.
    """
    known, n = shapes.known, len(shapes.known)
    kinds = np.where(known >= 0, known, known.max() + 1 + np.arange(n))
    whose = np.unique(kinds, return_inverse=True)[1]
    into = np.eye(int(whose.max()) + 1)[whose]
    precisions = shapes.precisions @ into
    with_ends = np.pad(into, ((0, 1), (0, 1)))
    with_ends[-1, -1] = 1.0
    merged = shapes._replace(
        points=(into * shapes.precisions[:, None]).T @ shapes.points / precisions[:, None],
        precisions=precisions,
        visits=shapes.visits @ into,
        succession=with_ends.T @ shapes.succession @ with_ends,
        known=known[np.unique(whose, return_index=True)[1]],
    )
    return merged, whose


def agrees_with(known: IntArray | None, labels: IntArray) -> bool:
    """Whether states of equal known labels, and no others of known labels, are together, given groups (n_states,)."""
    if known is None:
        return True
    one, other = known[known >= 0], labels[known >= 0]
    return bool(np.array_equal(one[:, None] == one, other[:, None] == other))


def _check_states(states: States) -> None:
    """Raise unless there is something of every state, and counts of stays are counts."""
    n = len(states.ids)
    shapes = {"sizes": (n,), "visits": (len(states.visits), n), "succession": (n + 1, n + 1)}
    for name, shape in shapes.items():
        counts = np.asarray(getattr(states, name))
        if counts.shape != shape or not ((counts >= 0) & np.isfinite(counts)).all():
            raise InputError(f"{name} has shape {counts.shape}, needed {shape}, all finite and not negative.")
    if len(states.covariances) != n:
        raise InputError(f"There are {len(states.covariances)} covariances, needed one for each of {n} states.")


def _weights_of(setting: Sequence[float] | float | None) -> FloatArray:
    """Return prior weights as an array, without any for None."""
    return np.atleast_1d(np.array([] if setting is None else setting, dtype=np.float64))


def _log_rising_factorials(weights: FloatArray, most_at_once: int, most_steps: int) -> FloatArray:
    """Return ``log(x (x + 1) ... (x + n - 1))`` for multiples x of weights, (n_weights, most_at_once + 1, n + 1).

    Examples
    --------
    >>> np.exp(_log_rising_factorials(np.array([0.5]), 2, 3))[0, 1].round(3)
    array([1.   , 0.5  , 0.75 , 1.875])
    """
    multiples = np.maximum(weights[:, None] * np.arange(most_at_once + 1), _TINY)[:, :, None]
    out = np.zeros((len(weights), most_at_once + 1, most_steps + 1))
    np.cumsum(np.log(multiples + np.arange(most_steps)), axis=2, out=out[:, :, 1:])
    return out


def redrawn(rng: Generator, labels: IntArray, shapes: Shapes, powers: FloatArray) -> IntArray:
    """Return actions after a sweep over states for each power to which the probability of stays is raised."""
    from homothety.models.icsc._kernels import redraw_groups

    labels = labels.copy()
    redraw_groups(rng, labels, shapes, powers)
    return labels


def _spectra_of(covariances: FloatArray) -> FloatArray:
    """Return eigenvalues, none of them smaller than rounding leaves them."""
    spectra = np.asarray(np.linalg.eigvalsh(covariances), dtype=np.float64)
    return np.maximum(spectra, DEFAULT_FLOOR * spectra[:, -1:])


def log_density(labels: IntArray, shapes: Shapes) -> float:
    """Log density of a partition, up to the constant of its prior, and of the points."""
    from homothety.models.icsc._kernels import log_partition

    return float(log_partition(np.asarray(labels), shapes, 1.0))
