"""The chain of the ICSC-HMM: what couples segmentation and clusters, and what must not."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import islice, pairwise

import numpy as np
import pytest
from scipy import stats

from homothety.datasets import make_toy_2d
from homothety.errors import InputError
from homothety.metrics import hamming
from homothety.models import ibphmm, icsc
from homothety.models.emissions import Emission
from homothety.models.emissions.regression import residual_scatters, statistics_of
from homothety.models.icsc import _kernels, grouping
from homothety.models.icsc._kernels import redraw_groups
from homothety.models.icsc.grouping import _links_to_start_from, admissible, positions_of
from homothety.models.icsc.model import _couple_hyperpriors, _states_to_cluster, sample_covariances
from homothety.sampling.codec import from_bytes, to_bytes
from homothety.sampling.driver import iterate, run_chain
from homothety.sequences import check_sequences
from naive import total_variation


@pytest.fixture(scope="module")
def toy():
    return make_toy_2d(0, n_steps=60)


@pytest.fixture(scope="module")
def segmentation(toy):
    sequences = check_sequences(toy.sequences)
    scale = 0.1 * np.diag(sequences.steps.var(axis=0))
    return ibphmm.Model.from_sequences(sequences, Emission.gaussian(sequences.steps.mean(axis=0), 1.0, scale, 4.0))


def coupled_sweeps(model, n_sweeps, seed=3):
    """States of the coupled chain after each of some sweeps."""
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    state = icsc.init_state(rng, model)
    return [state for state, _ in islice(iterate(rng, model, state, icsc.default_sweep()), n_sweeps)]


# --- nothing leaks ---------------------------------------------------------------------------------------------------


def plain_sweeps(model, n_sweeps, seed=3):
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    state = ibphmm.init_from_clusters(rng, model)
    return [state for state, _ in islice(iterate(rng, model, state, ibphmm.default_sweep()), n_sweeps)]


FIELDS = ("active", "ids", "weights", "whiteners", "path")


def assert_same(plain, coupled):
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(plain, name), getattr(coupled, name))
    assert (plain.mass, plain.alpha, plain.kappa) == (coupled.mass, coupled.alpha, coupled.kappa)


def test_without_coupling_the_segmentation_is_that_of_the_plain_chain_bit_for_bit(segmentation):
    coupled = coupled_sweeps(icsc.Model(segmentation, coupling=None), 15)
    for one, other in zip(plain_sweeps(segmentation, 15), coupled, strict=True):
        assert_same(one, other.segmentation)
    assert len({state.clusters.n_clusters for state in coupled}) > 1  # the clusters moved all the while


def test_once_adapted_the_chain_is_the_plain_one_under_frozen_hyperpriors(segmentation):
    model = icsc.Model(segmentation, coupling="burnin", n_adapt=5)
    states = coupled_sweeps(model, 12)
    frozen = states[4].hyperpriors
    assert frozen != segmentation.hyperpriors
    assert all(state.hyperpriors == frozen for state in states[5:])
    conditions, rng = replace(segmentation, hyperpriors=frozen), np.random.default_rng(8)
    after = next(iterate(rng, conditions, states[6].segmentation, ibphmm.default_sweep()))[0]
    coupled = next(iterate(np.random.default_rng(8), model, states[6], icsc.default_sweep()))[0]
    assert_same(after, coupled.segmentation)


def test_a_leak_would_be_seen(segmentation):
    # Clusters that drew from the stream of the segmentation would change what it draws next.
    model = icsc.Model(segmentation, coupling=None)
    sweep = icsc.default_sweep()
    original = sweep["clusters"]

    def leaking(rng, model, state):
        rng.random()
        return original(rng, model, state)

    rng = np.random.default_rng(np.random.SeedSequence(3))
    states = iterate(rng, model, icsc.init_state(rng, model), sweep | {"clusters": leaking})
    leaked = [state for state, _ in islice(states, 3)]
    with pytest.raises(AssertionError):
        assert_same(plain_sweeps(segmentation, 3)[-1], leaked[-1].segmentation)


def test_the_paper_s_coupling_goes_on(segmentation):
    states = coupled_sweeps(icsc.Model(segmentation, coupling="paper"), 12)
    for state in states:
        expected = icsc.coupled_hyperpriors(
            len(state.clusters.ids), state.clusters.n_clusters, segmentation.n_recordings, segmentation.hyperpriors
        )
        assert state.hyperpriors == expected


# --- coupling (docs/model.md, section 6.8) ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_states", "n_clusters", "n_recordings", "each", "own"),
    [(8, 2, 12, 1 / 3, 4.0), (8, 8, 12, 1 / 12, 1.0), (4, 2, 4, 0.5, 2.0), (1, 1, 3, 1 / 3, 1.0)],
)
def test_hyperpriors_by_numbers(n_states, n_clusters, n_recordings, each, own):
    found = icsc.coupled_hyperpriors(n_states, n_clusters, n_recordings)
    assert found.mass == found.alpha == pytest.approx((each, each))
    assert found.kappa == pytest.approx((own, own))


@pytest.mark.parametrize(("n_clusters", "mean"), [(2, 2.425), (8, 2.537)])
def test_posterior_mean_of_gamma(n_clusters, mean):
    # Eight states, twelve series: a + K over b + H_M.
    shape = icsc.coupled_hyperpriors(8, n_clusters, 12).mass.shape
    harmonic = sum(1 / j for j in range(1, 13))
    assert (shape + 8) / (shape + harmonic) == pytest.approx(mean, abs=5e-4)


def test_states_without_steps_count_only_if_asked_for(segmentation):
    inner = icsc.init_state(np.random.default_rng(0), icsc.Model(segmentation)).segmentation
    unused = replace(inner, path=np.where(inner.path == 0, 1, inner.path))
    assert inner.ids[0] not in _states_to_cluster(icsc.Model(segmentation), unused).ids
    everything = _states_to_cluster(icsc.Model(segmentation, include_unused=True), unused)
    assert everything.ids.tolist() == inner.ids.tolist()
    assert everything.visits[:, 0].sum() == 0
    drawn = icsc.ShapeGrouping().draw(np.random.default_rng(0), everything, icsc.Clusters.apart(inner.ids))
    assert np.isfinite(drawn.log_density)


def test_coupling_waits_for_its_turn(segmentation):
    rng = np.random.default_rng(0)
    model = icsc.Model(segmentation, coupling="burnin", n_adapt=3)
    state = icsc.init_state(rng, model)
    state = replace(state, clusters=icsc.Clusters.apart(state.segmentation.ids))
    assert _couple_hyperpriors(rng, model, replace(state, step=2))[0].hyperpriors != state.hyperpriors
    assert _couple_hyperpriors(rng, model, replace(state, step=3))[0].hyperpriors == state.hyperpriors


# --- covariances of states -------------------------------------------------------------------------------------------


def test_covariances_are_of_the_sample_or_posterior_means_or_draws(segmentation):
    state = coupled_sweeps(icsc.Model(segmentation, coupling=None), 1)[0].segmentation
    sample, mean, draw = (
        _states_to_cluster(icsc.Model(segmentation, covariances=kind, include_unused=True), state)
        for kind in ("sample", "mean", "draw")
    )
    k = int(np.bincount(state.path).argmax())
    steps = segmentation.z[state.path == k, 1:]
    emission, n = segmentation.emission, len(steps)
    shift = steps.mean(axis=0) - emission.coefficients[:, 0]
    scatter = n * np.cov(steps.T, bias=True) + n / (n + 1.0) * np.outer(shift, shift)
    np.testing.assert_allclose(mean.covariances[k], (emission.scale + scatter) / (emission.dof + n - 3), rtol=1e-9)
    np.testing.assert_allclose(draw.covariances, emission.covariances_of(state.whiteners))
    assert mean.sizes[k] == n + emission.dof - 3
    own = np.cov(steps.T, bias=True)
    np.testing.assert_allclose(sample.covariances[k], (n * own + 0.1 * np.trace(own) * np.eye(2)) / (n + 0.2))
    assert sample.sizes[k] == n
    assert mean.visits.sum() == mean.succession[:, :-1].sum()


def test_of_emissions_with_blocks_only_sample_covariances_are_clustered(toy, rng):
    emission = Emission.gaussian_blocks([1, 1], [[0.0], [0.0]], [1.0, 1.0], [[[1.0]], [[1.0]]], [4.0, 4.0], [0.5, 1.0])
    model = ibphmm.Model.from_sequences(check_sequences(toy.sequences), emission)
    state = ibphmm.init_state(rng, model, n_shared=2, n_unique=0)
    covariances = _states_to_cluster(icsc.Model(model, covariances="sample"), state).covariances
    np.testing.assert_array_equal(covariances, covariances * np.eye(2))
    with pytest.raises(InputError, match="covariances is 'mean', needed 'sample' where emissions have blocks"):
        _states_to_cluster(icsc.Model(model, covariances="mean"), state)


def test_sample_covariances_of_states_with_hardly_a_step():
    scatters = np.stack([np.zeros((2, 2)), np.diag([4.0, 0.0])])
    found = sample_covariances(scatters, np.array([1.0, 2.0]))
    np.testing.assert_allclose(found[0], np.eye(2) / 6)  # a sphere: nothing is known of its shape
    np.testing.assert_allclose(found[1], np.diag([4.2, 0.2]) / 2.2)


@pytest.mark.parametrize("order", [0, 1])
def test_scatter_is_about_the_own_regression(order, rng):
    sequences = check_sequences([rng.normal(size=(40, 2)) + 7.0])
    if order:
        emission = Emission.autoregressive(order, 1.0, np.eye(2), 4.0)
    else:
        emission = Emission.gaussian(np.zeros(2), 1.0, np.eye(2), 4.0)
    z, _ = emission.augment(sequences)
    path = np.zeros(len(z), dtype=np.int64)
    path[0] = 1
    found = residual_scatters(emission, statistics_of(emission, z, path, 2))
    regressors, steps = z[1:, : emission.n_regressors], z[1:, emission.n_regressors :]
    left = steps - regressors @ np.linalg.lstsq(regressors, steps)[0]
    np.testing.assert_allclose(found[0], left.T @ left, rtol=1e-8, atol=1e-9)
    np.testing.assert_array_equal(found[1], 0.0)  # one step has no scatter


# --- clusters by persistent numbers ----------------------------------------------------------------------------------

BEFORE = icsc.Clusters(np.array([4, 7, 9, 12]), np.array([7, 7, 12, 12]))


def test_links_follow_their_states_through_any_order():
    ids = np.array([12, 4, 9, 7])
    links, warm = _links_to_start_from(ids, BEFORE)
    assert warm
    assert dict(zip(ids.tolist(), ids[links].tolist(), strict=True)) == {4: 7, 7: 7, 9: 12, 12: 12}


@pytest.mark.parametrize("ids", [[4, 7, 9], [4, 7, 9, 12, 13], [4, 7, 9, 13], [20]])
def test_other_states_start_alone(ids):
    # One born and one dead leave the number of states as it was.
    links, warm = _links_to_start_from(np.array(ids), BEFORE)
    assert not warm
    assert links.tolist() == list(range(len(ids)))


def states_of(covariances, ids, sizes=None, visits=None, succession=None):
    """States to cluster, each in a series of its own unless it is said otherwise."""
    n = len(ids)
    sizes = np.full(n, 200.0) if sizes is None else np.asarray(sizes, dtype=float)
    visits = np.eye(n) if visits is None else np.array(visits)
    succession = np.zeros((n + 1, n + 1)) if succession is None else np.array(succession)
    return icsc.States(np.asarray(ids), np.stack(covariances), sizes, visits, succession)


@pytest.mark.parametrize(
    ("grouping", "module", "name", "from_scratch"),
    [
        (icsc.LinkGrouping(n_warm=2, n_reset=7), grouping.ddcrp, "resample_links", 7),
        (icsc.ShapeGrouping(n_warm=2, n_reset=7), icsc._kernels, "redraw_groups", 2 * 7),
    ],
)
def test_number_of_sweeps_depends_on_the_start(grouping, module, name, from_scratch, monkeypatch):
    counted, original = [], getattr(module, name)

    def counting(*args):
        counted.append(len(args[-1]) if name == "redraw_groups" else 1)  # one call for many sweeps
        return original(*args)

    monkeypatch.setattr(module, name, counting)
    covariances = [np.diag([1.0, 4.0]), np.diag([4.0, 1.0]), np.eye(2), 2 * np.eye(2)]
    for ids, expected in (([4, 7, 9, 12], 2), ([12, 9, 7, 4], 2), ([4, 7, 9, 13], from_scratch)):
        counted.clear()
        grouping.draw(np.random.default_rng(0), states_of(covariances, ids), BEFORE)
        assert sum(counted) == expected


GROUPINGS = [icsc.LinkGrouping(n_reset=50), icsc.ShapeGrouping(n_reset=50)]
each_grouping = pytest.mark.parametrize("grouping", GROUPINGS, ids=lambda grouping: type(grouping).__name__)


@each_grouping
def test_one_state_is_one_cluster(grouping):
    found = grouping.draw(np.random.default_rng(0), states_of([np.eye(3)], [5]), BEFORE)
    assert (found.ids.tolist(), found.links.tolist(), found.n_clusters) == ([5], [5], 1)


def test_clusters_of_labels():
    found = icsc.Clusters.from_labels(np.array([8, 3, 5, 9]), np.array([2, 0, 2, 0]))
    assert found.links.tolist() == [8, 3, 8, 3]
    assert found.label_of(np.array([8, 5])).tolist() == [0, 0]
    assert found.n_clusters == 2


def test_labels_are_connected_components_by_number():
    assert BEFORE.labels.tolist() == [0, 0, 1, 1]
    assert BEFORE.label_of(np.array([12, 4])).tolist() == [1, 0]
    assert positions_of(np.array([9, 4]), BEFORE.ids).tolist() == [2, 0]


def test_links_of_weight_zero_are_cut():
    weights = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    assert admissible(np.array([1, 0, 2]), weights).tolist() == [0, 0, 2]


def turned(rng, lengths):
    """A covariance of given axis lengths, turned and resized at random."""
    turn = np.linalg.qr(rng.normal(size=(len(lengths), len(lengths))))[0]
    return rng.uniform(0.5, 2) * (turn * np.square(lengths)) @ turn.T


@each_grouping
def test_equal_shapes_are_joined_whatever_their_rotation_and_scale(grouping):
    rng = np.random.default_rng(1)
    covariances = [turned(rng, lengths) for lengths in ([1.0, 1.0, 8.0], [1.0, 6.0, 6.0]) for _ in range(4)]
    found = grouping.draw(rng, states_of(covariances, np.arange(8)), icsc.Clusters.none())
    assert hamming(np.repeat([0, 1], 4), found.labels) == 0


# --- groups by shape -------------------------------------------------------------------------------------------------


def test_states_that_the_same_series_visit_are_two_actions():
    covariances = [np.diag([1.0, 16.0])] * 2
    rng, apart = np.random.default_rng(0), icsc.Clusters.apart(np.arange(2))
    numbers = {}
    one_each, both = [[0, 0, 1], [0, 0, 1], [1, 1, 0]], [[0, 5, 0], [0, 0, 5], [5, 0, 0]]
    cases = {"different series": (np.eye(2), one_each), "the same series": (np.ones((5, 2)), both)}
    for name, (visits, succession) in cases.items():
        states = states_of(covariances, [0, 1], visits=visits, succession=succession)
        numbers[name] = np.mean([icsc.ShapeGrouping().draw(rng, states, apart).n_clusters for _ in range(50)])
    assert numbers["different series"] < 1.2
    assert numbers["the same series"] > 1.95


def test_labels_that_are_known_are_those_of_the_links():
    clusters = icsc.Clusters.from_labels(np.array([7, 3, 9, 5]), np.array([4, 1, 4, 0]))
    again = icsc.Clusters(clusters.ids, clusters.links)
    assert clusters.labels.tolist() == again.labels.tolist() == [0, 1, 0, 2]
    assert clusters.n_clusters == again.n_clusters == 3


def test_stays_are_counted_with_their_begin_and_end():
    path = np.array([0, 0, 1, 1, 0, 0, 2, 1])
    visits, found = icsc.count_stays(path, np.array([0, 5, 8]), 3)
    assert visits.tolist() == [[2, 1, 0], [1, 1, 1]]  # one series ends where the next one begins
    expected = np.zeros((4, 4))
    for before, after in ((3, 0), (0, 1), (1, 0), (0, 3), (3, 0), (0, 2), (2, 1), (1, 3)):
        expected[before, after] += 1
    np.testing.assert_array_equal(found, expected)


def test_the_order_tells_which_states_of_two_frames_are_one_action():
    # A reach and a return of nearly one shape, in two frames: only the order says which is which.
    order = [(4, 0, 1, 4)] * 3 + [(4, 2, 3, 4)] * 3
    succession = np.zeros((5, 5))
    for before, after in (pair for stays in order for pair in pairwise(stays)):
        succession[before, after] += 1
    visits = np.repeat(np.repeat(np.eye(2), 2, axis=1), 3, axis=0)
    states = states_of([np.diag([1.0, 16.0])] * 4, range(4), visits=visits, succession=succession)
    shares = {}
    for name, followers in {"order": 0.5, "any order": None}.items():
        grouping, rng = icsc.ShapeGrouping(followers=followers), np.random.default_rng(0)
        drawn = [grouping.draw(rng, states, icsc.Clusters.apart(states.ids)).labels for _ in range(100)]
        shares[name] = np.mean([z[0] == z[2] and z[1] == z[3] and z[0] != z[1] for z in drawn])
    assert shares["order"] > 0.8
    assert shares["any order"] < 0.6


def in_frames(rng, n_frames, n_per_frame, n_rounds):
    """States of reaches, strokes and returns, each frame with its own, in series that go round and round."""
    n, lengths = 3 * n_frames, np.array([[1.0, 5.0, 6.0], [2.0, 2.2, 6.0], [1.0, 2.5, 6.0]])
    visits, succession = np.zeros((n_frames * n_per_frame, n)), np.zeros((n + 1, n + 1))
    for series in range(len(visits)):
        reach = 3 * (series // n_per_frame)
        visits[series, reach : reach + 3] = n_rounds
        succession[[n, reach + 2], [reach, n]] += 1
        succession[[reach, reach + 1], [reach + 1, reach + 2]] += n_rounds
        succession[reach + 2, reach] += n_rounds - 1
    covariances = [turned(rng, lengths[k % 3] * np.exp(0.1 * rng.normal(size=3))) for k in range(n)]
    return states_of(covariances, range(n), np.full(n, 100.0), visits, succession)


@pytest.mark.parametrize("n_per_frame", [2, 20, 200])
def test_frames_share_their_actions_however_many_recordings_there_are(n_per_frame):
    rng = np.random.default_rng(0)
    states = in_frames(rng, n_frames=3, n_per_frame=n_per_frame, n_rounds=3)
    drawn = [icsc.ShapeGrouping().draw(rng, states, BEFORE).labels for _ in range(10)]
    assert sum(np.array_equal(labels, np.arange(9) % 3) for labels in drawn) >= 8


def test_single_states_that_change_cannot_do_what_a_start_from_both_ends_can():
    # With 20 series in each frame the return of one cannot follow the stroke of another: all states stay apart.
    rng = np.random.default_rng(0)
    states = in_frames(rng, n_frames=3, n_per_frame=20, n_rounds=3)
    shapes = icsc.ShapeGrouping().shapes_of(states)
    from_one_end = [grouping.redrawn(rng, np.arange(9), shapes, np.ones(10)) for _ in range(10)]
    assert np.mean([len(np.unique(labels)) for labels in from_one_end]) > 4


def test_a_state_at_rest_has_a_shape_that_can_be_computed_with(rng):
    emission = Emission.gaussian(np.zeros(3), 1.0, np.eye(3), 5.0)
    for spread in (1e-7, 1e-8, 1e-9, 0.0):
        z, _ = emission.augment(check_sequences([np.vstack([spread * rng.normal(size=(30, 3)), np.eye(3)])]))
        path = np.repeat([0, 1], [30, 3])
        statistics = statistics_of(emission, z, path, 2)
        covariances = sample_covariances(residual_scatters(emission, statistics), statistics.sizes)
        states = states_of(covariances, [0, 1], statistics.sizes)
        assert np.isfinite(icsc.ShapeGrouping().shapes_of(states).points).all()


def test_shapes_of_few_observations_are_told_apart_less():
    rng, apart = np.random.default_rng(0), icsc.Clusters.apart(np.arange(2))
    covariances, numbers = [np.diag([1.0, 4.0]), np.diag([1.0, 9.0])], []
    for n in (5, 5000):
        states = states_of(covariances, [0, 1], [n, n], visits=np.zeros((1, 2)))
        drawn = [icsc.ShapeGrouping(within=0.02).draw(rng, states, apart) for _ in range(50)]
        numbers.append(np.mean([one.n_clusters for one in drawn]))
    assert numbers[0] < 1.5 < 1.9 < numbers[1]


def set_partitions(n):
    """All partitions of so many items, as labels in order of first appearance."""
    labels = [[0]]
    for _ in range(n - 1):
        labels = [[*one, z] for one in labels for z in range(max(one) + 2)]
    return [tuple(one) for one in labels]


def naive_log_density(labels, shapes):
    """Partition and points from scipy's distributions: every group a Gaussian of all its points at once."""
    total = 0.0
    for z in set(labels):
        members = [k for k, label in enumerate(labels) if label == z]
        total += np.log(shapes.concentration) + sum(np.log(j) for j in range(1, len(members)))
        covariance = np.diag(1 / shapes.precisions[members]) + 1 / shapes.centre_precision
        for values in shapes.points[members].T:
            total += stats.multivariate_normal.logpdf(values, np.zeros(len(members)), covariance)
    return total + naive_log_order(labels, shapes) + naive_log_versions(labels, shapes)


