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
    has_few_steps,
    log_evidence,
    log_marginal,
    log_moved_copies,
    merge_gains,
    merge_tree,
    never_together,
    pieces_of_motions,
    presence,
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
    found = log_marginal(np.array([7.0]), scatter[None], scale)
    assert found == pytest.approx([expected])


@pytest.mark.parametrize("chosen", [[0], [0, 1], [0, 1, 2]])
def test_states_that_share_mean_and_covariance_have_one_marginal(rng, chosen):
    # Steps fewer than the most that count, so that each counts as one.
    members = [rng.normal(size=(n, 2)) for n in (5, 7, 4)]
    means = np.array([part.mean(axis=0) for part in members])
    scatters = np.array([(part - mean).T @ (part - mean) for part, mean in zip(members, means, strict=True)])
    sizes, scale = np.array([5.0, 7.0, 4.0]), 0.7 * np.eye(2)
    block = grouping.BlockSummary(sizes, means, scatters, scale, is_point=False, is_turned=True, is_plain=False)
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
    group = np.isin(np.arange(3), [chosen]).astype(float)[None]
    assert log_moved_copies(block, group) == pytest.approx([expected])
    # With a place, only covariances are compared: means drop out.
    placed = block._replace(is_point=True)
    moved = placed._replace(means=means + rng.normal(size=(3, 2)))
    assert log_moved_copies(placed, group) == log_moved_copies(moved, group)


@pytest.mark.parametrize("chosen", [[0, 1], [0, 2], [0, 1, 2, 3]])
def test_states_turned_on_their_own_share_a_normal_shape(rng, chosen):
    sizes = rng.uniform(10, 60, size=4)
    roots = rng.normal(size=(4, 3, 3))
    scatters = sizes[:, None, None] * (roots @ roots.swapaxes(1, 2))
    block = grouping.BlockSummary(
        sizes, np.zeros((4, 3)), scatters, 1e-9 * np.eye(3), is_point=True, is_turned=True, is_plain=False
    )
    lengths = 0.5 * np.log(np.linalg.eigvalsh(scatters / sizes[:, None, None]))
    shapes = (lengths - lengths.mean(axis=1, keepdims=True)) @ grouping.shape_axes(3)
    noise, spread = 0.5 / sizes[chosen], grouping.SHAPE_SPREAD**2
    expected = 0.0
    for y in shapes[chosen].T:
        expected += stats.multivariate_normal.logpdf(y, cov=np.diag(noise) + spread)
        expected -= stats.norm.logpdf(y, scale=np.sqrt(noise + spread)).sum()
    group = np.isin(np.arange(4), [chosen]).astype(float)[None]
    assert grouping.log_gains_apart(block, group) == pytest.approx([expected], abs=1e-6)


def test_evidence_does_not_depend_on_the_order_of_states(rng):
    states = make_states(rng, [(STILL, FORTH, STRAIGHT), (FORTH, FORTH, BENT), (STILL, -FORTH, BENT)], [[0, 1, 2]])
    assert log_evidence(states, [(0, 2, 1)]) == pytest.approx(log_evidence(states, [(2, 1, 0)]))


# --- partitions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "bell"), [(1, 1), (2, 2), (3, 5), (4, 15), (5, 52), (6, 203)])
def test_every_partition_is_listed_once(n, bell):
    partitions = all_partitions(n)
    assert len(partitions) == len({frozenset(groups) for groups in partitions}) == bell
    assert all(sorted(k for group in groups for k in group) == list(range(n)) for groups in partitions)


def ambiguous(rng, n_states=3):
    """States that may or may not be one action: different velocities, but few steps."""
    states = [(STILL, 1.2 * k * FORTH, turned(0.12 * k, 0, 0)) for k in range(n_states)]
    return make_states(rng, states, [range(n_states)], weights=np.full(2, 0.2))


def n_gained(tree):
    """Number of merges there is evidence for: those before the first that loses."""
    return int(np.argmax([gain <= 0 for gain in tree.gains] + [True]))


