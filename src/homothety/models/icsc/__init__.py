"""IBP-HMM coupled to a clustering of its states by shape: the ICSC-HMM (Section 4.3, Algorithm 3)."""

from homothety.models.icsc.clusters import Clustering, Clusters, cluster_covariances
from homothety.models.icsc.moves import coupled_hyperpriors, default_sweep
from homothety.models.icsc.recording import RECORDING, KeptActions
from homothety.models.icsc.state import ChainState, Model, init_state

__all__ = [
    "RECORDING",
    "ChainState",
    "Clustering",
    "Clusters",
    "KeptActions",
    "Model",
    "cluster_covariances",
    "coupled_hyperpriors",
    "default_sweep",
    "init_state",
]
