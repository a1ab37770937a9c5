"""Gaussian hidden Markov model by EM: against enumeration, by hand, and against hmmlearn where it is installed."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from joblib import parallel_config
from scipy.stats import multivariate_normal

import naive_hmm as naive
from homothety.errors import InputError
from homothety.models.hmm import em
from homothety.models.hmm.em import Parameters, TooFewStepsError, _fit_hmm, select_hmm

NO_FLOOR = 1e-12


def make_series(lengths=(60, 35, 90), n_dims=2, distance=4.0, seed=0):
    """Steps of three states that stay for a while, bounds of the series, and the true states."""
    rng = np.random.default_rng(seed)
    truth = np.concatenate([np.arange(length) // 12 % 3 for length in lengths])
    means = distance * np.eye(3, n_dims)
    return means[truth] + rng.normal(size=(len(truth), n_dims)), np.cumsum([0, *lengths]), truth


def make_parameters(n_states, n_dims, seed=0):
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(n_states, n_dims, n_dims + 2))
    uniform = np.ones(n_states)
    means, covariances = rng.normal(size=(n_states, n_dims)), roots @ roots.swapaxes(1, 2) + 0.1 * np.eye(n_dims)
    return Parameters(rng.dirichlet(uniform), rng.dirichlet(uniform, n_states), means, covariances)


def naive_expectations(steps, starts, parameters):
    """Probabilities of states, expected transitions and log-likelihood by all paths of every series."""
    initial, transition, means, covariances = parameters
    gaussians = [multivariate_normal(m, c) for m, c in zip(means, covariances, strict=True)]
    probs, pairs, total = [], np.zeros_like(transition), 0.0
    for a, b in pairwise(starts):
        evidence = np.transpose([np.atleast_1d(gaussian.logpdf(steps[a:b])) for gaussian in gaussians])
        marginals, counts = naive.enumerated_marginals(evidence, initial, transition)
        probs.append(marginals)
        pairs += counts
        total += naive.enumerated_log_likelihood(evidence, initial, transition)
    return np.concatenate(probs), pairs, total


# --- one iteration ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_states", "n_dims"), [(1, 1), (2, 2), (3, 1)])
def test_expectations_equal_enumeration(rng, n_states, n_dims):
    steps, starts = rng.normal(size=(11, n_dims)), np.array([0, 5, 6, 11])
    parameters = make_parameters(n_states, n_dims)
    found = em.expect(steps, starts, parameters)
    probs, pairs, total = naive_expectations(steps, starts, parameters)
    np.testing.assert_allclose(found.probs, probs, atol=1e-12)
    np.testing.assert_allclose(found.n_transitions, pairs, atol=1e-12)
    assert found.log_likelihood == pytest.approx(total, abs=1e-11)


def test_maximum_by_hand(rng):
    steps, starts = rng.normal(size=(11, 2)), np.array([0, 5, 6, 11])
    parameters = make_parameters(3, 2)
    probs, pairs, _ = naive_expectations(steps, starts, parameters)
    found = em.maximise(steps, starts, em.expect(steps, starts, parameters), parameters, np.full(2, NO_FLOOR))
    np.testing.assert_allclose(found.initial, probs[[0, 5, 6]].mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(found.transition, pairs / pairs.sum(axis=1, keepdims=True), atol=1e-12)
    for k in range(3):
        mean = np.average(steps, axis=0, weights=probs[:, k])
        np.testing.assert_allclose(found.means[k], mean, atol=1e-12)
        expected = np.cov(steps.T, aweights=probs[:, k], ddof=0)
        np.testing.assert_allclose(found.covariances[k], expected, atol=1e-10)


def test_state_without_steps_keeps_its_emission():
    steps, starts = np.arange(6.0)[:, None], np.array([0, 6])
    parameters = make_parameters(2, 1)
    probs = np.column_stack([np.ones(6), np.zeros(6)])
    expectations = em.Expectations(probs, np.array([[5.0, 0.0], [0.0, 0.0]]), 0.0)
    found = em.maximise(steps, starts, expectations, parameters, np.full(1, NO_FLOOR))
    assert found.means[1] == parameters.means[1]
    assert found.covariances[1] == parameters.covariances[1]
    np.testing.assert_array_equal(found.transition, [[1, 0], parameters.transition[1]])


def test_floor_is_the_likeliest_covariance_that_is_wide_enough(rng):
    centred, shares, floor = rng.normal(size=(30, 3)) * [1.0, 0.05, 1.0], np.full(30, 1 / 30), np.array([0.5, 0.5, 0.2])
    best = em._weighted_covariance(centred, shares, floor)
    assert np.linalg.eigvalsh(best - np.diag(floor)).min() > -1e-12

    def log_likelihood(covariance):
        return multivariate_normal(np.zeros(3), covariance).logpdf(centred).mean()

    for _ in range(200):
        root = np.linalg.cholesky(best - np.diag(floor) + 1e-9 * np.eye(3)) + 0.05 * rng.normal(size=(3, 3))
        assert log_likelihood(np.diag(floor) + root @ root.T) < log_likelihood(best) + 1e-9


# --- whole fits ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("distance", [0.3, 1.5, 5.0])
@pytest.mark.parametrize("n_states", [1, 2, 3, 5])
def test_likelihood_never_falls(n_states, distance):
    steps, starts, _ = make_series(distance=distance)
    fit = _fit_hmm(np.random.default_rng(1), steps, starts, n_states, n_init=2)
    assert np.diff(fit.log_likelihoods).min() > -1e-8
    assert len(fit.log_likelihoods) > 1


def test_likelihood_never_falls_on_the_floor():
    steps, starts, _ = make_series()
    steps[10:30] = steps[10]
    fit = _fit_hmm(np.random.default_rng(1), steps, starts, 4)
    floor = np.diag(em._variance_floor(steps))
    assert np.linalg.eigvalsh(fit.covariances - floor).min() > -1e-9
    assert np.linalg.eigvalsh(fit.covariances - floor).min() < 1e-9
    assert np.diff(fit.log_likelihoods).min() > -1e-8


def test_likelihood_of_a_fit_is_that_of_its_parameters():
    steps, starts, _ = make_series()
    fit = _fit_hmm(np.random.default_rng(1), steps, starts, 2, max_iter=3, n_init=1)
    parameters = Parameters(fit.initial, fit.transition, fit.means, fit.covariances)
    assert len(fit.log_likelihoods) == 4
    assert not fit.converged
    assert fit.log_likelihood == em.expect(steps, starts, parameters).log_likelihood


def test_units_of_the_data_do_not_matter():
    steps, starts, _ = make_series()
    units = np.array([1e-6, 1e4])
    fits = [select_hmm(np.random.default_rng(2), data, starts, [3]) for data in (steps, steps * units + units)]
    np.testing.assert_array_equal(fits[0].paths, fits[1].paths)
    np.testing.assert_allclose(fits[0].best.covariances * np.outer(units, units), fits[1].best.covariances, rtol=1e-5)


def test_right_number_of_states_and_their_paths_are_found():
    steps, starts, truth = make_series(distance=5.0)
    selection = select_hmm(np.random.default_rng(3), steps, starts, range(1, 6))
    assert selection.best.n_states == 3
    assert sorted(selection.criteria) == [1, 2, 3, 4, 5]
    matches = {(int(a), int(b)) for a, b in zip(truth, selection.paths, strict=True)}
    assert len(matches) == 3


def test_paths_do_not_run_across_series():
    steps, starts, _ = make_series(lengths=(3, 4, 2), distance=1.0)
    fit = _fit_hmm(np.random.default_rng(3), steps, starts, 2)
    paths = em._most_likely_paths(fit, steps, starts)
    evidence = em.gaussian_log_density(steps, fit.means, fit.covariances)
    for a, b in pairwise(starts):
        scores = {
            path: naive.log_joint(path, evidence[a:b], fit.initial, fit.transition)
            for path in naive.all_paths(2, b - a)
        }
        assert scores[tuple(paths[a:b].tolist())] == pytest.approx(max(scores.values()))


def test_restarts_only_help():
    steps, starts, _ = make_series(distance=1.0)
    one, many = (_fit_hmm(np.random.default_rng(4), steps, starts, 4, n_init=n).log_likelihood for n in (1, 6))
    assert many > one


def test_restarts_side_by_side_come_to_the_same():
    steps, starts, _ = make_series()
    alone = select_hmm(np.random.default_rng(0), steps, starts, [2, 3], n_init=3)
    with parallel_config(n_jobs=2):
        shared = select_hmm(np.random.default_rng(0), steps, starts, [2, 3], n_init=3)
    np.testing.assert_array_equal(shared.best.means, alone.best.means)
    assert shared.criteria == alone.criteria


def test_constant_dimension_is_survived():
    steps, starts, _ = make_series()
    steps[:, 1] = 3.0
    assert np.isfinite(_fit_hmm(np.random.default_rng(5), steps, starts, 3).log_likelihood)


# --- criteria --------------------------------------------------------------------------------------------------------


def test_parameters_are_counted_as_by_hand():
    assert em.count_parameters(2, 2) == 13
    assert em.count_parameters(1, 1) == 2
    assert em.count_parameters(3, 1) == 2 + 6 + 3 + 3


@pytest.mark.parametrize(("criterion", "penalty"), [("bic", 13 * np.log(185)), ("aic", 26.0)])
def test_criteria_by_hand(criterion, penalty):
    steps, starts, _ = make_series()
    selection = select_hmm(np.random.default_rng(6), steps, starts, [2], criterion=criterion)
    assert selection.criteria[2] == pytest.approx(penalty - 2 * selection.best.log_likelihood)


def test_numbers_of_states_beyond_the_distinct_steps_are_skipped():
    steps = np.array([[0.0], [1.0], [0.0], [1.0], [1.0]])
    selection = select_hmm(np.random.default_rng(7), steps, [0, 5], [1, 2, 3])
    assert selection.skipped == {3: "There are 2 distinct steps, needed at least as many as states, 3."}
    with pytest.raises(TooFewStepsError):
        _fit_hmm(np.random.default_rng(7), steps, [0, 5], 3)


BAD_INPUT = [
    ({"starts": [0, 3]}, r"starts is \[0, 3\], needed increasing numbers from 0 to 5"),
    ({"starts": [0, 2, 2, 5]}, r"starts is \[0, 2, 2, 5\]"),
    ({"steps": [[0.0], [np.nan], [1.0], [2.0], [3.0]]}, r"steps\[1\] holds NaN"),
    ({"n_states": [0]}, "n_states is 0, needed at least 1"),
    ({"n_states": []}, "none given"),
    ({"criterion": "dic"}, "criterion is 'dic', needed 'bic' or 'aic'"),
    ({"n_init": 0}, "n_init is 0"),
]


@pytest.mark.parametrize(("change", "message"), BAD_INPUT, ids=[message for _, message in BAD_INPUT])
def test_bad_input_is_named(change, message):
    good = {"steps": np.arange(5.0)[:, None], "starts": [0, 5], "n_states": [1]}
    with pytest.raises(InputError, match=message):
        select_hmm(np.random.default_rng(0), **(good | change))


# --- against hmmlearn ------------------------------------------------------------------------------------------------


def test_hmmlearn_agrees():
    learn = pytest.importorskip("hmmlearn.hmm")
    steps, starts, _ = make_series(distance=1.0)
    lengths, start = np.diff(starts), make_parameters(3, 2)
    other = learn.GaussianHMM(3, "full", covars_prior=0.0, n_iter=7, tol=-np.inf, init_params="", min_covar=0.0)
    other.startprob_, other.transmat_, other.means_, other.covars_ = start
    assert em.expect(steps, starts, start).log_likelihood == pytest.approx(other.score(steps, lengths), abs=1e-8)
    other.fit(steps, lengths)
    fit = em._run_em(steps, starts, start, np.full(2, NO_FLOOR), max_iter=7, tol=-np.inf)
    np.testing.assert_allclose(fit.initial, other.startprob_, atol=1e-8)
    np.testing.assert_allclose(fit.transition, other.transmat_, atol=1e-8)
    np.testing.assert_allclose(fit.means, other.means_, atol=1e-8)
    np.testing.assert_allclose(fit.covariances, other.covars_, atol=1e-8)
    np.testing.assert_array_equal(em._most_likely_paths(fit, steps, starts), other.predict(steps, lengths))
    for criterion in ("bic", "aic"):
        found = em.information_criterion(fit.log_likelihood, 3, steps.shape, criterion)
        assert found == pytest.approx(getattr(other, criterion)(steps, lengths), abs=1e-7)
