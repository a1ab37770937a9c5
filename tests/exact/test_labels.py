"""Chains that know the labels of some steps against posteriors enumerated in full."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import naive_ibphmm as naive
from homothety.models.hmm.labels import NOTHING_KNOWN, KnownLabels, held_path
from homothety.models.ibphmm import Proposals, default_sweep, init_state
from naive import total_variation

N_SWEEPS, N_SWEEPS_LONG = 3_000, 100_000
MAX_DISTANCE, MAX_DISTANCE_LONG = 0.1, 0.02  # total variation; twice what so many sweeps leave

# Of five steps and one. The first two labels are near each other in value: without labels they would share a state.
LABELS = np.array([0, -1, 1, -1, 0, 1])
FREE_STAYS = replace(naive.STAYING, least_stay=1)
WORLDS = {"any stay": FREE_STAYS, "least stay": naive.STAYING}
KNOWN = {"actions": KnownLabels(LABELS), "states": KnownLabels(LABELS, is_state=True)}


def posterior(world, known):
    """Probability of every number of states and partition of the steps that the labels leave possible."""
    held = {}
    for (number, partition), probability in naive.staying_posterior(world).items():
        labels = [
            {int(one) for one, k in zip(known.steps, partition, strict=True) if k == state and one >= 0}
            for state in set(partition)
        ]
        several = sum(map(len, labels)) > len(set().union(*labels))
        if max(map(len, labels)) > 1 or (known.is_state and several):
            continue
        # Each state that holds a label has drawn it among the two labels and none.
        n_tagged = 0 if known.is_state else sum(map(bool, labels))
        held[number, partition] = probability * 3.0**-n_tagged
    total = sum(held.values())
    return {key: value / total for key, value in held.items()}


def chain(n_sweeps, world, known, seed=1, splits=True, **replaced):
    """Number of states and partition of the steps after every sweep."""
    rng = np.random.default_rng(seed)
    proposals = Proposals(window=(1, 2), n_split_merge=1, n_halving=1, n_switches=1)
    model = replace(naive.make_model(world, naive.staying_sequences(), proposals), known=known)
    left_out = {"concentrations", "buffet"} | (set() if splits else {"splits and merges", "halves and joins", "swaps"})
    sweep = {name: move for name, move in (default_sweep() | replaced).items() if name not in left_out}
    at = {"mass": world.mass, "concentration": world.concentration, "alpha": world.alpha, "kappa": world.kappa}
    state, found = init_state(rng, model, n_shared=1, n_unique=0, **at), []
    for _ in range(n_sweeps):
        for move in sweep.values():
            state, _ = move(rng, model, state)
        found.append((state.n_states, naive.renumbered(state.path)))
    return found


def distance(n_sweeps, world, known, **options):
    """Total variation between a chain and the posterior."""
    counts = Counter(chain(n_sweeps, world, known, **options))
    return total_variation(posterior(world, known), {key: n / n_sweeps for key, n in counts.items()})


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("known", KNOWN)
def test_partitions_follow_the_posterior_given_labels(world, known):
    assert distance(N_SWEEPS, WORLDS[world], KNOWN[known]) < MAX_DISTANCE
    # Far enough from the posterior without labels to tell which one the chain follows.
    free = naive.staying_posterior(WORLDS[world])
    assert total_variation(free, posterior(WORLDS[world], KNOWN[known])) > 2 * MAX_DISTANCE


@pytest.mark.parametrize("known", KNOWN)
def test_labels_that_only_correct_what_is_reported_are_caught(known):
    starts, counts = np.array(naive.STAYING_STARTS), Counter()
    for _, partition in chain(N_SWEEPS // 2, FREE_STAYS, NOTHING_KNOWN):
        held = naive.renumbered(held_path(np.array(partition), starts, KNOWN[known]))
        counts[held] += 2 / N_SWEEPS
    exact = Counter()
    for (_, partition), probability in posterior(FREE_STAYS, KNOWN[known]).items():
        exact[partition] += probability
    assert total_variation(exact, counts) > 2 * MAX_DISTANCE


@pytest.mark.slow
@pytest.mark.parametrize("splits", [False, True])
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("known", KNOWN)
def test_partitions_follow_the_posterior_given_labels_at_length(known, world, splits):
    assert distance(N_SWEEPS_LONG, WORLDS[world], KNOWN[known], splits=splits, seed=2) < MAX_DISTANCE_LONG
