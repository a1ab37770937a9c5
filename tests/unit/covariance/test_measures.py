"""The formulas, one pair at a time, against hand computation and twins written from the formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest

import naive_similarity as naive
from homothety.covariance import (
    SPCM_VARIANTS,
    SPCMVariant,
    airm,
    bounded_spcm,
    jbld,
    kldm,
    lerm,
    similarity_from_spcm,
    spcm_dissimilarity,
)
from homothety.errors import FlooredEigenvaluesWarning, InputError, NotSPDError

STANDARD = {"airm": airm, "lerm": lerm, "kldm": kldm, "jbld": jbld}
DIAGONAL_PAIR = np.diag([1.0, 4.0, 9.0]), np.diag([1.0, 1.0, 4.0])
TURNED_PAIR = np.array([[2.0, 1.0], [1.0, 2.0]]), np.diag([1.0, 4.0])


# ---- the values of docs/model.md, section 8.1


def test_dissimilarity_of_the_diagonal_pair_is_one_sixth():
    assert float(spcm_dissimilarity(*DIAGONAL_PAIR)) == pytest.approx(1 / 6, rel=1e-14)
    assert float(bounded_spcm(1 / 6, 3, 1.0)) == pytest.approx(0.842523, abs=5e-7)


def test_dissimilarity_of_the_turned_pair_is_taken_in_the_other_direction():
    assert float(spcm_dissimilarity(*TURNED_PAIR)) == pytest.approx(0.005983064, abs=5e-10)


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        (DIAGONAL_PAIR, {"airm": 1.606057, "lerm": 1.606057, "kldm": 1.472222, "jbld": 0.303186}),
        (TURNED_PAIR, {"airm": 1.302848, "lerm": 1.267186, "kldm": 0.916667, "jbld": 0.204466}),
    ],
)
def test_standard_measures_of_both_pairs(pair, expected):
    found = {name: float(function(*pair)) for name, function in STANDARD.items()}
    assert found == pytest.approx(expected, abs=5e-7)


def test_published_variance_of_the_diagonal_pair():
    assert float(spcm_dissimilarity(*DIAGONAL_PAIR, variant="published-variance")) == pytest.approx(2.270833, abs=5e-7)
    assert float(spcm_dissimilarity(*DIAGONAL_PAIR, variant="published")) == pytest.approx(math.sqrt(109 / 48))


def test_a_tie_is_the_mean_of_both_directions():
    """Ratios (0.5, 1.7, t) and their inverses have equal means at the root t, and unequal variances there."""
    root = 1.212784260
    middle = 6.8 / 4
    lengths_b = np.array([1.0, 4.0, 16.0])
    v_ab, v_ba, both = 0.242826731, 0.381178764, 0.312002747

    def dissimilarity(t):
        return float(spcm_dissimilarity(np.diag(np.array([0.5, 4 * middle, 16 * t]) ** 2), np.diag(lengths_b**2)))

    assert dissimilarity(root + 1e-8) == pytest.approx(v_ab, abs=1e-7)
    assert dissimilarity(root - 1e-8) == pytest.approx(v_ba, abs=1e-7)
    # Walk over the floats around the exact root: where the two means are the same float, the value is the average.
    constant = 2 + 1 / middle - 0.5 - middle
    exact = (constant + math.sqrt(constant**2 + 4)) / 2
    nearby = [exact + k * np.spacing(exact) for k in range(-40, 41)]
    found = {round(dissimilarity(t), 8) for t in nearby}
    assert found == {round(v_ab, 8), round(v_ba, 8), round(both, 8)}


@pytest.mark.parametrize(
    ("scale", "expected", "similarity", "cv"),
    [
        (0.01, 16.6667, 0.0508, 0.272166),
        (0.1, 1.66667, 0.3485, 0.272166),
        (1.0, 0.166667, 0.8425, 0.272166),
        (2.0, 0.083333, 0.9145, 0.272166),
        (4.0, 0.172840, 0.8376, 0.287820),
        (10.0, 0.432099, 0.6736, 0.287820),
        (100.0, 4.32099, 0.1711, 0.287820),
    ],
)
def test_the_papers_dissimilarity_depends_on_relative_scale(scale, expected, similarity, cv):
    """Values of docs/model.md, section 8.1: only equal shapes are free of scale under the paper's variance."""
    a, b = DIAGONAL_PAIR
    found = spcm_dissimilarity(a, scale * b)
    assert float(found) == pytest.approx(expected, rel=5e-6)
    assert float(bounded_spcm(found, 3, 1.0)) == pytest.approx(similarity, abs=5e-5)
    assert float(spcm_dissimilarity(a, scale * b, variant="scale-free")) == pytest.approx(cv, abs=5e-7)
    log = spcm_dissimilarity(a, scale * b, variant="log")
    assert float(log) == pytest.approx(np.var([0.0, math.log(2), math.log(1.5)]), rel=1e-13)


