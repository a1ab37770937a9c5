"""Features of one series alone are born and die: reversible jumps with paths summed out.

See docs/model.md, section 3.9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homothety.models.ibphmm.blocks import over_blocks
from homothety.models.ibphmm.state import active_of, weights_of, whiteners_of

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import IntArray
    from homothety.models.ibphmm._birth_kernels import Births, Newborns, Source
    from homothety.models.ibphmm._series_kernels import Data
    from homothety.models.ibphmm.model import Model
    from homothety.models.ibphmm.state import ChainState


def try_jumps(rng: Generator, model: Model, state: ChainState) -> tuple[IntArray, Newborns]:
    """Let every series try one birth or death.

    What is born or dropped belongs to one series: no attempt sees another's outcome.

    Returns
    -------
    outcomes : ndarray of int, shape (n_series,)
        Feature that died, `n_features` where one was born, or negative.
    newborns : Newborns
    """
    from homothety.models.ibphmm._birth_kernels import build_window, jump_all
    from homothety.models.ibphmm._series_kernels import build_room

    data, active = data_of(model, state), active_of(model, state)
    births, newborns = births_of(model, state), expect_newborns(model, state)
    n_owners, outcomes = active.sum(axis=0).astype(np.float64), np.empty(model.n_series, dtype=np.int64)

    def work(rng: Generator, series: IntArray) -> None:
        window, room = build_window(model.z.shape[1]), build_room(data, state.n_features + 1)
        jump_all(rng, series, n_owners, births, data, window, room, newborns, outcomes)

    over_blocks(rng, model.blocks, work)
    return outcomes, newborns


def data_of(model: Model, state: ChainState) -> Data:
    """Return all series and the parameters of a state, as kernels want them."""
    from homothety.models.ibphmm._series_kernels import Data

    # A copy: parameters on trial can be written to, and kernels are compiled for one kind of array.
    emission, whiteners = model.emission, whiteners_of(model, state).copy()
    settings = (emission.weight, emission.structure, model.least_stay, model.leaving_at(state), model.gaps)
    return Data(model.z, model.starts, whiteners, *settings)


def births_of(model: Model, state: ChainState) -> Births:
    """Return how features are born at a state, as kernels want it."""
    from homothety.models.ibphmm._birth_kernels import Births

    rate = state.gamma * state.mass / (state.mass + model.n_series - 1)
    return Births(float(np.log(rate)), state.alpha, state.kappa, source_of(model))


def source_of(model: Model) -> Source:
    """Return where the parameters of new features come from, as kernels want it."""
    from homothety.models.ibphmm._birth_kernels import Source

    emission, proposals = model.emission, model.proposals
    return Source(
        *proposals.window,
        proposals.birth == "data-driven",
        emission.prior_scale,
        emission.prior_factor.copy(),  # kernels are compiled for factors that can be written to
        emission.structure,
    )


def expect_newborns(model: Model, state: ChainState) -> Newborns:
    """Return the features and weights of every series with a slot more, and room for parameters."""
    from homothety.models.ibphmm._birth_kernels import Newborns

    n_series, n_features = state.active.shape
    active = np.zeros((n_series, n_features + 1), dtype=bool)
    active[:, :-1] = state.active
    weights = np.zeros((n_series, n_features + 1, n_features + 1))
    weights[:, :-1, :-1] = weights_of(model, state)
    return Newborns(active, weights, np.empty((n_series, model.emission.n_dims, model.z.shape[1])))
