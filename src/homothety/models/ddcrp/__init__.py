"""Similarity-dependent Chinese restaurant process mixture (Algorithm 2)."""

from homothety.models.ddcrp.model import (
    Model,
    log_joint,
    log_link_prior,
    sample_links,
)
from homothety.models.ddcrp.moves import default_sweep, resample_concentration, resample_links
from homothety.models.ddcrp.state import ChainState, check_state, init_state, labels_from_links
from homothety.models.partitions import log_likelihood

__all__ = [
    "ChainState",
    "Model",
    "check_state",
    "default_sweep",
    "init_state",
    "labels_from_links",
    "log_joint",
    "log_likelihood",
    "log_link_prior",
    "resample_concentration",
    "resample_links",
    "sample_links",
]
