"""Matrices from MATLAB's .mat files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.io import loadmat

from homothety.datasets.readers.checks import blame_file, check_labels, check_stack
from homothety.datasets.readers.hdf5 import load_mat73
from homothety.datasets.readers.numpy_files import listed
from homothety.datasets.sets import MatrixSet
from homothety.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

NEEDED = (
    "an N x N x M or M x N x N array, a cell array of N x N matrices, or a cell or struct array with one field of them"
)


def read_mat(path: Path, variable: str | None) -> MatrixSet:
    """Read matrices from an array, a cell array or a struct array, and `labels` if there are any."""
    variables = load_variables(path)
    name, stack = _choose_variable(variables, variable, path)
    matrices = check_stack(stack, f"{path}, variable {name!r}")
    labels = None
    if "labels" in variables and name != "labels":
        labels = check_labels(plain_labels(variables["labels"]), len(matrices), str(path))
    return MatrixSet(matrices, labels, path.stem)


def load_variables(path: Path) -> dict[str, NDArray[Any]]:
    """Load all variables of a file, without the three entries that describe the file itself."""
    with blame_file(path, "Save it again in MATLAB with save(file, 'name', '-v7')."):
        try:
            contents = loadmat(path, appendmat=False)
        except NotImplementedError:  # version 7.3, which is HDF5 inside
            return load_mat73(path)
    return {name: value for name, value in contents.items() if not name.startswith("__")}


def _choose_variable(variables: dict[str, NDArray[Any]], variable: str | None, path: Path) -> tuple[str, NDArray[Any]]:
    """Return the name and the matrices of the variable told, of `matrices`, or of the only one that holds any."""
    found = listed(variables)
    if variable is None and "matrices" not in variables:
        stacks = {name: stack for name, value in variables.items() if (stack := _as_stack(value)) is not None}
        if len(stacks) != 1:
            raise InputError(
                f"{path} holds {found}; needed exactly one variable that is {NEEDED}. Say which it is with variable=."
            )
        return next(iter(stacks.items()))
    name, _, field = (variable or "matrices").partition(".")
    if name not in variables:
        raise InputError(f"{path} has no variable {name!r}. It holds {found}.")
    stack = _as_stack(variables[name], field)
    if stack is None:
        raise InputError(
            f"{path}, variable {variable or name!r} is no set of matrices of one size; needed {NEEDED}. "
            "A field of structs is chosen with variable='name.field'."
        )
    return variable or name, stack


def _as_stack(value: NDArray[Any], field: str = "") -> NDArray[Any] | None:
    """Return a variable as matrices of shape (n_matrices, n_dims, n_dims), or None if it holds no such thing."""
    if value.dtype.names is not None or value.dtype == object:
        return _stack_items([_matrix_of(item, field) for item in value.ravel()])
    if value.ndim == 3 and not field:
        return _matrices_first(value)
    return None


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


def _stack_items(items: list[NDArray[Any] | None]) -> NDArray[Any] | None:
    """Return matrices of one size as one array, or None if any is missing or of another size."""
    matrices = [item for item in items if item is not None]
    if not items or len(matrices) < len(items) or len({matrix.shape for matrix in matrices}) > 1:
        return None
    return np.stack(matrices)


def plain_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """Return labels as a row; a cell array of character rows becomes an array of strings."""
    if labels.dtype == object:
        return np.array([str(np.squeeze(item)) if np.size(item) else "" for item in labels.ravel()])
    return labels.ravel()
