"""Sampling rates from columns of times, and durations in steps."""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.errors import InputError, UnevenTimesWarning

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from numpy.typing import ArrayLike, NDArray

    from homothety.arrays import FloatArray

_UNITS = {"s": 1.0, "sec": 1.0, "secs": 1.0, "second": 1.0, "seconds": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_UNIT = "s|sec|secs|second|seconds|ms|us|ns"
_NAME = "timestamps?|time_stamp|times?|stamp|ts|t"
_COLUMN = re.compile(rf"(?:elapsed[ _]?)?(?:{_NAME})(?:[ _.]*[\[(]?({_UNIT})[\])]?)?|(secs?|seconds)")
# Columns that are no measurements whatever they hold. Tools for ROS write the last three.
_CERTAIN = ("time", "timestamp", "%time", "__time", "rosbagtimestamp")
# ROS: all of a header, its stamp in one column, or in two, such as "header.stamp.secs" and "header.stamp.nsecs".
_HEADER = re.compile(r"(?:.*[./])?header[./].+")
_STAMP = re.compile(r"(?:.*[./])?header[./]stamp")
_STAMP_PART = re.compile(r"(.*?)(n|nano)?sec(?:s|onds?)?")
# Without a unit in its name, a column of times since 1970 has that of its size: seconds were 1e9 in 2001.
_SINCE_1970 = ((1e17, 1e-9), (1e14, 1e-6), (1e11, 1e-3))
_EVEN = 0.5  # share of the usual time between steps by which a single one may differ
SLOWEST, FASTEST = 1e-6, 1e9  # steps per second; beyond, times in whole milliseconds overflow
_MOST_JITTER = 0.01  # share of a step by which a measurement may be off the even time that it is taken for
_SAME_RATE = 0.02  # share by which the rates of recordings may differ
_DURATION = re.compile(r"\s*([0-9]*\.?[0-9]+(?:e-?[0-9]+)?)\s*(ms|s)\s*", re.IGNORECASE)


def _unit_of(name: str) -> float | None:
    """Return the unit of a column of times in seconds by the name of the column, 0 if not told; None for other columns.

    Examples
    --------
    >>> _unit_of("time"), _unit_of("t_ms"), _unit_of("Time [s]"), _unit_of("seconds"), _unit_of("x")
    (0.0, 0.001, 1.0, 1.0, None)
    """
    match = _COLUMN.fullmatch(name.strip().lower())
    if match is None:
        return None
    unit = match[1] or match[2]
    return _UNITS[unit] if unit else 0.0


def as_seconds(values: NDArray[Any], unit: float) -> FloatArray | None:
    """Return times since the first of them in seconds; None if they are no times.

    Parameters
    ----------
    values : ndarray of shape (n_steps,)
        Numbers, dates, dates as text by ISO 8601, or durations of NumPy.
    unit : float
        Of numbers, in seconds; 0 if not known.
    """
    if not len(values):
        return np.zeros(0)
    if values.dtype.kind in "iuf":
        values = values.astype(np.int64) if values.dtype.kind == "u" else values
        if not unit:
            unit = next((one for least, one in _SINCE_1970 if values[0] > least), 1.0)
        return np.asarray((values - values[0]) * unit, dtype=np.float64)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of time zones, which do not change differences
            dates = values if values.dtype.kind == "m" else values.astype("datetime64[ns]")
    except (TypeError, ValueError):
        return None
    return np.asarray((dates - dates[0]) / np.timedelta64(1, "s"), dtype=np.float64)


def find_times(
    names: Sequence[str], values: Callable[[int], list[NDArray[Any]]], taken: Collection[int | None] = ()
) -> tuple[list[int], list[FloatArray | None]]:
    """Return the columns of times, which are no measurements, and the times of every recording in seconds.

    Parameters
    ----------
    names : sequence of str
        Of the columns.
    values : callable
        From the number of a column to what it holds, one array of shape (n_steps_i,) for each recording.
    taken : collection of int
        Columns that are something else.

    Returns
    -------
    columns : list of int
        Columns called "time", "timestamp" and the like, headers and stamps of ROS messages; and one that may be
        something else, such as "t", if it gives the times.
    times : list of ndarray of shape (n_steps_i,)
        By stamps of messages, if they increase in every recording; else by a column called "time" or the like; else by
        another one that increases. None for a recording whose times cannot be read; empty without columns of times.
    """
    lower = {at: name.strip().lower() for at, name in enumerate(names) if at not in taken}
    unknown = 1e-9 if _is_in_nanoseconds(lower.values()) else 0.0
    stamps = _ros_stamps(lower, unknown)
    certain = [{at: unknown} for at, name in lower.items() if name in _CERTAIN]
    known = {at for at, name in lower.items() if _HEADER.fullmatch(name)}.union(*stamps, *certain)
    others = [{at: unit} for at, name in lower.items() if at not in known and (unit := _unit_of(name)) is not None]
    # Messages are stamped more evenly than they arrive.
    for columns in [*stamps, *([] if certain else others)]:
        times = _summed_seconds(columns, values)
        if all(map(is_increasing, times)):
            return sorted(known.union(columns)), times
    best = next(iter([*certain, *stamps]), None)
    return sorted(known), [] if best is None else _summed_seconds(best, values)


def _is_in_nanoseconds(names: Collection[str]) -> bool:
    """Tell, by the names of columns, whether rostopic or a similar tool wrote a table: its times are nanoseconds."""
    return "rosbagtimestamp" in names or ("%time" in names and any(name.startswith("field.") for name in names))


def _ros_stamps(names: dict[int, str], unit: float) -> list[dict[int, float]]:
    """Return the columns of every stamp of ROS, and their units in seconds; `unit` is that of stamps in one column."""
    stamps: dict[str, dict[int, float]] = {}
    for at, name in names.items():
        part = _STAMP_PART.fullmatch(name)
        if part is not None:
            stamps.setdefault(part[1], {})[at] = 1e-9 if part[2] else 1.0
    pairs = [columns for columns in stamps.values() if sorted(columns.values()) == [1e-9, 1.0]]
    return [*pairs, *({at: unit} for at, name in names.items() if _STAMP.fullmatch(name))]


def _summed_seconds(columns: dict[int, float], values: Callable[[int], list[NDArray[Any]]]) -> list[FloatArray | None]:
    """Return the times of every recording by the sum of columns, whose units are given."""
    parts = [[as_seconds(one, unit) for one in values(at)] for at, unit in columns.items()]
    return [None if any(part is None for part in one) else np.sum(one, axis=0) for one in zip(*parts, strict=True)]


def is_increasing(times: FloatArray | None) -> bool:
    """Tell whether times are there and grow from step to step."""
    return times is not None and bool(np.isfinite(times).all() and (np.diff(times) > 0).all())


def rate_of(times: Sequence[FloatArray | None], names: Sequence[str]) -> float | None:
    """Return the steps per second of recordings; None, with a warning, unless steps are even and rates equal.

    Parameters
    ----------
    times : sequence of ndarray of shape (n_steps_i,)
        In seconds; None for a recording whose times cannot be read.
    names : sequence of str
        What the recordings are called.
    """
    rates = []
    for name, one in zip(names, times, strict=True):
        if one is None or not is_increasing(one):
            return _without_rate(f"The times of {name} do not increase from step to step, or are no times.")
        if len(one) < 2:
            continue
        between = np.diff(one)
        usual = float(np.median(between))
        if np.abs(between - usual).max() > _EVEN * usual:
            at = int(np.abs(between - usual).argmax())
            return _without_rate(
                f"The times of {name} are uneven: {between[at]:.3g} s from step {at} to the next, where {usual:.3g} s "
                "are usual. Put it on even steps by homothety.times.at_even_times, or cut it there."
            )
        rates.append((len(one) - 1) / float(one[-1] - one[0]))
    return common_rate(rates)


def at_even_times(
    times: ArrayLike, steps: ArrayLike, *, rate: float | None = None, longest: float | None = None
) -> FloatArray:
    """Return a recording at even times, with NaN where it has a hole.

    Parameters
    ----------
    times : array_like of shape (n_steps,)
        In seconds; they increase.
    steps : array_like of shape (n_steps, n_channels)
        NaN where a value is missing.
    rate : float, optional
        Steps per second of the result; that of the median time between steps if not given.
    longest : float, optional
        Longest time, in seconds, between two measurements to be joined by straight lines; twice the median time
        between steps if not given. Use the same `rate` and `longest` for all recordings.

    Returns
    -------
    even : ndarray of shape (n_even_steps, n_channels)
        From the first time on, ``1 / rate`` seconds from step to step.

    Notes
    -----
    In a hole a model of states goes on in time without measurements: a hole that is longer than the stays in a state
    does not hold together what is before and after it. Straight lines through a hole would be taken for a movement, and
    without its steps what is before and after would be neighbours.

    Examples
    --------
    >>> at_even_times([0.0, 0.1, 0.25, 0.3, 0.6], [[0.0], [1.0], [2.5], [3.0], [6.0]], rate=10).ravel().round(6)
    array([ 0.,  1.,  2.,  3., nan, nan,  6.])
    """
    at, values = np.asarray(times, dtype=np.float64), np.asarray(steps, dtype=np.float64)
    if values.ndim != 2 or at.shape != (len(values),) or len(at) < 2 or not is_increasing(at):
        raise InputError(
            f"times has shape {at.shape} and steps {values.shape}, needed (n_steps,) times that increase, two or more, "
            "and steps of shape (n_steps, n_channels)."
        )
    usual = float(np.median(np.diff(at)))
    between = 1 / rate if rate is not None and rate > 0 else usual
    longest = 2 * usual if longest is None else longest
    even = at[0] + between * np.arange(int((at[-1] - at[0]) / between + _MOST_JITTER) + 1)
    after = np.clip(np.searchsorted(at, even), 1, len(at) - 1)
    span = at[after] - at[after - 1]
    share = np.clip((even - at[after - 1]) / span, 0.0, 1.0)[:, None]
    mixed = (1 - share) * values[after - 1] + share * values[after]
    mixed[span > longest * (1 + _MOST_JITTER)] = np.nan
    off = _MOST_JITTER * between / span[:, None]
    return np.where(share <= off, values[after - 1], np.where(share >= 1 - off, values[after], mixed))


def common_rate(rates: Sequence[float | None]) -> float | None:
    """Return the rate of all recordings; None if there is none, and with a warning if rates differ."""
    known = [rate for rate in rates if rate is not None]
    if not known or len(known) < len(rates):
        return None
    if max(known) > (1 + _SAME_RATE) * min(known):
        return _without_rate(
            f"Recordings have {min(known):.4g} to {max(known):.4g} steps per second. Resample them at one rate."
        )
    rate = float(np.mean(known))
    if not SLOWEST <= rate <= FASTEST:
        return _without_rate(f"Recordings cannot have {rate:.3g} steps per second, as their files say.")
    return round(rate) if abs(rate - round(rate)) < 1e-6 * rate else rate


def _without_rate(reason: str) -> float | None:
    warnings.warn(f"{reason} Until then, results are in steps, not in seconds.", UnevenTimesWarning, stacklevel=4)
    return None


def is_duration(text: Any) -> bool:
    """Tell whether something is a time with its unit, such as "0.5s" or "200 ms"."""
    return isinstance(text, str) and _DURATION.fullmatch(text) is not None


def steps_of(duration: int | str, rate: float | None, called: str) -> int | str:
    """Return a duration in steps, at least 1; whole numbers and words such as "auto" as they are.

    Parameters
    ----------
    duration : int or str
        Such as "0.5s" or "200 ms".
    rate : float or None
        Steps per second.
    called : str
        What errors call it.

    Examples
    --------
    >>> steps_of("0.5s", 100.0, "least_stay"), steps_of("40 ms", 50.0, "least_stay"), steps_of(7, None, "least_stay")
    (50, 2, 7)
    """
    match = _DURATION.fullmatch(duration) if isinstance(duration, str) else None
    if match is None:
        return duration
    if rate is None:
        raise InputError(
            f"{called} is {duration!r}, but the steps per second of the recordings are not known. Give it in steps, or "
            "read recordings with a column of times."
        )
    return max(1, round(float(match[1]) * _UNITS[match[2].lower()] * rate))
