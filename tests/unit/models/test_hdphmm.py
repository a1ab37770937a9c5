"""The sticky HDP-HMM: the draws its moves are made of, its densities, its states."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice, pairwise

import numpy as np
import pytest
from scipy.stats import beta, gamma

import naive_hdphmm as naive
from homothety.distributions import NIW
from homothety.distributions.dirichlet import sample_dirichlet
from homothety.distributions.gaussian import gaussian_log_density
from homothety.errors import InputError
from homothety.models import hdphmm, hmm
from homothety.models.hdphmm import RECORDING
from homothety.models.hmm.messages import has_short_stay
from homothety.sampling import iterate
from homothety.sampling.codec import from_bytes, to_bytes
from homothety.sequences import check_sequences
from naive_crp import z_scores

MAX_Z = 4.5


def make_model(n_states=5, n_dims=2, lengths=(30, 12, 25), distance=6.0, seed=0, **settings):
    """Series of two states that stay for a while."""
    rng = np.random.default_rng(seed)
    series = [distance * (np.arange(n)[:, None] // 8 % 2) + rng.normal(size=(n, n_dims)) for n in lengths]
    base = NIW(np.full(n_dims, 0.5), 0.5, np.eye(n_dims) + 0.2, n_dims + 2.0)
    return hdphmm.Model(check_sequences(series), base, n_states, **settings)


def make_state(model, seed=0):
    return hdphmm.init_state(np.random.default_rng(seed), model)


# --- draws -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parameters", [[0.4, 1.0, 3.0], [1e-3, 2e-3], [5.0, 0.05, 0.5, 0.5]])
def test_dirichlet_draws_have_their_moments(rng, parameters):
    parameters = np.array(parameters)
    draws = sample_dirichlet(rng, np.tile(parameters, (20_000, 1)))
    total = parameters.sum()
    means = parameters / total
    np.testing.assert_allclose(draws.sum(axis=1), 1.0)
    assert z_scores(draws, means).max() < MAX_Z
    assert z_scores((draws - means) ** 2, means * (1 - means) / (total + 1)).max() < MAX_Z


def test_dirichlet_draws_of_tiny_parameters_are_corners(rng):
    draws = sample_dirichlet(rng, np.tile([1e-300, 3e-300], (4000, 1)))
    assert draws.min() >= 1e-201
    assert z_scores(draws, np.array([0.25, 0.75])).max() < MAX_Z


@pytest.mark.parametrize("concentration", [1e-300, 0.3, 2.0, 1e9])
@pytest.mark.parametrize("n_customers", [0, 1, 2, 7])
def test_tables_are_those_of_a_restaurant(rng, n_customers, concentration):
    n_draws = 4000
    found = hdphmm._sample_tables(rng, np.full((n_draws, 2), n_customers), np.full((n_draws, 2), concentration))
    probs = naive.table_probs(n_customers, concentration)
    frequencies = np.bincount(found.ravel(), minlength=n_customers + 1) / found.size
    errors = np.sqrt(probs * (1 - probs) / found.size) + 1e-6
    assert (np.abs(frequencies - probs) / errors).max() < MAX_Z


def test_every_restaurant_has_its_own_customers(rng):
    customers = np.array([[0, 4], [1000, 1]])
    found = hdphmm._sample_tables(rng, customers, np.array([[1.0, 1e12], [1e-12, 1e-12]]))
    np.testing.assert_array_equal(found, [[0, 4], [1, 1]])


def test_concentration_has_its_posterior(rng):
    customers, n_tables, prior, value, draws = np.array([3, 9, 1]), 6, (2.0, 0.7), 1.0, []
    for _ in range(20_000):
        value = hdphmm.sample_concentration(rng, value, customers, n_tables, prior)
        draws.append(value)
    # The probability of that many tables, up to what does not depend on the concentration.
    grid = np.linspace(1e-4, 40, 200_000)
    log_density = gamma(prior[0], scale=1 / prior[1]).logpdf(grid) + n_tables * np.log(grid)
    for n in customers:
        log_density -= sum(np.log(grid + r) for r in range(n))
    density = np.exp(log_density - log_density.max())
    exact = (density * grid).sum() / density.sum()
    assert z_scores(np.array(draws)[:, None], exact).max() < MAX_Z


def test_self_share_has_its_posterior(rng):
    model = make_model(self_share_prior=(3.0, 2.0))
    tables = hdphmm.Tables(np.full(5, 4), 11, 7, np.ones(5, dtype=np.int64))
    state = replace(make_state(model), tables=tables)
    draws = [hdphmm.resample_concentration(rng, model, state)[0].self_share for _ in range(4000)]
    assert z_scores(np.array(draws)[:, None], beta(10, 6).mean()).max() < MAX_Z


def test_gaussians_are_drawn_as_the_prior_draws_them():
    model = make_model(n_states=1, n_dims=3)
    steps, paths = model.sequences.steps, np.zeros(model.sequences.n_steps, dtype=np.int64)
    mean, covariance = model.base.posterior(steps).sample(np.random.default_rng(4))
    means, covariances = hdphmm._sample_gaussians(np.random.default_rng(4), model.base, steps, paths, 1)
    np.testing.assert_allclose(means[0], mean, rtol=1e-12)
    np.testing.assert_allclose(covariances[0], covariance, rtol=1e-10)


def test_gaussians_follow_the_posteriors_of_their_states(rng):
    model = make_model(n_states=3)
    steps, paths = model.sequences.steps, np.arange(model.sequences.n_steps) % 2  # state 2 has no steps
    draws = [hdphmm._sample_gaussians(rng, model.base, steps, paths, 3) for _ in range(6000)]
    for k in range(3):
        posterior = model.base.posterior(steps[paths == k])
        assert z_scores([means[k] for means, _ in draws], posterior.mean).max() < MAX_Z
        precisions = [np.linalg.inv(covariances[k]).ravel() for _, covariances in draws]
        assert z_scores(precisions, posterior.dof * np.linalg.inv(posterior.scale).ravel()).max() < MAX_Z


def test_paths_are_those_of_the_messages():
    model = make_model()
    state = make_state(model)
    moved, info = hdphmm.resample_paths(np.random.default_rng(3), model, state)
    rng, log_likelihood = np.random.default_rng(3), 0.0
    for series, path in zip(model.sequences, model.sequences.split(moved.path), strict=True):
        evidence = gaussian_log_density(series, state.means, state.covariances)
        expected, _ = hmm.sample_path(rng, evidence, state.initial, state.transition)
        np.testing.assert_array_equal(path, expected)
        log_likelihood += hmm.log_likelihood(evidence, state.initial, state.transition)
    assert info.log_likelihood == pytest.approx(log_likelihood)
    assert info.n_changed == (moved.path != state.path).sum() > 0


def test_sums_by_state(rng):
    centred, paths = rng.normal(size=(20, 2)), rng.integers(3, size=20)
    sizes, totals, scatters = hdphmm._sum_by_state(centred, paths, 4)
    for k in range(4):
        members = centred[paths == k]
        assert sizes[k] == len(members)
        np.testing.assert_allclose(totals[k], members.sum(axis=0))
        np.testing.assert_allclose(scatters[k], members.T @ members)


# --- counts and densities --------------------------------------------------------------------------------------------


def test_transitions_are_counted_within_series():
    model = make_model()
    state = make_state(model)
    counts, first = np.zeros((5, 5)), np.zeros(5)
    for path in model.sequences.split(state.path):
        first[path[0]] += 1
        for j, k in pairwise(path):
            counts[j, k] += 1
    np.testing.assert_array_equal(model.count_transitions(state.path), counts)
    np.testing.assert_array_equal(model.count_starts(state.path), first)


@pytest.mark.parametrize("self_share", [0.0, 0.4, 0.99])
def test_path_prior_equals_its_sequential_twin(rng, self_share):
    model = make_model(initial_concentration=0.7)
    state = replace(make_state(model), weights=rng.dirichlet(np.ones(5)), concentration=2.5, self_share=self_share)
    expected = naive.sequential_log_prior(state.path, model.sequences.lengths, state.weights, 2.5, self_share, 0.7)
    assert hdphmm.log_path_prior(model, state) == pytest.approx(expected, rel=1e-10)


def test_likelihood_and_joint():
    model = make_model()
    state = make_state(model)
    parts = [model.base.log_marginal(model.sequences.steps[state.path == k]) for k in range(5)]
    assert hdphmm.log_likelihood(model, state) == pytest.approx(sum(parts))
    joint = hdphmm.log_path_prior(model, state) + sum(parts)
    assert hdphmm.log_joint(model, state) == pytest.approx(joint)
    scalars = RECORDING.scalars(model, state, {})
    assert scalars["log_joint"] == pytest.approx(joint)
    assert scalars["n_states"] == state.n_used == 5
    np.testing.assert_array_equal(RECORDING.keep(state).expand(), state.path)


def test_weights_that_vanish_leave_a_density():
    model = make_model()
    state = replace(make_state(model), weights=np.array([1.0, 1e-300, 1e-300, 1e-300, 1e-300]), concentration=1e-9)
    assert np.isfinite(hdphmm.log_joint(model, state))


# --- states and sweeps -----------------------------------------------------------------------------------------------


def run(model, n_sweeps, seed=0):
    chain = iterate(np.random.default_rng(seed), model, make_state(model), hdphmm.default_sweep())
    return [state for state, _ in islice(chain, n_sweeps)]


def test_two_plain_states_are_found():
    model = make_model(n_states=6, lengths=(80, 60, 70), distance=8.0)
    states = run(model, 150)
    truth = np.concatenate([np.arange(n) // 8 % 2 for n in (80, 60, 70)])
    best = max(states[50:], key=lambda state: hdphmm.log_joint(model, state))
    assert {len(np.unique(best.path[truth == k])) for k in (0, 1)} == {1}
    assert best.n_used == 2


def test_same_seed_same_chain():
    one, other = (run(make_model(), 5)[-1] for _ in range(2))
    np.testing.assert_array_equal(one.path, other.path)
    np.testing.assert_array_equal(one.covariances, other.covariances)
    assert (one.mass, one.concentration, one.self_share) == (other.mass, other.concentration, other.self_share)
    assert one.step == 5


def test_stored_state_goes_on_bit_for_bit():
    model = make_model()
    states = run(model, 3)
    rng, other = (np.random.default_rng(8) for _ in range(2))
    restored = from_bytes(to_bytes(states[-1]))
    one, _ = next(iterate(rng, model, states[-1], hdphmm.default_sweep()))
    two, _ = next(iterate(other, model, restored, hdphmm.default_sweep()))
    np.testing.assert_array_equal(one.path, two.path)
    np.testing.assert_array_equal(one.transition, two.transition)
    np.testing.assert_array_equal(one.covariances, two.covariances)
    assert (one.mass, one.step) == (two.mass, 4)


def test_sweep_leaves_a_whole_state():
    model = make_model()
    for state in run(model, 20):
        model.check_state(state)
        assert state.tables is None
        np.testing.assert_allclose(state.transition.sum(axis=1), 1.0)
        np.testing.assert_allclose([state.initial.sum(), state.weights.sum()], 1.0)
        assert not state.path.flags.writeable
        assert not state.transition.flags.writeable


def test_one_state_is_enough():
    states = run(make_model(n_states=1), 5)
    assert all(state.n_used == 1 for state in states)


MISSING = [("tables", "tables"), ("weights", "weights"), ("transitions", "initial")]


@pytest.mark.parametrize(("skipped", "missing"), MISSING, ids=[skipped for skipped, _ in MISSING])
def test_move_that_needs_what_was_integrated_out_fails(skipped, missing):
    model, rng = make_model(), np.random.default_rng(0)
    sweep = {name: move for name, move in hdphmm.default_sweep().items() if name != skipped}
    chain = iterate(rng, model, make_state(model), sweep)
    with pytest.raises(InputError, match=f"needs the {missing} of the state, .* Put the move '{skipped}'"):
        list(islice(chain, 2))


def test_given_path_is_kept():
    model = make_model()
    path = np.arange(model.sequences.n_steps) % 3
    state = hdphmm.init_state(np.random.default_rng(0), model, path)
    np.testing.assert_array_equal(state.path, path)
    path[0] = 1
    assert state.path[0] == 0


def test_first_state_cuts_series_into_blocks():
    model = make_model(n_states=5, lengths=(30, 12, 25))
    for path in model.sequences.split(make_state(model).path):
        assert (np.diff(path) != 0).sum() == 4
        assert len(np.unique(path)) == 5


BAD_STATES = [
    (np.zeros(3), r"path has shape \(3,\), needed \(67,\)"),
    (np.full(67, 5), "path has states from 5 to 5, needed 0 to 4"),
    (np.full(67, -1), "path has states from -1 to -1"),
]


@pytest.mark.parametrize(("paths", "message"), BAD_STATES, ids=[message for _, message in BAD_STATES])
def test_bad_paths_are_named(paths, message):
    with pytest.raises(InputError, match=message):
        hdphmm.init_state(np.random.default_rng(0), make_model(), paths)


BAD_MODELS = [
    ({"n_states": 0}, "n_states is 0"),
    ({"mass_prior": (1.0, -1.0)}, r"mass_prior is \(1.0, -1.0\)"),
    ({"self_share_prior": (0.0, 1.0)}, "self_share_prior"),
    ({"concentration_prior": (np.inf, 1.0)}, "concentration_prior"),
    ({"initial_concentration": 0.0}, "initial_concentration is 0.0"),
]


@pytest.mark.parametrize(("settings", "message"), BAD_MODELS, ids=[message for _, message in BAD_MODELS])
def test_bad_settings_are_named(settings, message):
    with pytest.raises(InputError, match=message):
        make_model(**settings)


def test_prior_of_other_dimensions_is_refused():
    model = make_model()
    with pytest.raises(InputError, match="The prior has 3 dimensions, the recordings have 2"):
        replace(model, base=NIW(np.zeros(3), 1.0, np.eye(3), 5.0))


# --- a least stay ----------------------------------------------------------------------------------------------------


def test_with_a_least_stay_no_stay_is_shorter(rng):
    model = make_model(n_states=4, least_stay=4, distance=1.0)
    n_steps, starts = model.sequences.n_steps, model.sequences.starts
    first = hdphmm.init_state(rng, model, rng.integers(4, size=n_steps))
    assert not has_short_stay(first.path, starts, 4)
    for state, _ in islice(iterate(rng, model, first, hdphmm.default_sweep()), 20):
        assert not has_short_stay(state.path, starts, 4)
        assert np.isfinite(hdphmm.log_joint(model, state))
    assert hdphmm.log_joint(model, replace(first, path=np.arange(n_steps) % 2)) == -np.inf


def test_transitions_that_a_stay_has_to_make_are_not_counted():
    model = make_model(n_states=3, lengths=(8,), least_stay=3)
    assert model.count_transitions(np.array([0, 0, 1, 1, 1, 1, 2, 2])).tolist() == [[1, 1, 0], [0, 1, 1], [0, 0, 0]]


def test_bad_least_stay_is_named():
    with pytest.raises(InputError, match="least_stay is 0, needed at least 1"):
        make_model(least_stay=0)
