"""What is traced and kept of a chain of recordings in frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from homothety.models import ibphmm
from homothety.models.frames.model import log_frames
from homothety.sampling.codec import storable
from homothety.sampling.driver import Recording
from homothety.sampling.paths import RunPath

if TYPE_CHECKING:
    from homothety.models.frames.frames import Frames
    from homothety.models.frames.model import Model
    from homothety.models.frames.state import ChainState


@storable
class KeptFrames(NamedTuple):
    """The path of a sweep by persistent numbers of states, and the frames."""

    path: RunPath
    frames: Frames


def trace_scalars(model: Model, state: ChainState, infos: dict[str, Any]) -> dict[str, float]:
    """Return the numbers of the segmentation, with the log joint of frames and segmentation together."""
    scalars = ibphmm.RECORDING.scalars(model.aligned(state.frames), state.segmentation, infos)
    scalars["log_joint"] += log_frames(model, state.frames)
    return scalars | {"n_frames": state.frames.n_frames}


def keep_frames(state: ChainState) -> KeptFrames:
    """Return what is kept of a state after burn-in."""
    return KeptFrames(RunPath.of(state.segmentation.id_path), state.frames)


RECORDING = Recording(scalars=trace_scalars, keep=keep_frames)
