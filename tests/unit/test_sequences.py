"""Series are checked once, on entering, and kept in one read-only array."""

from __future__ import annotations

import numpy as np
import pytest

from homothety.errors import InputError
from homothety.sequences import Sequences, check_sequences, interpolated


@pytest.fixture
def series(rng):
    return [rng.normal(size=(n_steps, 3)) for n_steps in (4, 2, 7)]


def test_list_is_kept_one_after_the_other(series):
    sequences = check_sequences(series)
    assert (sequences.n_recordings, sequences.n_steps, sequences.n_dims, len(sequences)) == (3, 13, 3, 3)
    np.testing.assert_array_equal(sequences.starts, [0, 4, 6, 13])
    np.testing.assert_array_equal(sequences.lengths, [4, 2, 7])
    np.testing.assert_array_equal(sequences.steps, np.concatenate(series))
    assert sequences.starts.dtype == np.int64
    assert sequences.names == ("series 0", "series 1", "series 2")
    for kept, given in zip(sequences, series, strict=True):
        np.testing.assert_array_equal(kept, given)


def test_arrays_are_read_only_contiguous_views(series):
    sequences = check_sequences([np.asfortranarray(one) for one in series])
    assert sequences.steps.flags.c_contiguous
    assert np.shares_memory(sequences[1], sequences.steps)
    for array in (sequences.steps, sequences.starts, sequences[0]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_what_was_given_stays_writable_and_apart(rng):
    given = rng.normal(size=(5, 2))
    sequences = check_sequences(given)
    given[0] = 99
    assert not (sequences.steps == 99).any()


def test_one_array_is_one_series(rng):
    assert check_sequences(rng.normal(size=(6, 2))).n_recordings == 1


def test_one_array_with_lengths_equals_the_list(series):
    together = check_sequences(np.concatenate(series), lengths=[4, 2, 7])
    np.testing.assert_array_equal(together.starts, check_sequences(series).starts)
    np.testing.assert_array_equal(together.steps, check_sequences(series).steps)


def test_mapping_gives_names(series):
    sequences = check_sequences({"left": series[0], "right": series[1]})
    assert sequences.names == ("left", "right")
    assert check_sequences(series, names=["a", "b", "c"]).names == ("a", "b", "c")


def test_objects_that_become_arrays_are_read(series):
    class Frame:
        def __array__(self, dtype=None, copy=None):
            return series[0]

    frame = Frame()
    np.testing.assert_array_equal(check_sequences(frame).steps, series[0])
    np.testing.assert_array_equal(check_sequences([frame, series[1]])[0], series[0])


def test_integers_and_mixed_columns_become_floats():
    assert check_sequences([[[1, 2], [3, 4]]]).steps.dtype == np.float64
    mixed = np.array([[0, 2.5], [True, 4]], dtype=object)
    np.testing.assert_array_equal(check_sequences(mixed).steps, [[0, 2.5], [1, 4]])


def test_checked_sequences_are_taken_again(series):
    sequences = check_sequences(series, names=["a", "b", "c"])
    again = check_sequences(sequences)
    assert again.names == sequences.names
    np.testing.assert_array_equal(again.steps, sequences.steps)


def test_generators_of_series_are_taken(series):
    assert check_sequences(one for one in series).n_recordings == 3


def test_negative_and_outside_indices(series):
    sequences = check_sequences(series)
    np.testing.assert_array_equal(sequences[-1], series[-1])
    with pytest.raises(IndexError):
        sequences[3]


def test_split_gives_views_of_any_type(series):
    sequences = check_sequences(series)
    flat = np.arange(13, dtype=np.int32)
    parts = sequences.split(flat)
    assert [len(part) for part in parts] == [4, 2, 7]
    assert all(np.shares_memory(part, flat) and part.dtype == np.int32 for part in parts)
    with pytest.raises(InputError, match="has 12 entries, needed 13"):
        sequences.split(flat[1:])


def test_constant_in_one_series_only_is_fine(series):
    series[0][:, 1] = 5.0
    assert isinstance(check_sequences(series), Sequences)


def test_levels_that_differ_between_series_are_fine():
    assert check_sequences([np.array([[0.0, 1], [1, 1]]), np.array([[0.0, 2], [1, 2]])]).n_recordings == 2


def test_constant_over_all_series_is_named(series):
    for one in series:
        one[:, 1] = 0.1
    series[0][:, 1] = np.nextafter(0.1, 1)  # rounding is no movement
    with pytest.raises(InputError, match=r"Channel 1 is 0\.1 at every step of all recordings.*leave it out"):
        check_sequences(series)


def test_constant_can_be_allowed():
    assert check_sequences(np.ones((4, 2)), allow_constant=True).n_steps == 4
    with pytest.raises(InputError, match="constant channels: 0, 1"):
        check_sequences(np.ones((4, 2)))


def test_min_steps(series):
    with pytest.raises(InputError, match="Recording 1 has 2 steps, needed at least 3"):
        check_sequences(series, min_steps=3)
    assert check_sequences([np.zeros((1, 1)), np.ones((1, 1))], min_steps=1).n_steps == 2


def bad_series(kind):
    good = np.arange(8.0).reshape(4, 2)
    holed = good.copy()
    holed[2, 1] = {"nan": np.nan, "inf": -np.inf}.get(kind, 0)
    return {
        "nan": [good, holed],
        "inf": [good, holed],
        "masked": [np.ma.masked_greater(good, 6)],
        "empty": [good, good[:0]],
        "none": [],
        "mixed": [good, np.ones((4, 3))],
        "flat": [good[:, 0]],
        "steps": good.tolist(),
        "vector": good[:, 0],
        "stacked": np.stack([good, good]),
        "no dims": [good[:, :0]],
        "complex": [good + 1j],
        "text": [np.array([["a", "b"], ["c", "d"]])],
        "objects": [np.array([["a", 1], ["c", 2]], dtype=object)],
        "ragged": [[[1, 2], [3]]],
        "string": "recording.csv",
        "number": 3.0,
    }[kind]


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("nan", r"Recording 1 holds nan at step 2, channel 1 \(1 such steps\)"),
        ("inf", r"Recording 1 holds -inf at step 2"),
        ("masked", r"Recording 0 holds nan at step 3, channel 1"),
        ("empty", r"Recording 1 has 0 steps, needed at least 2"),
        ("none", r"X holds no series"),
        ("mixed", r"Recording 1 has 3 dimensions but recording 0 has 2"),
        ("flat", r"Recording 0 has shape \(4,\).*series\[:, None\]"),
        ("steps", r"Recording 0 has shape \(2,\).*given as one array"),
        ("vector", r"X is an array of shape \(4,\).*X\[:, None\]"),
        ("stacked", r"X is an array of shape \(2, 4, 2\).*list\(X\)"),
        ("no dims", r"Recording 0 has shape \(4, 0\)"),
        ("complex", r"X\[0\] has entries of type complex128"),
        ("text", r"X\[0\] has entries of type <U1"),
        ("objects", r"X\[0\] holds something other than real numbers"),
        ("ragged", r"X\[0\] is ragged"),
        ("string", r"X is str, needed a list of arrays"),
        ("number", r"X is float, needed a list of arrays"),
    ],
)
def test_unusable_input_is_named(kind, message):
    with pytest.raises(InputError, match=message):
        check_sequences(bad_series(kind))


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ([2, 3], "add up to 5 but X has 4 steps"),
        ([2.0, 2.0], "needed one whole number of steps per series"),
        ([5, -1], "needed one whole number of steps per series"),
        ([[2, 2]], "needed one whole number of steps per series"),
        ([], "needed one whole number of steps per series"),
        ([3, 1], "Recording 1 has 1 steps"),
    ],
)
def test_bad_lengths(lengths, message):
    with pytest.raises(InputError, match=message):
        check_sequences(np.arange(8.0).reshape(4, 2), lengths=lengths)


