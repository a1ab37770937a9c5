"""Mixture of shapes: clusters of any width, a prior that resists clusters the noise alone would make."""

from homothety.models.shapes import completion
from homothety.models.shapes.model import (
    ATTRACTION,
    ChainState,
    ClusterKinds,
    Model,
    cluster_posterior,
    init_state,
    log_joint,
    log_likelihood,
    log_normaliser,
    log_partition_weight,
)
from homothety.models.shapes.moves import (
    RECORDING,
    default_sweep,
    grow_state,
    resample_concentration,
    resample_kinds,
    resample_labels,
    split_or_merge,
)

__all__ = [
    "ATTRACTION",
    "RECORDING",
    "ChainState",
    "ClusterKinds",
    "Model",
    "cluster_posterior",
    "completion",
    "default_sweep",
    "grow_state",
    "init_state",
    "log_joint",
    "log_likelihood",
    "log_normaliser",
    "log_partition_weight",
    "resample_concentration",
    "resample_kinds",
    "resample_labels",
    "split_or_merge",
]
