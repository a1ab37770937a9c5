"""An embedding of many matrices by landmarks."""

import numpy as np
import pytest

from homothety.covariance import embedding as landmarks
from homothety.covariance import spectra as spectra_module
from homothety.covariance.embedding import Landmarks, spectral_embedding
from homothety.covariance.measures import SPCM_VARIANTS
from homothety.covariance.similarity import pairwise_similarity
from homothety.covariance.spectra import eigenvalues, spectra_in_blocks
from homothety.datasets import make_wishart_families
from homothety.errors import FlooredEigenvaluesWarning, InputError


@pytest.fixture(scope="module")
def matrices():
    return make_wishart_families(3, 3, n_per_family=40, random_state=0).matrices


@pytest.mark.parametrize("variant", SPCM_VARIANTS)
def test_landmarks_lie_where_the_embedding_of_all_pairs_has_them(variant, matrices):
    spectra = eigenvalues(matrices)
    found = Landmarks.of_spectra(spectra, SPCM_VARIANTS[variant], 1.0)
    expected = spectral_embedding(pairwise_similarity(matrices, variant=variant))
    np.testing.assert_allclose(found.embedding.points, expected.points, atol=1e-8)
    np.testing.assert_allclose(found.place(spectra), expected.points, atol=1e-6)


def test_places_do_not_depend_on_blocks(matrices, monkeypatch):
    spectra = spectra_in_blocks(matrices)
    found = Landmarks.of_spectra(spectra[::3], SPCM_VARIANTS["log"], 1.0)
    whole = found.place(spectra)
    monkeypatch.setattr(landmarks, "BLOCK", 7)
    monkeypatch.setattr(spectra_module, "BLOCK_ENTRIES", 50)
    np.testing.assert_allclose(spectra_in_blocks(matrices), spectra, rtol=1e-12)
    np.testing.assert_allclose(found.place(spectra), whole, atol=1e-12)


def test_blocks_are_smaller_the_more_is_compared(monkeypatch):
    monkeypatch.setattr(landmarks, "BLOCK_ENTRIES", 100)
    sizes = []
    out = landmarks.in_blocks(lambda block: sizes.append(len(block)) or 2 * block, np.ones((70, 2)), 2, 3)
    assert sizes == [33, 33, 4]
    np.testing.assert_array_equal(out, np.full((70, 2), 2.0))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones((40, 3, 4)), r"X has shape \(40, 3, 4\)"),
        ([np.eye(3)] * 30 + [np.eye(2)], r"X\[30\] has shape \(2, 2\) but X\[0\] has shape \(3, 3\)"),
    ],
)
def test_what_is_no_stack_is_named_whole(X, message, monkeypatch):
    monkeypatch.setattr(spectra_module, "BLOCK_ENTRIES", 90)
    with pytest.raises(InputError, match=message):
        spectra_in_blocks(X)


def test_others_are_placed_near_those_of_their_shape(matrices):
    families = np.repeat(np.arange(3), 40)
    spectra = eigenvalues(matrices)
    places = Landmarks.of_spectra(spectra[::2], SPCM_VARIANTS["log"], 1.0).place(spectra)
    centres = np.array([places[::2][families[::2] == k].mean(axis=0) for k in range(3)])
    nearest = ((places[1::2, None] - centres) ** 2).sum(axis=-1).argmin(axis=1)
    assert np.mean(nearest == families[1::2]) > 0.95


def test_matrices_that_were_floored_are_counted_once(monkeypatch):
    monkeypatch.setattr(spectra_module, "BLOCK_ENTRIES", 18)
    singular = [np.diag([0.0, 1.0, 2.0])] * 3 + [np.eye(3)] * 4
    with pytest.warns(FlooredEigenvaluesWarning, match="X: 3 of 7 matrices") as told:
        assert spectra_in_blocks(singular).shape == (7, 3)
    assert len(told) == 1
