"""Matrices that lack dimensions, NaN in whole rows and columns, in the mixture of shapes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from homothety import SPCMMixture
from homothety.covariance.spectra import without_missing
from homothety.datasets import make_toy_6d
from homothety.errors import InputError
from homothety.metrics import nmi

SHORT = {"n_chains": 2, "n_sweeps": 60, "random_state": 0}
TOY = make_toy_6d(random_state=0)


def lacking(matrices, items, dims):
    """Matrices of which some lack dimensions, one set of dimensions for each."""
    gappy = np.array(matrices)
    for i, own in zip(items, dims, strict=True):
        gappy[i, own, :] = gappy[i, :, own] = np.nan
    return gappy


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def test_a_third_of_the_matrices_may_lack_a_dimension():
    items = np.arange(0, 60, 3)
    gappy = lacking(TOY.matrices, items, (items // 3 % 6).tolist())
    model = SPCMMixture(**SHORT).fit(gappy)
    assert nmi(TOY.labels, model.labels_) > 0.95
    assert np.isfinite(model.embedding_).all()


def test_matrices_may_lack_several_dimensions_and_different_numbers_of_them():
    gappy = lacking(TOY.matrices, [0, 25, 50], [[1], [2, 3], [0, 4, 5]])
    model = SPCMMixture(**SHORT).fit(gappy)
    whole = SPCMMixture(**SHORT).fit(TOY.matrices)
    others = np.setdiff1d(np.arange(60), [0, 25, 50])
    assert nmi(whole.labels_[others], model.labels_[others]) > 0.95


def test_the_same_seed_gives_the_same_draws():
    gappy = lacking(TOY.matrices, [0, 1], [[1], [2]])
    one, other = (SPCMMixture(n_chains=1, n_sweeps=10, random_state=3).fit(gappy) for _ in range(2))
    np.testing.assert_array_equal(one.draws_, other.draws_)
    np.testing.assert_array_equal(one.embedding_, other.embedding_)


def test_there_is_no_similarity_of_incomplete_matrices():
    model = SPCMMixture(n_chains=1, n_sweeps=10, random_state=0).fit(lacking(TOY.matrices, [0], [[1]]))
    with pytest.raises(AttributeError, match="similarity_"):
        _ = model.similarity_


def test_nan_elsewhere_is_refused():
    spoiled = np.array(TOY.matrices)
    spoiled[7, 0, 1] = np.nan
    with pytest.raises(InputError, match=r"X\[7\] has NaN outside of missing dimensions"):
        SPCMMixture(**SHORT).fit(spoiled)
    with pytest.raises(InputError, match=r"X\[3\] has fewer than two dimensions besides missing dimensions"):
        SPCMMixture(**SHORT).fit(lacking(TOY.matrices, [3], [[0, 1, 2, 3, 4]]))


def test_enough_matrices_have_to_be_whole():
    with pytest.raises(InputError, match="5 of 60 matrices lack no dimension, needed 6 or more"):
        SPCMMixture(**SHORT).fit(lacking(TOY.matrices, range(55), [[0]] * 55))


def test_links_take_no_missing_dimensions():
    with pytest.raises(InputError, match="holds NaN or infinity"):
        SPCMMixture(model="links", **SHORT).fit(lacking(TOY.matrices, [0], [[1]]))


def test_filled_matrices_keep_what_is_known():
    filled, missing = without_missing(lacking(TOY.matrices, [4], [[1, 5]]))
    known = np.flatnonzero(~missing[4])
    assert np.flatnonzero(missing[4]).tolist() == [1, 5]
    np.testing.assert_array_equal(filled[4][np.ix_(known, known)], TOY.matrices[4][np.ix_(known, known)])
    assert not missing[[0, 1, 2, 3]].any()
