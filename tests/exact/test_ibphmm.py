"""The chain of the IBP-HMM against a posterior enumerated in full, and features without data against their prior."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import naive_ibphmm as naive
from homothety.arrays import frozen
from homothety.models.hmm.messages import has_short_stay
from homothety.models.ibphmm import Proposals, _kernels, default_sweep, init_state, moves
from naive import total_variation

N_SWEEPS, N_SWEEPS_LONG = 5_000, 200_000
MAX_DISTANCE = {"n_states": 0.03, "patterns": 0.06}  # total variation; twice what so many sweeps leave
MAX_DISTANCE_LONG = 0.01


# --- the smallest posterior ------------------------------------------------------------------------------------------

# Probabilities to four digits, worked out by other code (docs/model.md, section 8.2).
KNOWN_N_FEATURES = {1: 0.1484, 2: 0.3892, 3: 0.2838, 4: 0.1247, 5: 0.0405, 6: 0.0106, 7: 0.0023}
KNOWN_PATTERNS = {
    (1, 0, 1): 0.1720,
    (0, 0, 1): 0.1484,
    (1, 1, 0): 0.0759,
    (0, 0, 2): 0.0728,
    (1, 1, 1): 0.0696,
    (0, 1, 1): 0.0685,
}


def test_enumeration_gives_the_probabilities_that_are_known():
    exact = naive.tiny_posterior()
    assert {p: exact[p] for p in KNOWN_PATTERNS} == pytest.approx(KNOWN_PATTERNS, abs=6e-5)
    by_number = naive.by_n_states(exact)
    assert {n: by_number[n] for n in KNOWN_N_FEATURES} == pytest.approx(KNOWN_N_FEATURES, abs=6e-5)


def sweep_with(*, splits):
    """The default sweep with the four parameters left where they are."""
    sweep = default_sweep()
    left_out = {"concentrations", "buffet"} | (set() if splits else {"splits and merges", "halves and joins", "swaps"})
    return {name: move for name, move in sweep.items() if name not in left_out}


def tiny_chain(n_sweeps, sweep, birth, seed, weight=1.0):
    """Pattern of owners after every sweep."""
    return chain_in(replace(naive.TINY, weight=weight), naive.TINY_STEPS, n_sweeps, sweep, birth, seed)


def chain_in(world, steps, n_sweeps, sweep, birth, seed):
    """The same for any world and its steps."""
    rng, proposals = (
        np.random.default_rng(seed),
        Proposals(birth=birth, window=(1, 2), n_split_merge=1, n_halving=1, n_switches=1),
    )
    model = naive.make_model(world, naive.tiny_sequences(steps), proposals)
    at = {"mass": world.mass, "concentration": world.concentration, "alpha": world.alpha, "kappa": world.kappa}
    state, patterns = init_state(rng, model, n_shared=1, n_unique=0, **at), []
    for _ in range(n_sweeps):
        for move in sweep.values():
            state, _ = move(rng, model, state)
        patterns.append(naive.pattern_of(state.active))
    return patterns


def distances(n_sweeps, sweep, birth, seed=1, weight=1.0):
    """Total variation from the posterior: of the number of features, and of patterns of owners."""
    return distances_between(tiny_chain(n_sweeps, sweep, birth, seed, weight), naive.tiny_posterior(weight))


def distances_between(patterns, exact):
    """The same for given patterns after every sweep, and the posterior they should follow."""
    observed = {pattern: n / len(patterns) for pattern, n in Counter(patterns).items()}
    return {
        "n_states": total_variation(naive.by_n_states(exact), naive.by_n_states(observed)),
        "patterns": total_variation(exact, observed),
    }


SETTINGS = {
    "prior": (sweep_with(splits=False), "prior"),
    "prior, splits": (sweep_with(splits=True), "prior"),
    "data-driven": (sweep_with(splits=False), "data-driven"),
    "data-driven, splits": (sweep_with(splits=True), "data-driven"),
}


@pytest.mark.parametrize("name", ["prior", "data-driven", "data-driven, splits"])
def test_patterns_follow_the_posterior(name):
    found = distances(N_SWEEPS, *SETTINGS[name])
    assert all(found[what] < bound for what, bound in MAX_DISTANCE.items()), found


def test_patterns_follow_the_posterior_of_steps_that_count_less():
    found = distances(N_SWEEPS, *SETTINGS["data-driven, splits"], weight=0.3)
    assert all(found[what] < bound for what, bound in MAX_DISTANCE.items()), found
    # The two posteriors are far enough apart to tell which one the chain follows.
    assert total_variation(naive.tiny_posterior(), naive.tiny_posterior(0.3)) > 2 * MAX_DISTANCE["patterns"]


@pytest.mark.slow
def test_patterns_follow_the_posterior_of_steps_that_count_less_at_length():
    found = distances(N_SWEEPS_LONG // 2, *SETTINGS["data-driven, splits"], seed=3, weight=0.3)
    assert max(found.values()) < MAX_DISTANCE_LONG, found


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_patterns_follow_the_posterior_at_length(name):
    found = distances(N_SWEEPS_LONG, *SETTINGS[name], seed=2)
    assert max(found.values()) < MAX_DISTANCE_LONG, found


def double_choice(n_unique, n_active, original=_kernels._log_move_ratio):
    """Count the choice of the feature that dies twice, as published code does."""
    return original(n_unique, n_active) - np.log(n_unique + 1)


def test_published_ratio_is_caught():
    with naive.broken_births(_log_move_ratio=double_choice):
        found = distances(N_SWEEPS, *SETTINGS["data-driven"])
    assert found["n_states"] > 2 * MAX_DISTANCE["n_states"]


# --- blocks of dimensions --------------------------------------------------------------------------------------------


def block_distances(n_sweeps, seed=1, structure_weights=None):
    """Total variation from the posterior of steps in two blocks.

    `structure_weights` is what kernels take for the weights; steps are scaled by the right ones.
    """
    world, setting = replace(naive.TINY_BLOCKS), SETTINGS["data-driven, splits"]
    if structure_weights is not None:
        known, _ = world.emission.structure, world.emission.dim_weights
        world.emission.__dict__["structure"] = known._replace(weights=frozen(np.array(structure_weights)))
    patterns = chain_in(world, naive.TINY_BLOCK_STEPS, n_sweeps, *setting, seed)
    return distances_between(patterns, naive.tiny_posterior(world.weights))


def test_patterns_follow_the_posterior_of_blocks_with_weights():
    found = block_distances(N_SWEEPS // 2)
    assert all(found[what] < bound for what, bound in MAX_DISTANCE.items()), found
    # Weights the other way round, and the larger one for both, have another posterior.
    exact = naive.tiny_posterior(naive.TINY_BLOCKS.weights)
    for other in ((0.9, 0.25), (0.9, 0.9)):
        assert total_variation(exact, naive.tiny_posterior(other)) > 2 * MAX_DISTANCE["patterns"]


def test_blocks_that_count_steps_in_full_are_caught():
    found = block_distances(N_SWEEPS // 4, structure_weights=(1.0, 1.0))
    assert found["n_states"] > 2 * MAX_DISTANCE["n_states"]


@pytest.mark.slow
def test_patterns_follow_the_posterior_of_blocks_with_weights_at_length():
    found = block_distances(N_SWEEPS_LONG // 2, seed=3)
    assert max(found.values()) < MAX_DISTANCE_LONG, found


# --- a least stay ----------------------------------------------------------------------------------------------------

N_STAYING = 2_000  # sweeps
MAX_STAYING_DISTANCE = 0.12  # total variation over numbers of features and partitions; twice what so many sweeps leave


def staying_chain(n_sweeps, sweep, seed, world=naive.STAYING):
    """Number of features and partition of the steps after every sweep, with a least stay of two."""
    rng = np.random.default_rng(seed)
    model = naive.make_model(
        world, naive.staying_sequences(), Proposals(window=(1, 2), n_split_merge=1, n_halving=1, n_switches=1)
    )
    at = {"mass": world.mass, "concentration": world.concentration, "alpha": world.alpha, "kappa": world.kappa}
    state, found = init_state(rng, model, n_shared=1, n_unique=0, **at), []
    for _ in range(n_sweeps):
        for move in sweep.values():
            state, _ = move(rng, model, state)
        found.append((state.n_states, naive.renumbered(state.path)))
    return found


def staying_distance(n_sweeps, sweep, seed=1):
    """Total variation between a chain and the posterior."""
    counts = Counter(staying_chain(n_sweeps, sweep, seed))
    return total_variation(naive.staying_posterior(), {key: n / n_sweeps for key, n in counts.items()})


def all_transitions_counted(rng, model, state):
    """Draw weights as if a stay lasted its first steps by choice."""
    return moves.resample_weights(rng, replace(model, least_stay=1), state)


def any_stay_expected(rng, model, state):
    """Switch features as if stays could have any length."""
    return moves.resample_shared_states(rng, replace(model, least_stay=1), state)


def any_stay_of_newborns_expected(rng, model, state):
    """Let features be born and die as if stays could have any length."""
    return moves.resample_unique_states(rng, replace(model, least_stay=1), state)


def paths_until_long_enough(rng, model, state):
    """Draw paths as if stays could have any length, again and again until they are long enough."""
    moved, info = moves.resample_paths(rng, replace(model, least_stay=1), state)
    while has_short_stay(moved.path, model.starts, model.least_stay):
        moved, info = moves.resample_paths(rng, replace(model, least_stay=1), state)
    return moved, info


FREE_STAYS = replace(naive.STAYING, least_stay=1)
STAYING_SWEEP = sweep_with(splits=True)
FAULTY_STAYS = {
    "weights": all_transitions_counted,
    "shared features": any_stay_expected,
    "births and deaths": any_stay_of_newborns_expected,
}


def test_partitions_follow_the_posterior_with_a_least_stay():
    assert staying_distance(N_STAYING, STAYING_SWEEP) < MAX_STAYING_DISTANCE
    # Far enough from the posterior without one to tell which one the chain follows.
    assert total_variation(naive.staying_posterior(), naive.staying_posterior(FREE_STAYS)) > 2 * MAX_STAYING_DISTANCE


def test_paths_drawn_without_regard_to_the_least_stay_are_caught():
    broken = sweep_with(splits=False) | {"paths": paths_until_long_enough}
    assert staying_distance(N_STAYING // 2, broken) > 1.25 * MAX_STAYING_DISTANCE


@pytest.mark.slow
@pytest.mark.parametrize("splits", [False, True])
def test_partitions_follow_the_posterior_with_a_least_stay_at_length(splits):
    sweep = sweep_with(splits=splits)
    assert staying_distance(N_SWEEPS_LONG, sweep, seed=2) < MAX_DISTANCE_LONG


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTY_STAYS)
def test_broken_least_stay_is_caught_at_length(name):
    broken = STAYING_SWEEP | {name: FAULTY_STAYS[name]}
    assert staying_distance(N_SWEEPS_LONG // 2, broken, seed=2) > 2 * MAX_DISTANCE_LONG


# --- a fixed probability of leaving ----------------------------------------------------------------------------------

LEAVING = replace(naive.STAYING, least_stay=1, leaving=0.3, kappa=20.0)


def leaving_distance(n_sweeps, sweep, seed=1, world=LEAVING):
    """Total variation between a chain and the posterior."""
    counts = Counter(staying_chain(n_sweeps, sweep, seed, world))
    return total_variation(naive.staying_posterior(world), {key: n / n_sweeps for key, n in counts.items()})


def without_leaving(name):
    """Make a move of the sweep as if transition weights said how long states last."""

    def broken(rng, model, state):
        return STAYING_SWEEP[name](rng, replace(model, leaving=0.0), state)

    return broken


def test_partitions_follow_the_posterior_with_a_fixed_probability_of_leaving():
    assert leaving_distance(N_STAYING, STAYING_SWEEP) < MAX_STAYING_DISTANCE
    # Far enough from the posterior without one to tell which one the chain follows.
    free = replace(LEAVING, leaving=0.0)
    assert total_variation(naive.staying_posterior(free), naive.staying_posterior(LEAVING)) > 2 * MAX_STAYING_DISTANCE


def test_paths_that_are_left_by_their_weights_are_caught():
    broken = STAYING_SWEEP | {"paths": without_leaving("paths")}
    del broken["halves and joins"], broken["swaps"]  # which would make up for it
    assert leaving_distance(N_STAYING // 2, broken) > 1.25 * MAX_STAYING_DISTANCE


@pytest.mark.slow
@pytest.mark.parametrize("least_stay", [1, 2])
def test_partitions_follow_the_posterior_with_a_fixed_probability_of_leaving_at_length(least_stay):
    world = replace(LEAVING, least_stay=least_stay)
    assert leaving_distance(N_SWEEPS_LONG, STAYING_SWEEP, seed=2, world=world) < MAX_DISTANCE_LONG


@pytest.mark.slow
@pytest.mark.parametrize("name", ["shared features", "births and deaths", "splits and merges", "weights"])
def test_broken_probability_of_leaving_is_caught_at_length(name):
    broken = STAYING_SWEEP | {name: without_leaving(name)}
    assert leaving_distance(N_SWEEPS_LONG // 2, broken, seed=2) > 2 * MAX_DISTANCE_LONG


# --- features without data -------------------------------------------------------------------------------------------


def n_unique_chain(birth, n_sweeps, seed):
    """Number of own features of both series after every attempt, the likelihood put to one. (n_sweeps, 2)"""
    rng, world = np.random.default_rng(seed), replace(naive.TINY, mass=3.0, concentration=0.8)
    model = naive.make_model(world, naive.tiny_sequences(), Proposals(birth=birth, window=(1, 2)))
    state = init_state(rng, model, n_shared=1, n_unique=0, mass=world.mass, concentration=world.concentration)
    move, chain = default_sweep()["births and deaths"], []
    with naive.broken_births(_series_log_likelihood=lambda *_: 0.0):
        for _ in range(n_sweeps):
            state, _ = move(rng, model, state)
            chain.append(state.active.sum(axis=1) - 1)
    return np.array(chain), world.mass * world.concentration / (world.concentration + 1)


def distance_from_poisson(birth, n_sweeps=8_000):
    chain, rate = n_unique_chain(birth, n_sweeps, seed=3)
    numbers = np.arange(chain.max() + 10)
    exact = dict(zip(numbers.tolist(), stats.poisson.pmf(numbers, rate), strict=True))
    counts = Counter(chain.ravel().tolist())
    return total_variation(exact, {n: count / chain.size for n, count in counts.items()})


@pytest.mark.parametrize("birth", ["prior", "data-driven"])
def test_without_likelihood_own_features_are_poisson(birth):
    assert distance_from_poisson(birth) < 0.03


def test_without_likelihood_published_ratio_is_caught():
    with naive.broken_births(_log_move_ratio=double_choice):
        assert distance_from_poisson("prior") > 0.1
