"""What a chain of the ICSC-HMM is conditioned on, and one point of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from homothety.models import ibphmm
from homothety.models.icsc.clusters import Clusters
from homothety.models.icsc.shapes import ShapeGrouping
from homothety.sampling.codec import storable

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator

    from homothety.models.icsc.clusters import Grouping

Covariances = Literal["sample", "mean", "draw"]
Coupling = Literal["paper", "burnin"]


@dataclass(frozen=True, eq=False)
class Model:
    """Series with a segmentation model, how its states are clustered, and how the clusters act back.

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
