"""Recordings of different lengths: checked once, and kept one after the other in one array."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from homothety.arrays import frozen, mean_of_known, range_of_known
from homothety.errors import InputError
from homothety.times import find_times, rate_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from homothety.arrays import BoolArray, FloatArray, IntArray

    _Scalar = TypeVar("_Scalar", bound=np.generic)


# A dimension whose values differ by less than this fraction of their size differs by rounding only.
ROUNDING = 8 * np.finfo(np.float64).eps
_LARGEST = 1e150  # of a value: its square must not overflow


@dataclass(frozen=True, eq=False)
class Sequences:
    """Series of one kind of measurement, of different lengths. Made by :func:`check_sequences`; arrays are read-only.

    Attributes
    ----------
    steps : ndarray of shape (n_steps, n_dims)
        The time steps of all series, one series after the other.
    starts : ndarray of shape (n_recordings + 1,)
        Series ``i`` is ``steps[starts[i]:starts[i + 1]]``.
    names : tuple of str
        One for each series.
    channels : tuple of str, or None
        One name for each dimension, where the input has names: column names of data frames, the channels of a
        `SequenceSet`, coordinates of an xarray. Names do not change the steps.
    rate : float, or None
        Steps per second, where the input tells it: the rate of a `SequenceSet`, or times in data frames.
    """

    steps: FloatArray
    starts: IntArray
    names: tuple[str, ...]
    # Left out of fingerprints: a run can be resumed whether or not its data come with names.
    channels: tuple[str, ...] | None = field(default=None, compare=False)
    rate: float | None = field(default=None, compare=False)

    @property
    def n_recordings(self) -> int:
        """Number of series."""
        return len(self.starts) - 1

    @property
    def n_steps(self) -> int:
        """Number of time steps of all series together."""
        return self.steps.shape[0]

    @property
    def n_dims(self) -> int:
        """Number of dimensions measured at each step."""
        return self.steps.shape[1]

    @property
    def called(self) -> tuple[str, ...]:
        """Names of the channels, or their numbers where they have none."""
        return self.channels or tuple(map(str, range(self.n_dims)))

    @property
    def lengths(self) -> IntArray:
        """Number of time steps of each series, shape (n_recordings,)."""
        return np.diff(self.starts)

    def __len__(self) -> int:
        return self.n_recordings

    def __getitem__(self, i: int) -> FloatArray:
        """Return series `i` as a view of shape (lengths[i], n_dims)."""
        i = range(self.n_recordings)[i]
        return self.steps[self.starts[i] : self.starts[i + 1]]

    def __iter__(self) -> Iterator[FloatArray]:
        return (self[i] for i in range(self.n_recordings))

    @cached_property
    def missing(self) -> BoolArray | None:
        """Which values are missing, NaN, (n_steps, n_dims); None if none is."""
        found = np.isnan(self.steps)
        return found if found.any() else None

    def split(self, flat: NDArray[_Scalar]) -> list[NDArray[_Scalar]]:
        """Cut an array with one entry per time step of all series into one view per series.

        Examples
        --------
        >>> sequences = check_sequences([[[0.0], [1.0]], [[2.0], [1.0], [0.0]]])
        >>> sequences.split(np.arange(5))
        [array([0, 1]), array([2, 3, 4])]
        """
        if len(flat) != self.n_steps:
            raise InputError(f"The array has {len(flat)} entries, needed {self.n_steps}: one per step of all series.")
        return [flat[start:end] for start, end in zip(self.starts[:-1], self.starts[1:], strict=True)]

    def __repr__(self) -> str:
        return f"<Sequences: {self.n_recordings} series, {self.n_steps} steps of {self.n_dims} dimensions>"


def check_sequences(
    X: Any,
    *,
    lengths: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    channels: Sequence[str] | None = None,
    min_steps: int = 2,
    allow_constant: bool = False,
    allow_missing: bool = False,
) -> Sequences:
    """Return series as checked, contiguous `Sequences`, or raise saying which of them cannot be used and why.

    Parameters
    ----------
    X : list of array_like of shape (n_steps_i, n_dims), mapping from names to such, array_like or Sequences
        The series: whatever NumPy makes a 2-D array of, data frames included. A single 2-D array is one series, or
        several one after the other with `lengths`. Also a `SequenceSet`; a data frame grouped by a column
        (``frame.groupby("episode")``) or with an index whose first level tells series apart; and arrays of xarray,
        whose dimension ``time`` is that of steps, wherever it stands, and of three dimensions the first other one
        counts series. A column of times in data frames is no dimension, as in files: it tells the steps per second.
    lengths : array_like of shape (n_recordings,), optional
        Number of time steps of each series when `X` is a single array.
    names : sequence of str, optional
        One name per series, all different; by default the keys of a mapping, else "series 0", "series 1", ...
    channels : sequence of str, optional
        One name per dimension; by default those that the input has, if they are the same in all series.
    min_steps : int, default=2
        The least number of steps a series may have.
    allow_constant : bool, default=False
        Let dimensions pass that never change. Nothing can be learnt from them, but series to be labelled by a fitted
        model may stand still.
    allow_missing : bool, default=False
        Let NaN pass: a value that is missing. Each dimension must have a value in some series unless `allow_constant`.

    Returns
    -------
    sequences : Sequences

    Warns
    -----
    UnevenTimesWarning
        When the times in data frames are uneven or do not increase, or rates differ; `rate` is then None.

    Raises
    ------
    InputError
        When there is no series, one is too short, empty, not two-dimensional or not numeric, holds infinity, or NaN
        unless `allow_missing`, has another number of dimensions than the first, or when a dimension is constant over
        all series. A dimension that is constant in some of the series only is fine.

    Examples
    --------
    >>> sequences = check_sequences([np.eye(3), np.ones((2, 3))])
    >>> sequences
    <Sequences: 2 series, 5 steps of 3 dimensions>
    >>> sequences.lengths
    array([3, 2])
    >>> check_sequences(np.eye(4), lengths=[2, 2])
    <Sequences: 2 series, 4 steps of 4 dimensions>
    """
    rate = getattr(X, "rate", None) if isinstance(X, Sequences) or hasattr(X, "sequences") else None
    if isinstance(X, Sequences) and lengths is None:
        names, known, X = X.names if names is None else names, X.channels, list(X)
    else:
        known = getattr(X, "channels", ()) if hasattr(X, "sequences") else None
    found, X = _unpack_series(X)
    names = found if names is None else names
    series, columns, times = _numeric_series(X, lengths)
    checked_names = _check_names(names, len(series))
    # A number alone does not tell which of many files is meant.
    titles = [f"Recording {i}" + f" ({name})" * (names is not None) for i, name in enumerate(checked_names)]
    _check_shapes(series, titles, min_steps)
    starts = np.concatenate([[0], np.cumsum([len(one) for one in series])]).astype(np.int64)
    starts.setflags(write=False)
    steps = frozen(np.concatenate(series))
    checked_channels = _check_channels(channels, columns if known is None else known, steps.shape[1])
    recordings = Sequences(steps, starts, checked_names, checked_channels, rate)
    _check_finite(recordings, titles, allow_missing)
    _check_size(recordings, titles)
    if not allow_constant:
        check_measured(recordings)
        _check_varying(recordings)
    return recordings if times is None else replace(recordings, rate=rate_of(times, checked_names))


def interpolated(sequences: Sequences) -> Sequences:
    """Return series with missing values, NaN, filled in by straight lines in time; the same series if none is missing.

    At the ends of a series the nearest value is kept; a dimension that a series lacks has the mean over all series.

    Examples
    --------
    >>> gappy = check_sequences([[[np.nan], [0.0], [np.nan], [2.0]], [[1.0], [4.0]]], allow_missing=True)
    >>> interpolated(gappy)[0].ravel()
    array([0., 0., 1., 2.])
    """
    if sequences.missing is None:
        return sequences
    filled, means = sequences.steps.copy(), mean_of_known(sequences.steps)
    for first, stop in zip(sequences.starts[:-1], sequences.starts[1:], strict=True):
        times, part = np.arange(stop - first), filled[first:stop]
        for dim, column in enumerate(part.T):
            known = ~np.isnan(column)
            part[:, dim] = np.interp(times, times[known], column[known]) if known.any() else means[dim]
    return replace(sequences, steps=frozen(filled))


def stretches(recordings: Sequences, n_stretches: int, length: int) -> Sequences:
    """Return stretches of recordings, evenly spread over all their steps; those that end with a recording are shorter.

    Examples
    --------
    >>> recordings = check_sequences([np.arange(100.0)[:, None], np.arange(50.0)[:, None]])
    >>> [(int(one[0, 0]), int(one[-1, 0])) for one in stretches(recordings, 3, 20)]
    [(0, 19), (50, 69), (0, 19)]
    """
    parts = []
    for first in np.linspace(0, recordings.n_steps, n_stretches, endpoint=False).astype(int).tolist():
        end = int(recordings.starts[np.searchsorted(recordings.starts, first, side="right")])
        parts.append(recordings.steps[first : min(first + length, end)])
    return check_sequences(parts, allow_constant=True, min_steps=1, allow_missing=True)


def _numeric_series(
    X: Any, lengths: ArrayLike | None
) -> tuple[list[FloatArray], tuple[str, ...] | None, list[FloatArray | None] | None]:
    """Return the series as float arrays whose shapes are still to be checked, the names of channels, and the times."""
    if isinstance(X, np.ndarray) or hasattr(X, "__array__"):
        (whole,), times = _take_times([X], partial(_cut_rows, lengths=lengths))
        return _cut(_as_floats(whole, "X"), lengths), _channel_names(whole), times
    if isinstance(X, str | bytes) or not hasattr(X, "__iter__"):
        raise InputError(f"X is {type(X).__name__}, needed a list of arrays of shape (n_steps, n_dims).")
    if lengths is not None:
        raise InputError("lengths goes with a single array, but X is a list of series. Leave lengths out.")
    items, times = _take_times(list(X), partial(_cut_rows, lengths=None))
    if not items:
        raise InputError("X holds no series, needed at least one array of shape (n_steps, n_dims).")
    series = [_as_floats(one, f"X[{i}]") for i, one in enumerate(items)]
    channels = [_channel_names(one) for one in items]
    return series, channels[0] if len(set(channels)) == 1 else None, times


def _cut(array: FloatArray, lengths: ArrayLike | None) -> list[FloatArray]:
    """Cut one array of all time steps into series; without lengths it is one series."""
    if array.ndim != 2:
        raise InputError(
            f"X is an array of shape {array.shape}, needed (n_steps, n_dims) or a list of such. "
            "For one channel use X[:, None]; for series stacked along the first axis use list(X)."
        )
    return _cut_rows(array, lengths)


def _cut_rows(array: NDArray[_Scalar], lengths: ArrayLike | None) -> list[NDArray[_Scalar]]:
    """Cut an array along its first axis; without lengths it is left whole."""
    if lengths is None:
        return [array]
    counts = np.asarray(lengths)
    if counts.ndim != 1 or counts.size == 0 or counts.dtype.kind not in "iu" or (counts < 0).any():
        raise InputError(f"lengths is {lengths!r}, needed one whole number of steps per series.")
    if counts.sum() != len(array):
        raise InputError(f"lengths add up to {counts.sum()} but X has {len(array)} steps. They must agree.")
    return np.split(array, np.cumsum(counts)[:-1])


def _as_floats(one: Any, item: str) -> FloatArray:
    """Return anything numeric as a float array; masked entries become NaN, to be found as missing later."""
    one = _time_first(one)
    try:
        array = one if isinstance(one, np.ma.MaskedArray) else np.asarray(one)
    except ValueError as error:
        raise InputError(f"{item} is ragged: its rows differ in length. Needed shape (n_steps, n_dims).") from error
    if array.dtype.kind == "O":
        array = _from_objects(array, item)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{item} has entries of type {array.dtype}, needed real numbers. Drop or convert them.")
    array = array.astype(np.float64, copy=False)
    return array.filled(np.nan) if isinstance(array, np.ma.MaskedArray) else array


def _from_objects(array: NDArray[Any], item: str) -> NDArray[Any]:
    """Return an array of Python objects, as data frames of mixed columns give, as numbers, or raise."""
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{item} holds something other than real numbers ({error}). Drop or convert those columns."
        ) from error


def _check_names(names: Sequence[str] | None, n_recordings: int) -> tuple[str, ...]:
    """Return one distinct name per series, or raise."""
    if names is None:
        return tuple(f"series {i}" for i in range(n_recordings))
    if len(names) != n_recordings:
        raise InputError(f"names has {len(names)} entries for {n_recordings} series, needed one each.")
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"The name {name!r} is given to two series, needed all different.")
        seen.add(name)
    return tuple(names)


def _check_channels(given: Sequence[str] | None, known: Sequence[str] | None, n_dims: int) -> tuple[str, ...] | None:
    """Return the names of channels that were given, or raise; without such, those known, if there is one for each."""
    if given is not None and len(given) != n_dims:
        raise InputError(f"channels has {len(given)} names for {n_dims} dimensions, needed one each.")
    found = known if given is None else given
    names = () if found is None else tuple(map(str, found))
    return names if len(names) == n_dims else None


def _check_shapes(series: list[FloatArray], titles: list[str], min_steps: int) -> None:
    """Raise unless all series have two axes, enough steps and the same number of dimensions as the first."""
    for title, one in zip(titles, series, strict=True):
        if one.ndim != 2:
            raise InputError(
                f"{title} has shape {one.shape}, needed (n_steps, n_dims). For one channel use series[:, None]; "
                "a single recording is given as one array, not as a list of its steps."
            )
        if one.shape[1] == 0:
            raise InputError(f"{title} has shape {one.shape}: no dimensions, needed at least one.")
        if one.shape[1] != series[0].shape[1]:
            raise InputError(
                f"{title} has {one.shape[1]} dimensions but recording 0 has {series[0].shape[1]}. "
                "All must measure the same ones."
            )
        if len(one) < min_steps:
            raise InputError(f"{title} has {len(one)} steps, needed at least {min_steps}. Drop it.")


def _check_finite(recordings: Sequences, titles: list[str], allow_missing: bool) -> None:
    """Raise naming the first entry that is infinite, or NaN unless values may be missing."""
    for title, one in zip(titles, recordings, strict=True):
        bad = np.isinf(one) if allow_missing else ~np.isfinite(one)
        if bad.any():
            step, dim = np.argwhere(bad)[0]
            remedy = "Set what is missing to NaN" if allow_missing else "Interpolate short gaps"
            raise InputError(
                f"{title} holds {one[step, dim]} at step {step}, channel {recordings.called[dim]} "
                f"({int(bad.any(axis=1).sum())} such steps). {remedy}, or cut the recording there."
            )


def check_measured(recordings: Sequences) -> None:
    """Raise naming a channel that is missing at every step of all recordings."""
    absent = np.flatnonzero(np.isnan(recordings.steps).all(axis=0))
    if absent.size:
        raise InputError(
            f"Channel {recordings.called[absent[0]]} is NaN at every step of all recordings, needed values in at least "
            "one. Leave that channel out."
        )


def _check_size(recordings: Sequences, titles: list[str]) -> None:
    """Raise if squares of the values, or of how far they vary, cannot be computed with."""
    for title, one in zip(titles, recordings, strict=True):
        sizes = np.nan_to_num(np.abs(one))
        step, dim = np.unravel_index(sizes.argmax(), one.shape)
        if sizes[step, dim] > _LARGEST:
            raise InputError(
                f"{title} holds {one[step, dim]:.3g} at step {step}, channel {recordings.called[dim]}: too large to "
                f"be squared, needed at most {_LARGEST:g}. Give all recordings in a larger unit."
            )
    widest = max(float(range_of_known(one).max()) for one in recordings)
    if 0 < widest < 1 / _LARGEST:
        raise InputError(
            f"No recording varies by more than {widest:.3g}: too little to be squared, needed {1 / _LARGEST:g}. "
            "Give all recordings in a smaller unit."
        )


def _check_varying(recordings: Sequences) -> None:
    """Raise naming a channel that never changes: no covariance can be estimated along it."""
    lowest, highest = np.fmin.reduce(recordings.steps), np.fmax.reduce(recordings.steps)
    constant = highest - lowest <= ROUNDING * np.maximum(np.abs(lowest), np.abs(highest))
    if constant.any():
        called = [recordings.called[dim] for dim in np.flatnonzero(constant)]
        raise InputError(
            f"Channel {called[0]} is {lowest[constant][0]:g} at every step of all recordings (constant channels: "
            f"{', '.join(called)}). It tells nothing: leave it out, in files by naming the others with columns=.",
            "columns",
        )


# Recordings in containers of other libraries, which are recognised by their attributes and never imported


_TIME = "time"


def _unpack_series(X: Any) -> tuple[list[str] | None, Any]:
    """Return the names of series and a list of them; or no names and what was given, if it is no container known here.

    Parameters
    ----------
    X : object
        A mapping from names to series; what has `sequences` and `names`, as data sets have; a data frame grouped by a
        column, or with an index of several levels of which the first tells series apart; an xarray of two dimensions,
        or of three, of which one is called "time" and, of three, the first other one tells series apart.
    """
    if isinstance(X, Mapping):
        return [str(name) for name in X], list(X.values())
    if hasattr(X, "sequences") and hasattr(X, "names"):
        return list(X.names), list(X.sequences)
    if hasattr(X, "groupby") and getattr(getattr(X, "index", None), "nlevels", 1) > 1:
        X = X.groupby(level=0, sort=False)
    if hasattr(X, "groups") and hasattr(X, "obj"):
        return _unpack_groups(X)
    if _is_labelled_array(X) and len(X.dims) == 3:
        return _unpack_labelled(X)
    return None, X


def _is_labelled_array(X: Any) -> bool:
    """Return whether this is an xarray, whose dimensions have names."""
    return all(hasattr(X, name) for name in ("dims", "coords", "transpose")) and not hasattr(X, "data_vars")


def _time_first(array: Any) -> Any:
    """Return an xarray with the dimension called "time" in front, if it has one; anything else as it is."""
    if _is_labelled_array(array) and _TIME in array.dims:
        return array.transpose(_TIME, ...)
    return array


def _channel_names(one: Any) -> tuple[str, ...] | None:
    """Return the names of the channels of one series: those of columns, or the coordinates of an xarray; else None.

    Names of several levels are joined: ("hand", "x") is "hand.x". Numbers of columns are no names.
    """
    if _is_labelled_array(one):
        dims = _time_first(one).dims
        names = one[dims[1]].values.tolist() if len(dims) == 2 and dims[1] in one.coords else []
    else:
        names = list(getattr(one, "columns", ()))
    joined = [".".join(str(part) for part in name if part != "") if isinstance(name, tuple) else name for name in names]
    return tuple(joined) if joined and all(isinstance(name, str) for name in joined) else None


def _take_times(
    series: list[Any], cut: Callable[[NDArray[Any]], list[NDArray[Any]]]
) -> tuple[list[Any], list[FloatArray | None] | None]:
    """Return series without their columns of times, and the times of each in seconds; None unless all have such.

    Data frames follow the rules for tables in files, see `find_times`; other series have no columns of times. What a
    column holds is cut by `cut` into recordings.
    """
    names = [() if _is_labelled_array(one) else _channel_names(one) or () for one in series]
    # Data frames of the same columns are checked together: a column that increases only in some is a measurement.
    alike = [series] if len(set(names)) == 1 else [[one] for one in series]
    parts = [_split_times(frames, columns, cut) for frames, columns in zip(alike, names, strict=False)]
    times = [one for _, own in parts for one in own]
    return [one for kept, _ in parts for one in kept], times if all(own for _, own in parts) else None


def _split_times(
    frames: list[Any], names: tuple[str, ...], cut: Callable[[NDArray[Any]], list[NDArray[Any]]]
) -> tuple[list[Any], list[FloatArray | None]]:
    """Return data frames of the same columns without those of times, and the times."""
    found, times = find_times(names, lambda at: [one for frame in frames for one in cut(_column(frame, at))])
    measured = [at for at in range(len(names)) if at not in found]
    return [_columns(frame, measured) for frame in frames] if found else frames, times


def _columns(frame: Any, columns: int | list[int]) -> Any:
    """Return one or some columns of a data frame of pandas, or of another library that counts columns like NumPy."""
    return frame.iloc[:, columns] if hasattr(frame, "iloc") else frame[:, columns]


def _column(frame: Any, column: int) -> NDArray[Any]:
    """Return what a column of a data frame holds: numbers, dates or text."""
    values = np.asarray(_columns(frame, column))
    return np.array(values.tolist()) if values.dtype.kind == "O" else values


def _unpack_groups(groups: Any) -> tuple[list[str], list[Any]]:
    """Return names and frames of a grouped data frame; the columns it is grouped by are no measurements."""
    by = groups.keys if isinstance(groups.keys, list) else [groups.keys]
    named = [column for column in by if isinstance(column, str)]
    names, frames = [], []
    for key, frame in groups:
        parts = key if isinstance(key, tuple) else (key,)
        names.append(", ".join(map(str, parts)))
        frames.append(frame.drop(columns=named, errors="ignore"))
    return names, frames


def _unpack_labelled(array: Any) -> tuple[list[str], list[Any]]:
    """Return names and series of an xarray of three dimensions."""
    if _TIME not in array.dims:
        raise InputError(
            f"X is an array with dimensions {', '.join(map(str, array.dims))}, needed one called {_TIME!r}, that "
            "of the steps. Rename it with X.rename."
        )
    dim = next(name for name in array.dims if name != _TIME)
    names = array[dim].values.tolist() if dim in array.coords else range(array.sizes[dim])
    return [f"{dim} {name}" for name in names], [array.isel({dim: i}) for i in range(array.sizes[dim])]
