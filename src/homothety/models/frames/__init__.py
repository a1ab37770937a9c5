"""Recordings in frames of their own: hidden Markov models of recordings that a similarity transform aligns."""

from homothety.models.frames._kernels import Prior
from homothety.models.frames.frames import Blocks, Frames, identity_frames
from homothety.models.frames.model import ChainState, Model, init_state, log_joint
from homothety.models.frames.moves import RECORDING, default_sweep

__all__ = [
    "RECORDING",
    "Blocks",
    "ChainState",
    "Frames",
    "Model",
    "Prior",
    "default_sweep",
    "identity_frames",
    "init_state",
    "log_joint",
]
