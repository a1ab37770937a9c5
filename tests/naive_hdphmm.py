"""The sticky HDP-HMM drawn forwards, step by step, and slow twins of what its moves are made of."""

from __future__ import annotations

import math

import numpy as np

import naive

N_STATES = 4
LENGTHS = (6, 6)
MASS_PRIOR, CONCENTRATION_PRIOR, SELF_SHARE_PRIOR = (3.0, 1.5), (3.0, 1.0), (3.0, 2.0)


def draw_prior(rng, base):
    """Draw concentrations, weights, transitions, paths and series, in this order, as a dict."""
    mass = rng.gamma(MASS_PRIOR[0], 1 / MASS_PRIOR[1])
    concentration = rng.gamma(CONCENTRATION_PRIOR[0], 1 / CONCENTRATION_PRIOR[1])
    self_share = rng.beta(*SELF_SHARE_PRIOR)
    weights = dirichlet(rng, np.full(N_STATES, mass / N_STATES))
    follow, stay = concentration * (1 - self_share), concentration * self_share
    transition = np.array([dirichlet(rng, follow * weights + stay * np.eye(N_STATES)[j]) for j in range(N_STATES)])
    initial = dirichlet(rng, weights)
    paths = []
    for length in LENGTHS:
        for t in range(length):
            paths.append(pick(rng, transition[paths[-1]] if t else initial))
    emissions = [naive.sample_gaussian(rng, base) for _ in range(N_STATES)]
    return {
        "mass": mass,
        "concentration": concentration,
        "self_share": self_share,
        "weights": weights,
        "transition": transition,
        "initial": initial,
        "path": np.array(paths, dtype=np.int64),
        "means": np.array([mean for mean, _ in emissions]),
        "covariances": np.array([covariance for _, covariance in emissions]),
    }


def pick(rng, probs):
    """Draw a number from its probabilities."""
    return min(int(np.searchsorted(np.cumsum(probs), rng.random(), side="right")), len(probs) - 1)


def dirichlet(rng, parameters):
    """Draw probabilities by breaking a stick: a beta variable of each part against the rest."""
    probs, left = np.zeros(len(parameters)), 1.0
    for k in range(len(parameters) - 1):
        rest = parameters[k + 1 :].sum()
        share = rng.beta(parameters[k], rest) if parameters[k] > 0 and rest > 0 else float(rest <= 0)
        probs[k] = left * share
        left -= probs[k]
    probs[-1] = left
    probs = np.maximum(probs, 1e-300)
    return probs / probs.sum()


def draw_steps(rng, path, means, covariances):
    """Draw the steps of all series given their states."""
    roots = np.linalg.cholesky(covariances)[path]
    return means[path] + np.einsum("tde,te->td", roots, rng.standard_normal((len(path), means.shape[1])))


def count_switches(path, lengths=LENGTHS):
    """Count steps to another state within a series."""
    parts = np.split(path, np.cumsum(lengths)[:-1])
    return sum(int((part[1:] != part[:-1]).sum()) for part in parts)


def sequential_log_prior(path, lengths, weights, concentration, self_share, initial_concentration):
    """Log probability of a path with transitions integrated out, by predicting one step after the other."""
    n_states, total = len(weights), 0.0
    counts, first, place = np.zeros((n_states, n_states)), np.zeros(n_states), 0
    for length in lengths:
        for t in range(length):
            k = path[place + t]
            if t == 0:
                seen, parameters = first, initial_concentration * weights
            else:
                j = path[place + t - 1]
                seen = counts[j]
                parameters = concentration * ((1 - self_share) * weights + self_share * np.eye(n_states)[j])
            total += math.log((parameters[k] + seen[k]) / (parameters.sum() + seen.sum()))
            seen[k] += 1
        place += length
    return total


def table_probs(n_customers, concentration):
    """Probability of 0, 1, ..., n tables, by adding one customer after the other."""
    probs = np.zeros(n_customers + 1)
    probs[0] = 1.0
    for before in range(n_customers):
        opens = concentration / (concentration + before)
        shifted = np.concatenate([[0.0], probs[:-1]])
        probs = probs * (1 - opens) + shifted * opens
    return probs
