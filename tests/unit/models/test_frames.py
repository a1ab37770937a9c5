"""Known actions found in frames of their own."""

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

from homothety.models.emissions import Emission
from homothety.models.icsc import frames
from homothety.models.icsc.frames import (
    KnownActions,
    of_shape,
    transitions_between,
    versions_per_series,
    weighted_regression,
)

SHAPES = np.array([[0.05, 1.0, 20.0], [0.5, 0.6, 1 / 0.3]])


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_of_a_shape_no_covariance_is_likelier(rng):
    steps = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 3))
    scatter = steps.T @ steps / len(steps)

    def log_density(covariance):
        return stats.multivariate_normal.logpdf(steps, np.zeros(3), covariance).sum()

    def loss(parameters):
        rotation = Rotation.from_rotvec(parameters[:3]).as_matrix()
        return -log_density(np.exp(parameters[3]) * (rotation * SHAPES[0]) @ rotation.T)

    found = min(minimize(loss, rng.normal(size=4), method="Nelder-Mead", tol=1e-8).fun for _ in range(8))
    assert -log_density(of_shape(scatter, SHAPES[0])) <= found + 1e-4


def test_a_covariance_of_a_shape_has_it_whatever_the_steps(rng):
    for scatter in (np.eye(3), np.diag([1.0, 0.0, 0.0]), np.zeros((3, 3))):
        values = np.linalg.eigvalsh(of_shape(scatter, SHAPES[0]))
        np.testing.assert_allclose(values / values[0], SHAPES[0] / SHAPES[0, 0], rtol=1e-6)


def test_weights_of_a_regression_are_numbers_of_steps(rng):
    regressors, observed = rng.normal(size=(20, 2)), rng.normal(size=(20, 3))
    times = rng.integers(0, 3, 20)
    found = weighted_regression(regressors, observed, times.astype(float))
    repeated = np.repeat(regressors, times, axis=0), np.repeat(observed, times, axis=0)
    coefficients = np.linalg.lstsq(*repeated, rcond=None)[0]
    residuals = repeated[1] - repeated[0] @ coefficients
    np.testing.assert_allclose(found[0], coefficients.T, atol=1e-10)
    np.testing.assert_allclose(found[1], residuals.T @ residuals, atol=1e-10)


def test_versions_are_counted_in_series_that_show_the_action():
    # Of action 0 the first series shows two states, the second none.
    path, starts, actions = np.array([0, 1, 2, 2, 2, 2]), np.array([0, 3, 6]), np.array([0, 0, 1])
    assert versions_per_series(path, starts, actions).tolist() == [2, 1]


def test_transitions_between_actions_and_their_versions():
    path, starts, actions = np.array([0, 0, 1, 2, 2, 0]), np.array([0, 3, 6]), np.array([0, 0, 1])
    initial, transition = transitions_between(path, starts, actions, np.array([0, 0, 1]))
    np.testing.assert_allclose(initial, [1.5 / 2 / 3, 1.5 / 2 / 3, 1.5 / 3])
    np.testing.assert_allclose(transition.sum(axis=1), 1.0)
    # Action 0 goes on once and changes version once; action 1 goes on once and is followed by action 0 once.
    np.testing.assert_allclose(transition[2], np.array([0.75, 0.75, 0.5 + 1.5]) / 3.5)
    np.testing.assert_allclose(transition[0], np.array([0.75 + 1.5, 0.75, 0.5]) / 3.5)


def recording(rng, shapes, path):
    """Steps of states in random places, sizes and rotations."""
    steps = np.empty((len(path), 3))
    for k, shape in enumerate(shapes):
        rotation, size = stats.special_ortho_group.rvs(3, random_state=rng), np.exp(rng.uniform(-1, 1))
        steps[path == k] = rng.normal(size=(np.sum(path == k), 3)) * np.sqrt(size * shape) @ rotation.T
    return steps


def test_actions_at_one_place_are_told_apart_by_shape(rng):
    path = np.tile(np.repeat([0, 1], [30, 20]), 4)
    emission = Emission.gaussian(np.zeros(3), 0.1, np.eye(3), 5.0)
    z = np.column_stack([np.ones(len(path)), recording(rng, SHAPES, path)])
    known = KnownActions.of_path(emission, z, np.array([0, len(path)]), path, np.array([0, 1]))
    np.testing.assert_allclose(np.log(known.spectra), np.log(SHAPES), atol=0.4)
    wrong = []
    for _ in range(5):
        new = recording(rng, SHAPES, path)
        wrong.append(np.mean(known.in_frame_of(rng, new).path(new) != path))
    assert np.median(wrong) < 0.05


def test_a_state_that_may_have_any_shape_could_not_be_named(rng):
    # The fault that holding the shapes prevents: which of two states is which action is then a matter of chance.
    path = np.tile(np.repeat([0, 1], [25, 25]), 4)
    known = KnownActions(np.arange(2), SHAPES, np.full(2, 0.5), np.array([[0.96, 0.04], [0.04, 0.96]]))
    round_ones = KnownActions(np.arange(2), np.ones((2, 3)), known.initial, known.transition)
    right = {"held": [], "any": []}
    for _ in range(8):
        new = recording(rng, SHAPES, path)
        for name, actions in {"held": known, "any": round_ones}.items():
            right[name].append(np.mean(actions.in_frame_of(rng, new).path(new) == path))
    assert np.mean(right["held"]) > 0.95
    assert np.mean(right["any"]) < 0.8


def test_a_recording_that_stands_still_is_no_error(rng):
    known = KnownActions(np.arange(2), SHAPES, np.full(2, 0.5), np.full((2, 2), 0.5))
    assert len(known.in_frame_of(rng, np.zeros((5, 3))).path(np.zeros((5, 3)))) == 5


def test_more_steps_are_never_less_likely(rng, monkeypatch):
    # Expectation-maximisation climbs, but for what keeps states from shrinking to a point.
    path = np.tile(np.repeat([0, 1], [30, 20]), 4)
    known = KnownActions(np.arange(2), SHAPES, np.full(2, 0.5), np.array([[0.96, 0.04], [0.04, 0.96]]))
    new, reached = recording(rng, SHAPES, path), []
    for n in (1, 3, 10, 40):
        monkeypatch.setattr(frames, "MAX_ITERATIONS", n)
        reached.append(known._fit(np.random.default_rng(1), new, 0, 1.0)[1])
    assert (np.diff(reached) > -0.5).all()
    assert reached[-1] > reached[0] + 10


def test_an_action_that_no_state_is_mostly_of_is_never_found(rng):
    # Three actions are reported, but of two states neither is mostly of action 1.
    path = np.tile(np.repeat([0, 1], [30, 20]), 4)
    emission = Emission.gaussian(np.zeros(3), 0.1, np.eye(3), 5.0)
    z = np.column_stack([np.ones(len(path)), recording(rng, SHAPES, path)])
    known = KnownActions.of_path(emission, z, np.array([0, len(path)]), path, np.array([0, 2]))
    assert known.actions.tolist() == [0, 2]
    assert np.isfinite(known.spectra).all()
    np.testing.assert_allclose(known.transition.sum(axis=1), 1.0)
    np.testing.assert_allclose(known.initial.sum(), 1.0)


def test_one_action_alone_is_found_without_a_warning(rng, recwarn):
    known = KnownActions(np.zeros(1, dtype=int), SHAPES[:1], np.ones(1), np.ones((1, 1)))
    assert (known.in_frame_of(rng, rng.normal(size=(20, 3))).path(rng.normal(size=(20, 3))) == 0).all()
    assert not recwarn.list
