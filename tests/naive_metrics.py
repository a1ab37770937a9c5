"""Slow, obvious twins of the metrics: loops over points, pairs of points and permutations, as the definitions read.

No contingency table anywhere. A segment is the set of points that carry one label.
"""

from __future__ import annotations

from itertools import combinations, permutations
from math import log, sqrt


def segments(labels):
    """All segments of a labelling, each a set of points."""
    return [{point for point, other in enumerate(labels) if other == label} for label in set(labels)]


def segment_of(labels, point):
    return {other for other in range(len(labels)) if labels[other] == labels[point]}


def purity(truth, estimate):
    n_right = 0
    for cluster in segments(estimate):
        n_right += max(len(cluster & members) for members in segments(truth))
    return n_right / len(truth)


def inverse_purity(truth, estimate):
    n_together = 0
    for members in segments(truth):
        n_together += max(len(members & cluster) for cluster in segments(estimate))
    return n_together / len(truth)


def entropy(labels):
    """Average over points of the surprise at the point's label."""
    n = len(labels)
    return sum(-log(len(segment_of(labels, point)) / n) for point in range(n)) / n


def joint_entropy(truth, estimate):
    return entropy(list(zip(truth, estimate, strict=True)))


def mutual_information(truth, estimate):
    return entropy(truth) + entropy(estimate) - joint_entropy(truth, estimate)


def nmi(truth, estimate, average="geometric"):
    true_entropy, estimated_entropy = entropy(truth), entropy(estimate)
    if len(set(truth)) == len(set(estimate)) == 1:
        return 1.0
    if len(set(truth)) == 1 or len(set(estimate)) == 1:
        return 0.0
    mean = sqrt(true_entropy * estimated_entropy) if average == "geometric" else (true_entropy + estimated_entropy) / 2
    return mutual_information(truth, estimate) / mean


def f_measure(truth, estimate, beta=1.0):
    total = 0.0
    for members in segments(truth):
        best = 0.0
        for cluster in segments(estimate):
            shared = len(members & cluster)
            if shared:
                precision, recall = shared / len(cluster), shared / len(members)
                best = max(best, (1 + beta**2) * precision * recall / (beta**2 * precision + recall))
        total += len(members) * best
    return total / len(truth)


def hamming(truth, estimate, matching="one-to-one"):
    if matching == "many-to-one":
        return 1 - purity(truth, estimate)
    # Every way of naming clusters: by distinct classes, or by names no class has.
    clusters = sorted(set(estimate))
    names = sorted(set(truth)) + [f"unmatched {index}" for index in range(len(clusters))]
    fewest = len(truth)
    for naming in permutations(names, len(clusters)):
        name_of = dict(zip(clusters, naming, strict=True))
        fewest = min(fewest, sum(name_of[label] != true for true, label in zip(truth, estimate, strict=True)))
    return fewest / len(truth)


def refinement_error(inner, outer):
    """Average over points of the fraction of the point's inner segment that lies outside its outer segment."""
    n = len(inner)
    total = 0.0
    for point in range(n):
        own = segment_of(inner, point)
        total += len(own - segment_of(outer, point)) / len(own)
    return total / n


def gce(truth, estimate):
    return min(refinement_error(truth, estimate), refinement_error(estimate, truth))


def vi(truth, estimate, base=2):
    return (2 * joint_entropy(truth, estimate) - entropy(truth) - entropy(estimate)) / log(base)


def pair_counts(truth, estimate):
    """Pairs together in both labellings, in the truth, in the estimate; and all pairs."""
    pairs = list(combinations(range(len(truth)), 2))
    in_truth = {(i, j) for i, j in pairs if truth[i] == truth[j]}
    in_estimate = {(i, j) for i, j in pairs if estimate[i] == estimate[j]}
    return len(in_truth & in_estimate), len(in_truth), len(in_estimate), len(pairs)


def rand_index(truth, estimate):
    together, in_truth, in_estimate, n_pairs = pair_counts(truth, estimate)
    if n_pairs == 0:
        return 1.0
    apart = n_pairs - in_truth - in_estimate + together
    return (together + apart) / n_pairs


def ari(truth, estimate):
    together, in_truth, in_estimate, n_pairs = pair_counts(truth, estimate)
    if n_pairs == 0:
        return 1.0
    expected = in_truth * in_estimate / n_pairs
    largest = (in_truth + in_estimate) / 2
    return 1.0 if largest == expected else (together - expected) / (largest - expected)
