"""Draws of the frame of one new recording given the states of a fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homothety.models.frames.candidates import log_posterior
from homothety.models.frames.frames import aligned_steps
from homothety.models.frames.moves import redrawn_frames, turned
from homothety.models.frames.statistics import state_gaussians
from homothety.models.hmm.messages import sample_path

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.models.frames.candidates import Chain
    from homothety.models.frames.frames import Frames
    from homothety.models.frames.model import Model


def sample_frames(
    rng: Generator, model: Model, chain: Chain, frame: Frames, n_draws: int, n_burn: int = 20
) -> list[Frames]:
    """Draw the frame of a recording from its posterior given states, by the moves on one frame and on paths.

    See docs/model.md, sections 5.4 to 5.7.

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
    gaussians, draws = state_gaussians(model, chain.whiteners), []
    for number in range(n_burn + n_draws):
        frame = turned_globally(rng, model, chain, frame)
        aligned = aligned_steps(model.blocks, frame, model.steps, model.starts)
        evidence = model.emission.log_evidence(model.emission.augment_steps(aligned), chain.whiteners)
        least_stay = model.segmentation.least_stay
        path, _ = sample_path(rng, evidence, chain.initial, chain.transition, least_stay=least_stay)
        frame, _ = redrawn_frames(rng, model, frame, path, gaussians)
        if number >= n_burn:
            draws.append(frame)
    return draws


def turned_globally(rng: Generator, model: Model, chain: Chain, frame: Frames) -> Frames:
    """Return the frame after the proposal of a half turn or of any rotation, the path summed out.

    See docs/model.md, section 5.7.
    """
    if not model.blocks.n_angles:
        return frame
    proposed = turned(rng, model, frame, 0)
    there, here = (log_posterior(model, model.steps, chain, one)[0] for one in (proposed, frame))
    return proposed if np.log(rng.random()) < there - here else frame
