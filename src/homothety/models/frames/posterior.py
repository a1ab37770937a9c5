"""Draws of the frame of one recording given states that are known: what is sampled of recordings after a fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homothety.models.frames.candidates import log_posterior
from homothety.models.frames.frames import Frames, aligned_steps
from homothety.models.frames.looks import looks_of, recorded_sums
from homothety.models.frames.moves import turned
from homothety.models.hmm.messages import sample_path

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.models.frames.candidates import Chain
    from homothety.models.frames.model import Model

ONLY = np.zeros(1, dtype=np.int64)  # recording of the model


def sample_frames(
    rng: Generator, model: Model, chain: Chain, frame: Frames, n_draws: int, n_burn: int = 20
) -> list[Frames]:
    """Draw the frame of a recording from its posterior given states: the moves on frames (1 to 4) and on paths.

    Parameters
    ----------
    rng : Generator
    model : Model
        Of one recording.
    chain : Chain
        The states, which stay as they are.
    frame : Frames
        Where to start.
    n_draws, n_burn : int
        Draws that are returned, and those before them that are not.

    Returns
    -------
    draws : list of Frames
        Successive ones are correlated.
    """
    from homothety.models.frames._kernels import move_frames

    looks, draws = looks_of(model, chain.whiteners), []
    for number in range(n_burn + n_draws):
        frame = turned_globally(rng, model, chain, frame)
        aligned = aligned_steps(model.blocks, frame, model.steps, model.starts)
        evidence = model.emission.log_evidence(model.emission.augment_steps(aligned), chain.whiteners)
        least_stay = model.segmentation.least_stay
        path, _ = sample_path(rng, evidence, chain.initial, chain.transition, least_stay=least_stay)
        sums = recorded_sums(model, path, len(chain.whiteners), frame)
        moved = (frame.turns.copy(), frame.log_sizes.copy(), frame.places.copy())
        move_frames(rng, *moved, *sums, looks, model.prior, model.blocks.layout)
        frame = Frames(frame.labels, *moved)
        if number >= n_burn:
            draws.append(frame)
    return draws


def turned_globally(rng: Generator, model: Model, chain: Chain, frame: Frames) -> Frames:
    """Return the frame after the proposal of a half turn or of any rotation, the path summed out (move 4)."""
    if not model.blocks.n_angles:
        return frame
    proposed = turned(rng, model, frame, 0, ONLY)
    log_ratio = log_posterior(model, model.steps, chain, proposed) - log_posterior(model, model.steps, chain, frame)
    return proposed if np.log(rng.random()) < log_ratio else frame
