"""The move of the chain, all links one after the other; and what is recorded of a sweep."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from homothety.models.ddcrp.moves import LinksInfo
from homothety.models.ordered.model import log_link_weights
from homothety.models.partitions import keep_labels, log_likelihood, scalars_of
from homothety.sampling.driver import Recording

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator

    from homothety.arrays import IntArray
    from homothety.models.ddcrp import ChainState
    from homothety.models.ddcrp._kernels import Prior, Tables
    from homothety.models.ordered.model import Model


N_SLOTS = 64  # tables there is room for at least


def resample_links(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, LinksInfo]:
    """Redraw every link given all others, in order (Algorithm 2, lines 6-16; Eqs. 21-23).

    The tables are rebuilt from the links on entry, so rounding never builds up over sweeps.
    """
    from homothety.models.ddcrp import _kernels as links_of
    from homothety.models.ordered._kernels import sweep_links

    model.check_state(state)
    links = links_of.build_links(state.links)
    tables = visit_all(rng, sweep_links, model, state.concentration, links, model.compiled_prior)
    targets = links[:, links_of.TARGET].copy()
    info = LinksInfo(int((targets != state.links).sum()), links_of.total_log_marginal(tables))
    return replace(state, links=targets), info


def visit_all(
    rng: Generator,
    kernel: Callable[..., int],
    model: Model,
    concentration: float,
    links: IntArray,
    prior: Prior,
    n_seated: int | None = None,
) -> Tables:
    """Let a kernel visit items, with more room for tables whenever it runs out; return them.

    Parameters
    ----------
    kernel : callable
        `sweep_links`, which visits all items, or `seat_links`, which visits those that have no link yet.
    links : ndarray
        As `build_links` makes them. Changed in place.
    n_seated : int, optional
        How many items, the first ones, have a link, for `seat_links`.
    """
    from homothety.models.ordered._kernels import build_scratch, build_tables

    first, n_slots = n_seated or 0, N_SLOTS
    fixed = (model.centred_points, model.link_weights(concentration), links)
    while True:
        seated = model.n_items if n_seated is None else first
        tables, before = build_tables(seated, first, links, model.centred_points, prior, n_slots)
        first = kernel(rng, first, *fixed, tables, before, prior, build_scratch(tables))
        if first == model.n_items:
            return tables
        n_slots = 4 * len(tables.occupied)


def default_sweep() -> dict[str, Any]:
    """Return the moves of one sweep, in order, by name."""
    return {"links": resample_links}


def trace_scalars(model: Model, state: ChainState, infos: dict[str, Any]) -> dict[str, float]:
    """Return log joint up to a constant, its likelihood part, and the number of clusters of one sweep."""
    known = infos["links"].log_likelihood if "links" in infos else log_likelihood(model, state)
    return scalars_of(state, log_link_weights(model, state), known)


RECORDING = Recording(scalars=trace_scalars, keep=keep_labels)