FOLLOWERS, LOYALTIES = 0.5, (0.05, 0.5)


def naive_log_order(labels, shapes):
    """Probability of what follows what, one after the other, each given those before it."""
    kinds, total, seen = len(set(labels)) + 1, 0.0, Counter()
    labelled = [*labels, "end"]
    for before, after in zip(*np.nonzero(shapes.succession), strict=True):
        pair = labelled[before], labelled[after]
        for _ in range(int(shapes.succession[before, after])):
            so_far = sum(n for (first, _), n in seen.items() if first == pair[0])
            total += np.log((FOLLOWERS + seen[pair]) / (kinds * FOLLOWERS + so_far))
            seen[pair] += 1
    return total


def naive_log_versions(labels, shapes):
    """Probability of the state of every stay but the first, among those of its action, one after the other."""
    by_degree = []
    for weight in LOYALTIES:
        total = 0.0
        for series in shapes.visits:
            seen = Counter()
            for k in (k for k, times in enumerate(series) for _ in range(int(times))):
                versions = [other for other, z in enumerate(labels) if z == labels[k]]
                so_far = sum(seen[other] for other in versions)
                if so_far > 0:
                    total += np.log((weight + seen[k]) / (len(versions) * weight + so_far))
                seen[k] += 1
        by_degree.append(total)
    return np.logaddexp.reduce(by_degree) - np.log(len(LOYALTIES))