def test_scale_law_while_the_direction_stays():
    a, b = DIAGONAL_PAIR
    for scale in (0.001, 0.05, 0.7, 1.9):
        assert float(spcm_dissimilarity(a, scale * b)) == pytest.approx(1 / 6 / scale, rel=1e-12)
        std = SPCMVariant("sqrt", "std")
        assert float(spcm_dissimilarity(a, scale * b, variant=std)) == pytest.approx(math.sqrt(1 / 6 / scale))


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1.0, 1e6, 1e12])
@pytest.mark.parametrize("n_dims", [2, 3, 6])
def test_rotated_and_scaled_copies_are_at_zero(rng, scale, n_dims):
    for a in naive.matrices(rng, 20, n_dims, condition=100):
        turn = naive.rotation(rng, n_dims)
        bound = 1e-20 * (1 + scale + 1 / scale)
        assert spcm_dissimilarity(a, scale * turn @ a @ turn.T) <= bound


@pytest.mark.parametrize("name", SPCM_VARIANTS)
def test_each_matrix_may_be_rotated_on_its_own(rng, name):
    for a, b in naive.matrices(rng, 20, 4).reshape(10, 2, 4, 4):
        turn_a, turn_b = naive.rotation(rng, 4), naive.rotation(rng, 4)
        turned = spcm_dissimilarity(turn_a @ a @ turn_a.T, turn_b @ b @ turn_b.T, variant=name)
        assert float(turned) == pytest.approx(float(spcm_dissimilarity(a, b, variant=name)), rel=1e-11)


def test_direction_is_by_mean_ratio_and_not_by_volume():
    """A pair on which the two rules disagree: the larger ellipsoid is not the one that magnifies."""
    ratios = np.array([0.5, 1.7, 1.2])
    assert np.prod(ratios) > 1
    assert ratios.mean() < (1 / ratios).mean()
    lengths_b = np.array([1.0, 10.0, 100.0])
    found = spcm_dissimilarity(np.diag((ratios * lengths_b) ** 2), np.diag(lengths_b**2))
    assert float(found) == pytest.approx(np.var(1 / ratios), rel=1e-12)


def test_in_two_dimensions_the_tie_rule_is_invisible():
    ratios = np.array([0.5, 2.0])
    lengths_b = np.array([1.0, 8.0])
    found = spcm_dissimilarity(np.diag((ratios * lengths_b) ** 2), np.diag(lengths_b**2))
    assert float(found) == np.var(ratios) == np.var(1 / ratios)


