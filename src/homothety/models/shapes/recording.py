"""What is traced and kept of a chain of the mixture of shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.models.shapes.model import log_likelihood
from homothety.models.shapes.prior import CONCENTRATIONS, log_partition_weight
from homothety.sampling.driver import Recording

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from homothety.models.shapes.model import Model
    from homothety.models.shapes.state import ChainState


def trace_scalars(model: Model, state: ChainState, infos: dict[str, Any]) -> dict[str, float]:
    """Return log joint of partition and points, its likelihood part, number of clusters and concentration.

    The kinds of clusters are integrated out: which of two similar kinds a cluster has says nothing of the partition.
    """
    place = int(np.abs(CONCENTRATIONS - state.concentration).argmin())
    log_prior = log_partition_weight(state.labels, state.concentration, model.attraction)
    log_prior += float(model.concentration_weights[place])
    known = infos["kinds"].log_likelihood if "kinds" in infos else log_likelihood(model, state)
    return {
        "log_joint": log_prior + known,
        "log_likelihood": known,
        "n_clusters": state.n_clusters,
        "concentration": state.concentration,
    }


def keep_labels(state: ChainState) -> NDArray[np.unsignedinteger[Any]]:
    """Return what is kept of a state after burn-in: the partition, in as few bytes as will do."""
    return state.labels.astype(np.min_scalar_type(state.n_clusters))


RECORDING = Recording(scalars=trace_scalars, keep=keep_labels)
