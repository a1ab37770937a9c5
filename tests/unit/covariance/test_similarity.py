"""All pairs at once: agreement with single pairs, exactness, bandwidths, callables, and the authors' own matrices."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import naive_similarity as naive
from homothety.covariance import (
    MEASURES,
    SPCM_VARIANTS,
    SPCMVariant,
    gaussian_similarity,
    pairwise_distance,
    pairwise_similarity,
    similarity_bandwidth,
    tolerance_factor,
)
from homothety.covariance.measures import airm_of_log_ratios
from homothety.covariance.similarity import _log_ratio_pairs
from homothety.errors import FlooredEigenvaluesWarning, InputError, NotSPDError

STANDARD = ("airm", "lerm", "kldm", "jbld")
ALL_MEASURES = [("spcm", name) for name in SPCM_VARIANTS] + [(name, "paper") for name in STANDARD]


@pytest.fixture(name="X")
def nine_matrices(rng):
    return naive.matrices(rng, 9, 3)


@pytest.fixture(name="Y")
def five_matrices(rng):
    return naive.matrices(rng, 5, 3)


def frobenius(a, b):
    return float(np.linalg.norm(a - b))


# ---- agreement with single pairs


@pytest.mark.parametrize("name", SPCM_VARIANTS)
def test_spcm_of_all_pairs_agrees_with_the_twin(X, Y, name):
    variant = SPCM_VARIANTS[name]
    expected = naive.spcm_distances(X, X, variant)
    np.testing.assert_allclose(pairwise_distance(X, variant=name), expected, rtol=1e-10, atol=1e-28)
    np.testing.assert_allclose(pairwise_distance(X, Y, variant=name), naive.spcm_distances(X, Y, variant), rtol=1e-10)
    for tolerance in (0.0, 1.0, 10.0):
        found = pairwise_similarity(X, Y, variant=name, tolerance=tolerance)
        np.testing.assert_allclose(found, naive.spcm_similarities(X, Y, variant, tolerance), rtol=1e-10)


@pytest.mark.parametrize("length", ["sqrt", "eigenvalue"])
@pytest.mark.parametrize("decay", ["bounded", "exponential", "exponential-root"])
def test_the_log_dispersion_has_its_length_and_divisor(X, Y, length, decay):
    variant = SPCMVariant(length, "log", 1, decay, 2.0)
    found = pairwise_distance(X, Y, variant=variant)
    np.testing.assert_allclose(found, naive.spcm_distances(X, Y, variant), rtol=1e-10)
    found = pairwise_similarity(X, Y, variant=variant)
    np.testing.assert_allclose(found, naive.spcm_similarities(X, Y, variant), rtol=1e-10)


@pytest.mark.parametrize("measure", STANDARD)
@pytest.mark.parametrize("n_dims", [2, 3, 5])
def test_standard_measures_of_all_pairs_agree_with_their_definitions(rng, measure, n_dims):
    X, Y = naive.matrices(rng, 7, n_dims), naive.matrices(rng, 4, n_dims)
    within = pairwise_distance(X, measure=measure)
    np.testing.assert_allclose(within, naive.distances(X, X, measure), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(pairwise_distance(X, Y, measure=measure), naive.distances(X, Y, measure), rtol=1e-9)


@pytest.mark.parametrize(
    ("ours", "theirs", "power"), [("airm", "riemann", 1), ("lerm", "logeuclid", 1), ("jbld", "logdet", 2)]
)
def test_standard_measures_agree_with_pyriemann(X, Y, ours, theirs, power):
    geometry = pytest.importorskip("pyriemann.geometry.distance")
    expected = geometry.pairwise_distance(X, Y, metric=theirs) ** power
    np.testing.assert_allclose(pairwise_distance(X, Y, measure=ours), expected, rtol=1e-9)


def test_symmetrised_kullback_leibler_agrees_with_pyriemann(X, Y):
    geometry = pytest.importorskip("pyriemann.geometry.distance")
    forward, backward = (geometry.pairwise_distance(*pair, metric="kullback") for pair in ((X, Y), (Y, X)))
    np.testing.assert_allclose(pairwise_distance(X, Y, measure="kldm"), forward + backward.T, rtol=1e-9)


# ---- exactness


@pytest.mark.parametrize(("measure", "variant"), ALL_MEASURES)
def test_within_one_list_everything_is_exactly_symmetric(rng, measure, variant):
    X = naive.matrices(rng, 150, 3)  # more than one tile
    D = pairwise_distance(X, measure=measure, variant=variant)
    S = pairwise_similarity(X, measure=measure, variant=variant)
    np.testing.assert_array_equal(D, D.T)
    np.testing.assert_array_equal(S, S.T)
    np.testing.assert_array_equal(np.diag(D), 0)
    np.testing.assert_array_equal(np.diag(S), 1)
    assert D.min() >= 0
    assert S.min() >= 0
    assert S.max() <= 1


@pytest.mark.parametrize("name", SPCM_VARIANTS)
def test_two_lists_give_blocks_of_one(rng, name):
    Z = naive.matrices(rng, 200, 3)
    whole = pairwise_similarity(Z, variant=name)
    np.testing.assert_array_equal(pairwise_similarity(Z[:130], Z[130:], variant=name), whole[:130, 130:])
    np.testing.assert_array_equal(pairwise_similarity(Z[70:], Z[:70], variant=name), whole[70:, :70])


def test_bspcm_and_spcm_name_the_same_thing(X):
    np.testing.assert_array_equal(pairwise_similarity(X, measure="spcm"), pairwise_similarity(X, measure="bspcm"))
    np.testing.assert_array_equal(pairwise_distance(X, measure="spcm"), pairwise_distance(X, measure="bspcm"))


def test_similarity_of_the_paper_is_equation_9(X):
    expected = 1 / (1 + tolerance_factor(3, 1.0) * pairwise_distance(X, variant="paper"))
    np.testing.assert_allclose(pairwise_similarity(X, variant="paper"), expected, rtol=1e-14)


@pytest.mark.parametrize("name", SPCM_VARIANTS)
def test_larger_tolerance_lowers_every_similarity_off_the_diagonal(X, name):
    off = ~np.eye(len(X), dtype=bool)
    ladder = [pairwise_similarity(X, variant=name, tolerance=tolerance)[off] for tolerance in (0.0, 1.0, 5.0, 50.0)]
    assert np.all(np.diff(ladder, axis=0) < 0)


@pytest.mark.parametrize("measure", MEASURES)
def test_one_matrix_is_similar_to_itself(X, measure):
    np.testing.assert_array_equal(pairwise_similarity(X[:1], measure=measure), [[1.0]])


def test_overflowing_ratios_give_zero_similarity_and_no_nan():
    X = [1e-300 * np.diag([1.0, 4.0]), 1e300 * np.diag([1.0, 5.0]), np.diag([1.0, 2.0])]
    for name in SPCM_VARIANTS:
        S = pairwise_similarity(X, variant=name)
        assert np.isfinite(S).all()
        assert S[0, 1] == (0 if name != "log" else S[1, 0])
    for measure in STANDARD:
        assert np.isfinite(pairwise_similarity(X, measure=measure)).all()


def test_similarity_is_in_general_indefinite(rng):
    """No later step may rely on a Gram matrix: here is one that is not."""
    S = pairwise_similarity(naive.matrices(rng, 60, 3), variant="published")
    assert np.linalg.eigvalsh(S).min() < -1e-3


# ---- what the authors stored


@pytest.mark.parametrize(
    ("key", "data", "tolerance", "agreement"),
    [
        ("dti_synthetic_tau10", "dti_synthetic.npz", 10.0, 1e-12),
        ("task_ellipsoids_tau50", "task_ellipsoids_6d.npz", 50.0, 1e-9),
        ("toy_3d_tau50", "toy_3d.npz", 50.0, 1e-11),
    ],
)
def test_published_variant_reproduces_the_stored_matrices(shared_data, key, data, tolerance, agreement):
    stored = shared_data("authors_similarities.npz")
    matrices = shared_data(data)["matrices"]
    if key.startswith("dti"):
        matrices = matrices[stored["dti_synthetic_index"]]
    found = pairwise_similarity(matrices, variant="published", tolerance=tolerance)
    np.testing.assert_allclose(found, stored[key], atol=agreement)
    for other in set(SPCM_VARIANTS) - {"published"}:
        assert np.abs(pairwise_similarity(matrices, variant=other, tolerance=tolerance) - stored[key]).max() > 1e-4


# ---- bandwidth


@pytest.mark.parametrize("measure", STANDARD)
def test_bandwidth_is_the_median_distance_off_the_diagonal(X, measure):
    distance = pairwise_distance(X, measure=measure)
    if measure in ("kldm", "jbld"):
        distance = np.sqrt(distance)
    sigma = np.median(distance[np.triu_indices(len(X), k=1)])
    assert similarity_bandwidth(X, measure=measure) == pytest.approx(sigma, rel=1e-12)
    expected = np.exp(-(distance**2) / (2 * sigma**2))
    np.testing.assert_allclose(pairwise_similarity(X, measure=measure), expected, rtol=1e-12)


@pytest.mark.parametrize("measure", [*STANDARD, frobenius])
def test_two_lists_share_the_bandwidth_of_the_first(X, Y, measure):
    sigma = similarity_bandwidth(X, measure=measure)
    default = pairwise_similarity(X, Y, measure=measure)
    np.testing.assert_array_equal(default, pairwise_similarity(X, Y, measure=measure, bandwidth=sigma))
    within = pairwise_similarity(X, measure=measure)
    np.testing.assert_allclose(pairwise_similarity(X, X[:4], measure=measure), within[:, :4], rtol=1e-9, atol=1e-9)
    new = pairwise_similarity(Y, X, measure=measure, bandwidth=sigma)
    np.testing.assert_allclose(new, default.T, rtol=1e-9)


@pytest.mark.parametrize("measure", [*STANDARD, frobenius])
def test_copies_are_wholly_similar(X, measure):
    copies = np.repeat(X[:1], 6, axis=0)
    np.testing.assert_allclose(pairwise_similarity(copies, measure=measure), 1.0, atol=1e-12)
    assert similarity_bandwidth(copies, measure=measure) == 1.0


@pytest.mark.parametrize("measure", [*STANDARD, frobenius])
def test_where_most_are_copies_the_bandwidth_is_that_of_the_rest(X, measure):
    mostly = np.concatenate([np.repeat(X[:1], 6, axis=0), X[1:2]])
    d = pairwise_distance(X[:2], measure=measure)[0, 1]
    expected = np.sqrt(d) if measure in ("kldm", "jbld") else d
    assert similarity_bandwidth(mostly, measure=measure) == pytest.approx(expected, rel=1e-9)
    S = pairwise_similarity(mostly, measure=measure)
    np.testing.assert_allclose(S[0], [1] * 6 + [np.exp(-0.5)], rtol=1e-9)


def test_bandwidth_errors():
    X = np.stack([np.eye(2), 2 * np.eye(2)])
    with pytest.raises(InputError, match=r"bandwidth is 1.0 but measure 'bspcm' has none"):
        pairwise_similarity(X, bandwidth=1.0)
    with pytest.raises(InputError, match="measure 'spcm' has no bandwidth"):
        similarity_bandwidth(X, measure="spcm")
    with pytest.raises(InputError, match="X holds one matrix"):
        similarity_bandwidth(X[:1], measure="airm")
    with pytest.raises(InputError, match="X holds one matrix"):
        pairwise_similarity(X[:1], X, measure="airm")
    for bandwidth in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(InputError, match=r"bandwidth is .*needed a positive finite number"):
            pairwise_similarity(X, measure="airm", bandwidth=bandwidth)


def test_gaussian_similarity_takes_infinite_distances():
    np.testing.assert_array_equal(gaussian_similarity([0.0, np.inf, 1e300], 1e-10), [1.0, 0.0, 0.0])


# ---- callables


def test_a_callable_is_a_distance(X, Y):
    D = pairwise_distance(X, measure=frobenius)
    np.testing.assert_allclose(D[2, 5], np.linalg.norm(X[2] - X[5]), rtol=1e-14)
    np.testing.assert_array_equal(D, D.T)
    np.testing.assert_array_equal(np.diag(D), 0)
    assert pairwise_distance(X, Y, measure=frobenius).shape == (9, 5)
    sigma = np.median(D[np.triu_indices(9, k=1)])
    np.testing.assert_allclose(pairwise_similarity(X, measure=frobenius), np.exp(-(D**2) / (2 * sigma**2)), rtol=1e-12)


def test_units_of_a_callable_do_not_matter(X):
    """A tiny distance is zero for a standard measure, but a callable may be in any units."""
    tiny = pairwise_similarity(X * 1e-12, measure=frobenius)
    np.testing.assert_allclose(tiny, pairwise_similarity(X, measure=frobenius), rtol=1e-9)


def test_a_callable_may_return_an_array_of_one_number_and_rounding_noise(X):
    def noisy(a, b):
        return np.array([frobenius(a, b) - 1e-12])

    exact = pairwise_distance(X, measure=frobenius)
    np.testing.assert_allclose(pairwise_distance(X, measure=noisy), exact, atol=1e-11)
    between = pairwise_distance(X, X, measure=noisy)
    assert between.min() == 0
    np.testing.assert_allclose(between, exact, atol=1e-11)


def test_a_callable_may_return_infinity(X):
    D = pairwise_distance(X, measure=lambda a, b: 0.0 if a is b or np.array_equal(a, b) else np.inf)
    assert np.isinf(D).sum() == 72
    S = pairwise_similarity(X, measure=lambda a, b: 0.0 if np.array_equal(a, b) else np.inf)
    np.testing.assert_array_equal(S, np.eye(9))


@pytest.mark.parametrize(
    ("measure", "text"),
    [
        (lambda a, b: np.trace(a - b), r"measure of pair \(\d, \d\) is -.*, needed a distance"),
        (lambda a, b: np.nan, r"measure of pair \(0, 0\) is nan"),
        (lambda a, b: np.exp(-frobenius(a, b)), r"measure of matrix \d with itself is 1, needed 0.*similarity s"),
        (lambda a, b: max(np.trace(a - b), 0.0), r"measure is not symmetric: .* for pair \(\d, \d\)"),
        (lambda a, b: a - b, r"measure returned an array of shape \(3, 3\)"),
        (lambda a, b: "far", r"measure returned an array of shape \(\) and dtype <U3"),
        (lambda a, b: None, r"measure returned an array of shape \(\) and dtype object"),
    ],
)
def test_a_callable_that_is_no_distance_is_refused(X, measure, text):
    for function in (pairwise_distance, pairwise_similarity):
        with pytest.raises(InputError, match=text):
            function(X, measure=measure)


# ---- errors


def test_unknown_measures_list_the_known_ones(X):
    known = "'spcm', 'bspcm', 'airm', 'lerm', 'kldm', 'jbld'"
    for function in (pairwise_distance, pairwise_similarity):
        for measure in ("riemann", None, 3, ["airm"]):
            with pytest.raises(InputError, match=rf"measure is .*needed one of {known}, or a function"):
                function(X, measure=measure)


@pytest.mark.parametrize("measure", [*MEASURES, frobenius])
def test_every_measure_keeps_the_numerical_contract(X, Y, measure):
    with pytest.raises(InputError, match=r"X has shape \(3, 3\)"):
        pairwise_distance(X[0], measure=measure)
    with pytest.raises(InputError, match="X holds 3 x 3 matrices and Y 2 x 2 ones"):
        pairwise_distance(X, [np.eye(2)], measure=measure)
    Y[3] = np.diag([-1.0, 1.0, 1.0])
    with pytest.raises(NotSPDError, match=r"Y\[3\] is not positive definite"):
        pairwise_similarity(X, Y, measure=measure)


@pytest.mark.parametrize("measure", MEASURES)
def test_singular_matrices_are_floored_with_one_warning(measure):
    X = [np.eye(2), np.diag([0.0, 1.0]), np.diag([1.0, 2.0])]
    with pytest.warns(FlooredEigenvaluesWarning, match="X: 1 of 3") as caught:
        D = pairwise_distance(X, measure=measure)
    assert len(caught) == 1
    assert np.isfinite(D).all()
    with pytest.warns(FlooredEigenvaluesWarning, match="below 0.01"):
        milder = pairwise_distance(X, measure=measure, floor=1e-2)
    assert milder[0, 1] < D[0, 1]


@pytest.mark.parametrize("measure", MEASURES)
def test_ill_conditioned_matrices_are_at_finite_distance(rng, measure):
    """Generalised eigenvalues then span more digits than a float has."""
    X = naive.matrices(rng, 40, 4, condition=1e11)
    assert np.isfinite(pairwise_distance(X, measure=measure)).all()


def test_unknown_variants_and_impossible_tolerances_are_refused(X):
    with pytest.raises(InputError, match="variant is 'other'"):
        pairwise_similarity(X, variant="other")
    with pytest.raises(InputError, match=r"tolerance is -1.0"):
        pairwise_similarity(X, tolerance=-1.0)


# ---- memory


def peak_over_output(function, *args, **options):
    function(*args, **options)  # compiled and imported before it is measured
    tracemalloc.start()
    try:
        output = function(*args, **options)
        return tracemalloc.get_traced_memory()[1] / output.nbytes
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", SPCM_VARIANTS)
def test_spcm_needs_little_more_memory_than_its_result(rng, name):
    X = naive.matrices(rng, 1500, 6)  # one array of shape (1500, 1500, 6) would be six times the result
    limit = 3.2 if name == "log" else 1.2
    assert peak_over_output(pairwise_similarity, X, variant=name) < limit


@pytest.mark.parametrize("measure", ["airm", "lerm"])
def test_standard_measures_work_in_blocks(rng, measure):
    X = naive.matrices(rng, 300, 16)  # all pairs at once would be 256 times the result
    assert peak_over_output(pairwise_distance, X, measure=measure) < 80


def test_blocks_do_not_change_the_result(rng, monkeypatch):
    X, Y = naive.matrices(rng, 11, 3), naive.matrices(rng, 7, 3)
    whole = _log_ratio_pairs(airm_of_log_ratios, X, None), _log_ratio_pairs(airm_of_log_ratios, X, Y)
    for entries in (1, 9 * 4, 9 * 7):
        monkeypatch.setattr("homothety.covariance.similarity._BLOCK_ENTRIES", entries)
        np.testing.assert_allclose(_log_ratio_pairs(airm_of_log_ratios, X, None), whole[0], rtol=1e-13)
        np.testing.assert_allclose(_log_ratio_pairs(airm_of_log_ratios, X, Y), whole[1], rtol=1e-13)


def test_a_missing_tolerance_is_refused():
    with pytest.raises(InputError, match=r"tolerance is None.*pairwise_distance"):
        pairwise_similarity(np.stack([np.eye(2), np.diag([1.0, 2.0])]), tolerance=None)
