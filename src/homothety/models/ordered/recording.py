"""What is traced and kept of a chain over ordered links."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.models.ordered.model import log_likelihood, log_link_weights
from homothety.sampling.driver import Recording

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from homothety.models.ddcrp import ChainState
    from homothety.models.ordered.model import Model


def trace_scalars(model: Model, state: ChainState, infos: dict[str, Any]) -> dict[str, float]:
    """Return log joint up to a constant, its likelihood part, and the number of clusters of one sweep."""
    known = infos["links"].log_likelihood if "links" in infos else log_likelihood(model, state)
    return {
        "log_joint": log_link_weights(model, state) + known,
        "log_likelihood": known,
        "n_clusters": state.n_clusters,
        "concentration": state.concentration,
    }


def keep_labels(state: ChainState) -> NDArray[np.unsignedinteger[Any]]:
    """Return what is kept of a state after burn-in: the partition, in as few bytes as will do."""
    return state.labels.astype(np.min_scalar_type(state.n_clusters))


RECORDING = Recording(scalars=trace_scalars, keep=keep_labels)
