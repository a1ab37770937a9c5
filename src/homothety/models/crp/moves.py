"""Moves of the chain: each takes a state to the next and says what it did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from homothety.models.crp.model import log_partition_prior
from homothety.models.crp.state import ChainState, check_state
from homothety.models.partitions import keep_labels, log_likelihood, number_by_appearance, scalars_of
from homothety.sampling.driver import Recording

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.models.crp.model import Model


Move = Callable[["Generator", "Model", ChainState], tuple[ChainState, tuple[object, ...]]]


class LabelsInfo(NamedTuple):
    """What one sweep over the labels did."""

    n_changed: int
    log_likelihood: float


def resample_labels(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, LabelsInfo]:
    """Redraw the cluster of every item given all others, in random order (Neal 2000, algorithm 3).

    The tables are rebuilt from the labels on entry, so rounding never builds up over sweeps.
    """
    from homothety.models.crp import _kernels

    check_state(model, state)
    points, prior = model.centred_points, model.compiled_prior
    tables = _kernels.build_tables(state.labels, points, prior)
    order = rng.permutation(model.n_items)
    n_changed = _kernels.sweep_labels(rng, order, points, state.concentration, tables, prior)
    info = LabelsInfo(n_changed, _kernels.total_log_marginal(tables))
    return replace(state, labels=number_by_appearance(tables.labels)), info


def resample_concentration(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, tuple[()]]:
    """Redraw the concentration given the number of clusters, exactly (Escobar and West 1995).

    Notes
    -----
    Given K clusters of M items, the density of the concentration is its prior times ``alpha^(K-1) (alpha + M)`` times
    the integral of ``x^alpha (1 - x)^(M-1)`` over x from 0 to 1. Drawing x, and which term of ``alpha + M`` is meant,
    leaves a gamma density.
    """
    check_state(model, state)
    shape, rate = model.concentration_prior
    fraction = rng.beta(state.concentration + 1, model.n_items)
    from_items = rng.random() * (model.n_items + state.concentration) < model.n_items
    concentration = rng.gamma(shape + state.n_clusters - from_items, 1 / (rate - np.log(fraction)))
    return replace(state, concentration=float(concentration)), ()


def default_sweep(*, sample_concentration: bool = False) -> dict[str, Move]:
    """Return the moves of one sweep, in order, by name. Any order of them works."""
    sweep: dict[str, Move] = {"labels": resample_labels}
    if sample_concentration:
        sweep["concentration"] = resample_concentration
    return sweep


def trace_scalars(model: Model, state: ChainState, infos: dict[str, Any]) -> dict[str, float]:
    """Return log joint, its likelihood part, number of clusters and concentration of one sweep.

    Equal to `log_joint`, but with the likelihood the sweep already knows.
    """
    known = infos["labels"].log_likelihood if "labels" in infos else log_likelihood(model, state)
    return scalars_of(state, log_partition_prior(state.labels, state.concentration), known)


RECORDING = Recording(scalars=trace_scalars, keep=keep_labels)
