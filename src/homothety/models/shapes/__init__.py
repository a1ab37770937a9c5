"""Mixture of shapes: clusters of any width, a prior that resists clusters the noise alone would make."""

from homothety.models.shapes.kinds import ClusterKinds
from homothety.models.shapes.model import Model, cluster_posterior, log_joint, log_likelihood
from homothety.models.shapes.moves import (
    default_sweep,
    resample_concentration,
    resample_kinds,
    resample_labels,
    split_or_merge,
)
from homothety.models.shapes.prior import ATTRACTION, log_normaliser, log_partition_weight
from homothety.models.shapes.recording import RECORDING
from homothety.models.shapes.start import grow_state
from homothety.models.shapes.state import ChainState, check_state, init_state

__all__ = [
    "ATTRACTION",
    "RECORDING",
    "ChainState",
    "ClusterKinds",
    "Model",
    "check_state",
    "cluster_posterior",
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
