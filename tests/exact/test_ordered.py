"""The chain over links that lead back in an order, against posteriors enumerated in full, and its parts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import naive
from homothety.arrays import read_only
from homothety.covariance.measures import SPCM_VARIANTS
from homothety.covariance.similarity import pairwise_similarity
from homothety.distributions import NIW, NormalGamma
from homothety.errors import InputError
from homothety.metrics import ari
from homothety.models import _ddcrp_kernels as link_kernels
from homothety.models import _ordered_kernels as _kernels
from homothety.models import ddcrp, ordered
from homothety.models.partitions import base_measure

CONCENTRATION = 0.6
N_SWEEPS = 15_000
MAX_DISTANCE = 0.03  # total variation

NEIGHBORS = np.array([[-1, -1], [0, 2], [3, 1], [0, -1], [2, 3]])  # those behind an item don't count


def spectra_of(rng, n_items, n_dims=3):
    return np.sort(np.exp(rng.normal(scale=1.2, size=(n_items, n_dims))), axis=1)


def make_model(name, n_items=5):
    rng = np.random.default_rng(7)
    similarity = ordered.PairSimilarity.of_spectra(spectra_of(rng, n_items), SPCM_VARIANTS["paper"], 5.0)
    points, base = rng.normal(size=(n_items, 2)), NIW(np.full(2, 0.1), 0.7, 0.5 * np.eye(2) + 0.1, 3.0)
    if name == "diagonal":
        base = NormalGamma(np.full(2, 0.1), 0.7, 1.5, np.array([0.4, 0.8]))
    if name == "far apart":
        points[:2] += 6.0
    model = ordered.Model(points, similarity, base)
    return replace(model, neighbors=NEIGHBORS, neighbor_share=0.5) if name == "neighbours" else model


def weights_of(model):
    """Weights of all links by the library's own similarity of all pairs, nothing above the diagonal."""
    lengths = np.asarray(model.similarity.features)
    matrices = [np.diag(row**2) for row in lengths]
    weights = np.tril(pairwise_similarity(matrices, variant="paper", tolerance=5.0), -1)
    for i, row in enumerate(model.neighbors if model.neighbors is not None else ()):
        before = [j for j in row if 0 <= j < i]
        for j in before:
            weights[i, j] += model.neighbor_share * i / len(before)
    return weights


def exact_posterior(model):
    log_marginal = naive.marginal_of_tables(model.points, model.base)
    links, posterior = naive.exact_link_posterior(weights_of(model), CONCENTRATION, log_marginal)
    return naive.by_partition(links, posterior)


def frequencies(model, n_sweeps=N_SWEEPS):
    rng, chain = np.random.default_rng(1), []
    state = ddcrp.init_state(model, CONCENTRATION)
    for _ in range(n_sweeps):
        state, _ = ordered.resample_links(rng, model, state)
        chain.append(state.links)
    return naive.partition_frequencies(np.array(chain))


@pytest.mark.parametrize("name", ["full", "diagonal", "far apart", "neighbours"])
def test_partition_frequencies_are_the_posterior(name):
    model = make_model(name)
    assert naive.total_variation(exact_posterior(model), frequencies(model)) < MAX_DISTANCE


