"""IBP-HMM coupled to a clustering of its states by shape: the ICSC-HMM (Section 4.3, Algorithm 3)."""

from homothety.models.icsc.grouping import Clusters, Grouping, LinkGrouping, ShapeGrouping, States, count_stays
from homothety.models.icsc.model import (
    RECORDING,
    ChainState,
    KeptActions,
    Model,
    coupled_hyperpriors,
    default_sweep,
    init_state,
)

__all__ = [
    "RECORDING",
    "ChainState",
    "Clusters",
    "Grouping",
    "KeptActions",
    "LinkGrouping",
    "Model",
    "ShapeGrouping",
    "States",
    "count_stays",
    "coupled_hyperpriors",
    "default_sweep",
    "init_state",
]
