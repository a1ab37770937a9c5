"""Convergence of chains (R-hat, effective sample size), and weights of chains that do not agree.

R-hat, effective sample sizes, and what they mean in plain words. Where chains do not agree, each is weighted by how
well it predicts what it has not seen: Yao, Vehtari and Gelman (2022), Stacking for non-mixing Bayesian computations,
Journal of Machine Learning Research 23.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.fft import next_fast_len
from scipy.special import logsumexp, ndtri, softmax
from scipy.stats import rankdata

from homothety.errors import InputError
from homothety.phrases import html_table

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from homothety.arrays import FloatArray, IntArray
    from homothety.sampling.trace import Trace

_MIN_DRAWS = 4  # per chain: R-hat halves each chain and needs a variance of each half
_MAX_ROUNDS = 10_000
_TOLERANCE = 1e-8  # largest change of a weight at which the search ends


class Diagnosis(NamedTuple):
    """Diagnostics of one traced number.

    Parameters
    ----------
    name : str
    r_hat : float
        Rank-normalised split R-hat; 1 if chains agree. NaN where it is undefined: one chain, or always the same value.
        Infinite if every chain stays at one value, but not all at the same.
    ess : float
        Bulk effective sample size of all draws together. NaN where it is undefined.
    trouble : str
        What is wrong, empty if nothing is.
    """

    name: str
    r_hat: float
    ess: float
    trouble: str


@dataclass(frozen=True)
class Verdict:
    """Whether chains agree.

    Parameters
    ----------
    agree : bool
        Whether nothing speaks against it. One chain never agrees: there is nothing it could disagree with.
    text : str
        The same in plain words, with what to do.
    table : tuple of Diagnosis
        One for each traced number.
    """

    agree: bool
    text: str
    table: tuple[Diagnosis, ...]

    def __repr__(self) -> str:
        return f"<Verdict: {'agree' if self.agree else 'not yet'}, {self.text}>"

    def _repr_html_(self) -> str:
        """Return the verdict and its table, for notebooks."""
        rows = [(one.name, f"{one.r_hat:.3f}", f"{one.ess:.0f}", one.trouble) for one in self.table]
        table = html_table(["quantity", "R-hat", "effective sample size", "trouble"], rows) if rows else ""
        return f"<p>{escape(self.text)}</p>{table}"


def judge(
    draws: Mapping[str, FloatArray],
    *,
    compared: Collection[str] | None = None,
    max_r_hat: float | Mapping[str, float] = 1.01,
    min_ess: float | Mapping[str, float] = 100.0,
) -> Verdict:
    """Return whether several chains agree.

    Parameters
    ----------
    draws : mapping of str to ndarray of shape (n_chains, n_draws)
        Traced numbers of the kept sweeps, see `kept_draws`.
    compared : collection of str, optional
        Numbers in which the chains have to agree; the table has the others too. Default: all of them.
    max_r_hat : float or mapping of str to float
        Largest R-hat at which chains agree; or that of each number, by name.
    min_ess : float or mapping of str to float
        Least effective sample size for each chain; or that of each number, by name.

    Notes
    -----
    R-hat and the limits are those of Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021). Numbers of clusters do not
    change when clusters are relabelled, so they can be compared between chains; labels cannot. R-hat is compared with
    its limit as it is printed, with two decimals.

    Examples
    --------
    >>> judge({"place": np.random.default_rng(0).normal(size=(4, 500))}).text
    'chains agree: over 4 chains of 500 draws, R-hat is at most 1.00 and the effective sample size at least ...'
    """
    needed = set(draws if compared is None else compared)
    n_chains, n_draws = next(iter(draws.values())).shape
    if n_draws < _MIN_DRAWS:
        return Verdict(False, f"run longer: {n_draws} kept sweeps in each chain, needed at least {_MIN_DRAWS}.", ())
    most = max_r_hat if isinstance(max_r_hat, Mapping) else dict.fromkeys(draws, max_r_hat)
    least = min_ess if isinstance(min_ess, Mapping) else dict.fromkeys(draws, min_ess)
    table = tuple(_diagnose(name, values, most[name], least[name] * n_chains) for name, values in draws.items())
    table = tuple(row if row.name in needed else row._replace(trouble="") for row in table)
    if n_chains == 1:
        return Verdict(False, "one chain only: nothing to compare. Run several.", table)
    troubles = [f"{row.name} {row.trouble}" for row in table if row.trouble]
    if troubles:
        return Verdict(False, f"run longer: {'; '.join(troubles)}.", table)
    return Verdict(True, _praise([row for row in table if row.name in needed], n_chains, n_draws), table)


def to_arviz(draws: Mapping[str, FloatArray], statistics: Mapping[str, FloatArray] | None = None) -> Any:
    """Return the traced numbers of the kept sweeps as ArviZ's data tree, for its plots and tables.

    Parameters
    ----------
    draws, statistics : mapping of str to ndarray of shape (n_chains, n_draws)
        What is sampled, and what the sampler did, such as the seconds of each sweep.

    Returns
    -------
    tree : xarray.DataTree
        With groups "posterior" and "sample_stats", dimensions "chain" and "draw".
    """
    arviz = require_arviz()
    groups = {"posterior": dict(draws)} | ({"sample_stats": dict(statistics)} if statistics else {})
    if int(arviz.__version__.split(".")[0]) >= 1:
        return arviz.from_dict(groups)
    return arviz.from_dict(**groups).to_datatree()


def r_hat(draws: FloatArray) -> float:
    """Return the rank-normalised split R-hat of one traced number.

    Parameters
    ----------
    draws : ndarray of shape (n_chains, n_draws)

    Returns
    -------
    r_hat : float
        1 if chains agree. Infinite if every half of a chain stays at one value, but not all at the same. NaN for one
        chain, for fewer than four draws in each chain, for a single value, and where a value is not finite.

    Notes
    -----
    Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021): every chain is halved, values are replaced by normal scores
    of their ranks, and R-hat is the larger one of that of the values and that of their distances from the median.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> agreeing = rng.normal(size=(2, 500))
    >>> print(f"{r_hat(agreeing):.2f} {r_hat(agreeing + [[0], [3]]):.2f}")
    1.00 1.75
    """
    n_chains, n_draws = draws.shape
    if n_chains < 2 or n_draws < _MIN_DRAWS or not np.isfinite(draws).all():
        return np.nan
    halves = _halves(draws)
    ratios = [_variance_ratio(values) for values in (halves, np.abs(halves - np.median(halves)))]
    # Distances from the median may all be the same, as are those of two values that are equally frequent.
    return max((ratio for ratio in ratios if not np.isnan(ratio)), default=np.nan)


def exceeds(ratio: float, limit: float) -> bool:
    """Return whether an R-hat is above its limit, both compared as they are printed, with two decimals."""
    return round(ratio, 2) > limit


def _variance_ratio(halves: FloatArray) -> float:
    """Return R-hat of normal scores of ranks, (2 n_chains, n_draws / 2); NaN if all values are equal."""
    if (halves == halves[:, :1]).all():
        return np.nan if (halves == halves[0, 0]).all() else np.inf
    n_draws, scores = halves.shape[1], _normal_scores(halves)
    between, within = scores.mean(axis=1).var(ddof=1), scores.var(axis=1, ddof=1).mean()
    return float(np.sqrt((n_draws - 1) / n_draws + between / within))


def _effective_size(draws: FloatArray) -> float:
    """Return the bulk effective sample size of one traced number.

    Parameters
    ----------
    draws : ndarray of shape (n_chains, n_draws)

    Returns
    -------
    size : float
        Number of independent draws whose mean would be as exact as that of these draws. NaN for fewer than four draws
        in each chain, where a value is not finite, and if all values are equal.

    Notes
    -----
    Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021), with chains halved and values replaced by normal scores of
    their ranks, as in `r_hat`. Autocorrelations are summed in pairs, each no larger than the pair before it, until the
    first pair that is not positive (Geyer 1992, Practical Markov chain Monte Carlo).

    Examples
    --------
    >>> draws = np.random.default_rng(0).normal(size=(2, 500))
    >>> bool(_effective_size(draws) > 10 * _effective_size(draws.cumsum(axis=1)))
    True
    """
    if draws.shape[1] < _MIN_DRAWS or not np.isfinite(draws).all() or (draws == draws[0, 0]).all():
        return np.nan
    scores = _normal_scores(_halves(draws))
    n_draws = scores.shape[1]
    centred = scores - scores.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centred, n=next_fast_len(2 * n_draws, real=True))
    covariances = np.fft.irfft(np.abs(spectrum) ** 2)[:, :n_draws].mean(axis=0) / n_draws
    within = covariances[0] * n_draws / (n_draws - 1)
    correlations = 1 - (within - covariances) / (covariances[0] + scores.mean(axis=1).var(ddof=1))
    correlations[0] = 1.0
    n_pairs = max(n_draws - 3, 1) // 2 + 1
    pairs = correlations[: 2 * (n_draws // 2)].reshape(-1, 2).sum(axis=1)[:n_pairs]
    n_positive = int(np.argmax(np.append(pairs[:-1] <= 0, True)))
    time = 2 * np.minimum.accumulate(pairs[:n_positive]).sum() + max(correlations[2 * n_positive], 0.0) - 1
    return float(scores.size / max(time, 1 / np.log10(scores.size)))


def _halves(draws: FloatArray) -> FloatArray:
    """Return the first and the last half of every chain, (2 n_chains, n_draws // 2)."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]])


def _normal_scores(values: FloatArray) -> FloatArray:
    """Return the normal scores of the ranks of all values."""
    ranks = rankdata(values).reshape(values.shape)
    return np.asarray(ndtri((ranks - 0.375) / (values.size + 0.25)))  # Blom's offset


def kept_draws(traces: Sequence[Trace], names: Sequence[str] | None = None) -> dict[str, FloatArray]:
    """Return traced numbers of the kept sweeps, each (n_chains, n_draws), cut to the shortest chain."""
    begun = [trace for trace in traces if trace.kept]
    if not begun:
        raise InputError("No chain has kept a sweep: there is nothing to look at. Run longer than the burn-in.")
    names = [name for name in begun[0].scalars if name != "seconds"] if names is None else names
    unknown = [name for name in names if name not in begun[0].scalars]
    if unknown or not names:
        raise InputError(f"{unknown or names} is not traced; traced are {', '.join(begun[0].scalars)}.")
    n_draws = min(len(trace.kept) for trace in begun)
    return {name: np.stack([_after_burn(trace, name)[:n_draws] for trace in begun]) for name in names}


def require_arviz() -> Any:
    """Return ArviZ, or raise saying how to install it."""
    try:
        with warnings.catch_warnings():
            # Its last versions before 1.0 announce the next ones whenever they are imported.
            warnings.simplefilter("ignore", FutureWarning)
            try:
                import arviz
            except FileNotFoundError:  # two processes renamed the same stamp of the announcement: it is there now
                import arviz
    except ImportError as error:
        raise ImportError("This needs ArviZ: pip install 'homothety[diagnostics]'.") from error
    return arviz


def _after_burn(trace: Trace, name: str) -> FloatArray:
    """Return a traced number of the kept sweeps, which are the last ones."""
    return trace.array(name)[trace.n_sweeps - len(trace.kept) :]


def _diagnose(name: str, values: FloatArray, max_r_hat: float, min_ess: float) -> Diagnosis:
    """Return the diagnostics of one number, (n_chains, n_draws)."""
    if not np.isfinite(values).all():
        return Diagnosis(name, np.nan, np.nan, "is not finite in every sweep")
    if (values == values[:, :1]).all():
        return _diagnose_constants(name, values[:, 0])
    ratio, ess = r_hat(values), _effective_size(values)
    return Diagnosis(name, ratio, ess, _trouble(ratio, ess, len(values), max_r_hat, min_ess))


def _diagnose_constants(name: str, values: FloatArray) -> Diagnosis:
    """Return the diagnostics of a number that is constant in each chain, (n_chains,): R-hat is undefined."""
    if (values == values[0]).all():
        return Diagnosis(name, np.nan, np.nan, "")
    trouble = f"stays at {values.min():g} in one chain and at {values.max():g} in another"
    return Diagnosis(name, np.inf, np.nan, trouble)


def _trouble(r_hat: float, ess: float, n_chains: int, max_r_hat: float, min_ess: float) -> str:
    # Written so that NaN, of which nobody knows what it hides, is trouble too.
    if n_chains > 1 and (np.isnan(r_hat) or exceeds(r_hat, max_r_hat)):
        return f"differs between chains (R-hat {r_hat:.2f}, needed {max_r_hat:g} or less)"
    if not ess >= min_ess:
        return f"has an effective sample size of {ess:.0f} (needed {min_ess:.0f})"
    return ""


def _praise(table: Sequence[Diagnosis], n_chains: int, n_draws: int) -> str:
    moving = [row for row in table if not np.isnan(row.r_hat)]
    if not moving:
        return f"chains agree: in all {n_chains} chains everything traced stays at the same value."
    r_hat, ess = max(row.r_hat for row in moving), min(row.ess for row in moving)
    return (
        f"chains agree: over {n_chains} chains of {n_draws} draws, R-hat is at most {r_hat:.2f} and the effective "
        f"sample size at least {ess:.0f}."
    )


def stacking_weights(log_densities: FloatArray) -> FloatArray:
    """Return the weights of chains whose mixture predicts best.

    Parameters
    ----------
    log_densities : ndarray of shape (n_observations, n_chains)
        Log density of every observation under every chain, given the other observations.

    Returns
    -------
    weights : ndarray of shape (n_chains,)
        They sum to one. Chains that give every observation the same density have equal weights.

    Notes
    -----
    Maximises the sum over observations of the log of the weighted mean density, plus the log density of a Dirichlet
    prior with parameters ``1 + 1 / n_chains``, by expectation-maximisation from equal weights. The function is concave,
    so that there is one maximum. Observations that are impossible under every chain (minus infinity) do not count.

    Examples
    --------
    The second chain is never better than the first:

    >>> stacking_weights(np.array([[0.0, -3.0], [0.0, -1.0], [0.0, -2.0]])).round(2).tolist()
    [0.85, 0.15]
    """
    log_densities = log_densities[(log_densities > -np.inf).any(axis=1)]
    n_chains = log_densities.shape[1]
    weights = np.full(n_chains, 1 / n_chains)
    for _ in range(_MAX_ROUNDS):
        with np.errstate(divide="ignore"):
            shares = softmax(np.log(weights) + log_densities, axis=1)
        found = (shares.sum(axis=0) + 1 / n_chains) / (len(log_densities) + 1)
        is_over = np.abs(found - weights).max() < _TOLERANCE
        weights = found
        if is_over:
            break
    return np.asarray(weights / weights.sum())


def leave_one_out(log_densities: FloatArray) -> FloatArray:
    """Return the log density of every observation given all others, from draws given all observations.

    Parameters
    ----------
    log_densities : ndarray of shape (n_draws, n_observations)
        Log density of every observation given the parameters of every draw.

    Returns
    -------
    log_density : ndarray of shape (n_observations,)
        Minus infinity for an observation that is impossible under one of the draws.

    Notes
    -----
    A draw counts by the inverse of the density it gives to the observation, which undoes that it has seen it. Without
    more, the result is the harmonic mean of the densities. Such weights can be very uneven, so that none counts more
    than their mean times the square root of the number of draws (Ionides 2008, Truncated importance sampling).
    """
    n_draws, n_observations = log_densities.shape
    found, is_possible = np.full(n_observations, -np.inf), (log_densities > -np.inf).all(axis=0)
    log_densities = log_densities[:, is_possible]
    mean = logsumexp(-log_densities, axis=0) - np.log(n_draws)
    log_weights = np.minimum(-log_densities, mean + 0.5 * np.log(n_draws))
    found[is_possible] = logsumexp(log_weights + log_densities, axis=0) - logsumexp(log_weights, axis=0)
    return found


def draws_by_weight(weights: FloatArray, n_kept: Sequence[int]) -> list[IntArray]:
    """Return the kept draws that each chain contributes, their number in proportion to its weight.

    Parameters
    ----------
    weights : ndarray of shape (n_chains,)
        They sum to one.
    n_kept : sequence of int
        Draws that each chain has.

    Returns
    -------
    chosen : list of ndarray of int
        Evenly spaced; all draws of the chain that has the largest weight for its number of draws.

    Examples
    --------
    >>> [chosen.tolist() for chosen in draws_by_weight(np.array([0.66, 0.34, 0.0]), [4, 4, 4])]
    [[0, 1, 2, 3], [1, 3], []]
    """
    counts = np.asarray(n_kept)
    n_draws = min(count / weight for count, weight in zip(counts, weights, strict=True) if count and weight > 0)
    wanted = np.minimum(np.rint(weights * n_draws).astype(np.int64), counts)
    return [thinned(int(count), int(number)) for count, number in zip(counts, wanted, strict=True)]


def thinned(n_kept: int, n_wanted: int) -> IntArray:
    """Return some of the kept draws of a chain, evenly spaced; all if there are no more than wanted."""
    number = min(n_kept, n_wanted)
    return ((np.arange(number) + 0.5) * n_kept / max(number, 1)).astype(np.int64)
