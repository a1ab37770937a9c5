"""The similarity-dependent mixture for many items: links lead back in a random order, similarities are never stored."""

from homothety.models.ordered.model import Model, log_joint
from homothety.models.ordered.moves import RECORDING, default_sweep, resample_links
from homothety.models.ordered.neighbors import PairSimilarity, grid_neighbors
from homothety.models.ordered.start import grow_state

__all__ = [
    "RECORDING",
    "Model",
    "PairSimilarity",
    "default_sweep",
    "grid_neighbors",
    "grow_state",
    "log_joint",
    "resample_links",
]
