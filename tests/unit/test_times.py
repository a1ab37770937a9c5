"""Times of recordings: columns of times by their names, rates, uneven times, durations in steps."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from homothety import ActionHMM
from homothety.datasets import SequenceSet, make_demonstrations, read_sequences, sequences_from_frame
from homothety.datasets.sets import join_sets
from homothety.errors import InputError, UnevenTimesWarning
from homothety.models.hmm import smoothed_probs
from homothety.sequences import check_sequences
from homothety.times import _unit_of, as_seconds, at_even_times, is_duration, rate_of, steps_of

SECOND = 1_700_000_000


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("time", 0.0),
        ("Timestamp", 0.0),
        ("ts", 0.0),
        ("t", 0.0),
        ("time_s", 1.0),
        ("Time [ms]", 1e-3),
        ("timestamp_ns", 1e-9),
        ("elapsed_time", 0.0),
        ("sec", 1.0),
        ("seconds", 1.0),
        ("s", None),
        ("tx", None),
        ("torque", None),
        ("x", None),
        ("time_to_contact", None),
    ],
)
def test_columns_of_times_are_known_by_their_names(name, unit):
    assert _unit_of(name) == unit


@pytest.mark.parametrize(
    ("values", "unit"),
    [
        (np.array([0.0, 0.1, 0.2]), 0.0),
        (np.array([5, 105, 205]), 1e-3),
        (np.array([0, 1, 2]) * 100_000_000 + SECOND * 10**9, 0.0),  # as ROS stamps are
        (np.array([0, 1, 2]) * 100 + SECOND * 1000, 0.0),
        (np.array([0.0, 0.1, 0.2]) + SECOND, 0.0),
        (np.array(["2024-05-01 10:00:00.0", "2024-05-01 10:00:00.1", "2024-05-01 10:00:00.2"]), 0.0),
        (np.array(["2024-05-01T10:00:00.0Z", "2024-05-01T10:00:00.1Z", "2024-05-01T10:00:00.2Z"]), 0.0),
        (np.array([7000, 7100, 7200], dtype="timedelta64[ms]"), 0.0),
    ],
)
def test_times_are_in_seconds_from_the_first(values, unit):
    np.testing.assert_allclose(as_seconds(values, unit), [0.0, 0.1, 0.2], atol=1e-6)


def test_what_is_no_time_is_told():
    assert as_seconds(np.array(["noon", "later"]), 0.0) is None


def test_the_rate_of_even_times(rng):
    even = [np.arange(n) / 50 for n in (100, 30, 1)]
    assert rate_of(even, "abc") == 50
    jittered = [one + 0.002 * rng.uniform(-1, 1, size=len(one)) for one in even]
    assert rate_of(jittered, "abc") == pytest.approx(50, rel=0.02)


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (
            [[0.0, 0.1, 0.2, 0.9, 1.0]],
            "The times of a are uneven: 0.7 s from step 2 to the next, where 0.1 s are usual",
        ),
        ([[0.0, 0.1, 0.1, 0.2]], "The times of a do not increase"),
        ([None], "The times of a do not increase from step to step, or are no times"),
        ([[0.0, 0.1, 0.2], [0.0, 0.2, 0.4]], "Recordings have 5 to 10 steps per second"),
    ],
)
def test_uneven_times_are_warned_of(times, message):
    with pytest.warns(UnevenTimesWarning, match=message):
        assert rate_of([None if one is None else np.array(one) for one in times], "ab"[: len(times)]) is None


def test_durations_in_steps():
    assert is_duration("0.5s")
    assert not any(map(is_duration, ("auto", "5", 5, "s", "-1s")))
    assert steps_of("0.001s", 50, "least_stay") == 1
    assert steps_of("auto", None, "least_stay") == "auto"
    with pytest.raises(
        InputError, match="least_stay is '2s', but the steps per second of the recordings are not known"
    ):
        steps_of("2s", None, "least_stay")


# --- readers ---------------------------------------------------------------------------------------------------------


def write_csv(path, times, name="time", n_steps=40):
    rows = [f"{time},{i % 7},{i % 5}" for i, time in enumerate(times[:n_steps])]
    path.write_text("\n".join([f"{name},x,y", *rows]) + "\n")
    return path


@pytest.mark.parametrize("name", ["time", "t", "Time (s)", "seconds"])
def test_a_column_of_times_tells_the_rate_and_is_no_channel(name, tmp_path):
    files = [write_csv(tmp_path / f"{i}.csv", np.arange(40) / 25 + i, name) for i in range(2)]
    found = read_sequences(files)
    assert found.channels == ("x", "y")
    assert found.rate == 25
    assert check_sequences(found).rate == 25
    assert check_sequences(check_sequences(found)).rate == 25
    assert read_sequences(files, columns=["y"]).rate == 25


STAMP = np.arange(40) * 40_000_000 + 1_500_000_000  # nanoseconds, in simulated time
WHOLE, REST = np.divmod(STAMP, 10**9)
ARRIVAL = STAMP + np.resize([0, 30_000_000], 40)  # uneven
ROS_TABLES = {
    "bagpy": {"Time": ARRIVAL / 1e9, "header.seq": WHOLE, "header.stamp.secs": WHOLE, "header.stamp.nsecs": REST},
    "bagpy, frame": {"header.stamp.secs": WHOLE, "header.stamp.nsecs": REST, "header.frame_id": ["base"] * 40},
    "dots": {".header.stamp.secs": WHOLE, ".header.stamp.nsecs": REST},
    "ROS 2": {"header.stamp.sec": WHOLE, "header.stamp.nanosec": REST},
    "PlotJuggler": {"__time": STAMP / 1e9, "/arm/header/stamp/sec": WHOLE, "/arm/header/stamp/nanosec": REST},
    "rostopic": {"%time": ARRIVAL, "field.header.seq": WHOLE, "field.header.stamp": STAMP},
    "rostopic, no header": {"%time": STAMP, "field.z": REST % 7 + REST / 1e9},
    "rosbag to csv": {"rosbagTimestamp": STAMP, "secs": WHOLE * 0, "nsecs": REST * 0},
    "no stamp": {"__time": STAMP / 1e9, "header.stamp.sec": WHOLE * 0, "header.stamp.nanosec": REST * 0},
}


@pytest.mark.parametrize("written", ROS_TABLES)
def test_stamps_of_ros_tell_the_rate_and_are_no_channels(written, tmp_path):
    pandas = pytest.importorskip("pandas")
    measured = np.random.default_rng(0).normal(size=(40, 2))
    frame = pandas.DataFrame({**ROS_TABLES[written], "pose.x": measured[:, 0], "pose.y": measured[:, 1]})
    frame.to_csv(tmp_path / "a.csv", index=False)
    channels = tuple(name for name in frame.columns if name in ("field.z", "pose.x", "pose.y"))
    for found in (read_sequences(tmp_path / "a.csv"), check_sequences([frame, frame])):
        assert found.channels == channels
        assert found.rate == pytest.approx(25)


def test_stamps_that_stand_still_are_warned_of(tmp_path):
    rows = "\n".join(f"5,0,{i % 7},{i % 5}" for i in range(20))
    (tmp_path / "a.csv").write_text(f"header.stamp.secs,header.stamp.nsecs,x,y\n{rows}\n")
    with pytest.warns(UnevenTimesWarning, match="The times of a do not increase"):
        found = read_sequences(tmp_path / "a.csv")
    assert (found.rate, found.channels) == (None, ("x", "y"))
    assert read_sequences(tmp_path / "a.csv", columns=["header.stamp", "x"]).n_dims == 3


def test_a_column_that_is_asked_for_is_a_channel(tmp_path):
    file = write_csv(tmp_path / "a.csv", np.arange(40) / 25)
    found = read_sequences(file, columns=["time", "x"])
    assert found.channels == ("time", "x")
    assert found.rate is None


def test_a_column_that_may_be_something_else_has_to_increase(tmp_path):
    found = read_sequences(write_csv(tmp_path / "a.csv", np.sin(np.arange(40)), "t"))
    assert found.channels == ("t", "x", "y")
    assert found.rate is None


def test_uneven_files_are_warned_of_once(tmp_path):
    times = np.arange(40) / 25
    times[20:] += 3
    files = [write_csv(tmp_path / f"{i}.csv", times) for i in range(3)]
    with pytest.warns(UnevenTimesWarning, match=r"The times of 0 are uneven: .* The same holds for 2 more\.") as told:
        found = read_sequences(files)
    assert len(told) == 1
    assert found.rate is None
    assert found.channels == ("x", "y")


def test_times_start_anew_in_every_group():
    pandas = pytest.importorskip("pandas")
    parts = [pandas.DataFrame({"timestamp": np.arange(20) / 10, "x": np.arange(20.0), "demo": i}) for i in range(2)]
    found = sequences_from_frame(pandas.concat(parts), group="demo")
    assert found.rate == 10
    assert found.channels == ("x",)


def test_sets_are_joined_with_their_rate():
    one, other = SequenceSet([np.zeros((3, 2))], rate=10.0), SequenceSet([np.zeros((3, 2))])
    assert join_sets([one, one], "both").rate == 10
    assert join_sets([one, other], "both").rate is None


# --- data frames ------------------------------------------------------------------------------------------------------


def timed_frames(pandas, times, name="time"):
    """Return three data frames of 20 steps, times in the middle."""
    steps = np.random.default_rng(0).normal(size=(3, 20, 2))
    return [pandas.DataFrame({"x": one[:, 0], name: times, "y": one[:, 1]}) for one in steps]


@pytest.mark.parametrize("name", ["time", "Timestamp", "t", "t_s"])
def test_times_in_data_frames_are_taken_out_as_in_files(name):
    pandas = pytest.importorskip("pandas")
    frames = timed_frames(pandas, np.arange(20) / 50, name)
    joined = pandas.concat([one.assign(demo=i) for i, one in enumerate(frames)])
    indexed = joined.set_index(["demo", joined.index])
    mixed = [frames[0], *(one[["y", name, "x"]].rename(columns={"y": "z"}) for one in frames[1:])]
    for given in (frames, frames[0], dict(zip("abc", frames, strict=True)), joined.groupby("demo"), indexed, mixed):
        found = check_sequences(given)
        assert found.rate == 50
        assert found.n_dims == 2
        np.testing.assert_array_equal(found[0], frames[0][["x", "y"]])
        assert found.channels == (None if given is mixed else ("x", "y"))
    cut = check_sequences(pandas.concat(frames), lengths=[20, 20, 20])
    assert (cut.rate, cut.channels, cut.n_recordings) == (50, ("x", "y"), 3)
    with pytest.raises(InputError, match="lengths add up to 20 but X has 60 steps"):
        check_sequences(pandas.concat(frames), lengths=[10, 10])


@pytest.mark.parametrize("kind", ["dates", "dates of a zone", "text", "durations", "whole numbers", "nullable"])
def test_times_of_any_type_in_data_frames(kind):
    pandas = pytest.importorskip("pandas")
    dates = pandas.Series(pandas.date_range("2024-05-01", periods=20, freq="20ms"))
    times = {
        "dates": dates,
        "dates of a zone": dates.dt.tz_localize("Europe/Zurich"),
        "text": dates.dt.strftime("%Y-%m-%dT%H:%M:%S.%f"),
        "durations": dates - dates[0],
        "whole numbers": np.arange(20) * 20_000_000 + SECOND * 10**9,
        "nullable": pandas.array(np.arange(20) / 50, dtype="Float64"),
    }
    found = check_sequences(timed_frames(pandas, times[kind]))
    assert found.rate == pytest.approx(50)
    assert found.channels == ("x", "y")


def test_times_in_data_frames_that_give_no_rate():
    pandas = pytest.importorskip("pandas")
    uneven = np.arange(20) / 50
    uneven[10:] += 1
    with pytest.warns(UnevenTimesWarning, match="The times of series 0 are uneven: 1.02 s from step 9 to the next"):
        found = check_sequences(timed_frames(pandas, uneven))
    assert (found.rate, found.channels) == (None, ("x", "y"))
    with pytest.warns(UnevenTimesWarning, match="The times of b do not increase"):
        found = check_sequences({"b": pandas.concat(timed_frames(pandas, uneven))})
    assert (found.rate, found.channels) == (None, ("x", "y"))
    frames = timed_frames(pandas, np.arange(20) / 50, "t")
    frames[2]["t"] = np.sin(np.arange(20))
    assert check_sequences(frames).channels == ("x", "t", "y")  # something else, since it goes up and down
    some = [frames[0], frames[1][["x", "y"]].to_numpy()]
    assert check_sequences(some).rate is None


# --- models ----------------------------------------------------------------------------------------------------------


def test_least_stays_and_segments_in_seconds():
    made = make_demonstrations(3, n_frames=2, n_per_frame=1)
    timed = SequenceSet([one[:300] for one in made.sequences], rate=50.0)
    quick = {"n_chains": 1, "n_sweeps": 4, "subsample": 5, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ActionHMM(least_stay="0.4 s", **quick).fit(timed)
    assert model.rate_ == 50
    assert model.least_looks_ == 4  # 20 steps, of which every fifth is used
    for row in model.result_.tables()["segments"]:
        assert row["start_s"] == row["start"] / 50
        assert row["end_s"] == row["end"] / 50
    with pytest.raises(InputError, match=r"least_stay is .0\.4 s., but the steps per second"):
        ActionHMM(least_stay="0.4 s", **quick).fit(timed.sequences)
    plain = ActionHMM(**quick).fit(timed.sequences)
    assert plain.rate_ is None
    assert "start_s" not in plain.result_.tables()["segments"][0]
    pandas = pytest.importorskip("pandas")
    frames = [pandas.DataFrame(one, columns=[*"xyz"]).assign(time=np.arange(300) / 50) for one in timed.sequences]
    framed = ActionHMM(least_stay="0.4 s", **quick).fit(frames)
    assert framed.rate_ == 50
    assert framed.result_.tables()["segments"] == model.result_.tables()["segments"]


# --- even times ------------------------------------------------------------------------------------------------------


def test_a_recording_at_even_times_is_left_as_it_is():
    steps = np.random.default_rng(0).normal(size=(30, 2))
    times = 7.0 + np.arange(30) / 50
    np.testing.assert_array_equal(at_even_times(times, steps), steps)
    np.testing.assert_array_equal(at_even_times(times + 1e-5 * np.sin(times), steps, rate=50), steps)


def test_a_hole_takes_its_time_and_has_no_values():
    times = np.delete(np.arange(100), np.s_[40:60]) / 50
    even = at_even_times(times, np.column_stack([times, -times]))
    assert even.shape == (100, 2)
    assert np.isnan(even[40:60]).all()
    np.testing.assert_allclose(np.delete(even[:, 0], np.s_[40:60]), times, atol=1e-12)


def test_values_between_uneven_times_are_on_straight_lines():
    times = np.sort(np.random.default_rng(1).uniform(0, 2, 150))
    even = at_even_times(times, np.column_stack([3 * times, 1 - times]), rate=40, longest=1.0)
    expected = times[0] + np.arange(len(even)) / 40
    # Measurements next to an even time are taken as they are.
    np.testing.assert_allclose(even, np.column_stack([3 * expected, 1 - expected]), atol=0.01 * 3 / 40)


def test_missing_values_stay_missing():
    even = at_even_times([0.0, 0.1, 0.2, 0.3], [[0.0], [np.nan], [2.0], [3.0]], rate=20)
    assert np.isnan(even[:, 0]).tolist() == [False, True, True, True, False, False, False]


@pytest.mark.parametrize(
    ("times", "steps"), [([0.0, 0.0], [[1.0], [2.0]]), ([0.0], [[1.0]]), ([0.0, 1.0], [1.0, 2.0]), ([0, 1], [[1]] * 3)]
)
def test_times_that_do_not_fit_their_steps_are_refused(times, steps):
    with pytest.raises(InputError, match=r"needed .* times that increase, two or more"):
        at_even_times(times, steps)


def test_a_long_hole_does_not_hold_together_what_is_on_its_sides():
    # Two states, far apart. Neighbouring steps are nearly always in one state; over a long hole they need not be.
    evidence = np.zeros((102, 2))
    evidence[0], evidence[-1] = [0.0, -20.0], [-1.0, 0.0]
    transition = np.array([[0.99, 0.01], [0.01, 0.99]])
    glued = smoothed_probs(evidence[[0, -1]], [0.5, 0.5], transition)[-1]
    apart = smoothed_probs(evidence, [0.5, 0.5], transition)[-1]
    assert glued[1] < 0.05
    assert apart[1] > 0.5
