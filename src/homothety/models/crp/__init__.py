"""Chinese restaurant process mixture of Gaussians, the baseline without similarities (Neal 2000, algorithm 3)."""

from homothety.models.crp.model import Model, log_joint, log_partition_prior, sample_labels
from homothety.models.crp.moves import default_sweep, resample_concentration, resample_labels
from homothety.models.crp.state import ChainState, check_state, init_state
from homothety.models.partitions import log_likelihood

__all__ = [
    "ChainState",
    "Model",
    "check_state",
    "default_sweep",
    "init_state",
    "log_joint",
    "log_likelihood",
    "log_partition_prior",
    "resample_concentration",
    "resample_labels",
    "sample_labels",
]