@pytest.fixture(scope="module")
def four_states():
    """Four states, neither clearly alike nor clearly different, two of which share series."""
    rng = np.random.default_rng(3)
    covariances = [np.diag(np.exp(rng.normal(scale=0.7, size=3))) for _ in range(4)]
    visits = [[2, 1, 0, 0], [1, 0, 1, 0], [0, 1, 1, 1]]
    succession = [[0, 2, 0, 0, 1], [0, 0, 1, 0, 1], [0, 1, 0, 1, 0], [0, 0, 1, 0, 1], [3, 0, 0, 1, 0]]
    states = states_of(covariances, range(4), [4, 9, 6, 12], visits, succession)
    return icsc.ShapeGrouping(followers=FOLLOWERS, versions=LOYALTIES).shapes_of(states)


@pytest.mark.parametrize("labels", [(0, 0, 0, 0), (0, 1, 2, 3), (0, 1, 0, 2), (0, 0, 1, 1)])
def test_density_of_a_partition(labels, four_states):
    found = grouping.log_density(np.array(labels), four_states)
    assert found == pytest.approx(naive_log_density(labels, four_states), abs=1e-10)


def frequencies(shapes, n_sweeps=8_000, seed=1, power=1.0, move=redraw_groups):
    """How often the chain visits every partition."""
    rng, labels, powers = np.random.default_rng(seed), np.arange(4), np.array([power])
    visited = Counter()
    for _ in range(n_sweeps):
        move(rng, labels, shapes, powers)
        numbers = {}
        visited[tuple(numbers.setdefault(z, len(numbers)) for z in labels.tolist())] += 1
    return {partition: visited[partition] / n_sweeps for partition in set_partitions(4)}