FAULTS = {
    "other similarities": lambda model: replace(model, similarity=replace(model.similarity, strength=0.0)),
    "neighbours left out": lambda model: replace(model, neighbors=None),
    "neighbours that count more": lambda model: replace(model, neighbor_share=2.0),
    "another prior": lambda model: replace(model, base=NIW(np.full(2, 0.1), 0.7, np.eye(2), 3.0)),
    "another order": lambda model: replace(
        model,
        points=model.points[::-1].copy(),
        # Read-only as before: for another type of array everything would be compiled again.
        similarity=replace(model.similarity, features=read_only(model.similarity.features[::-1].copy())),
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_chain_with_a_fault_is_caught(fault):
    model = make_model("neighbours" if "neighbours" in fault else "full")
    wrong = frequencies(FAULTS[fault](model), N_SWEEPS // 3)
    assert naive.total_variation(exact_posterior(model), wrong) > 1.5 * MAX_DISTANCE


@pytest.fixture
def interpreted(interpret):
    """Kernels as plain Python."""
    for module in (_kernels, link_kernels):
        interpret(module)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("limit", [0, 1, 3])
def test_giving_up_after_few_proposals_changes_nothing(limit, monkeypatch):
    monkeypatch.setattr(_kernels, "MAX_PROPOSALS", limit)
    model = make_model("full", n_items=3)
    distance = naive.total_variation(exact_posterior(model), frequencies(model, 6_000))
    if limit == 0:
        assert distance > 0.1  # nothing ever moves
    else:
        assert distance < 0.05


WEIGH_TABLES = _kernels._weigh_tables.py_func


def tables_by_number(top, tables, before, values, masses):
    """Propose any table, however many sit there."""
    ones = before._replace(counts=np.minimum(before.counts, 1))
    return WEIGH_TABLES(top, tables, ones, values, masses)


def bound_as_ratio(i, k, rest, points, tables, prior, scratch):
    """Never look behind the bound."""
    scratch.exact[k] = i
    return scratch.ratios[k]


def low_top(i, rest, points, tables, prior, scratch):
    """Forget that a ratio may be above one."""
    _kernels.bound_ratios(tables.labels[i], tables, prior.by_size, scratch.ratios)
    return 0.0


def listed_anywhere(i, k, before, original=_kernels._list_item.py_func):
    """List all who have been visited at the first table."""
    original(i, 0, before)


LINES = {
    "_weigh_tables": tables_by_number,
    "_exact_ratio": bound_as_ratio,
    "_find_top": low_top,
    "_list_item": listed_anywhere,
}


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("line", [None, *LINES])
def test_a_move_with_a_broken_line_is_caught(line, monkeypatch):
    model = make_model("full", n_items=4)
    if line is not None:
        monkeypatch.setattr(_kernels, line, LINES[line])
    distance = naive.total_variation(exact_posterior(model), frequencies(model, 2_500))
    assert distance < 0.05 if line is None else distance > 0.08


# --- parts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", SPCM_VARIANTS)
def test_similarity_of_a_pair_is_that_of_all_pairs(variant):
    rng = np.random.default_rng(0)
    spectra = spectra_of(rng, 12, n_dims=4) * np.exp(rng.normal(size=(12, 1)))
    matrices = [np.diag(spectrum) for spectrum in spectra]
    expected = pairwise_similarity(matrices, variant=variant, tolerance=2.0)
    pairs = ordered.PairSimilarity.of_spectra(spectra, SPCM_VARIANTS[variant], 2.0).compiled
    found = [[_kernels.similarity_of(i, j, pairs) for j in range(12)] for i in range(12)]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def made(n_items, seed=0):
    """Points of three places, and spectra of three shapes."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=n_items)
    points = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])[truth] + rng.normal(scale=0.4, size=(n_items, 2))
    spectra = np.sort(
        np.array([[1.0, 1, 1], [1, 1, 9], [1, 9, 9]])[truth] * np.exp(rng.normal(scale=0.1, size=(n_items, 3)))
    )
    similarity = ordered.PairSimilarity.of_spectra(spectra, SPCM_VARIANTS["log"], 1.0)
    return truth, ordered.Model(points, similarity, base_of(points))


def base_of(points):
    return base_measure(points, mean_strength=1.0, dof=None, scale=None, share=0.003, diagonal=False)


def test_tables_are_right_after_a_sweep_that_ran_out_of_room(monkeypatch):
    truth, model = made(800)
    monkeypatch.setattr(ordered, "_N_SLOTS", 2)  # room for more is made on the way
    rng, state = np.random.default_rng(0), ddcrp.init_state(model)
    for _ in range(3):
        links = link_kernels.build_links(state.links)
        tables = ordered._visit_all(rng, _kernels.sweep_links, model, 1.0, links, model.compiled_prior)
        state = replace(state, links=links[:, 0].copy())
    assert (state.links <= np.arange(800)).all()
    assert ari(state.labels, tables.labels) == 1.0
    for k in tables.occupied[: tables.n_tables[0]]:
        expected = model.base.log_marginal(model.points[tables.labels == k])
        assert tables.rows[k, 2] == pytest.approx(expected, abs=1e-6)
    assert ari(truth, state.labels) > 0.9


@pytest.mark.parametrize("targets", [np.zeros(100, dtype=np.int64), np.arange(100), np.arange(100) // 2])
def test_those_before_are_listed_within_their_room(targets):
    _, model = made(100)
    links = link_kernels.build_links(targets)
    tables, before = _kernels.build_tables(100, 60, links, model.centred_points, model.compiled_prior, 2)
    for k in range(tables.n_tables[0]):
        listed = before.pool[before.start[k] : before.start[k] + before.counts[k]]
        assert listed.tolist() == [i for i in range(60) if tables.labels[i] == k]
    assert before.n_used[0] <= len(before.pool)


def test_a_state_grown_from_a_sample_has_all_items(monkeypatch):
    truth, model = made(3_000)
    monkeypatch.setattr(ordered, "N_SAMPLE", 500)
    state = ordered.grow_state(np.random.default_rng(0), model, base_of)
    assert (state.links <= np.arange(3_000)).all()
    assert ari(truth, state.labels) > 0.9


@pytest.mark.parametrize("concentration", [0.0, -1.0, np.nan])
def test_chains_start_with_a_positive_concentration(concentration):
    _, model = made(20)
    with pytest.raises(InputError, match="concentration is"):
        ordered.grow_state(np.random.default_rng(0), model, base_of, concentration)


@pytest.mark.parametrize("n_items", [1, 2, 5])
def test_few_items_that_are_all_the_same(n_items):
    spectra, points = np.ones((n_items, 3)), np.zeros((n_items, 2))
    similarity = ordered.PairSimilarity.of_spectra(spectra, SPCM_VARIANTS["published"], 1.0)
    model = ordered.Model(points, similarity, NIW(np.zeros(2), 1.0, np.eye(2), 4.0))
    state = ordered.grow_state(np.random.default_rng(0), model, lambda _: model.base)
    for _ in range(20):
        state, info = ordered.resample_links(np.random.default_rng(0), model, state)
        assert (state.links <= np.arange(n_items)).all()
        assert np.isfinite(info.log_likelihood)


def test_the_trace_is_the_joint_density():
    _, model = made(200)
    state, infos = ordered.resample_links(np.random.default_rng(0), model, ddcrp.init_state(model))
    traced = ordered.RECORDING.scalars(model, state, {"links": infos})
    assert traced["log_joint"] == pytest.approx(ordered.log_joint(model, state), abs=1e-6)
    assert traced["n_clusters"] == state.n_clusters
