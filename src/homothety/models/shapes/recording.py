"""What is traced and kept of a chain of the mixture of shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.models.partitions import keep_labels, scalars_of
from homothety.models.shapes.model import log_likelihood
from homothety.models.shapes.prior import CONCENTRATIONS, log_partition_weight
from homothety.sampling.driver import Recording

if TYPE_CHECKING:
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
    return scalars_of(state, log_prior, known)


RECORDING = Recording(scalars=trace_scalars, keep=keep_labels)
