"""What must hold of similarity for every input: invariances, symmetry, zero under homothety, order of the matrices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import naive_similarity as naive
from homothety.covariance import SPCM_VARIANTS, pairwise_distance, pairwise_similarity, shape_coordinates

seeds = st.integers(min_value=0, max_value=2**32 - 1)
dimensions = st.integers(min_value=2, max_value=6)
scales = st.floats(min_value=1e-6, max_value=1e6)
variants = st.sampled_from(sorted(SPCM_VARIANTS))
measures = st.sampled_from(["spcm", "airm", "lerm", "kldm", "jbld"])
quick = settings(max_examples=60, deadline=None)


def draw(seed, n_dims, n_matrices=5):
    rng = np.random.default_rng(seed)
    return rng, naive.matrices(rng, n_matrices, n_dims)


def turned(rng, X):
    turns = np.stack([naive.rotation(rng, X.shape[1]) for _ in X])
    moved = turns @ X @ turns.swapaxes(1, 2)
    return (moved + moved.swapaxes(1, 2)) / 2


@quick
@given(seeds, dimensions, variants)
def test_rotating_each_matrix_on_its_own_changes_nothing(seed, n_dims, variant):
    rng, X = draw(seed, n_dims)
    expected = pairwise_distance(X, variant=variant)
    np.testing.assert_allclose(pairwise_distance(turned(rng, X), variant=variant), expected, rtol=1e-9, atol=1e-20)


@quick
@given(seeds, dimensions, scales, st.sampled_from(["paper", "published-variance", "log"]))
def test_homothetic_copies_are_at_zero(seed, n_dims, scale, variant):
    rng, X = draw(seed, n_dims)
    copies = np.diag(pairwise_distance(X, scale * turned(rng, X), variant=variant))
    lengths_scale = scale if variant == "paper" else scale**2
    assert copies.max() <= 1e-20 * (1 + lengths_scale + 1 / lengths_scale)


@quick
@given(seeds, dimensions, scales)
def test_the_log_variant_is_free_of_every_scale(seed, n_dims, spread):
    rng, X = draw(seed, n_dims)
    scaled = X * spread ** rng.uniform(-1, 1, size=(len(X), 1, 1))
    np.testing.assert_allclose(
        pairwise_distance(scaled, variant="log"), pairwise_distance(X, variant="log"), rtol=1e-10, atol=1e-24
    )
    np.testing.assert_allclose(shape_coordinates(scaled), shape_coordinates(X), atol=1e-12)


@quick
@given(seeds, dimensions, scales)
def test_the_coefficient_of_variation_takes_one_of_two_values(seed, n_dims, scale):
    """It is free of scale but for the choice of direction."""
    _, (a, b) = draw(seed, n_dims, n_matrices=2)
    ratios = np.array(naive.axis_lengths(a)) / np.array(naive.axis_lengths(b))
    values = [np.std(ratio) / np.mean(ratio) for ratio in (ratios, 1 / ratios)]
    found = pairwise_distance([a], [scale * b], variant="scale-free")[0, 0]
    assert np.isclose(found, values, rtol=1e-9, atol=1e-13).any()


@quick
@given(seeds, dimensions, st.floats(min_value=1.5, max_value=1e3))
def test_variance_and_standard_deviation_are_not_scale_free(seed, n_dims, scale):
    """Scaling the magnified matrix down multiplies the paper's dissimilarity by the scale, the published one too."""
    _, X = draw(seed, n_dims, n_matrices=2)
    small = X[1:] / 1e4  # far enough for the direction to stay
    for variant, power in (("paper", 1), ("published", 1), ("published-variance", 2)):
        before = pairwise_distance(X[:1], small, variant=variant)[0, 0]
        after = pairwise_distance(X[:1], small / scale, variant=variant)[0, 0]
        assert after == pytest.approx(before * scale**power, rel=1e-8)


@quick
@given(seeds, dimensions, measures, variants)
def test_the_order_of_the_matrices_does_not_matter(seed, n_dims, measure, variant):
    rng, X = draw(seed, n_dims, n_matrices=7)
    order = rng.permutation(len(X))
    S = pairwise_similarity(X, measure=measure, variant=variant)
    permuted = pairwise_similarity(X[order], measure=measure, variant=variant)
    np.testing.assert_allclose(permuted, S[np.ix_(order, order)], rtol=1e-9)


@quick
@given(seeds, dimensions, measures, variants)
def test_two_lists_are_blocks_of_one_and_the_order_of_lists_a_transpose(seed, n_dims, measure, variant):
    _, X = draw(seed, n_dims, n_matrices=7)
    D = pairwise_distance(X, measure=measure, variant=variant)
    block = pairwise_distance(X[:4], X[4:], measure=measure, variant=variant)
    np.testing.assert_allclose(block, D[:4, 4:], rtol=1e-9)
    np.testing.assert_allclose(block, pairwise_distance(X[4:], X[:4], measure=measure, variant=variant).T, rtol=1e-9)


@quick
@given(seeds, dimensions, measures, variants, st.floats(min_value=0, max_value=100))
def test_similarity_is_symmetric_bounded_and_one_on_the_diagonal(seed, n_dims, measure, variant, tolerance):
    _, X = draw(seed, n_dims)
    S = pairwise_similarity(X, measure=measure, variant=variant, tolerance=tolerance)
    np.testing.assert_array_equal(S, S.T)
    np.testing.assert_array_equal(np.diag(S), 1.0)
    assert 0 <= S.min() <= S.max() <= 1


@quick
@given(seeds, dimensions)
def test_the_root_of_the_log_variant_obeys_the_triangle_inequality(seed, n_dims):
    _, X = draw(seed, n_dims, n_matrices=3)
    root = np.sqrt(pairwise_distance(X, variant="log"))
    assert root[0, 2] <= root[0, 1] + root[1, 2] + 1e-12


@quick
@given(seeds, dimensions)
def test_only_proportional_spectra_are_at_zero(seed, n_dims):
    _, X = draw(seed, n_dims, n_matrices=2)
    spectra = np.linalg.eigvalsh(X)
    assume(np.ptp(np.log(spectra[0] / spectra[1])) > 1e-3)  # by chance, spectra of two dimensions are nearly equal
    proportional = np.array([X[0], 3.0 * X[0]])
    for variant in SPCM_VARIANTS:
        assert pairwise_distance(X, variant=variant)[0, 1] > 1e-12
        assert pairwise_distance(proportional, variant=variant)[0, 1] < 1e-12