def test_there_is_no_triangle_inequality():
    lengths = np.array([[1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
    a, b, c = (np.diag(row**2) for row in lengths)
    assert spcm_dissimilarity(a, c) > spcm_dissimilarity(a, b) + spcm_dissimilarity(b, c)


# ---- against the twins


VARIANTS = [
    SPCMVariant(length, dispersion, ddof, decay, rate)
    for length in ("sqrt", "eigenvalue")
    for dispersion in ("variance", "std", "cv", "log")
    for ddof in (0, 1)
    for decay, rate in (("bounded", 1.0), ("exponential", 2.0), ("exponential-root", 0.5))
]


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_every_variant_agrees_with_its_twin(rng, variant):
    X, Y = naive.matrices(rng, 5, 3), naive.matrices(rng, 4, 3)
    found = spcm_dissimilarity(X[:, None], Y[None], variant=variant)
    np.testing.assert_allclose(found, naive.spcm_distances(X, Y, variant), rtol=1e-11)
    similarity = similarity_from_spcm(found, 3, variant=variant, tolerance=4.0)
    np.testing.assert_allclose(similarity, naive.spcm_similarities(X, Y, variant, tolerance=4.0), rtol=1e-11)


@pytest.mark.parametrize("name", STANDARD)
@pytest.mark.parametrize("n_dims", [2, 3, 5])
def test_standard_measures_agree_with_their_definitions(rng, name, n_dims):
    X, Y = naive.matrices(rng, 5, n_dims), naive.matrices(rng, 3, n_dims)
    found = STANDARD[name](X[:, None], Y[None])
    np.testing.assert_allclose(found, naive.distances(X, Y, name), rtol=1e-9)


# ---- properties of the standard measures (docs/model.md, section 1.6)


@pytest.mark.parametrize("name", STANDARD)
def test_standard_measures_are_symmetric_and_zero_only_for_equals(rng, name):
    a, b = naive.matrices(rng, 2, 4)
    measure = STANDARD[name]
    assert float(measure(a, b)) == pytest.approx(float(measure(b, a)), rel=1e-12)
    assert float(measure(a, a)) < 1e-12 < 1e-3 < float(measure(a, b))


@pytest.mark.parametrize("name", ["airm", "kldm", "jbld"])
def test_affine_invariance_holds_for_three(rng, name):
    a, b = naive.matrices(rng, 2, 3)
    change = rng.normal(size=(3, 3))
    measure = STANDARD[name]
    changed = measure(change @ a @ change.T, change @ b @ change.T)
    assert float(changed) == pytest.approx(float(measure(a, b)), rel=1e-9)


def test_the_log_euclidean_metric_is_invariant_to_joint_rotation_and_scaling_only(rng):
    a, b = naive.matrices(rng, 2, 3)
    turn, shear = naive.rotation(rng, 3), np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    expected = float(lerm(a, b))
    assert float(lerm(3 * turn @ a @ turn.T, 3 * turn @ b @ turn.T)) == pytest.approx(expected, rel=1e-11)
    assert float(lerm(shear @ a @ shear.T, shear @ b @ shear.T)) != pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("name", STANDARD)
def test_no_standard_measure_survives_separate_rotation_or_scaling(rng, name):
    a, b = np.diag([1.0, 2.0, 8.0]), np.diag([1.0, 3.0, 4.0])
    turn = naive.rotation(rng, 3)
    assert float(STANDARD[name](a, turn @ b @ turn.T)) != pytest.approx(float(STANDARD[name](a, b)), rel=1e-3)
    assert float(STANDARD[name](a, 5 * b)) != pytest.approx(float(STANDARD[name](a, b)), rel=1e-3)


@pytest.mark.parametrize(("name", "power"), [("airm", 1.0), ("lerm", 1.0), ("jbld", 0.5)])
def test_triangle_inequality_of_the_metrics(rng, name, power):
    for a, b, c in naive.matrices(rng, 60, 3).reshape(20, 3, 3, 3):
        d = STANDARD[name]
        assert float(d(a, c)) ** power <= float(d(a, b)) ** power + float(d(b, c)) ** power + 1e-9


# ---- shapes, errors, extremes


@pytest.mark.parametrize("measure", [spcm_dissimilarity, *STANDARD.values()])
def test_leading_axes_broadcast(rng, measure):
    X, Y = naive.matrices(rng, 6, 3).reshape(2, 3, 3, 3), naive.matrices(rng, 3, 3)
    found = measure(X, Y)
    assert found.shape == (2, 3)
    np.testing.assert_allclose(found[1, 2], measure(X[1, 2], Y[2]), rtol=1e-12)
    assert np.shape(measure(X[0, 0], Y[0])) == ()


@pytest.mark.parametrize("measure", [spcm_dissimilarity, *STANDARD.values()])
def test_wrong_input_is_named(measure):
    with pytest.raises(InputError, match="cov_a has 2 dimensions and cov_b has 3"):
        measure(np.eye(2), np.eye(3))
    with pytest.raises(NotSPDError, match=r"cov_b\[1\] is not positive definite"):
        measure(np.eye(2), [np.eye(2), np.diag([1.0, -1.0])])
    with pytest.raises(InputError, match=r"cov_a has shape \(2,\)"):
        measure(np.ones(2), np.eye(2))


@pytest.mark.parametrize("measure", [spcm_dissimilarity, *STANDARD.values()])
def test_singular_matrices_are_floored_with_a_warning(measure):
    with pytest.warns(FlooredEigenvaluesWarning, match="cov_b: 1 of 1"):
        found = measure(np.eye(2), np.diag([0.0, 1.0]))
    assert np.isfinite(found)
    assert found > 0


def test_larger_tolerance_lowers_every_similarity_below_one():
    dissimilarity = np.array([0.0, 0.01, 1.0, 50.0])
    for name in SPCM_VARIANTS:
        low, high = (similarity_from_spcm(dissimilarity, 3, variant=name, tolerance=t) for t in (1.0, 10.0))
        assert low[0] == high[0] == 1.0
        assert (high[1:] < low[1:]).all()


@pytest.mark.parametrize("name", SPCM_VARIANTS)
def test_infinite_dissimilarity_is_zero_similarity(name):
    found = similarity_from_spcm([0.0, np.inf], 2, variant=name, tolerance=1e9)
    np.testing.assert_array_equal(found, [1.0, 0.0])


def test_overflowing_ratios_are_infinitely_different_and_not_nan():
    small, large = 1e-300 * DIAGONAL_PAIR[0], 1e300 * DIAGONAL_PAIR[1]
    assert spcm_dissimilarity(small, large) == np.inf
    assert spcm_dissimilarity(small, large, variant="published") == np.inf
    assert float(spcm_dissimilarity(small, large, variant="log")) == pytest.approx(0.0808462158, rel=1e-8)


def test_equal_shapes_at_relative_scale_1e12_need_the_two_pass_variance(rng):
    """From sums of squares the error would be of the order 1e-4; the centred form stays below 1e-17."""
    lengths = np.sort(rng.uniform(1, 3, size=3))
    found = float(spcm_dissimilarity(np.diag(lengths**2), np.diag((1e6 * lengths) ** 2)))
    assert 0 <= found < 1e-17
    ratios = (1e6 * lengths) / lengths
    one_pass = [abs(np.mean((ratios * k) ** 2) - np.mean(ratios * k) ** 2) for k in np.linspace(0.9, 1.1, 50)]
    assert max(one_pass) > 1e-6


def test_divergences_of_nearly_equal_matrices_keep_their_digits():
    """Written as sums of differences they would drown in rounding: both are quadratic in the small change."""
    change = 1e-9
    a, b = np.eye(2), np.diag([1.0, 1 + change])
    assert float(kldm(a, b)) == pytest.approx(change**2 / 2, rel=1e-5)
    assert float(jbld(a, b)) == pytest.approx(change**2 / 8, rel=1e-5)
