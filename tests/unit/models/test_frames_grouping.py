"""From states to actions: evidence against scipy, partitions against their enumeration, and what merges."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy import stats

import naive_frames
from homothety.models.frames import Blocks, grouping
from homothety.models.frames.grouping import (
    MEAN_STRENGTH,
    all_partitions,
    draw_groups,
    log_evidence,
    log_marginal,
    log_moved_copies,
    merge_gains,
    merge_tree,
    summarise_states,
)

BLOCKS = Blocks(("point", "vector"))
SHAPE = np.diag([1.0, 0.3, 0.05])
N_EACH = 60


def make_states(rng, states, order, **settings):
    """Summary of states, each with a place, a mean velocity and a rotation; `order` has states of each recording."""
    parts, path = [], []
    for recording in order:
        for k in recording:
            place, velocity, rotation = states[k]
            root = rotation @ np.sqrt(SHAPE)
            points, vectors = rng.normal(size=(2, N_EACH, 3)) @ root.T
            parts.append(np.column_stack([points + place, 0.5 * vectors + velocity]))
            path += [k] * N_EACH
    starts = np.concatenate([[0], np.cumsum([N_EACH * len(recording) for recording in order])])
    weights = settings.pop("weights", np.ones(2))
    return summarise_states(BLOCKS, weights, np.concatenate(parts), np.array(path), starts, **settings)


def turned(*angles):
    return naive_frames.Rotation.from_euler("xyz", angles).as_matrix()


STRAIGHT, BENT = np.eye(3), turned(1.2, 0.7, 0.4)
FORTH, STILL = np.array([2.0, 0.0, 0.0]), np.zeros(3)


def probability(states, wanted, n_draws=200):
    """How often states are drawn as one partition."""
    rng = np.random.default_rng(5)
    return np.mean([draw_groups(rng, states).tolist() == list(wanted) for _ in range(n_draws)])


# --- evidence --------------------------------------------------------------------------------------------------------


def test_marginal_of_a_scatter_is_what_bayes_leaves(rng):
    steps, scale, dof = rng.normal(size=(7, 3)), np.diag([1.0, 2.0, 0.5]), 5.0
    scatter, at = steps.T @ steps, np.eye(3)
    expected = stats.invwishart.logpdf(at, dof, scale) + stats.norm.logpdf(steps).sum()
    expected -= stats.invwishart.logpdf(at, dof + 7, scale + scatter)
    found = log_marginal(7, scatter, scale)
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("chosen", [[0], [0, 1], [0, 1, 2]])
def test_states_that_share_mean_and_covariance_have_one_marginal(rng, chosen):
    # Steps fewer than the most that count, so that each counts as one.
    members = [rng.normal(size=(n, 2)) for n in (5, 7, 4)]
    means = np.array([part.mean(axis=0) for part in members])
    scatters = np.array([(part - mean).T @ (part - mean) for part, mean in zip(members, means, strict=True)])
    sizes, scale = np.array([5.0, 7.0, 4.0]), 0.7 * np.eye(2)
    block = grouping.BlockSummary(sizes, means, scatters, scale, has_place=False, turns=True)
    steps = np.concatenate([members[k] for k in chosen])
    n, dof = len(steps), 4.0
    posterior_mean = steps.sum(axis=0) / (MEAN_STRENGTH + n)
    posterior_scale = scale + steps.T @ steps - (MEAN_STRENGTH + n) * np.outer(posterior_mean, posterior_mean)
    at, identity = np.array([0.2, -0.1]), np.eye(2)
    expected = stats.norm.logpdf(steps - at).sum()
    for sign, mean, strength, wishart in (
        (1, np.zeros(2), MEAN_STRENGTH, (dof, scale)),
        (-1, posterior_mean, MEAN_STRENGTH + n, (dof + n, posterior_scale)),
    ):
        expected += sign * stats.invwishart.logpdf(identity, *wishart)
        expected += sign * stats.multivariate_normal.logpdf(at, mean, identity / strength)
    assert log_moved_copies(block, chosen) == pytest.approx(expected)
    # With a place, only covariances are compared: means drop out.
    placed = block._replace(has_place=True)
    moved = placed._replace(means=means + rng.normal(size=(3, 2)))
    assert log_moved_copies(placed, chosen) == log_moved_copies(moved, chosen)


def test_evidence_does_not_depend_on_the_order_of_states(rng):
    states = make_states(rng, [(STILL, FORTH, STRAIGHT), (FORTH, FORTH, BENT), (STILL, -FORTH, BENT)], [[0, 1, 2]])
    assert log_evidence(states, (0, 2, 1)) == pytest.approx(log_evidence(states, (2, 1, 0)))


# --- partitions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "bell"), [(1, 1), (2, 2), (3, 5), (4, 15), (5, 52), (6, 203)])
def test_every_partition_is_listed_once(n, bell):
    partitions = {tuple(labels.tolist()) for labels in all_partitions(n)}
    assert len(all_partitions(n)) == len(partitions) == bell
    for labels in partitions:
        assert all(label <= max(labels[:i], default=-1) + 1 for i, label in enumerate(labels))


def ambiguous(rng, n_states=3):
    """States that may or may not be one action: different velocities, but few steps."""
    states = [(STILL, 1.2 * k * FORTH, turned(0.12 * k, 0, 0)) for k in range(n_states)]
    return make_states(rng, states, [range(n_states)], weights=np.full(2, 0.2))


def test_groups_are_drawn_from_their_posterior(rng):
    states = ambiguous(rng)
    partitions = [tuple(labels.tolist()) for labels in all_partitions(3)]
    scores = []
    for labels in partitions:
        groups = [tuple(k for k in range(3) if labels[k] == g) for g in range(max(labels) + 1)]
        n_alike = {1: 1, 2: 3, 3: 1}[len(groups)]
        scores.append(sum(log_evidence(states, group) for group in groups) - np.log(3 * n_alike))
    probs = np.exp(scores - np.logaddexp.reduce(scores))
    assert np.sort(probs)[-2] > 0.02, probs
    counts = Counter(tuple(draw_groups(rng, states).tolist()) for _ in range(1_500))
    observed = np.array([counts[labels] for labels in partitions])
    frequent = probs > 0.002
    assert (
        stats.chisquare(observed[frequent], probs[frequent] / probs[frequent].sum() * observed[frequent].sum()).pvalue
        > 1e-3
    )
    # The fault: every partition alike, so that those of two groups are too many.
    alike = probs * np.array([{1: 1, 2: 3, 3: 1}[max(labels) + 1] for labels in partitions])
    alike = alike[frequent] / alike[frequent].sum()
    assert stats.chisquare(observed[frequent], alike * observed[frequent].sum()).pvalue < 1e-6


def test_a_tree_merges_what_gains_most_and_its_gains_add_up(rng):
    states = make_states(
        rng,
        [
            (k * FORTH, v * FORTH, r)
            for k, (v, r) in enumerate([(0, STRAIGHT), (1, STRAIGHT), (0, STRAIGHT), (0, BENT)])
        ],
        [range(4)],
    )
    tree = merge_tree(states)
    assert len(tree.merged) == len(tree.gains) == 3
    assert tree.gains[0] == merge_gains(states, [(k,) for k in range(4)]).max()
    for n_groups in range(1, 5):
        labels = tree.labels(4, n_groups)
        assert labels.max() + 1 == n_groups
        groups = [tuple(np.flatnonzero(labels == g).tolist()) for g in range(n_groups)]
        gained = sum(log_evidence(states, group) for group in groups)
        gained -= sum(log_evidence(states, (k,)) for k in range(4))
        assert gained == pytest.approx(sum(tree.gains[: 4 - n_groups]))
    assert tree.n_merges == 1
    assert tree.labels(4, 3).tolist() == [0, 1, 0, 2]


def test_many_states_are_drawn_along_the_tree(rng):
    states = make_states(rng, [(k * FORTH, (k % 2) * FORTH, STRAIGHT) for k in range(8)], [range(8)])
    assert probability(states, [k % 2 for k in range(8)], 20) > 0.9


def test_one_state_is_one_action(rng):
    states = make_states(rng, [(STILL, FORTH, STRAIGHT)], [[0]])
    assert draw_groups(rng, states).tolist() == [0]
    assert merge_tree(states).n_merges == 0


# --- what merges -----------------------------------------------------------------------------------------------------


def test_moved_copies_merge_in_one_recording_and_in_several(rng):
    copies = [(STILL, FORTH, STRAIGHT), (5 * FORTH, FORTH, STRAIGHT)]
    assert probability(make_states(rng, copies, [[0, 1]]), [0, 0]) > 0.99
    assert probability(make_states(rng, copies, [[0], [1]]), [0, 0]) > 0.99


def test_there_and_back_do_not_merge(rng):
    there_and_back = [(STILL, FORTH, STRAIGHT), (STILL, -FORTH, STRAIGHT)]
    assert probability(make_states(rng, there_and_back, [[0, 1]]), [0, 1]) > 0.99


def test_states_turned_on_their_own_merge_only_where_no_recording_has_both(rng):
    pair = [(STILL, STILL, STRAIGHT), (STILL, STILL, BENT)]
    apart, together = make_states(rng, pair, [[0], [1]]), make_states(rng, pair, [[0, 1], [1, 0]])
    assert apart.apart[0, 1]
    assert not together.apart[0, 1]
    gains = [merge_gains(one, [(0,), (1,)])[0, 1] for one in (apart, together)]
    assert gains[0] > 0 > gains[1]
    assert probability(together, [0, 1]) > 0.99
    assert probability(apart, [0, 0]) > 0.5


def test_states_of_other_proportions_do_not_merge_however_they_are_turned(rng):
    states = make_states(rng, [(STILL, STILL, STRAIGHT), (STILL, STILL, BENT)], [[0], [1]])
    for block in states.blocks:  # a needle and a ball
        size = np.trace(block.scatters[1])
        block.scatters[:] = size * np.diag([0.98, 0.01, 0.01]), size * np.eye(3) / 3
    assert states.apart[0, 1]
    assert merge_gains(states, [(0,), (1,)])[0, 1] < -10


def test_a_recording_with_hardly_any_steps_of_a_state_does_not_have_it():
    path = np.array([0] * 100 + [1] * 3 + [1] * 100)
    assert grouping.never_together(path, np.array([0, 103, 203]), 2)[0, 1]
    assert not grouping.never_together(path, np.array([0, 150, 203]), 2)[0, 1]
