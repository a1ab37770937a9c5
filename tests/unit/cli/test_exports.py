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
    asked = ("--format", "parquet", "--export", "elan,ruptures,aeon,moments", "--rate", "100")
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

    (folder / "elan" / "by hand.eaf").touch()
    assert run("segment", series_file, "-o", folder, *quick, "--export", "aeon").status == 0
    assert {path.name for path in (folder / "elan").iterdir()} == {"by hand.eaf"}
    assert not {"changes_ruptures.json", "moments.npz"} & {path.name for path in folder.iterdir()}
    assert (folder / "changes_aeon.json").is_file()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--export", "elan"), "--export elan needs the steps per second"),
        (("--export", "elan", "--rate", "-1"), "--rate is -1.0, needed a finite number above 0"),
        (("--rate", "0"), "--rate is 0.0, needed a finite number above 0"),
        (("--export", "excel"), "--export names 'excel', needed some of ruptures, aeon, elan, moments"),
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
