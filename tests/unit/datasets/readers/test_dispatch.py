"""What all formats have in common."""

from __future__ import annotations

import numpy as np
import pytest

from homothety.datasets import read_matrices
from homothety.errors import InputError


def test_path_may_be_text_and_case_does_not_matter(tmp_path, matrices):
    np.save(tmp_path / "set.npy", matrices)
    (tmp_path / "set.npy").rename(tmp_path / "Set.NPY")
    assert len(read_matrices(str(tmp_path / "Set.NPY"))) == 5


@pytest.mark.parametrize("name", ["x.npy", "x.npz", "x.mat", "x.csv", "x.nii", "x.nii.gz"])
def test_missing_file(tmp_path, name):
    with pytest.raises(InputError, match=rf"{name} is not there or not a file. Check the name and the folder"):
        read_matrices(tmp_path / name)


@pytest.mark.parametrize("name", ["x.npy", "x.npz", "x.mat", "x.csv", "x.nii", "x.nii.gz"])
def test_empty_file(tmp_path, name):
    (tmp_path / name).touch()
    with pytest.raises(InputError, match=rf"{name} is empty, needed covariance matrices"):
        read_matrices(tmp_path / name)


@pytest.mark.parametrize("name", ["x.npy", "x.npz", "x.mat", "x.nii", "x.nii.gz"])
@pytest.mark.parametrize("junk", [b"not what the name says", bytes(range(256)) * 20], ids=["text", "bytes"])
def test_broken_file(tmp_path, name, junk):
    (tmp_path / name).write_bytes(junk)
    with pytest.raises(InputError, match=rf"{name} cannot be read: .+\. \w+"):
        read_matrices(tmp_path / name)


def test_folder_instead_of_file(tmp_path):
    (tmp_path / "x.npy").mkdir()
    with pytest.raises(InputError, match="is not there or not a file"):
        read_matrices(tmp_path / "x.npy")


@pytest.mark.parametrize(("name", "ending"), [("x.parquet", "'.parquet'"), ("x", "'nothing'"), ("x.nii.zip", "'.zip'")])
def test_unknown_kind_of_file(tmp_path, name, ending):
    with pytest.raises(
        InputError, match=rf"ends in {ending}, needed one of .npy, .npz, .mat, .h5, .hdf5, .csv, .nii, "
    ):
        read_matrices(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (
            "x.npy",
            {"variable": "a"},
            r"variable means nothing for .*x.npy: it applies to .npz, .mat, .h5, .hdf5, .fif, ",
        ),
        ("x.mat", {"order": "fsl"}, "order means nothing for .*x.mat: it applies to .csv, .nii, .nii.gz"),
        ("x.csv", {"mask": np.ones((2, 2, 2))}, "mask means nothing for .*x.csv: it applies to .nii, .nii.gz"),
        ("x.csv", {"order": "itk"}, "order is 'itk', needed one of"),
    ],
)
def test_options_that_would_be_ignored_are_refused(tmp_path, name, options, message):
    with pytest.raises(InputError, match=message):
        read_matrices(tmp_path / name, **options)


@pytest.mark.parametrize("block", [2, 100])
def test_only_positive_definite_ones_on_request(tmp_path, matrices, block, monkeypatch):
    monkeypatch.setattr("homothety.covariance.landmarks.BLOCK", block)
    matrices[1] = np.diag([1.0, 1.0, -1e-3])
    matrices[3] = np.diag([1.0, 1.0, 0.0])
    np.savez(tmp_path / "set.npz", matrices=matrices, labels=np.arange(5))
    assert len(read_matrices(tmp_path / "set.npz")) == 5
    kept = read_matrices(tmp_path / "set.npz", only_spd=True)
    np.testing.assert_array_equal(kept.labels, [0, 2, 4])
    np.testing.assert_allclose(kept.matrices, matrices[[0, 2, 4]])


def test_no_positive_definite_one_at_all(tmp_path):
    np.save(tmp_path / "set.npy", -np.ones((4, 1, 1)) * np.eye(2))
    with pytest.raises(InputError, match=r"none of 4 matrices is positive definite. Check what the file holds"):
        read_matrices(tmp_path / "set.npy", only_spd=True)
