from __future__ import annotations

import numpy as np
import pytest

from homothety.datasets.readers.checks import n_dims_of_triangle, unpack_symmetric
from homothety.errors import InputError

# Every entry of this tensor is known by its value: 12 is xy, 23 is yz, and so on.
TENSOR = np.array([[11, 12, 13], [12, 22, 23], [13, 23, 33]])
LISTED = {
    "upper": [11, 12, 13, 22, 23, 33],
    "fsl": [11, 12, 13, 22, 23, 33],
    "lower": [11, 12, 22, 13, 23, 33],
    "nifti": [11, 12, 22, 13, 23, 33],
    "dipy": [11, 12, 22, 13, 23, 33],
    "diagonal": [11, 22, 33, 12, 13, 23],
    "mrtrix": [11, 22, 33, 12, 13, 23],
}


@pytest.mark.parametrize("order", LISTED)
def test_orders_of_the_six_components(order):
    components = np.array([LISTED[order], np.multiply(LISTED[order], 2)])
    np.testing.assert_array_equal(unpack_symmetric(components, order), [TENSOR, 2 * TENSOR])


@pytest.mark.parametrize("n_dims", [1, 2, 4, 7])
def test_orders_of_other_dimensions(rng, n_dims):
    matrix = rng.standard_normal((n_dims, n_dims))
    matrix = matrix + matrix.T
    upper = [matrix[i, j] for i in range(n_dims) for j in range(i, n_dims)]
    lower = [matrix[i, j] for i in range(n_dims) for j in range(i + 1)]
    diagonal = [matrix[i, i] for i in range(n_dims)]
    diagonal += [matrix[i, j] for i in range(n_dims) for j in range(i + 1, n_dims)]
    for order, components in {"upper": upper, "lower": lower, "diagonal": diagonal}.items():
        np.testing.assert_array_equal(unpack_symmetric(np.array([components]), order)[0], matrix)


def test_size_by_number_of_components():
    assert [n_dims_of_triangle(n) for n in (1, 2, 3, 4, 5, 6, 10, 21, 22)] == [1, 0, 2, 0, 0, 3, 4, 6, 0]


def test_unknown_order_is_named():
    with pytest.raises(InputError, match="order is 'itk', needed one of 'upper', 'lower', 'diagonal', 'fsl'"):
        unpack_symmetric(np.zeros((1, 6)), "itk")
