"""Sticky hidden Markov model with a hierarchical Dirichlet process prior, cut off at a number of states.

All recordings share one transition matrix: the baseline of Fox et al. (2011), in the weak limit.
"""

from homothety.models.hdphmm.model import (
    ChainState,
    Model,
    Tables,
    log_joint,
    log_likelihood,
    log_path_prior,
)
from homothety.models.hdphmm.moves import (
    RECORDING,
    default_sweep,
    init_state,
    resample_concentration,
    resample_emissions,
    resample_mass,
    resample_paths,
    resample_tables,
    resample_transitions,
    resample_weights,
)

__all__ = [
    "RECORDING",
    "ChainState",
    "Model",
    "Tables",
    "default_sweep",
    "init_state",
    "log_joint",
    "log_likelihood",
    "log_path_prior",
    "resample_concentration",
    "resample_emissions",
    "resample_mass",
    "resample_paths",
    "resample_tables",
    "resample_transitions",
    "resample_weights",
]
