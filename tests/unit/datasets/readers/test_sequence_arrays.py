"""Series come back from files of arrays as they were written."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.io import savemat

from homothety.datasets import read_sequences
from homothety.errors import InputError


def test_archive_with_lengths(tmp_path, series, assert_series):
    labels, states = np.arange(16) // 4 + 1.0, np.arange(16)
    np.savez(
        tmp_path / "set.npz",
        x=np.concatenate(series),
        lengths=[5, 7, 4],
        labels=labels,
        states=states,
        channels=["x", "y", "z"],
        other=np.ones((16, 2)),
    )
    read = read_sequences(tmp_path / "set.npz", columns=["x", "z"])
    assert_series(read, [one[:, [0, 2]] for one in series])
    np.testing.assert_array_equal(np.concatenate(read.actions), labels)
    np.testing.assert_array_equal(np.concatenate(read.states), states)
    assert read.actions[0].dtype.kind == "i"
    assert read.channels == ("x", "z")
    other = read_sequences(tmp_path / "set.npz", variable="other")
    assert (other.n_dims, other.channels) == (2, ())


def test_archive_of_one_array_per_series(tmp_path, series, assert_series):
    np.savez(tmp_path / "set.npz", left=series[0], right=series[1], rate=np.array(100))
    read = read_sequences(tmp_path / "set.npz")
    assert_series(read, series[:2])
    assert read.names == ("left", "right")
    assert_series(read_sequences(tmp_path / "set.npz", variable="right"), series[1:2])


@pytest.mark.parametrize("is_time_last", [False, True])
def test_cell_arrays(tmp_path, series, is_time_last, assert_series):
    cells, labels = np.empty((1, 3), dtype=object), np.empty((1, 3), dtype=object)
    for i, one in enumerate(series):
        cells[0, i] = one.T if is_time_last else one
        labels[0, i] = np.arange(len(one), dtype=float)[None]
    savemat(tmp_path / "set.mat", {"Data": cells, "True_states": labels})
    read = read_sequences(tmp_path / "set.mat")
    assert_series(read, series)
    assert [path.tolist() for path in read.actions] == [list(range(len(one))) for one in series]
    assert_series(read_sequences(tmp_path / "set.mat", variable="Data", columns=[1]), [one[:, [1]] for one in series])


def test_single_matlab_matrix(tmp_path, series, assert_series):
    savemat(tmp_path / "set.mat", {"X": np.concatenate(series).T, "rate": 100.0, "labels": np.arange(16)})
    read = read_sequences(tmp_path / "set.mat", lengths=[5, 7, 4])
    assert_series(read, series)
    np.testing.assert_array_equal(np.concatenate(read.actions), np.arange(16))


def test_text_labels_beside_a_matlab_matrix(tmp_path, series):
    labels = np.empty((5, 1), dtype=object)
    labels[:, 0] = ["cut", "cut", "", "peel", "peel"]
    savemat(tmp_path / "set.mat", {"X": series[0], "labels": labels})
    assert read_sequences(tmp_path / "set.mat").actions[0].tolist() == ["cut", "cut", "", "peel", "peel"]


def test_the_authors_files(shared_data):
    from conftest import shared_data_folder

    converted = shared_data("grating_7d.npz")
    path = shared_data_folder() / "original" / "ICSC-HMM" / "test-data"
    if not path.exists():
        pytest.skip("the authors' own files are not here")
    grater = read_sequences(path / "Grating" / "CarrotGrating_grater.mat")
    assert [len(one) for one in grater.sequences] == converted["lengths"].tolist()
    np.testing.assert_allclose(grater.sequences[0], converted["x"][:2955])
    np.testing.assert_array_equal(np.concatenate(grater.actions), converted["labels"])
    peeling = read_sequences(path / "Peeling" / "proc-data-noObj.mat")
    assert [one.shape for one in peeling.sequences] == [(13820, 26), (7333, 26)]
    assert [len(one) for one in peeling.actions] == [13820, 7333]


def test_objects_are_never_unpickled(tmp_path):
    np.save(tmp_path / "objects.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="Python objects are never loaded"):
        read_sequences(tmp_path / "objects.npy")


def test_nobody_is_told_how_to_unpickle(write):
    with pytest.raises(InputError, match=r"magic string is not correct.*\. .* write plain arrays") as refused:
        read_sequences(write("no array at all", "demo.npy"))
    assert "unsafely" not in str(refused.value)


def test_bad_archives(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.ones((4, 2)), y=np.ones((4, 3)))
    with pytest.raises(InputError, match="different numbers of dimensions"):
        read_sequences(tmp_path / "a.npz")
    with pytest.raises(InputError, match=r"no array 'z'\. It holds x"):
        read_sequences(tmp_path / "a.npz", variable="z")
    with pytest.raises(InputError, match="group means nothing"):
        read_sequences(tmp_path / "a.npz", group="x")
    np.savez(tmp_path / "b.npz", x=np.ones(4))
    with pytest.raises(InputError, match="needed an array of shape"):
        read_sequences(tmp_path / "b.npz")
    np.savez(tmp_path / "c.npz", a=np.ones((4, 2)), b=np.ones((4, 2)), lengths=[4])
    with pytest.raises(InputError, match="exactly one array of 4 steps"):
        read_sequences(tmp_path / "c.npz")
    np.savez(tmp_path / "c.npz", x=np.ones((4, 2)), lengths=[2, 3])
    with pytest.raises(InputError, match=r"lengths add up to 5, .* x \(4, 2\), lengths \(2,\)\. Correct lengths"):
        read_sequences(tmp_path / "c.npz")
    for lengths in (["2", "2"], [np.inf]):
        np.savez(tmp_path / "c.npz", x=np.ones((4, 2)), lengths=lengths)
        with pytest.raises(InputError, match="needed a whole number of steps for each series"):
            read_sequences(tmp_path / "c.npz")
    np.savez(tmp_path / "d.npz", x=np.ones((4, 2)), lengths=[4], labels=np.ones(3))
    with pytest.raises(InputError, match="3 labels for 4 steps"):
        read_sequences(tmp_path / "d.npz")
    np.save(tmp_path / "e.npy", np.ones((2, 4, 2)))
    with pytest.raises(InputError, match=r"has shape \(2, 4, 2\)"):
        read_sequences(tmp_path / "e.npy")


def test_bad_mat_files(tmp_path):
    savemat(tmp_path / "a.mat", {"a": np.ones((4, 2)), "b": np.ones((4, 2))})
    with pytest.raises(InputError, match="Say which it is with variable="):
        read_sequences(tmp_path / "a.mat")
    cells = np.empty(2, dtype=object)
    cells[:] = [np.ones((4, 2)), np.ones((5, 3))]
    savemat(tmp_path / "b.mat", {"a": cells})
    with pytest.raises(InputError, match="differ along both axes"):
        read_sequences(tmp_path / "b.mat")
