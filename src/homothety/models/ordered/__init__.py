"""The similarity-dependent mixture for many items: links lead back in a random order, similarities are never stored."""

from homothety.models.ordered.model import Model, log_joint
from homothety.models.ordered.moves import default_sweep, resample_links
from homothety.models.ordered.neighbors import grid_neighbors
from homothety.models.ordered.recording import RECORDING
from homothety.models.ordered.similarity import PairSimilarity
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
