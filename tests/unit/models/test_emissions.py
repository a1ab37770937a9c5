"""Emissions against scipy's distributions, one step or one matrix at a time; kernels compiled and interpreted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import naive_emissions as naive
from homothety.distributions import NIW
from homothety.errors import InputError, NotSPDError
from homothety.models.emissions import Blocks, Emission, _kernels
from homothety.models.emissions import regression as closed_form
from homothety.models.hmm.states import StateModel
from homothety.sequences import check_sequences

SCALE = np.array([[2.0, 0.6], [0.6, 1.1]])
EMISSIONS = {
    "one dimension": Emission.gaussian(np.array([0.4]), 0.5, np.array([[2.0]]), 5.0),
    "gaussian": Emission.gaussian(np.array([0.4, -1.0]), 0.7, SCALE, 6.5),
    "gaussian, diagonal": Emission.gaussian(np.array([0.4, -1.0]), 0.7, SCALE, 6.5, diagonal=True),
    "order 1": Emission(np.array([[0.5, -0.2], [0.1, 0.3]]), np.array([[1.5, 0.3], [0.3, 0.8]]), SCALE, 7.0, order=1),
    "order 2": Emission.autoregressive(2, 0.5, SCALE, 6.0),
    "order 2, diagonal": Emission.autoregressive(2, 0.5, SCALE, 6.0, diagonal=True),
    "blocks": Emission.gaussian_blocks(
        [2, 1], [np.array([0.4, -1.0]), np.array([0.2])], [0.7, 1.3], [SCALE, np.array([[0.8]])], [6.5, 4.0], [0.3, 0.8]
    ),
    "order 1, diagonal": Emission(0.3 * np.ones((2, 2)), np.diag([1.5, 0.8]), SCALE, 7.0, order=1, diagonal=True),
}
MIN_P = 1e-4  # of tests of a distribution; two dozen are made


@pytest.fixture(params=EMISSIONS)
def emission(request):
    return EMISSIONS[request.param]


@pytest.fixture(params=["compiled", "interpreted"])
def _mode(request, interpret):
    """Run a test with kernels as they are, and as plain Python."""
    if request.param == "interpreted":
        interpret(_kernels)


def make_steps(emission, n_steps=9, seed=0):
    """Augmented steps of one series, (n_steps, n), and a path through three states, the last one unused."""
    rng = np.random.default_rng(seed)
    series = rng.normal(size=(n_steps + emission.order, emission.n_dims)).cumsum(axis=0)
    z, _ = emission.augment(check_sequences([series]))
    return z, np.array([0, 1, 1, 0, 0, 0, 1, 0, 1])[:n_steps]


def make_statistics(emission):
    z, path = make_steps(emission)
    return z, path, closed_form.statistics_of(emission, z, path, 3)


def make_parameters(emission, seed=1):
    """Coefficients and covariances of three states, no prior or posterior mean."""
    rng, n_dims = np.random.default_rng(seed), emission.n_dims
    roots = rng.normal(size=(3, n_dims, n_dims)) + 2 * np.eye(n_dims)
    covariances = roots @ roots.transpose(0, 2, 1)
    uses_regressor, same_block = np.split(emission.structure_mask, [emission.n_regressors], axis=1)
    return uses_regressor * rng.normal(size=(3, n_dims, emission.n_regressors)), same_block * covariances


# --- the class -------------------------------------------------------------------------------------------------------


def test_regressors_are_a_constant_or_the_last_observations_latest_first():
    series = [np.arange(8.0).reshape(4, 2) ** 2, np.arange(6.0).reshape(3, 2)]
    sequences = check_sequences(series)
    z, starts = EMISSIONS["gaussian"].augment(sequences)
    np.testing.assert_array_equal(z, np.column_stack([np.ones(7), np.concatenate(series)]))
    assert starts.tolist() == [0, 4, 7]
    z, starts = EMISSIONS["order 2"].augment(sequences)
    expected = [np.concatenate([one[t - 1], one[t - 2], one[t]]) for one in series for t in range(2, len(one))]
    np.testing.assert_array_equal(z, expected)
    assert starts.tolist() == [0, 2, 3]


def test_parameters_survive_the_form_the_sampler_keeps_them_in(emission):
    coefficients, covariances = make_parameters(emission)
    whiteners = emission.whiteners_of(coefficients, covariances)
    twins = [naive.whitener(a, cov) for a, cov in zip(coefficients, covariances, strict=True)]
    np.testing.assert_allclose(whiteners, twins, atol=1e-12)
    np.testing.assert_allclose(emission.coefficients_of(whiteners), coefficients, atol=1e-12)
    np.testing.assert_allclose(emission.covariances_of(whiteners), covariances, atol=1e-12)


def test_prior_as_a_matrix(emission):
    matrix = naive.scale_matrix(np.empty((0, emission.n_regressors + emission.n_dims)), emission)
    np.testing.assert_allclose(emission.prior_scale, matrix, atol=1e-14)
    factor = emission.prior_factor[0]
    np.testing.assert_allclose(factor @ factor.T, matrix, atol=1e-12)
    np.testing.assert_array_equal(factor, np.tril(factor))


def test_prior_is_not_kept_by_reference():
    scale = SCALE.copy()
    emission = Emission.gaussian(np.zeros(2), 1.0, scale, 5.0)
    scale[:] = 0
    np.testing.assert_array_equal(emission.scale, SCALE)
    with pytest.raises(ValueError, match="read-only"):
        emission.scale[0, 0] = 1.0


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"precision": np.eye(3)}, InputError, r"precision has shape \(3, 3\), needed \(1, 1\)"),
        ({"scale": np.eye(3)}, InputError, r"scale has shape \(3, 3\), needed \(2, 2\)"),
        ({"scale": -np.eye(2)}, NotSPDError, "scale is not symmetric positive definite"),
        ({"precision": np.array([[0.0]])}, NotSPDError, "precision is not symmetric positive definite"),
        ({"dof": 3.0}, InputError, "dof is 3.0, needed more than 3 for the covariance to have a prior mean"),
        ({"dof": 2.0, "diagonal": True}, InputError, "dof is 2.0, needed more than 2"),
        ({"dof": np.nan}, InputError, "dof is nan"),
    ],
)
def test_wrong_priors_are_refused(change, error, message):
    with pytest.raises(error, match=message):
        replace(EMISSIONS["gaussian"], **change)


# --- statistics ------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("_mode")
def test_statistics_are_sums_of_outer_products(emission):
    z, path, (sizes, scales) = make_statistics(emission)
    assert sizes.tolist() == [5.0, 4.0, 0.0]
    for k in range(3):
        np.testing.assert_allclose(np.tril(scales[k]), np.tril(naive.scale_matrix(z[path == k], emission)), atol=1e-12)


@pytest.mark.usefixtures("_mode")
def test_steps_added_and_taken_away_leave_nothing(emission):
    z, path, (sizes, scales) = make_statistics(emission)
    _kernels.add_steps(z, path, 2, 7, -1.0, scales, sizes)
    outside = np.r_[0:2, 7:9]
    for k in range(3):
        expected = naive.scale_matrix(z[outside][path[outside] == k], emission)
        np.testing.assert_allclose(np.tril(scales[k]), np.tril(expected), atol=1e-12)
    assert sizes.tolist() == [2.0, 2.0, 0.0]


@pytest.mark.usefixtures("_mode")
def test_steps_of_one_state_go_where_they_are_sent(emission):
    z, path = make_steps(emission)
    sizes, scales = closed_form.empty_statistics(emission, 2)
    _kernels.add_steps_of(1, z, path, 1, 8, 1.0, 0, scales, sizes)
    chosen = z[1:8][path[1:8] == 1]
    np.testing.assert_allclose(np.tril(scales[0]), np.tril(naive.scale_matrix(chosen, emission)), atol=1e-12)
    np.testing.assert_array_equal(scales[1], emission.prior_scale)
    assert sizes.tolist() == [len(chosen), 0.0]


@pytest.mark.usefixtures("_mode")
def test_factor_holds_the_posterior(emission):
    z, path, statistics = make_statistics(emission)
    factors, r = closed_form._factors_of(emission, statistics), emission.n_regressors
    for k in range(3):
        mean, precision, scale, _ = naive.posterior(z[path == k], emission)
        scale = np.diag(np.diagonal(scale)) if emission.diagonal else scale
        factor = factors[k]
        np.testing.assert_allclose(factor[:r, :r] @ factor[:r, :r].T, precision, atol=1e-10)
        np.testing.assert_allclose(factor[r:, :r] @ np.linalg.inv(factor[:r, :r]), mean, atol=1e-10)
        np.testing.assert_allclose(factor[r:, r:] @ factor[r:, r:].T, scale, atol=1e-10)


def test_factor_of_steps_in_a_plane_stays_finite():
    emission = Emission.gaussian(np.zeros(2), 1e-9, 1e-9 * np.eye(2), 4.0)
    z = np.column_stack([np.ones(50), *2 * [np.linspace(1e5, 2e5, 50)]])
    statistics = closed_form.statistics_of(emission, z, np.zeros(50, dtype=np.int64), 1)
    assert np.isfinite(closed_form._factors_of(emission, statistics)).all()
    assert np.isfinite(closed_form.log_marginals(emission, statistics)).all()


# --- densities -------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("_mode")
def test_log_marginal_is_a_product_of_student_predictives(emission):
    z, path, statistics = make_statistics(emission)
    expected = [naive.log_marginal(z[path == k], emission) for k in range(3)]
    np.testing.assert_allclose(closed_form.log_marginals(emission, statistics), expected, atol=1e-10)


def test_log_marginal_of_a_gaussian_is_that_of_the_normal_inverse_wishart():
    emission = EMISSIONS["gaussian"]
    z, path, statistics = make_statistics(emission)
    prior = NIW(emission.coefficients[:, 0], 0.7, emission.scale, emission.dof)
    expected = [prior.log_marginal(z[path == k, 1:]) for k in range(2)]
    np.testing.assert_allclose(closed_form.log_marginals(emission, statistics)[:2], expected, atol=1e-10)


@pytest.mark.usefixtures("_mode")
def test_log_parameter_density_is_that_of_scipy(emission):
    z, path, statistics = make_statistics(emission)
    factors = closed_form._factors_of(emission, statistics)
    for k, (coefficients, covariance) in enumerate(zip(*make_parameters(emission), strict=True)):
        whitener = naive.whitener(coefficients, covariance)
        found = _kernels.log_parameter_density(k, statistics.sizes[k], factors, whitener, emission.structure)
        expected = naive.log_parameter_density(z[path == k], emission, coefficients, covariance)
        assert found == pytest.approx(expected, abs=1e-9)


def test_bayes_rule_ties_prior_posterior_evidence_and_marginal(emission):
    z, path, statistics = make_statistics(emission)
    factors, log_marginals = (
        closed_form._factors_of(emission, statistics),
        closed_form.log_marginals(emission, statistics),
    )
    whiteners = emission.whiteners_of(*make_parameters(emission))
    log_evidence = evidence_of(z, whiteners, emission)
    for k in range(3):
        log_prior = _kernels.log_parameter_density(0, 0.0, emission.prior_factor, whiteners[k], emission.structure)
        log_posterior = _kernels.log_parameter_density(
            k, statistics.sizes[k], factors, whiteners[k], emission.structure
        )
        expected = log_prior + log_evidence[path == k, k].sum() - log_marginals[k]
        assert log_posterior == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("n_dims", [1, 2, 4])
@pytest.mark.parametrize("value", [2.5, 8.0])
def test_log_multigamma(n_dims, value):
    from scipy.special import multigammaln

    for kernel in (_kernels._log_multigamma, _kernels._log_multigamma.py_func):
        assert kernel(value, n_dims) == pytest.approx(multigammaln(value, n_dims), abs=1e-12)


# --- parameters ------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("_mode")
def test_plug_in_parameters_are_posterior_means(emission):
    z, path, statistics = make_statistics(emission)
    whiteners = closed_form.mean_parameters(emission, statistics)
    for k in range(3):
        coefficients, covariance = naive.plug_in(z[path == k], emission)
        np.testing.assert_allclose(emission.coefficients_of(whiteners)[k], coefficients, atol=1e-10)
        np.testing.assert_allclose(emission.covariances_of(whiteners)[k], covariance, atol=1e-10)


def p_values_of_draws(emission, drawn_from, n_draws=4_000):
    """Tests of draws of one state against marginals of its posterior: variances, coefficients, log determinant."""
    z, path, _ = make_statistics(emission)
    statistics = closed_form.statistics_of(drawn_from, z, path, 3)
    many = closed_form.Statistics(*(np.repeat(part[:1], n_draws, axis=0) for part in statistics))
    whiteners = closed_form.draw_parameters(np.random.default_rng(5), drawn_from, many)
    covariances, coefficients = emission.covariances_of(whiteners), emission.coefficients_of(whiteners)
    mean, precision, scale, _ = naive.posterior(z[path == 0], emission)
    spread, p_values = np.linalg.inv(precision), []
    for d, degrees in enumerate(naive.degrees_of_variances(z[path == 0], emission)):
        variance = stats.invgamma(degrees / 2, scale=scale[d, d] / 2)
        p_values.append(stats.kstest(covariances[:, d, d], variance.cdf).pvalue)
        for a in np.flatnonzero(emission.structure_mask[d, : emission.n_regressors]):
            student = stats.t(degrees, mean[d, a], np.sqrt(scale[d, d] * spread[a, a] / degrees))
            p_values.append(stats.kstest(coefficients[:, d, a], student.cdf).pvalue)
    return min(p_values)


def test_draws_follow_the_posterior(emission):
    assert p_values_of_draws(emission, emission) > MIN_P


def test_draws_of_other_degrees_of_freedom_are_caught(emission):
    other, blocks = emission.dof + 1, emission.blocks
    if blocks is not None:
        blocks = blocks._replace(dofs=(other, *blocks.dofs[1:]))
        other = min(blocks.dofs)
    assert p_values_of_draws(emission, replace(emission, dof=other, blocks=blocks)) < MIN_P


def test_draws_have_the_moments_of_the_posterior():
    emission, n_draws = EMISSIONS["order 1"], 4_000
    z, path, statistics = make_statistics(emission)
    many = closed_form.Statistics(*(np.repeat(part[:1], n_draws, axis=0) for part in statistics))
    whiteners = closed_form.draw_parameters(np.random.default_rng(6), emission, many)
    mean, precision, scale, dof = naive.posterior(z[path == 0], emission)
    roots, offsets = whiteners[:, :, 2:], emission.coefficients_of(whiteners) - mean
    inverses = roots.transpose(0, 2, 1) @ roots
    # Of the precision matrix, and of coefficients whitened by columns: E[(A - M)' Sigma^-1 (A - M)] = D K_n^-1.
    pairs = [(inverses, dof * np.linalg.inv(scale)), (offsets.transpose(0, 2, 1) @ inverses @ offsets, None)]
    for values, expected in pairs:
        expected = 2 * np.linalg.inv(precision) if expected is None else expected
        errors = values.std(axis=0) / np.sqrt(n_draws)
        assert (np.abs(values.mean(axis=0) - expected) / errors).max() < 4.0


def test_compiled_and_interpreted_draws_agree(emission):
    _, _, statistics = make_statistics(emission)
    factors = closed_form._factors_of(emission, statistics)
    shape = (emission.n_dims, factors.shape[1])
    found, expected = np.empty((2, *shape))
    for k in range(3):
        arguments = (k, statistics.sizes[k], factors, emission.structure)
        _kernels.draw_whitener(np.random.default_rng(k), *arguments, found)
        _kernels.draw_whitener.py_func(np.random.default_rng(k), *arguments, expected)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.usefixtures("_mode")
def test_dividing_by_a_factor(emission):
    _, _, statistics = make_statistics(emission)
    factors = closed_form._factors_of(emission, statistics)
    rows = np.random.default_rng(8).normal(size=(emission.n_dims, factors.shape[1]))
    rows = np.tril(rows * emission.structure_mask, emission.n_regressors)
    found = rows.copy()
    _kernels._divide_by_factor(1, factors, emission.structure, found)
    np.testing.assert_allclose(found @ np.tril(factors[1]), rows, atol=1e-10)


# --- evidence --------------------------------------------------------------------------------------------------------


def evidence_of(z, whiteners, emission):
    evidence = np.full((len(z), len(whiteners)), np.nan)
    _kernels.write_all_evidence(z, 0, len(z), whiteners, 1.0, emission.structure, evidence, scratch(z))
    return evidence


def scratch(z):
    return np.full((z.shape[1] + 2, _kernels.BLOCK), np.nan)


@pytest.mark.usefixtures("_mode")
@pytest.mark.parametrize("n_steps", [1, 9, _kernels.BLOCK, _kernels.BLOCK + 3])
def test_evidence_is_the_density_of_every_step(emission, n_steps):
    rng = np.random.default_rng(n_steps)
    z = rng.normal(size=(n_steps, emission.n_regressors + emission.n_dims))
    coefficients, covariances = make_parameters(emission)
    expected = [naive.log_evidence(z, a, cov, emission) for a, cov in zip(coefficients, covariances, strict=True)]
    found = evidence_of(z, emission.whiteners_of(coefficients, covariances), emission)
    np.testing.assert_allclose(found, np.transpose(expected), atol=1e-9)


@pytest.mark.usefixtures("_mode")
def test_evidence_of_a_stretch_leaves_the_rest_alone(emission):
    z, _ = make_steps(emission)
    whiteners = emission.whiteners_of(*make_parameters(emission))
    everything, evidence = evidence_of(z, whiteners, emission), np.full((len(z), 2), 7.0)
    _kernels.write_evidence(z, 2, 5, whiteners[1], 1.0, emission.structure, 1, evidence, scratch(z))
    np.testing.assert_array_equal(evidence[2:5, 1], everything[2:5, 1])
    evidence[2:5, 1] = 7.0
    np.testing.assert_array_equal(evidence, 7.0)


# --- blocks of dimensions --------------------------------------------------------------------------------------------


def assert_same_states(found, expected, series):
    """Both emissions say the same of the states of a path: evidence, marginals, parameters and their draws."""
    path, each = np.array([0, 1, 1, 0, 0, 0, 1, 0, 1]), []
    means, covariances = np.random.default_rng(3).normal(size=(2, 2)), np.array([np.diag([1.5, 0.7]), np.eye(2)])
    for emission in (found, expected):
        z, _ = emission.augment(check_sequences([series]))
        statistics = closed_form.statistics_of(emission, z, path, 2)
        coefficients = means[:, :, None] * emission.structure_mask[:, : emission.n_regressors]
        evidence = np.empty((len(z), 2))
        whiteners = emission.whiteners_of(coefficients, covariances)
        _kernels.write_all_evidence(z, 0, len(z), whiteners, emission.weight, emission.structure, evidence, scratch(z))
        drawn = closed_form.draw_parameters(np.random.default_rng(4), emission, statistics)
        plugged = closed_form.mean_parameters(emission, statistics)
        each.append(
            [
                evidence,
                closed_form.log_marginals(emission, statistics),
                closed_form.residual_scatters(emission, statistics) / statistics.sizes[:, None, None],
                emission.means_of(plugged),
                emission.covariances_of(plugged),
                emission.means_of(drawn),
                emission.covariances_of(drawn),
            ]
        )
    for value, other in zip(*each, strict=True):
        np.testing.assert_allclose(value, other, rtol=1e-9, atol=1e-10)


SERIES = np.random.default_rng(2).normal(size=(9, 2)).cumsum(axis=0)


def test_one_block_with_a_weight_is_the_full_emission_with_that_weight():
    mean = np.array([0.4, -1.0])
    block = Emission.gaussian_blocks([2], [mean], [0.7], [SCALE], [6.5], [0.3])
    assert_same_states(block, replace(Emission.gaussian(mean, 0.7, SCALE, 6.5), weight=0.3), SERIES)


def test_blocks_of_one_dimension_are_the_diagonal_emission():
    blocks = Emission.gaussian_blocks([1, 1], [[0.4], [-1.0]], [0.7, 0.7], [[[2.0]], [[1.1]]], [6.5, 6.5])
    diagonal = Emission.gaussian(np.array([0.4, -1.0]), 0.7, np.diag([2.0, 1.1]), 6.5, diagonal=True)
    assert_same_states(replace(blocks, weight=0.4), replace(diagonal, weight=0.4), SERIES)


def test_log_marginal_of_weighted_blocks_is_an_integral():
    blocks = Emission.gaussian_blocks([1, 1], [[0.4], [-1.0]], [0.7, 0.2], [[[2.0]], [[1.1]]], [6.5, 4.0], [0.3, 0.8])
    z, _ = blocks.augment(check_sequences([SERIES]))
    found = closed_form.log_marginals(blocks, closed_form.statistics_of(blocks, z, np.zeros(9, dtype=np.int64), 1))[0]
    parts = zip(SERIES.T, blocks.blocks.weights, naive.each_block(z, blocks), strict=True)
    expected = sum(naive.log_weighted_marginal(values, weight, one) for values, weight, (_, _, one) in parts)
    assert found == pytest.approx(expected, abs=1e-7)


def test_scatters_of_blocks_are_in_the_units_of_the_steps():
    emission = replace(EMISSIONS["blocks"], weight=0.5)
    series = np.random.default_rng(9).normal(size=(9, 3)).cumsum(axis=0)
    z, _ = emission.augment(check_sequences([series]))
    statistics = closed_form.statistics_of(emission, z, np.repeat([0, 1], [8, 1]), 2)
    covariance = np.cov(series[:8].T, ddof=0) * emission.structure_mask[:, 2:]
    np.testing.assert_allclose(closed_form.residual_scatters(emission, statistics)[0] / 4.0, covariance, atol=1e-10)
    np.testing.assert_array_equal(closed_form.residual_scatters(emission, statistics)[1], 0.0)


def test_fitted_states_of_blocks_are_found_by_weighted_blocks():
    emission, rng = EMISSIONS["blocks"], np.random.default_rng(10)
    sequences = check_sequences([rng.normal(size=(20, 3)) + np.repeat([[0.0], [4.0]], 10, axis=0) for _ in range(2)])
    path = np.tile(np.repeat([0, 1], 10), 2)
    states = StateModel.from_path(emission, sequences, path)
    z, _ = emission.augment(sequences)
    for k in range(2):
        coefficients, covariance = naive.plug_in(z[path == k], emission)
        np.testing.assert_allclose(states.coefficients[k, :, 0], coefficients.sum(axis=1), atol=1e-10)
        np.testing.assert_allclose(states.covariances[k], covariance, atol=1e-10)
        expected = naive.log_evidence(z[:20], coefficients, covariance, emission)
        np.testing.assert_allclose(states.weighted_log_evidence(sequences[0])[:, k], expected, atol=1e-9)
        density = stats.multivariate_normal(coefficients.sum(axis=1), covariance)
        np.testing.assert_allclose(states.log_evidence(sequences[0])[:, k], density.logpdf(sequences[0]), atol=1e-9)
    assert states.path(sequences[1]).tolist() == path[:20].tolist()


def test_steps_are_augmented_in_one_go():
    emission, steps = EMISSIONS["blocks"], np.random.default_rng(11).normal(size=(7, 3))
    roots = np.sqrt([0.3, 0.8])
    expected = np.column_stack([np.tile(roots, (7, 1)), steps * roots[[0, 0, 1]]])
    np.testing.assert_allclose(emission.augment_steps(steps), expected, rtol=1e-15)
    np.testing.assert_array_equal(emission.augment_steps(steps), emission.augment(check_sequences([steps]))[0])
    with pytest.raises(InputError, match="Regressors of order 2 depend on where recordings begin"):
        EMISSIONS["order 2"].augment_steps(steps[:, :2])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sizes": []}, "sizes is empty"),
        ({"sizes": [2]}, "means has 2 entries, needed one for each of 1 blocks"),
        ({"sizes": [1, 2]}, r"have shapes \(2,\) and \(2, 2\), needed \(1,\) and \(1, 1\)"),
        ({"dofs": [3.0, 4.0]}, r"dofs\[0\] is 3.0, needed more than 3"),
        ({"weights": [0.5, 0.0]}, r"weights\[1\] is 0.0, needed a number above 0"),
        ({"weights": [1.5, 0.5]}, r"weights\[0\] is 1.5"),
    ],
)
def test_wrong_blocks_are_refused(change, message):
    right = {
        "sizes": [2, 1],
        "means": [np.zeros(2), np.zeros(1)],
        "mean_strengths": [1.0, 1.0],
        "scales": [SCALE, np.eye(1)],
        "dofs": [5.0, 4.0],
    }
    with pytest.raises(InputError, match=message):
        Emission.gaussian_blocks(**right | change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dof": 7.0}, "dof is 7.0, but blocks have dofs of their own"),
        ({"scale": np.eye(3) + 0.1}, "scale has entries between different blocks"),
        ({"coefficients": np.ones((3, 2))}, "coefficients has entries between different blocks"),
        ({"precision": np.eye(2) + 0.1}, "precision has entries between different blocks"),
        ({"diagonal": True}, "Blocks are for Gaussian emissions"),
        ({"blocks": Blocks((1, 1), (4.0, 4.0), (1.0, 1.0)), "dof": 4.0}, r"sizes \(1, 1\).*n_dims = 3"),
    ],
)
def test_blocks_and_the_rest_must_agree(change, message):
    with pytest.raises(InputError, match=message):
        replace(EMISSIONS["blocks"], **change)