def test_groups_are_drawn_from_their_posterior(rng):
    states = ambiguous(rng)
    partitions = [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (0, 1, 2)]
    scores = []
    for labels in partitions:
        groups = [tuple(k for k in range(3) if labels[k] == g) for g in range(max(labels) + 1)]
        n_alike = {1: 1, 2: 3, 3: 1}[len(groups)]
        scores.append(
            log_evidence(states, groups).sum() + grouping.Evidence(states).of_splits(groups) - np.log(3 * n_alike)
        )
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
    tree = merge_tree(grouping.Evidence(states))
    assert len(tree.merged) == len(tree.gains) == 3
    assert tree.gains[0] == merge_gains(grouping.Evidence(states), [(k,) for k in range(4)]).max()
    for n_groups in range(1, 5):
        labels = tree.labels(4, n_groups)
        assert labels.max() + 1 == n_groups
        groups = [tuple(np.flatnonzero(labels == g).tolist()) for g in range(n_groups)]
        gained = log_evidence(states, groups).sum() + grouping.Evidence(states).of_splits(groups)
        gained -= log_evidence(states, [(k,) for k in range(4)]).sum()
        assert gained == pytest.approx(sum(tree.gains[: 4 - n_groups]))
    assert n_gained(tree) == 1
    assert tree.labels(4, 3).tolist() == [0, 1, 0, 2]


def test_many_states_are_drawn_along_the_tree(rng):
    states = make_states(rng, [(k * FORTH, (k % 2) * FORTH, STRAIGHT) for k in range(8)], [range(8)])
    assert probability(states, [k % 2 for k in range(8)], 20) > 0.9


def test_one_state_is_one_action(rng):
    states = make_states(rng, [(STILL, FORTH, STRAIGHT)], [[0]])
    assert draw_groups(rng, states).tolist() == [0]
    assert n_gained(merge_tree(grouping.Evidence(states))) == 0


def test_thirty_states_are_grouped(rng):
    # Of so many states there are more partitions than 64 bits can count.
    motions = [(k * FORTH, -FORTH if k % 2 else FORTH, STRAIGHT) for k in range(30)]
    states = make_states(rng, motions, [range(30)])
    assert draw_groups(rng, states).tolist() == [0, 1] * 15


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
    gains = [merge_gains(grouping.Evidence(one), [(0,), (1,)])[0, 1] for one in (apart, together)]
    assert gains[0] > 0 > gains[1]
    assert probability(together, [0, 1]) > 0.99
    assert probability(apart, [0, 0]) > 0.5


def test_states_of_other_proportions_do_not_merge_however_they_are_turned(rng):
    states = make_states(rng, [(STILL, STILL, STRAIGHT), (STILL, STILL, BENT)], [[0], [1]])
    for block in states.blocks:  # a needle and a ball
        size = np.trace(block.scatters[1])
        block.scatters[:] = size * np.diag([0.98, 0.01, 0.01]), size * np.eye(3) / 3
    assert states.apart[0, 1]
    assert merge_gains(grouping.Evidence(states), [(0,), (1,)])[0, 1] < -10


# --- recordings that have a state ------------------------------------------------------------------------------------


def test_a_recording_with_hardly_any_steps_of_a_state_does_not_have_it():
    path = np.array([0] * 100 + [1] * 3 + [1] * 100)
    assert never_together(presence(path, np.array([0, 103, 203]), 2))[0, 1]
    assert not never_together(presence(path, np.array([0, 150, 203]), 2))[0, 1]


@pytest.mark.parametrize(("n_steps", "is_apart"), [(5, True), (6, False)])
def test_a_recording_has_a_state_from_a_tenth_of_the_largest_share_on(n_steps, is_apart):
    # State 1 has 100 steps in the second recording and some in the first, which has all of state 0.
    path = np.array([0] * 50 + [1] * n_steps + [1] * 100)
    apart = never_together(presence(path, np.array([0, 50 + n_steps, 150 + n_steps]), 2))
    np.testing.assert_array_equal(apart, [[False, is_apart], [is_apart, False]])


def test_one_recording_with_both_states_is_enough():
    path = np.array([0, 0, 1, 1, 0, 1, 2, 2])
    apart = never_together(presence(path, np.array([0, 2, 4, 6, 8]), 3))
    np.testing.assert_array_equal(apart, [[False, False, True], [False, False, True], [True, True, False]])


# --- states with few steps -------------------------------------------------------------------------------------------


def block_of(sizes, n_channels):
    """A block whose states have given numbers of steps, and look alike."""
    sizes, n_states = np.array(sizes), len(sizes)
    scatters = sizes[:, None, None] * np.eye(n_channels)
    means, scale = np.zeros((n_states, n_channels)), 0.5 * np.eye(n_channels)
    return grouping.BlockSummary(sizes, means, scatters, scale, is_point=True, is_turned=True, is_plain=False)


@pytest.mark.parametrize(("n_channels", "needed"), [(1, 3.0), (3, 9.0), (4, 12.0), (6, 15.0)])
def test_states_need_three_steps_per_channel_and_fifteen_at_most(n_channels, needed):
    block = block_of([needed, needed - 0.01, 20.0], n_channels)
    assert has_few_steps(block).tolist() == [False, True, False]


