"""Hidden Markov models of many recordings with states from an Indian buffet process (Section 4.2, Algorithm 3)."""

from homothety.models.ibphmm.model import (
    ChainState,
    GammaPrior,
    Hyperpriors,
    Model,
    Proposals,
    check_parts,
    log_joint,
    path_of,
    whiteners_of,
)
from homothety.models.ibphmm.moves import (
    RECORDING,
    default_sweep,
    redrawn_paths,
    resample_leaving,
    series_log_likelihoods,
)
from homothety.models.ibphmm.starts import N_ANNEALING, init_annealed, init_from_clusters, init_state, measured_weight

__all__ = [
    "N_ANNEALING",
    "RECORDING",
    "ChainState",
    "GammaPrior",
    "Hyperpriors",
    "Model",
    "Proposals",
    "check_parts",
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
