"""LeRobot data sets in both layouts: one file per episode, and several episodes per file."""

from __future__ import annotations

import json

import numpy as np
import pytest

from homothety.datasets import read_sequences
from homothety.errors import InputError
from homothety.sequences import check_sequences

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

MOTORS = ["shoulder", "elbow"]


@pytest.fixture
def episodes(rng):
    return [rng.normal(size=(n_steps, 2)) for n_steps in (5, 7, 4)]


def table(number, episode):
    return pyarrow.table(
        {
            "observation.state": pyarrow.array(episode.tolist(), pyarrow.list_(pyarrow.float64(), 2)),
            "action": pyarrow.array((episode + 1).tolist(), pyarrow.list_(pyarrow.float64())),
            "timestamp": np.arange(len(episode)) / 30,
            "episode_index": [number] * len(episode),
            "subtask": [f"part {step % 2}" for step in range(len(episode))],
            "image": [b"x"] * len(episode),
        }
    )


def write(folder, files, features):
    (folder / "meta").mkdir(parents=True)
    (folder / "meta/info.json").write_text(json.dumps({"fps": 30, "features": features}))
    for name, tables in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(pyarrow.concat_tables(tables), folder / name)
    return folder


@pytest.fixture(params=["2.1", "3.0"])
def data_set(request, tmp_path, episodes):
    tables = [table(number, episode) for number, episode in enumerate(episodes)]
    if request.param == "2.1":
        files = {f"data/chunk-000/episode_{number:06d}.parquet": [one] for number, one in enumerate(tables)}
        features = {"observation.state": {"dtype": "float32", "shape": [2], "names": {"motors": MOTORS}}}
    else:
        files = {"data/chunk-000/file-000.parquet": tables[:2], "data/chunk-001/file-000.parquet": tables[2:]}
        features = {"observation.state": {"dtype": "float32", "shape": [2], "names": MOTORS}}
    return write(tmp_path / "set", files, features)


def test_one_series_per_episode(data_set, episodes):
    read = read_sequences(data_set)
    assert len(read) == 3
    for found, one in zip(read.sequences, episodes, strict=True):
        np.testing.assert_array_equal(found, one)
    assert read.names == ("episode 0", "episode 1", "episode 2")
    assert read.channels == ("observation.state.shoulder", "observation.state.elbow")
    assert read.actions is None


def test_the_description_tells_the_rate(data_set):
    read = read_sequences(data_set)
    assert check_sequences(read).rate == read.rate == 30
    for described in ({}, {"fps": "30"}, {"fps": 0}):
        (data_set / "meta/info.json").write_text(json.dumps(described))
        assert read_sequences(data_set).rate is None


def test_other_columns_and_labels(data_set, episodes):
    read = read_sequences(data_set, columns=["action", "observation.state"], labels="subtask")
    np.testing.assert_array_equal(read.sequences[2], np.hstack([episodes[2] + 1, episodes[2]]))
    assert read.channels == ("action[0]", "action[1]", "observation.state.shoulder", "observation.state.elbow")
    assert read.actions[2].tolist() == ["part 0", "part 1", "part 0", "part 1"]


def test_bad_data_sets(data_set, tmp_path):
    with pytest.raises(InputError, match=r"no column 'grip'; it has columns observation\.state, action"):
        read_sequences(data_set, columns="grip")
    with pytest.raises(InputError, match=r"group means nothing for .*set"):
        read_sequences(data_set, group="episode_index")
    with pytest.raises(InputError, match="column 'image' is of type binary, needed numbers"):
        read_sequences(data_set, columns="image")
    (data_set / "meta/info.json").write_text("{")
    with pytest.raises(InputError, match=r"info\.json cannot be read"):
        read_sequences(data_set)
    empty = write(tmp_path / "empty", {}, {})
    with pytest.raises(InputError, match=r"has no data/chunk-.*Download the whole data set"):
        read_sequences(empty)
