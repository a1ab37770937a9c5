r"""Known labels of steps: which states may hold them, and paths that agree with them (docs/model.md, section 3.20).

Every state has a *tag*, one of the labels or none, and holds labelled steps of that label alone; steps without a label
may be in any state. Where labels name actions, a tag is drawn uniformly from the :math:`L` labels and none, so that
several states may hold steps of one label. Where labels name states, each label has one state.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety.arrays import read_only
from homothety.errors import InputError
from homothety.models.hmm.messages import best_path, has_short_stay

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray


class Tagged(NamedTuple):
    """Known labels of steps, and the tag of every state, as kernels want them."""

    labels: IntArray  # (n_steps,) negative where unknown; empty if none is known
    tags: IntArray  # (n_states,) the one label whose steps each state may hold; negative for no labelled steps at all
    is_state: bool  # whether one state holds all steps of a label
    log_cost: float  # log prior probability that a state has the tag it has


def _none() -> IntArray:
    """Return an array without labels, which could be written to: kernels are compiled for one kind of array."""
    return np.empty(0, dtype=np.int64)


NO_LABELS = Tagged(read_only(_none()), _none(), False, 0.0)


class KnownLabels(NamedTuple):
    """What is known of the states of steps.

    Parameters
    ----------
    steps : ndarray of int, shape (n_steps,)
        Label of every step, numbered from zero without gaps; minus one where it is unknown. Empty if none is known.
    is_state : bool
        Whether one state holds all steps of a label. If not, several may.
    """

    steps: IntArray
    is_state: bool = False

    @property
    def number(self) -> int:
        """Number of labels."""
        return int(self.steps.max(initial=-1)) + 1

    def tags_of(self, path: IntArray, n_states: int) -> IntArray:
        """Return the label that each state of a path holds, (n_states,); minus one for states that hold none."""
        from homothety.models.hmm._label_kernels import write_tags

        tags = np.empty(n_states, dtype=np.int64)
        write_tags(read_only(path), self.steps, tags)
        return tags

    def draw_tags(self, rng: Generator, n: int) -> IntArray:
        """Draw the tags of states that hold no labelled steps, (n,)."""
        return np.full(n, -1) if self.is_state else rng.integers(-1, self.number, size=n)

    def tagged(self, tags: IntArray) -> Tagged:
        """Return labels and tags as kernels want them."""
        if not len(self.steps):
            return NO_LABELS
        log_cost = 0.0 if self.is_state else -float(np.log(self.number + 1.0))
        return Tagged(self.steps, np.array(tags), self.is_state, log_cost)

    def log_prior(self, path: IntArray, n_states: int) -> float:
        """Log probability of the labels given a path; minus infinity if a state holds steps of different labels."""
        from homothety.models.hmm._label_kernels import log_tag_prior

        return float(log_tag_prior(n_states, read_only(path), self.tagged(_none()))) if len(self.steps) else 0.0

    def check(self, path: IntArray, n_states: int) -> None:
        """Raise if a path does not agree with the labels."""
        if not np.isfinite(self.log_prior(path, n_states)):
            raise InputError("path has steps of different labels in one state, or those of one label in several.")

    def rule_out(self, log_evidence: FloatArray, tags: IntArray, first: int = 0) -> FloatArray:
        """Return log evidence (n_steps, n_states), from step `first` on, with what labels exclude at -inf."""
        own = self.steps[first : first + len(log_evidence), None]
        return np.where((own >= 0) & (own != tags), -np.inf, log_evidence)


NOTHING_KNOWN = KnownLabels(NO_LABELS.labels)


def held_path(
    path: IntArray, starts: IntArray, known: KnownLabels, least_stay: int = 1, n_states: int | None = None
) -> IntArray:
    """Return a path that agrees with known labels, and differs from a given one only where it has to.

    A state keeps the label of which it has most steps. Labelled steps of other states go to the state that has most
    steps of their label, or to a new one.

    Parameters
    ----------
    path : ndarray of int, shape (n_steps,)
    starts : ndarray of int, shape (n_recordings + 1,)
    known : KnownLabels
    least_stay : int, default=1
        Raises `InputError` if no path without shorter stays agrees with the labels.
    n_states : int, optional
        Number of states there are, all of which may be used. New ones may be added if not given.

    Examples
    --------
    >>> known = KnownLabels(np.array([0, -1, -1, 1, -1]))
    >>> held_path(np.array([0, 0, 0, 0, 0]), np.array([0, 5]), known).tolist()
    [0, 0, 0, 1, 0]
    """
    labels = known.steps
    if not len(labels):
        return path
    number = int(path.max()) + 1 if n_states is None else n_states
    tags, homes = _homes_of_labels(path, known, number, n_states is None)
    may_stay = (labels < 0) | (tags[path] == labels)
    held = np.where(may_stay, path, homes[np.maximum(labels, 0)])
    for i, (start, stop) in enumerate(pairwise(starts)):
        part = slice(start, stop)
        if has_short_stay(held[part], np.array([0, stop - start]), least_stay):
            held[part] = _mended(i, held[part], labels[part], tags, least_stay)
    return np.asarray(held)


def _homes_of_labels(path: IntArray, known: KnownLabels, n_states: int, may_add: bool) -> tuple[IntArray, IntArray]:
    """Return the tag of each state, new ones included, and for each label the state that takes steps of others."""
    n_labels = known.number
    counts = np.zeros((n_states, n_labels))
    labelled = known.steps >= 0
    np.add.at(counts, (path[labelled], known.steps[labelled]), 1.0)
    tags, homes, n_new = np.full(n_states + n_labels, -1), np.full(n_labels, -1), 0
    own, label = counts.max(axis=1) > 0, counts.argmax(axis=1)
    tags[:n_states][own] = label[own]
    for one in np.argsort(-counts.max(axis=0), kind="stable").tolist():
        theirs = np.flatnonzero(tags[:n_states] == one)
        if len(theirs):
            homes[one] = theirs[counts[theirs, one].argmax()]
            if known.is_state:
                tags[np.setdiff1d(theirs, homes[one])] = -1
    for one in np.flatnonzero(homes < 0).tolist():
        free = np.flatnonzero(tags[:n_states] < 0)
        if not may_add and not len(free):
            raise InputError(f"y has {n_labels} labels, but there are {n_states} states. Raise max_states.")
        homes[one] = n_states + n_new if may_add else free[counts[free, one].argmax()]
        n_new, tags[homes[one]] = n_new + may_add, one
    return tags, homes


def _mended(i: int, path: IntArray, labels: IntArray, tags: IntArray, least_stay: int) -> IntArray:
    """Return the path of a recording without short stays that agrees with its labels and is nearest to a given one."""
    states, numbered = np.unique(path, return_inverse=True)
    votes = np.asarray(numbered[:, None] == np.arange(len(states)), dtype=np.float64)
    votes[(labels[:, None] >= 0) & (tags[states] != labels[:, None])] = -np.inf
    found, score = best_path(votes, least_stay)
    if not np.isfinite(score):
        raise InputError(
            f"Labels of recording {i} in y change after fewer than least_stay = {least_stay} used steps. Make "
            "least_stay smaller, use every step, or leave such short stays unlabelled."
        )
    return np.asarray(states[found])


def longest_least_stay(known: KnownLabels, starts: IntArray, least_stay: int) -> int:
    """Return the largest least stay, at most a given one, that known labels leave possible.

    Examples
    --------
    >>> known = KnownLabels(np.array([0, 0, 1, 1, -1, 0, 0]))
    >>> longest_least_stay(known, np.array([0, 7]), 5)
    3
    """
    labels = np.arange(known.number)
    for start, stop in pairwise(starts):
        own = known.steps[start:stop, None] if known.number else np.full((stop - start, 1), -1)
        votes = np.where((own >= 0) & (own != labels), -np.inf, 0.0)
        while least_stay > 1 and known.number and not np.isfinite(best_path(votes, least_stay)[1]):
            least_stay -= 1
    return least_stay
