"""Slow, obvious twins of the messages of a hidden Markov model, in logarithms; and every path, enumerated."""

from __future__ import annotations

from itertools import groupby, product

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


# --- every path, where a state that is entered lasts at least some steps ---------------------------------------------


def stays_of(path):
    """States of a path and how long each stay lasts, in order."""
    return [(k, len(list(steps))) for k, steps in groupby(path)]


def stay_transitions(path, least_stay):
    """Transitions of a path in order, stay by stay, or None if a stay is too short."""
    transitions, stays = [], stays_of(path)
    for place, (k, length) in enumerate(stays):
        is_first, is_last = place == 0, place == len(stays) - 1
        if length < least_stay and not (is_first or is_last):
            return None
        transitions += [(k, k)] * (length - 1 if is_first else max(length - least_stay, 0))
        if not is_last:
            transitions.append((k, stays[place + 1][0]))
    return transitions


def stay_counts(path, least_stay, n_states):
    """Transitions of a path (n_states, n_states), or None if a stay is too short."""
    counts, transitions = np.zeros((n_states, n_states)), stay_transitions(path, least_stay)
    for pair in transitions or ():
        counts[pair] += 1
    return None if transitions is None else counts


def log_stay_joint(path, log_evidence, initial, transition, least_stay):
    """Log density of a path, as positions of states, and its series; minus infinity with a stay that is too short."""
    counts = stay_counts(path, least_stay, len(initial))
    if counts is None:
        return -np.inf
    taken = counts > 0
    log_moves = (counts[taken] * log_of(transition[taken])).sum()
    return float(log_of(initial[path[0]]) + log_moves + sum(log_evidence[t, k] for t, k in enumerate(path)))


def stay_probs(log_evidence, initial, transition, least_stay):
    """Probability of every path given the series, by path, and the log-likelihood."""
    paths = all_paths(len(initial), len(log_evidence))
    logs = np.array([log_stay_joint(path, log_evidence, initial, transition, least_stay) for path in paths])
    return dict(zip(paths, np.exp(logs - logsumexp(logs)), strict=True)), float(logsumexp(logs))


def stay_marginals(log_evidence, initial, transition, least_stay):
    """Probabilities of states (n_steps, n_states) and expected numbers of transitions (n_states, n_states)."""
    marginals, pairs = np.zeros(log_evidence.shape), np.zeros_like(transition)
    for path, prob in stay_probs(log_evidence, initial, transition, least_stay)[0].items():
        if prob > 0:
            marginals[np.arange(len(path)), path] += prob
            pairs += prob * stay_counts(path, least_stay, len(initial))
    return marginals, pairs


def log_stay_likelihood(log_evidence, initial, transition, least_stay):
    """Log-likelihood by the plain filter of a chain whose states also say for how many steps they must go on.

    State k with r steps to go is number k * least_stay + r; one with none to go may be left.
    """
    n, d = len(initial), least_stay
    moves, start = np.zeros((n * d, n * d)), np.zeros(n * d)
    for j in range(n):
        start[j * d] = initial[j]
        for r in range(1, d):
            moves[j * d + r, j * d + r - 1] = 1.0
        for k in range(n):
            moves[j * d, k * d + (0 if j == k else d - 1)] += transition[j, k]
    return log_likelihood(np.repeat(log_evidence, d, axis=1), start, moves)


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
