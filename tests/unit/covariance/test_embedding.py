"""Spectral embedding: rules for its dimension, degenerate similarities, invariances, and the paper's own data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from homothety.covariance import pairwise_similarity
from homothety.covariance.embedding import (
    _count_primary_adapted,
    _count_structured,
    _damped_scales,
    _fix_signs,
    count_columns,
    count_primary,
    normalised_laplacian,
    scaled_softmax,
    spectral_embedding,
    unit_rows,
)
from homothety.errors import EmbeddingWarning, InputError

RULES = ("damped", "paper", "published")


def random_similarity(rng, n_items):
    similarity = rng.uniform(0.05, 0.95, (n_items, n_items))
    similarity = (similarity + similarity.T) / 2
    np.fill_diagonal(similarity, 1.0)
    return similarity


def block_similarity(*sizes):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return (labels[:, None] == labels).astype(float), labels


def near_identity(n_items, off_diagonal):
    return np.full((n_items, n_items), off_diagonal) + (1 - off_diagonal) * np.eye(n_items)


# --- Laplacian -------------------------------------------------------------------------------------------------------


def test_laplacian_is_its_definition(rng):
    similarity = random_similarity(rng, 7)
    degrees = similarity.sum(axis=1)
    expected = [
        [float(i == j) - similarity[i, j] / np.sqrt(degrees[i] * degrees[j]) for j in range(7)] for i in range(7)
    ]
    laplacian = normalised_laplacian(similarity)
    np.testing.assert_allclose(laplacian, expected, atol=1e-14)
    np.testing.assert_array_equal(laplacian, laplacian.T)


def test_eigenvalues_lie_between_zero_and_two(rng):
    similarity = random_similarity(rng, 12)
    embedding = spectral_embedding(similarity)
    np.testing.assert_allclose(embedding.degrees, similarity.sum(axis=1))
    assert embedding.eigenvalues[0] == pytest.approx(0.0, abs=1e-12)
    assert (np.diff(embedding.eigenvalues) >= 0).all()
    assert embedding.eigenvalues[-1] <= 2


@pytest.mark.parametrize("rule", [*RULES, 3])
def test_points_are_scaled_eigenvectors_of_unit_rows(rng, rule):
    similarity = random_similarity(rng, 20)
    embedding = spectral_embedding(similarity, n_components=rule)
    n_columns = embedding.n_components
    image = normalised_laplacian(similarity) @ embedding.vectors
    np.testing.assert_allclose(image, embedding.vectors * embedding.eigenvalues[:n_columns], atol=1e-12)
    rows = embedding.vectors * embedding.scales
    np.testing.assert_allclose(embedding.points, rows / np.linalg.norm(rows, axis=1, keepdims=True), atol=1e-12)


def test_columns_of_algorithm_1_all_count_alike(rng):
    similarity = random_similarity(rng, 12)
    for rule in ("paper", "published", 3):
        assert (spectral_embedding(similarity, n_components=rule).scales == 1).all()


@pytest.mark.parametrize("last", [0.2, 0.5, 0.9])
def test_damped_columns_fall_from_one_as_a_power_of_their_strength(last):
    strengths = np.array([1.0, 0.6, 0.5, 0.3, 0.05])
    scales = _damped_scales(strengths, last)
    assert scales[:2].tolist() == [1.0, 1.0]
    assert scales[-1] == pytest.approx(last)
    powers = np.log(scales[2:]) / np.log(strengths[2:] / 0.6)
    np.testing.assert_allclose(powers, powers[0])
    np.testing.assert_allclose(_damped_scales(strengths**3, last), scales)


def test_columns_without_strength_are_left_out():
    np.testing.assert_array_equal(_damped_scales(np.array([1.0, 0.5, 1e-14, -1e-14]), 1.0), [1.0, 1.0, 0.0, 0.0])
    np.testing.assert_array_equal(_damped_scales(np.array([1.0, 1e-14, -1e-14]), 0.5), [1.0, 0.0, 0.0])


def test_equal_strengths_fall_evenly():
    np.testing.assert_allclose(_damped_scales(np.array([1.0, 0.4, 0.4, 0.4]), 0.25), [1.0, 1.0, 0.5, 0.25])


def test_damping_can_be_chosen(rng):
    embedding = spectral_embedding(random_similarity(rng, 9), n_components=3, damping=0.3)
    np.testing.assert_allclose(embedding.scales, [1.0, 1.0, 0.3])


@pytest.mark.parametrize("damping", [0.0, -1.0, 1.5, np.nan])
def test_damping_must_be_a_share(rng, damping):
    with pytest.raises(InputError, match=rf"damping is {damping}, needed more than 0 and at most 1"):
        spectral_embedding(random_similarity(rng, 5), damping=damping)


# --- how many columns ------------------------------------------------------------------------------------------------

spectra = st.lists(st.floats(0, 2), min_size=2, max_size=20).map(lambda values: np.array(sorted([0.0, *values])))


@settings(deadline=None)
@given(spectra)
def test_threshold_on_eigenvalues_is_the_rule_on_softmax_weights(eigenvalues):
    assume(eigenvalues[-1] > 1e-6)
    softmax = np.exp(eigenvalues) / np.exp(eigenvalues).sum()
    weights = 2 * (softmax - softmax.min()) / (softmax.max() - softmax.min()) - 1
    assume(np.abs(weights).min() > 1e-6)
    assert count_primary(eigenvalues) == (weights < 0).sum()
    np.testing.assert_allclose(scaled_softmax(eigenvalues), weights, atol=1e-8)


@pytest.mark.parametrize(("largest", "threshold"), [(1.0, 0.620), (2.0, 1.434)])
def test_threshold_for_the_usual_spectra(largest, threshold):
    below, above = threshold - 1e-3, threshold + 1e-3
    assert count_primary(np.array([0.0, below, below, largest])) == 3
    assert count_primary(np.array([0.0, below, above, largest])) == 2


def spectrum_of(weights):
    """Eigenvalues from 0 to 1 whose scaled softmax weights are the given ones."""
    return np.log(1 + (np.array(weights) + 1) / 2 * (np.e - 1))


@pytest.mark.parametrize(
    ("weights", "count"),
    [
        # Nothing near the threshold: the plain count.
        ([-1.0, -0.9, -0.6, 0.4, 0.9, 1.0], 3),
        # Count 4 and w4 near zero: threshold (-0.9 - 0.5 - 0.05 + 0.3) / 4 = -0.2875, count 3, w4 is 0.2375 from it.
        ([-1.0, -0.9, -0.5, -0.05, 0.3, 0.8, 1.0], 3),
        # Count 4: threshold (-0.9 - 0.35 - 0.15 + 0.1) / 4 = -0.325, count 3, but w4 is 0.175 from it: one more.
        ([-1.0, -0.9, -0.35, -0.15, 0.1, 1.0], 4),
        # Count 2: threshold (-0.1 + 0.3 + 0.3 + 0.9) / 4 = 0.35, count 3, w4 is 0.55 from it.
        ([-1.0, -0.1, 0.3, 0.9, 1.0], 3),
        # Count 2 and only w3 near zero: threshold (-0.7 + 0.1 + 0.1 + 0.5) / 4 = 0, count 2, w3 is 0.1 from it.
        ([-1.0, -0.7, 0.1, 0.5, 1.0], 3),
        # Count 1: threshold (-1 + 0.15 + 0.15 + 0.6) / 4 = -0.025, count 1, w2 is 0.175 from it.
        ([-1.0, 0.15, 0.6, 1.0], 2),
    ],
)
def test_adapted_rule_by_hand(weights, count):
    eigenvalues = spectrum_of(weights)
    np.testing.assert_allclose(scaled_softmax(eigenvalues), weights, atol=1e-12)
    assert _count_primary_adapted(eigenvalues) == count


@pytest.mark.parametrize(
    ("eigenvalues", "count"),
    [
        ([0.0, 0.1, 0.4, 0.5, 0.9, 0.95, 0.999, 1.0, 1.0], 4),  # the paper's count, since 0.5 is five times 0.1
        ([0.0, 0.1, 0.4, 0.5, 0.8, 0.95, 0.999, 1.0, 1.0], 3),  # it is but 2.5 times 0.2: the root of nine items
        ([0.0, 0.1, *14 * [0.995]], 2),  # strengths below a hundredth of the leading one
        ([0.0, *99 * [0.3]], 8),  # never more than eight
        ([0.0], 1),
    ],
)
def test_default_rule_by_hand(eigenvalues, count):
    assert _count_structured(np.array(eigenvalues)) == count


@pytest.mark.parametrize("rule", RULES)
def test_rules_keep_at_least_two_columns_and_at_most_all(rule):
    assert count_columns(np.array([0.0, 1.0, 1.0, 1.0]), rule) == 2
    assert count_columns(np.array([0.0, 1.0]), rule) == 2
    assert count_columns(np.array([0.0, 0.5, 1.0]), 1) == 1


# --- degenerate similarities -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("n_items", [1, 2, 5])
def test_unconnected_items_are_components_of_their_own(rule, n_items):
    message = "There is one item only" if n_items == 1 else f"No two of the {n_items} items have any similarity"
    with pytest.warns(EmbeddingWarning, match=message):
        embedding = spectral_embedding(np.eye(n_items), n_components=rule)
    np.testing.assert_array_equal(embedding.points, np.eye(n_items))
    np.testing.assert_allclose(embedding.place(np.eye(n_items)), np.eye(n_items))


@pytest.mark.parametrize("off_diagonal", [1e-8, 1e-4, 1e-2])
def test_nearly_unconnected_items_are_warned_about(off_diagonal):
    with pytest.warns(EmbeddingWarning, match="All similarities are next to zero"):
        embedding = spectral_embedding(near_identity(6, off_diagonal), n_components="paper")
    assert embedding.n_components == 2
    assert count_primary(embedding.eigenvalues) == 1


def test_tiny_similarities_count_as_none():
    with pytest.warns(EmbeddingWarning, match="No two of the 6 items"):
        embedding = spectral_embedding(near_identity(6, 1e-12))
    np.testing.assert_array_equal(embedding.points, np.eye(6))


def test_weak_but_real_similarities_pass_in_silence():
    assert spectral_embedding(near_identity(6, 0.1), n_components="paper").n_components == 2


@pytest.mark.parametrize("rule", ["paper", "damped"])
def test_items_all_alike_get_two_columns(rule):
    embedding = spectral_embedding(np.ones((6, 6)), n_components=rule)
    assert count_primary(embedding.eigenvalues) == 1
    assert embedding.n_components == 2
    np.testing.assert_allclose(embedding.points, np.tile([1.0, 0.0], (6, 1)), atol=1e-12)


def test_one_column_of_a_connected_graph_says_nothing(rng):
    embedding = spectral_embedding(random_similarity(rng, 8), n_components=1)
    np.testing.assert_allclose(embedding.points, 1.0, atol=1e-12)


def test_row_of_zeros_stays_as_it_is():
    rows = np.array([[3.0, 4.0], [0.0, 0.0], [0.0, -2.0]])
    np.testing.assert_allclose(unit_rows(rows), [[0.6, 0.8], [0.0, 0.0], [0.0, -1.0]])


@pytest.mark.parametrize("sizes", [(4, 2, 1), (4, 4, 4), (5, 3)])
def test_blocks_are_found_and_stand_at_right_angles(sizes):
    similarity, labels = block_similarity(*sizes)
    embedding = spectral_embedding(similarity, n_components="paper")
    assert embedding.n_components == count_primary(embedding.eigenvalues) == len(sizes)
    np.testing.assert_allclose(embedding.eigenvalues, [0.0] * len(sizes) + [1.0] * (sum(sizes) - len(sizes)), atol=1e-9)
    np.testing.assert_allclose(embedding.points @ embedding.points.T, labels[:, None] == labels, atol=1e-9)


@pytest.mark.parametrize("similarity", [0.01, 0.4, 0.999])
def test_two_items_always_look_the_same(similarity):
    matrix = near_identity(2, similarity)
    if similarity < 0.05:
        with pytest.warns(EmbeddingWarning, match="next to zero"):
            points = spectral_embedding(matrix, n_components="paper").points
    else:
        points = spectral_embedding(matrix, n_components="paper").points
    np.testing.assert_allclose(np.abs(points), np.sqrt(0.5), atol=1e-12)
    assert points[0] @ points[1] == pytest.approx(0.0, abs=1e-12)


# --- conventions and invariances -------------------------------------------------------------------------------------


def test_largest_entry_of_each_column_is_positive(rng):
    vectors = rng.normal(size=(9, 5))
    fixed = _fix_signs(vectors)
    np.testing.assert_allclose(np.abs(fixed), np.abs(vectors))
    assert (fixed[np.abs(fixed).argmax(axis=0), np.arange(5)] > 0).all()
    np.testing.assert_array_equal(_fix_signs(-vectors), fixed)
    np.testing.assert_array_equal(_fix_signs(np.zeros((3, 1))), np.zeros((3, 1)))


@pytest.mark.parametrize("rule", [*RULES, 4])
def test_relabelling_items_relabels_points(rng, rule):
    similarity, order = random_similarity(rng, 15), rng.permutation(15)
    points = spectral_embedding(similarity, n_components=rule).points
    permuted = spectral_embedding(similarity[np.ix_(order, order)], n_components=rule).points
    np.testing.assert_allclose(permuted, points[order], atol=1e-9)


@pytest.mark.parametrize("rule", [*RULES, 6])
def test_placing_the_embedded_items_gives_their_own_points(rng, rule):
    similarity = random_similarity(rng, 18)
    embedding = spectral_embedding(similarity, n_components=rule)
    np.testing.assert_allclose(embedding.place(similarity), embedding.points, atol=1e-9)
    np.testing.assert_allclose(embedding.place(similarity[3:5]), embedding.points[3:5], atol=1e-9)


def test_new_item_is_placed_with_those_it_resembles():
    similarity, _ = block_similarity(4, 3)
    embedding = spectral_embedding(similarity, n_components="paper")
    placed = embedding.place(np.array([[0.9, 0.9, 0.9, 0.9, 0.0, 0.0, 0.0], [0.0] * 7]))
    np.testing.assert_allclose(placed[0], embedding.points[0], atol=1e-9)
    np.testing.assert_array_equal(placed[1], 0.0)


# --- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_components", [0, 6, -1])
def test_number_of_columns_must_fit(rng, n_components):
    with pytest.raises(InputError, match=rf"n_components is {n_components}, needed 1 to 5, the number of items"):
        spectral_embedding(random_similarity(rng, 5), n_components=n_components)


def test_unknown_rule_is_refused(rng):
    with pytest.raises(InputError, match="n_components is 'elbow', needed a number or one of damped, paper, published"):
        spectral_embedding(random_similarity(rng, 5), n_components="elbow")


@pytest.mark.parametrize("n_components", [2.5, None])
def test_a_number_of_columns_is_whole(rng, n_components):
    with pytest.raises(InputError, match=rf"n_components is {n_components}, needed a whole number"):
        spectral_embedding(random_similarity(rng, 5), n_components=n_components)


@pytest.mark.parametrize("value", [0.0, 0.5])
def test_a_similarity_to_oneself_other_than_one_is_refused(rng, value):
    similarity = random_similarity(rng, 5)
    similarity[3, 3] = value
    with pytest.raises(InputError, match=rf"similarity\[3, 3\] is {value:g}, needed 1.*fill_diagonal"):
        spectral_embedding(similarity)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.eye(2) * 1j, "similarity is complex"),
        ("similar", "similarity has dtype .* needed numbers"),
        ([[1.0, 0.5], [0.5]], "similarity has rows of different lengths"),
    ],
)
def test_what_is_no_array_of_numbers_is_refused(bad, message):
    with pytest.raises(InputError, match=message):
        spectral_embedding(bad)


def test_asymmetric_similarity_is_refused(rng):
    with pytest.raises(InputError, match="similarity is not symmetric"):
        spectral_embedding(np.triu(random_similarity(rng, 5)))


# --- the paper's own data sets ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "tolerance", "rule", "n_columns"),
    [
        ("toy_3d", 1.0, "paper", 2),
        ("toy_6d_seed0", 1.0, "paper", 3),
        ("task_ellipsoids_6d", 1.0, "paper", 4),
        ("task_ellipsoids_6d", 1.0, "published", 3),
        ("dti_synthetic", 10.0, "published", 3),
    ],
)
def test_columns_kept_on_the_papers_data(shared_data, name, tolerance, rule, n_columns):
    matrices = shared_data(f"{name}.npz")["matrices"]
    similarity = pairwise_similarity(matrices, variant="published", tolerance=tolerance)
    count = {"paper": count_primary, "published": _count_primary_adapted}[rule]
    with threadpool_limits(1):  # threads only get in each other's way on a busy machine
        assert count(np.linalg.eigvalsh(normalised_laplacian(similarity))) == n_columns
