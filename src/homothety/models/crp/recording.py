"""What is traced and kept of a chain over partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from homothety.models.crp.prior import log_partition_prior
from homothety.sampling.driver import Recording

if TYPE_CHECKING:
    from homothety.arrays import IntArray
    from homothety.models.crp.model import Model
    from homothety.models.crp.state import ChainState


def trace_scalars(model: Model, state: ChainState, infos: dict[str, Any]) -> dict[str, float]:  # noqa: ARG001
    """Return log joint, its likelihood part, number of clusters and concentration of one sweep.

    Equal to `log_joint`, but with the likelihood the sweep already knows.
    """
    log_likelihood = infos["labels"].log_likelihood
    return {
        "log_joint": log_partition_prior(state.labels, state.concentration) + log_likelihood,
        "log_likelihood": log_likelihood,
        "n_clusters": state.n_clusters,
        "concentration": state.concentration,
    }


def keep_labels(state: ChainState) -> IntArray:
    """Return what is kept of a state after burn-in: the partition."""
    return state.labels


RECORDING = Recording(scalars=trace_scalars, keep=keep_labels)
