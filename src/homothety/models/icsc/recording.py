"""What is traced and kept of a coupled chain."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from homothety.models import ibphmm
from homothety.models.icsc.clusters import positions_of
from homothety.models.icsc.state import clusters_of
from homothety.sampling.codec import storable
from homothety.sampling.driver import Recording
from homothety.sampling.paths import RunPath

if TYPE_CHECKING:
    from homothety.arrays import IntArray
    from homothety.models.icsc.state import ChainState, Model


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


def keep_actions(state: ChainState) -> KeptActions:
    """Return what is kept of a state after burn-in."""
    clusters = clusters_of(state, "What is kept of a sweep")
    return KeptActions(RunPath.of(state.segmentation.id_path), clusters.ids, clusters.labels)


RECORDING = Recording(scalars=trace_scalars, keep=keep_actions)
