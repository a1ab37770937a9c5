"""The chain of the ICSC-HMM: what couples segmentation and clusters, and what must not."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from homothety.datasets import make_toy_2d
from homothety.metrics import hamming
from homothety.models import ibphmm, icsc
from homothety.models.emissions import Emission
from homothety.models.icsc.clusters import admissible, links_to_start_from, positions_of
from homothety.models.icsc.moves import clustered_states, couple_hyperpriors, state_covariances
from homothety.sampling.codec import from_bytes, to_bytes
from homothety.sampling.driver import iterate, run_chain
from homothety.sequences import check_sequences


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
    assert (plain.gamma, plain.alpha, plain.kappa) == (coupled.gamma, coupled.alpha, coupled.kappa)


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
            len(state.clusters.ids), state.clusters.n_clusters, segmentation.n_series, segmentation.hyperpriors
        )
        assert state.hyperpriors == expected


# --- formula (1) -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_states", "n_clusters", "n_series", "each", "own"),
    [(8, 2, 12, 1 / 3, 4.0), (8, 8, 12, 1 / 12, 1.0), (4, 2, 4, 0.5, 2.0), (1, 1, 3, 1 / 3, 1.0)],
)
def test_hyperpriors_by_numbers(n_states, n_clusters, n_series, each, own):
    found = icsc.coupled_hyperpriors(n_states, n_clusters, n_series)
    assert found.gamma == found.alpha == pytest.approx((each, each))
    assert found.kappa == pytest.approx((own, own))


@pytest.mark.parametrize(("n_clusters", "mean"), [(2, 2.425), (8, 2.537)])
def test_posterior_mean_of_gamma(n_clusters, mean):
    # Eight states, twelve series: a + K over b + H_M.
    shape = icsc.coupled_hyperpriors(8, n_clusters, 12).gamma.shape
    harmonic = sum(1 / j for j in range(1, 13))
    assert (shape + 8) / (shape + harmonic) == pytest.approx(mean, abs=5e-4)


def test_states_without_steps_count_only_if_asked_for(segmentation):
    rng = np.random.default_rng(0)
    state = icsc.init_state(rng, icsc.Model(segmentation))
    inner = state.segmentation
    unused = replace(inner, path=np.where(inner.path == 0, 1, inner.path))
    assert 0 not in clustered_states(unused, include_unused=False)
    assert clustered_states(unused, include_unused=True).tolist() == list(range(inner.n_features))


def test_coupling_waits_for_its_turn(segmentation):
    rng = np.random.default_rng(0)
    model = icsc.Model(segmentation, coupling="burnin", n_adapt=3)
    state = icsc.init_state(rng, model)
    assert couple_hyperpriors(rng, model, replace(state, step=2))[0].hyperpriors != state.hyperpriors
    assert couple_hyperpriors(rng, model, replace(state, step=3))[0].hyperpriors == state.hyperpriors


# --- covariances of states -------------------------------------------------------------------------------------------


def test_covariances_are_posterior_means_or_draws(segmentation):
    state = coupled_sweeps(icsc.Model(segmentation, coupling=None), 1)[0].segmentation
    mean, draw = (state_covariances(segmentation, state, kind) for kind in ("mean", "draw"))
    k = int(np.bincount(state.path).argmax())
    steps = segmentation.z[state.path == k, 1:]
    emission, n = segmentation.emission, len(steps)
    shift = steps.mean(axis=0) - emission.coefficients[:, 0]
    scatter = n * np.cov(steps.T, bias=True) + n / (n + 1.0) * np.outer(shift, shift)
    np.testing.assert_allclose(mean[k], (emission.scale + scatter) / (emission.dof + n - 3), rtol=1e-9)
    np.testing.assert_allclose(draw, emission.covariances_of(state.whiteners))


# --- clusters by persistent numbers ----------------------------------------------------------------------------------

BEFORE = icsc.Clusters(np.array([4, 7, 9, 12]), np.array([7, 7, 12, 12]))


def test_links_follow_their_states_through_any_order():
    ids = np.array([12, 4, 9, 7])
    links, warm = links_to_start_from(ids, BEFORE)
    assert warm
    assert dict(zip(ids.tolist(), ids[links].tolist(), strict=True)) == {4: 7, 7: 7, 9: 12, 12: 12}


@pytest.mark.parametrize("ids", [[4, 7, 9], [4, 7, 9, 12, 13], [4, 7, 9, 13], [20]])
def test_other_states_start_alone(ids):
    # One born and one dead leave the number of states as it was.
    links, warm = links_to_start_from(np.array(ids), BEFORE)
    assert not warm
    assert links.tolist() == list(range(len(ids)))


def test_number_of_sweeps_depends_on_the_start(monkeypatch):
    counted, original = [], icsc.clusters.ddcrp.resample_links

    def counting(*args):
        counted.append(1)
        return original(*args)

    monkeypatch.setattr(icsc.clusters.ddcrp, "resample_links", counting)
    covariances = np.stack([np.diag([1.0, 4.0]), np.diag([4.0, 1.0]), np.eye(2), 2 * np.eye(2)])
    settings, rng = icsc.Clustering(n_warm=2, n_reset=7), np.random.default_rng(0)
    for ids, expected in (([4, 7, 9, 12], 2), ([12, 9, 7, 4], 2), ([4, 7, 9, 13], 7)):
        counted.clear()
        icsc.cluster_covariances(rng, settings, covariances, np.array(ids), BEFORE)
        assert len(counted) == expected


def test_one_state_is_one_cluster():
    found = icsc.cluster_covariances(
        np.random.default_rng(0), icsc.Clustering(), np.eye(3)[None], np.array([5]), BEFORE
    )
    assert (found.ids.tolist(), found.links.tolist(), found.n_clusters) == ([5], [5], 1)


def test_labels_are_connected_components_by_number():
    assert BEFORE.labels.tolist() == [0, 0, 1, 1]
    assert BEFORE.label_of(np.array([12, 4])).tolist() == [1, 0]
    assert positions_of(np.array([9, 4]), BEFORE.ids).tolist() == [2, 0]


def test_links_of_weight_zero_are_cut():
    weights = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    assert admissible(np.array([1, 0, 2]), weights).tolist() == [0, 0, 2]


def test_equal_shapes_are_joined_whatever_their_rotation_and_scale():
    rng, covariances = np.random.default_rng(1), []
    for lengths in ([1.0, 1.0, 8.0], [1.0, 6.0, 6.0]):
        for _ in range(4):
            turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
            covariances.append(rng.uniform(0.5, 2) * (turn * np.square(lengths)) @ turn.T)
    ids, apart = np.arange(8), icsc.Clusters.apart(np.arange(8))
    settings = icsc.Clustering(n_reset=50)
    found = icsc.cluster_covariances(rng, settings, np.stack(covariances), ids, apart)
    assert hamming(np.repeat([0, 1], 4), found.labels) == 0


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
    assert {"log_joint", "log_clusters", "gamma_prior", "kappa_prior"} <= set(trace.scalars)
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


def test_the_coupled_chain_finds_the_states_of_the_toy(toy):
    sequences = check_sequences(toy.sequences)
    scale = 0.1 * np.diag(sequences.steps.var(axis=0))
    emission = Emission.gaussian(sequences.steps.mean(axis=0), 1.0, scale, 4.0)
    model = icsc.Model(ibphmm.Model.from_sequences(sequences, emission), coupling="burnin", n_adapt=60)
    last = coupled_sweeps(model, 80)[-1]
    assert last.segmentation.n_used == 4
    assert hamming(np.concatenate(toy.states), last.segmentation.path) < 0.02
