"""Arrays from HDF5 files, and from MATLAB's .mat files of version 7.3, which are HDF5 inside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.datasets.readers.checks import blame_file
from homothety.datasets.readers.numpy_files import read_archive_matrices
from homothety.datasets.readers.options import require
from homothety.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from homothety.datasets.sets import MatrixSet

MAX_AXES = 3  # neither series nor matrices have more: what has is images, and is listed but not loaded


def read_hdf5(path: Path, variable: str | None) -> MatrixSet:
    """Read matrices as from an archive of NumPy, arrays inside groups by their paths."""
    return read_archive_matrices(load_hdf5(path), path, variable)


def load_hdf5(path: Path) -> dict[str, NDArray[Any]]:
    """Load every array of a file by its path, such as "data/demo_0/actions"; links are not followed."""
    h5py = require("h5py", "hdf5", f"Reading {path}")
    arrays: dict[str, NDArray[Any]] = {}

    def collect(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and item.shape is not None:
            arrays[name] = _values(item, h5py)

    with blame_file(path, "Check that it is a complete HDF5 file."), h5py.File(path, "r") as file:
        file.visititems(collect)
    return arrays


def load_mat73(path: Path) -> dict[str, NDArray[Any]]:
    """Load every variable of a .mat file of version 7.3 as older versions are loaded: cells as arrays of objects."""
    h5py = require("h5py", "hdf5", f"{path}, which is in MATLAB's version 7.3 format,")
    with blame_file(path, "Save it again in MATLAB with save(file, 'name', '-v7')."), h5py.File(path, "r") as file:
        names = [name for name in file if not name.startswith("#") and _is_here(file, name, h5py)]
        return {name: _from_matlab(file[name], file, h5py) for name in names}


def _values(item: Any, h5py: Any) -> NDArray[Any]:
    """Return a data set as an array: text as such, and of an image only the shape."""
    if item.ndim > MAX_AXES:
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


def _from_matlab(item: Any, file: Any, h5py: Any) -> NDArray[Any]:
    """Return a variable of MATLAB, whose axes HDF5 has in the opposite order."""
    if isinstance(item, h5py.Group):
        return _struct({name: item[name] for name in item if _is_here(item, name, h5py)}, file, h5py)
    _check_inside(item)
    if item.attrs.get("MATLAB_empty", 0):
        return np.empty(tuple(int(size) for size in item[()]))
    if h5py.check_ref_dtype(item.dtype) is not None:
        return _dereferenced(item, file, h5py)
    values = np.asarray(item[()]).T
    if item.attrs.get("MATLAB_class") == b"char":
        return np.array(["".join(map(chr, row)) for row in np.atleast_2d(values)])
    return values


def _dereferenced(item: Any, file: Any, h5py: Any) -> NDArray[Any]:
    """Return a cell array as an array of objects."""
    references = np.asarray(item[()]).T
    cells = np.empty(references.shape, dtype=object)
    for place, reference in np.ndenumerate(references):
        cells[place] = _from_matlab(file[reference], file, h5py)
    return cells


def _struct(members: dict[str, Any], file: Any, h5py: Any) -> NDArray[Any]:
    """Return a struct, or an array of structs, whose fields are each stored as an array of references."""
    fields = {name: _from_matlab(member, file, h5py) for name, member in members.items()}
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
