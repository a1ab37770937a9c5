"""What a chain of the ICSC-HMM is conditioned on, and one point of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from homothety.errors import InputError, SweepError
from homothety.models import ibphmm
from homothety.models._parts import check_array, up_to_date
from homothety.models.icsc.grouping import Clusters, ShapeGrouping
from homothety.sampling.codec import storable
from homothety.sampling.trace import revive

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator

    from homothety.arrays import BoolArray, FloatArray
    from homothety.models.icsc.grouping import Grouping

Covariances = Literal["sample", "mean", "draw"]
Coupling = Literal["paper", "burnin"]


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


def clusters_of(state: ChainState, needed_by: str = "This move") -> Clusters:
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
