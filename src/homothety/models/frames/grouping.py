"""From states to actions: which states of the aligned recordings are one action (section 6 of the model).

States stay apart unless there is evidence that they are one. Two kinds of evidence count, in the common frame:

- *moved copies*: covariances of all blocks and means of all blocks but points agree, the place is free;
- *turned on their own*: the axis lengths of all blocks agree, for states that no recording has both of.

Actions vary from one performance to the next, and hundreds of steps would show that any two states differ. So no state
counts as more than `MOST_STEPS` independent steps, which is as if the covariance of a state varied about that of its
action with as many degrees of freedom.
"""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import multigammaln

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.models.frames.blocks import Blocks

MOST_STEPS = 20.0  # independent steps that a state counts as, at most
PRIOR_SCALE = 0.2  # prior expectation of a covariance, as a multiple of the variance of the block
MEAN_STRENGTH = 0.1  # steps that the prior mean of a vector counts as
SHARED = 0.1  # of the steps of a state: a recording with more of them has it
MOST_ENUMERATED = 6  # states whose partitions are all looked at


class BlockSummary(NamedTuple):
    """What states look like in one block."""

    sizes: FloatArray  # (n_states,) independent steps, at most `MOST_STEPS`
    means: FloatArray  # (n_states, n)
    scatters: FloatArray  # (n_states, n, n) about the means, for that many steps
    scale: FloatArray  # (n, n) of the prior
    has_place: bool


class StateSummary(NamedTuple):
    """All that the grouping of states looks at."""

    blocks: list[BlockSummary]
    apart: BoolArray  # (n_states, n_states) whether no recording has both
    n_angles: int


def summarise_states(
    blocks: Blocks, weights: FloatArray, aligned: FloatArray, path: IntArray, starts: IntArray
) -> StateSummary:
    """Return what the states of a path through aligned steps look like; states are numbered from zero without gaps."""
    n_states = int(path.max()) + 1
    members = [aligned[path == k] for k in range(n_states)]
    summaries = []
    for block, kind, weight in zip(blocks.slices, blocks.kinds, weights, strict=True):
        parts = [steps[:, block] for steps in members]
        sizes = np.minimum([weight * len(part) for part in parts], MOST_STEPS)
        means = np.stack([part.mean(axis=0) for part in parts])
        covariances = [(part - mean).T @ (part - mean) / len(part) for part, mean in zip(parts, means, strict=True)]
        variance = max(float(aligned[:, block].var(axis=0).mean()), np.finfo(float).tiny)
        scale = PRIOR_SCALE * variance * np.eye(means.shape[1])
        summaries.append(
            BlockSummary(sizes, means, sizes[:, None, None] * np.stack(covariances), scale, kind == "point")
        )
    return StateSummary(summaries, never_together(path, starts, n_states), blocks.n_angles)


def never_together(path: IntArray, starts: IntArray, n_states: int) -> BoolArray:
    """Whether no recording has both of two states, (n_states, n_states)."""
    counts = np.stack([np.bincount(path[a:b], minlength=n_states) for a, b in pairwise(starts)])
    has = (counts > SHARED * counts.sum(axis=0)).astype(np.float64)
    return np.asarray(has.T @ has == 0)


def log_evidence(states: StateSummary, group: tuple[int, ...]) -> float:
    """Log marginal likelihood that some states are one action, by the better of both kinds of evidence."""
    chosen = list(group)
    moved = sum(log_moved_copies(block, chosen) for block in states.blocks)
    if len(chosen) == 1 or not all(states.apart[a, b] for a, b in combinations(chosen, 2)):
        return float(moved)
    # Each state but one has a rotation of its own, of which that many angles are chosen as suits best.
    price = 0.5 * sum(rotation_dims(block) for block in states.blocks) * np.log(MOST_STEPS) * (len(chosen) - 1)
    turned = sum(log_turned_copies(block, chosen) for block in states.blocks) - price
    return float(np.logaddexp(moved, turned) - np.log(2.0))


def rotation_dims(block: BlockSummary) -> int:
    """Return the dimensions of the rotations of a block."""
    n = block.means.shape[1]
    return n * (n - 1) // 2


def log_moved_copies(block: BlockSummary, chosen: list[int]) -> float:
    """Log marginal likelihood of a block if states share its covariance, and its mean unless it has a place."""
    size, scatter = block.sizes[chosen].sum(), block.scatters[chosen].sum(axis=0)
    if block.has_place:
        return log_marginal(size, scatter, block.scale)
    mean = block.sizes[chosen] @ block.means[chosen] / size
    apart = block.means[chosen] - mean
    scatter = scatter + np.einsum("k,ka,kb->ab", block.sizes[chosen], apart, apart)
    shrunk = MEAN_STRENGTH * size / (MEAN_STRENGTH + size)
    scatter = scatter + shrunk * np.outer(mean, mean)
    return log_marginal(size, scatter, block.scale) + 0.5 * len(mean) * np.log(MEAN_STRENGTH / (MEAN_STRENGTH + size))


