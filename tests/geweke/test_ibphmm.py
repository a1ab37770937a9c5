"""Moves and sweeps of the IBP-HMM leave the joint prior of features, paths, parameters and data as it is.

Two tests. *One move*: everything is drawn from the prior, a move is applied, and statistics before and after are
compared; the move may leave paths or parameters out of date, which are then not looked at. *Sweeps* (Geweke): a chain
alternates a sweep with a draw of the data, and its statistics are compared with those of independent draws from the
prior. Both come with moves that have a fault, which must be caught.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from functools import cache, partial
from unittest import mock

import numpy as np
import pytest
from scipy.special import gammaln

import naive_ibphmm as naive
import naive_splits
import naive_swaps
from homothety.models.ibphmm import (
    GammaPrior,
    _blocks,
    _kernels,
    default_sweep,
    moves,
    split_merge,
)
from naive_crp import mean_and_error, z_scores

MAX_Z = 4.0  # standard errors a mean may be off in the short runs; up to 50 means are compared
MAX_Z_LONG = 3.5  # and in the long ones
CAUGHT = 5.0  # what a fault must be off by
N_DRAWS, N_DRAWS_LONG = 1_500, 20_000
N_CHAINS = 100

SWEEP = default_sweep()
# "leaving" is held fixed here, see tests/unit/models/test_ibphmm_leaving.py; without labels, "labels" draws nothing.
MOVES = [name for name in SWEEP if name not in ("leaving", "labels")]

# What a move leaves up to date: features and hyper-parameters always, and of the rest these.
EVERYTHING = tuple(naive.STATISTICS)
FEATURES = ("features", "hyper")
LEAVES = dict.fromkeys(SWEEP, EVERYTHING) | {
    "shared features": (*FEATURES, "weights", "emissions"),
    "births and deaths": (*FEATURES, "weights", "emissions"),
    "splits and merges": (*FEATURES, "paths"),
    "halves and joins": (*FEATURES, "paths"),
    "swaps": (*FEATURES, "paths"),
    "concentrations": (*FEATURES, "paths"),
}


# --- one move --------------------------------------------------------------------------------------------------------


@cache
def prior_draws(world, n_draws):
    rng = np.random.default_rng(100)
    return [naive.draw_world(rng, world) for _ in range(n_draws)]


@cache
def prior_statistics(world, n_draws, groups=EVERYTHING):
    return np.array([naive.statistics(*draw, groups) for draw in prior_draws(world, n_draws)])


def z_of_move(name, move=None, world=naive.GAUSSIAN, n_draws=N_DRAWS, *, seed=1, n_times=1, **settings):
    """Largest change of the mean of a statistic by a move, in standard errors."""
    rng, move, proposals, after = (
        np.random.default_rng(seed),
        move or SWEEP[name],
        replace(naive.PROPOSALS, **settings),
        [],
    )
    for model, state in prior_draws(world, n_draws):
        model = replace(model, proposals=proposals)
        for _ in range(n_times):
            state, _ = move(rng, model, state)
        after.append(naive.statistics(model, state, LEAVES[name]))
    differences = np.array(after) - prior_statistics(world, n_draws, LEAVES[name])
    errors = differences.std(axis=0, ddof=1) / np.sqrt(n_draws)
    changed = np.abs(differences).max(axis=0) > 1e-9
    assert changed.any(), "the move did nothing"
    return np.abs(differences.mean(axis=0)[changed] / errors[changed]).max()


@pytest.mark.parametrize("name", MOVES)
def test_move_keeps_the_prior(name):
    assert z_of_move(name) < MAX_Z


@pytest.mark.parametrize("name", ["births and deaths", "splits and merges", "halves and joins", "swaps", "emissions"])
def test_move_with_autoregression_keeps_the_prior(name):
    assert z_of_move(name, world=naive.AUTOREGRESSIVE) < MAX_Z


def test_births_from_the_prior_keep_the_prior():
    assert z_of_move("births and deaths", birth="prior") < MAX_Z


@pytest.mark.parametrize("name", ["births and deaths", "shared features"])
def test_births_may_be_followed_by_births_or_shared_features(name):
    def move(rng, model, state):
        state, _ = SWEEP["births and deaths"](rng, model, state)
        return SWEEP[name](rng, model, state)

    assert z_of_move(name, move) < MAX_Z


@pytest.mark.parametrize("n_recordings", [2, 5])
def test_features_switched_by_halves_keep_the_prior(n_recordings):
    world = replace(naive.GAUSSIAN, n_recordings=n_recordings)
    assert z_of_move("shared features", moves._resample_shared_by_halves, world, n_times=3) < MAX_Z


MANY = naive.World(6, 2, mass=1.0, concentration=1.0, alpha=0.8, kappa=1.5)  # enough owners for batches of several


@pytest.fixture
def _side_by_side(monkeypatch):
    """Let every series be a block of its own."""
    monkeypatch.setattr(_blocks, "MANY_STEPS", 1)
    monkeypatch.setattr(_blocks, "_STEPS_TOGETHER", 1)


@pytest.mark.usefixtures("_side_by_side")
def test_splits_in_batches_keep_the_prior():
    assert z_of_move("splits and merges", None, MANY, 700) < MAX_Z


@pytest.mark.slow
@pytest.mark.usefixtures("_side_by_side")
def test_splits_in_batches_keep_the_prior_at_length():
    assert z_of_move("splits and merges", None, MANY, N_DRAWS_LONG, seed=3) < MAX_Z_LONG


@pytest.mark.slow
def test_features_switched_by_halves_keep_the_prior_at_length():
    world = replace(naive.GAUSSIAN, n_recordings=4)
    assert z_of_move("shared features", moves._resample_shared_by_halves, world, N_DRAWS_LONG, seed=2) < MAX_Z_LONG


def back_among_more(original, model, rng, batch, kept, n_seen, least, trial, halves):
    """Work out the way back as if more series had chosen before."""
    return original(model, rng, batch, kept, n_seen + (0 if trial.drawn else 4), least, trial, halves)


@pytest.mark.usefixtures("_side_by_side")
def test_broken_batches_are_caught():
    broken = faulty("splits and merges", (split_merge, "_choose_batch", back_among_more))
    assert z_of_move("splits and merges", broken, MANY, 700) > CAUGHT


def test_weights_after_concentrations_keep_the_prior():
    assert z_of_move("weights", concentrations_and_weights) < MAX_Z


@pytest.mark.slow
@pytest.mark.parametrize("world", naive.WORLDS)
@pytest.mark.parametrize("name", MOVES)
def test_move_keeps_the_prior_at_length(name, world):
    assert z_of_move(name, None, naive.WORLDS[world], N_DRAWS_LONG, seed=2) < MAX_Z_LONG


@pytest.mark.slow
@pytest.mark.parametrize("n_recordings", [2, 3])
def test_splits_and_merges_keep_the_prior_at_length(n_recordings):
    world = naive.World(n_recordings, 3, mass=1.5, concentration=1.0, alpha=0.8, kappa=1.5)
    assert z_of_move("splits and merges", None, world, N_DRAWS_LONG, seed=3, n_split_merge=5) < MAX_Z_LONG


# --- sweeps ----------------------------------------------------------------------------------------------------------


def known_prior_means():
    """Means of numbers of features, of owned once, of pairs, of the four parameters and of switches.

    They are those of docs/model.md, section 8.3.
    """
    return [3.913, 20.32, 1.838, 7.061, 1.838, 0.960, 1.000, 1.498, 2.196]


def test_forward_draws_have_the_means_that_are_known():
    draws = prior_draws(naive.GAUSSIAN, N_DRAWS)
    chosen = [
        [
            state.n_states,
            state.n_states**2,
            (state.active.sum(axis=0) == 1).sum(),
            state.active.sum(),
            state.mass,
            state.concentration,
            state.alpha,
            state.kappa,
            (np.diff(state.path.reshape(3, -1)) != 0).sum(),
        ]
        for _, state in draws
    ]
    assert z_scores(chosen, known_prior_means(), 0.003).max() < MAX_Z


def chain_statistics(rng, world, sweep, n_sweeps, proposals):
    """Statistics of a chain that alternates a sweep and a draw of the data; it starts from the prior."""
    chain, (model, state) = [], naive.draw_world(rng, world, proposals)
    for _ in range(n_sweeps):
        for move in sweep.values():
            state, _ = move(rng, model, state)
        chain.append(naive.statistics(model, state))
        model = naive.make_model(world, naive.draw_steps(rng, world, state.path, state.whiteners), proposals)
    return chain


def z_of_sweep(world, sweep, n_sweeps, seed=1, **settings):
    """Largest difference of means between chains and draws from the prior, in standard errors.

    Chains start from the prior, so they need no burn-in, and their means are independent however slowly each mixes.
    """
    rng, proposals = np.random.default_rng(seed), replace(naive.PROPOSALS, **settings)
    chains = [chain_statistics(rng, world, sweep, n_sweeps, proposals) for _ in range(N_CHAINS)]
    draws = prior_statistics(world, max(N_DRAWS, n_sweeps * N_CHAINS))
    mean, error = mean_and_error(np.concatenate(chains), n_batches=N_CHAINS)
    expected, error_of_expected = mean_and_error(draws)
    return (np.abs(mean - expected) / np.hypot(error, error_of_expected)).max()


def without(*names):
    return {name: move for name, move in SWEEP.items() if name not in names}


BIRTHS_ALONE = without("splits and merges", "halves and joins", "swaps")
SWEEPS = {
    "births from the prior": (naive.GAUSSIAN, BIRTHS_ALONE, {"birth": "prior"}),
    "births from windows": (naive.GAUSSIAN, BIRTHS_ALONE, {}),
    "splits and merges": (naive.GAUSSIAN, SWEEP, {}),
    "autoregression": (naive.AUTOREGRESSIVE, SWEEP, {}),
}


@pytest.mark.parametrize("name", ["births from windows", "splits and merges", "autoregression"])
def test_sweep_keeps_the_joint_prior(name):
    world, sweep, settings = SWEEPS[name]
    assert z_of_sweep(world, sweep, 12, n_split_merge=1, **settings) < MAX_Z


@pytest.mark.slow
@pytest.mark.parametrize("name", SWEEPS)
def test_sweep_keeps_the_joint_prior_at_length(name):
    world, sweep, settings = SWEEPS[name]
    assert z_of_sweep(world, sweep, N_DRAWS_LONG // N_CHAINS, seed=2, **settings) < MAX_Z_LONG


# --- a least stay ----------------------------------------------------------------------------------------------------

STAYING = replace(naive.GAUSSIAN, n_steps=6, least_stay=3)


@pytest.mark.parametrize("name", ["paths", "splits and merges", "halves and joins"])
def test_move_with_a_least_stay_keeps_the_prior(name):
    assert z_of_move(name, None, STAYING) < MAX_Z


@pytest.mark.slow
@pytest.mark.parametrize("name", SWEEP)
def test_move_with_a_least_stay_keeps_the_prior_at_length(name):
    assert z_of_move(name, None, STAYING, N_DRAWS_LONG, seed=4) < MAX_Z_LONG


@pytest.mark.slow
@pytest.mark.parametrize("birth", ["prior", "data-driven"])
def test_sweep_with_a_least_stay_keeps_the_joint_prior_at_length(birth):
    assert z_of_sweep(STAYING, SWEEP, N_DRAWS_LONG // N_CHAINS, seed=4, birth=birth) < MAX_Z_LONG


def forget_least_stay(rng, model, state, name):
    """Make a move as if stays could have any length."""
    return SWEEP[name](rng, replace(model, least_stay=1), state)


@pytest.mark.parametrize("name", ["paths", "concentrations", "weights"])
def test_move_that_forgets_the_least_stay_is_caught(name):
    assert z_of_move(name, partial(forget_least_stay, name=name), STAYING, n_times=3) > CAUGHT


# --- a fixed probability of leaving ----------------------------------------------------------------------------------

LEAVING = replace(naive.GAUSSIAN, n_steps=6, least_stay=2, leaving=0.3)


@pytest.mark.parametrize("name", ["paths", "splits and merges", "weights"])
def test_move_with_a_fixed_probability_of_leaving_keeps_the_prior(name):
    assert z_of_move(name, None, LEAVING) < MAX_Z


@pytest.mark.slow
@pytest.mark.parametrize("name", SWEEP)
def test_move_with_a_fixed_probability_of_leaving_keeps_the_prior_at_length(name):
    assert z_of_move(name, None, LEAVING, N_DRAWS_LONG, seed=5) < MAX_Z_LONG


@pytest.mark.slow
def test_sweep_with_a_fixed_probability_of_leaving_keeps_the_joint_prior_at_length():
    assert z_of_sweep(LEAVING, SWEEP, N_DRAWS_LONG // N_CHAINS, seed=5) < MAX_Z_LONG


def learn_leaving(rng, model, state, name):
    """Make a move as if transition weights said how long states last."""
    return SWEEP[name](rng, replace(model, leaving=0.0), state)


@pytest.mark.parametrize("name", ["paths", "weights"])
def test_move_that_learns_the_probability_of_leaving_is_caught(name):
    assert z_of_move(name, partial(learn_leaving, name=name), LEAVING, n_times=3) > CAUGHT


# --- moves with a fault ----------------------------------------------------------------------------------------------


def patched(target, name, replacement):
    """Return a function that puts a replacement in place, which gets the original as its first argument."""
    original = getattr(target, name)
    return mock.patch.object(target, name, lambda *args, **kwargs: replacement(original, *args, **kwargs))


def one_over_u_twice(n_unique, n_active, original=_kernels._log_move_ratio):
    """Count the choice of the feature that dies twice, as published code does."""
    return original(n_unique, n_active) - np.log(n_unique + 1)


def likelihood_without_start(active, *args, original=_kernels._series_log_likelihood):
    """Forget that the first state is drawn among all features of the series."""
    return original(active, *args) + np.log(active.sum())


def path_prior_without_start(original, counts, active, *at):
    return original(counts, active, *at) + np.log(active.sum(axis=1)).sum()


def density_with_factorials(original, current, at):
    """Take features of the same owners for indistinguishable."""
    _, sizes = np.unique(current.active, axis=1, return_counts=True)
    return original(current, at) - gammaln(sizes + 1).sum()


def without_ratio(original, *args):
    """Leave out the chance to come back."""
    return original(*args)[0], 0.0


def no_pairs(original, *args):
    """Leave out among how many pairs the two halves are chosen."""
    return 0.0 * original(*args)


def back_for_sure(original, *args, target=None, **kwargs):
    """Take the way back for certain."""
    proposed, log_probability = original(*args, target=target, **kwargs)
    return proposed, log_probability if target is None else 0.0


def odds_of_more_series(original, rng, series, orders, n_owners, concentration, *args):
    """Reckon with one series more."""
    return original(rng, series, orders, n_owners, concentration + 1, *args)


def odds_of_all_owners(original, rng, series, orders, _, concentration, alpha, kappa, active, *args):
    """Count the series itself among the owners."""
    tried = []
    for i in series:
        n_others = active.sum(axis=0) - active[i]
        counted = np.minimum(n_others + active[i], len(active) - 1.0) + active[i]  # the kernel takes the series off
        tried.append(original(rng, np.array([i]), orders, counted, concentration, alpha, kappa, active, *args))
    return tuple(np.sum(tried, axis=0).tolist())


def popularity_without_concentration(original, rng, active, concentration):
    """Forget what the prior says of popularity."""
    return original(rng, active, 1e-3 * concentration)


def switched_at_once(rng, model, state):
    """Switch all features of all series by one popularity, also those that vanish by it."""
    active, weights = state.active.copy(), state.weights.copy()
    log_odds, orders = (
        moves._draw_log_odds(rng, active, state.concentration),
        moves._draw_orders(rng, model, state.n_states),
    )
    data = moves._data_of(model, state)
    moves._flip_block(data, state, orders, log_odds, active, weights, rng, np.arange(model.n_recordings))
    kept = active.any(axis=0)
    reduced = {"ids": state.ids[kept], "whiteners": state.whiteners[kept], "path": None}
    return replace(state, active=active[:, kept], weights=weights[:, kept][:, :, kept], **reduced), ()


def faulty(name, *patches, move=None):
    """Return a move whose ingredients are replaced while it runs."""

    def broken(rng, model, state):
        with ExitStack() as stack:
            for patch in patches:
                stack.enter_context(patched(*patch))
            return (move or SWEEP[name])(rng, model, state)

    return broken


def faulty_twin(name, *patches):
    """Return a twin in Python of splits or halves, draw for draw the same move, with ingredients replaced."""
    return faulty(name, *patches, move={SPLITS: naive_splits.split_or_merge, HALVES: naive_splits.halve_or_join}[name])


def faulty_births(**broken):
    """Return births and deaths of which some kernels are replaced."""

    def move(rng, model, state):
        with naive.broken_births(**broken):
            return SWEEP["births and deaths"](rng, model, state)

    return move


def weights_without_totals(rng, model, state):
    """Draw weights as if the path told about the totals of rows."""
    counts = moves.transition_counts(model, state.path, state.n_states)
    shapes = state.alpha + state.kappa * np.eye(state.n_states) + counts
    pairs = state.active[:, :, None] & state.active[:, None, :]
    return replace(state, weights=np.maximum(rng.standard_gamma(shapes), 1e-300) * pairs), ()


def concentrations_and_weights(rng, model, state):
    state, _ = SWEEP["concentrations"](rng, model, state)
    return SWEEP["weights"](rng, model, state)


def totals_of_other_concentrations(rng, model, state):
    """Redraw alpha and kappa and keep the totals of rows, which had been integrated out, as published code does."""
    moved, info = concentrations_and_weights(rng, model, state)
    old, new = state.weights.sum(axis=2, keepdims=True), moved.weights.sum(axis=2, keepdims=True)
    return replace(moved, weights=moved.weights * np.divide(old, new, out=np.zeros_like(new), where=new > 0)), info


def weights_without_stickiness(rng, model, state):
    moved, info = moves.resample_weights(rng, model, replace(state, kappa=1e-9))
    return replace(moved, kappa=state.kappa), info


def paths_against_time(rng, model, state):
    turned = replace(state, weights=state.weights.transpose(0, 2, 1).copy())
    moved, info = moves.resample_paths(rng, model, turned)
    return replace(moved, weights=state.weights), info


def mass_by_unique_states(rng, model, state):
    """Count the features of one series alone, as the paper's text has it."""
    once = state.active.sum(axis=0) == 1
    reduced = replace(state, active=state.active[:, once], ids=state.ids[once])
    return replace(state, mass=moves.resample_buffet(rng, model, reduced)[0].mass), ()


