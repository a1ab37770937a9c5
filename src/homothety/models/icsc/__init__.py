"""IBP-HMM coupled to a clustering of its states by shape: the ICSC-HMM (Section 4.3, Algorithm 3)."""

from homothety.models.icsc.clusters import Clusters, Grouping, LinkGrouping, States, count_stays
from homothety.models.icsc.moves import RECORDING, KeptActions, coupled_hyperpriors, default_sweep
from homothety.models.icsc.shapes import ShapeGrouping
from homothety.models.icsc.state import ChainState, Model, check_state, init_state

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
    "check_state",
    "count_stays",
    "coupled_hyperpriors",
    "default_sweep",
    "init_state",
]
