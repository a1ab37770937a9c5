"""What is traced and kept of a chain over links."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.models.ddcrp.model import log_likelihood
from homothety.sampling.driver import Recording

if TYPE_CHECKING:
    from homothety.arrays import IntArray
    from homothety.models.ddcrp.model import Model
    from homothety.models.ddcrp.state import ChainState


def trace_scalars(model: Model, state: ChainState, infos: dict[str, Any]) -> dict[str, float]:
    """Return log joint, its likelihood part, number of clusters and concentration of one sweep.

    Equal to `log_joint`, but from what the sweep already knows: the likelihood and the sums of the rows.
    """
    items = np.arange(model.n_items)
    chosen = np.where(state.links == items, state.concentration, model.weights[items, state.links])
    log_prior = np.log(chosen).sum() - np.log(state.concentration + model.row_mass).sum()
    known = infos["links"].log_likelihood if "links" in infos else log_likelihood(model, state)
    return {
        "log_joint": float(log_prior) + known,
        "log_likelihood": known,
        "n_clusters": state.n_clusters,
        "concentration": state.concentration,
    }


def keep_labels(state: ChainState) -> IntArray:
    """Return what is kept of a state after burn-in: the partition."""
    return state.labels


RECORDING = Recording(scalars=trace_scalars, keep=keep_labels)
