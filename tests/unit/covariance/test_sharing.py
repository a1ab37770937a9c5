"""Tables worked out in blocks of rows are, bit for bit, those worked out in one call."""

from __future__ import annotations

import numpy as np
import pytest
from joblib import parallel_config

from homothety import pairwise_distance
from homothety.covariance import similarity as _pairs


def spread_of_volume(a, b):
    return abs(np.linalg.slogdet(a)[1] - np.linalg.slogdet(b)[1])


@pytest.fixture
def matrices():
    sides = np.random.default_rng(0).normal(size=(31, 3, 5))
    return sides @ sides.swapaxes(1, 2)


@pytest.fixture
def n_calls(monkeypatch):
    """Let small tables be shared out, and count the pieces."""
    calls, rows_of = [], _pairs._rows_of

    def counted(*arguments):
        calls.append(arguments)
        return rows_of(*arguments)

    monkeypatch.setattr(_pairs, "_LEAST_PAIRS", 100)
    monkeypatch.setattr(_pairs, "_rows_of", counted)
    return lambda: len(calls)


@pytest.mark.parametrize("measure", ["airm", "kldm", "jbld", spread_of_volume])
@pytest.mark.parametrize("n_others", [None, 13])
def test_blocks_make_the_same_table(matrices, n_calls, measure, n_others):
    others = None if n_others is None else 2 * matrices[:n_others]
    whole = pairwise_distance(matrices, others, measure=measure)
    assert n_calls() == 0
    with parallel_config(n_jobs=2):
        in_blocks = pairwise_distance(matrices, others, measure=measure)
    assert n_calls() == 2 * _pairs._BLOCKS_EACH
    np.testing.assert_array_equal(in_blocks, whole)


def test_few_pairs_are_not_shared_out(matrices, n_calls):
    with parallel_config(n_jobs=2):
        pairwise_distance(matrices[:9], measure="airm")
    assert n_calls() == 0
