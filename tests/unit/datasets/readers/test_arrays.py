"""Matrices in files of NumPy and MATLAB. HDF5 has tests of its own, which are skipped where h5py is not installed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.io import savemat

from conftest import shared_data_folder
from homothety.datasets import make_dti, read_matrices
from homothety.errors import InputError


def test_npy(tmp_path, matrices):
    np.save(tmp_path / "rats.npy", matrices)
    rats = read_matrices(tmp_path / "rats.npy")
    np.testing.assert_array_equal(rats.matrices, matrices)
    assert (rats.labels, rats.name, rats.grid) == (None, "rats", None)


@pytest.mark.parametrize("dtype", [np.float32, np.int16, ">f8"])
def test_any_real_type_becomes_double(tmp_path, dtype):
    np.save(tmp_path / "set.npy", np.array([[[2, 1], [1, 3]]], dtype=dtype))
    read = read_matrices(tmp_path / "set.npy").matrices
    assert read.dtype == np.float64
    np.testing.assert_array_equal(read, [[[2, 1], [1, 3]]])


def test_rounding_asymmetry_is_evened_out(tmp_path, matrices):
    matrices[2, 0, 1] *= 1 + 1e-8
    np.save(tmp_path / "set.npy", matrices)
    read = read_matrices(tmp_path / "set.npy").matrices
    np.testing.assert_array_equal(read, read.swapaxes(1, 2))


def test_npz_by_the_usual_names(tmp_path, matrices):
    labels = np.array(["a", "b", "a", "b", "b"])
    np.savez(tmp_path / "set.npz", other=matrices[::-1], matrices=matrices, labels=labels)
    read = read_matrices(tmp_path / "set.npz")
    np.testing.assert_array_equal(read.matrices, matrices)
    np.testing.assert_array_equal(read.labels, labels)
    assert read.name == "set"


def test_npz_by_name_or_as_the_only_candidate(tmp_path, matrices):
    np.savez(tmp_path / "set.npz", covariances=matrices, means=np.zeros((5, 3)))
    np.testing.assert_array_equal(read_matrices(tmp_path / "set.npz").matrices, matrices)
    np.savez(tmp_path / "two.npz", first=matrices, second=2 * matrices)
    np.testing.assert_array_equal(read_matrices(tmp_path / "two.npz", variable="second").matrices, 2 * matrices)


def test_npz_labels_that_are_whole_numbers_become_integers(tmp_path, matrices):
    np.savez(tmp_path / "set.npz", matrices=matrices, labels=np.array([[1.0, 2, 1, 2, 2]]).T)
    labels = read_matrices(tmp_path / "set.npz").labels
    assert labels.dtype == np.int64
    assert labels.tolist() == [1, 2, 1, 2, 2]


def test_npz_of_an_image(tmp_path):
    field = make_dti((4, 6), 3, random_state=0)
    np.savez(tmp_path / "all.npz", matrices=field.matrices, labels=field.labels, grid=field.grid)
    read = read_matrices(tmp_path / "all.npz")
    np.testing.assert_array_equal(read.to_image(read.labels), field.to_image(field.labels))

    some = field.take(np.array([3, 8, 20]))
    np.savez(tmp_path / "some.npz", matrices=some.matrices, grid=some.grid, positions=some.positions, affine=np.eye(4))
    read = read_matrices(tmp_path / "some.npz")
    np.testing.assert_array_equal(read.positions, some.positions)
    np.testing.assert_array_equal(read.affine, np.eye(4))


def test_npz_array_that_merely_is_called_grid(tmp_path, matrices):
    np.savez(tmp_path / "set.npz", matrices=matrices, grid=np.linspace(0, 1, 7))
    assert read_matrices(tmp_path / "set.npz").grid is None


@pytest.mark.parametrize(("name", "n_matrices"), [("toy_3d", 5), ("task_ellipsoids_6d", 105), ("dti_synthetic", 1024)])
def test_sets_of_the_paper(shared_data, tmp_path, name, n_matrices):
    stored = shared_data(f"{name}.npz")
    np.savez(tmp_path / "copy.npz", **stored)
    read = read_matrices(tmp_path / "copy.npz")
    assert len(read) == n_matrices
    np.testing.assert_array_equal(read.matrices, stored["matrices"])
    np.testing.assert_array_equal(read.labels, stored["labels"])
    if "grid" in stored:
        np.testing.assert_array_equal(read.positions, np.stack([stored["row"], stored["col"]], axis=1))


def objects():
    return np.array([np.eye(2), {"never": "unpickled"}], dtype=object)


def with_entry(value):
    matrices = np.stack([np.eye(2)] * 4)
    matrices[2, 0, 1] = value
    return matrices


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (objects(), "Object arrays cannot be loaded.* Python objects are never loaded, for safety"),
        (np.eye(3), r"has shape \(3, 3\), needed \(n_matrices, n_dims, n_dims\) with both at least 1\. Put square"),
        (np.ones((5, 3, 4)), r"has shape \(5, 3, 4\), needed \(n_matrices, n_dims, n_dims\)"),
        (np.ones((3, 3, 7)), r"has shape \(3, 3, 7\).* np.moveaxis\(array, -1, 0\) puts the matrices first"),
        (np.ones((0, 3, 3)), r"has shape \(0, 3, 3\)"),
        (np.full((2, 2, 2), "a"), "holds values of type <U1, needed real numbers"),
        (np.ones((2, 2, 2), dtype=complex), "holds values of type complex128, needed real numbers"),
        (with_entry(np.nan), r"matrix 2, counted from 0, holds NaN or infinity \(1 such of 4\). Every entry must be"),
        (with_entry(np.inf), "matrix 2, counted from 0, holds NaN or infinity"),
        (with_entry(0.5), r"matrix 2, counted from 0, is not symmetric: entries differ by up to 0.5 \(1 such of 4\)"),
    ],
)
def test_arrays_that_are_no_covariances(tmp_path, array, message):
    np.save(tmp_path / "set.npy", array, allow_pickle=True)
    with pytest.raises(InputError, match=rf"set\.npy.*{message}"):
        read_matrices(tmp_path / "set.npy")


@pytest.mark.parametrize(
    ("arrays", "variable", "message"),
    [
        ({"a": np.eye(2)}, None, r"holds a \(2, 2\); needed an array called 'matrices' or exactly one of shape"),
        ({"a": np.ones((1, 2, 2)), "b": np.ones((1, 2, 2))}, None, "Say which it is with variable="),
        ({}, None, "holds nothing; needed"),
        ({"a": np.ones((1, 2, 2))}, "b", r"has no array 'b'. It holds a \(1, 2, 2\)"),
        ({"matrices": np.eye(2)}, None, r"array 'matrices' has shape \(2, 2\)"),
        ({"matrices": np.ones((1, 2, 2)), "labels": np.ones(3)}, None, "has 3 labels for 1 matrices, needed one each"),
        ({"matrices": np.ones((1, 2, 2)), "labels": objects()}, None, "Python objects are never loaded"),
        ({"matrices": np.ones((3, 2, 2)), "grid": (2, 2)}, None, "3 matrices on a grid of 2 x 2, needed one per voxel"),
    ],
)
def test_archives_that_do_not_fit(tmp_path, arrays, variable, message):
    np.savez(tmp_path / "set.npz", **arrays)
    with pytest.raises(InputError, match=rf"set\.npz.*{message}"):
        read_matrices(tmp_path / "set.npz", variable=variable)


def test_one_kind_of_numpy_file_under_the_name_of_the_other(tmp_path, matrices):
    np.savez(tmp_path / "set.npz", matrices=matrices)
    (tmp_path / "set.npz").rename(tmp_path / "set.npy")
    with pytest.raises(InputError, match=r"is an archive of several arrays, needed one array. Rename it"):
        read_matrices(tmp_path / "set.npy")
    np.save(tmp_path / "one.npy", matrices)
    (tmp_path / "one.npy").rename(tmp_path / "one.npz")
    with pytest.raises(InputError, match=r"is a single array, needed an archive. Rename it to end in .npy"):
        read_matrices(tmp_path / "one.npz")


def test_truncated_archive(tmp_path, matrices):
    np.savez(tmp_path / "set.npz", matrices=matrices)
    content = (tmp_path / "set.npz").read_bytes()
    (tmp_path / "set.npz").write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match=r"set\.npz cannot be read"):
        read_matrices(tmp_path / "set.npz")


# --- MATLAB -----------------------------------------------------------------------------------------------------------


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
