"""One point of the chain: the segmentation of the aligned recordings, and their frames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from homothety.models import ibphmm
from homothety.models.parts import check_array, check_finite, check_labels
from homothety.sampling.codec import storable

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.models.frames.frames import Frames
    from homothety.models.frames.model import Model

Info = TypeVar("Info")
Move: TypeAlias = Callable[["Generator", "Model", "ChainState"], tuple["ChainState", Info]]


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


def check_frames(model: Model, frames: Frames) -> None:
    """Raise if frames do not fit the model."""
    blocks, n, n_series = model.blocks, frames.n_frames, len(model.starts) - 1
    n_sizes, places = len(blocks.sized), (len(blocks.placed), blocks.dim)
    check_array(model.steps, "steps", (model.segmentation.n_steps, blocks.n_dims), np.float64)
    check_array(model.prior.place_mean, "prior.place_mean", places, np.float64)
    check_array(model.prior.place_spread, "prior.place_spread", places[:1], np.float64)
    check_labels(frames.labels, "labels of frames", n_series, n)
    check_array(frames.turns, "turns of frames", (n, blocks.turn_size), np.float64)
    check_array(frames.log_sizes, "log_sizes of frames", (n, n_sizes), np.float64)
    check_array(frames.places, "places of frames", (n, *places), np.float64)


def check_state(model: Model, state: ChainState) -> None:
    """Raise if a state does not fit the model. Parts of the segmentation that are out of date are not looked at."""
    check_frames(model, state.frames)
    for name in ("turns", "log_sizes", "places"):
        check_finite(getattr(state.frames, name), f"{name} of frames")
    check_finite(model.steps, "steps")
    ibphmm.check_state(model.aligned(state.frames), state.segmentation)


def checked(move: Move[Info]) -> Move[Info]:
    """Return a move of frames that first checks the state: nothing is out of date, and all parts fit the model."""

    @wraps(move)
    def check_and_move(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, Info]:
        check_frames(model, state.frames)
        ibphmm.check_parts(model.segmentation, state.segmentation)
        return move(rng, model, state)

    return check_and_move


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
