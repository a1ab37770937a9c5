"""Moves of the chain: each takes a state to the next and says what it did.

A sweep draws paths given transitions, and everything else given paths. In between the transitions are integrated out,
and the counts they leave are split over the tables of Chinese restaurants, which makes every conditional a textbook
one. The order matters: each move integrates out what the next ones redraw.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from homothety.distributions.dirichlet import sample_dirichlet
from homothety.distributions.gaussian import gaussian_log_density
from homothety.models.emissions.missing import observed_evidence
from homothety.models.hdphmm.model import (
    ChainState,
    Tables,
    check_whole,
    log_likelihood,
    log_path_prior,
    part_of,
    path_of,
    transition_parameters,
)
from homothety.models.hmm.messages import draw_path, mend_short_stays
from homothety.sampling.driver import Move, Recording
from homothety.sampling.trace import RunPath, count_segments, occupancy_entropy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.random import Generator
    from numpy.typing import ArrayLike

    from homothety.arrays import FloatArray, IntArray
    from homothety.distributions import NIW
    from homothety.models.hdphmm.model import Model


class _PathsInfo(NamedTuple):
    """What one draw of all paths did."""

    n_changed: int
    log_likelihood: float
    """Of all recordings given transitions and emissions, paths summed out."""


def resample_paths(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, _PathsInfo]:
    """Redraw every path given transitions and emissions: forward filtering, backward sampling."""
    from homothety.models.hmm._kernels import Chain

    chain = Chain(np.arange(model.n_states), part_of(model, state, "initial"), part_of(model, state, "transition"))
    # One recording at a time: its messages fit the cache, those of all recordings would not.
    draws = [draw_path(rng, evidence, chain, model.least_stay) for evidence in _evidence_of_series(model, state)]
    path = np.concatenate([drawn for drawn, _ in draws])
    info = _PathsInfo(int((path != path_of(model, state)).sum()), sum(log_likelihood for _, log_likelihood in draws))
    return replace(state, path=path, tables=None), info


def _evidence_of_series(model: Model, state: ChainState) -> Iterator[FloatArray]:
    """Yield the log densities of what is observed of the steps of each recording, (n_steps, n_states)."""
    if len(model.gaps.steps):
        z = model.emission.augment_steps(model.sequences.steps)
        yield from model.sequences.split(observed_evidence(model.emission, z, model.whiteners_of(state), model.gaps))
        return
    means, covariances = part_of(model, state, "means"), part_of(model, state, "covariances")
    for series in model.sequences:
        yield gaussian_log_density(series, means, covariances)


def resample_tables(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, tuple[()]]:
    """Redraw how transitions are seated at tables, and which tables stand for staying, whatever the weights.

    Transitions are integrated out; first states have a restaurant of their own, without stickiness.
    """
    weights, counts = part_of(model, state, "weights"), model.count_transitions(path_of(model, state))
    tables = sample_tables(rng, counts, transition_parameters(state, weights))
    first = sample_tables(rng, model.count_starts(state.path), model.initial_concentration * weights)
    staying = np.diagonal(tables)
    # A table of those who stay chose its state by the weights with odds (1 - share) * weight to share.
    by_weight = (1 - state.self_share) * weights
    overrides = rng.binomial(staying, state.self_share / (state.self_share + by_weight))
    considered = tables.sum(axis=0) - overrides + first
    found = Tables(counts.sum(axis=1), int(tables.sum()), int(overrides.sum()), considered)
    return replace(state, tables=found, initial=None, transition=None), ()


def resample_concentration(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, tuple[()]]:
    """Redraw the concentration of a row of transitions, and the share of it that goes to staying.

    Notes
    -----
    As in Escobar and West (1995), one pair of auxiliary variables per row that was left. First states have a fixed
    concentration of their own and do not enter.
    """
    tables: Tables = state.needed("tables")
    n_left = tables.n_left[tables.n_left > 0]
    concentration = sample_concentration(rng, state.concentration, n_left, tables.n_tables, model.concentration_prior)
    staying, leaving = model.self_share_prior
    self_share = rng.beta(staying + tables.n_overrides, leaving + tables.n_tables - tables.n_overrides)
    return replace(state, concentration=concentration, self_share=float(self_share)), ()


def resample_mass(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, tuple[()]]:
    """Redraw the mass with weights integrated out.

    Notes
    -----
    With finitely many states, the tables that chose one state are customers of one more restaurant each, of
    concentration mass / n_states: their tables are to be counted, not the states that were chosen. The two counts agree
    only as the number of states grows.
    """
    tables: Tables = state.needed("tables")
    considered = tables.n_considered
    parents = sample_tables(rng, considered, np.full(model.n_states, state.mass / model.n_states))
    mass = sample_concentration(rng, state.mass, considered.sum(keepdims=True), int(parents.sum()), model.mass_prior)
    return replace(state, mass=mass, weights=None), ()


def resample_weights(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, tuple[()]]:
    """Redraw the weights of states given how many tables chose each of them."""
    tables: Tables = state.needed("tables")
    parameters = np.asarray(state.mass / model.n_states + tables.n_considered, dtype=np.float64)
    return replace(state, weights=sample_dirichlet(rng, parameters), tables=None), ()


def resample_transitions(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, tuple[()]]:
    """Redraw initial and transition probabilities given paths and weights."""
    weights = part_of(model, state, "weights")
    rows = transition_parameters(state, weights) + model.count_transitions(path_of(model, state))
    first = model.initial_concentration * weights + model.count_starts(state.path)
    drawn = replace(state, transition=sample_dirichlet(rng, rows), initial=sample_dirichlet(rng, first))
    return drawn, ()


def resample_emissions(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, tuple[()]]:
    """Redraw mean and covariance of every state given its steps; a state without steps draws from the prior."""
    means, covariances = sample_gaussians(rng, model.base, model.sequences.steps, path_of(model, state), model.n_states)
    return replace(state, means=means, covariances=covariances), ()


def default_sweep() -> dict[str, Move]:
    """Return the moves of one sweep, in order, by name.

    The dictionary may be changed: moves left out, put in another order, or added. In an order in which a move would use
    what an earlier one has left out of date, the move raises a `SweepError` that names the move to put between them.
    """
    return {
        "paths": resample_paths,
        "tables": resample_tables,
        "concentration": resample_concentration,
        "mass": resample_mass,
        "weights": resample_weights,
        "transitions": resample_transitions,
        "emissions": resample_emissions,
    }


# --- draws the moves are made of -------------------------------------------------------------------------------------


def sample_tables(rng: Generator, n_customers: IntArray, concentrations: FloatArray) -> IntArray:
    """Draw how many tables customers take, in restaurants of any shape.

    The customer after r others opens a table with probability ``a / (a + r)``, a being the concentration; the first
    always does.
    """
    counts = n_customers.ravel()
    restaurants = np.repeat(np.arange(counts.size), counts)
    n_before = np.arange(len(restaurants)) - np.repeat(np.cumsum(counts) - counts, counts)
    concentration = concentrations.ravel()[restaurants]
    opens = (n_before == 0) | (rng.random(len(restaurants)) * (concentration + n_before) < concentration)
    return np.bincount(restaurants[opens], minlength=counts.size).reshape(n_customers.shape)


def sample_concentration(
    rng: Generator, concentration: float, n_customers: IntArray, n_tables: int, prior: tuple[float, float]
) -> float:
    """Redraw the concentration that restaurants share, given their customers (n_restaurants,) and tables in all.

    Parameters
    ----------
    rng : Generator
    concentration : float
        Its present value.
    n_customers : ndarray of shape (n_restaurants,)
        Positive.
    n_tables : int
    prior : tuple of two floats
        Shape and rate of its gamma prior.
    """
    shape, rate = prior
    fractions = rng.beta(concentration + 1, n_customers)
    from_customers = rng.random(len(n_customers)) * (n_customers + concentration) < n_customers
    return float(rng.gamma(shape + n_tables - from_customers.sum(), 1 / (rate - np.log(fractions).sum())))


def sample_gaussians(
    rng: Generator, base: NIW, steps: FloatArray, path: IntArray, n_states: int
) -> tuple[FloatArray, FloatArray]:
    """Draw means (n_states, n_dims) and covariances (n_states, n_dims, n_dims) from their posteriors (Eq. 34).

    What `NIW.posterior` and `NIW.sample` do, for all states at once.
    """
    sizes, totals, scatters = sum_by_state(steps - base.mean, path, n_states)
    strengths, n_dims = base.mean_strength + sizes, base.n_dims
    shifts = totals / strengths[:, None]
    roots = np.linalg.cholesky(base.scale + scatters - totals[:, :, None] * shifts[:, None, :])
    triangles = np.tril(rng.standard_normal((n_states, n_dims, n_dims)), -1)
    diagonal = np.arange(n_dims)
    triangles[:, diagonal, diagonal] = np.sqrt(rng.chisquare(base.dof + sizes[:, None] - diagonal))
    spreads = np.linalg.solve(triangles, roots.swapaxes(1, 2)).swapaxes(1, 2)
    noise = np.einsum("kde,ke->kd", spreads, rng.standard_normal((n_states, n_dims)))
    return base.mean + shifts + noise / np.sqrt(strengths)[:, None], spreads @ spreads.swapaxes(1, 2)


def sum_by_state(centred: FloatArray, path: IntArray, n_states: int) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return number (n_states,), sum (n_states, n_dims) and sum of outer squares of the steps of every state."""
    n_dims = centred.shape[1]
    order, sizes = np.argsort(path, kind="stable"), np.bincount(path, minlength=n_states)
    totals, scatters = np.zeros((n_states, n_dims)), np.zeros((n_states, n_dims, n_dims))
    for k, members in enumerate(np.split(centred[order], np.cumsum(sizes)[:-1])):
        totals[k] = members.sum(axis=0)
        scatters[k] = members.T @ members
    return sizes, totals, scatters


