"""Arrays in NumPy's .npy and .npz, HDF5 and MATLAB's .mat of all versions: covariance matrices and recordings."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.lib.format import MAGIC_PREFIX
from scipy.io import loadmat

from homothety.archives import check_size, read_array, read_arrays
from homothety.datasets.readers.checks import (
    as_numbers,
    blame_file,
    check_labels,
    check_lengths,
    check_stack,
    cut_by_lengths,
    natural_order,
    require,
    take_columns,
    whole_labels,
    whole_series,
)
from homothety.datasets.sets import MatrixSet, SequenceSet
from homothety.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray

    from homothety.arrays import FloatArray, IntArray
    from homothety.datasets.readers.checks import Column, Columns

    _Arrays = dict[str, NDArray[Any]]


_ZIP_PREFIX = b"PK"
_MAX_LISTED = 20  # arrays named in an error
_MAX_AXES = 3  # arrays of more axes are images, neither recordings nor matrices: they are listed but not loaded
_NUMPY_REMEDY = (
    "Copy it again if it was cut short, or write plain arrays of numbers with np.save or np.savez; Python objects are "
    "never loaded, for safety."
)
_MATLAB_REMEDY = "Save it again in MATLAB with save(file, 'name', '-v7')."
_MATLAB_NEEDED = (
    "an N x N x M or M x N x N array, a cell array of N x N matrices, or a cell or struct array with one field of them"
)


# --- matrices ---------------------------------------------------------------------------------------------------------


def read_npy(path: Path) -> MatrixSet:
    """Read an array of shape (n_matrices, n_dims, n_dims)."""
    return MatrixSet(check_stack(load_array(path), str(path)), name=path.stem)


def read_archive(path: Path, variable: str | None) -> MatrixSet:
    """Read matrices and, if they are there, `labels`, `grid`, `positions` and `affine` from an .npz or HDF5 file."""
    arrays = _load_arrays(path)
    name = _choose_array(arrays, variable, path)
    matrices = check_stack(arrays[name], f"{path}, array {name!r}")
    labels = arrays.get("labels")
    labels = None if labels is None else check_labels(labels, len(matrices), str(path))
    grid, positions = _image_of(arrays, len(matrices), path)
    return MatrixSet(matrices, labels, path.stem, grid, positions, arrays.get("affine"))


def _choose_array(arrays: _Arrays, variable: str | None, path: Path) -> str:
    """Return the name of the array of matrices: the one asked for, `matrices`, or the only array with three axes."""
    if variable is not None:
        return _check_there(variable, arrays, path)
    three_dimensional = [name for name, array in arrays.items() if array.ndim == 3]
    if "matrices" not in arrays and len(three_dimensional) != 1:
        raise InputError(
            f"{path} holds {listed(arrays)}; needed an array called 'matrices' or exactly one of shape "
            "(n_matrices, n_dims, n_dims). Say which it is with variable=.",
            "variable",
        )
    return "matrices" if "matrices" in arrays else three_dimensional[0]


def _image_of(arrays: _Arrays, n_matrices: int, path: Path) -> tuple[tuple[int, ...] | None, IntArray | None]:
    """Return the shape of the image the matrices come from, if the archive says so, and the voxel of each.

    Without positions, matrices are those of all voxels in row-major order.
    """
    sizes = arrays.get("grid")
    if sizes is None or sizes.dtype.kind not in "iu" or sizes.shape not in ((2,), (3,)):
        return None, None  # there is none, or an array that happens to have this name
    grid = tuple(int(size) for size in sizes)
    if "positions" in arrays:
        return grid, arrays["positions"].astype(np.int64)
    if np.prod(grid) != n_matrices:
        raise InputError(
            f"{path} has {n_matrices} matrices on a grid of {' x '.join(map(str, grid))}, needed one per voxel. "
            "Store the voxel of each as an array 'positions' of shape (n_matrices, n_axes)."
        )
    return grid, np.stack(np.unravel_index(np.arange(n_matrices), grid), axis=1)


def read_mat(path: Path, variable: str | None) -> MatrixSet:
    """Read matrices from an array, a cell array or a struct array, and `labels` if there are any."""
    variables = load_variables(path)
    name, stack = _choose_variable(variables, variable, path)
    matrices = check_stack(stack, f"{path}, variable {name!r}")
    labels = None
    if "labels" in variables and name != "labels":
        labels = check_labels(_plain_labels(variables["labels"]), len(matrices), str(path))
    return MatrixSet(matrices, labels, path.stem)


def _choose_variable(variables: _Arrays, variable: str | None, path: Path) -> tuple[str, NDArray[Any]]:
    """Return name and content of the variable asked for, of `matrices`, or of the only variable that holds matrices."""
    if variable is None and "matrices" not in variables:
        stacks = {name: stack for name, value in variables.items() if (stack := _as_stack(value)) is not None}
        if len(stacks) != 1:
            raise InputError(
                f"{path} holds {listed(variables)}; needed exactly one variable that is {_MATLAB_NEEDED}. "
                "Say which it is with variable=.",
                "variable",
            )
        return next(iter(stacks.items()))
    name, _, field = (variable or "matrices").partition(".")
    stack = _as_stack(variables[_check_there(name, variables, path, "variable")], field)
    if stack is None:
        raise InputError(
            f"{path}, variable {variable or name!r} is no set of matrices of one size; needed {_MATLAB_NEEDED}. "
            "A field of structs is chosen with variable='name.field'.",
            "variable",
        )
    return variable or name, stack


def _as_stack(value: NDArray[Any], field: str = "") -> NDArray[Any] | None:
    """Return a variable as matrices of shape (n_matrices, n_dims, n_dims), or None if it holds no such thing."""
    if value.dtype.names is not None or value.dtype == object:
        found = [_matrix_of(item, field) for item in value.ravel()]
        matrices = [matrix for matrix in found if matrix is not None]
        is_stack = len(matrices) == len(found) and len({matrix.shape for matrix in matrices}) == 1
        return np.stack(matrices) if is_stack else None
    return _matrices_first(value) if value.ndim == 3 and not field else None


def _matrices_first(array: NDArray[Any]) -> NDArray[Any] | None:
    """Return a 3-D array with the axis that counts matrices in front, or None if no two other axes are equal."""
    n_first, n_middle, n_last = array.shape
    as_in_matlab = np.moveaxis(array, -1, 0)
    if n_first == n_middle == n_last:
        # As many matrices as dimensions: symmetry tells which axes span a matrix; MATLAB's habit if it does not.
        return array if _all_symmetric(array) and not _all_symmetric(as_in_matlab) else as_in_matlab
    if n_first == n_middle:
        return as_in_matlab
    return array if n_middle == n_last else None


def _all_symmetric(stack: NDArray[Any]) -> bool:
    return bool(np.allclose(stack, stack.swapaxes(1, 2)))


def _matrix_of(item: Any, field: str) -> NDArray[Any] | None:
    """Return the matrix in one element of a cell or struct array, or None if there is none or several."""
    if isinstance(item, np.ndarray) and item.dtype.names is not None and item.size == 1:
        item = item.ravel()[0]  # a struct inside a cell
    if not isinstance(item, np.void):
        return item if _is_matrix(item) and not field else None
    if field:
        return item[field] if field in (item.dtype.names or ()) and _is_matrix(item[field]) else None
    candidates = [item[name] for name in item.dtype.names or () if _is_matrix(item[name]) and item[name].size > 1]
    return candidates[0] if len(candidates) == 1 else None


def _is_matrix(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 2 and value.shape[0] == value.shape[1] and value.size > 0


# --- arrays of all kinds, by their names ------------------------------------------------------------------------------


def _load_arrays(path: Path) -> _Arrays:
    """Load every array of an .npz or HDF5 file by its name."""
    return load_archive(path) if path.suffix.lower() == ".npz" else _load_hdf5(path)


def load_array(path: Path) -> NDArray[Any]:
    """Load a single array."""
    with blame_file(path, _NUMPY_REMEDY), path.open("rb") as file:
        if _begins_with(file, _ZIP_PREFIX):
            raise InputError(f"{path} is an archive of several arrays, needed one array. Rename it to end in .npz.")
        return read_array(file, path.stat().st_size, str(path))


def load_archive(path: Path) -> _Arrays:
    """Load every array of an archive."""
    with blame_file(path, _NUMPY_REMEDY), path.open("rb") as file:
        if _begins_with(file, MAGIC_PREFIX):
            raise InputError(f"{path} is a single array, needed an archive. Rename it to end in .npy.")
        return read_arrays(file, str(path))


def _begins_with(file: BinaryIO, prefix: bytes) -> bool:
    """Say what an open file begins with, and go back to its beginning."""
    start = file.read(len(prefix))
    file.seek(0)
    return start == prefix


def load_variables(path: Path) -> _Arrays:
    """Load all variables of a file, without the three entries that describe the file itself."""
    with blame_file(path, _MATLAB_REMEDY):
        try:
            contents = loadmat(path, appendmat=False)
        except NotImplementedError:  # version 7.3, which is HDF5 inside
            return _load_mat73(path)
    return {name: value for name, value in contents.items() if not name.startswith("__")}


def _plain_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """Return labels as a row; a cell array of character rows becomes an array of strings."""
    if labels.dtype == object:
        return np.array([str(np.squeeze(item)) if np.size(item) else "" for item in labels.ravel()])
    return labels.ravel()


def listed(arrays: _Arrays) -> str:
    """Return the names and shapes of arrays in words, of many only the first."""
    named = [f"{name} {array.shape}" for name, array in arrays.items()]
    more = f" and {len(named) - _MAX_LISTED} more" * (len(named) > _MAX_LISTED)
    return ", ".join(named[:_MAX_LISTED]) + more or "nothing"


def _check_there(name: Column, arrays: _Arrays, path: Path, kind: str = "array") -> str:
    """Return the name of an array, or raise saying which there are."""
    if name not in arrays:
        raise InputError(f"{path} has no {kind} {name!r}. It holds {listed(arrays)}.")
    return str(name)


# --- HDF5, which is also inside of MATLAB's files since version 7.3 ---------------------------------------------------


def _load_hdf5(path: Path) -> _Arrays:
    """Load every array of a file by its path, such as "data/demo_0/actions"; links are not followed."""
    h5py = require("h5py", "hdf5", f"Reading {path}")
    arrays: _Arrays = {}

    def collect(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and item.shape is not None:
            arrays[name] = _values(item, h5py)

    with blame_file(path, "Check that it is a complete HDF5 file."), h5py.File(path, "r") as file:
        sizes: list[int] = []
        file.visititems(lambda _, item: sizes.append(_size_in_memory(item, h5py)))
        check_size(sum(sizes), path.stat().st_size, str(path))
        file.visititems(collect)
    return arrays


def _size_in_memory(item: Any, h5py: Any) -> int:
    """Return the bytes that a data set takes; images are not read."""
    is_read = isinstance(item, h5py.Dataset) and item.shape is not None and item.ndim <= _MAX_AXES
    return int(item.size) * int(item.dtype.itemsize) if is_read else 0


def _load_mat73(path: Path) -> _Arrays:
    """Load every variable of a .mat file of version 7.3 as older versions are loaded: cells as arrays of objects."""
    h5py = require("h5py", "hdf5", f"{path}, which is in MATLAB's version 7.3 format,")
    with h5py.File(path, "r") as file:
        names = [name for name in file if not name.startswith("#") and _is_here(file, name, h5py)]
        return {name: _from_matlab(file[name], h5py) for name in names}


def _values(item: Any, h5py: Any) -> NDArray[Any]:
    """Return a data set as an array: text as such, and of an image only the shape."""
    if item.ndim > _MAX_AXES:
        return np.broadcast_to(np.zeros((), dtype=np.float64), item.shape)
    _check_inside(item)
    if h5py.check_string_dtype(item.dtype) is not None:
        return np.array(item.asstr()[()])
    return np.asarray(item[()])


def _is_here(file: Any, name: str, h5py: Any) -> bool:
    """Tell whether a name stands for something in the file itself, not in another one."""
    return isinstance(file.get(name, getlink=True), h5py.HardLink)


def _check_inside(item: Any) -> None:
    """Raise if the numbers of a data set are in other files, which whoever sent this one may not be meant to see."""
    if item.external or item.is_virtual:
        raise InputError(
            f"{item.file.filename}, array {item.name!r} keeps its numbers in other files or data sets, needed the "
            "numbers themselves: links are not followed. Write the file again with them inside."
        )


def _from_matlab(item: Any, h5py: Any) -> NDArray[Any]:
    """Return a variable of MATLAB, whose axes HDF5 has in the opposite order."""
    if isinstance(item, h5py.Group):
        return _struct({name: item[name] for name in item if _is_here(item, name, h5py)}, h5py)
    _check_inside(item)
    if item.attrs.get("MATLAB_empty", 0):
        return np.empty(tuple(int(size) for size in item[()]))
    if h5py.check_ref_dtype(item.dtype) is not None:
        return _dereferenced(item, h5py)
    values = np.asarray(item[()]).T
    if item.attrs.get("MATLAB_class") == b"char":
        return np.array(["".join(map(chr, row)) for row in np.atleast_2d(values)])
    return values


def _dereferenced(item: Any, h5py: Any) -> NDArray[Any]:
    """Return a cell array as an array of objects."""
    references = np.asarray(item[()]).T
    cells = np.empty(references.shape, dtype=object)
    for place, reference in np.ndenumerate(references):
        cells[place] = _from_matlab(item.file[reference], h5py)
    return cells


def _struct(members: dict[str, Any], h5py: Any) -> NDArray[Any]:
    """Return a struct, or an array of structs, whose fields are each stored as an array of references."""
    fields = {name: _from_matlab(member, h5py) for name, member in members.items()}
    is_array = bool(members) and all(_is_field_of_many(member, h5py) for member in members.values())
    shape = next(iter(fields.values())).shape if is_array else (1, 1)
    structs = np.empty(shape, dtype=[(name, object) for name in fields])
    for name, values in fields.items():
        if is_array:
            structs[name] = values
        else:
            structs[name][0, 0] = values
    return structs


def _is_field_of_many(member: Any, h5py: Any) -> bool:
    """Tell a field of an array of structs from a cell array in one struct: only cells are called so."""
    is_reference = isinstance(member, h5py.Dataset) and h5py.check_ref_dtype(member.dtype) is not None
    return is_reference and "MATLAB_class" not in member.attrs


# --- recordings in arrays ---------------------------------------------------------------------------------------------


_LABELS, _STATES, _LENGTHS, _CHANNELS = "labels", "states", "lengths", "channels"
_MAT_NEEDED = "a cell array of n_steps x n_dims matrices, or one such matrix"


def read_npy_series(path: Path, columns: Columns, lengths: ArrayLike | None) -> SequenceSet:
    """Read one array, cut up if lengths are given."""
    return _cut(as_numbers(load_array(path), str(path)), path, columns, lengths)


def read_archive_series(
    path: Path, columns: Columns, lengths: ArrayLike | None, variable: str | None, labels: Column | None
) -> SequenceSet:
    """Read an .npz or HDF5 file: an array per recording, or one cut up by lengths, with labels, states and channels."""
    arrays = _load_arrays(path)
    if labels is not None:
        _check_there(labels, arrays, path)
    channels = tuple(map(str, np.ravel(arrays.get(_CHANNELS, ()))))
    lengths = arrays.get(_LENGTHS) if lengths is None else lengths
    if variable is not None and "*" in variable:
        return _one_per_array(_matching(arrays, variable, path), path, columns, channels)
    if variable is None and lengths is None:
        series = {name: array for name, array in arrays.items() if array.ndim == 2 and array.dtype.kind in "biuf"}
        if not series:
            raise InputError(f"{path} holds {listed(arrays)}; needed an array of shape (n_steps, n_dims) per series.")
        if len(series) > 1:
            return _one_per_array(series, path, columns, channels)
        variable = next(iter(series))
    variable = _choose_recordings(arrays, variable, lengths, path)
    if labels == variable:
        raise InputError(
            f"{path}, array {variable!r} holds the series, needed another one for labels=. Name that.", "labels"
        )
    steps = as_numbers(arrays[variable], f"{path}, array {variable!r}")
    return _cut(steps, path, columns, lengths, channels, arrays.get(_STATES), arrays.get(str(labels or _LABELS)))


def read_mat_series(path: Path, columns: Columns, lengths: ArrayLike | None, variable: str | None) -> SequenceSet:
    """Read a cell array of recordings and of their labels, or a single array."""
    variables = load_variables(path)
    name = _choose_mat_variable(variables, variable, path)
    if variables[name].dtype != object:
        steps = _time_first([variables[name]], f"{path}, variable {name!r}")[0]
        labels = _plain_labels(variables[_LABELS]) if _LABELS in variables and name != _LABELS else None
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
    """Cut one array of all steps into recordings, and with it the states and labels of its steps if they are known."""
    kept, channels = take_columns(steps, columns, channels, path)
    rows, names = cut_by_lengths(len(steps), lengths, path)
    return SequenceSet(
        [kept[one] for one in rows],
        _by_series(states, _STATES, rows, path),
        _by_series(labels, _LABELS, rows, path),
        names,
        channels,
        path.stem,
    )


def _by_series(values: NDArray[Any] | None, kind: str, rows: list[IntArray], path: Path) -> list[NDArray[Any]] | None:
    """Return states or labels of each recording, or raise unless there is one per step."""
    if values is None:
        return None
    row, n_steps = whole_labels(values), sum(map(len, rows))
    if len(row) != n_steps:
        raise InputError(f"{path} has {len(row)} {kind} for {n_steps} steps, needed one each.")
    return [row[one] for one in rows]


def _matching(arrays: _Arrays, pattern: str, path: Path) -> _Arrays:
    """Return the arrays whose names are like a pattern with stars, or raise if there are none."""
    names = sorted((name for name in arrays if fnmatchcase(name, pattern)), key=natural_order)
    if not names:
        raise InputError(f"{path} has no array like {pattern!r}. It holds {listed(arrays)}.")
    return {name: arrays[name] for name in names}


def _one_per_array(series: _Arrays, path: Path, columns: Columns, channels: tuple[str, ...]) -> SequenceSet:
    """Return each array of an archive as a recording of its own."""
    checked = [as_numbers(array, f"{path}, array {name!r}") for name, array in series.items()]
    if len({steps.shape[1] for steps in checked}) > 1:
        raise InputError(
            f"{path} holds {listed(series)}: arrays of different numbers of dimensions are no series of one kind. "
            "Say which array to read with variable=. A name with a star, such as 'data/*/actions', reads several.",
            "variable",
        )
    return whole_series(checked, columns, channels, path, names=tuple(series))


def _choose_recordings(arrays: _Arrays, variable: str | None, lengths: ArrayLike | None, path: Path) -> str:
    """Return the name of the array asked for, or of the only one with as many rows as the lengths add up to."""
    if variable is not None:
        return _check_there(variable, arrays, path)
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
            "Say which it is with variable=.",
            "variable",
        )
    return fitting[0]


def _choose_mat_variable(variables: _Arrays, variable: str | None, path: Path) -> str:
    """Return the name of the variable that was asked for, of the only cell array of matrices, or of the only matrix."""
    if variable is not None:
        return _check_there(variable, variables, path, "variable")
    cells = {name: list(value.ravel()) for name, value in variables.items() if _is_cells(value)}
    matrices = [name for name, items in cells.items() if not all(_is_vector(item) for item in items)]
    arrays = [name for name, value in variables.items() if value.dtype.kind in "biuf" and value.size > 1]
    no_vectors = [name for name in arrays if not _is_vector(variables[name])]
    likeliest = matrices or list(cells) or no_vectors or arrays
    if len(likeliest) != 1:
        raise InputError(
            f"{path} holds {listed(variables)}; needed {_MAT_NEEDED}. Say which it is with variable=.", "variable"
        )
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


def _mat_labels(variables: _Arrays, chosen: str, lengths: list[int]) -> list[NDArray[Any]] | None:
    """Return labels from the only other cell array that holds one whole number for every step."""
    candidates = [
        [whole_labels(item) for item in value.ravel()]
        for name, value in variables.items()
        if name != chosen and _is_cells(value) and [item.size for item in value.ravel()] == lengths
    ]
    whole = [labels for labels in candidates if all(one.dtype.kind in "iu" for one in labels)]
    return whole[0] if len(whole) == 1 else None
