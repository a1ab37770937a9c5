"""The mixture of shapes against posteriors enumerated in full: every partition, spread, kind and concentration."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import naive_crp
import naive_shapes as naive
from homothety.models import shapes
from homothety.models.shapes import _kernels
from homothety.models.shapes.model import CONCENTRATIONS
from homothety.models.shapes.moves import _log_marginals_of_kinds
from homothety.sampling import iterate
from naive import total_variation

N_SWEEPS = 20_000
MAX_DISTANCE = 0.02  # total variation
KINDS = shapes.ClusterKinds(np.full(2, 0.1), np.array([0.2, 0.02]), np.array([0.6, 0.05]), np.array([4.0, 6.0]))


def make_model(name):
    points = np.random.default_rng(7).normal(size=(4, 2))
    settings = {"precisions": (1.0, 0.2), "precision_shares": (0.7, 0.3), "attraction": 1.4}
    if name == "one spread":
        settings |= {"precisions": (1.0,), "precision_shares": (1.0,)}
    if name == "close":
        points[2:] = points[:2] + 0.05
    return shapes.Model(points, KINDS, **settings)


def distance(model, sweep, n_sweeps=N_SWEEPS, truth=None):
    """Total variation between the posterior of a model and a chain of some moves."""
    chain = iterate(np.random.default_rng(1), model, shapes.init_state(model, np.zeros(4, dtype=int)), sweep)
    draws = [next(chain)[0].labels for _ in range(n_sweeps)]
    return total_variation(naive.exact_posterior(truth or model), naive_crp.frequencies(draws))


def without(*names):
    return {name: move for name, move in shapes.default_sweep().items() if name not in names}


@pytest.mark.parametrize("name", ["plain", "close"])
def test_whole_sweep_has_the_posterior(name):
    assert distance(make_model(name), shapes.default_sweep()) < MAX_DISTANCE


def test_labels_alone_have_the_posterior():
    assert distance(make_model("plain"), without("split_merge")) < MAX_DISTANCE


@pytest.mark.parametrize("name", ["one spread"])
def test_splits_and_merges_alone_have_the_posterior(name):
    assert distance(make_model(name), without("labels")) < MAX_DISTANCE


def test_other_attraction_is_caught():
    model = make_model("plain")
    broken = without("split_merge") | {
        "labels": lambda rng, _, state: shapes.resample_labels(rng, replace(model, attraction=2.4), state)
    }
    assert distance(model, broken, N_SWEEPS // 4) > 2 * MAX_DISTANCE


def test_split_without_the_probability_of_its_proposal_is_caught(monkeypatch):
    scan = _kernels.scan_sides
    monkeypatch.setattr(_kernels, "scan_sides", lambda *args: 0.0 * scan(*args))
    assert distance(make_model("one spread"), without("labels"), N_SWEEPS // 4) > 2 * MAX_DISTANCE


def test_a_ratio_that_is_no_number_is_refused(monkeypatch):
    side = _kernels.marginal_of_side
    monkeypatch.setattr(_kernels, "marginal_of_side", lambda *args: (np.nan, *side(*args)[1:]))
    model, rng = make_model("plain"), np.random.default_rng(1)
    for labels in (np.zeros(4, dtype=int), np.arange(4)):
        assert shapes.split_or_merge(rng, model, shapes.init_state(model, labels))[1].n_accepted == 0


def test_kinds_that_never_change_are_caught():
    assert distance(make_model("plain"), without("kinds", "split_merge"), N_SWEEPS // 4) > 2 * MAX_DISTANCE


@pytest.mark.parametrize("attraction", [1.0, 1.1, 1.5])
@pytest.mark.parametrize("n_items", [1, 2, 5, 8])
def test_normaliser_is_the_sum_over_all_partitions(n_items, attraction):
    expected = naive.log_normaliser(n_items, 0.7, attraction)
    assert shapes.log_normaliser(n_items, 0.7, attraction) == pytest.approx(expected)


@pytest.mark.parametrize("concentration", [0.02, 0.7, 100.0])
@pytest.mark.parametrize("attraction", [1.1, 1.5])
def test_normaliser_of_many_items_leaves_nothing_out_that_counts(attraction, concentration):
    expected = naive.log_normaliser_by_recursion(300, concentration, attraction)
    assert shapes.log_normaliser(300, concentration, attraction) == pytest.approx(expected, abs=1e-9)


def test_normaliser_of_the_chinese_restaurant_process():
    expected = np.log(0.7 + np.arange(300)).sum()
    assert shapes.log_normaliser(300, 0.7, 1.0) == pytest.approx(expected)


@pytest.mark.parametrize("width", [0.01, 3.0])
def test_posterior_of_a_cluster_is_that_of_its_most_likely_kind(width):
    points = width * np.random.default_rng(3).normal(size=(9, 2))
    model = shapes.Model(np.concatenate([points, points + 5.0]), KINDS)
    logs = [naive.log_marginal(points, np.ones(9), KINDS.prior(kind)) for kind in range(2)]
    assert np.argmax(logs) == (width < 1.0)
    new = np.array([0.02, 0.03])
    joined = naive.log_marginal(np.vstack([points, new]), np.ones(10), KINDS.prior(int(np.argmax(logs))))
    posterior = shapes.cluster_posterior(model, np.arange(18) < 9)
    assert posterior.log_predictive(new[None])[0] == pytest.approx(joined - max(logs))


@pytest.mark.parametrize("n_dims", [1, 3, 40])
@pytest.mark.parametrize("n_members", [1, 2, 30, 60])
@pytest.mark.parametrize("spread", [1e-3, 1.0, 30.0])
def test_marginals_of_the_start_are_those_of_the_sweep(n_dims, n_members, spread):
    points = spread * np.random.default_rng(n_dims).normal(size=(80, n_dims)) + 2.0
    kinds = shapes.ClusterKinds.of_points(points, 0.01)
    model = shapes.Model(points, kinds, precisions=(0.7, 0.2), precision_shares=(0.6, 0.4))
    members, expected = np.arange(5, 5 + n_members), np.empty(kinds.n_kinds)
    _kernels.log_marginals(members, n_members, np.zeros(80, dtype=np.int64), model.compiled, expected)
    np.testing.assert_allclose(_log_marginals_of_kinds(model, members), expected, rtol=1e-9)


def test_joint_density_has_the_right_differences():
    model = make_model("plain")
    one = naive.sample_state(np.random.default_rng(1), 4, KINDS, model.attraction, model.precision_shares)
    values = []
    for labels in ([0, 0, 1, 1], [0, 1, 1, 1]):
        state = replace(one, labels=np.array(labels), kinds=np.array([0, 1]), concentration=float(CONCENTRATIONS[3]))
        precisions = np.array(model.precisions)[state.spreads]
        log_density = naive.log_weight(np.array(labels), state.concentration, model.attraction)
        for k in range(2):
            members = np.array(labels) == k
            log_density += naive.log_marginal(model.points[members], precisions[members], KINDS.prior(k))
        values.append(shapes.log_joint(model, state) - log_density)
    assert values[0] == pytest.approx(values[1])
