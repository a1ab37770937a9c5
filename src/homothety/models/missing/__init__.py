"""Recordings with missing values: any chain over segmentations, with a move that draws what is missing."""

from homothety.models.missing.annealing import init_annealed, measured_weight
from homothety.models.missing.model import Model
from homothety.models.missing.moves import lifted_recording, lifted_start, lifted_sweep, resample_values
from homothety.models.missing.state import ChainState

__all__ = [
    "ChainState",
    "Model",
    "init_annealed",
    "lifted_recording",
    "lifted_start",
    "lifted_sweep",
    "measured_weight",
    "resample_values",
]
