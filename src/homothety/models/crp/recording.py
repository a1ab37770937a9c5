"""What is traced and kept of a chain over partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from homothety.models.crp.model import log_likelihood
from homothety.models.crp.prior import log_partition_prior
from homothety.sampling.driver import Recording

if TYPE_CHECKING:
    from homothety.arrays import IntArray
    from homothety.models.crp.model import Model
    from homothety.models.crp.state import ChainState


def trace_scalars(model: Model, state: ChainState, infos: dict[str, Any]) -> dict[str, float]:
    """Return log joint, its likelihood part, number of clusters and concentration of one sweep.

    Equal to `log_joint`, but with the likelihood the sweep already knows.
    """
    known = infos["labels"].log_likelihood if "labels" in infos else log_likelihood(model, state)
    return {
        "log_joint": log_partition_prior(state.labels, state.concentration) + known,
        "log_likelihood": known,
        "n_clusters": state.n_clusters,
        "concentration": state.concentration,
    }


def keep_labels(state: ChainState) -> IntArray:
    """Return what is kept of a state after burn-in: the partition."""
    return state.labels


RECORDING = Recording(scalars=trace_scalars, keep=keep_labels)
