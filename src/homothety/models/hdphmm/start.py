"""Where a chain starts: paths that are given, or cut into blocks, and everything else drawn given them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from homothety.models.hdphmm.moves import resample_emissions, resample_transitions
from homothety.models.hdphmm.state import ChainState, check_state
from homothety.models.hmm.stays import mend_short_stays

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import ArrayLike

    from homothety.arrays import IntArray
    from homothety.models.hdphmm.model import Model


def init_state(rng: Generator, model: Model, path: ArrayLike | None = None) -> ChainState:
    """Return a state with the given path (n_steps,), by default every series cut into equal blocks in random order.

    Stays that are too short for the model are mended.

    Concentrations are at their prior means and weights equal; transitions and emissions are drawn given the path.
    """
    labels = _block_path(rng, model) if path is None else np.array(path, dtype=np.int64)
    staying, leaving = model.self_share_prior
    state = ChainState(
        labels,
        mass=model.mass_prior[0] / model.mass_prior[1],
        concentration=model.concentration_prior[0] / model.concentration_prior[1],
        self_share=staying / (staying + leaving),
        weights=np.full(model.n_states, 1 / model.n_states),
    )
    check_state(model, state)
    if model.least_stay > 1:
        state = replace(state, path=mend_short_stays(labels, model.sequences.starts, model.least_stay))
    state, _ = resample_transitions(rng, model, state)
    return replace(resample_emissions(rng, model, state)[0], step=0)


def _block_path(rng: Generator, model: Model) -> IntArray:
    """Cut every series into as many equal blocks as there are states, and give them states in random order."""
    blocks = [np.arange(length) * model.n_states // length for length in model.sequences.lengths]
    return np.concatenate([rng.permutation(model.n_states)[block] for block in blocks])
