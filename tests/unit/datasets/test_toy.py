"""The toy data have the paper's shapes; its series have the paper's states and stays too."""

from __future__ import annotations

import numpy as np
import pytest

from homothety.datasets import make_toy_2d, make_toy_3d, make_toy_6d
from homothety.datasets.synthetic import shape_distance
from homothety.datasets.toy import _COVARIANCES, _MEANS, _STATES_OF_SERIES
from homothety.errors import InputError

PAPER_SPECTRA = [[1, 1, 1, 1, 1, 1], [1, 1, 1, 10, 10, 10], [1, 10, 20, 30, 40, 50]]
PUBLISHED_SPECTRA = [[1, 1, 1, 1, 1, 1], [1, 1, 1, 10, 10, 10], [1, 20, 30, 40, 50, 60]]


def spectra_up_to_scale(matrices):
    eigenvalues = np.linalg.eigvalsh(matrices)
    return eigenvalues / eigenvalues[:, :1]


def kind_of_toy_3d(matrices):
    """Condition numbers of S1 and S4, and how far apart their shapes are."""
    spectra = np.linalg.eigvalsh(matrices[[0, 3]])
    return [*(spectra[:, 2] / spectra[:, 0]), shape_distance(*spectra)]


@pytest.mark.parametrize("make", [make_toy_3d, make_toy_6d])
def test_same_seed_same_data(make):
    np.testing.assert_array_equal(make(3).matrices, make(random_state=3).matrices)
    np.testing.assert_array_equal(make(3).matrices, make(np.random.default_rng(3)).matrices)
    assert not np.array_equal(make(3).matrices, make(4).matrices)
    assert not np.array_equal(make().matrices, make().matrices)


@pytest.mark.parametrize("seed", range(20))
def test_toy_3d_is_put_together_as_in_the_paper(seed):
    toy = make_toy_3d(seed)
    first, second, third, fourth, fifth = toy.matrices
    a, b = first[0, 1], first[0, 0]
    np.testing.assert_array_equal(first, [[b, a, a], [a, b, a], [a, a, b]])
    assert (fourth[0, 0], fourth[1, 1]) == (a, b)
    np.testing.assert_allclose(second, 0.5 * first, rtol=1e-14)
    np.testing.assert_allclose(np.linalg.eigvalsh(third), np.linalg.eigvalsh(first), rtol=1e-12)
    np.testing.assert_allclose(np.linalg.eigvalsh(fifth), 0.75 * np.linalg.eigvalsh(fourth), rtol=1e-12)
    assert np.abs(third - first).max() > 1e-3
    assert toy.labels.tolist() == [0, 0, 0, 1, 1]


@pytest.mark.parametrize("seed", range(20))
def test_toy_3d_has_two_well_conditioned_unlike_shapes(seed):
    toy = make_toy_3d(seed)
    eigenvalues = np.linalg.eigvalsh(toy.matrices)
    assert eigenvalues.min() > 0
    assert (eigenvalues[:, 2] / eigenvalues[:, 0]).max() <= 20 * (1 + 1e-12)
    assert shape_distance(eigenvalues[0], eigenvalues[3]) >= 0.25
    np.testing.assert_array_equal(toy.matrices, toy.matrices.swapaxes(1, 2))


def test_toy_3d_draws_are_of_the_kind_of_the_papers_instance(shared_data):
    draws = [kind_of_toy_3d(make_toy_3d(seed).matrices) for seed in range(200)]
    low, high = np.quantile(draws, [0.1, 0.9], axis=0)
    instance = kind_of_toy_3d(shared_data("toy_3d.npz")["matrices"])
    assert (low < instance).all()
    assert (instance < high).all()


def test_toy_3d_noise_changes_only_the_second_matrix():
    exact, noisy = make_toy_3d(5), make_toy_3d(5, noise=0.1)
    differs = np.abs(exact.matrices - noisy.matrices).max(axis=(1, 2)) > 1e-12
    assert differs.tolist() == [False, True, False, False, False]
    assert np.linalg.eigvalsh(noisy.matrices).min() > 0
    assert 0 < shape_distance(*np.linalg.eigvalsh(noisy.matrices[:2])) < 0.2


@pytest.mark.parametrize("scale", ["class", "matrix"])
@pytest.mark.parametrize(("spectra", "families"), [("paper", PAPER_SPECTRA), ("published", PUBLISHED_SPECTRA)])
def test_toy_6d_has_the_three_families(scale, spectra, families):
    toy = make_toy_6d(0, scale=scale, spectra=spectra)
    assert toy.matrices.shape == (60, 6, 6)
    assert toy.labels.tolist() == [0] * 20 + [1] * 20 + [2] * 20
    np.testing.assert_allclose(spectra_up_to_scale(toy.matrices), np.array(families)[toy.labels], rtol=1e-11)


