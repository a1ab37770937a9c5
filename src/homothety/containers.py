"""Series in the containers of other libraries, which are recognised by what they can do and never imported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.errors import InputError
from homothety.times import find_times

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from homothety.arrays import FloatArray

TIME = "time"


def unpack_series(X: Any) -> tuple[list[str] | None, Any]:
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
    if is_labelled_array(X) and len(X.dims) == 3:
        return _unpack_labelled(X)
    return None, X


def is_labelled_array(X: Any) -> bool:
    """Tell an xarray, whose dimensions have names, from other arrays."""
    return all(hasattr(X, name) for name in ("dims", "coords", "transpose")) and not hasattr(X, "data_vars")


def time_first(array: Any) -> Any:
    """Return an xarray with the dimension called "time" in front, if it has one; anything else as it is."""
    if is_labelled_array(array) and TIME in array.dims:
        return array.transpose(TIME, ...)
    return array


def channel_names(one: Any) -> tuple[str, ...] | None:
    """Return the names of the channels of one series: those of columns, or the coordinates of an xarray; else None.

    Names of several levels are joined: ("hand", "x") is "hand.x". Numbers of columns are no names.
    """
    if is_labelled_array(one):
        dims = time_first(one).dims
        names = one[dims[1]].values.tolist() if len(dims) == 2 and dims[1] in one.coords else []
    else:
        names = list(getattr(one, "columns", ()))
    joined = [".".join(str(part) for part in name if part != "") if isinstance(name, tuple) else name for name in names]
    return tuple(joined) if joined and all(isinstance(name, str) for name in joined) else None


def take_times(
    series: list[Any], cut: Callable[[NDArray[Any]], list[NDArray[Any]]]
) -> tuple[list[Any], list[FloatArray | None] | None]:
    """Return series without their columns of times, and the times of each in seconds; None unless all have such.

    Data frames follow the rules for tables in files, see `find_times`; other series have no columns of times. What a
    column holds is cut by `cut` into recordings.
    """
    names = [() if is_labelled_array(one) else channel_names(one) or () for one in series]
    # Data frames of the same columns are looked at together: a column that increases in some of them only is measured.
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
    if TIME not in array.dims:
        raise InputError(
            f"X is an array with dimensions {', '.join(map(str, array.dims))}, needed one called {TIME!r}, that of the "
            "steps. Rename it with X.rename."
        )
    dim = next(name for name in array.dims if name != TIME)
    names = array[dim].values.tolist() if dim in array.coords else range(array.sizes[dim])
    return [f"{dim} {name}" for name in names], [array.isel({dim: i}) for i in range(array.sizes[dim])]
