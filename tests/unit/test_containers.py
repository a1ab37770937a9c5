"""Series as other libraries hold them are the same series."""

from __future__ import annotations

import numpy as np
import pytest

from homothety import HMMSelection
from homothety.datasets import SequenceSet, make_toy_2d, sequences_from_frame
from homothety.errors import InputError
from homothety.sequences import check_sequences

pandas = pytest.importorskip("pandas")
xarray = pytest.importorskip("xarray")


@pytest.fixture
def series(rng):
    return [rng.normal(size=(n_steps, 2)) for n_steps in (4, 3, 5)]


@pytest.fixture
def frame(series):
    """One row per step, the steps of all series in turn; an episode is called by a letter."""
    rows = [
        (step, name, *row, name == "a") for name, one in zip("bac", series, strict=True) for step, row in enumerate(one)
    ]
    table = pandas.DataFrame(rows, columns=["time", "episode", "x", "y", "label"])
    return table.sort_values("time", kind="stable", ignore_index=True)


def assert_series(found, names, series):
    assert tuple(found.names) == tuple(names)
    for one, expected in zip(found, series, strict=True):
        np.testing.assert_array_equal(one, expected)


def test_data_frames_with_a_group_column(frame, series):
    made = sequences_from_frame(frame, group="episode")
    assert_series(check_sequences(made), "bac", series)
    assert (made.channels, made.actions[1].tolist()) == (("x", "y"), [True] * 3)
    by_name = sequences_from_frame(frame, group="episode", columns=["y"], labels="x")
    np.testing.assert_array_equal(by_name.sequences[2], series[2][:, [1]])
    np.testing.assert_array_equal(by_name.actions[2], series[2][:, 0])
    assert_series(check_sequences(frame.groupby("episode", sort=False)[["x", "y"]]), "bac", series)
    plain = frame.drop(columns=["time", "label"])
    assert_series(check_sequences(plain.groupby("episode", sort=False)), "bac", series)
    indexed = plain.assign(step=frame["time"]).set_index(["episode", "step"])
    assert_series(check_sequences(indexed), "bac", series)


def test_data_frames_that_cannot_be_used(frame):
    with pytest.raises(InputError, match="data frame has no column 'demo'; it has columns time, episode, x"):
        sequences_from_frame(frame, group="demo")
    with pytest.raises(InputError, match="The data frame, column 'episode' holds values of type"):
        sequences_from_frame(frame)
    with pytest.raises(InputError, match="has no rows"):
        sequences_from_frame(frame.iloc[:0])
    with pytest.raises(InputError, match="frame is list, needed a data frame"):
        sequences_from_frame([1, 2])


def test_time_of_an_xarray_may_stand_anywhere(series):
    array = xarray.DataArray(series[0].T, dims=("channel", "time"))
    for given in (array, [array], array.T):
        np.testing.assert_array_equal(check_sequences(given)[0], series[0])
    plain = xarray.DataArray(series[0], dims=("step", "channel"))
    np.testing.assert_array_equal(check_sequences(plain)[0], series[0])


def test_trials_of_an_xarray_are_series(rng):
    data = rng.normal(size=(3, 2, 6))
    array = xarray.DataArray(data, dims=("trial", "channel", "time"), coords={"trial": ["a", "b", "c"]})
    assert_series(check_sequences(array), ["trial a", "trial b", "trial c"], data.swapaxes(1, 2))
    with pytest.raises(InputError, match="dimensions trial, channel, step, needed one called 'time'"):
        check_sequences(array.rename(time="step"))


def test_estimators_take_sets_of_series():
    toy = make_toy_2d(0, n_steps=30)
    model = HMMSelection(max_states=2, random_state=0).fit(toy)
    assert model.names_ == toy.names
    assert isinstance(toy, SequenceSet)


def test_names_of_channels_come_along(frame, series):
    frames = [pandas.DataFrame(one, columns=["x", "y"]) for one in series]
    grouped = frame.drop(columns=["time", "label"]).groupby("episode", sort=False)
    array = xarray.DataArray(series[0].T, dims=("channel", "time"), coords={"channel": ["x", "y"]})
    trials = xarray.DataArray(
        np.stack([series[0]] * 2), dims=("trial", "time", "channel"), coords={"channel": ["x", "y"], "time": range(4)}
    )
    given = [frames, iter(frames), frames[0], dict(zip("abc", frames, strict=True)), grouped, array, [array], trials]
    given.append(SequenceSet(series, channels=("x", "y")))
    for X in given:
        checked = check_sequences(X)
        assert checked.channels == ("x", "y")
        assert check_sequences(checked).channels == ("x", "y")
    by_level = pandas.DataFrame(series[0], columns=pandas.MultiIndex.from_tuples([("hand", "x"), ("hand", "y")]))
    assert check_sequences(by_level).channels == ("hand.x", "hand.y")
    assert check_sequences(frames[0], channels=["a", "b"]).channels == ("a", "b")


def test_names_of_channels_of_polars():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"x": [0.0, 1.0], "y": [1.0, 0.0]})
    assert check_sequences([frame]).channels == ("x", "y")
    timed = check_sequences([frame.with_columns(time=polars.Series([0.0, 0.1]))])
    assert (timed.channels, timed.rate) == (("x", "y"), 10)


def test_series_without_names_of_channels(series):
    plain = xarray.DataArray(series[0], dims=("time", "channel"))
    numbered = plain.assign_coords(channel=[0, 1])
    differing = [pandas.DataFrame(series[0], columns=["x", "y"]), pandas.DataFrame(series[1], columns=["y", "x"])]
    sets = [SequenceSet(series), SequenceSet(series, channels=("x",))]
    for X in (series, series[0], pandas.DataFrame(series[0]), plain, numbered, differing, *sets):
        assert check_sequences(X).channels is None
    with pytest.raises(InputError, match="channels has 1 names for 2 dimensions"):
        check_sequences(series, channels=["x"])
