"""Slow, obvious twins of the messages of a hidden Markov model, in logarithms; and every path, enumerated."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.special import logsumexp


def log_of(values):
    """Logarithm, of zero too."""
    with np.errstate(divide="ignore"):
        return np.log(values)


# --- every path ------------------------------------------------------------------------------------------------------


def all_paths(n_states, n_steps):
    return list(product(range(n_states), repeat=n_steps))


def log_joint(path, log_evidence, initial, transition):
    """Log density of a path, as positions of states, and its series."""
    value = log_of(initial[path[0]]) + log_evidence[0, path[0]]
    for t in range(1, len(path)):
        value += log_of(transition[path[t - 1], path[t]]) + log_evidence[t, path[t]]
    return float(value)


def path_probs(log_evidence, initial, transition):
    """Probability of every path given the series, by path."""
    paths = all_paths(len(initial), len(log_evidence))
    logs = np.array([log_joint(path, log_evidence, initial, transition) for path in paths])
    return dict(zip(paths, np.exp(logs - logsumexp(logs)), strict=True))


def enumerated_log_likelihood(log_evidence, initial, transition):
    paths = all_paths(len(initial), len(log_evidence))
    return float(logsumexp([log_joint(path, log_evidence, initial, transition) for path in paths]))


def enumerated_marginals(log_evidence, initial, transition):
    """Probabilities of states (n_steps, n_states) and expected numbers of transitions (n_states, n_states)."""
    marginals, pairs = np.zeros(log_evidence.shape), np.zeros_like(transition)
    for path, prob in path_probs(log_evidence, initial, transition).items():
        for t, k in enumerate(path):
            marginals[t, k] += prob
            if t:
                pairs[path[t - 1], k] += prob
    return marginals, pairs


# --- messages in logarithms ------------------------------------------------------------------------------------------


def log_forward(log_evidence, initial, transition):
    """Log density of the series up to each step and the state there, (n_steps, n_states)."""
    log_transition = log_of(transition)
    rows = [log_of(initial) + log_evidence[0]]
    for evidence in log_evidence[1:]:
        rows.append(evidence + np.logaddexp.reduce(rows[-1][:, None] + log_transition, axis=0))
    return np.array(rows)


def log_backward(log_evidence, transition):
    """Log density of the series after each step given the state there, (n_steps, n_states)."""
    log_transition = log_of(transition)
    rows = [np.zeros(log_evidence.shape[1])]
    for evidence in log_evidence[:0:-1]:
        rows.append(np.logaddexp.reduce(log_transition + evidence + rows[-1], axis=1))
    return np.array(rows[::-1])


def log_likelihood(log_evidence, initial, transition):
    return float(logsumexp(log_forward(log_evidence, initial, transition)[-1]))


def filtered_probs(log_evidence, initial, transition):
    forward = log_forward(log_evidence, initial, transition)
    return np.exp(forward - logsumexp(forward, axis=1, keepdims=True))


def smoothed(log_evidence, initial, transition):
    """Probabilities of states and expected numbers of transitions, by forward and backward messages."""
    forward, backward = log_forward(log_evidence, initial, transition), log_backward(log_evidence, transition)
    total, pairs = logsumexp(forward[-1]), np.zeros_like(transition)
    for t in range(1, len(log_evidence)):
        log_pair = forward[t - 1][:, None] + log_of(transition) + log_evidence[t] + backward[t]
        pairs += np.exp(log_pair - total)
    return np.exp(forward + backward - total), pairs


def draw_path(uniforms, filtered, transition, states):
    """Draw a path last step first; `uniforms` are used in that order."""
    path = []
    for uniform, row in zip(uniforms, filtered[::-1], strict=True):
        weights = row * transition[:, path[-1]] if path else row
        path.append(int(np.searchsorted(np.cumsum(weights), uniform * weights.sum(), side="right")))
    return np.array(states)[path[::-1]]


def viterbi(log_evidence, initial, transition):
    """Best of all paths, the first in the order of `argmax`, and its log density."""
    scores, origins = log_of(initial) + log_evidence[0], []
    for evidence in log_evidence[1:]:
        candidates = scores[:, None] + log_of(transition)
        origins.append(candidates.argmax(axis=0))
        scores = candidates.max(axis=0) + evidence
    path = [int(scores.argmax())]
    for origin in origins[::-1]:
        path.append(int(origin[path[-1]]))
    return path[::-1], float(scores.max())


# --- filters in plain probabilities, right and broken ----------------------------------------------------------------


def scaled_filter(log_evidence, states, initial, transition, fault=None):
    """Log-likelihood by probabilities normalised at every step, with a fault if asked for."""
    transition = transition.T if fault == "wrong direction" else transition
    total, weights = 0.0, np.asarray(initial)
    for t, evidence in enumerate(log_evidence):
        if t:
            weights = weights @ transition
        offset = evidence.max() if fault == "largest of all states" else evidence[states].max()
        weights = weights * np.exp(evidence[states] - offset)
        with np.errstate(divide="ignore", invalid="ignore"):
            total += np.log(weights.sum()) + (0.0 if fault == "no offset" else offset)
            weights = weights / weights.sum()
    if fault == "no initial":
        total += np.log(len(states))
    return float(total)


FAULTS = ("wrong direction", "largest of all states", "no offset", "no initial")
