"""Short runs before the chains: where these start, and how much of an independent observation a step counts as."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from homothety.decorrelation import independent_share
from homothety.models.hmm.stays import stay_edges
from homothety.models.ibphmm.moves import default_sweep
from homothety.models.ibphmm.state import init_from_clusters, path_of
from homothety.models.ibphmm.statistics import mean_parameters, path_statistics
from homothety.sampling.driver import iterate

if TYPE_CHECKING:
    from typing import Any

    from numpy.random import Generator

    from homothety.arrays import BoolArray, IntArray
    from homothety.models.ibphmm.model import Model
    from homothety.models.ibphmm.state import ChainState
    from homothety.sampling.driver import Sweep

N_ANNEALING = 100  # sweeps of a short run
LEAST_SHARE = 0.1  # of the weight of a step, at the first of them
N_MEASURED = 2  # such runs in succession, each with the weight of a step that was measured before it
CLUSTERS_MEASURED = 20  # at the start of these runs
LEAST_OBSERVATIONS = 60.0  # that all series count as together: with fewer no two states are told apart


def init_annealed(
    rng: Generator, model: Model, *, n_clusters: int | None = None, n_sweeps: int = N_ANNEALING, **options: Any
) -> ChainState:
    """Return a first state found by a short run in which steps count little at first, and in full at last.

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
    for share in np.geomspace(LEAST_SHARE, 1.0, n_sweeps):
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
    return min(1.0, max(share, LEAST_OBSERVATIONS / model.n_steps))
