"""Good files to begin with: one of every format that can be read, fitted models, and folders of runs."""

from __future__ import annotations

import json
import shutil
import warnings
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from typing import TYPE_CHECKING, Any

import numpy as np

import homothety
from homothety.cli import main
from homothety.datasets import make_toy_2d, make_toy_3d

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

BVH = """HIERARCHY
ROOT Hips
{
  OFFSET 0.0 0.0 0.0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT Knee
  {
    OFFSET 0.0 -2.0 0.0
    CHANNELS 3 Zrotation Xrotation Yrotation
    End Site
    {
      OFFSET 0.0 -1.0 0.0
    }
  }
}
MOTION
Frames: 3
Frame Time: 0.01
1 2 3 0 0 0 0 0 0
1 2 3 90 0 0 0 0 0
1 2 3 90 90 0 0 90 0
"""
QUICK = ("--chains", "2", "--sweeps", "6", "--quiet")


def write_goods(folder: Path, names: Iterable[str] | None = None) -> None:
    """Write everything into folders called after what is attacked; formats whose library is missing are left out.

    With `names`, only these models are fitted, and no run is made.
    """
    rng = np.random.default_rng(0)
    for name in ("series", "matrices", "models", "runs", "checkpoints"):
        (folder / name).mkdir(parents=True)
    _write_series(folder / "series", rng)
    _write_matrices(folder / "matrices")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in models() if names is None else names:
            models()[name]().fit(data_for(name)).save(folder / "models" / f"{name}.homothety")
        for name in ("shapes", "icsc", "actions") if names is None else names:
            make_checkpoint(name, folder / "checkpoints" / name)
        if names is None:
            _write_runs(folder)


def _write_series(folder: Path, rng: np.random.Generator) -> None:
    series = [rng.normal(size=(n_steps, 3)).round(4) for n_steps in (8, 9)]
    lengths, labels = [8, 9], np.arange(17) // 6
    np.save(folder / "one.npy", series[0])
    np.savez(folder / "many.npz", X=np.concatenate(series), lengths=lengths, labels=labels, channels=["x", "y", "z"])
    np.savez_compressed(folder / "each.npz", a=series[0], b=series[1])
    rows = [f"{i % 2},{i / 10},{','.join(map(str, row))},{i // 6}" for i, row in enumerate(np.concatenate(series))]
    (folder / "table.csv").write_text("\n".join(["episode,time,x,y,z,label", *rows]) + "\n")
    (folder / "walk.bvh").write_text(BVH)
    for write in (_write_mat, _write_hdf5, _write_parquet, _write_c3d, _write_fif, _write_bags):
        with suppress(ImportError):
            write(folder, series)


def _write_mat(folder: Path, series: list[Any]) -> None:
    from scipy.io import savemat

    cells = np.empty((1, 2), dtype=object)
    cells[0, :] = series
    savemat(folder / "cells.mat", {"data": cells}, do_compression=False)
    savemat(folder / "packed.mat", {"X": series[0], "labels": np.arange(8)}, do_compression=True)


def _write_hdf5(folder: Path, series: list[Any]) -> None:
    import h5py

    with h5py.File(folder / "each.h5", "w") as file:
        file.create_dataset("data/a/x", data=series[0], compression="gzip")
        file.create_dataset("data/b/x", data=series[1])
        file["names"] = np.array(["a", "b"], dtype="S")


def _write_parquet(folder: Path, series: list[Any]) -> None:
    import pyarrow
    from pyarrow import parquet

    steps = np.concatenate(series)
    columns = {"observation.state": steps.tolist(), "episode_index": [0] * 8 + [1] * 9, "timestamp": np.arange(17) / 30}
    parquet.write_table(pyarrow.table(columns), folder / "log.parquet")


