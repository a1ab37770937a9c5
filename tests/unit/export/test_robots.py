"""Subtasks in data sets of robots, and paths on a timeline, are read by the libraries of their users."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from fabricated import make_framed_segmentation, make_recordings, make_segmentation
from homothety import export
from homothety.datasets import read_sequences
from homothety.errors import InputError
from homothety.palette import cluster_colors, to_hex
from homothety.preprocessing import Preprocessing
from homothety.summaries.positions import aligned_places

PATHS = {0: [0, 0, 1, 1, 1], 1: [1, 1, 0, 0, 0, 1, 1]}
RATE = 10


# LeRobot


@pytest.fixture
def lerobot_set(tmp_path):
    """Write a data set of version 3: a file of two episodes, and one of a third; the second has a plan."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    folder = tmp_path / "set"
    plan = {"role": "user", "content": "grate", "style": "plan", "timestamp": 0.0, "camera": None, "tool_calls": None}
    stale = plan | {"style": "subtask", "content": "old"}
    files = {"file-000": [(0, 5, []), (1, 7, [plan, stale])], "file-001": [(2, 4, [stale])]}
    (folder / "data/chunk-000").mkdir(parents=True)
    (folder / "meta").mkdir()
    for name, episodes in files.items():
        numbers = np.concatenate([np.full(n_steps, number) for number, n_steps, _ in episodes])
        times = np.concatenate([np.arange(n_steps) / RATE for _, n_steps, _ in episodes]).astype(np.float32)
        table = {
            "observation.state": np.random.default_rng(0).normal(size=(len(numbers), 2)).tolist(),
            "timestamp": times,
            "episode_index": numbers,
            "language_persistent": [rows for _, n_steps, rows in episodes for _ in range(n_steps)],
        }
        parquet.write_table(pyarrow.table(table), folder / f"data/chunk-000/{name}.parquet")
    features = {"observation.state": {"dtype": "float32", "shape": [2], "names": None}}
    (folder / "meta/info.json").write_text(
        json.dumps({"codebase_version": "v3.0", "fps": RATE, "features": features, "total_episodes": 3})
    )
    return folder


def subtasks_at(rows, time):
    """Return the subtask at a time by LeRobot's rule: the last one that began."""
    begun = [row for row in rows if row["style"] == "subtask" and row["timestamp"] <= time]
    return begun[-1]["content"]


