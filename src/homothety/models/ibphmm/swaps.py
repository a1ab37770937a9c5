"""Swaps: two states change places in some series.

Which state of one series is which of another is settled early, by few steps, and single steps cannot change it later:
the parameters of a state fit what it has. A swap redistributes the steps that series have in two states. Series choose
one after the other, each by what those before it have, so that all series of a session can change together.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from homothety.models.ibphmm.infos import Tried
from homothety.models.ibphmm.state import active_of, path_of

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.models.ibphmm.model import Model
    from homothety.models.ibphmm.state import ChainState


def swap_states(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, Tried]:
    """Try to swap two states in some series, a few times; parameters and weights, integrated out, are left out of date.

    Paths keep their density: transition weights do not tell states apart.
    """
    from homothety.models.ibphmm._swap_kernels import try_swaps

    active, path = np.array(active_of(model, state)), np.array(path_of(model, state))
    state = replace(state, weights=None, whiteners=None)
    n_trials = model.proposals.n_swaps if model.n_series > 1 and state.n_features > 1 else 0
    if n_trials == 0:
        return state, Tried(0, 0)
    emission, buffet = model.emission, (float(state.gamma), float(state.mass))
    settings = (emission.weight, emission.prior_scale, emission.structure)
    n_accepted = try_swaps(rng, n_trials, model.z, model.starts, *settings, *buffet, active, path)
    return replace(state, active=active, path=path), Tried(n_trials, n_accepted)
