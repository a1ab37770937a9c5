"""Summaries of sampled partitions against brute force."""

from __future__ import annotations

import numpy as np
import pytest

import naive
from homothety.errors import InputError
from homothety.metrics import vi
from homothety.summaries import coclustering, expected_vi, minimise_expected_vi, partitions, relabel_by_size
from homothety.summaries.partitions import agreed_partition, membership


def random_draws(rng, n_draws=15, n_items=8, n_labels=4):
    return rng.integers(n_labels, size=(n_draws, n_items))


def noisy_draws(rng, n_draws, n_items, n_clusters, share_of_noise):
    """Partitions that scatter about one: what a posterior looks like."""
    centre = rng.integers(n_clusters, size=n_items)
    noise = rng.random((n_draws, n_items)) < share_of_noise
    return np.where(noise, rng.integers(n_clusters, size=noise.shape), centre)


def same_partition(a, b):
    return len({*zip(a, b, strict=True)}) == len(set(a)) == len(set(b))


# --- pieces and their twins -----------------------------------------------------------------------------------------


def test_entropy_terms():
    np.testing.assert_allclose(partitions._entropy_terms(4), [0.0, 0.0, 2.0, 3 * np.log2(3), 8.0])


def test_rise_on_joining_is_the_change_of_the_sum(rng):
    draws, labels, terms = random_draws(rng), np.array([0, 0, 1, 1, 1, 2, 2, 0]), partitions._entropy_terms(8)
    overlaps = partitions._Overlaps.of(labels, draws)
    assert overlaps.sizes.tolist() == [3, 3, 2, 0]
    for i in (0, 3, 6):
        overlaps.shift(i, labels[i], -1)
        rises = overlaps.rises_on_joining(i, terms)
        totals = [8 * len(draws) * naive.expected_vi(naive.replaced(labels, i, k), draws) for k in range(4)]
        np.testing.assert_allclose(np.diff(rises), np.diff(totals), atol=1e-9)
        overlaps.shift(i, labels[i], 1)
        np.testing.assert_array_equal(overlaps.counts, partitions._Overlaps.of(labels, draws).counts)


def test_polishing_ends_where_its_twin_does(rng):
    for _ in range(10):
        draws = noisy_draws(rng, 12, 9, 3, 0.3)
        found, twin = partitions._polished(draws[0], draws), naive.polish(draws[0].tolist(), draws)
        assert naive.expected_vi(found, draws) == pytest.approx(naive.expected_vi(twin, draws), abs=1e-9)
        assert naive.expected_vi(found, draws) <= naive.expected_vi(draws[0], draws) + 1e-12


def test_blocks_of_draws_change_nothing(rng, monkeypatch):
    draws = partitions._check_draws(random_draws(rng))
    whole = coclustering(draws), expected_vi(draws, draws)
    monkeypatch.setattr(partitions, "_BLOCK_ENTRIES", 100)
    assert len(list(partitions._blocks(draws))) > 3
    np.testing.assert_array_equal(coclustering(draws), whole[0])
    np.testing.assert_allclose(expected_vi(draws, draws), whole[1], atol=1e-12)


# --- public functions ------------------------------------------------------------------------------------------------


def test_coclustering_is_the_share_of_draws_that_agree(rng):
    draws = random_draws(rng)
    shares = coclustering(draws)
    np.testing.assert_allclose(shares, naive.coclustering(draws), atol=1e-15)
    assert (np.diagonal(shares) == 1).all()
    np.testing.assert_array_equal(shares, shares.T)


def test_expected_vi_is_the_mean_of_the_metric(rng):
    draws, partitions = random_draws(rng), random_draws(rng, n_draws=7)
    expected = [np.mean([vi(row, draw) for draw in draws]) for row in partitions]
    np.testing.assert_allclose(expected_vi(partitions, draws), expected, atol=1e-12)


@pytest.mark.parametrize("function", [coclustering, minimise_expected_vi, lambda draws: expected_vi(draws, draws)])
def test_labels_may_be_anything(rng, function):
    draws = random_draws(rng)
    names = np.array([["red", "blue", "green", "grey"][label] for label in draws.ravel()]).reshape(draws.shape)
    np.testing.assert_allclose(function(names), function(draws), atol=1e-12)
    np.testing.assert_allclose(function(10 * draws - 7), function(draws), atol=1e-12)


@pytest.mark.parametrize("seed", range(25))
def test_point_estimate_is_a_local_minimum_no_worse_than_any_draw(seed):
    rng = np.random.default_rng(seed)
    draws = random_draws(rng, n_draws=int(rng.integers(1, 30)), n_labels=int(rng.integers(2, 8)))
    found = minimise_expected_vi(draws)
    value = naive.expected_vi(found, draws)
    assert value <= min(naive.expected_vi(draw, draws) for draw in draws) + 1e-9
    assert value <= min(naive.expected_vi(labels, draws) for labels in naive.neighbours(found.tolist())) + 1e-9