def log_turned_copies(block: BlockSummary, chosen: list[int]) -> float:
    """Log marginal likelihood of a block if states share the lengths of its axes, and nothing else."""
    lengths = np.linalg.eigvalsh(block.scatters[chosen]).sum(axis=0)
    return log_marginal(block.sizes[chosen].sum(), np.diag(lengths), block.scale)


def log_marginal(size: float, scatter: FloatArray, scale: FloatArray) -> float:
    """Log marginal likelihood of a scatter about a known mean under an inverse-Wishart prior."""
    n = len(scale)
    dof = n + 2.0
    before, after = np.linalg.slogdet(scale)[1], np.linalg.slogdet(scale + scatter)[1]
    log_gamma = multigammaln((dof + size) / 2, n) - multigammaln(dof / 2, n)
    return float(log_gamma + dof / 2 * before - (dof + size) / 2 * after - size * n / 2 * np.log(np.pi))


def merge_gains(states: StateSummary, groups: list[tuple[int, ...]]) -> FloatArray:
    """Return what merging two groups of states gains, in nats, (n_groups, n_groups); minus infinity on the diagonal."""
    alone = [log_evidence(states, group) for group in groups]
    gains = np.full((len(groups), len(groups)), -np.inf)
    for a, b in combinations(range(len(groups)), 2):
        gains[a, b] = gains[b, a] = log_evidence(states, groups[a] + groups[b]) - alone[a] - alone[b]
    return gains


class MergeTree(NamedTuple):
    """In which order states would be merged at least loss."""

    merged: list[tuple[int, int]]  # groups that become one, by number; the new one takes the first number
    gains: list[float]  # nats that each merge gains

    def labels(self, n_states: int, n_groups: int) -> IntArray:
        """Return the action of every state when merges are made until so many groups are left."""
        labels = np.arange(n_states)
        for a, b in self.merged[: max(n_states - n_groups, 0)]:
            labels[labels == b] = a
        return np.unique(labels, return_inverse=True)[1]

    @property
    def n_merges(self) -> int:
        """Number of merges there is evidence for: those before the first that loses."""
        losing = [place for place, gain in enumerate(self.gains) if gain <= 0]
        return losing[0] if losing else len(self.gains)


def merge_tree(states: StateSummary) -> MergeTree:
    """Merge the two groups of states that gain most, or lose least, until one is left."""
    n_states = len(states.apart)
    groups: dict[int, tuple[int, ...]] = {k: (k,) for k in range(n_states)}
    merged, gains = [], []
    while len(groups) > 1:
        names = list(groups)
        table = merge_gains(states, [groups[name] for name in names])
        a, b = np.unravel_index(int(table.argmax()), table.shape)
        first, second = sorted((names[int(a)], names[int(b)]))
        merged.append((first, second))
        gains.append(float(table.max()))
        groups[first] = groups[first] + groups.pop(second)
    return MergeTree(merged, gains)


def draw_groups(rng: Generator, states: StateSummary) -> IntArray:
    """Draw the actions of states from their posterior: all partitions of few states, or those along the tree of many.

    A priori all partitions of a given number of groups are alike, and so are all numbers of groups.
    """
    n_states = len(states.apart)
    if n_states <= MOST_ENUMERATED:
        partitions = list(all_partitions(n_states))
    else:
        tree = merge_tree(states)
        partitions = [tree.labels(n_states, n) for n in range(1, n_states + 1)]
    scores = np.array([log_partition(states, labels, partitions) for labels in partitions])
    probs = np.exp(scores - scores.max())
    return partitions[int(rng.choice(len(partitions), p=probs / probs.sum()))]


def log_partition(states: StateSummary, labels: IntArray, partitions: list[IntArray]) -> float:
    """Log posterior of a partition, up to a constant."""
    n_groups = labels.max() + 1
    alike = sum(other.max() + 1 == n_groups for other in partitions)
    groups = [tuple(np.flatnonzero(labels == g).tolist()) for g in range(n_groups)]
    return sum(log_evidence(states, group) for group in groups) - float(np.log(alike))


def all_partitions(n: int) -> list[IntArray]:
    """Return all partitions of `n` items as labels.

    Examples
    --------
    >>> [labels.tolist() for labels in all_partitions(3)]
    [[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1], [0, 1, 2]]
    """
    found = [[0]]
    for _ in range(n - 1):
        found = [[*labels, g] for labels in found for g in range(max(labels) + 2)]
    return [np.array(labels) for labels in found]
