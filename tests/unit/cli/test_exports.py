"""Options of `homothety segment` for files that other programs read."""

from __future__ import annotations

import json

import numpy as np
import pytest

import homothety
from homothety import export
from homothety.datasets import make_toy_2d


@pytest.fixture
def series_file(tmp_path):
    toy = make_toy_2d(0, n_steps=30)
    path = tmp_path / "demos.npz"
    np.savez(path, X=np.concatenate(toy.sequences), lengths=[len(one) for one in toy.sequences], channels=["l", "r"])
    return path


def test_everything_that_can_be_exported(run, series_file, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    quick = ("--chains", "1", "--sweeps", "6", "--quiet", "--model", "icsc")
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "labels.csv").touch()
    pytest.importorskip("pympi")
    pytest.importorskip("rerun")
    asked = ("--format", "parquet", "--export", "elan,ruptures,aeon,moments,rerun", "--rate", "100")
    assert run("segment", series_file, "-o", folder, *quick, *asked).status == 0
    model = homothety.load(folder / "model.homothety")

    tables = ("segments", "action_segments", "boundaries", "action_boundaries", "labels", "transforms")
    assert {path.stem for path in folder.glob("*.parquet")} == set(tables)
    assert list(folder.glob("*.csv")) == []  # of the run before
    assert parquet.read_table(folder / "segments.parquet").to_pylist() == model.result_.tables()["segments"]
    assert "`segments.parquet`: segments of one state each" in (folder / "summary.md").read_text()

    ends, starts = (json.loads((folder / f"changes_{kind}.json").read_text()) for kind in ("ruptures", "aeon"))
    assert ends["demos 1"] == {
        "state": export.to_ruptures(model.paths_[1]),
        "action": export.to_ruptures(model.actions_[1]),
    }
    assert [0, *starts["demos 1"]["state"]] == [0, *ends["demos 1"]["state"]][:-1]
    assert [path.name for path in sorted((folder / "elan").iterdir())] == [f"demos_{i}.eaf" for i in range(4)]
    with np.load(folder / "moments.npz", allow_pickle=False) as moments:
        assert moments["state_means"].shape == (model.n_states_, 2)
        assert moments["action_steps"].sum() == sum(map(len, model.actions_))

    assert (folder / "segments.rrd").stat().st_size > 1000
    (folder / "elan" / "by hand.eaf").touch()
    assert run("segment", series_file, "-o", folder, *quick, "--export", "aeon").status == 0
    assert {path.name for path in (folder / "elan").iterdir()} == {"by hand.eaf"}
    assert not {"changes_ruptures.json", "moments.npz", "segments.rrd"} & {path.name for path in folder.iterdir()}
    assert (folder / "changes_aeon.json").is_file()


def test_subtasks_of_a_lerobot_set(run, tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    toy = make_toy_2d(0, n_steps=30)
    tables = [
        pyarrow.table(
            {
                "observation.state": one.tolist(),
                "timestamp": np.arange(len(one), dtype=np.float32) / 10,
                "episode_index": np.full(len(one), number),
            }
        )
        for number, one in enumerate(toy.sequences)
    ]
    source, folder = tmp_path / "set", tmp_path / "results"
    (source / "meta").mkdir(parents=True)
    (source / "data/chunk-000").mkdir(parents=True)
    (source / "meta/info.json").write_text(json.dumps({"codebase_version": "v3.0", "fps": 10, "features": {}}))
    parquet.write_table(pyarrow.concat_tables(tables), source / "data/chunk-000/file-000.parquet")
    quick = ("--model", "hmm", "--quiet")
    assert run("segment", source, "-o", folder, *quick, "--export", "lerobot").status == 0
    model = homothety.load(folder / "model.homothety")
    table = parquet.read_table(folder / "lerobot-subtasks/data/chunk-000/file-000.parquet").to_pydict()
    found = [row["content"] for row in table["language_persistent"][-1]]
    assert found == [f"state {one.label}" for one in model.result_.states.segments if one.series == 3]
    assert run("segment", source, "-o", folder, *quick).status == 0
    assert not (folder / "lerobot-subtasks").exists()


def test_subtasks_of_a_robomimic_file(run, tmp_path):
    h5py = pytest.importorskip("h5py")
    toy = make_toy_2d(0, n_steps=30)
    with h5py.File(tmp_path / "low_dim.hdf5", "w") as file:
        for number, one in enumerate(toy.sequences):
            file[f"data/demo_{number}/obs/eef_pos"] = one
            file[f"data/demo_{number}/actions"] = one
    folder = tmp_path / "results"
    asked = ("--variable", "data/*/obs/eef_pos", "--export", "robomimic", "--model", "hmm")
    answer = run("segment", tmp_path / "low_dim.hdf5", "-o", folder, *asked)
    assert answer.status == 0
    model = homothety.load(folder / "model.homothety")
    with h5py.File(folder / "robomimic.hdf5") as file:
        assert file["data/demo_3/subtask_index"][:].tolist() == model.paths_[3].tolist()
        assert ("no signals for MimicGen" in answer.err) == (len(file["data"].attrs["subtasks"]) == 0)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--export", "elan"), "--export elan needs the steps per second"),
        (("--export", "elan", "--rate", "-1"), "--rate is -1.0, needed a finite number above 0"),
        (("--rate", "0"), "--rate is 0.0, needed a finite number above 0"),
        (("--export", "excel"), "--export names 'excel', needed some of ruptures, aeon, elan, lerobot"),
        (("--export", "lerobot"), "--export lerobot needs recordings of a LeRobot data set"),
        (("--export", "robomimic"), "--export robomimic needs recordings of an HDF5 file of robomimic"),
    ],
)
def test_what_cannot_be_exported_is_said_before_the_work(run, series_file, tmp_path, options, said):
    answer = run("segment", series_file, "-o", tmp_path / "results", *options)
    assert (answer.status, said in answer.error) == (2, True)


def test_topics_are_listed_in_the_words_of_the_command(run, tmp_path):
    rosbag1 = pytest.importorskip("rosbags.rosbag1")
    typesys = pytest.importorskip("rosbags.typesys")
    store = typesys.get_typestore(typesys.Stores.ROS1_NOETIC)
    with rosbag1.Writer(tmp_path / "arm.bag") as bag:
        for topic in ("/a", "/b"):
            connection = bag.add_connection(topic, "geometry_msgs/msg/Point", typestore=store)
            point = store.types["geometry_msgs/msg/Point"](1.0, 2.0, 3.0)
            bag.write(connection, 1, store.serialize_ros1(point, "geometry_msgs/msg/Point"))
    answer = run("segment", tmp_path / "arm.bag", "-o", tmp_path / "results")
    assert answer.status == 2
    assert "it has /a (geometry_msgs/msg/Point, 1 messages); /b" in answer.error
    assert "Say which to read with --topic." in answer.error
