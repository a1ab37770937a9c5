"""Slow, obvious twins of the summaries of sampled segmentations."""

from __future__ import annotations

from itertools import pairwise, permutations, product

import numpy as np


def changes_of(path, starts):
    """Steps at which a path changes inside a series."""
    return [t for t in range(1, len(path)) if path[t] != path[t - 1] and t not in list(starts)]


def change_probability(draws, starts):
    probability = np.zeros(len(draws[0]))
    for path in draws:
        for t in changes_of(path, starts):
            probability[t] += 1 / len(draws)
    return probability


def boundary_positions(path, draws, starts):
    """For each reported change: series, step in it, and the steps in it of the nearest change of each draw."""
    edges = sorted({*changes_of(path, starts), *map(int, starts)})
    rows = []
    for b in changes_of(path, starts):
        series = max(i for i in range(len(starts) - 1) if starts[i] <= b)
        before = max(edge for edge in edges if edge < b)
        after = min(edge for edge in edges if edge > b)
        positions = []
        for draw in draws:
            inside = [t for t in changes_of(draw, starts) if before < t < after]
            if inside:
                positions.append(min(inside, key=lambda t: (abs(t - b), t)) - starts[series])
        rows.append((series, b - starts[series], positions))
    return rows


def shortest_interval(positions, level, stride):
    """The shortest interval of `stride` steps or more that holds enough of the steps that the change may be at."""
    steps = [p + stride // 2 - late for p in positions for late in range(stride)]
    best = None
    for low in range(min(steps), max(steps) + 1):
        for high in range(low + stride - 1, max(steps) + 1):
            held = sum(low <= step <= high for step in steps)
            if held >= level * len(steps) - 1e-9:
                best = min(best or (np.inf,), (high - low, -held, low, high))
    return best[2:]


def label_draws(path, starts, stride, n_draws, rng):
    """Paths with every change between two looks moved to a random step after the first look and up to the second."""
    drawn = []
    for _ in range(n_draws):
        moved = np.array(path)
        for start, end in pairwise(starts):
            for look in range(start, end - stride, stride):
                change = look + rng.integers(1, stride + 1)
                moved[look:change], moved[change : look + stride] = path[look], path[look + stride]
        drawn.append(moved)
    return drawn


def colabelling(draws, rows, columns):
    return np.array([[np.mean([path[i] == path[j] for path in draws]) for j in columns] for i in rows])


def variation_of_information(first, second):
    """In bits, from the definition."""
    n_steps = len(first)
    information = 0.0
    for a, b in product(set(first), set(second)):
        n_a, n_b = sum(x == a for x in first), sum(y == b for y in second)
        both = sum(x == a and y == b for x, y in zip(first, second, strict=True))
        if both:
            information -= both / n_steps * (np.log2(both / n_a) + np.log2(both / n_b))
    return information


def expected_vi(path, draws):
    return np.mean([variation_of_information(list(path), list(draw)) for draw in draws])


def matched_agreement(path, draw):
    """Which steps agree under a one-to-one renaming of the draw's states that makes most steps agree, all best ones."""
    states, wanted = sorted(set(draw)), sorted(set(path))
    padded = wanted + [None] * len(states)
    agreements = {}
    for names in permutations(padded, len(states)):
        renamed = dict(zip(states, names, strict=True))
        agreement = tuple(renamed[s] == p for s, p in zip(draw, path, strict=True))
        agreements[agreement] = sum(agreement)
    most = max(agreements.values())
    return [agreement for agreement, count in agreements.items() if count == most]


def all_partitions(n_items):
    """Every partition, as labels in order of first appearance."""
    if n_items == 0:
        return [[]]
    return [[*rest, k] for rest in all_partitions(n_items - 1) for k in range(max(rest, default=-1) + 2)]