def posterior(shapes):
    logs = np.array([naive_log_density(labels, shapes) for labels in set_partitions(4)])
    return dict(zip(set_partitions(4), np.exp(logs - np.logaddexp.reduce(logs)), strict=True))


def test_partitions_follow_their_posterior_exactly(four_states):
    exact = posterior(four_states)
    assert max(exact.values()) < 0.6  # a posterior one can be wrong about
    assert total_variation(exact, frequencies(four_states)) < 0.02


def two_groups_only(rng, labels, shapes, powers):
    """The move of two groups alone, without that of single states."""
    for power in powers:
        _kernels._redraw_two_groups(rng, labels, shapes, power)


def test_redrawing_two_groups_alone_has_the_posterior(four_states):
    assert total_variation(posterior(four_states), frequencies(four_states, move=two_groups_only)) < 0.02


@pytest.mark.parametrize("most_pooled", [0, 1])
def test_groups_too_large_to_be_redrawn_at_once_keep_the_posterior(most_pooled, four_states, monkeypatch):
    # Nobody compiles the limit into what runs here.
    monkeypatch.setattr(_kernels, "_MOST_POOLED", most_pooled)
    monkeypatch.setattr(_kernels, "_redraw_two_groups", _kernels._redraw_two_groups.py_func)
    found = frequencies(four_states, move=redraw_groups.py_func)
    assert total_variation(posterior(four_states), found) < 0.02