@pytest.mark.parametrize(("n_steps", "gains"), [(9.0, True), (8.9, False)])
def test_that_two_states_with_few_steps_could_be_one_is_no_evidence(n_steps, gains):
    nothing = np.zeros((2, 2), dtype=bool)
    states = grouping.StateSummary(
        [block_of([n_steps, 20.0], 3)], np.ones((2, 2), bool), nothing, nothing, np.full(2, 20), np.zeros((2, 2), int)
    )
    assert (merge_gains(grouping.Evidence(states), [(0,), (1,)])[0, 1] > 0) == gains


# --- pieces of one motion --------------------------------------------------------------------------------------------

STAY = 40  # steps


def motions(pairs, *, speed=1.0, degrees=0.0):
    """Velocities, path and starts of recordings that go through two states each.

    Two steps before and after the change have the given speed, all others have speed 1; the motion turns at the change.
    """
    speeds = np.ones(2 * STAY)
    speeds[STAY - 2 : STAY + 2] = speed
    angles = np.repeat([0.0, np.radians(degrees)], STAY)
    one = speeds[:, None] * np.column_stack([np.cos(angles), np.sin(angles), np.zeros(2 * STAY)])
    path = np.concatenate([np.repeat(pair, STAY) for pair in pairs])
    return np.tile(one, (len(pairs), 1)), path, 2 * STAY * np.arange(len(pairs) + 1)


def are_pieces(pairs, a=0, b=1, **how):
    """Whether two states are pieces of one motion."""
    pieces = pieces_of_motions(*motions(pairs, **how), n_states=4)
    np.testing.assert_array_equal(pieces, pieces.T)
    assert not pieces.diagonal().any()
    others = pieces.copy()
    others[[a, b], [b, a]] = False
    assert not others.any()
    return bool(pieces[a, b])


def test_states_that_follow_each_other_without_a_rest_or_a_turn_are_pieces_of_one_motion():
    assert are_pieces([(0, 1)] * 3)
    assert are_pieces([(3, 1)] * 3, 3, 1)


@pytest.mark.parametrize(("speed", "expected"), [(0.65, True), (0.55, False), (0.0, False)])
def test_a_motion_that_slows_down_at_the_change_is_two(speed, expected):
    assert are_pieces([(0, 1)] * 3, speed=speed) == expected


def test_speed_is_compared_at_two_steps_on_either_side_of_the_change():
    velocities, path, starts = motions([(0, 1)] * 3)
    for offset, expected in ((-3, True), (-2, False), (-1, False), (0, False), (1, False), (2, True)):
        slow = velocities.copy()
        slow[starts[:-1] + STAY + offset] *= 0.1
        assert pieces_of_motions(slow, path, starts, 2)[0, 1] == expected, offset


@pytest.mark.parametrize(("degrees", "expected"), [(55, True), (-55, True), (65, False), (180, False)])
def test_a_motion_that_turns_at_the_change_is_two(degrees, expected):
    assert are_pieces([(0, 1)] * 3, degrees=degrees) == expected


def test_a_change_seen_once_is_no_evidence():
    assert not are_pieces([(0, 1)])
    assert are_pieces([(0, 1)] * 2)


@pytest.mark.parametrize(("n_together", "n_other", "expected"), [(4, 1, True), (3, 1, False), (7, 2, False)])
def test_pieces_follow_each_other_four_times_out_of_five(n_together, n_other, expected):
    # State 0 is also followed by 2, and 1 also follows 3.
    pairs = [(0, 1)] * n_together + [(0, 2)] * n_other + [(3, 1)] * n_other
    assert pieces_of_motions(*motions(pairs), n_states=4)[0, 1] == expected


def test_one_side_that_always_comes_with_the_other_is_enough():
    # State 1 follows many states, but 0 is always followed by 1.
    assert pieces_of_motions(*motions([(0, 1)] * 2 + [(2, 1)] * 3), n_states=4)[0, 1]


@pytest.mark.parametrize(("n_smooth", "n_sharp", "expected"), [(2, 1, True), (1, 2, False)])
def test_the_median_change_decides(n_smooth, n_sharp, expected):
    smooth, path, starts = motions([(0, 1)] * (n_smooth + n_sharp))
    sharp, _, _ = motions([(0, 1)] * (n_smooth + n_sharp), degrees=180)
    velocities = np.concatenate([smooth[: 2 * STAY * n_smooth], sharp[2 * STAY * n_smooth :]])
    assert pieces_of_motions(velocities, path, starts, 2)[0, 1] == expected


