"""What a chain of the ICSC-HMM is conditioned on, one point of it, and its moves (docs/model.md, section 6.8).

Moves of the segmentation are lifted. Two more draw clusters of states and couple these to the segmentation.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from homothety.errors import InputError, SweepError
from homothety.models import ibphmm
from homothety.models._parts import check_array, up_to_date
from homothety.models.emissions.regression import Statistics, mean_parameters, residual_scatters
from homothety.models.ibphmm.model import path_of, path_statistics, whiteners_of
from homothety.models.icsc.grouping import Clusters, ShapeGrouping, States, count_stays, positions_of
from homothety.sampling.codec import storable
from homothety.sampling.driver import Recording
from homothety.sampling.trace import RunPath, revive

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator

    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.models.icsc.grouping import Grouping
    from homothety.sampling.driver import Move

Covariances = Literal["sample", "mean", "draw"]
Coupling = Literal["paper", "burnin"]
_TINY = np.finfo(float).tiny
_SPHERE = 0.2  # observations that a sphere counts as, beside the steps of a state


@dataclass(frozen=True, eq=False)
class Model:
    """Recordings with a segmentation model, how its states are clustered, and how the clusters act back.

    Parameters
    ----------
    segmentation : ibphmm.Model
        Its hyper-priors are those of the start, and stay if nothing is coupled.
    grouping : Grouping
        How states are clustered in every sweep.
    covariances : {"sample", "mean", "draw"}
        What stands for the covariance of a state: the sample covariance of its steps; its posterior mean given the
        path, which the prior makes rounder the fewer steps there are; or the draw of the sweep (the paper's), which is
        far noisier for short segments.
    include_unused : bool
        Whether states without any step are clustered too, by what the prior says of them: a draw, its mean, or nothing
        but a sphere of which nothing is known.
    coupling : {"paper", "burnin"} or None
        Whether the number of clusters sets the hyper-priors of the segmentation: in every sweep as the paper has it,
        which samples from no stated posterior; or in the first `n_adapt` sweeps only, after which the chain has one.
    n_adapt : int
        Sweeps in which hyper-priors are set under ``coupling="burnin"``.
    """

    segmentation: ibphmm.Model
    grouping: Grouping = field(default_factory=ShapeGrouping)
    covariances: Covariances = "sample"
    include_unused: bool = False
    coupling: Coupling | None = "burnin"
    n_adapt: int = 0

    def check_state(self, state: ChainState) -> None:
        """Raise if a state does not fit the self. Parts of the segmentation that are out of date are not looked at."""
        self.segmentation.check_state(state.segmentation)
        _check_clusters(state.clusters)
        revive(state.generator)

    def with_gaps(self, missing: BoolArray) -> Model:
        """Return the model in which some values, (n_steps, n_dims), are missing; they are filled in as they are now."""
        return replace(self, segmentation=self.segmentation.with_gaps(missing))

    def values(self, missing: BoolArray) -> FloatArray:
        """Return what the missing values are filled in with, (n_missing,)."""
        return self.segmentation.values(missing)

    def with_values(self, missing: BoolArray, values: FloatArray) -> Model:
        """Return the model with other values filled in."""
        return replace(self, segmentation=self.segmentation.with_values(missing, values))

    def draw_values(self, rng: Generator, state: ChainState, missing: BoolArray) -> FloatArray:
        """Draw the missing values given paths and parameters, (n_missing,)."""
        return self.segmentation.draw_values(rng, state.segmentation, missing)

    def adapts_at(self, step: int) -> bool:
        """Whether the clusters set the hyper-priors in a sweep."""
        return self.coupling == "paper" or (self.coupling == "burnin" and step < self.n_adapt)


@storable
@dataclass(frozen=True, eq=False)
class ChainState:
    """One point of the chain.

    Parameters
    ----------
    segmentation : ibphmm.ChainState
    clusters : Clusters
        Of the states of the segmentation.
    hyperpriors : ibphmm.Hyperpriors
        Those in force.
    generator : dict
        Where the random stream of the clusters stands. It is one of its own: what the clusters draw does not touch
        what the segmentation draws.
    step : int
        Number of sweeps behind this state.
    """

    segmentation: ibphmm.ChainState
    clusters: Clusters
    hyperpriors: ibphmm.Hyperpriors
    generator: dict[str, Any]
    step: int = 0


def _check_clusters(clusters: Clusters) -> None:
    """Raise if the links of clusters are not one per state, to states that have a cluster."""
    ids, links = clusters.ids, clusters.links
    check_array(ids, "ids of clusters", (len(ids),), np.int64)
    check_array(links, "links of clusters", (len(ids),), np.int64)
    if not np.isin(links, ids).all():
        raise InputError("A state is linked to one that has no cluster.")


def _clusters_of(state: ChainState, needed_by: str = "This move") -> Clusters:
    """Return the clusters of a state, or raise if a state that some step is in has none."""
    # Clusters of the sweep before are where the next ones begin: they are kept, not None, while they are out of date.
    used = state.segmentation.ids[np.unique(up_to_date(state.segmentation.path, "path", "paths"))]
    if not np.isin(used, state.clusters.ids).all():
        raise SweepError("clusters", "clusters", needed_by)
    _check_clusters(state.clusters)
    return state.clusters


def init_state(
    rng: Generator, model: Model, start: Callable[..., ibphmm.ChainState] = ibphmm.init_from_clusters
) -> ChainState:
    """Return a first state: that of the segmentation, no state in a cluster yet.

    Parameters
    ----------
    rng : Generator
    model : Model
    start : callable
        From ``(rng, model.segmentation)`` to the first state of the segmentation.
    """
    segmentation = start(rng, model.segmentation)
    generator = rng.spawn(1)[0].bit_generator.state
    return ChainState(segmentation, Clusters.none(), model.segmentation.hyperpriors, dict(generator))


def _move_segmentation(move: Move, rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, Any]:
    """Make a move of the segmentation under the hyper-priors in force."""
    conditions = model.segmentation
    if state.hyperpriors != conditions.hyperpriors:  # a copy would have to work out again what the model remembers
        conditions = replace(conditions, hyperpriors=state.hyperpriors)
    segmentation, info = move(rng, conditions, replace(state.segmentation, step=state.step))
    return replace(state, segmentation=segmentation), info


def resample_clusters(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, tuple[()]]:  # noqa: ARG001
    """Redraw the clusters of states given their covariances, from a random stream of their own."""
    generator = revive(state.generator)
    states = _states_to_cluster(model, state.segmentation)
    clusters = model.grouping.draw(generator, states, state.clusters)
    return replace(state, clusters=clusters, generator=dict(generator.bit_generator.state)), ()


def _states_to_cluster(model: Model, segmentation: ibphmm.ChainState) -> States:
    """Return what is known of the states to cluster: all, or those with at least one step."""
    path, n_states = path_of(model.segmentation, segmentation), segmentation.n_states
    statistics = path_statistics(model.segmentation, path, n_states)
    chosen = np.arange(n_states) if model.include_unused else np.flatnonzero(statistics.sizes > 0)
    covariances, sizes = _state_covariances(model, segmentation, statistics)
    visits, succession = count_stays(path, model.segmentation.starts, n_states)
    with_ends = np.append(chosen, n_states)
    return States(
        segmentation.ids[chosen],
        covariances[chosen],
        sizes[chosen],
        visits[:, chosen],
        succession[np.ix_(with_ends, with_ends)],
        model.segmentation.known.tags_of(path, n_states)[chosen] if len(model.segmentation.known.steps) else None,
    )


def _state_covariances(
    model: Model, segmentation: ibphmm.ChainState, statistics: Statistics
) -> tuple[FloatArray, FloatArray]:
    """Return what stands for the covariance of every state, and on how many observations it rests."""
    emission = model.segmentation.emission
    if model.covariances == "sample":
        return sample_covariances(residual_scatters(emission, statistics), statistics.sizes), statistics.sizes
    if emission.blocks is not None:
        raise InputError(f"covariances is {model.covariances!r}, needed 'sample' where emissions have blocks.")
    # The prior of a covariance is worth some observations too.
    sizes = statistics.sizes + (emission.dof - emission.n_dims - 1)
    if model.covariances == "draw":
        return emission.covariances_of(whiteners_of(model.segmentation, segmentation)), sizes
    return emission.covariances_of(mean_parameters(emission, statistics)), sizes


def sample_covariances(scatters: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return covariances from the scatter of steps, and a sphere of the same size as a fifth of an observation more.

    The sphere makes them definite however few steps there are, and they still don't depend on units or a prior.
    """
    n_dims = scatters.shape[-1]
    mean_squares = np.trace(scatters, axis1=1, axis2=2) / n_dims / np.maximum(sizes, _TINY)
    spheres = np.where(mean_squares > _TINY, mean_squares, 1.0)[:, None, None] * np.eye(n_dims)
    return (scatters + _SPHERE * spheres) / (sizes + _SPHERE)[:, None, None]


def _couple_hyperpriors(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, tuple[()]]:  # noqa: ARG001
    """Set the hyper-priors of the segmentation by the numbers of states and clusters, while the model says so."""
    if not model.adapts_at(state.step):
        return state, ()
    clusters = _clusters_of(state)
    counts = (len(clusters.ids), clusters.n_clusters, model.segmentation.n_recordings)
    return replace(state, hyperpriors=coupled_hyperpriors(*counts, state.hyperpriors)), ()


def coupled_hyperpriors(
    n_states: int, n_clusters: int, n_recordings: int, before: ibphmm.Hyperpriors | None = None
) -> ibphmm.Hyperpriors:
    """Return the hyper-priors that numbers of states, clusters and recordings imply (docs/model.md, section 6.8).

    Examples
    --------
    >>> coupled_hyperpriors(8, 2, 12).mass.shape.__round__(4)
    0.3333
    """
    ratio = n_states / n_clusters
    each, own = ibphmm.GammaPrior(ratio / n_recordings, ratio / n_recordings), ibphmm.GammaPrior(ratio, ratio)
    return replace(before or ibphmm.Hyperpriors(), mass=each, alpha=each, kappa=own)


def default_sweep() -> dict[str, Callable[..., tuple[ChainState, Any]]]:
    """Return the moves of one sweep, in order, by name: clusters come after the emissions they are drawn from.

    It may be changed, as that of the segmentation: see `homothety.models.ibphmm.default_sweep`.
    """
    sweep: dict[str, Callable[..., tuple[ChainState, Any]]] = {}
    for name, move in ibphmm.default_sweep().items():
        sweep[name] = partial(_move_segmentation, move)
        if name == "emissions":
            sweep |= {"clusters": resample_clusters, "coupling": _couple_hyperpriors}
    return sweep


@storable
class KeptActions(NamedTuple):
    """The path of a sweep by persistent numbers of states, and the cluster of each state."""

    path: RunPath
    ids: IntArray  # (n_states,)
    labels: IntArray  # (n_states,)

    def actions(self) -> RunPath:
        """Return the path of clusters."""
        return self.path._replace(labels=self.labels[positions_of(self.path.labels, self.ids)])


def trace_scalars(model: Model, state: ChainState, infos: dict[str, Any]) -> dict[str, float]:
    """Return the numbers of the segmentation, and those of the clusters beside them.

    The log joint is that of the segmentation alone: densities of clusters are over another embedding in every sweep.
    """
    conditions = replace(model.segmentation, hyperpriors=state.hyperpriors)
    scalars = ibphmm.RECORDING.scalars(conditions, state.segmentation, infos)
    clusters = _clusters_of(state, "What is recorded of a sweep")
    return scalars | {
        "n_actions": clusters.n_clusters,
        "log_clusters": clusters.log_density,
        "mass_prior": state.hyperpriors.mass.shape,
        "kappa_prior": state.hyperpriors.kappa.shape,
    }


def _keep_actions(state: ChainState) -> KeptActions:
    """Return what is kept of a state after burn-in."""
    clusters = _clusters_of(state, "What is kept of a sweep")
    return KeptActions(RunPath.of(state.segmentation.id_path), clusters.ids, clusters.labels)


RECORDING = Recording(scalars=trace_scalars, keep=_keep_actions)