@pytest.mark.parametrize("forgotten", ["log_prior", "_log_order", "_log_versions", "_log_points"])
def test_two_groups_redrawn_by_part_of_the_density_are_caught(forgotten, four_states, monkeypatch):
    for name in ("_redraw_two_groups", "log_partition"):
        monkeypatch.setattr(_kernels, name, getattr(_kernels, name).py_func)
    monkeypatch.setattr(_kernels, forgotten, lambda *_: 0.0)
    assert total_variation(posterior(four_states), frequencies(four_states, move=two_groups_only)) > 0.04


def test_two_groups_that_may_join_but_not_part_are_caught(four_states, monkeypatch):
    original = _kernels._redraw_two_groups.py_func

    def joining(rng, labels, shapes, power):
        before = labels.copy()
        original(rng, labels, shapes, power)
        if len(np.unique(labels)) > len(np.unique(before)):
            labels[:] = before

    monkeypatch.setattr(_kernels, "_redraw_two_groups", joining)
    assert total_variation(posterior(four_states), frequencies(four_states, move=redraw_groups.py_func)) > 0.04


def test_two_orders_that_single_states_cannot_change_between(monkeypatch):
    """Six states in two actions that alternate; the wrong way to share them out is a trap for single changes."""
    n = 6
    covariances = [np.diag([1.0, 30.0, 1.0]) if k < 3 else np.diag([1.0, 30.0, 30.0]) for k in range(n)]
    succession, visits = np.zeros((n + 1, n + 1)), np.zeros((3, n))
    for i in range(3):  # each series has one state of each action
        succession[i, i + 3], succession[i + 3, i] = 20, 19
        succession[n, i] = succession[i + 3, n] = 1
        visits[i, [i, i + 3]] = 20
    shapes = icsc.ShapeGrouping().shapes_of(states_of(covariances, range(n), np.full(n, 20.0), visits, succession))
    trap, best = np.array([0, 1, 0, 1, 0, 1]), np.array([0, 0, 0, 1, 1, 1])
    assert grouping.log_density(best, shapes) > grouping.log_density(trap, shapes) + 20

    def share_found():
        draws = [grouping.redrawn(np.random.default_rng(i), trap, shapes, np.ones(20)) for i in range(20)]
        return np.mean([len(set(zip(labels.tolist(), best.tolist(), strict=True))) == 2 for labels in draws])

    assert share_found() > 0.9
    monkeypatch.setattr(_kernels, "redraw_groups", redraw_groups.py_func)
    monkeypatch.setattr(_kernels, "_redraw_two_groups", lambda *_: None)
    assert share_found() < 0.1


