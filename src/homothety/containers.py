"""Series in the containers of other libraries, which are recognised by what they can do and never imported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from homothety.errors import InputError

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