def test_the_end_of_a_recording_is_no_change():
    velocities, path, starts = motions([(0, 0), (1, 1)] * 3)
    assert not pieces_of_motions(velocities, path, starts, 2).any()
    whole = np.array([0, len(path)])
    assert pieces_of_motions(velocities, path, whole, 2)[0, 1]


def test_pieces_of_one_motion_are_one_action_whatever_they_look_like(rng):
    states = make_states(rng, [(STILL, FORTH, STRAIGHT), (STILL, -FORTH, BENT)], [[0, 1]])
    assert probability(states, [0, 1]) > 0.99
    joined = states._replace(pieces=~np.eye(2, dtype=bool))
    assert probability(joined, [0, 0]) == 1
    assert n_gained(merge_tree(grouping.Evidence(joined))) == 1


def plain_states(rng, offset):
    """Two states of plain channels that are alike but for an offset of their mean, each in its own recording."""
    steps = rng.normal(size=(2 * N_EACH, 3))
    steps[N_EACH:] += offset
    path = np.repeat([0, 1], N_EACH)
    return summarise_states(Blocks(("plain",) * 3), np.ones(3), steps, path, np.array([0, N_EACH, 2 * N_EACH]))


def test_sensors_that_were_set_to_zero_elsewhere_do_not_make_two_actions(rng, monkeypatch):
    states = plain_states(rng, 1.5)
    assert probability(states, [0, 0]) > 0.5
    # The fault: means count as exactly as within one recording.
    monkeypatch.setattr(grouping, "STEPS_OF_ZEROS", np.inf)
    assert probability(states, [0, 1]) > 0.9


def test_plain_channels_far_apart_are_two_actions(rng):
    assert probability(plain_states(rng, 5.0), [0, 1]) > 0.9


def test_a_short_movement_is_joined_to_its_neighbour_before_two_long_ones_are_one(rng, monkeypatch):
    states = make_states(
        rng, [(STILL, 5 * FORTH, STRAIGHT), (STILL, 3 * FORTH, BENT), (STILL, -9 * FORTH, BENT)], [[0, 1, 2], [0, 1, 2]]
    )
    # State 2 is short and always comes after 1. It differs more from that than both long states differ.
    n_steps, n_changes = np.array([400, 400, 20]), np.array([[0, 9, 1], [1, 0, 9], [9, 1, 0]])
    short = states._replace(n_steps=n_steps, n_changes=n_changes, pieces=np.zeros((3, 3), dtype=bool))
    assert max(merge_tree(grouping.Evidence(short)).gains) < 0
    assert merge_tree(grouping.Evidence(short)).labels(3, 2).tolist() == [0, 1, 1]
    # The fault: the least loss, however long the states are.
    monkeypatch.setattr(grouping, "merge_costs", lambda states, groups: 1.0)
    assert merge_tree(grouping.Evidence(short)).labels(3, 2).tolist() == [0, 0, 1]


def test_states_that_share_out_the_recordings_are_likelier_one_action():
    first = np.array([True, True, False, False])
    complete = np.column_stack([first, ~first])
    assert grouping.log_coincidence(complete) == pytest.approx(-np.log(0.02 + 0.98 / 6))
    thirds = np.column_stack([first, [False, False, True, False], [False, False, False, True]])
    assert grouping.log_coincidence(thirds) == pytest.approx(-np.log(0.02 + 0.98 / 12))
    for broken in (np.column_stack([first, first]), np.column_stack([first, [False, False, True, False]])):
        assert grouping.log_coincidence(broken) == 0


def test_recordings_of_two_tasks_are_a_coincidence_once(rng):
    first = np.arange(6) < 3
    states = make_states(rng, [(STILL, k * FORTH, STRAIGHT) for k in range(4)], [range(4)])
    states = states._replace(present=np.column_stack([first, ~first, first, ~first]))
    one = grouping.log_coincidence(states.present[:, :2])
    assert one > 0
    assert grouping.Evidence(states).of_splits([(0, 1), (2,), (3,)]) == one
    assert grouping.Evidence(states).of_splits([(0, 1), (2, 3)]) == one
    other = states._replace(
        present=np.column_stack([first, ~first, ~first[[0, 3, 1, 4, 2, 5]], first[[0, 3, 1, 4, 2, 5]]])
    )
    assert grouping.Evidence(other).of_splits([(0, 1), (2, 3)]) == pytest.approx(2 * one)
