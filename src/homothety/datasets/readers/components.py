"""Symmetric matrices written as the list of their distinct entries, in the orders programs use."""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from homothety.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from homothety.arrays import IntArray

ComponentOrder = Literal["upper", "lower", "diagonal", "fsl", "nifti", "dipy", "mrtrix"]
"""How distinct entries are listed; for 3 x 3 matrices:

========  =======================  ======================
upper     xx, xy, xz, yy, yz, zz   also called "fsl"
lower     xx, xy, yy, xz, yz, zz   also "nifti" and "dipy"
diagonal  xx, yy, zz, xy, xz, yz   also "mrtrix"
========  =======================  ======================
"""

SAME_AS: dict[str, str] = {"fsl": "upper", "nifti": "lower", "dipy": "lower", "mrtrix": "diagonal"}


def unpack_symmetric(components: NDArray[Any], order: str) -> NDArray[Any]:
    """Return the matrices whose distinct entries are listed along the last axis.

    Parameters
    ----------
    components : ndarray of shape (n_matrices, n_dims * (n_dims + 1) / 2)
    order : str
        One of `ComponentOrder`.

    Returns
    -------
    matrices : ndarray of shape (n_matrices, n_dims, n_dims)
    """
    n_dims = n_dims_of_triangle(components.shape[-1])
    rows, columns = entries_of(check_order(order), n_dims)
    matrices = np.empty((len(components), n_dims, n_dims), dtype=components.dtype)
    matrices[:, rows, columns] = components
    matrices[:, columns, rows] = components
    return matrices


def n_dims_of_triangle(n_components: int) -> int:
    """Return the size of the symmetric matrices with so many distinct entries, 0 if there are none of that kind."""
    n_dims = (isqrt(8 * n_components + 1) - 1) // 2
    return n_dims if n_dims * (n_dims + 1) // 2 == n_components else 0


def check_order(order: str) -> str:
    """Return the order under its plain name, or raise listing the names there are."""
    if order not in get_args(ComponentOrder):
        raise InputError(f"order is {order!r}, needed one of {', '.join(map(repr, get_args(ComponentOrder)))}.")
    return SAME_AS.get(order, order)


def entries_of(order: str, n_dims: int) -> tuple[IntArray, IntArray]:
    """Return row and column of each component in turn, in an order by its plain name."""
    if order == "upper":
        return np.triu_indices(n_dims)
    if order == "lower":
        return np.tril_indices(n_dims)
    diagonal = np.arange(n_dims)
    rows, columns = np.triu_indices(n_dims, k=1)
    return np.concatenate([diagonal, rows]), np.concatenate([diagonal, columns])
