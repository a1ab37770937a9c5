"""Hidden Markov models of many series with features from an Indian buffet process (Section 4.2, Algorithm 3)."""

from homothety.models.ibphmm.annealing import N_ANNEALING, init_annealed, measured_weight
from homothety.models.ibphmm.model import GammaPrior, Hyperpriors, Model, Proposals, log_joint
from homothety.models.ibphmm.moves import (
    RECORDING,
    default_sweep,
    redrawn_paths,
    resample_leaving,
    series_log_likelihoods,
)
from homothety.models.ibphmm.state import (
    ChainState,
    check_parts,
    check_state,
    init_from_clusters,
    init_state,
    path_of,
    whiteners_of,
)

__all__ = [
    "N_ANNEALING",
    "RECORDING",
    "ChainState",
    "GammaPrior",
    "Hyperpriors",
    "Model",
    "Proposals",
    "check_parts",
    "check_state",
    "default_sweep",
    "init_annealed",
    "init_from_clusters",
    "init_state",
    "log_joint",
    "measured_weight",
    "path_of",
    "redrawn_paths",
    "resample_leaving",
    "series_log_likelihoods",
    "whiteners_of",
]
