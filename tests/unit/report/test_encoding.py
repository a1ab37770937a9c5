from __future__ import annotations

from base64 import b64decode

import numpy as np
import pytest

from homothety.report.charts import _MISSING, _as_bytes, _as_codes, _bin_size, _block_means, _runs_of, extremes, packed


def test_no_extreme_is_lost(rng):
    values = rng.normal(size=(1003, 2))
    low, high = extremes(values, 10)
    assert low.shape == high.shape == (101, 2)
    for k in range(101):
        np.testing.assert_array_equal(low[k], values[10 * k : 10 * k + 10].min(axis=0))
        np.testing.assert_array_equal(high[k], values[10 * k : 10 * k + 10].max(axis=0))


def test_what_is_missing_counts_only_where_nothing_else_is():
    low, high = extremes(np.array([np.nan, 2.0, np.nan, np.nan]), 2)
    np.testing.assert_array_equal(low, [2.0, np.nan])
    np.testing.assert_array_equal(high, [2.0, np.nan])


@pytest.mark.parametrize(("n_steps", "most"), [(100, 1000), (1000, 1000), (501, 1000), (12_345, 1000)])
def test_no_more_values_than_allowed_are_drawn(n_steps, most):
    size = _bin_size(n_steps, 2, most)
    n_values = 2 * n_steps if size == 1 else 2 * 2 * -(-n_steps // size)
    assert n_values <= most + 4


def test_runs_make_up_the_labels_again(rng):
    labels = np.repeat(rng.integers(0, 5, size=40), rng.integers(1, 9, size=40))
    runs = _runs_of(labels)
    lengths = np.diff([*runs["starts"], len(labels)])
    np.testing.assert_array_equal(np.repeat(runs["labels"], lengths), labels)
    assert (np.diff(runs["labels"]) != 0).all()


def test_codes_keep_five_digits_and_what_is_missing(rng):
    values = np.append(rng.uniform(-3, 8, size=100), [-3, 8, np.nan])
    codes = _as_codes(values, -3.0, 8.0)
    assert codes[-1] == _MISSING
    np.testing.assert_allclose(-3 + codes[:-1] / (_MISSING - 1) * 11, values[:-1], atol=1e-4)


def test_a_dimension_that_stands_still_has_a_code():
    np.testing.assert_array_equal(_as_codes(np.array([5.0, 5.0]), 5.0, 5.0), [0, 0])


def test_packed_numbers_are_lowest_byte_first():
    assert list(b64decode(packed(np.array([1, 258], dtype=np.uint16)))) == [1, 0, 2, 1]
    assert list(b64decode(packed(_as_bytes(np.array([0.0, 0.5, 1.0]))))) == [0, 128, 255]


def test_means_of_blocks_keep_the_mean_of_all(rng):
    matrix = rng.uniform(size=(60, 60))
    blocks = _block_means(matrix, 20)
    assert blocks.shape == (20, 20)
    np.testing.assert_allclose(blocks.mean(), matrix.mean())
    np.testing.assert_array_equal(_block_means(matrix, 60), matrix)