def without_jacobian(name, *parameters):
    """Leave out the Jacobian of the logarithm: the same as a prior of one shape less."""

    def move(rng, model, state):
        priors = {p: getattr(model.hyperpriors, p) for p in parameters}
        less = {p: GammaPrior(prior.shape - 1, prior.rate) for p, prior in priors.items()}
        return SWEEP[name](rng, replace(model, hyperpriors=replace(model.hyperpriors, **less)), state)

    return move


def emissions_with_more_dof(rng, model, state):
    emission = replace(model.emission, dof=model.emission.dof + 1)
    return moves.resample_emissions(rng, replace(model, emission=emission), state)


PAIR = naive.World(2, 2, mass=2.0, concentration=1.0, alpha=0.8, kappa=1.5)  # many features of the same owners

# Per fault: the move it is in, that move, and how often it is repeated to be seen.
HALVES = "halves and joins"
SHARED, JUMPS, SPLITS = "shared features", "births and deaths", "splits and merges"
START = (naive_splits, "log_path_prior", path_prior_without_start)
FACTORIALS = (naive_splits.Allocation, "log_density", density_with_factorials)
FAULTS = {
    "wrong odds": (SHARED, faulty(SHARED, (_kernels, "flip_in_turn", odds_of_more_series)), 1),
    "odds with oneself": (SHARED, faulty(SHARED, (_kernels, "flip_in_turn", odds_of_all_owners)), 1),
    "popularity without concentration": (
        SHARED,
        faulty(
            SHARED, (moves, "_draw_log_odds", popularity_without_concentration), move=moves._resample_shared_by_halves
        ),
        3,
    ),
    "halves that switch all": (SHARED, switched_at_once, 3),
    "1 / (u + 1) twice": (JUMPS, faulty_births(_log_move_ratio=one_over_u_twice), 3),
    "births without start": (JUMPS, faulty_births(_series_log_likelihood=likelihood_without_start), 1),
    "births without proposal": (JUMPS, faulty_births(_log_prior_over_proposal=lambda *_: 0.0), 3),
    "paths against time": ("paths", paths_against_time, 1),
    "splits without start": (SPLITS, faulty_twin(SPLITS, START), 1),
    "splits with factorials": (SPLITS, faulty_twin(SPLITS, FACTORIALS), 1),
    "splits without way back": (
        SPLITS,
        faulty_twin(SPLITS, (naive_splits, "split", without_ratio), (naive_splits, "merge", without_ratio)),
        1,
    ),
    "merges never undone": (SPLITS, faulty_twin(SPLITS, (naive_splits, "allocate_split", back_for_sure)), 1),
    "halves, without way back": (
        HALVES,
        faulty_twin(HALVES, (naive_splits, "halve", without_ratio), (naive_splits, "join", without_ratio)),
        1,
    ),
    "swaps, without way back": (
        "swaps",
        faulty("swaps", (naive_swaps, "way_back", no_pairs), move=naive_swaps.swap_states),
        3,
    ),
    "swaps, without owners": (
        "swaps",
        faulty("swaps", (naive_swaps, "owners_density", no_pairs), move=naive_swaps.swap_states),
        3,
    ),
    "halves, pairs not counted": (HALVES, faulty_twin(HALVES, (naive_splits, "log_pairs", no_pairs)), 1),
    "alpha and kappa without jacobian": ("concentrations", without_jacobian("concentrations", "alpha", "kappa"), 1),
    "totals of other concentrations": ("weights", totals_of_other_concentrations, 1),
    "weights without totals": ("weights", weights_without_totals, 1),
    "weights without stickiness": ("weights", weights_without_stickiness, 1),
    "more degrees of freedom": ("emissions", emissions_with_more_dof, 1),
    "mass by unique features": ("buffet", mass_by_unique_states, 1),
    "c without jacobian": ("buffet", without_jacobian("buffet", "concentration"), 1),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_broken_move_is_caught(fault):
    name, move, n_times = FAULTS[fault]
    world = PAIR if name in (SPLITS, JUMPS) else naive.GAUSSIAN
    assert z_of_move(name, move, world, n_times=n_times, n_split_merge=1, n_halving=3, n_concentration=10) > CAUGHT


def test_broken_sweep_is_caught():
    broken = BIRTHS_ALONE | {JUMPS: faulty_births(_log_move_ratio=one_over_u_twice)}
    assert z_of_sweep(naive.GAUSSIAN, broken, 25) > CAUGHT
