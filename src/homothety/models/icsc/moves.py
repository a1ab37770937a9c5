"""Moves of the coupled chain: those of the segmentation, lifted, and two between them (docs/model.md, section 6.8)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from homothety.errors import InputError
from homothety.models import ibphmm
from homothety.models.emissions.regression import Statistics, mean_parameters, residual_scatters
from homothety.models.ibphmm.model import path_of, path_statistics, whiteners_of
from homothety.models.icsc.grouping import States, count_stays, positions_of
from homothety.models.icsc.model import clusters_of
from homothety.sampling.codec import storable
from homothety.sampling.driver import Recording
from homothety.sampling.trace import RunPath, revive

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray
    from homothety.models.icsc.model import ChainState, Model
    from homothety.sampling.driver import Move


_TINY = np.finfo(float).tiny
_SPHERE = 0.2  # observations that a sphere counts as, beside the steps of a state


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
    states = states_to_cluster(model, state.segmentation)
    clusters = model.grouping.draw(generator, states, state.clusters)
    return replace(state, clusters=clusters, generator=dict(generator.bit_generator.state)), ()


def states_to_cluster(model: Model, segmentation: ibphmm.ChainState) -> States:
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


def couple_hyperpriors(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, tuple[()]]:  # noqa: ARG001
    """Set the hyper-priors of the segmentation by the numbers of states and clusters, while the model says so."""
    if not model.adapts_at(state.step):
        return state, ()
    clusters = clusters_of(state)
    counts = (len(clusters.ids), clusters.n_clusters, model.segmentation.n_series)
    return replace(state, hyperpriors=coupled_hyperpriors(*counts, state.hyperpriors)), ()


def coupled_hyperpriors(
    n_states: int, n_clusters: int, n_series: int, before: ibphmm.Hyperpriors | None = None
) -> ibphmm.Hyperpriors:
    """Return the hyper-priors that numbers of states, clusters and recordings imply (docs/model.md, section 6.8).

    Examples
    --------
    >>> coupled_hyperpriors(8, 2, 12).gamma.shape.__round__(4)
    0.3333
    """
    ratio = n_states / n_clusters
    each, own = ibphmm.GammaPrior(ratio / n_series, ratio / n_series), ibphmm.GammaPrior(ratio, ratio)
    return replace(before or ibphmm.Hyperpriors(), gamma=each, alpha=each, kappa=own)


def default_sweep() -> dict[str, Callable[..., tuple[ChainState, Any]]]:
    """Return the moves of one sweep, in order, by name: clusters come after the emissions they are drawn from.

    It may be changed, as that of the segmentation: see `homothety.models.ibphmm.default_sweep`.
    """
    sweep: dict[str, Callable[..., tuple[ChainState, Any]]] = {}
    for name, move in ibphmm.default_sweep().items():
        sweep[name] = partial(_move_segmentation, move)
        if name == "emissions":
            sweep |= {"clusters": resample_clusters, "coupling": couple_hyperpriors}
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
    clusters = clusters_of(state, "What is recorded of a sweep")
    return scalars | {
        "n_actions": clusters.n_clusters,
        "log_clusters": clusters.log_density,
        "gamma_prior": state.hyperpriors.gamma.shape,
        "kappa_prior": state.hyperpriors.kappa.shape,
    }


def _keep_actions(state: ChainState) -> KeptActions:
    """Return what is kept of a state after burn-in."""
    clusters = clusters_of(state, "What is kept of a sweep")
    return KeptActions(RunPath.of(state.segmentation.id_path), clusters.ids, clusters.labels)


RECORDING = Recording(scalars=trace_scalars, keep=_keep_actions)
