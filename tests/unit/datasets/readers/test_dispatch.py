"""What all formats have in common."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest

from homothety.datasets import read_matrices, read_sequences
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
    monkeypatch.setattr("homothety.covariance.embedding.BLOCK", block)
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


# --- series -----------------------------------------------------------------------------------------------------------


def test_folders_are_read_in_natural_order(write, series, tmp_path, table, assert_series):
    for number, one in zip((1, 2, 10), series, strict=True):
        write(table(one.tolist()), f"demo_{number}.csv")
    write("notes", "README.md")
    read = read_sequences(tmp_path)
    assert_series(read, series)
    assert read.names == ("demo_1", "demo_2", "demo_10")
    write("x", "other.txt")
    with pytest.raises(InputError, match=r"several kinds \(\.csv, \.txt\)"):
        read_sequences(tmp_path)


def test_series_of_one_name_in_two_folders(tmp_path, series, assert_series):
    for folder, one in zip("ab", series[:2], strict=True):
        (tmp_path / folder).mkdir()
        np.save(tmp_path / folder / "demo.npy", one)
    read = read_sequences([tmp_path / "a", str(tmp_path / "b")])
    assert_series(read, series[:2])
    assert read.names == ("a/demo.npy: demo", "b/demo.npy: demo")


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are text there")
def test_names_of_files_that_are_no_text(tmp_path):
    for name in (b"demo\xfe.csv", b"demo\xff.csv"):
        (tmp_path / os.fsdecode(name)).write_text("2,1,3\n3,1,4\n")
    assert read_sequences(tmp_path).names == ("demo? (0)", "demo? (1)")
    assert read_matrices(tmp_path / os.fsdecode(b"demo\xff.csv")).name == "demo?"


def test_files_that_do_not_go_together(write, tmp_path):
    first, second = write("x,y\n1,2\n3,4\n", "a.csv"), write("x,z\n1,2\n3,4\n", "b.csv")
    with pytest.raises(InputError, match=r"b\.csv has columns x, z but .*a\.csv has x, y"):
        read_sequences([first, second])
    with pytest.raises(InputError, match="has 1 dimensions but"):
        read_sequences([first, write("x\n1\n2\n", "c.csv")])
    with pytest.raises(InputError, match=r"there are 2\. Leave lengths out"):
        read_sequences([first, first], lengths=[2])
    with pytest.raises(InputError, match="is not there"):
        read_sequences(tmp_path / "nowhere.csv")
    with pytest.raises(InputError, match="paths names no file"):
        read_sequences([])
    with pytest.raises(InputError, match=r"ends in '\.xyz'"):
        read_sequences(write("1", "a.xyz"))
    (tmp_path / "void").mkdir()
    with pytest.raises(InputError, match="holds no file ending in"):
        read_sequences(tmp_path / "void")


def test_lengths_part_the_series(write, series, tmp_path, table, assert_series):
    steps = np.concatenate(series)
    assert_series(read_sequences(write(table(steps.tolist())), lengths=[5, 7, 4]), series)
    np.save(tmp_path / "all.npy", steps)
    assert_series(read_sequences(tmp_path / "all.npy", lengths=[5, 7, 4]), series)


def test_true_labels_may_have_any_name(write, tmp_path, series, table, assert_series):
    rows = [[*row, f"phase {step % 2}"] for step, row in enumerate(series[0].tolist())]
    read = read_sequences(write(table(rows, ["x", "y", "z", "phase"])), labels="phase")
    assert_series(read, series[:1])
    assert read.actions[0].tolist() == [row[-1] for row in rows]
    np.savez(tmp_path / "demo.npz", X=series[1], lengths=[4, 3], phase=np.arange(7), labels=np.zeros(7))
    read = read_sequences(tmp_path / "demo.npz", labels="phase")
    assert [path.tolist() for path in read.actions] == [[0, 1, 2, 3], [4, 5, 6]]


def test_true_labels_that_are_not_there_are_named(write, tmp_path, series, table):
    np.savez(tmp_path / "demo.npz", X=series[0], lengths=[5])
    np.save(tmp_path / "demo.npy", series[0])
    with pytest.raises(InputError, match="has no array 'phase'"):
        read_sequences(tmp_path / "demo.npz", labels="phase")
    with pytest.raises(InputError, match="array 'X' holds the series, needed another one for labels="):
        read_sequences(tmp_path / "demo.npz", labels="X")
    with pytest.raises(InputError, match="has no column 'phase'"):
        read_sequences(write(table(series[0], ["x", "y", "z"])), labels="phase")
    with pytest.raises(InputError, match="labels means nothing for"):
        read_sequences(tmp_path / "demo.npy", labels="phase")
