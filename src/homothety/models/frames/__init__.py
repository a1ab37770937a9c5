"""Recordings in frames of their own: hidden Markov models of recordings that a similarity transform aligns."""

from homothety.models.frames._kernels import Prior
from homothety.models.frames.blocks import Blocks
from homothety.models.frames.frames import Frames, identity_frames
from homothety.models.frames.model import Model, log_joint
from homothety.models.frames.moves import RECORDING, default_sweep
from homothety.models.frames.state import ChainState, check_state, init_state

__all__ = [
    "RECORDING",
    "Blocks",
    "ChainState",
    "Frames",
    "Model",
    "Prior",
    "check_state",
    "default_sweep",
    "identity_frames",
    "init_state",
    "log_joint",
]