@pytest.mark.parametrize(
    "fault",
    [
        {"visits": np.zeros((3, 4))},
        {"versions": grouping._log_rising_factorials(np.array([0.02]), 4, 4)},
        {"power": 0.5},
        {"concentration": 2.0},
        {"centre_precision": 3.0},
        {"precisions": np.full(4, 20.0)},
        {"succession": np.zeros((5, 5))},
        {"followers": grouping._log_rising_factorials(np.array([5.0]), 6, 20)[0]},
    ],
    ids=lambda fault: next(iter(fault)),
)
def test_a_chain_with_a_fault_is_caught(fault, four_states):
    shapes = four_states._replace(**{name: value for name, value in fault.items() if name != "power"})
    wrong = frequencies(shapes, power=fault.get("power", 1.0))
    assert total_variation(posterior(four_states), wrong) > 0.04


# --- what is kept ----------------------------------------------------------------------------------------------------


def test_what_is_kept_of_a_sweep(segmentation):
    model = icsc.Model(segmentation, coupling="burnin", n_adapt=5)
    trace = run_chain(
        np.random.SeedSequence(2),
        model,
        icsc.init_state,
        icsc.default_sweep(),
        icsc.RECORDING,
        n_sweeps=10,
        n_burn=5,
    )
    assert len(trace.kept) == 5
    kept = trace.kept[-1]
    actions = kept.actions().expand()
    path = kept.path.expand()
    for k in np.unique(path):
        assert (actions[path == k] == kept.labels[kept.ids == k][0]).all()
    assert trace.array("n_actions")[-1] == len(np.unique(kept.labels))
    assert {"log_joint", "log_clusters", "mass_prior", "kappa_prior"} <= set(trace.scalars)
    again = from_bytes(to_bytes(kept))
    np.testing.assert_array_equal(again.actions().expand(), actions)


def test_a_state_survives_a_file_and_goes_on_bit_for_bit(segmentation):
    model = icsc.Model(segmentation, coupling="paper")
    state = replace(coupled_sweeps(model, 4)[-1])
    copied = from_bytes(to_bytes(state))
    one, other = (
        next(iterate(np.random.default_rng(1), model, start, icsc.default_sweep()))[0] for start in (state, copied)
    )
    assert_same(one.segmentation, other.segmentation)
    np.testing.assert_array_equal(one.clusters.links, other.clusters.links)


def test_the_chain_finds_the_states_of_the_toy(toy):
    sequences = check_sequences(toy.sequences)
    scale = 0.1 * np.diag(sequences.steps.var(axis=0))
    emission = Emission.gaussian(sequences.steps.mean(axis=0), 1.0, scale, 4.0)
    model = icsc.Model(ibphmm.Model.from_sequences(sequences, emission), coupling=None)
    last = [state.segmentation for state in coupled_sweeps(model, 100)[60:]]
    assert np.median([state.n_used for state in last]) == 4
    assert np.median([hamming(np.concatenate(toy.states), state.path) for state in last]) < 0.02
