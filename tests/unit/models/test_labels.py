"""Known labels of steps: paths that agree with them, and groupings of states that hold them."""

from __future__ import annotations

import numpy as np
import pytest

from homothety.errors import InputError
from homothety.models import icsc
from homothety.models.frames import grouping
from homothety.models.hmm.labels import NOTHING_KNOWN, KnownLabels, held_path, longest_least_stay
from homothety.models.hmm.messages import has_short_stay
from homothety.models.icsc.grouping import agrees_with

# --- paths -----------------------------------------------------------------------------------------------------------


def agrees(path, known):
    """Whether a path agrees with labels."""
    return np.isfinite(known.log_prior(path, int(path.max()) + 1))


@pytest.mark.parametrize("is_state", [False, True])
@pytest.mark.parametrize("least_stay", [1, 3])
def test_a_path_made_to_agree_does_so_and_stays_long_enough(is_state, least_stay):
    for seed in range(30):
        rng = np.random.default_rng(seed)
        truth = np.repeat(rng.integers(0, 3, 12), 5)
        labels = np.where(rng.random(60) < 0.4, truth, -1)
        labels = np.unique(labels, return_inverse=True)[1] - 1
        known, starts = KnownLabels(labels, is_state), np.array([0, 20, 60])
        held = held_path(np.repeat(rng.integers(0, 5, 20), 3), starts, known, least_stay)
        assert agrees(held, known)
        assert not has_short_stay(held, starts, least_stay)


def test_a_path_that_agrees_is_left_alone():
    path = np.array([3, 3, 1, 1, 0, 0])
    known = KnownLabels(np.array([0, -1, 1, -1, -1, -1]), is_state=True)
    assert held_path(path, np.array([0, 6]), known).tolist() == path.tolist()
    assert held_path(path, np.array([0, 6]), NOTHING_KNOWN) is path


def test_a_label_has_several_states_unless_it_is_one():
    path, labels = np.array([0, 0, 1, 1]), np.array([0, 0, 0, -1])
    assert held_path(path, np.array([0, 4]), KnownLabels(labels)).tolist() == [0, 0, 1, 1]
    assert held_path(path, np.array([0, 4]), KnownLabels(labels, is_state=True)).tolist() == [0, 0, 0, 1]


def test_no_more_labels_than_states():
    known = KnownLabels(np.arange(4), is_state=True)
    with pytest.raises(InputError, match=r"y has 4 labels, but there are 3 states\. Raise max_states"):
        held_path(np.zeros(4, dtype=np.int64), np.array([0, 4]), known, n_states=3)


def test_labels_that_change_too_fast_are_refused():
    known, starts = KnownLabels(np.array([0, 1, 1, 0, 2, 2, 2])), np.array([0, 7])
    with pytest.raises(InputError, match="recording 0 in y change after fewer than least_stay = 3"):
        held_path(np.zeros(7, dtype=np.int64), starts, known, 3)
    assert longest_least_stay(known, starts, 3) == 1
    assert longest_least_stay(NOTHING_KNOWN, starts, 3) == 3


# --- groupings -------------------------------------------------------------------------------------------------------


def states_with(known, covariances):
    """States of one recording each, visited once."""
    n = len(covariances)
    succession = np.zeros((n + 1, n + 1))
    succession[-1, :-1] = succession[:-1, -1] = 1.0
    return icsc.States(np.arange(n), np.stack(covariances), np.full(n, 50.0), np.eye(n), succession, known)


LONG, ROUND = np.diag([400.0, 1.0]), np.eye(2)
# By shape, the first two are one action, and so are the last two.
COVARIANCES = [LONG, LONG, ROUND, ROUND]


@pytest.mark.parametrize("known", [[0, 1, -1, -1], [0, 1, 1, 0], [0, -1, 0, -1], [-1, -1, 1, 0]])
def test_groups_by_shape_agree_with_labels(known):
    known, before = np.array(known), icsc.Clusters.none()
    free = icsc.ShapeGrouping().draw(np.random.default_rng(0), states_with(None, COVARIANCES), before)
    assert not agrees_with(known, free.labels)
    rng = np.random.default_rng(0)
    for _ in range(20):
        before = icsc.ShapeGrouping().draw(rng, states_with(known, COVARIANCES), before)
        assert agrees_with(known, before.labels)


def test_groups_by_shape_are_the_same_if_no_state_holds_a_label():
    drawn = [
        icsc.ShapeGrouping().draw(np.random.default_rng(1), states_with(known, COVARIANCES), icsc.Clusters.none())
        for known in (None, np.full(4, -1))
    ]
    assert drawn[0].labels.tolist() == drawn[1].labels.tolist()


def summary_of(n, pieces=()):
    """States in frames that nothing speaks for or against grouping."""
    nothing = np.zeros((n, n), dtype=bool)
    linked = nothing.copy()
    for a, b in pieces:
        linked[a, b] = linked[b, a] = True
    block = grouping.BlockSummary(
        np.full(n, 20.0), np.zeros((n, 2)), np.tile(20.0 * np.eye(2), (n, 1, 1)), 0.5 * np.eye(2), True, False, False
    )
    counts = np.full(n, 40), np.zeros((n, n), dtype=np.int64)
    return grouping.StateSummary([block], np.ones((3, n), dtype=bool), nothing, linked, *counts)


@pytest.mark.parametrize("n", [4, 8])  # all partitions, and those along a tree
def test_groups_in_frames_agree_with_labels(n):
    known = np.array([0, 0, 1, -1, 2, -1, 1, 2][:n])
    free, rng = summary_of(n), np.random.default_rng(0)
    assert len(set(grouping.draw_groups(rng, free).tolist())) == 1  # equal states are one action
    for _ in range(20):
        assert agrees_with(known, grouping.draw_groups(rng, free.with_labels(known)))


def test_pieces_of_one_motion_do_not_join_labels():
    states = summary_of(3, pieces=[(0, 1), (1, 2)]).with_labels(np.array([0, -1, 1]))
    drawn = grouping.draw_groups(np.random.default_rng(0), states)
    assert drawn[0] != drawn[2]
    assert drawn[1] in (drawn[0], drawn[2])


def test_labels_are_merged_first_and_apart_last():
    tree = grouping.merge_tree(grouping.Evidence(summary_of(4).with_labels(np.array([0, 1, -1, 0]))))
    assert tree.merged[0] == (0, 3)
    assert len(set(tree.labels(4, 2)[[0, 1]])) == 2
    assert set(tree.labels(4, 1)) == {0}
