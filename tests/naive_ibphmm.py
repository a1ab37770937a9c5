"""The IBP-HMM drawn forwards, its smallest posterior enumerated, and slow twins of what its moves are made of."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from itertools import pairwise, permutations, product
from unittest import mock

import numpy as np
from scipy import stats
from scipy.linalg import block_diag
from scipy.special import beta

import naive_emissions
import naive_hmm
from homothety.models.emissions import Emission
from homothety.models.ibphmm import ChainState, GammaPrior, Hyperpriors, Model, Proposals, _kernels
from homothety.sequences import Sequences

# --- the model, drawn forwards ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class World:
    """Everything the prior needs: hyper-priors as (shape, rate), or a number that is fixed."""

    n_recordings: int = 3
    n_steps: int = 4
    mass: tuple[float, float] | float = (3.0, 2.0)
    concentration: tuple[float, float] | float = (3.0, 3.0)
    alpha: tuple[float, float] | float = (3.0, 3.0)
    kappa: tuple[float, float] | float = (3.0, 2.0)
    coefficients: tuple[tuple[float, ...], ...] = ((0.0,),)
    precision: float = 0.5
    scale: tuple[tuple[float, ...], ...] = ((2.0,),)
    dof: int = 5
    order: int = 0
    weight: float = 1.0
    first: float = 0.7  # all observations before the first step, which are given
    least_stay: int = 1
    leaving: float = 0.0
    leaving_range: tuple[float, float] | None = None  # drawn between these if given, its logarithm uniformly

    @cached_property
    def emission(self):
        n_regressors = len(self.coefficients[0])
        return Emission(
            np.array(self.coefficients),
            self.precision * np.eye(n_regressors),
            np.array(self.scale),
            self.dof,
            self.order,
            weight=self.weight,
        )


@dataclass(frozen=True)
class BlockWorld(World):
    """Steps of three dimensions in two blocks, each with a weight of its own."""

    weights: tuple[float, float] = (0.25, 0.9)

    @cached_property
    def emission(self):
        scales = [np.array([[2.0, 0.5], [0.5, 1.5]]), np.array([[1.0]])]
        return Emission.gaussian_blocks([2, 1], [np.zeros(2), np.ones(1)], [0.5, 1.0], scales, [5.0, 4.0], self.weights)


GAUSSIAN = World()
AUTOREGRESSIVE = World(coefficients=((0.3,),), precision=4.0, scale=((1.5,),), order=1)
WORLDS = {"gaussian": GAUSSIAN, "autoregressive": AUTOREGRESSIVE}


def draw_number(rng, prior):
    return prior if isinstance(prior, float) else float(rng.gamma(prior[0], 1 / prior[1]))


def draw_buffet(rng, n_recordings, mass, concentration):
    """Let one customer after the other take dishes that others took, then new ones, (n_recordings, n_states)."""
    columns = []
    for i in range(n_recordings):
        for column in columns:
            column.append(rng.random() < sum(column) / (concentration + i))
        columns.extend([False] * i + [True] for _ in range(rng.poisson(mass * concentration / (concentration + i))))
    return np.array(columns, dtype=bool).reshape(len(columns), n_recordings).T


def draw_features(rng, world):
    """Draw the four parameters and who has which feature, again and again until nobody is without."""
    while True:
        at = [draw_number(rng, prior) for prior in (world.mass, world.concentration, world.alpha, world.kappa)]
        active = draw_buffet(rng, world.n_recordings, *at[:2])
        if active.any(axis=1).all():
            return at, active


@cache
def blocks_alone(emission):
    """Emission of each block alone."""
    nothing = np.empty((0, emission.n_regressors + emission.n_dims))
    return [one for *_, one in naive_emissions.each_block(nothing, emission)]


def draw_parameters(rng, emission):
    """Draw coefficients and covariance from their prior; the degrees of freedom are whole numbers."""
    if emission.blocks is not None:
        drawn = [draw_parameters(rng, one) for one in blocks_alone(emission)]
        return tuple(block_diag(*matrices) for matrices in zip(*drawn, strict=True))
    root = np.linalg.cholesky(np.linalg.inv(emission.scale))
    normals = root @ rng.standard_normal((emission.n_dims, int(emission.dof)))
    covariance = np.linalg.inv(normals @ normals.T)
    spread = np.linalg.cholesky(np.linalg.inv(emission.precision))
    noise = rng.standard_normal(emission.coefficients.shape)
    return emission.coefficients + np.linalg.cholesky(covariance) @ noise @ spread.T, covariance


def draw_path(rng, own, weights, n_steps, least_stay=1, leaving=0.0):
    """Draw the path of a series through its features; one that is entered goes on until it has lasted long enough."""
    path = [int(own[rng.integers(len(own))])]
    while len(path) < n_steps:
        probs = weights[path[-1], own]
        if leaving:
            if len(own) == 1 or rng.random() >= leaving:
                path.append(path[-1])
                continue
            probs = np.where(own == path[-1], 0.0, probs)
        row = np.cumsum(probs)
        k = int(own[np.searchsorted(row, rng.random() * row[-1], side="right")])
        path.extend([k] * (1 if k == path[-1] else least_stay))
    return path[:n_steps]


def draw_steps(rng, world, path, whiteners):
    """Draw all series given paths and parameters, with the steps before the first that are given."""
    n_dims, n_regressors = whiteners.shape[1], whiteners.shape[2] - whiteners.shape[1]
    roots = np.linalg.inv(whiteners[:, :, n_regressors:])
    coefficients = -roots @ whiteners[:, :, :n_regressors]
    noise = np.einsum("tde,te->td", roots[path], rng.standard_normal((len(path), n_dims)))
    series = []
    for i, part in enumerate(path.reshape(world.n_recordings, world.n_steps)):
        steps = [np.full(n_dims, world.first)] * world.order
        for t, k in enumerate(part, start=i * world.n_steps):
            regressors = np.concatenate(steps[: -world.order - 1 : -1]) if world.order else np.ones(n_regressors)
            steps.append(coefficients[k] @ regressors + noise[t])
        series.append(np.array(steps))
    starts = (world.n_steps + world.order) * np.arange(world.n_recordings + 1)
    return Sequences(np.concatenate(series), starts, tuple("abcdefgh"[: world.n_recordings]))


def draw_world(rng, world, proposals=None):
    """Draw everything from the prior: a model and a state."""
    at, active = draw_features(rng, world)
    n_states = active.shape[1]
    shapes = at[2] + at[3] * np.eye(n_states)
    weights = rng.standard_gamma(np.tile(shapes, (world.n_recordings, 1, 1)))
    weights = np.maximum(weights, 1e-300) * (active[:, :, None] & active[:, None, :])
    leaving = world.leaving
    if world.leaving_range is not None:
        leaving = float(np.exp(rng.uniform(*np.log(world.leaving_range))))
    path = np.concatenate(
        [
            draw_path(rng, np.flatnonzero(active[i]), weights[i], world.n_steps, world.least_stay, leaving)
            for i in range(world.n_recordings)
        ]
    )
    emission = world.emission
    parameters = [draw_parameters(rng, emission) for _ in range(n_states)]
    whiteners = np.array([naive_emissions.whitener(*pair) for pair in parameters])
    state = ChainState(active, np.arange(n_states), weights, whiteners, path, *at, n_states, leaving=leaving)
    return make_model(world, draw_steps(rng, world, path, whiteners), proposals), state


def make_model(world, sequences, proposals=None):
    """Return the model of these series; a number that is fixed gets any prior, its move is left out."""
    priors = [
        GammaPrior(1.0, 1.0) if isinstance(prior, float) else GammaPrior(*prior)
        for prior in (world.mass, world.concentration, world.alpha, world.kappa)
    ]
    hyperpriors = Hyperpriors(priors[0], None if isinstance(world.concentration, float) else priors[1], *priors[2:])
    model = Model.from_sequences(sequences, world.emission, hyperpriors, proposals or PROPOSALS, world.least_stay)
    return replace(model, leaving=world.leaving, leaving_range=world.leaving_range)


PROPOSALS = Proposals(window=(1, 3), n_split_merge=2, n_halving=2, n_switches=2, n_concentration=2, n_buffet=2)


# --- numbers that do not depend on the order of features -------------------------------------------------------------


def observations(model):
    """Observations of every series, squeezed between -1 and 1: they have few moments. (n_recordings, n_steps)"""
    return np.tanh(model.z[:, -1]).reshape(model.n_recordings, -1)


def feature_statistics(model, state):
    n_owners, n_active, points = state.active.sum(axis=0), state.active.sum(axis=1), observations(model)
    spread = np.abs(np.diff(points, axis=1)).mean(axis=1)
    n_once, n_all = (n_owners == 1).sum(), (n_owners == model.n_recordings).sum()
    together = (state.active[0] & state.active[-1]).sum()
    return [
        state.n_states,
        state.n_states**2,
        n_once,
        n_all,
        n_active.sum(),
        (n_active**2).sum(),
        (n_active * spread).sum(),
        n_once * spread.sum(),
        together * points[0].mean() * points[-1].mean(),
        state.n_states * state.mass,
        state.n_states * state.concentration,
        n_all * state.alpha,
        n_all * state.kappa,
    ]


def hyper_statistics(model, state):
    at = np.array([state.mass, state.concentration, state.alpha, state.kappa])
    return [*at, *np.log(at)]


def weight_statistics(model, state):
    """Totals of rows, and how much of them goes to the same feature."""
    totals = state.weights.sum(axis=2)[state.active]
    own = np.diagonal(state.weights, axis1=1, axis2=2)[state.active]
    log_total, stays = np.log(totals).mean(), (own / totals).mean()
    return [
        np.log(totals).sum(),
        log_total,
        stays,
        stays * np.log(state.kappa),
        log_total * np.log(state.kappa),
        log_total * np.log(state.alpha),
        log_total * state.n_states,
    ]


def emission_statistics(model, state):
    points = observations(model).mean()
    coefficients = np.tanh(model.emission.coefficients_of(state.whiteners)[:, 0, 0])
    log_precision = np.log(state.whiteners[:, -1, -1])
    return [
        coefficients.sum(),
        coefficients.mean(),
        coefficients.mean() * points,
        (coefficients**2).sum(),
        log_precision.sum(),
        log_precision.mean(),
        log_precision.mean() * points**2,
    ]


def path_statistics(model, state):
    path, points = state.path.reshape(model.n_recordings, -1), observations(model)
    switched = path[:, 1:] != path[:, :-1]
    first = path[0, 0] == path[-1, 0]
    products = points[:, 1:] * points[:, :-1]
    return [
        switched.sum(),
        switched.sum() ** 2,
        state.n_used,
        first,
        first * points[0, 0] * points[-1, 0],
        (switched * products).sum(),
        (~switched * products).sum(),
        switched.sum() * state.kappa,
        switched.sum() * state.alpha,
    ]


def transition_statistics(model, state):
    """How probable the transitions that were taken are: weights and paths together."""
    shares = state.weights / np.maximum(state.weights.sum(axis=2, keepdims=True), 1e-300)
    path = state.path.reshape(model.n_recordings, -1)
    taken = shares[np.arange(model.n_recordings)[:, None], path[:, :-1], path[:, 1:]]
    switched = path[:, 1:] != path[:, :-1]
    return [taken.mean(), (taken * switched).mean(), taken[:, 0].mean()]


def fit_statistics(model, state):
    """How large whitened residuals are: parameters and paths together."""
    residuals = np.einsum("tdn,tn->td", state.whiteners[state.path], model.z)
    return [np.abs(residuals).mean(), np.tanh(residuals**2).mean(), residuals.clip(-3, 3).mean()]


STATISTICS = {
    "features": feature_statistics,
    "hyper": hyper_statistics,
    "weights": weight_statistics,
    "emissions": emission_statistics,
    "paths": path_statistics,
    "transitions": transition_statistics,
    "fit": fit_statistics,
}


def statistics(model, state, groups=tuple(STATISTICS)):
    return np.array([value for group in groups for value in STATISTICS[group](model, state)], dtype=float)


# --- densities -------------------------------------------------------------------------------------------------------


def log_feature_prior(active, mass, concentration):
    """Every pattern of owners has a Poisson number of features; told apart, the factorials go."""
    n_recordings = len(active)
    total = 0.0
    for n_owners in range(1, n_recordings + 1):
        n_patterns = math.comb(n_recordings, n_owners)
        total -= n_patterns * pattern_rate(n_owners, n_recordings, mass, concentration)
    for column in active.T:
        total += math.log(pattern_rate(column.sum(), n_recordings, mass, concentration))
    return total


def pattern_rate(n_owners, n_recordings, mass, concentration):
    """Expected number of features that a given set of so many series has, and no other."""
    return mass * concentration * beta(n_owners, n_recordings - n_owners + concentration)


def log_path_prior(paths, active, alpha, kappa, least_stay=1, leaving=0.0):
    """Log probability of the paths of all series, one transition predicted after the other."""
    at = alpha, kappa, least_stay, leaving
    return sum(log_one_path(path, np.flatnonzero(row), *at) for path, row in zip(paths, active, strict=True))


def log_one_path(path, own, alpha, kappa, least_stay=1, leaving=0.0):
    """The same of one path through the features of its series."""
    transitions = naive_hmm.stay_transitions(path, least_stay)
    if transitions is None:
        return -math.inf
    seen, total = defaultdict(float), -math.log(len(own))
    for j, k in transitions:
        weights = {n: alpha + kappa * (n == j) + seen[j, n] for n in own}
        if leaving and len(own) > 1:
            total += math.log(1 - leaving if j == k else leaving)
            weights = {n: alpha + seen[j, n] for n in own if n != j} if j != k else {k: 1.0}
        total += math.log(weights[k] / sum(weights.values()))
        seen[j, k] += 1
    return total


def log_data(model, path, n_states):
    """Log marginal likelihood of all steps."""
    return sum(naive_emissions.log_marginal(model.z[path == k], model.emission) for k in range(n_states))


def log_density(model, active, path, mass, concentration, alpha, kappa):
    """Target of splits and merges."""
    paths = np.split(path, model.starts[1:-1])
    log_paths = log_path_prior(paths, active, alpha, kappa, model.least_stay, model.leaving)
    return log_feature_prior(active, mass, concentration) + log_paths + log_data(model, path, active.shape[1])


def log_likelihood(active, weights, log_evidence):
    """Log-likelihood of one series by going through all its paths; evidence by feature."""
    own = np.flatnonzero(active)
    total = 0.0
    for path in product(own, repeat=len(log_evidence)):
        value = math.exp(log_evidence[0, path[0]]) / len(own)
        for t in range(1, len(path)):
            row = weights[path[t - 1]]
            value *= row[path[t]] / row[own].sum() * math.exp(log_evidence[t, path[t]])
        total += value
    return math.log(total)


def sticky_weights(n_states, alpha, kappa):
    return alpha + kappa * np.eye(n_states)


# --- flips, draw for draw --------------------------------------------------------------------------------------------


@contextmanager
def broken_births(**broken):
    """Run births and deaths as plain Python, with some of the kernels they call replaced."""
    kernels = {name: getattr(_kernels, name) for name in ("jump", "jump_all")}
    interpreted = {name: getattr(kernel, "py_func", kernel) for name, kernel in kernels.items()}
    with mock.patch.multiple(_kernels, **interpreted, **broken):
        yield


def flip_shared_features(rng, order, n_others, n_recordings, concentration, active, weights, log_evidence):
    """Switch features one after the other, with the random numbers of the kernel; returns features and counts."""
    active, n_tried, n_accepted = list(active), 0, 0
    for k in order:
        if n_others[k] == 0 or (active[k] and sum(active) == 1):
            continue
        flipped = [not value if n == k else value for n, value in enumerate(active)]
        prob = n_others[k] / (n_recordings + concentration - 1)
        log_prior = {True: math.log(prob), False: math.log(1 - prob)}
        gain = log_likelihood(flipped, weights, log_evidence) - log_likelihood(active, weights, log_evidence)
        n_tried += 1
        if math.log(rng.random()) < gain + log_prior[flipped[k]] - log_prior[active[k]]:
            active, n_accepted = flipped, n_accepted + 1
    return np.array(active), n_tried, n_accepted


# --- splits and merges -----------------------------------------------------------------------------------------------


def second_choice(model, active, path, a, second):
    """Probability of each feature of the second series to be chosen after `a` in the first.

    See docs/model.md, section 3.10.
    """
    has = active[second]
    log_m = lambda steps: naive_emissions.log_marginal(steps, model.emission)  # noqa: E731
    steps = [model.z[path == k] for k in range(active.shape[1])]
    weights = np.zeros(active.shape[1])
    for k in np.flatnonzero(has):
        if k != a:
            weights[k] = math.exp(log_m(np.concatenate([steps[a], steps[k]])) - log_m(steps[a]) - log_m(steps[k]))
    if has[a]:
        weights[a] = 2 * weights.sum() if weights.any() else 1.0
    return 0.99 * weights / weights.sum() + 0.01 * has / has.sum()


def log_prob_of_path(model, i, own, parameters, path, alpha, kappa):
    """Log probability to draw the path of series `i` through its own features under plug-in parameters."""
    start, stop = model.starts[i], model.starts[i + 1]
    log_joint, log_total = _log_paths(model.z[start:stop], tuple(own), parameters, alpha, kappa)
    return log_joint[tuple(path[start:stop])] - log_total


def _log_paths(z, own, parameters, alpha, kappa):
    """Log density of every path with its series, and their sum."""
    log_evidence = {k: naive_emissions.log_evidence(z, *parameters[k]) for k in own}
    log_joint = {}
    for path in product(own, repeat=len(z)):
        value = -math.log(len(own)) + sum(log_evidence[k][t] for t, k in enumerate(path))
        for j, k in pairwise(path):
            value += math.log((alpha + kappa * (j == k)) / (len(own) * alpha + kappa))
        log_joint[path] = value
    return log_joint, float(np.logaddexp.reduce(list(log_joint.values())))


def log_prob_of_split(model, before, after, a, anchors, order, concentration, alpha, kappa):
    """Log probability that a split of `a` leads from one (active, path) to another, from scratch.

    See docs/model.md, section 3.10.
    """
    (active, path), (new_active, new_path) = before, after
    first, second = anchors
    b, total = active.shape[1], 0.0
    parameters = {k: naive_emissions.plug_in(model.z[path == k], model.emission) for k in range(b)}
    series_of = np.repeat(np.arange(model.n_recordings), np.diff(model.starts))
    # What each series has added to either half: its features, and which steps.
    given = {
        first: ((1, 0), path == a, np.zeros(len(path), bool)),
        second: ((0, 1), np.zeros(len(path), bool), path == a),
    }
    n_unseen = len(order)
    for place, i in enumerate([*order, first, second]):
        given.pop(i, None)
        n_unseen_now = n_unseen - min(place, len(order)) - (1 if i in order else 0)
        n_seen = model.n_recordings - n_unseen_now - 1
        n_owners = [sum(halves[h] for halves, *_ in given.values()) for h in (0, 1)]
        for h, half in enumerate((a, b)):
            chosen = np.zeros(len(path), bool)
            for s, (_, *steps) in given.items():
                chosen |= steps[h] & (series_of == s)
            parameters[half] = naive_emissions.plug_in(model.z[chosen], model.emission)
        others = [k for k in np.flatnonzero(active[i]) if k != a]
        log_options = {}
        for option in ((1, 0), (0, 1), (1, 1)):
            if (i == first and not option[0]) or (i == second and not option[1]):
                continue
            value = 0.0
            for h, anchor in enumerate(anchors):
                prob = n_owners[h] / (n_seen + concentration)
                value += 0.0 if i == anchor else math.log(prob if option[h] else 1 - prob)
            own = others + [half for half, taken in zip((a, b), option, strict=True) if taken]
            log_options[option] = value + _log_paths(model.z[series_of == i], tuple(own), parameters, alpha, kappa)[1]
        option = tuple(int(value) for value in new_active[i, [a, b]])
        if option not in log_options:
            return -math.inf
        total += log_options[option] - np.logaddexp.reduce(list(log_options.values()))
        own = others + [half for half, taken in zip((a, b), option, strict=True) if taken]
        total += log_prob_of_path(model, i, own, parameters, new_path, alpha, kappa)
        given[i] = (option, new_path == a, new_path == b)
    return float(total)


def log_prob_of_merge(model, before, after, a, alpha, kappa):
    """Log probability that merging the last feature into `a` leads from one (active, path) to another."""
    (active, path), (new_active, new_path) = before, after
    last = active.shape[1] - 1
    parameters = {k: naive_emissions.plug_in(model.z[path == k], model.emission) for k in range(last)}
    parameters[a] = naive_emissions.plug_in(model.z[(path == a) | (path == last)], model.emission)
    return float(
        sum(
            log_prob_of_path(model, i, np.flatnonzero(new_active[i]), parameters, new_path, alpha, kappa)
            for i in np.flatnonzero(new_active[:, a])
        )
    )


def all_splits(model, active, path, a, anchors):
    """Every (active, path) a split of `a` can lead to."""
    b, owners = active.shape[1], np.flatnonzero(active[:, a])
    choices = []
    for i in owners:
        others, mine = [k for k in np.flatnonzero(active[i]) if k != a], []
        for option in ((1, 0), (0, 1), (1, 1)):
            if (i == anchors[0] and not option[0]) or (i == anchors[1] and not option[1]):
                continue
            own = others + [half for half, taken in zip((a, b), option, strict=True) if taken]
            n_steps = model.starts[i + 1] - model.starts[i]
            mine += [(i, option, steps) for steps in product(own, repeat=n_steps)]
        choices.append(mine)
    for choice in product(*choices):
        new_active, new_path = np.column_stack([active, np.zeros(len(active), bool)]), path.copy()
        for i, option, steps in choice:
            new_active[i, [a, b]] = option
            new_path[model.starts[i] : model.starts[i + 1]] = steps
        yield new_active, new_path


# --- the smallest posterior, enumerated ------------------------------------------------------------------------------

TINY = World(2, 2, mass=1.0, concentration=1.0, alpha=1.0, kappa=2.0)
TINY_STEPS = np.array([[-1.0], [1.5], [1.2], [0.9]])
TINY_BLOCKS = BlockWorld(2, 2, mass=1.0, concentration=1.0, alpha=1.0, kappa=2.0)
TINY_BLOCK_STEPS = np.array([[-2.0, 1.0, 0.5], [3.0, -2.5, -4.0], [2.5, -2.0, -4.5], [2.0, -3.0, 4.0]])
MAX_FEATURES = 9


def tiny_sequences(steps=TINY_STEPS):
    return Sequences(steps, np.array([0, 2, 4]), ("a", "b"))


def pattern_of(active):
    """How many features only the first series has, only the second, and both."""
    counts = Counter(tuple(column) for column in active.T.tolist())
    return counts[True, False], counts[False, True], counts[True, True]


@cache
def tiny_posterior(weight=1.0):
    """Probability of every pattern of up to nine features, given the four observations, each of some weight.

    Given a weight for each of two blocks, the observations are those of three dimensions.
    """
    return posterior_of_patterns(partial(_log_partition, weight=weight))


def posterior_of_patterns(log_partition):
    """The same for any observations, of which the log density is known given which of them share a state."""
    logs = {
        pattern: _log_pattern(*pattern, log_partition)
        for pattern in product(range(MAX_FEATURES + 1), repeat=3)
        if sum(pattern) <= MAX_FEATURES and pattern[0] + pattern[2] > 0 and pattern[1] + pattern[2] > 0
    }
    total = np.logaddexp.reduce(list(logs.values()))
    return {pattern: math.exp(value - total) for pattern, value in logs.items()}


def _log_pattern(n_first, n_second, n_both, log_partition):
    """Log probability of a pattern and the observations: Poisson numbers of features, all paths summed out."""
    rates = [pattern_rate(m, 2, TINY.mass, TINY.concentration) for m in (1, 1, 2)]
    log_prior = sum(stats.poisson.logpmf(n, rate) for n, rate in zip((n_first, n_second, n_both), rates, strict=True))
    # Features are told apart by number: first those of both, then the others.
    own = [range(n_both + n_first), [*range(n_both), *range(n_both + n_first, n_both + n_first + n_second)]]
    log_terms = [
        _log_tiny_path(left, len(own[0]))
        + _log_tiny_path(right, len(own[1]))
        + log_partition(_numbered((*left, *right)))
        for left in product(own[0], repeat=2)
        for right in product(own[1], repeat=2)
    ]
    return log_prior + np.logaddexp.reduce(log_terms)


@cache
def _log_switch(switched, n):
    weight = TINY.alpha if switched else TINY.alpha + TINY.kappa
    return math.log(weight / (n * TINY.alpha + TINY.kappa)) - math.log(n)


def _log_tiny_path(path, n):
    return _log_switch(path[0] != path[1], n)


def _numbered(path):
    numbers = {}
    return tuple(numbers.setdefault(k, len(numbers)) for k in path)


@cache
def _log_partition(labels, weight):
    labels = np.array(labels)
    if isinstance(weight, tuple):
        emission = replace(TINY_BLOCKS, weights=weight).emission
        z = emission.augment_steps(TINY_BLOCK_STEPS)
        return sum(naive_emissions.log_marginal(z[labels == k], emission) for k in range(labels.max() + 1))
    z = np.column_stack([np.ones(4), TINY_STEPS])
    groups = [z[labels == k] for k in range(labels.max() + 1)]
    if weight == 1.0:
        return sum(naive_emissions.log_marginal(group, TINY.emission) for group in groups)
    return sum(naive_emissions.log_weighted_marginal(group[:, 1], weight, TINY.emission) for group in groups)


def by_n_states(patterns):
    """The same probabilities or frequencies by number of features."""
    totals = defaultdict(float)
    for pattern, prob in patterns.items():
        totals[sum(pattern)] += prob
    return dict(totals)


# --- the smallest posterior that a least stay changes ----------------------------------------------------------------

STAYING = World(2, mass=0.8, concentration=1.0, alpha=0.5, kappa=0.2, least_stay=2)
STAYING_STEPS = np.array([[-0.6], [1.0], [0.8], [-0.5], [-0.3], [0.9]])
STAYING_STARTS = (0, 5, 6)
MAX_STAYING = 7  # features


def staying_sequences():
    return Sequences(STAYING_STEPS, np.array(STAYING_STARTS), ("a", "b"))


def renumbered(path):
    """States of a path numbered as they come."""
    numbers = {}
    return tuple(numbers.setdefault(int(k), len(numbers)) for k in path)


@cache
def staying_posterior(world=STAYING):
    """Probability of every number of features and partition of the steps, given the six observations.

    Which feature a class of steps has is counted, not enumerated: the path of a series has the same probability
    whatever the numbers of its features.
    """
    logs = defaultdict(lambda: -math.inf)
    rates = [pattern_rate(m, 2, world.mass, world.concentration) for m in (1, 1, 2)]
    for pattern in product(range(MAX_STAYING + 1), repeat=3):
        n_first, n_second, n_both = pattern
        n_left, n_right = n_first + n_both, n_second + n_both
        if sum(pattern) > MAX_STAYING or not (n_left and n_right):
            continue
        log_prior = sum(stats.poisson.logpmf(n, rate) for n, rate in zip(pattern, rates, strict=True))
        for left in _partitions_of_left():
            m = max(left) + 1
            log_left = _log_staying_path(left, n_left, world) if m <= n_left else -math.inf
            # The one step of the second series joins a class, whose feature both have, or has another feature.
            n_joined = n_both * math.perm(n_left - 1, m - 1)
            for right in range(m + 1) if log_left > -math.inf else ():
                n_ways = n_joined if right < m else n_right * math.perm(n_left, m) - m * n_joined
                if n_ways == 0:
                    continue
                labels = (*left, right)
                value = log_prior + log_left + math.log(n_ways / n_right) + _log_staying_data(labels)
                logs[sum(pattern), labels] = np.logaddexp(logs[sum(pattern), labels], value)
    total = np.logaddexp.reduce(list(logs.values()))
    return {key: math.exp(value - total) for key, value in logs.items()}


@cache
def _partitions_of_left():
    return sorted({renumbered(path) for path in product(range(5), repeat=5)})


@cache
def _log_staying_path(path, n_own, world):
    return log_one_path(path, range(n_own), world.alpha, world.kappa, world.least_stay, world.leaving)


@cache
def _log_staying_data(labels):
    z = np.column_stack([np.ones(6), STAYING_STEPS])
    return sum(naive_emissions.log_marginal(z[np.array(labels) == k], STAYING.emission) for k in set(labels))


# --- relabelling -----------------------------------------------------------------------------------------------------


def relabelled(state, order):
    """The same state with its features in another order."""
    order = np.asarray(order)
    return replace(
        state,
        active=state.active[:, order],
        ids=state.ids[order],
        weights=state.weights[:, order][:, :, order],
        whiteners=state.whiteners[order],
        path=np.argsort(order)[state.path],
    )


def all_orders(n_states):
    return list(permutations(range(n_states)))