def test_several_new_clusters_can_be_opened():
    # Every draw pairs items 0-3 in its own way; nearest to all on average is each of them alone.
    draws = np.array([[0, 0, 1, 1, 2, 2, 2], [0, 1, 0, 1, 2, 2, 2], [0, 1, 1, 0, 2, 2, 2]])
    found = minimise_expected_vi(draws)
    best = min(naive.all_partitions(7), key=lambda labels: naive.expected_vi(labels, draws))
    assert naive.expected_vi(found, draws) == pytest.approx(naive.expected_vi(best, draws), abs=1e-9)


def test_point_estimate_is_mostly_the_global_minimum():
    """A promise of experience, not of theory: on six items at least 19 of 20 posteriors are solved."""
    partitions, n_solved = np.array(naive.all_partitions(6)), 0
    for seed in range(40):
        draws = noisy_draws(np.random.default_rng(seed), 30, 6, 3, 0.35)
        best = expected_vi(partitions, draws).min()
        n_solved += expected_vi([minimise_expected_vi(draws)], draws)[0] < best + 1e-9
    assert n_solved >= 38


@pytest.mark.parametrize("max_candidates", [1, 5])
def test_few_candidates_are_still_polished(rng, max_candidates):
    draws = noisy_draws(rng, 60, 12, 3, 0.25)
    found = minimise_expected_vi(draws, max_candidates=max_candidates)
    compared = draws[np.linspace(0, 59, max_candidates).astype(int)]
    assert expected_vi([found], draws)[0] <= expected_vi(compared, draws).min() + 1e-12


def test_equal_draws_are_their_own_summary():
    assert minimise_expected_vi(np.tile([5, 5, 2, 2, 2, 9], (4, 1))).tolist() == [1, 1, 0, 0, 0, 2]


def test_single_item_and_single_draw():
    assert minimise_expected_vi([[3]]).tolist() == [0]
    assert minimise_expected_vi([[3, 1, 1]]).tolist() == [1, 0, 0]
    assert coclustering([[3]]).tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([4, 4, 4, 0], [0, 0, 0, 1]),
        ([0, 1, 1, 2, 2], [2, 0, 0, 1, 1]),
        (["b", "a", "b", "a"], [0, 1, 0, 1]),
        ([7], [0]),
    ],
)
def test_clusters_are_numbered_by_size_then_first_appearance(labels, expected):
    assert relabel_by_size(labels).tolist() == expected


def test_relabelling_keeps_the_partition(rng):
    for labels in random_draws(rng, n_draws=30):
        relabelled = relabel_by_size(labels)
        assert same_partition(labels.tolist(), relabelled.tolist())
        counts = np.bincount(relabelled)
        assert (np.diff(counts) <= 0).all()
        np.testing.assert_array_equal(relabel_by_size(relabelled), relabelled)


@pytest.mark.parametrize("draws", [[0, 1, 1], np.empty((0, 4)), np.empty((3, 0)), np.zeros((2, 2, 2))])
def test_draws_must_be_a_table(draws):
    with pytest.raises(InputError, match=r"draws has shape .*, needed \(n_draws, n_items\)"):
        coclustering(draws)


def test_partitions_of_other_items_are_refused():
    with pytest.raises(InputError, match="partitions are of 1 items, draws of 3"):
        expected_vi([[0]], [[0, 1, 1]])


def test_membership_is_the_mean_over_the_other_members(rng):
    together = rng.uniform(size=(6, 6))
    together = (together + together.T) / 2
    np.fill_diagonal(together, 1.0)
    labels = np.array([0, 1, 0, 1, 1, 2])
    expected = [
        together[0, 2],
        together[1, [3, 4]].mean(),
        together[2, 0],
        together[3, [1, 4]].mean(),
        together[4, [1, 3]].mean(),
        1 - together[5, :5].max(),
    ]
    np.testing.assert_allclose(membership(together, labels), expected)


def test_a_single_matrix_is_sure_of_its_cluster():
    np.testing.assert_array_equal(membership(np.ones((1, 1)), np.array([0])), [1.0])


def test_draws_of_many_items_may_be_of_few_bytes(rng):
    """As many clusters as there are bytes, so that sums of numbers would overflow in them."""
    truth = rng.integers(256, size=3000)
    draws = np.stack([np.where(rng.random(3000) < 0.1, rng.integers(256, size=3000), truth) for _ in range(12)])
    labels, share = agreed_partition(draws)
    small_labels, small_share = agreed_partition(draws.astype(np.uint8))
    np.testing.assert_array_equal(labels, small_labels)
    np.testing.assert_array_equal(share, small_share)
    np.testing.assert_array_equal(labels, relabel_by_size(truth))
    assert 0.8 < share.mean() < 0.95
