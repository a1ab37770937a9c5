"""Moves of the chain: each takes a state to the next and says what it did.

Features are changed with paths summed out, given parameters (shared, unique); splits and merges with parameters
integrated out, given paths. After the first kind the paths of the state are out of date until they are redrawn, after
the second kind parameters are. The order of `default_sweep` respects that; do not change it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from homothety.models.ibphmm.evidence import evaluate
from homothety.models.ibphmm.prior import expected_new, log_feature_prior, log_path_prior
from homothety.models.ibphmm.state import draw_weights
from homothety.models.ibphmm.statistics import draw_parameters, path_statistics, transition_counts
from homothety.models.ibphmm.unique import Birth, Death, jump

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator

    from homothety.arrays import FloatArray
    from homothety.models.ibphmm.evidence import Evidence
    from homothety.models.ibphmm.model import GammaPrior, Model
    from homothety.models.ibphmm.state import ChainState
    from homothety.models.ibphmm.unique import Jump

LOG_STEP = 0.5  # of random walks on the logarithm of a parameter


class Tried(NamedTuple):
    """How many proposals a move made, and how many were accepted."""

    n_tried: int
    n_accepted: int


class JumpInfo(NamedTuple):
    """How many births and deaths were accepted, of one attempt per series."""

    n_tried: int
    n_accepted: int
    n_born: int
    n_died: int


class PathsInfo(NamedTuple):
    """Log-likelihood of the series given features and parameters, paths summed out."""

    log_likelihood: float


def evidence_of(model: Model, state: ChainState) -> Evidence:
    """Return the evidence under the parameters of a state, worked out unless it is known."""
    # Newborn features share one column, known to their own series alone: enough to draw paths, not to go on.
    if state.evidence is None or state.evidence.has_newborn:
        return evaluate(model.z, state.whiteners, model.emission.weight)
    return state.evidence


def resample_shared_features(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, Tried]:
    """Switch features that other series have on or off, series by series (section 4)."""
    from homothety.models.ibphmm import _feature_kernels as kernels

    evidence = evidence_of(model, state)
    active, weights = state.active.copy(), state.weights.copy()
    scratch, n_tried, n_accepted = kernels.build_scratch(state.n_features), 0, 0
    n_owners = active.sum(axis=0).astype(np.float64)
    for i in rng.permutation(model.n_series):
        n_owners -= active[i]
        kernels.draw_missing_weights(rng, active[i], state.alpha, state.kappa, weights[i])
        order = rng.permutation(state.n_features)
        arguments = (active[i], weights[i], evidence.columns, *evidence.of(*model.bounds[i]), scratch)
        tried, accepted, _ = kernels.flip_shared_features(rng, order, n_owners, model.n_series, state.mass, *arguments)
        weights[i] *= np.outer(active[i], active[i])
        n_owners += active[i]
        n_tried, n_accepted = n_tried + tried, n_accepted + accepted
    return replace(state, active=active, weights=weights, evidence=evidence), Tried(n_tried, n_accepted)


def resample_unique_features(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, JumpInfo]:
    """Let every series try to gain or lose a feature of its own (section 5)."""
    from homothety.models.ibphmm import _feature_kernels as kernels

    evidence = evidence_of(model, state)
    scratch = kernels.build_scratch(state.n_features + 1)
    # One attempt per series, and what is born or dropped is its own: no attempt sees another's outcome.
    jumps = [jump(rng, model, state, evidence, i, scratch) for i in range(model.n_series)]
    n_born, n_died = (sum(isinstance(j, kind) for j in jumps) for kind in (Birth, Death))
    return apply_jumps(replace(state, evidence=evidence), jumps), JumpInfo(
        model.n_series, n_born + n_died, n_born, n_died
    )


def apply_jumps(state: ChainState, jumps: list[Jump]) -> ChainState:
    """Return the state after births and deaths, at most one per series; paths are left out of date."""
    if not any(jumps):
        return state
    births = {i: event for i, event in enumerate(jumps) if isinstance(event, Birth)}
    dead = [event.feature for event in jumps if isinstance(event, Death)]
    kept = np.setdiff1d(np.arange(state.n_features), dead)
    n_kept, n_features = len(kept), len(kept) + len(births)
    active = np.zeros((len(jumps), n_features), dtype=bool)
    weights = np.zeros((len(jumps), n_features, n_features))
    active[:, :n_kept] = state.active[:, kept]
    weights[:, :n_kept, :n_kept] = state.weights[:, kept][:, :, kept]
    for place, (i, birth) in enumerate(births.items(), start=n_kept):
        active[i, place] = True
        weights[i, :n_kept, place], weights[i, place, :n_kept] = birth.weights[kept, -1], birth.weights[-1, kept]
        weights[i, place, place] = birth.weights[-1, -1]
    newborn = [birth.whitener for birth in births.values()]
    assert state.evidence is not None
    spare = np.full(len(births), state.evidence.spare)
    return replace(
        state,
        active=active,
        ids=np.concatenate([state.ids[kept], state.next_id + np.arange(len(births))]),
        weights=weights,
        whiteners=np.concatenate([state.whiteners[kept], *(w[None] for w in newborn)]),
        path=np.zeros_like(state.path),
        next_id=state.next_id + len(births),
        evidence=replace(state.evidence, columns=np.concatenate([state.evidence.columns[kept], spare])),
    )


def resample_paths(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, PathsInfo]:
    """Draw the path of every series given its features, weights and parameters (section 3)."""
    from homothety.models.ibphmm import _feature_kernels as kernels

    evidence = state.evidence or evaluate(model.z, state.whiteners, model.emission.weight)
    path, total = np.empty_like(state.path), 0.0
    scratch = kernels.build_scratch(state.n_features, max(stop - start for start, stop in model.bounds))
    for i, (start, stop) in enumerate(model.bounds):
        arguments = (state.active[i], state.weights[i], evidence.columns, *evidence.of(start, stop), scratch)
        total += kernels.draw_series_path(rng, *arguments, path[start:stop])
    return replace(state, path=path, evidence=None), PathsInfo(total)


def resample_concentrations(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, Tried]:
    """Redraw alpha and kappa given the paths, transition weights integrated out (section 6)."""
    counts = transition_counts(model, state.path, state.n_features)
    priors, values, n_accepted = model.hyperpriors, [state.alpha, state.kappa], 0

    def log_density(alpha: float, kappa: float) -> float:
        log_paths = log_path_prior(counts, state.active, alpha, kappa)
        return log_paths + priors.alpha.log_density(alpha) + priors.kappa.log_density(kappa)

    current = log_density(*values)
    for trial in range(2 * model.proposals.n_concentration):
        proposed = list(values)
        proposed[trial % 2] *= np.exp(LOG_STEP * rng.standard_normal())
        log_proposed = log_density(*proposed)
        # The walk is symmetric in the logarithm; its Jacobian makes up for that.
        if np.log(rng.random()) < log_proposed - current + np.log(proposed[trial % 2] / values[trial % 2]):
            values, current, n_accepted = proposed, log_proposed, n_accepted + 1
    info = Tried(2 * model.proposals.n_concentration, n_accepted)
    return replace(state, alpha=float(values[0]), kappa=float(values[1])), info


def resample_weights(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, tuple[()]]:
    """Redraw the transition weights given the paths (section 6)."""
    counts = transition_counts(model, state.path, state.n_features)
    return replace(state, weights=draw_weights(rng, state.active, counts, state.alpha, state.kappa)), ()


def resample_emissions(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, tuple[()]]:
    """Redraw the parameters of every feature given the paths; unused ones come from the prior (section 6)."""
    statistics = path_statistics(model, state.path, state.n_features)
    whiteners = draw_parameters(rng, model.emission, statistics)
    return replace(state, whiteners=whiteners, evidence=None), ()


def resample_buffet(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, Tried]:
    """Redraw gamma, and c unless it is fixed, given who has which feature (section 6)."""
    prior, n_owners = model.hyperpriors.gamma, state.active.sum(axis=0)
    rate = prior.rate + expected_new(model.n_series, state.mass)
    gamma = float(rng.gamma(prior.shape + state.n_features, 1 / rate))
    mass, n_accepted, n_tried = state.mass, 0, 0
    if model.hyperpriors.mass is not None:
        n_tried = model.proposals.n_mass
        mass, n_accepted = _walk_mass(rng, model.hyperpriors.mass, n_owners, model.n_series, gamma, mass, n_tried)
    return replace(state, gamma=gamma, mass=mass), Tried(n_tried, n_accepted)


def _walk_mass(
    rng: Generator, prior: GammaPrior, n_owners: FloatArray, n_series: int, gamma: float, mass: float, n_steps: int
) -> tuple[float, int]:
    """Walk on the logarithm of c."""
    n_accepted = 0
    for _ in range(n_steps):
        proposed = float(mass * np.exp(LOG_STEP * rng.standard_normal()))
        log_ratio = log_feature_prior(n_owners, n_series, gamma, proposed) + prior.log_density(proposed)
        log_ratio -= log_feature_prior(n_owners, n_series, gamma, mass) + prior.log_density(mass)
        if np.log(rng.random()) < log_ratio + np.log(proposed / mass):
            mass, n_accepted = proposed, n_accepted + 1
    return mass, n_accepted


def default_sweep(*, collapsed_births: bool = False) -> dict[str, Callable[..., tuple[ChainState, Any]]]:
    """Return the moves of one sweep, in order, by name.

    Parameters
    ----------
    collapsed_births : bool, default=False
        Whether features are born and die once more, with parameters integrated out.
    """
    from homothety.models.ibphmm.collapsed import resample_unique_collapsed
    from homothety.models.ibphmm.split_merge import split_or_merge

    collapsed = {"collapsed births and deaths": resample_unique_collapsed} if collapsed_births else {}
    return {
        "shared features": resample_shared_features,
        "births and deaths": resample_unique_features,
        "paths": resample_paths,
        "splits and merges": split_or_merge,
        **collapsed,
        "emissions": resample_emissions,
        "buffet": resample_buffet,
        "concentrations": resample_concentrations,
        "weights": resample_weights,
    }
