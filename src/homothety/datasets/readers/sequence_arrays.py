"""Series from files of arrays: NumPy's .npy and .npz, HDF5, MATLAB's .mat."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.datasets.readers.arrays import (
    check_there,
    listed,
    load_array,
    load_arrays,
    load_variables,
    plain_labels,
)
from homothety.datasets.readers.checks import (
    as_numbers,
    check_lengths,
    cut_by_lengths,
    natural_order,
    take_columns,
    whole_labels,
    whole_series,
)
from homothety.datasets.sets import SequenceSet
from homothety.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray

    from homothety.arrays import FloatArray, IntArray
    from homothety.datasets.readers.arrays import Arrays
    from homothety.datasets.readers.checks import Column, Columns

LABELS, STATES, LENGTHS, CHANNELS = "labels", "states", "lengths", "channels"
MAT_NEEDED = "a cell array of n_steps x n_dims matrices, or one such matrix"


def read_npy_series(path: Path, columns: Columns, lengths: ArrayLike | None) -> SequenceSet:
    """Read one array, cut up if lengths are given."""
    return _cut(as_numbers(load_array(path), str(path)), path, columns, lengths)


def read_archive_series(
    path: Path, columns: Columns, lengths: ArrayLike | None, variable: str | None, labels: Column | None
) -> SequenceSet:
    """Read an .npz or HDF5 file: one array per series, or one cut up by lengths, with labels, states and channels."""
    arrays = load_arrays(path)
    if labels is not None:
        check_there(labels, arrays, path)
    channels = tuple(map(str, np.ravel(arrays.get(CHANNELS, ()))))
    lengths = arrays.get(LENGTHS) if lengths is None else lengths
    if variable is not None and "*" in variable:
        return _one_per_array(_matching(arrays, variable, path), path, columns, channels)
    if variable is None and lengths is None:
        series = {name: array for name, array in arrays.items() if array.ndim == 2 and array.dtype.kind in "biuf"}
        if not series:
            raise InputError(f"{path} holds {listed(arrays)}; needed an array of shape (n_steps, n_dims) per series.")
        if len(series) > 1:
            return _one_per_array(series, path, columns, channels)
        variable = next(iter(series))
    variable = _choose_array(arrays, variable, lengths, path)
    if labels == variable:
        raise InputError(f"{path}, array {variable!r} holds the series, needed another one for labels=. Name that.")
    steps = as_numbers(arrays[variable], f"{path}, array {variable!r}")
    return _cut(steps, path, columns, lengths, channels, arrays.get(STATES), arrays.get(str(labels or LABELS)))


def read_mat_series(path: Path, columns: Columns, lengths: ArrayLike | None, variable: str | None) -> SequenceSet:
    """Read a cell array of series and of their labels, or a single array."""
    variables = load_variables(path)
    name = _choose_mat_variable(variables, variable, path)
    if variables[name].dtype != object:
        steps = _time_first([variables[name]], f"{path}, variable {name!r}")[0]
        labels = plain_labels(variables[LABELS]) if LABELS in variables and name != LABELS else None
        return _cut(steps, path, columns, lengths, labels=labels)
    if lengths is not None:
        raise InputError(f"lengths cut up a single array, but {path}, variable {name!r} is a cell array of series.")
    series = _time_first(list(variables[name].ravel()), f"{path}, variable {name!r}")
    actions = _mat_labels(variables, name, [len(one) for one in series])
    names = tuple(f"{path.stem} {i}" for i in range(len(series)))
    return whole_series(series, columns, (), path, names=names, actions=actions)


def _cut(
    steps: FloatArray,
    path: Path,
    columns: Columns,
    lengths: ArrayLike | None,
    channels: tuple[str, ...] = (),
    states: NDArray[Any] | None = None,
    labels: NDArray[Any] | None = None,
) -> SequenceSet:
    """Cut one array of all steps into series, together with the states and labels of its steps where they are known."""
    kept, channels = take_columns(steps, columns, channels, path)
    rows, names = cut_by_lengths(len(steps), lengths, path)
    return SequenceSet(
        [kept[one] for one in rows],
        _by_series(states, STATES, rows, path),
        _by_series(labels, LABELS, rows, path),
        names,
        channels,
        path.stem,
    )


def _by_series(values: NDArray[Any] | None, kind: str, rows: list[IntArray], path: Path) -> list[NDArray[Any]] | None:
    """Return states or labels of each series, or raise unless there is one per step."""
    if values is None:
        return None
    row, n_steps = whole_labels(values), sum(map(len, rows))
    if len(row) != n_steps:
        raise InputError(f"{path} has {len(row)} {kind} for {n_steps} steps, needed one each.")
    return [row[one] for one in rows]


def _matching(arrays: Arrays, pattern: str, path: Path) -> Arrays:
    """Return the arrays whose names are like a pattern with stars, or raise if there are none."""
    names = sorted((name for name in arrays if fnmatchcase(name, pattern)), key=natural_order)
    if not names:
        raise InputError(f"{path} has no array like {pattern!r}. It holds {listed(arrays)}.")
    return {name: arrays[name] for name in names}


def _one_per_array(series: Arrays, path: Path, columns: Columns, channels: tuple[str, ...]) -> SequenceSet:
    """Return each array of an archive as a series of its own."""
    checked = [as_numbers(array, f"{path}, array {name!r}") for name, array in series.items()]
    if len({steps.shape[1] for steps in checked}) > 1:
        raise InputError(
            f"{path} holds {listed(series)}: arrays of different numbers of dimensions are no series of one kind. "
            "Say which array to read with variable=. A name with a star, such as 'data/*/actions', reads several."
        )
    return whole_series(checked, columns, channels, path, names=tuple(series))


def _choose_array(arrays: Arrays, variable: str | None, lengths: ArrayLike | None, path: Path) -> str:
    """Return the name of the array asked for, or of the only one with as many rows as the lengths add up to."""
    if variable is not None:
        return check_there(variable, arrays, path)
    n_steps = check_lengths(() if lengths is None else lengths, path).sum()
    fitting = [name for name, array in arrays.items() if array.ndim == 2 and len(array) == n_steps]
    fitting = [name for name in fitting if name.lower() == "x"] or fitting
    if not fitting:
        raise InputError(
            f"{path}: lengths add up to {n_steps}, needed the number of steps of an array; it holds {listed(arrays)}. "
            "Correct lengths."
        )
    if len(fitting) > 1:
        raise InputError(
            f"{path} holds {listed(arrays)}; needed exactly one array of {n_steps} steps, as lengths add up to. "
            "Say which it is with variable=."
        )
    return fitting[0]


def _choose_mat_variable(variables: Arrays, variable: str | None, path: Path) -> str:
    """Return the name of the variable that was asked for, of the only cell array of matrices, or of the only matrix."""
    if variable is not None:
        return check_there(variable, variables, path, "variable")
    cells = {name: list(value.ravel()) for name, value in variables.items() if _is_cells(value)}
    matrices = [name for name, items in cells.items() if not all(_is_vector(item) for item in items)]
    arrays = [name for name, value in variables.items() if value.dtype.kind in "biuf" and value.size > 1]
    no_vectors = [name for name in arrays if not _is_vector(variables[name])]
    likeliest = matrices or list(cells) or no_vectors or arrays
    if len(likeliest) != 1:
        raise InputError(f"{path} holds {listed(variables)}; needed {MAT_NEEDED}. Say which it is with variable=.")
    return likeliest[0]


def _is_cells(value: NDArray[Any]) -> bool:
    """Tell whether a variable is a cell array of numeric matrices."""
    return (
        value.dtype == object
        and value.size > 0
        and all(
            isinstance(item, np.ndarray) and item.ndim == 2 and item.dtype.kind in "biuf" and item.size > 0
            for item in value.ravel()
        )
    )


def _is_vector(array: NDArray[Any]) -> bool:
    return min(array.shape) == 1


def _time_first(items: list[NDArray[Any]], item: str) -> list[FloatArray]:
    """Return matrices with time along the first axis: the one along which they differ, else the longer one."""
    matrices = [as_numbers(one, item) for one in items]
    n_rows, n_columns = ({matrix.shape[axis] for matrix in matrices} for axis in (0, 1))
    if len(n_rows) > 1 and len(n_columns) > 1:
        raise InputError(f"{item} has matrices that differ along both axes, needed the same dimensions in all.")
    is_time_last = len(n_columns) > 1 or (len(n_rows) == 1 and max(n_rows) < max(n_columns))
    return [np.ascontiguousarray(matrix.T) if is_time_last else matrix for matrix in matrices]


def _mat_labels(variables: Arrays, chosen: str, lengths: list[int]) -> list[NDArray[Any]] | None:
    """Return labels from the only other cell array that holds one whole number for every step."""
    candidates = [
        [whole_labels(item) for item in value.ravel()]
        for name, value in variables.items()
        if name != chosen and _is_cells(value) and [item.size for item in value.ravel()] == lengths
    ]
    whole = [labels for labels in candidates if all(one.dtype.kind in "iu" for one in labels)]
    return whole[0] if len(whole) == 1 else None