def test_subtasks_of_a_lerobot_set_are_those_of_every_step(lerobot_set, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    before = {path: path.read_bytes() for path in lerobot_set.rglob("*") if path.is_file()}
    files = export.write_lerobot(tmp_path / "new", lerobot_set, PATHS, ["reach", "grate"])
    assert files == ["meta/info.json", "data/chunk-000/file-000.parquet", "data/chunk-000/file-001.parquet"]
    table = parquet.read_table(tmp_path / "new" / files[1]).to_pydict()
    found = [
        subtasks_at(rows, time) for rows, time in zip(table["language_persistent"], table["timestamp"], strict=True)
    ]
    assert found == [["reach", "grate"][label] for path in PATHS.values() for label in path]
    first = [
        rows for rows, number in zip(table["language_persistent"], table["episode_index"], strict=True) if not number
    ]
    assert all(rows == first[0] for rows in first)
    assert [row["style"] for row in table["language_persistent"][5]] == ["plan", "subtask", "subtask", "subtask"]
    assert set(map(tuple, table["language_events"])) == {()}
    untouched = parquet.read_table(tmp_path / "new" / files[2]).to_pydict()
    assert [row["content"] for row in untouched["language_persistent"][0]] == ["old"]
    info = json.loads((tmp_path / "new/meta/info.json").read_text())
    assert info["features"]["language_persistent"] == {"dtype": "language", "shape": [1], "names": None}
    assert {path: path.read_bytes() for path in lerobot_set.rglob("*") if path.is_file()} == before


def test_a_lerobot_set_with_subtasks_is_read_again(lerobot_set, tmp_path):
    files = export.write_lerobot(tmp_path / "new", lerobot_set, PATHS)
    before = read_sequences(lerobot_set)
    for name in files:
        shutil.copy(tmp_path / "new" / name, lerobot_set / name)
    after = read_sequences(lerobot_set)
    for one, other in zip(before.sequences, after.sequences, strict=True):
        np.testing.assert_array_equal(one, other)


def test_hugging_face_reads_subtasks_with_the_features_of_lerobot(lerobot_set, tmp_path):
    datasets = pytest.importorskip("datasets")
    files = export.write_lerobot(tmp_path / "new", lerobot_set, PATHS, ["reach", "grate"])
    text, json_or_text = datasets.Value("string"), getattr(datasets, "Json", lambda: datasets.Value("string"))()
    row = {"role": text, "content": text, "style": text, "camera": text, "tool_calls": datasets.List(json_or_text)}
    features = datasets.Features(
        {
            "observation.state": datasets.List(datasets.Value("float64")),
            "timestamp": datasets.Value("float32"),
            "episode_index": datasets.Value("int64"),
            "language_persistent": datasets.List(row | {"timestamp": datasets.Value("float32")}),
            "language_events": datasets.List(row),
        }
    )
    paths = [str(tmp_path / "new" / name) for name in files[1:]]
    read = datasets.Dataset.from_parquet(paths, features=features, cache_dir=str(tmp_path / "cache"))
    step = read[7]
    assert (step["episode_index"], subtasks_at(step["language_persistent"], step["timestamp"])) == (1, "reach")


def test_lerobot_sets_that_cannot_be_annotated(lerobot_set, tmp_path):
    pytest.importorskip("pyarrow")
    with pytest.raises(InputError, match=r"episode 0 has 5 steps, but there are 2 labels"):
        export.write_lerobot(tmp_path / "new", lerobot_set, {0: [0, 1]})
    with pytest.raises(InputError, match="is the data set itself"):
        export.write_lerobot(lerobot_set, lerobot_set, PATHS)
    with pytest.raises(InputError, match="needed a LeRobot data set"):
        export.write_lerobot(tmp_path / "new", tmp_path, PATHS)
    info = lerobot_set / "meta/info.json"
    info.write_text(info.read_text().replace("v3.0", "v2.1"))
    with pytest.raises(InputError, match=r"has version v2.1, needed version 3"):
        export.write_lerobot(tmp_path / "new", lerobot_set, PATHS)


# robomimic and MimicGen


@pytest.fixture
def robomimic_file(tmp_path):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "low_dim.hdf5"
    with h5py.File(path, "w") as file:
        for demo, n_steps in enumerate((6, 7)):
            group = file.create_group(f"data/demo_{demo}")
            group["actions"] = np.zeros((n_steps, 3))
            group["obs/eef_pos"] = np.zeros((n_steps, 3))
    return path


def segments_by_mimicgen(group, signals):
    """Return the bounds of segments by MimicGen's rule: the first change of a signal is at the last step."""
    ends = [
        int(np.flatnonzero(np.diff(group[f"datagen_info/subtask_term_signals/{name}"][:]))[0]) + 2 for name in signals
    ]
    return [0, *ends, len(group["actions"])]


def test_subtasks_of_a_robomimic_file(robomimic_file, tmp_path):
    h5py = pytest.importorskip("h5py")
    paths = {"demo_0": [1, 1, 0, 0, 1, 1], "demo_1": [1, 1, 1, 0, 1, 1, 1]}
    assert export.write_robomimic(tmp_path / "new.hdf5", robomimic_file, paths, ["reach/in", "grate"])
    with h5py.File(tmp_path / "new.hdf5") as file:
        assert file["data/demo_1/subtask_index"][:].tolist() == paths["demo_1"]
        signals = list(file["data"].attrs["subtasks"])
        assert signals == ["grate_1", "reach_in_1"]
        assert list(file["data"].attrs["subtask_names"]) == ["reach/in", "grate"]
        assert segments_by_mimicgen(file["data/demo_0"], signals) == [0, 2, 4, 6]
        assert segments_by_mimicgen(file["data/demo_1"], signals) == [0, 3, 4, 7]
    with h5py.File(robomimic_file) as file:
        assert "subtask_index" not in file["data/demo_0"]


@pytest.mark.parametrize(
    ("first", "second"), [([0] * 3 + [1] * 3, [1] * 3 + [0] * 4), ([0] + [1] * 5, [0] + [1] * 6), ([0] * 6, [0] * 7)]
)
def test_without_one_order_there_are_no_signals(robomimic_file, tmp_path, first, second):
    h5py = pytest.importorskip("h5py")
    assert not export.write_robomimic(tmp_path / "new.hdf5", robomimic_file, {"demo_0": first, "demo_1": second})
    with h5py.File(tmp_path / "new.hdf5") as file:
        assert file["data/demo_0/subtask_index"][:].tolist() == first
        assert "datagen_info" not in file["data/demo_0"]


def test_robomimic_files_that_cannot_be_annotated(robomimic_file, tmp_path):
    h5py = pytest.importorskip("h5py")
    with pytest.raises(InputError, match="has no group data/demo_7"):
        export.write_robomimic(tmp_path / "new.hdf5", robomimic_file, {"demo_7": [0]})
    with pytest.raises(InputError, match="data/demo_0 has 6 steps, but there are 1 labels"):
        export.write_robomimic(tmp_path / "new.hdf5", robomimic_file, {"demo_0": [0]})
    with h5py.File(robomimic_file, "r+") as file:
        file["data/demo_0/datagen_info"] = h5py.ExternalLink("other.hdf5", "/data")
    with pytest.raises(InputError, match="Links are not followed"):
        export.write_robomimic(tmp_path / "new.hdf5", robomimic_file, {"demo_0": [0] * 3 + [1] * 3})


# rerun


def read_rrd(path):
    """Return the columns of an .rrd file by entity, static and over time."""
    rerun = pytest.importorskip("rerun")
    found = {}
    for chunk in rerun.chunk.RrdReader(path).stream():
        columns = chunk.to_record_batch().to_pydict()
        found.setdefault(str(chunk.entity_path), {}).update(columns)
    return found


def test_recordings_in_frames_on_a_timeline(tmp_path):
    pytest.importorskip("rerun")
    items = make_recordings()
    result = make_framed_segmentation(items).result_
    result = replace(result.with_names(["a", "b", "c"][: result.actions.number]), rate=float(RATE))
    export.write_rerun(tmp_path / "found.rrd", result, items)
    found, first = read_rrd(tmp_path / "found.rrd"), items.names[0].replace(" ", r"\ ")

    now = found[f"/recorded/{first}/now"]
    np.testing.assert_allclose(np.squeeze(now["Points3D:positions"], 1), items.sequences[0], rtol=1e-6)
    assert now["step"] == list(range(len(items.sequences[0])))
    assert now["time"][5] / np.timedelta64(1, "s") == 0.5

    lines = found[f"/aligned/{first}"]["LineStrips3D:strips"][0]
    segments = [one for one in result.actions.segments if one.series == 0]
    assert [len(line) for line in lines[:-1]] == [one.end - one.start + 1 for one in segments[:-1]]
    np.testing.assert_allclose(lines[0][0], aligned_places(result, items, [0, 1, 2])[0][0], rtol=1e-6)
    colors = found[f"/aligned/{first}"]["LineStrips3D:colors"][0]
    expected = [to_hex(*cluster_colors(3)[one.label]) + "ff" for one in segments]
    assert [f"#{color:08x}" for color in colors] == expected

    lane = found[f"/segments/{first}"]
    assert lane["step"] == [*(one.start for one in segments), segments[-1].end]
    names = dict(zip(lane["StateConfiguration:values"][0], lane["StateConfiguration:labels"][0], strict=True))
    assert [names.get(text) for (text,) in lane["StateChange:state"]] == [*("abc"[one.label] for one in segments), None]


@pytest.mark.parametrize("n_dims", [2, 3])
def test_ellipsoids_of_states(n_dims, tmp_path):
    pytest.importorskip("rerun")
    items = make_recordings(n_dims=n_dims)
    result = make_segmentation(items).result_
    export.write_rerun(tmp_path / "found.rrd", result, items)
    found = read_rrd(tmp_path / "found.rrd")
    assert not any(entity.startswith("/aligned") for entity in found)
    states = {
        name.partition(":")[2]: np.array(values[0]) for name, values in found["/recorded/states"].items() if ":" in name
    }
    np.testing.assert_allclose(states["centers"][:, :n_dims], result.means, rtol=1e-5, atol=1e-6)
    turns = Rotation.from_quat(states["quaternions"]).as_matrix()
    spread = turns * (states["half_sizes"][:, None, :] / 2) ** 2 @ turns.transpose(0, 2, 1)
    np.testing.assert_allclose(spread[:, :n_dims, :n_dims], result.covariances, rtol=1e-4, atol=1e-6)


def test_states_without_one_place_have_no_ellipsoids(tmp_path):
    pytest.importorskip("rerun")
    items = make_recordings()
    result = make_segmentation(items).result_
    relative = replace(result, preparation=Preprocessing(centre="series").fit(items.sequences))
    export.write_rerun(tmp_path / "found.rrd", relative, items)
    assert "/recorded/states" not in read_rrd(tmp_path / "found.rrd")
