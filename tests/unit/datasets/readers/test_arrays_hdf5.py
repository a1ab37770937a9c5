"""HDF5 files, and MATLAB's version 7.3, which is HDF5 with its own habits; skipped where h5py is not installed."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from homothety.datasets import read_matrices, read_sequences
from homothety.errors import InputError

h5py = pytest.importorskip("h5py")


@pytest.fixture
def series(rng):
    return [rng.normal(size=(n_steps, 3)) for n_steps in (12, 7, 9)]


@pytest.fixture
def save_v73(tmp_path):
    """Write variables as MATLAB's save(..., '-v7.3') does: axes reversed, cells as references."""

    def save(name="set.mat", **variables):
        path = tmp_path / name
        with h5py.File(path, "w", userblock_size=512) as file:
            for variable, value in variables.items():
                write_variable(file, file, variable, value)
        with path.open("r+b") as file:
            file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")
        return path

    return save


def write_variable(file, parent, name, value):
    if isinstance(value, dict):
        group = parent.create_group(name)
        group.attrs["MATLAB_class"] = np.bytes_("struct")
        for field, one in value.items():
            write_variable(file, group, field, one)
    elif isinstance(value, list):
        references = np.empty((len(value), 1), dtype=h5py.ref_dtype)  # a row of cells, its axes reversed
        for i, one in enumerate(value):
            write_variable(file, file.require_group("#refs#"), f"{name}{i}", one)
            references[i, 0] = file[f"#refs#/{name}{i}"].ref
        parent.create_dataset(name, data=references, dtype=h5py.ref_dtype).attrs["MATLAB_class"] = np.bytes_("cell")
    else:
        parent.create_dataset(name, data=np.asarray(value).T).attrs["MATLAB_class"] = np.bytes_("double")


def test_arrays_inside_groups_are_series(tmp_path, series, assert_series):
    with h5py.File(tmp_path / "demos.h5", "w") as file:
        for number, one in zip((1, 2, 10), series, strict=True):
            file[f"data/demo_{number}/actions"] = one
            file[f"data/demo_{number}/states"] = one[:, :2]
            file[f"data/demo_{number}/camera"] = np.zeros((len(one), 2, 2, 3))
    path = tmp_path / "demos.h5"
    read = read_sequences(path, variable="data/*/actions", columns=[0, 2])
    assert_series(read, [one[:, [0, 2]] for one in series])
    assert read.names == tuple(f"data/demo_{number}/actions" for number in (1, 2, 10))
    assert_series(read_sequences(path, variable="data/demo_2/states"), [series[1][:, :2]])
    with pytest.raises(InputError, match=r"different numbers of dimensions.*such as 'data/\*/actions'"):
        read_sequences(path)
    with pytest.raises(InputError, match=r"no array like 'data/\*/grip'.* data/demo_1/camera \(12, 2, 2, 3\)"):
        read_sequences(path, variable="data/*/grip")
    with pytest.raises(InputError, match=r"has shape \(12, 2, 2, 3\), needed \(n_steps, n_dims\)"):
        read_sequences(path, variable="data/demo_1/camera")


def test_one_array_with_lengths_labels_and_names(tmp_path, series, assert_series):
    with h5py.File(tmp_path / "demos.hdf5", "w") as file:
        file["x"], file["lengths"] = np.concatenate(series), [12, 7, 9]
        file["labels"], file["channels"] = np.arange(28), ["left", "up", "right"]
    read = read_sequences(tmp_path / "demos.hdf5", columns="up")
    assert_series(read, [one[:, [1]] for one in series])
    assert (read.channels, read.actions[1][0]) == (("up",), 12)


def test_matrices(tmp_path, matrices):
    with h5py.File(tmp_path / "set.h5", "w") as file:
        file["fit/matrices"], file["fit/noise"] = matrices, np.ones((2, 2))
        file["labels"] = [1, 1, 2, 2, 2]
    read = read_matrices(tmp_path / "set.h5")
    np.testing.assert_array_equal(read.matrices, matrices)
    assert read.labels.tolist() == [1, 1, 2, 2, 2]


def test_links_to_other_files_are_not_followed(tmp_path, series, assert_series):
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["x"] = series[0]
    with h5py.File(tmp_path / "link.h5", "w") as file:
        file["y"], file["x"] = series[1], h5py.ExternalLink("secret.h5", "x")
    assert_series(read_sequences(tmp_path / "link.h5"), [series[1]])


def test_numbers_in_other_files_are_not_read(tmp_path, series):
    (tmp_path / "secret").write_bytes(series[0].tobytes())
    with h5py.File(tmp_path / "outside.h5", "w") as file:
        file.create_dataset("x", series[0].shape, float, external=str(tmp_path / "secret"))
    layout = h5py.VirtualLayout(series[0].shape, float)
    layout[:] = h5py.VirtualSource(tmp_path / "outside.h5", "x", series[0].shape)
    with h5py.File(tmp_path / "virtual.h5", "w") as file:
        file.create_virtual_dataset("x", layout)
    for name in ("outside.h5", "virtual.h5"):
        with pytest.raises(InputError, match=rf"{name}, array '/x' keeps its numbers in other files"):
            read_sequences(tmp_path / name)


def test_arrays_that_are_no_series_are_named(tmp_path, series):
    with h5py.File(tmp_path / "demos.h5", "w") as file:
        for number, one in enumerate(series):
            file[f"data/demo_{number}/rewards"] = one[:, 0]
    with pytest.raises(InputError, match=r"array 'data/demo_0/rewards' has shape \(12,\), needed \(n_steps, n_dims\)"):
        read_sequences(tmp_path / "demos.h5", variable="data/*/rewards")


def test_cells_of_version_7_3(save_v73, series, assert_series):
    labels = [np.full((len(one), 1), 2.0) for one in series]
    read = read_sequences(save_v73(Data=series, True_states=labels))
    assert_series(read, series)
    assert [path.tolist() for path in read.actions] == [[2] * len(one) for one in series]
    assert_series(read_sequences(save_v73("one.mat", X=series[0].T)), [series[0]])  # n_dims x n_steps, as MATLAB has it


def test_matrices_of_version_7_3(save_v73, matrices):
    stacked = np.moveaxis(matrices, 0, -1)
    cells = [{"Sigma": one, "mu": np.ones((3, 1))} for one in matrices]
    for path in (save_v73("a.mat", S=stacked), save_v73("b.mat", C=list(matrices)), save_v73("c.mat", C=cells)):
        np.testing.assert_array_equal(read_matrices(path).matrices, matrices)


def test_version_7_3_as_another_library_writes_it(tmp_path, series, matrices, assert_series):
    hdf5storage = pytest.importorskip("hdf5storage")
    cells = np.empty((1, 3), dtype=object)
    cells[0, :] = series
    path = str(tmp_path / "set.mat")
    hdf5storage.savemat(path, {"Data": cells, "S": np.moveaxis(matrices, 0, -1)}, format="7.3")
    assert_series(read_sequences(path, variable="Data"), series)
    np.testing.assert_array_equal(read_matrices(path, variable="S").matrices, matrices)


def test_without_h5py_the_extra_is_named(save_v73, tmp_path, series, monkeypatch):
    path = save_v73(Data=series)
    (tmp_path / "x.h5").write_bytes(b"HDF")
    monkeypatch.setitem(sys.modules, "h5py", None)
    for name in (path, tmp_path / "x.h5"):
        with pytest.raises(ImportError, match=r"h5py, which is not installed. pip install 'homothety\[hdf5\]' brings"):
            read_sequences(name)
