from __future__ import annotations

import numpy as np
import pytest

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
