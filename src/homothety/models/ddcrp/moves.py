"""Moves of the chain: each takes a state to the next and says what it did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from homothety.models.ddcrp.state import ChainState, check_links
from homothety.models.partitions import keep_labels, log_likelihood, scalars_of
from homothety.sampling.driver import Recording

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.models.ddcrp.model import Model


Move = Callable[["Generator", "Model", ChainState], tuple[ChainState, tuple[object, ...]]]

LOG_STEP = 0.5  # of the random walk on the logarithm of the concentration


class LinksInfo(NamedTuple):
    """What one sweep over the links did."""

    n_changed: int
    log_likelihood: float


class ConcentrationInfo(NamedTuple):
    """What one step on the concentration did."""

    accepted: bool


def resample_links(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, LinksInfo]:
    """Redraw every link given all others, in random order (Algorithm 2, lines 6-16; Eqs. 21-23).

    The tables are rebuilt from the links on entry, so rounding never builds up over sweeps.
    """
    from homothety.models.ddcrp import _kernels

    check_links(model.n_items, state)
    links = _kernels.build_links(state.links)
    tables = _kernels.build_tables(links, model.centred_points, model.compiled_prior)
    order = rng.permutation(model.n_items)
    _kernels.sweep_links(
        rng,
        order,
        model.centred_points,
        model.weights,
        state.concentration,
        model.proposals,
        links,
        tables,
        model.compiled_prior,
        _kernels.build_scratch(*model.points.shape),
    )
    targets = links[:, _kernels.TARGET].copy()
    info = LinksInfo(int((targets != state.links).sum()), _kernels.total_log_marginal(tables))
    return replace(state, links=targets), info


def resample_concentration(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, ConcentrationInfo]:
    """Redraw the concentration given the links, by a random walk on its logarithm."""
    check_links(model.n_items, state)
    proposed = state.concentration * np.exp(LOG_STEP * rng.standard_normal())
    log_ratio = log_concentration_density(model, state, proposed)
    log_ratio -= log_concentration_density(model, state, state.concentration)
    # The walk is symmetric in the logarithm; its Jacobian makes up for that.
    accepted = bool(np.log(rng.random()) < log_ratio + np.log(proposed / state.concentration))
    return (replace(state, concentration=float(proposed)) if accepted else state), ConcentrationInfo(accepted)


def log_concentration_density(model: Model, state: ChainState, concentration: float) -> float:
    """Log density of the concentration given the links, up to a constant: gamma prior times link prior."""
    shape, rate = model.concentration_prior
    n_self_links = int((state.links == np.arange(model.n_items)).sum())
    log_prior = (shape - 1) * np.log(concentration) - rate * concentration
    return float(log_prior + n_self_links * np.log(concentration) - np.log(concentration + model.row_mass).sum())


def default_sweep(*, sample_concentration: bool = False) -> dict[str, Move]:
    """Return the moves of one sweep, in order, by name. Any order of them works."""
    sweep: dict[str, Move] = {"links": resample_links}
    if sample_concentration:
        sweep["concentration"] = resample_concentration
    return sweep


def trace_scalars(model: Model, state: ChainState, infos: dict[str, Any]) -> dict[str, float]:
    """Return log joint, its likelihood part, number of clusters and concentration of one sweep.

    Equal to `log_joint`, but from what the sweep already knows: the likelihood and the sums of the rows.
    """
    items = np.arange(model.n_items)
    chosen = np.where(state.links == items, state.concentration, model.weights[items, state.links])
    log_prior = np.log(chosen).sum() - np.log(state.concentration + model.row_mass).sum()
    known = infos["links"].log_likelihood if "links" in infos else log_likelihood(model, state)
    return scalars_of(state, float(log_prior), known)


RECORDING = Recording(scalars=trace_scalars, keep=keep_labels)
