"""Slow twin of swaps: in Python, draw for draw."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from homothety.models.emissions.regression import Statistics, log_marginals, statistics_of
from homothety.models.ibphmm.model import Tried, log_owner_prior


def swap_states(rng, model, state):
    active, path, n_accepted = np.array(state.active), np.array(state.path), 0
    n_states, state = state.n_states, replace(state, weights=None, whiteners=None)
    n_trials = model.proposals.n_swaps if model.n_recordings > 1 and n_states > 1 else 0
    for _ in range(n_trials):
        a, b = int(rng.integers(0, n_states)), int(rng.integers(0, n_states - 1))
        b += b >= a
        order = np.flatnonzero(active[:, a] | active[:, b])
        rng.shuffle(order)
        blocks = [parts_of(model, path, i, n_states, a, b) for i in range(model.n_recordings)]
        _, log_back = choose(rng, model, blocks, order, follows=True)
        turned, log_forth = choose(rng, model, blocks, order, follows=False)
        moved, moved_path = active.copy(), path.copy()
        for i in turned:
            moved[i, [a, b]] = active[i, [b, a]]
            first, last = model.bounds[i]
            own = path[first:last]
            moved_path[first:last] = np.where(own == a, b, np.where(own == b, a, own))
        if not turned or not moved.any(axis=0).all():
            continue
        log_ratio = log_density(model, moved, moved_path, state) - log_density(model, active, path, state)
        if np.log(rng.random()) < log_ratio + way_back(log_back) - log_forth:
            active, path, n_accepted = moved, moved_path, n_accepted + 1
    return replace(state, active=active, path=path), Tried(n_trials, n_accepted)


def way_back(log_back):
    """Return the log probability of the way back; a fault leaves it out."""
    return log_back


def parts_of(model, path, i, n_states, a, b):
    """Return sizes and scatters of what a series has of two states."""
    first, last = model.bounds[i]
    found = statistics_of(model.emission, model.z[first:last], path[first:last], n_states)
    return found.sizes[[a, b]], found.scales[[a, b]] - model.emission.prior_scale


def choose(rng, model, blocks, order, *, follows):
    """Return in which series the states change places, and the log probability of that."""
    turned, total = [], 0.0
    sizes, scales = np.zeros(2), np.array([model.emission.prior_scale] * 2)
    for place, i in enumerate(order):
        own_sizes, own_scales = blocks[i]
        stays, turns = (
            log_marginals(model.emission, Statistics(sizes + own_sizes[way], scales + own_scales[way])).sum()
            for way in ([0, 1], [1, 0])
        )
        turn = False
        if place > 0:
            log_all = np.logaddexp(stays, turns)
            turn = not follows and rng.random() < np.exp(turns - log_all)
            total += (turns if turn else stays) - log_all
        turned += [i] * int(turn)
        way = [1, 0] if turn else [0, 1]
        sizes, scales = sizes + own_sizes[way], scales + own_scales[way]
    return turned, total


def log_density(model, active, path, state):
    """Log density of features and data given the paths, parameters integrated out; paths keep theirs."""
    n_states = active.shape[1]
    evidence = log_marginals(model.emission, statistics_of(model.emission, model.z, path, n_states)).sum()
    return evidence + owners_density(active, state)


def owners_density(active, state):
    """Log density of who has which feature; a fault leaves it out."""
    return log_owner_prior(active.sum(axis=0), len(active), state.mass, state.concentration)
