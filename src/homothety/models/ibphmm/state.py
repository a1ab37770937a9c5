"""One point of the chain: which series has which feature, their parameters, and the paths."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from homothety.arrays import check_positive, read_only
from homothety.errors import InputError, SweepError
from homothety.models.hmm.stays import mend_short_stays
from homothety.models.ibphmm.statistics import draw_parameters, path_statistics, transition_counts
from homothety.models.parts import check_array, check_finite, check_labels, up_to_date
from homothety.sampling.codec import storable

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.models.ibphmm.model import Model
    from homothety.models.parts import MaybeNone


CLUSTERS_AT_START = (1, 20)  # fewest and most
STEPS_PER_CLUSTER = 10  # at least, on average
MANY_STEPS = 100_000  # of more, a sample is clustered


@storable
@dataclass(frozen=True, eq=False)
class ChainState:
    """One point of the chain. Arrays are read-only.

    A part that a move has made out of date is None: `path` after moves that sum paths out, `weights` and `whiteners`
    after moves that integrate these out. After a sweep in the default order nothing is None. Moves read these parts by
    `path_of`, `weights_of` and `whiteners_of`.

    Parameters
    ----------
    active : ndarray of bool, shape (n_series, n_features)
        Which series has which feature; every series has one, every feature has a series.
    ids : ndarray of int, shape (n_features,)
        A number for each feature that stays with it for life and is never used again.
    weights : ndarray of shape (n_series, n_features, n_features), or None
        Transition weights of each series between its features, zero elsewhere.
    whiteners : ndarray of shape (n_features, n_dims, n_regressors + n_dims), or None
        Emission parameters, see `models/emissions`.
    path : ndarray of int, shape (n_steps,), or None
        Feature of every step, all series one after the other.
    gamma, mass : float
        Parameters of the Indian buffet process.
    alpha, kappa : float
        Prior weight of a transition, and what a transition to oneself has more.
    next_id : int
        Number of the next feature to be born.
    step : int
        Number of sweeps behind this state.
    leaving : float
        Probability of leaving a state that may be left; zero where the weights say that.
    """

    active: BoolArray
    ids: IntArray
    weights: FloatArray | MaybeNone
    whiteners: FloatArray | MaybeNone
    path: IntArray | MaybeNone
    gamma: float
    mass: float
    alpha: float
    kappa: float
    next_id: int
    step: int = 0
    leaving: float = 0.0

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    @property
    def n_features(self) -> int:
        """Number of features that some series has."""
        return len(self.ids)

    @property
    def id_path(self) -> IntArray:
        """Persistent number of the feature of every step, (n_steps,)."""
        return self.ids[up_to_date(self.path, *PATH)]

    @property
    def n_used(self) -> int:
        """Number of features with at least one step."""
        return int(np.count_nonzero(np.bincount(up_to_date(self.path, *PATH))))


# What may be out of date, and the move that redraws it.
PATH, WEIGHTS, WHITENERS = ("path", "paths"), ("weights", "weights"), ("whiteners", "emissions")


def active_of(model: Model, state: ChainState) -> BoolArray:
    """Return which series has which feature, or raise if that does not fit the model, or a series has none."""
    active = check_array(state.active, "active", (model.n_series, state.n_features), np.bool_)
    if not active.any(axis=1).all():
        raise InputError(f"Series {int(active.any(axis=1).argmin())} has no feature, needed at least one for each.")
    return active


def path_of(model: Model, state: ChainState) -> IntArray:
    """Return the path of a state, or raise if it is out of date, or not of features of the state."""
    return check_labels(up_to_date(state.path, *PATH), "path", model.n_steps, state.n_features)


def weights_of(model: Model, state: ChainState) -> FloatArray:
    """Return the transition weights of a state, or raise if they are out of date, or do not fit the model."""
    shape = (model.n_series, state.n_features, state.n_features)
    return check_array(up_to_date(state.weights, *WEIGHTS), "weights", shape, np.float64)


def whiteners_of(model: Model, state: ChainState) -> FloatArray:
    """Return the emission parameters of a state, or raise if they are out of date, or do not fit the model."""
    shape = (state.n_features, model.emission.n_dims, model.z.shape[1])
    return check_array(up_to_date(state.whiteners, *WHITENERS), "whiteners", shape, np.float64)


def check_whole(state: ChainState, needed_by: str = "This move") -> None:
    """Raise if any part of a state is out of date."""
    for part, remedy in (PATH, WEIGHTS, WHITENERS):
        if getattr(state, part) is None:
            raise SweepError(part, remedy, needed_by)


def check_parts(model: Model, state: ChainState) -> None:
    """Raise if any part of a state is out of date, or does not fit the model: what is quick to check."""
    check_whole(state)
    for part_of in (active_of, path_of, weights_of, whiteners_of):
        part_of(model, state)


def check_state(model: Model, state: ChainState) -> None:
    """Raise if a state does not fit the model. Parts that are out of date, None, are not looked at."""
    check_finite(model.z, "z")
    n_features = state.n_features
    check_array(state.ids, "ids", (n_features,), np.int64)
    if n_features == 0 or state.ids.min() < 0 or state.ids.max() >= state.next_id:
        raise InputError(
            f"ids are {state.ids.tolist()}, needed one or more numbers from 0 to next_id = {state.next_id}."
        )
    if len(np.unique(state.ids)) < n_features:
        raise InputError(f"ids are {state.ids.tolist()}, needed a different number for each feature.")
    active = active_of(model, state)
    if not active.any(axis=0).all():
        raise InputError(f"No series has feature {int(active.any(axis=0).argmin())}, needed at least one.")
    if state.path is not None and not active[model.series_of_steps, path_of(model, state)].all():
        raise InputError("path uses a feature in a series that does not have it.")
    if state.weights is not None:
        pairs = active[:, :, None] & active[:, None, :]
        if not ((weights := weights_of(model, state)) > 0)[pairs].all() or not np.isfinite(weights).all():
            raise InputError("weights between features of a series must be finite and above 0.")
    if state.whiteners is not None:
        check_finite(whiteners_of(model, state), "whiteners")
    for name in ("gamma", "mass", "alpha", "kappa"):
        check_positive(getattr(state, name), name)
    if not 0 <= state.leaving < 1:
        raise InputError(f"leaving is {state.leaving}, needed a probability below 1.")


def init_state(
    rng: Generator,
    model: Model,
    *,
    n_shared: int = 0,
    n_unique: int = 2,
    path: IntArray | None = None,
    gamma: float | None = None,
    mass: float = 1.0,
    alpha: float = 1.0,
    kappa: float = 10.0,
) -> ChainState:
    """Return a first state: shared features, private ones, or those of a given path; then parameters given the path.

    Parameters
    ----------
    n_shared : int, default=0
        Features that all series have.
    n_unique : int, default=2
        Features of each series alone.
    path : ndarray of shape (n_steps,), optional
        Labels to start from instead; equal labels are one feature, also across series. Stays that are too short for
        the model are mended first.
    gamma : float, optional
        The number of series if not given.
    """
    active, path = _features_of_path(model, path) if path is not None else _blocks(model, n_shared, n_unique)
    n_features = active.shape[1]
    statistics = path_statistics(model, path, n_features)
    counts = transition_counts(model, path, n_features)
    weights = draw_weights(rng, active, counts, alpha, kappa, model.leaving)
    whiteners = draw_parameters(rng, model.emission, statistics)
    gamma = float(model.n_series) if gamma is None else gamma
    start = ChainState(active, np.arange(n_features), weights, whiteners, path, gamma, mass, alpha, kappa, n_features)
    return replace(start, leaving=model.leaving)


def draw_number(rng: Generator) -> int:
    """Draw the number of clusters that a chain starts from."""
    return int(rng.integers(*CLUSTERS_AT_START, endpoint=True))


def init_from_clusters(rng: Generator, model: Model, *, n_clusters: int | None = None, **options: Any) -> ChainState:
    """Return a first state whose features are clusters of steps by k-means, wherever and whenever they are.

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
    n_clusters = max(1, min(drawn, len(steps) // STEPS_PER_CLUSTER))
    means = KMeans(n_clusters, n_init=1, random_state=int(rng.integers(2**31)))
    if len(steps) <= MANY_STEPS:
        return init_state(rng, model, path=means.fit_predict(steps), **options)
    means.fit(steps[rng.choice(len(steps), MANY_STEPS, replace=False)])
    return init_state(rng, model, path=means.predict(steps), **options)


def _blocks(model: Model, n_shared: int, n_unique: int) -> tuple[BoolArray, IntArray]:
    """Give every series its features in equal contiguous blocks."""
    if n_shared + n_unique < 1:
        raise InputError("A series needs at least one feature: n_shared + n_unique is 0.")
    n_features = n_shared + n_unique * model.n_series
    active, path = np.zeros((model.n_series, n_features), dtype=bool), np.empty(model.n_steps, dtype=np.int64)
    for i, (start, stop) in enumerate(model.bounds):
        own = np.concatenate([np.arange(n_shared), n_shared + n_unique * i + np.arange(n_unique)])
        active[i, own] = True
        path[start:stop] = own[np.arange(stop - start) * len(own) // (stop - start)]
    return active, mend_short_stays(path, model.starts, model.least_stay)


def _features_of_path(model: Model, path: IntArray) -> tuple[BoolArray, IntArray]:
    """Return who has which feature if the given labels are the features."""
    labels, numbered = np.unique(np.asarray(path), return_inverse=True)
    if numbered.shape != (model.n_steps,):
        raise InputError(f"The path to start from has {numbered.size} steps, needed {model.n_steps}.")
    if model.least_stay > 1:
        mended = mend_short_stays(numbered, model.starts, model.least_stay)
        labels, numbered = np.unique(mended, return_inverse=True)
    active = np.zeros((model.n_series, len(labels)), dtype=bool)
    for i, (start, stop) in enumerate(model.bounds):
        active[i, numbered[start:stop]] = True
    return active, numbered.astype(np.int64)


def draw_weights(
    rng: Generator, active: BoolArray, counts: FloatArray, alpha: float, kappa: float, leaving: float = 0.0
) -> FloatArray:
    """Draw the transition weights of every series given its transitions, (n_series, n_features, n_features)."""
    from homothety.models.ibphmm._feature_kernels import draw_all_weights

    weights = np.empty(counts.shape)
    draw_all_weights(rng, read_only(active), counts, alpha, kappa, weights, leaving)
    return weights


class Tried(NamedTuple):
    """How many proposals a move made, and how many were accepted."""

    n_tried: int
    n_accepted: int
