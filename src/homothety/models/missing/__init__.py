"""Recordings with missing values: any chain over segmentations, with a move that draws what is missing."""

from homothety.models.missing.model import (
    ChainState,
    Model,
    init_annealed,
    lifted_recording,
    lifted_start,
    lifted_sweep,
    measured_weight,
    resample_values,
)

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