def _write_c3d(folder: Path, series: list[Any]) -> None:
    import c3d

    writer = c3d.Writer(point_rate=100)
    writer.set_point_labels(["LASI"])
    for row in series[0]:
        writer.add_frames([(np.hstack([row[None], np.zeros((1, 2))]).astype(np.float32), np.empty((0, 0)))])
    with (folder / "walk.c3d").open("wb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        writer.write(file)


def _write_fif(folder: Path, series: list[Any]) -> None:
    import mne

    info = mne.create_info(["Fz", "Cz", "Pz"], 100.0, ["eeg"] * 3)
    events = np.column_stack([np.arange(4) * 100, np.zeros(4, int), [1, 2, 1, 1]])
    data = np.random.default_rng(1).normal(size=(4, 3, 20)) * 1e-5
    epochs = mne.EpochsArray(data, info, events, event_id={"left": 1, "right": 2}, verbose="ERROR")
    epochs.save(folder / "demo-epo.fif", verbose="ERROR")


def _write_bags(folder: Path, series: list[Any]) -> None:
    from rosbags import rosbag1, rosbag2
    from rosbags.typesys import Stores, get_typestore

    kind = "geometry_msgs/msg/Point"
    store = get_typestore(Stores.ROS1_NOETIC)
    with rosbag1.Writer(folder / "demo.bag") as bag:
        connection = bag.add_connection("/x", kind, typestore=store)
        for time, row in enumerate(series[0]):
            bag.write(connection, time, store.serialize_ros1(store.types[kind](*row), kind))
    store = get_typestore(Stores.ROS2_HUMBLE)
    with rosbag2.Writer(folder / "ros2", version=9, storage_plugin=rosbag2.StoragePlugin.MCAP) as bag:
        connection = bag.add_connection("/x", kind, typestore=store)
        for time, row in enumerate(series[0]):
            bag.write(connection, time, store.serialize_cdr(store.types[kind](*row), kind))
    shutil.move(next((folder / "ros2").glob("*.mcap")), folder / "demo.mcap")
    shutil.rmtree(folder / "ros2")


def _write_matrices(folder: Path) -> None:
    matrices = _some_matrices(8)
    np.save(folder / "one.npy", matrices)
    np.savez(folder / "many.npz", matrices=matrices, labels=np.arange(8) // 4, grid=[2, 4])
    rows = (",".join(map(str, matrix[np.triu_indices(3)])) for matrix in matrices)
    (folder / "table.csv").write_text("\n".join(["a,b,c,d,e,f", *rows]) + "\n")
    with suppress(ImportError):
        from scipy.io import savemat

        savemat(folder / "set.mat", {"S": np.moveaxis(matrices, 0, -1)})
    with suppress(ImportError):
        import nibabel

        values = np.stack([matrix[np.tril_indices(3)] for matrix in matrices]).reshape(2, 2, 2, 6)
        for name in ("tensors.nii", "tensors.nii.gz"):
            nibabel.save(nibabel.Nifti1Image(values.astype(np.float32), np.eye(4)), folder / name)


def _some_matrices(number: int) -> Any:
    """Return 3 x 3 matrices of a few shapes."""
    matrices = make_toy_3d(random_state=0).matrices
    return np.concatenate([matrices, 2 * matrices, 3 * matrices])[:number]


def models() -> dict[str, Callable[[], Any]]:
    """Return estimators that are fitted in a moment, by name."""
    quick: dict[str, Any] = {"n_chains": 2, "n_sweeps": 6, "random_state": 0}
    return {
        "shapes": lambda: homothety.SPCMMixture(**quick),
        "links": lambda: homothety.SPCMMixture(model="links", **quick),
        "ibp": lambda: homothety.IBPHMM(**quick),
        "icsc": lambda: homothety.ICSCHMM(**quick),
        "hdp": lambda: homothety.StickyHDPHMM(**quick),
        "hmm": lambda: homothety.HMMSelection(max_states=2, n_init=1, random_state=0),
        "actions": lambda: homothety.ActionHMM(**quick),
    }


def data_for(name: str) -> Any:
    """Return what a model is fitted to."""
    if name in ("shapes", "links"):
        return _some_matrices(12)
    return [one[:40] for one in make_toy_2d(0, n_steps=60).sequences[:2]]


def _write_runs(folder: Path) -> None:
    """Write runs that say that they are not finished."""
    np.save(folder / "set.npy", data_for("shapes"))
    np.savez(folder / "demos.npz", **{f"r{i}": one for i, one in enumerate(data_for("ibp"))})
    commands = {
        "cluster": ("cluster", folder / "set.npy"),
        "segment": ("segment", folder / "demos.npz", "--model", "icsc"),
    }
    for name, words in commands.items():
        told = [str(word) for word in (*words, "-o", folder / "runs" / name, *QUICK)]
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            assert main(told) == 0
        record = folder / "runs" / name / "run.json"
        record.write_text(json.dumps(json.loads(record.read_text()) | {"finished": False}))
        for picture in (folder / "runs" / name).glob("*.png"):
            picture.unlink()
        shutil.rmtree(folder / "runs" / name / "figures", ignore_errors=True)


def make_checkpoint(name: str, folder: Path) -> None:
    """Fit a model that writes what it does into a folder, and go on from there to have a position before the last."""
    for n_sweeps in (4, 6):
        model = models()[name]()
        model.set_params(checkpoint=str(folder), n_burn=2, n_sweeps=n_sweeps).fit(data_for(name))
