"""Checks that all entry points share."""

from __future__ import annotations

import numpy as np
import pytest

from homothety.arrays import check_count, check_points, check_similarity_to, check_whole, real_array
from homothety.errors import InputError


def test_whole_numbers_of_any_kind_are_counts():
    assert check_count(3, "n_items") == check_count(np.int8(3), "n_items") == 3
    assert check_whole(-2, "shift") == -2


@pytest.mark.parametrize("value", [2.5, 2.0, "2", None])
def test_what_is_no_whole_number_is_named(value):
    with pytest.raises(InputError, match=f"n_items is {value!r}, needed a whole number"):
        check_whole(value, "n_items")


def test_too_small_a_count_is_named():
    with pytest.raises(InputError, match="n_items is 0, needed at least 1"):
        check_count(0, "n_items")
    with pytest.raises(InputError, match="n_items is 2, needed at least 3"):
        check_count(2, "n_items", minimum=3)


@pytest.mark.parametrize("kind", [bool, np.int8, np.float16, np.float32, np.float64, np.longdouble, object])
def test_numbers_of_any_kind_become_doubles(kind):
    array = real_array(np.array([[1, 0], [0, 1]], dtype=kind), "points")
    assert array.dtype == np.float64
    np.testing.assert_array_equal(array, np.eye(2))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1.0, 2.0], [3.0]], "points has rows of different lengths"),
        ([[1j, 2.0]], "points is complex, needed real numbers"),
        ([["a", "b"]], "points has dtype <U1, needed numbers"),
        ([{}], "points has dtype object, needed numbers"),
        ([10**400], "points has dtype object, needed numbers"),
    ],
)
def test_what_is_no_array_of_numbers_is_named(values, message):
    with pytest.raises(InputError, match=message):
        check_points(values)


def test_no_new_items_at_all_are_in_order():
    assert check_similarity_to(np.empty((0, 3)), 3).shape == (0, 3)


def test_checks_tell_which_parameter_they_are_about():
    with pytest.raises(InputError) as caught:
        check_count(0, "n_items")
    assert caught.value.parameters == ("n_items",)