def _trace_scalars(model: Model, state: ChainState, infos: dict[str, Any]) -> dict[str, float]:  # noqa: ARG001
    """Return numbers of one sweep that do not depend on how states are numbered."""
    check_whole(state, "What is recorded of a sweep")
    likelihood = log_likelihood(model, state)
    return {
        "log_joint": log_path_prior(model, state) + likelihood,
        "log_likelihood": likelihood,
        "n_states": state.n_used,
        "n_segments": count_segments(state.path, model.sequences.starts),
        "occupancy_entropy": occupancy_entropy(state.path),
        "mass": state.mass,
        "concentration": state.concentration,
        "self_share": state.self_share,
    }


def _keep_path(state: ChainState) -> RunPath:
    """Return what is kept of a state after burn-in: its path."""
    return RunPath.of(state.path)


RECORDING = Recording(scalars=_trace_scalars, keep=_keep_path)


def init_state(rng: Generator, model: Model, path: ArrayLike | None = None) -> ChainState:
    """Return a state with the given path (n_steps,), by default every recording cut into equal blocks in random order.

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
    model.check_state(state)
    if model.least_stay > 1:
        state = replace(state, path=mend_short_stays(labels, model.sequences.starts, model.least_stay))
    state, _ = resample_transitions(rng, model, state)
    return replace(resample_emissions(rng, model, state)[0], step=0)


def _block_path(rng: Generator, model: Model) -> IntArray:
    """Cut every recording into as many equal blocks as there are states, and give them states in random order."""
    blocks = [np.arange(length) * model.n_states // length for length in model.sequences.lengths]
    return np.concatenate([rng.permutation(model.n_states)[block] for block in blocks])
