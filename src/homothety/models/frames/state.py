"""One point of the chain: the segmentation of the aligned recordings, and their frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from homothety.sampling.codec import storable

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator

    from homothety.models import ibphmm
    from homothety.models.frames.frames import Frames
    from homothety.models.frames.model import Model


@storable
@dataclass(frozen=True, eq=False)
class ChainState:
    """One point of the chain.

    Parameters
    ----------
    segmentation : ibphmm.ChainState
        Of the aligned recordings.
    frames : Frames
    step : int
        Number of sweeps behind this state.
    """

    segmentation: ibphmm.ChainState
    frames: Frames
    step: int = 0


def init_state(rng: Generator, model: Model, *, frames: Frames, start: Callable[..., ibphmm.ChainState]) -> ChainState:
    """Return a first state with given frames.

    Parameters
    ----------
    rng : Generator
    model : Model
    frames : Frames
    start : callable
        From ``(rng, ibphmm.Model)``, that of the aligned recordings, to the first state of the segmentation.
    """
    return ChainState(start(rng, model.aligned(frames)), frames)
