"""Recordings drawn from fitted segmenters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from scipy.stats import kstest

from homothety import IBPHMM, ICSCHMM, ActionHMM, HMMSelection
from homothety.datasets import make_demonstrations, make_toy_2d
from homothety.errors import InputError
from homothety.metrics import hamming
from homothety.models.hmm.messages import smoothed_probs
from homothety.models.hmm.states import StateModel
from homothety.preprocessing import Preprocessing

SHORT = {"n_chains": 1, "n_sweeps": 40, "random_state": 0}


@pytest.fixture(scope="module")
def toy():
    return make_toy_2d(0, n_steps=150)


@pytest.fixture(scope="module")
def model(toy):
    return IBPHMM(**SHORT).fit(toy.sequences)


@pytest.mark.parametrize("least_stay", [1, 3])
def test_paths_have_the_probabilities_of_the_model(least_stay):
    initial, transition = np.array([0.7, 0.2, 0.1]), np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4]])
    states = StateModel(initial, transition, np.zeros((3, 1, 1)), np.ones((3, 1, 1)), least_stay=least_stay)
    rng = np.random.default_rng(0)
    paths = np.stack([states.sample(rng, 7)[0] for _ in range(20_000)])
    found = np.stack([(paths == k).mean(axis=0) for k in range(3)], axis=1)
    expected = smoothed_probs(np.zeros((7, 3)), initial, transition, least_stay=least_stay)
    assert (np.abs(found - expected) < 4.5 * np.sqrt(expected * (1 - expected) / 20_000)).all()
    # Where stays have a least length, the test would notice paths that forget it.
    forgetful = smoothed_probs(np.zeros((7, 3)), initial, transition, least_stay=4 - least_stay)
    assert np.abs(found - forgetful).max() > 0.02


def test_steps_have_the_moments_of_their_states(model):
    sampled = model.sample(20, 500, random_state=0)
    path, steps = np.concatenate(sampled.states), np.concatenate(sampled.sequences)
    for k in range(model.n_states_):
        white = np.linalg.solve(np.linalg.cholesky(model.covariances_[k]), (steps[path == k] - model.means_[k]).T)
        assert kstest(white.ravel(), "norm").pvalue > 1e-3


def test_a_fit_to_what_was_drawn_finds_the_states_again(model):
    sampled = model.sample(4, 300, random_state=1)
    found = IBPHMM(**SHORT).fit(sampled)
    assert hamming(np.concatenate(sampled.states), np.concatenate(found.paths_)) < 0.05


def test_the_same_seed_gives_the_same_recordings(model):
    first, again, other = (model.sample(2, 50, random_state=seed) for seed in (3, 3, 4))
    assert all((a == b).all() for a, b in zip(first.sequences, again.sequences, strict=True))
    assert (first.sequences[0] != other.sequences[0]).all()
    assert first.names == ("sample 0", "sample 1")
    assert len(model.sample().sequences[0]) == 152  # the median of 119, 151, 154 and 155


def test_units_and_strides_are_those_of_the_recordings(toy):
    scaled = [one * [100.0, 1.0] + [1e4, 0.0] for one in toy.sequences]
    settings = Preprocessing(scale="std", subsample=2, velocities="append")
    sampled = HMMSelection(max_states=4, preprocessing=settings, random_state=0).fit(scaled).sample(10, random_state=0)
    steps, given = np.concatenate(sampled.sequences), np.concatenate(scaled)
    assert steps.shape == (10 * 76, 2)
    np.testing.assert_allclose(steps.std(axis=0), given.std(axis=0), rtol=0.3)
    assert (np.abs(steps.mean(axis=0) - given.mean(axis=0)) < given.std(axis=0)).all()


def test_autoregressive_recordings_move_as_their_states_do(toy):
    found = IBPHMM(emission="autoregressive", **SHORT).fit(toy.sequences)
    sampled = found.sample(1, 400, random_state=0)
    series, path = sampled.sequences[0], sampled.states[0]
    prepared = (series - found.preprocessing_.offset) * found.preprocessing_.factors
    expected = np.einsum("tde,te->td", found.coefficients_[path[1:]], prepared[:-1])
    white = np.linalg.solve(
        np.linalg.cholesky(found.states_.covariances)[path[1:]], (prepared[1:] - expected)[:, :, None]
    )
    assert kstest(white.ravel(), "norm").pvalue > 1e-3


def test_actions_are_those_of_the_states(toy):
    found = ICSCHMM(**SHORT).fit(toy.sequences)
    sampled = found.sample(2, 100, random_state=0)
    assert all((a == found.state_actions_[s]).all() for a, s in zip(sampled.actions, sampled.states, strict=True))


def test_numbers_that_cannot_be_are_named(model):
    with pytest.raises(InputError, match="n_recordings is 0"):
        model.sample(0)
    with pytest.raises(InputError, match="n_looks is 0"):
        model.sample(1, 0)


def test_recordings_are_drawn_in_frames_of_those_of_the_fit():
    model = ActionHMM(n_chains=1, n_sweeps=20, random_state=0).fit(make_demonstrations(0))
    sampled = model.sample(6, 400, random_state=0)
    frames = sampled.frames
    assert {tuple(one.ravel().round(6)) for one in frames.rotation} <= {
        tuple(one.rotation.ravel().round(6)) for one in model.frames_
    }
    for i, one in enumerate(sampled.sequences):
        # Undoing the frame gives steps about the means of states, in the frame of the reference.
        canonical = (one - frames.origin[i]) @ frames.rotation[i] / frames.size[i]
        white = [
            np.linalg.solve(np.linalg.cholesky(model.covariances_[k, :3, :3]), step - model.means_[k, :3])
            for step, k in zip(canonical, sampled.states[i], strict=True)
        ]
        assert kstest(np.ravel(white), "norm").pvalue > 1e-4
        assert (sampled.actions[i] == model.state_actions_[sampled.states[i]]).all()


def test_orientations_are_drawn_as_quaternions():
    rng = np.random.default_rng(0)
    series = []
    for _ in range(2):
        angle = np.repeat([0.3, 1.5, 0.3, 1.5], 60) + 0.1 * rng.normal(size=240)
        place = np.repeat([[0, 0, 0], [1, 2, 0]] * 2, 60, axis=0) + 0.1 * rng.normal(size=(240, 3))
        quaternions = Rotation.from_rotvec(angle[:, None] * [0.6, 0.0, 0.8]).as_quat(scalar_first=True)
        series.append(np.hstack([quaternions, place]))
    model = ActionHMM(blocks=["quaternion", "point"], frames="one", n_chains=1, n_sweeps=6, random_state=0).fit(series)
    drawn, given = np.concatenate(model.sample(3, random_state=0).sequences), np.concatenate(series)
    np.testing.assert_allclose(np.linalg.norm(drawn[:, :4], axis=1), 1.0)
    np.testing.assert_allclose(drawn[:, 4:].mean(axis=0), given[:, 4:].mean(axis=0), atol=0.5)
    turned = [2 * np.arccos(np.clip(np.abs(one[:, 0]), 0, 1)) for one in (drawn, given)]
    assert np.abs(np.quantile(turned[0], [0.1, 0.9]) - np.quantile(turned[1], [0.1, 0.9])).max() < 0.4
