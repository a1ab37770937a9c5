"""Hidden Markov model with Gaussian emissions by expectation-maximisation, its number of states by a criterion.

All recordings share initial probabilities, transitions and emissions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np

from homothety.arrays import check_count, check_option, check_points
from homothety.distributions.gaussian import gaussian_log_density
from homothety.errors import InputError
from homothety.models._parts import check_starts
from homothety.models.hmm.messages import most_likely_path
from homothety.workers import run_all

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.random import Generator
    from numpy.typing import ArrayLike

    from homothety.arrays import FloatArray, IntArray

_Criterion = Literal["bic", "aic"]

_MAX_ITERATIONS = 100
_LEAST_GAIN = 1e-4  # of log-likelihood in one iteration

# The likelihood of a state that shrinks on a few coincident steps has no maximum. No state may be narrower, in any
# direction, than this share of the variance of all steps: 3 % of their spread.
_VARIANCE_SHARE = 1e-3

_ROUNDING = 1e-10  # spreads below this share of the largest coordinate mean nothing


class Parameters(NamedTuple):
    """What a Gaussian hidden Markov model is made of."""

    initial: FloatArray  # (n_states,)
    transition: FloatArray  # (n_states, n_states)
    means: FloatArray  # (n_states, n_dims)
    covariances: FloatArray  # (n_states, n_dims, n_dims)


class Expectations(NamedTuple):
    """What the recordings say of the paths through them, under some parameters."""

    probs: FloatArray  # (n_steps, n_states)
    n_transitions: FloatArray  # (n_states, n_states)
    log_likelihood: float


@dataclass(frozen=True, eq=False)
class _HMMFit:
    """A Gaussian hidden Markov model and how it was found.

    Parameters
    ----------
    initial : ndarray of shape (n_states,)
    transition : ndarray of shape (n_states, n_states)
    means : ndarray of shape (n_states, n_dims)
    covariances : ndarray of shape (n_states, n_dims, n_dims)
    log_likelihoods : ndarray of shape (n_iterations + 1,)
        Of the start and after every iteration; never falls.
    converged : bool
        Whether the last iteration gained next to nothing.
    """

    initial: FloatArray
    transition: FloatArray
    means: FloatArray
    covariances: FloatArray
    log_likelihoods: FloatArray
    converged: bool

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.initial)

    @property
    def n_dims(self) -> int:
        """Number of dimensions of a step."""
        return int(self.means.shape[1])

    @property
    def log_likelihood(self) -> float:
        """Log-likelihood of all recordings."""
        return float(self.log_likelihoods[-1])


@dataclass(frozen=True, eq=False)
class HMMSelection:
    """The model chosen, and what it was chosen from.

    Parameters
    ----------
    best : HMMFit
    paths : ndarray of shape (n_steps,)
        Most probable state of every step under it, recordings one after the other. A state may be that of no step.
    criteria : dict of int to float
        The criterion of the best fit, by number of states.
    skipped : dict of int to str
        Why there is no fit, by number of states.
    """

    best: _HMMFit
    paths: IntArray
    criteria: dict[int, float]
    skipped: dict[int, str]


def select_hmm(
    rng: Generator,
    steps: ArrayLike,
    starts: ArrayLike,
    n_states: Iterable[int] = range(1, 16),
    *,
    criterion: _Criterion = "bic",
    n_init: int = 5,
    max_iter: int = _MAX_ITERATIONS,
) -> HMMSelection:
    """Fit models of each number of states and return the one of least BIC or AIC, with its paths.

    Parameters
    ----------
    rng : Generator
        Source of the starts of EM.
    steps : array-like of shape (n_steps, n_dims)
        All recordings one after the other.
    starts : array-like of shape (n_recordings + 1,)
        Recording i is ``steps[starts[i]:starts[i + 1]]``.
    n_states : iterable of int, default=range(1, 16)
        Numbers of states to try; those with fewer distinct steps than states are left out.
    criterion : {"bic", "aic"}, default="bic"
        What is minimised.
    n_init : int, default=5
        Starts of EM for each number of states; the likeliest counts.
    max_iter : int, default=100
        Most iterations of EM from one start.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = np.repeat([0, 1, 0, 1], 30)
    >>> selection = select_hmm(rng, rng.normal(4.0 * truth, 1.0)[:, None], [0, 60, 120], [1, 2, 3])
    >>> selection.best.n_states, len(np.unique(selection.paths[truth == 0]))
    (2, 1)
    """
    points, bounds = check_points(steps, "steps"), np.asarray(starts, dtype=np.int64)
    check_starts(bounds, len(points))
    check_option(criterion, "criterion", get_args(_Criterion))
    fits, skipped = {}, {}
    for number in sorted(set(n_states)):
        try:
            fits[number] = _fit_hmm(rng, points, bounds, number, n_init=n_init, max_iter=max_iter)
        except TooFewStepsError as error:
            skipped[number] = str(error)
    if not fits:
        raise InputError(
            f"No number of states could be fitted to these {len(points)} steps: {skipped or 'none given'}."
        )
    criteria = {
        number: information_criterion(fit.log_likelihood, number, points.shape, criterion)
        for number, fit in fits.items()
    }
    best = fits[min(criteria, key=criteria.__getitem__)]
    return HMMSelection(best, _most_likely_paths(best, points, bounds), criteria, skipped)


class TooFewStepsError(InputError):
    """There are too few distinct steps for the number of states asked for."""


def _fit_hmm(
    rng: Generator,
    steps: ArrayLike,
    starts: ArrayLike,
    n_states: int,
    *,
    n_init: int = 5,
    max_iter: int = _MAX_ITERATIONS,
) -> _HMMFit:
    """Fit a model of `n_states` states by EM from several starts and return the likeliest.

    Parameters are those of `select_hmm`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> fit = _fit_hmm(rng, rng.normal(np.repeat([0.0, 5.0], 50))[:, None], [0, 100], 2)
    >>> np.sort(fit.means.ravel()).round().tolist(), fit.converged
    ([0.0, 5.0], True)
    """
    points, bounds = check_points(steps, "steps"), np.asarray(starts, dtype=np.int64)
    check_starts(bounds, len(points))
    for name, value in (("n_states", n_states), ("n_init", n_init), ("max_iter", max_iter)):
        check_count(value, name)
    n_distinct = len(np.unique(points, axis=0))
    if n_distinct < n_states:
        raise TooFewStepsError(f"There are {n_distinct} distinct steps, needed at least as many as states, {n_states}.")
    floor = _variance_floor(points)
    improve = partial(_run_em, points, bounds, floor=floor, max_iter=max_iter, tol=_LEAST_GAIN)
    fits = run_all([partial(improve, _draw_start(rng, points, n_states, floor)) for _ in range(n_init)])
    return max(fits, key=lambda fit: fit.log_likelihood)


def _most_likely_paths(fit: _HMMFit, steps: FloatArray, starts: IntArray) -> IntArray:
    """Most probable path through every recording, one after the other (n_steps,)."""
    evidence = gaussian_log_density(steps, fit.means, fit.covariances)
    paths = [most_likely_path(evidence[a:b], fit.initial, fit.transition)[0] for a, b in pairwise(starts.tolist())]
    return np.concatenate(paths)


# --- expectation-maximisation ----------------------------------------------------------------------------------------


def _run_em(
    steps: FloatArray, starts: IntArray, parameters: Parameters, floor: FloatArray, *, max_iter: int, tol: float
) -> _HMMFit:
    """Improve parameters until an iteration gains less than `tol` of log-likelihood, or there were `max_iter`."""
    expectations = expect(steps, starts, parameters)
    gain, log_likelihoods = np.inf, [expectations.log_likelihood]
    while gain >= tol and len(log_likelihoods) <= max_iter:
        parameters = maximise(steps, starts, expectations, parameters, floor)
        expectations = expect(steps, starts, parameters)
        gain = expectations.log_likelihood - log_likelihoods[-1]
        log_likelihoods.append(expectations.log_likelihood)
    return _HMMFit(*parameters, np.array(log_likelihoods), bool(gain < tol))


def expect(steps: FloatArray, starts: IntArray, parameters: Parameters) -> Expectations:
    """Return probabilities of states, expected transitions and the log-likelihood, over all recordings."""
    from homothety.models.hmm import _kernels

    initial, transition, means, covariances = parameters
    evidence = _kernels.scaled(gaussian_log_density(steps, means, covariances))
    chain = _kernels.Chain(np.arange(len(initial)), initial, transition)
    filtered, probs = np.empty_like(evidence.log), np.empty_like(evidence.log)
    predicted, n_transitions, total = np.empty((1, len(initial))), np.zeros_like(transition), 0.0
    for a, b in pairwise(starts.tolist()):
        stretch = _kernels.Evidence(*(part[a:b] for part in evidence))
        total += _kernels.filter_forward(stretch, chain, filtered[a:b])
        _kernels.smooth(transition, filtered[a:b], predicted, probs[a:b], n_transitions)
    return Expectations(probs, n_transitions, total)


def maximise(
    steps: FloatArray, starts: IntArray, expectations: Expectations, parameters: Parameters, floor: FloatArray
) -> Parameters:
    """Return the parameters that make the expected paths and the recordings most probable.

    A state that nothing is expected of keeps its emission, and one that is never left its transitions.
    """
    probs, n_left = expectations.probs, expectations.n_transitions.sum(axis=1, keepdims=True)
    initial = probs[starts[:-1]].mean(axis=0)
    transition = np.where(
        n_left > 0, expectations.n_transitions / np.where(n_left > 0, n_left, 1), parameters.transition
    )
    means, covariances = parameters.means.copy(), parameters.covariances.copy()
    for k, weight in enumerate(probs.sum(axis=0)):
        if weight > np.finfo(float).tiny:
            shares = probs[:, k] / weight
            means[k] = shares @ steps
            covariances[k] = _weighted_covariance(steps - means[k], shares, floor)
    return Parameters(initial / initial.sum(), transition, means, covariances)


def _weighted_covariance(centred: FloatArray, shares: FloatArray, floor: FloatArray) -> FloatArray:
    """Likeliest covariance (n_dims, n_dims) that is nowhere narrower than `floor`, variances of shape (n_dims,).

    In units of the floor, that is the weighted covariance with its eigenvalues raised to at least one. So a floor, too,
    maximises what the step of EM has to, and the likelihood never falls; adding to the diagonal would not.
    """
    units = np.sqrt(floor)
    scaled = centred / units
    values, vectors = np.linalg.eigh((shares[:, None] * scaled).T @ scaled)
    return np.asarray((vectors * np.maximum(values, 1.0)) @ vectors.T * np.outer(units, units))


def _variance_floor(steps: FloatArray) -> FloatArray:
    """Least variance of a state along each dimension (n_dims,)."""
    tiny = np.finfo(float).tiny
    rounding = (_ROUNDING * np.abs(steps).max(axis=0)) ** 2
    return np.asarray(np.maximum(np.maximum(_VARIANCE_SHARE * steps.var(axis=0), rounding), tiny))


def _draw_start(rng: Generator, steps: FloatArray, n_states: int, floor: FloatArray) -> Parameters:
    """Draw a start of EM: emissions from k-means of all steps, random initial and transition probabilities."""
    from sklearn.cluster import KMeans

    scaled = steps / np.sqrt(floor)
    seed = int(rng.integers(2**31))
    labels = KMeans(n_states, n_init=1, random_state=seed).fit_predict(scaled - scaled.mean(axis=0))
    means = np.array([steps[labels == k].mean(axis=0) for k in range(n_states)])
    shares = (labels == np.arange(n_states)[:, None]) / np.bincount(labels)[:, None]
    covariances = [_weighted_covariance(steps - means[k], shares[k], floor) for k in range(n_states)]
    uniform = np.ones(n_states)
    return Parameters(rng.dirichlet(uniform), rng.dirichlet(uniform, n_states), means, np.array(covariances))


# --- criteria --------------------------------------------------------------------------------------------------------


def count_parameters(n_states: int, n_dims: int) -> int:
    """Return the number of free parameters: initial, transitions, means, symmetric covariances.

    Examples
    --------
    >>> count_parameters(2, 2)  # 1 + 2 + 4 + 6
    13
    """
    return n_states - 1 + n_states * (n_states - 1) + n_states * n_dims + n_states * n_dims * (n_dims + 1) // 2


def information_criterion(log_likelihood: float, n_states: int, shape: tuple[int, ...], criterion: _Criterion) -> float:
    """Return BIC or AIC of a model on steps of the given shape (n_steps, n_dims); smaller is better."""
    n_steps, n_dims = shape
    penalty = np.log(n_steps) if criterion == "bic" else 2.0
    return float(penalty * count_parameters(n_states, n_dims) - 2 * log_likelihood)
