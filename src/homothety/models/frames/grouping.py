"""From states to actions: which states of the aligned recordings are one action (docs/model.md, section 6).

States stay apart unless there is evidence that they are one. Three kinds of evidence count, in the common frame:

- *moved copies*: covariances of all blocks and means of all blocks but points agree, the place is free;
- *turned on their own*: the axis lengths of all blocks agree, for states that no recording has both of. Plain channels
  are not turned, but every recording may have a zero of its own, so that their means count less;
- *pieces of one motion*: one state nearly always follows the other, and the motion neither slows down nor turns where
  it does. Hands slow down between two movements, and not within one.

That every recording has exactly one of the states of a group is evidence as well.

Actions vary from one performance to the next, and hundreds of steps would show that any two states differ. So no state
counts as more than `MOST_STEPS` independent steps, which is as if the covariance of a state varied about that of its
action with as many degrees of freedom.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations, pairwise
from math import comb, factorial, log
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import gammaln

from homothety.models.hmm.messages import stay_edges

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.random import Generator

    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.models.frames.frames import Blocks

MOST_STEPS = 20.0  # independent steps that a state counts as, at most
STEPS_PER_CHANNEL, ENOUGH_STEPS = 3.0, 15.0  # independent steps that a state needs to be merged
MOST_DRAWS = 1000.0  # `MOST_STEPS` where recordings do not move: then performances do not differ
PRIOR_SCALE = 0.5  # prior expectation of a covariance, as a multiple of the variance inside states
MEAN_STRENGTH = 1.0  # steps that the prior mean of a vector counts as
STEPS_OF_ZEROS = 5.0  # independent steps that the mean of plain channels counts as, between recordings, at most
SHARED = 0.1  # least share of a recording that a state takes, relative to its largest share of any recording
MOST_ENUMERATED = 6  # states of which all partitions are compared
SHAPE_SPREAD = 0.7  # of log proportions of axes, from action to action
BY_DESIGN = 0.02  # probability that recordings of different tasks share out two actions: mostly all are of one task
PIECE_GAIN = 10.0  # nats that pieces of one motion count as, at least
LABEL_GAIN = 1e12  # nats that states of one known label count as, and states of different ones against being one
PIECE_SHARE = 0.8  # of the stays of a state that are followed, or preceded, by the other piece
PIECE_SPEED = 0.6  # lowest speed about the change as a share of that in both pieces; between movements it is 0.1 to 0.4
PIECE_COSINE = 0.5  # of the directions before and after the change
FOLLOWER_LOSS = 1 / 3  # of what a merge loses that counts if one of the groups nearly always follows the other


class BlockSummary(NamedTuple):
    """Steps of states in one block."""

    sizes: FloatArray  # (n_states,) independent steps, at most `MOST_STEPS`
    means: FloatArray  # (n_states, n) less that of all steps
    scatters: FloatArray  # (n_states, n, n) about the means, for that many steps
    scale: FloatArray  # (n, n) of the prior
    is_point: bool
    is_turned: bool  # whether frames turn the block
    is_plain: bool


class StateSummary(NamedTuple):
    """All that the grouping of states depends on."""

    blocks: list[BlockSummary]
    present: BoolArray  # (n_recordings, n_states) which recordings have a state
    apart: BoolArray  # (n_states, n_states) whether two states may be turned on their own: no recording has both
    pieces: BoolArray  # (n_states, n_states) whether two states are pieces of one motion
    n_steps: IntArray  # (n_states,) used steps of each state
    n_changes: IntArray  # (n_states, n_states) how often one state follows another
    labels: IntArray | None = None  # (n_states,) known labels that states hold, -1 for none; None if no step has one

    def with_labels(self, labels: IntArray) -> StateSummary:
        """Return the summary of states that hold steps of known labels, (n_states,), -1 for none.

        States of different labels are no pieces of one motion.
        """
        differ = (labels[:, None] >= 0) & (labels >= 0) & (labels[:, None] != labels)
        return self._replace(labels=labels, pieces=self.pieces & ~differ)

    def labels_in(self, members: FloatArray) -> FloatArray:
        """Return which labels groups (n_groups, n_states) hold, (n_groups, n_labels); no column without labels."""
        if self.labels is None:
            return np.zeros((len(members), 0))
        return np.minimum(members @ (self.labels[:, None] == np.arange(self.labels.max() + 1)), 1.0)

    def allows(self, groups: Sequence[tuple[int, ...]]) -> bool:
        """Whether each group holds at most one label, and each label is in one group."""
        held = self.labels_in(membership(groups, len(self.apart)))
        return bool((held.sum(axis=0) <= 1).all() and (held.sum(axis=1) <= 1).all())


def summarise_states(
    blocks: Blocks, weights: FloatArray, aligned: FloatArray, path: IntArray, starts: IntArray, *, moving: bool = True
) -> StateSummary:
    """Return what the states of a path through aligned steps look like; states are numbered from zero without gaps.

    Where recordings do not move along a path, steps are draws from their states: states count as more steps, and may
    be turned on their own whatever recordings have them.
    """
    n_states = int(path.max()) + 1
    members = [aligned[path == k] for k in range(n_states)]
    summaries = []
    for b, (block, kind, weight) in enumerate(zip(blocks.slices, blocks.kinds, weights, strict=True)):
        parts = [steps[:, block] for steps in members]
        sizes = np.minimum([weight * len(part) for part in parts], MOST_STEPS if moving else MOST_DRAWS)
        means = np.stack([part.mean(axis=0) for part in parts]) - aligned[:, block].mean(axis=0)
        centred = [part - part.mean(axis=0) for part in parts]
        covariances = np.stack([part.T @ part / len(part) for part in centred])
        inside = np.trace(covariances, axis1=1, axis2=2).mean() / means.shape[1]
        scale = max(PRIOR_SCALE * float(inside), np.finfo(float).tiny) * np.eye(means.shape[1])
        scatters = sizes[:, None, None] * covariances
        is_turned = b in blocks.turned and blocks.n_angles > 0
        summaries.append(BlockSummary(sizes, means, scatters, scale, kind == "point", is_turned, kind == "plain"))
    present = presence(path, starts, n_states)
    apart = never_together(present) if moving else ~np.eye(n_states, dtype=bool)
    velocities = velocities_of(blocks, aligned) if moving else None
    pieces = np.zeros((n_states, n_states), dtype=bool)
    if velocities is not None:
        pieces = pieces_of_motions(velocities, path, starts, n_states)
    n_changes = np.zeros((n_states, n_states), dtype=np.int64)
    changes = np.setdiff1d(stay_edges(path, starts), starts)
    np.add.at(n_changes, (path[changes - 1], path[changes]), 1)
    return StateSummary(summaries, present, apart, pieces, np.bincount(path, minlength=n_states), n_changes)


def velocities_of(blocks: Blocks, aligned: FloatArray) -> FloatArray | None:
    """Return the velocities of the first point block, which are appended as vectors in the order of points."""
    n_points = len(blocks.points)
    if not n_points or len(blocks.kinds) < 2 * n_points or set(blocks.kinds[-n_points:]) != {"vector"}:
        return None
    return aligned[:, blocks.slices[len(blocks.kinds) - n_points]]


def pieces_of_motions(velocities: FloatArray, path: IntArray, starts: IntArray, n_states: int) -> BoolArray:
    """Whether two states follow each other without a rest or a turn, (n_states, n_states)."""
    edges = stay_edges(path, starts)
    changes = np.setdiff1d(edges, starts)
    pieces = np.zeros((n_states, n_states), dtype=bool)
    if not len(changes):
        return pieces
    squares = (velocities**2).sum(axis=1)
    place = np.searchsorted(edges, changes)
    speeds = np.sqrt(np.add.reduceat(squares, edges[:-1]) / np.diff(edges))  # of every stay
    first, last = np.maximum(changes - 2, edges[place - 1]), np.minimum(changes + 1, edges[place + 1] - 1)
    lowest = np.sqrt(np.min([squares[first], squares[changes - 1], squares[changes], squares[last]], axis=0))
    slowing = lowest / np.maximum(np.maximum(speeds[place - 1], speeds[place]), np.finfo(float).tiny)
    before, after = velocities[first] + velocities[changes - 1], velocities[changes] + velocities[last]
    lengths = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
    cosines = (before * after).sum(axis=1) / np.maximum(lengths, np.finfo(float).tiny)
    origins, targets = path[changes - 1], path[changes]
    for a, b in {(int(a), int(b)) for a, b in zip(origins, targets, strict=True)}:
        own = (origins == a) & (targets == b)
        share = max(own.sum() / (origins == a).sum(), own.sum() / (targets == b).sum())
        smooth = np.median(slowing[own]) > PIECE_SPEED and np.median(cosines[own]) > PIECE_COSINE
        if own.sum() > 1 and share >= PIECE_SHARE and smooth:
            pieces[a, b] = pieces[b, a] = True
    return pieces


def presence(path: IntArray, starts: IntArray, n_states: int) -> BoolArray:
    """Which recordings have a state, (n_recordings, n_states): those that spend some of their time in it."""
    shares = np.stack([np.bincount(path[a:b], minlength=n_states) / (b - a) for a, b in pairwise(starts)])
    return np.asarray(shares > SHARED * shares.max(axis=0))


def never_together(present: BoolArray) -> BoolArray:
    """Whether no recording has both of two states, (n_states, n_states)."""
    has = present.astype(np.float64)
    return np.asarray(has.T @ has == 0)


def log_evidence(states: StateSummary, groups: Sequence[tuple[int, ...]]) -> FloatArray:
    """Log marginal likelihood that the states of a group are one action, by the better of both kinds of evidence.

    Returns
    -------
    log_evidence : ndarray of shape (n_groups,)
    """
    n_states = len(states.apart)
    members = membership(groups, n_states)
    together = sum_over_blocks(states, members)
    alone = members @ sum_over_blocks(states, np.eye(n_states))
    several = members.sum(axis=1) > 1
    side_by_side = (~states.apart & ~np.eye(n_states, dtype=bool)).astype(np.float64)
    may_differ = several & (np.einsum("gk,kl,gl->g", members, side_by_side, members) == 0)
    if may_differ.any() and any(block.is_turned or block.is_plain for block in states.blocks):
        gains = np.sum([log_gains_apart(block, members[may_differ]) for block in states.blocks], axis=0)
        together[may_differ] = np.maximum(together[may_differ], alone[may_differ] + gains)
    # Few steps fit anything: that two states could be one is no evidence that they are.
    few = np.any([members @ has_few_steps(block) > 0 for block in states.blocks], axis=0) & several
    together[few] = np.minimum(together[few], alone[few])
    return together


def membership(groups: Sequence[tuple[int, ...]], n_states: int) -> FloatArray:
    """Return one where a group has a state, else zero, (n_groups, n_states)."""
    members = np.zeros((len(groups), n_states))
    for row, group in zip(members, groups, strict=True):
        row[list(group)] = 1.0
    return members


def sum_over_blocks(states: StateSummary, members: FloatArray) -> FloatArray:
    """Return the log marginal likelihood of groups of moved copies, summed over blocks, (n_groups,)."""
    return np.sum([log_moved_copies(block, members) for block in states.blocks], axis=0)


class Evidence:
    """Log evidence of groups of states; what is known is not computed again."""

    def __init__(self, states: StateSummary) -> None:
        self.states = states
        self._known: dict[tuple[int, ...], float] = {}
        self._splits: dict[tuple[int, ...], tuple[bytes, float]] = {}

    def of_groups(self, groups: Sequence[tuple[int, ...]]) -> list[float]:
        """Return the log evidence that the states of each group are one action."""
        keys = [tuple(sorted(group)) for group in groups]
        new = sorted(set(keys) - self._known.keys())
        if new:
            self._known.update(zip(new, log_evidence(self.states, new).tolist(), strict=True))
        return [self._known[key] for key in keys]

    def of_splits(self, groups: Sequence[tuple[int, ...]]) -> float:
        """Return the log evidence for groups from how recordings share them out.

        Groups that split recordings in the same way count once: if there were two tasks, all of their actions would do
        so.
        """
        return sum(dict(self.split(group) for group in groups if len(group) > 1).values())

    def has_splits(self) -> bool:
        """Whether any group may have evidence from how recordings share it out: two states that recordings lack."""
        return int((~self.states.present.all(axis=0)).sum()) > 1

    def split(self, group: tuple[int, ...]) -> tuple[bytes, float]:
        """Return a key, which is the same for all groups that split recordings alike, and the log evidence."""
        if group not in self._splits:
            present = self.states.present[:, list(group)]
            log_evidence = log_coincidence(present)
            key = b"".join(sorted(column.tobytes() for column in present.T)) if log_evidence else b""
            self._splits[group] = key, log_evidence
        return self._splits[group]


def log_coincidence(present: BoolArray) -> float:
    """Minus the log probability that different actions share out the recordings, exactly one for each.

    Either it is so by design, for some recordings were made of one task and some of another; or by chance, and then all
    ways to choose which recordings have which state are alike. Zero if a recording has none of the states, or several.

    Parameters
    ----------
    present : ndarray of bool, shape (n_recordings, n_states)

    Examples
    --------
    Two states of six recordings each: the chance that the second has just those that the first has not is 1 in 924, so
    that it is by design, if the actions are different, and that is rare.

    >>> first = np.arange(12) < 6
    >>> round(log_coincidence(np.column_stack([first, ~first])), 1)
    3.9
    """
    if not (present.sum(axis=1) == 1).all():
        return 0.0
    by_chance = np.exp(gammaln(present.sum(axis=0) + 1).sum() - gammaln(len(present) + 1))
    return float(-np.log(BY_DESIGN + (1 - BY_DESIGN) * by_chance))


def has_few_steps(block: BlockSummary) -> BoolArray:
    """Whether a state has too few steps for its covariance to be compared, (n_states,)."""
    return np.asarray(block.sizes < min(STEPS_PER_CHANNEL * block.means.shape[1], ENOUGH_STEPS))


def log_gains_apart(block: BlockSummary, members: FloatArray) -> FloatArray:
    """Log of how much likelier a block is if states of different recordings are one action, each turned and resized.

    The states share the proportions of the axes of a block that turns. The logarithm of an axis length from n steps has
    a variance of about ``1 / 2n``; proportions of different actions differ by about `SHAPE_SPREAD`. Other blocks are
    compared as they are, but the means of plain channels count as at most `STEPS_OF_ZEROS` steps: sensors are rarely
    set to zero before every recording.

    Returns
    -------
    log_gains : ndarray of shape (n_groups,)
    """
    n_states, n = block.means.shape
    if not block.is_turned:
        most = STEPS_OF_ZEROS if block.is_plain else np.inf
        return log_moved_copies(block, members, most) - members @ log_moved_copies(block, np.eye(n_states), most)
    covariances = block.scatters / block.sizes[:, None, None] + 1e-9 * block.scale
    lengths = 0.5 * np.log(np.linalg.eigvalsh(covariances))
    shapes = (lengths - lengths.mean(axis=1, keepdims=True)) @ shape_axes(n)
    noise = 0.5 / block.sizes
    # The covariance of the states of a group is diagonal plus one number: its inverse and determinant are sums.
    precision = 1.0 + SHAPE_SPREAD**2 * (members @ (1.0 / noise))
    common = SHAPE_SPREAD**2 * ((members @ (shapes / noise[:, None])) ** 2).sum(axis=1) / precision
    squares = (shapes**2).sum(axis=1) * (1.0 / noise - 1.0 / (noise + SHAPE_SPREAD**2))
    log_determinants = members @ np.log(noise / (noise + SHAPE_SPREAD**2)) + np.log(precision)
    return np.asarray(-0.5 * (members @ squares - common + (n - 1) * log_determinants))


def shape_axes(n: int) -> FloatArray:
    """Return an orthonormal basis, (n, n - 1), of what is left of `n` log lengths when their mean is taken away."""
    return np.asarray(np.linalg.svd(np.eye(n) - 1.0 / n)[0][:, : n - 1])


def log_moved_copies(block: BlockSummary, members: FloatArray, most_of_means: float = np.inf) -> FloatArray:
    """Log marginal likelihood of a block if the states of a group share its covariance, and its mean if it is no point.

    Parameters
    ----------
    block : BlockSummary
    members : ndarray of shape (n_groups, n_states)
        One where a group has a state, else zero.
    most_of_means : float
        Means of states vary about that of their action as means of so many independent steps would.

    Returns
    -------
    log_marginal : ndarray of shape (n_groups,)
    """
    sizes = members @ block.sizes
    scatters: FloatArray = np.einsum("gk,kab->gab", members, block.scatters)
    if block.is_point:
        return log_marginal(sizes, scatters, block.scale)
    n_steps = members / (1 / block.sizes + 1 / most_of_means)
    counted = n_steps.sum(axis=1)
    means = n_steps @ block.means / counted[:, None]
    apart = block.means - means[:, None]
    shrunk = MEAN_STRENGTH * counted / (MEAN_STRENGTH + counted)
    scatters += np.einsum("gk,gka,gkb->gab", n_steps, apart, apart)
    scatters += np.einsum("g,ga,gb->gab", shrunk, means, means)
    log_strengths = np.log(MEAN_STRENGTH / (MEAN_STRENGTH + counted))
    return log_marginal(sizes, scatters, block.scale) + 0.5 * means.shape[1] * log_strengths


def log_marginal(sizes: FloatArray, scatters: FloatArray, scale: FloatArray) -> FloatArray:
    """Log marginal likelihood of scatters about known means under an inverse-Wishart prior, (n_groups,)."""
    n = len(scale)
    dof = n + 2.0
    before, after = np.linalg.slogdet(scale)[1], np.linalg.slogdet(scale + scatters)[1]
    halves = np.arange(n) / 2
    log_gamma = (gammaln((dof + sizes)[:, None] / 2 - halves) - gammaln(dof / 2 - halves)).sum(axis=1)
    return np.asarray(log_gamma + dof / 2 * before - (dof + sizes) / 2 * after - sizes * n / 2 * np.log(np.pi))


def merge_gains(evidence: Evidence, groups: list[tuple[int, ...]]) -> FloatArray:
    """Return what merging two groups of states gains, in nats, (n_groups, n_groups); minus infinity on the diagonal."""
    pairs = list(combinations(range(len(groups)), 2))
    alone, joined = evidence.of_groups(groups), evidence.of_groups([groups[a] + groups[b] for a, b in pairs])
    gains = np.full((len(groups), len(groups)), -np.inf)
    members = membership(groups, len(evidence.states.apart))
    has_pieces = members @ evidence.states.pieces @ members.T > 0
    before = evidence.of_splits(groups)
    for (a, b), together in zip(pairs, joined, strict=True):
        after = evidence.split(groups[a] + groups[b])[1]
        if before:  # rare, and then groups that split recordings alike count once
            others = [group for c, group in enumerate(groups) if c not in (a, b)]
            after = evidence.of_splits([groups[a] + groups[b], *others])
        gain = together - alone[a] - alone[b] + after - before
        gains[a, b] = gains[b, a] = max(gain, PIECE_GAIN) if has_pieces[a, b] else gain
    held = evidence.states.labels_in(members)
    gains[held @ held.T > 0] = LABEL_GAIN
    gains[held.sum(axis=1)[:, None] + held.sum(axis=1) - held @ held.T > 1] = -LABEL_GAIN
    np.fill_diagonal(gains, -np.inf)
    return gains


class MergeTree(NamedTuple):
    """In which order states would be merged at least loss."""

    merged: list[tuple[int, int]]  # groups that become one, by number; the new one takes the first number
    gains: list[float]  # nats that each merge gains

    def labels(self, n_states: int, n_groups: int) -> IntArray:
        """Return the action of every state when merges end at `n_groups` groups."""
        labels = np.arange(n_states)
        for a, b in self.merged[: max(n_states - n_groups, 0)]:
            labels[labels == b] = a
        return np.unique(labels, return_inverse=True)[1]


def merge_tree(evidence: Evidence) -> MergeTree:
    """Merge the two groups of states that gain most, then those that lose least, until one group is left."""
    n_states = len(evidence.states.apart)
    groups: dict[int, tuple[int, ...]] = {k: (k,) for k in range(n_states)}
    merged, gains = [], []
    while len(groups) > 1:
        names = list(groups)
        table = merge_gains(evidence, [groups[name] for name in names])
        order = table if table.max() > 0 else table * merge_costs(evidence.states, list(groups.values()))
        a, b = np.unravel_index(int(order.argmax()), order.shape)
        first, second = sorted((names[int(a)], names[int(b)]))
        merged.append((first, second))
        gains.append(float(table[a, b]))
        groups[first] = groups[first] + groups.pop(second)
    return MergeTree(merged, gains)


def merge_costs(states: StateSummary, groups: Sequence[tuple[int, ...]]) -> FloatArray:
    """Return how much the loss of merging two groups counts where nothing speaks for a merge, (n_groups, n_groups).

    Whoever wants fewer actions wants short movements joined to those beside them, before two long ones become one: a
    loss counts once for every step of the shorter group, and `FOLLOWER_LOSS` times that if one nearly always follows
    the other.
    """
    members = membership(groups, len(states.n_steps))
    n_steps, n_changes = members @ states.n_steps, members @ states.n_changes @ members.T
    np.fill_diagonal(n_changes, 0.0)
    leaving, entering = n_changes.sum(axis=1, keepdims=True), n_changes.sum(axis=0, keepdims=True)
    shares = np.maximum(n_changes / np.maximum(leaving, 1.0), n_changes / np.maximum(entering, 1.0))
    follows = np.maximum(shares, shares.T) >= PIECE_SHARE
    return np.maximum(np.minimum.outer(n_steps, n_steps), 1.0) * np.where(follows, FOLLOWER_LOSS, 1.0)


def draw_groups(rng: Generator, states: StateSummary) -> IntArray:
    """Draw the actions of states from their posterior: all partitions of few states, or those along the tree of many.

    A priori all partitions of a given number of groups are alike, and so are all numbers of groups.
    """
    n_states, evidence = len(states.apart), Evidence(states)
    if n_states <= MOST_ENUMERATED:
        partitions, groups, has_group, log_priors = enumerated(n_states)
        scores = has_group @ evidence.of_groups(groups) + log_priors
    else:
        tree = merge_tree(evidence)
        partitions = [groups_of(tree.labels(n_states, n)) for n in range(1, n_states + 1)]
        scores = np.array([sum(evidence.of_groups(groups)) + log_prior(n_states, groups) for groups in partitions])
    if evidence.has_splits():
        scores += [evidence.of_splits(groups) for groups in partitions]
    if states.labels is not None:
        scores[[not states.allows(groups) for groups in partitions]] = -np.inf
    probs = np.exp(scores - scores.max())
    drawn = partitions[int(rng.choice(len(partitions), p=probs / probs.sum()))]
    labels = np.empty(n_states, dtype=np.int64)
    for g, group in enumerate(drawn):
        labels[list(group)] = g
    return with_pieces_joined(states, labels)


def with_pieces_joined(states: StateSummary, labels: IntArray) -> IntArray:
    """Return labels of actions in which pieces of one motion are one."""
    joined = labels.copy()
    for a, b in np.argwhere(np.triu(states.pieces)):
        both = (joined == joined[a]) | (joined == joined[b])
        if states.labels_in(both[None].astype(np.float64)).sum() <= 1:
            joined[both] = joined[a]
    return np.asarray(np.unique(joined, return_inverse=True)[1])


def groups_of(labels: IntArray) -> list[tuple[int, ...]]:
    """Return the states of each label."""
    return [tuple(np.flatnonzero(labels == g).tolist()) for g in range(int(labels.max()) + 1)]


class Enumerated(NamedTuple):
    """All partitions of a few states."""

    partitions: list[list[tuple[int, ...]]]
    groups: list[tuple[int, ...]]  # all groups that there are
    has_group: FloatArray  # (n_partitions, n_groups) one where a partition has a group, else zero
    log_priors: FloatArray  # (n_partitions,)


@cache
def enumerated(n: int) -> Enumerated:
    """Return all partitions of `n` states."""
    partitions = all_partitions(n)
    groups = [group for size in range(1, n + 1) for group in combinations(range(n), size)]
    places = {group: place for place, group in enumerate(groups)}
    has_group = np.zeros((len(partitions), len(groups)))
    for row, partition in zip(has_group, partitions, strict=True):
        row[[places[group] for group in partition]] = 1.0
    return Enumerated(partitions, groups, has_group, np.array([log_prior(n, one) for one in partitions]))


def log_prior(n: int, partition: list[tuple[int, ...]]) -> float:
    """Return the log prior probability of a partition of `n` states, without its constant."""
    return -log(n_partitions(n, len(partition)))  # the number is beyond 64 bits from 27 states on


@cache
def n_partitions(n: int, n_groups: int) -> int:
    """Return in how many ways items can be put into groups (a Stirling number of the second kind).

    Examples
    --------
    >>> [n_partitions(4, k) for k in range(1, 5)]
    [1, 7, 6, 1]
    """
    signed = sum((-1) ** (n_groups - j) * comb(n_groups, j) * j**n for j in range(n_groups + 1))
    return signed // factorial(n_groups)


@cache
def all_partitions(n: int) -> list[list[tuple[int, ...]]]:
    """Return all partitions of `n` items into groups.

    Examples
    --------
    >>> all_partitions(3)
    [[(0, 1, 2)], [(0, 1), (2,)], [(0, 2), (1,)], [(0,), (1, 2)], [(0,), (1,), (2,)]]
    """
    found = [[0]]
    for _ in range(n - 1):
        found = [[*labels, g] for labels in found for g in range(max(labels) + 2)]
    return [groups_of(np.array(labels)) for labels in found]