def test_toy_6d_default_has_the_families_of_the_stored_set(shared_data):
    stored = shared_data("toy_6d_seed0.npz")
    families = spectra_up_to_scale(make_toy_6d(0, n_per_class=1).matrices)
    np.testing.assert_allclose(spectra_up_to_scale(stored["matrices"]), families[stored["labels"] - 1], rtol=1e-10)


def test_toy_6d_scale_is_drawn_per_class_or_per_matrix():
    for scale, n_scales in {"class": 3, "matrix": 60}.items():
        smallest = np.linalg.eigvalsh(make_toy_6d(1, scale=scale).matrices)[:, 0]
        assert len(np.unique(smallest.round(10))) == n_scales


def test_toy_6d_scales_are_absolute_standard_normals():
    toy = make_toy_6d(2, n_per_class=4000, scale="matrix")
    scales = np.linalg.eigvalsh(toy.matrices)[:, 0]
    assert abs((scales**2).mean() - 1) < 5 * np.sqrt(2 / len(scales))


def test_published_third_family_has_half_the_scale():
    paper, published = (make_toy_6d(0, n_per_class=1, spectra=spectra) for spectra in ("paper", "published"))
    ratio = np.linalg.eigvalsh(published.matrices[2]) / np.linalg.eigvalsh(paper.matrices[2])
    np.testing.assert_allclose(ratio, [0.5, 1, 0.75, 2 / 3, 0.625, 0.6])


def test_toy_6d_matrices_of_a_class_are_rotated_apart():
    toy = make_toy_6d(0, n_per_class=3)
    assert (
        np.abs(toy.matrices[3] / np.trace(toy.matrices[3]) - toy.matrices[4] / np.trace(toy.matrices[4])).max() > 0.01
    )
    np.testing.assert_array_equal(toy.matrices, toy.matrices.swapaxes(1, 2))


class ZeroAtFirst(np.random.Generator):
    """A generator whose first normals are all zero, as no seed will ever give them."""

    n_calls = 0

    def standard_normal(self, size):
        self.n_calls += 1
        return np.zeros(size) if self.n_calls == 1 else super().standard_normal(size)


def test_toy_6d_survives_a_scale_of_zero():
    toy = make_toy_6d(ZeroAtFirst(np.random.PCG64(0)), n_per_class=2)
    np.testing.assert_allclose(spectra_up_to_scale(toy.matrices), np.repeat(PAPER_SPECTRA, 2, axis=0), rtol=1e-10)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_toy_3d(0, noise=-1), "noise is -1, needed a finite number of at least 0"),
        (lambda: make_toy_6d(0, n_per_class=0), "n_per_class is 0, needed at least 1"),
        (lambda: make_toy_6d(0, scale="set"), "scale is 'set', needed one of 'class', 'matrix'"),
        (lambda: make_toy_6d(0, spectra="mine"), "spectra is 'mine', needed one of 'paper', 'published'"),
    ],
)
def test_bad_settings_are_named(call, message):
    with pytest.raises(InputError, match=message):
        call()


# --- series -----------------------------------------------------------------------------------------------------------


def test_same_seed_same_series():
    first, again, other = make_toy_2d(3), make_toy_2d(3), make_toy_2d(4)
    np.testing.assert_array_equal(first.sequences[2], again.sequences[2])
    assert first.n_steps != other.n_steps


def test_states_belong_to_their_series_and_actions_to_states():
    toy = make_toy_2d(0)
    assert [tuple(np.unique(path)) for path in toy.states] == list(_STATES_OF_SERIES)
    for states, actions in zip(toy.states, toy.actions, strict=True):
        np.testing.assert_array_equal(actions, np.isin(states, [1, 2]))
    assert len({len(one) for one in toy.sequences}) > 1
    assert abs(toy.n_steps - 2000) < 5 * np.sqrt(2000)


def test_states_have_their_moments_and_stays():
    toy = make_toy_2d(1, n_steps=20_000)
    steps, states = np.concatenate(toy.sequences), np.concatenate(toy.states)
    for k in range(4):
        points = steps[states == k]
        np.testing.assert_allclose(points.mean(axis=0), _MEANS[k], atol=0.03)
        np.testing.assert_allclose(np.cov(points.T), _COVARIANCES[k], atol=0.01)
    changes = np.mean(np.concatenate([np.diff(path) != 0 for path in toy.states]))
    expected = (0.04 / 3) / (0.96 + 0.04 / 3)
    assert abs(changes - expected) < 4 * np.sqrt(expected / len(steps))


def test_like_the_stored_instance(shared_data):
    stored = shared_data("toy_2d_seed0.npz")
    np.testing.assert_array_equal(stored["true_mu"], _MEANS)
    np.testing.assert_allclose(stored["true_sigma"], _COVARIANCES)
    assert [tuple(np.flatnonzero(row)) for row in stored["true_features"]] == list(_STATES_OF_SERIES)


def test_bad_length():
    with pytest.raises(InputError, match="n_steps is 1, needed at least 2"):
        make_toy_2d(0, n_steps=1)
