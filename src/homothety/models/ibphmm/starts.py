"""Where chains start, and short runs before them: they also measure how much of an observation a step counts as."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.decorrelation import independent_share
from homothety.errors import InputError
from homothety.models.emissions.regression import draw_parameters, mean_parameters
from homothety.models.hmm.labels import held_path
from homothety.models.hmm.messages import mend_short_stays, stay_edges
from homothety.models.ibphmm.model import ChainState, draw_weights, path_of, path_statistics, transition_counts
from homothety.models.ibphmm.moves import default_sweep, resample_tags
from homothety.sampling.driver import iterate

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import BoolArray, IntArray
    from homothety.models.ibphmm.model import Model
    from homothety.sampling.driver import Sweep

_CLUSTERS_AT_START = (1, 20)  # fewest and most
_STEPS_PER_CLUSTER = 10  # at least, on average
MANY_STEPS = 100_000  # of more, a sample is clustered
N_ANNEALING = 100  # sweeps of a short run
_LEAST_SHARE = 0.1  # of the weight of a step, in the first of these sweeps
N_MEASURED = 2  # such runs in succession, each with the weight of a step that was measured before it
CLUSTERS_MEASURED = 20  # at the start of these runs
_LEAST_OBSERVATIONS = 60.0  # that all recordings count as together: with fewer no two states are told apart


def init_state(
    rng: Generator,
    model: Model,
    *,
    n_shared: int = 0,
    n_unique: int = 2,
    path: IntArray | None = None,
    mass: float | None = None,
    concentration: float = 1.0,
    alpha: float = 1.0,
    kappa: float = 10.0,
) -> ChainState:
    """Return where a chain starts: shared states, private ones, or those of a given path; parameters given the path.

    Parameters
    ----------
    n_shared : int, default=0
        States that all recordings have.
    n_unique : int, default=2
        States of each recording alone.
    path : ndarray of shape (n_steps,), optional
        Labels to start from instead; equal labels are one state, also across recordings. Stays that are too short for
        the model are mended first, and steps whose label is known go to a state of that label.
    mass : float, optional
        The number of recordings if not given.
    """
    active, path = _states_of_path(model, path) if path is not None else _blocks(model, n_shared, n_unique)
    if len(model.known.steps):
        active, path = _states_of_path(model, held_path(path, model.starts, model.known, model.least_stay), mend=False)
    n_states = active.shape[1]
    statistics = path_statistics(model, path, n_states)
    counts = transition_counts(model, path, n_states)
    weights = draw_weights(rng, active, counts, alpha, kappa, model.leaving)
    whiteners = draw_parameters(rng, model.emission, statistics)
    mass = float(model.n_recordings) if mass is None else mass
    start = ChainState(
        active, np.arange(n_states), weights, whiteners, path, mass, concentration, alpha, kappa, n_states
    )
    start, _ = resample_tags(rng, model, start)
    return replace(start, leaving=model.leaving)


def draw_number(rng: Generator) -> int:
    """Draw the number of clusters that a chain starts from."""
    return int(rng.integers(*_CLUSTERS_AT_START, endpoint=True))


def init_from_clusters(rng: Generator, model: Model, *, n_clusters: int | None = None, **options: Any) -> ChainState:
    """Return where a chain starts: its states are clusters of steps by k-means, wherever and whenever these are.

    Parameters
    ----------
    n_clusters : int, optional
        Drawn if not given, so that chains start from different places.
    **options
        As in `init_state`.
    """
    from sklearn.cluster import KMeans

    steps = model.z[:, model.emission.n_regressors :]
    steps = steps / np.maximum(steps.std(axis=0), np.finfo(float).tiny)
    drawn = draw_number(rng) if n_clusters is None else n_clusters
    n_clusters = max(1, min(drawn, len(steps) // _STEPS_PER_CLUSTER))
    means = KMeans(n_clusters, n_init=1, random_state=int(rng.integers(2**31)))
    if len(steps) <= MANY_STEPS:
        return init_state(rng, model, path=means.fit_predict(steps), **options)
    means.fit(steps[rng.choice(len(steps), MANY_STEPS, replace=False)])
    return init_state(rng, model, path=means.predict(steps), **options)


def _blocks(model: Model, n_shared: int, n_unique: int) -> tuple[BoolArray, IntArray]:
    """Give every recording its states in equal contiguous blocks."""
    if n_shared + n_unique < 1:
        raise InputError("A recording needs at least one state: n_shared + n_unique is 0.")
    n_states = n_shared + n_unique * model.n_recordings
    active, path = np.zeros((model.n_recordings, n_states), dtype=bool), np.empty(model.n_steps, dtype=np.int64)
    for i, (start, stop) in enumerate(model.bounds):
        own = np.concatenate([np.arange(n_shared), n_shared + n_unique * i + np.arange(n_unique)])
        active[i, own] = True
        path[start:stop] = own[np.arange(stop - start) * len(own) // (stop - start)]
    return active, mend_short_stays(path, model.starts, model.least_stay)


def _states_of_path(model: Model, path: IntArray, *, mend: bool = True) -> tuple[BoolArray, IntArray]:
    """Return who has which state if the given labels are the states."""
    labels, numbered = np.unique(np.asarray(path), return_inverse=True)
    if numbered.shape != (model.n_steps,):
        raise InputError(f"The path to start from has {numbered.size} steps, needed {model.n_steps}.")
    if mend and model.least_stay > 1:
        mended = mend_short_stays(numbered, model.starts, model.least_stay)
        labels, numbered = np.unique(mended, return_inverse=True)
    active = np.zeros((model.n_recordings, len(labels)), dtype=bool)
    for i, (start, stop) in enumerate(model.bounds):
        active[i, numbered[start:stop]] = True
    return active, numbered.astype(np.int64)


def init_annealed(
    rng: Generator, model: Model, *, n_clusters: int | None = None, n_sweeps: int = N_ANNEALING, **options: Any
) -> ChainState:
    """Return where a chain starts, found by a short run in which steps count little at first, and in full at last.

    While steps count little, states are easily born, merged and left: the run forgets the clusters that it began with.

    Parameters
    ----------
    n_clusters, **options
        As in `init_from_clusters`.
    n_sweeps : int
        Length of the run.
    """
    state = init_from_clusters(rng, model, n_clusters=n_clusters, **options)
    return annealed(rng, model, model.emission.weight, state, default_sweep(), n_sweeps)


def annealed(rng: Generator, model: Any, weight: float, state: Any, sweep: Sweep, n_sweeps: int) -> Any:
    """Return where a short run ends in which steps count little at first, and by a given weight at last."""
    for share in np.geomspace(_LEAST_SHARE, 1.0, n_sweeps):
        tempered = model.at_weight(share * weight)
        state, _ = next(iterate(rng, tempered, state, sweep))
    return replace(state, step=0)


def measured_weight(rng: Generator, model: Model, n_sweeps: int = N_ANNEALING) -> float:
    """Return how much of an independent observation a step counts as, measured inside the states of short runs.

    The first run begins with more states than there are. With too few, differences between states would be taken for
    correlation in time, steps would count less, and states would stay too few.
    """
    state = init_from_clusters(rng, model, n_clusters=CLUSTERS_MEASURED)
    for _ in range(N_MEASURED):
        weighted = model.at_weight(weight_in_states(model, path_of(model, state)))
        state = init_annealed(rng, weighted, n_clusters=CLUSTERS_MEASURED, n_sweeps=n_sweeps)
    return weight_in_states(model, path_of(model, state))


def weight_in_states(model: Model, path: IntArray, missing: BoolArray | None = None) -> float:
    """Return how much of an independent observation a step counts as, given the states.

    Parameters
    ----------
    model : Model
    path : ndarray of int, shape (n_steps,)
    missing : ndarray of bool, shape (n_steps, n_dims), optional
        Values that are filled in: they say nothing of how one step resembles the next.
    """
    path = np.unique(path, return_inverse=True)[1]
    whiteners = mean_parameters(model.emission, path_statistics(model, path, int(path.max()) + 1))
    residuals = np.empty((model.n_steps, model.emission.n_dims))
    for k, whitener in enumerate(whiteners):
        residuals[path == k] = model.z[path == k] @ whitener.T
    if missing is not None:  # a whitened residual would mix what is observed with what is not
        means, covariances = model.emission.means_of(whiteners), model.emission.covariances_of(whiteners)
        spreads = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
        steps = model.z[:, model.emission.n_regressors :] / np.sqrt(model.emission.dim_weights)
        residuals = np.where(missing, np.nan, (steps - means[path]) / spreads[path])
    share = independent_share(residuals, stay_edges(path, model.starts))
    return min(1.0, max(share, _LEAST_OBSERVATIONS / model.n_steps))
