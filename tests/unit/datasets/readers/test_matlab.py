from __future__ import annotations

import numpy as np
import pytest
from scipy.io import savemat

from conftest import shared_data_folder
from homothety.datasets import read_matrices
from homothety.errors import InputError


def cells(items, shape=None):
    """A MATLAB cell array."""
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array.reshape(shape or (1, len(items)))


@pytest.fixture
def read_back(tmp_path):
    """Write variables to a MATLAB file and read matrices from it."""

    def write_and_read(variables, **options):
        savemat(tmp_path / "set.mat", variables)
        return read_matrices(tmp_path / "set.mat", **options)

    return write_and_read


def test_matlab_layout_and_ours(read_back, matrices):
    np.testing.assert_array_equal(read_back({"C": np.moveaxis(matrices, 0, -1)}).matrices, matrices)
    np.testing.assert_array_equal(read_back({"C": matrices}).matrices, matrices)


def test_as_many_matrices_as_dimensions_is_settled_by_symmetry(read_back, matrices):
    np.testing.assert_array_equal(read_back({"C": np.moveaxis(matrices[:3], 0, -1)}).matrices, matrices[:3])
    np.testing.assert_array_equal(read_back({"C": matrices[:3]}).matrices, matrices[:3])


@pytest.mark.parametrize("shape", [(1, 5), (5, 1)])
def test_cell_array(read_back, matrices, shape):
    np.testing.assert_array_equal(read_back({"C": cells(list(matrices), shape)}).matrices, matrices)


def test_cells_are_taken_row_by_row(read_back, matrices):
    np.testing.assert_array_equal(read_back({"C": cells(list(matrices[:4]), (2, 2))}).matrices, matrices[:4])


def test_cells_of_structs_and_arrays_of_structs(read_back, matrices):
    structs = [{"mu": np.zeros((3, 1)), "prior": 0.2, "Sigma": matrix} for matrix in matrices]
    np.testing.assert_array_equal(read_back({"C": cells(structs)}).matrices, matrices)
    records = np.array([[(np.zeros((3, 1)), matrix) for matrix in matrices]], dtype=[("mu", object), ("Sigma", object)])
    np.testing.assert_array_equal(read_back({"C": records}).matrices, matrices)


def test_field_by_name(read_back, matrices):
    structs = cells([{"Sigma": matrix, "Precision": 2 * matrix} for matrix in matrices])
    np.testing.assert_array_equal(read_back({"C": structs}, variable="C.Precision").matrices, 2 * matrices)


def test_variable_by_name_by_habit_or_as_the_only_one(read_back, matrices):
    both = {"matrices": matrices, "others": 2 * matrices, "scalar": 1.0, "text": "note"}
    np.testing.assert_array_equal(read_back(both).matrices, matrices)
    np.testing.assert_array_equal(read_back(both, variable="others").matrices, 2 * matrices)
    np.testing.assert_array_equal(read_back({"others": matrices, "S": np.eye(5)}).matrices, matrices)


def test_labels_of_numbers_and_of_text(read_back, matrices):
    labels = read_back({"C": matrices, "labels": [1, 2, 2, 1, 3]}).labels
    assert labels.dtype == np.int64
    assert labels.tolist() == [1, 2, 2, 1, 3]
    names = ["cut", "draw", "draw", "cut", "screw"]
    assert read_back({"C": matrices, "labels": cells(names)}).labels.tolist() == names


def test_task_ellipsoids_as_the_authors_stored_them(shared_data):
    converted = shared_data("task_ellipsoids_6d.npz")
    path = shared_data_folder() / "original" / "SPCM-CRP" / "datasets" / "6D-Grasps.mat"
    if not path.exists():
        pytest.skip("the authors' own file is not here")
    read = read_matrices(path)
    np.testing.assert_array_equal(read.matrices, converted["matrices"])
    np.testing.assert_array_equal(read_matrices(path, variable="behavs_theta.Sigma").matrices, converted["matrices"])
    assert (read.name, read.labels) == ("6D-Grasps", None)


def test_a_broken_file_of_version_7_3_is_named(tmp_path):
    header = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM" + b"\x89HDF\r\n\x1a\n" + bytes(600)
    (tmp_path / "set.mat").write_bytes(header)
    with pytest.raises(InputError, match=r"set\.mat cannot be read: .*Save it again in MATLAB"):
        read_matrices(tmp_path / "set.mat")


@pytest.mark.parametrize(
    ("variables", "variable", "message"),
    [
        (
            {"S": np.eye(4)},
            None,
            r"holds S \(4, 4\); needed exactly one variable that is an N x N x M or M x N x N",
        ),
        ({}, None, "holds nothing; needed exactly one variable"),
        ({"a": np.ones((2, 2, 3)), "b": np.ones((2, 2, 3))}, None, "Say which it is with variable="),
        ({"a": np.ones((2, 2, 3))}, "b", r"has no variable 'b'. It holds a \(2, 2, 3\)"),
        ({"a": np.ones((2, 3, 4))}, "a", "variable 'a' is no set of matrices of one size"),
        ({"a": cells([np.eye(2), np.eye(3)])}, "a", "variable 'a' is no set of matrices of one size"),
        ({"a": cells([{"A": np.eye(2), "B": np.eye(2)}])}, "a", "chosen with variable='name.field'"),
        ({"a": cells([{"A": np.eye(2)}])}, "a.B", "variable 'a.B' is no set of matrices"),
        ({"a": np.ones((2, 2, 3))}, "a.B", "variable 'a.B' is no set of matrices"),
        ({"a": np.full((2, 2, 3), np.nan)}, None, "variable 'a': matrix 0, counted from 0, holds NaN"),
        ({"a": np.ones((2, 2, 3)) * 1j}, None, "variable 'a' holds values of type complex128"),
        ({"a": np.ones((2, 2, 3)), "labels": [1, 2]}, None, "has 2 labels for 3 matrices, needed one each"),
    ],
)
def test_files_that_do_not_fit(read_back, variables, variable, message):
    with pytest.raises(InputError, match=rf"set\.mat.*{message}"):
        read_back(variables, variable=variable)
