"""Short runs before the chains of recordings with missing values, as `models/ibphmm/annealing.py` has them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from homothety.models import ibphmm
from homothety.models.ibphmm.annealing import CLUSTERS_MEASURED, N_ANNEALING, N_MEASURED, annealed, weight_in_states
from homothety.models.missing.model import Model
from homothety.models.missing.moves import lifted_sweep, start_filled

if TYPE_CHECKING:
    from typing import Any

    from numpy.random import Generator

    from homothety.arrays import BoolArray
    from homothety.models.missing.state import ChainState


def init_annealed(
    missing: BoolArray,
    rng: Generator,
    model: ibphmm.Model,
    *,
    n_clusters: int | None = None,
    n_sweeps: int = N_ANNEALING,
    **options: Any,
) -> ibphmm.ChainState:
    """Return a first state of the segmentation, found by a short run that draws missing values too.

    Parameters
    ----------
    missing : ndarray of bool, shape (n_steps, n_dims)
    rng : Generator
    model : ibphmm.Model
        With its gaps, filled in somehow.
    n_clusters, n_sweeps, **options
        As in `ibphmm.init_annealed`.
    """
    state: ibphmm.ChainState = run_annealed(rng, Model(model, missing), n_clusters, n_sweeps, **options).inner
    return state


def run_annealed(rng: Generator, model: Model, n_clusters: int | None, n_sweeps: int, **options: Any) -> ChainState:
    """Return where a short run ends that starts from clusters of the filled steps."""
    state = start_filled(partial(ibphmm.init_from_clusters, n_clusters=n_clusters, **options), rng, model)
    sweep, weight = lifted_sweep(ibphmm.default_sweep()), model.inner.emission.weight
    found: ChainState = annealed(rng, model, weight, state, sweep, n_sweeps)
    return found


def measured_weight(rng: Generator, model: Model, n_sweeps: int = N_ANNEALING) -> float:
    """Return how much of an independent observation a step counts as, measured between values that are observed."""
    state = start_filled(partial(ibphmm.init_from_clusters, n_clusters=CLUSTERS_MEASURED), rng, model)
    for _ in range(N_MEASURED):
        weighted = model.at_weight(weight_between(model, state))
        state = run_annealed(rng, weighted, CLUSTERS_MEASURED, n_sweeps)
    return weight_between(model, state)


def weight_between(model: Model, state: ChainState) -> float:
    """Return the weight of a step given the states of a chain."""
    return weight_in_states(model.completed(state.values), state.inner.path, model.missing)