def test_lengths_with_a_list_are_refused(series):
    with pytest.raises(InputError, match="Leave lengths out"):
        check_sequences(series, lengths=[4, 2, 7])


def test_names_must_match_and_differ(series):
    with pytest.raises(InputError, match="names has 2 entries for 3 series"):
        check_sequences(series, names=["a", "b"])
    with pytest.raises(InputError, match="'a' is given to two series"):
        check_sequences(series, names=["a", "b", "a"])


def test_errors_call_series_by_the_names_they_have():
    with pytest.raises(InputError, match=r"Recording 1 \(lift\) holds nan at step 0, channel 1"):
        check_sequences({"reach": np.eye(2), "lift": [[1.0, np.nan], [0.0, 1.0]]})


@pytest.mark.parametrize(
    ("factor", "said"), [(1e160, "Recording 1 holds .* too large"), (1e-170, "No recording varies")]
)
def test_values_whose_squares_cannot_be_computed_with_are_told(factor, said, rng):
    recordings = [np.zeros((20, 2)), factor * (1 + rng.random((20, 2)))]
    with pytest.raises(InputError, match=said):
        check_sequences(recordings)
    check_sequences([1e-30 * one for one in recordings] if factor > 1 else [1e30 * one for one in recordings])


# Missing values


def test_missing_values_pass_where_they_may():
    series = [np.array([[1.0, np.nan], [2.0, 3.0]]), np.array([[np.nan, 4.0], [5.0, np.nan]])]
    checked = check_sequences(series, allow_missing=True)
    np.testing.assert_array_equal(checked.missing, np.isnan(np.concatenate(series)))
    assert check_sequences([np.eye(3)], allow_missing=True).missing is None
    masked = np.ma.masked_array(np.eye(3), mask=np.eye(3, k=1) == 1)
    np.testing.assert_array_equal(check_sequences([masked], allow_missing=True).missing, np.eye(3, k=1) == 1)


@pytest.mark.parametrize(
    ("series", "message"),
    [
        (
            np.array([[1.0, np.inf], [np.nan, 2.0]]),
            "Recording 0 holds inf at step 0, .* what is missing to",
        ),
        (np.array([[1.0, np.nan], [2.0, np.nan]]), "Channel 1 is NaN at every step of all recordings"),
        (np.array([[1.0, 7.0], [2.0, np.nan]]), "Channel 1 is 7 at every step of all recordings"),
        (np.array([[1.0, np.nan], [2.0, 1e200]]), r"Recording 0 holds 1e\+200 at step 1, channel 1"),
    ],
)
def test_what_cannot_be_is_named_among_missing_values(series, message):
    with pytest.raises(InputError, match=message):
        check_sequences([series], allow_missing=True)


def test_gaps_are_filled_in_by_straight_lines():
    series = [np.array([[0.0, np.nan], [np.nan, np.nan], [4.0, np.nan]]), np.array([[np.nan, 1.0], [6.0, 5.0]])]
    filled = interpolated(check_sequences(series, allow_missing=True))
    np.testing.assert_array_equal(filled[0], [[0.0, 3.0], [2.0, 3.0], [4.0, 3.0]])
    np.testing.assert_array_equal(filled[1], [[6.0, 1.0], [6.0, 5.0]])
    whole = check_sequences([np.eye(3)])
    assert interpolated(whole) is whole
