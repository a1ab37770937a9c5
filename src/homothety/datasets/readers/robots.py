"""Recordings of robots: the messages of one topic of ROS 1 or ROS 2, and the episodes of LeRobot data sets."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.datasets.readers.checks import blame_file, find_columns, natural_order, require, whole_series
from homothety.datasets.readers.tables import ParquetFrame, cut_table, load_parquet
from homothety.errors import InputError
from homothety.times import as_seconds, is_increasing, rate_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from homothety.arrays import FloatArray
    from homothety.datasets.readers.checks import Column, Columns
    from homothety.datasets.sets import SequenceSet

_METADATA = "metadata.yaml"  # what makes a folder a recording of ROS 2
_MAX_CHANNELS = 1000  # more numbers in a message are an image or a cloud of points
_NOT_MEASURED = ("std_msgs/msg/Header", "builtin_interfaces/msg/Time", "builtin_interfaces/msg/Duration")
_PLAIN_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?:/[A-Za-z][A-Za-z0-9_]*)*")
_REMEDY = "Check that the recording was closed: 'rosbag reindex' and 'ros2 bag reindex' mend one that was not."

_DESCRIPTION = "meta/info.json"  # what makes a folder a LeRobot data set
_TABLES = "data/chunk-*/*.parquet"  # one episode per file up to version 2.1, many per file since version 3.0
_EPISODE, _STATE = "episode_index", "observation.state"


# --- ROS --------------------------------------------------------------------------------------------------------------


def is_ros2_folder(folder: Path) -> bool:
    """Tell whether a folder is one recording of ROS 2."""
    return (folder / _METADATA).is_file()


def read_bag_series(path: Path, columns: Columns, topic: str | None) -> SequenceSet:
    """Read the numbers in the messages of a topic as one recording, in order of time."""
    version = "rosbag1" if path.suffix.lower() == ".bag" else "rosbag2"
    rosbag = require(f"rosbags.{version}", "ros", f"Reading {path}")
    with blame_file(path, _REMEDY), rosbag.Reader(path) as bag:
        steps, channels, times = _numbers(bag, _choose_topic(bag, topic, path), path)
    return whole_series([steps], columns, channels, path, rate=rate_of([times], [path.stem]))


def _choose_topic(bag: Any, topic: str | None, path: Path) -> str:
    """Return the topic that was asked for, or the only one, or raise listing the topics of the recording."""
    topics = bag.topics
    if topic is None and len(topics) == 1:
        return next(iter(topics))
    name = topic if topic in topics or topic is None else f"/{topic}"
    if name in topics:
        return str(name)
    there = "; ".join(f"{one} ({info.msgtype}, {info.msgcount} messages)" for one, info in sorted(topics.items()))
    missing = "has several topics" if topic is None else f"has no topic {topic!r}"
    raise InputError(f"{path} {missing}; it has {there or 'none'}. Say which to read with topic=.", "topic")


def _numbers(bag: Any, topic: str, path: Path) -> tuple[FloatArray, tuple[str, ...], FloatArray | None]:
    """Return the numbers in all messages of a topic, shape (n_messages, n_channels), their names, and the times."""
    connections = [one for one in bag.connections if one.topic == topic]
    decode = _decoder(connections, is_ros1=path.suffix.lower() == ".bag")
    first = next(bag.messages(connections=connections), None)
    if first is None:
        raise InputError(f"{path}, topic {topic} has no messages, needed at least one.")
    n_channels = len(dict(_flattened(decode(first[2], first[0].msgtype))))
    if not 1 <= n_channels <= _MAX_CHANNELS:  # before all the others are read, which may be images
        raise InputError(
            f"{path}, topic {topic} has {n_channels} numbers in a message, needed 1 to {_MAX_CHANNELS}. "
            "Choose a topic of measurements with topic=.",
            "topic",
        )
    messages = sorted(bag.messages(connections=connections), key=lambda message: message[1])
    rows, stamps = [], []
    for connection, _, raw in messages:
        message = decode(raw, connection.msgtype)
        rows.append(dict(_flattened(message)))
        stamps.append(_stamp(message))
    _check_same_channels(rows, f"{path}, topic {topic}")
    numbers = np.array([list(row.values()) for row in rows], dtype=np.float64)
    times = as_seconds(np.array(stamps), 1e-9)
    if not is_increasing(times):  # without stamps, or with wrong ones: when the messages were recorded
        times = as_seconds(np.array([arrival for _, arrival, _ in messages]), 1e-9)
    return numbers, tuple(rows[0]), times


def _stamp(message: Any) -> int:
    """Return the stamp in the header of a message in nanoseconds; 0 without one."""
    stamp: Any = getattr(getattr(message, "header", None), "stamp", None)
    return 10**9 * int(stamp.sec) + int(stamp.nanosec) if hasattr(stamp, "nanosec") else 0


def _check_same_channels(rows: list[dict[str, float]], item: str) -> None:
    """Raise naming a message that does not have the numbers that the first one has."""
    channels = tuple(rows[0])
    for number, row in enumerate(rows):
        if tuple(row) != channels:
            raise InputError(
                f"{item}: message {number}, counted from 0, has the numbers {', '.join(row) or 'none'}, "
                f"but the first has {', '.join(channels)}. Needed the same in all; choose another topic."
            )


def _decoder(connections: list[Any], *, is_ros1: bool) -> Callable[[bytes, str], Any]:
    """Return what makes messages of bytes, by the definitions the recording holds, or else by those of ROS itself."""
    from rosbags.interfaces import MessageDefinitionFormat as Format
    from rosbags.typesys import Stores, get_types_from_idl, get_types_from_msg, get_typestore

    types: dict[str, Any] = {}
    for one in connections:
        _check_plain(one.msgtype)
        if one.msgdef.format == Format.MSG:
            types |= get_types_from_msg(one.msgdef.data, one.msgtype)
        elif one.msgdef.format == Format.IDL:
            types |= get_types_from_idl(one.msgdef.data)
    store = get_typestore(Stores.EMPTY if types else Stores.LATEST)
    if types:
        fields = {name: fields for name, (_, fields) in types.items()}
        _check_plain(fields)
        store.register({name: ([], one) for name, one in fields.items()})
    return store.deserialize_ros1 if is_ros1 else store.deserialize_cdr


def _check_plain(definition: Any) -> None:
    """Raise unless all text in the definition of a message is plain names: the library makes code of it."""
    if isinstance(definition, str) and not _PLAIN_NAME.fullmatch(definition):
        raise InputError(f"A message is defined by {definition!r}, needed a name. The recording is not to be trusted.")
    if isinstance(definition, dict):
        definition = definition.items()
    if not isinstance(definition, str) and hasattr(definition, "__iter__"):
        for part in definition:
            _check_plain(part)


def _flattened(message: Any, prefix: str = "") -> Iterator[tuple[str, float]]:
    """Yield the numbers in a message by their names, such as "pose.position.x"; headers and times are left out."""
    names = _joint_names(message)
    for field in dataclasses.fields(message):
        if field.name == "__msgtype__":
            continue
        value, name = getattr(message, field.name), f"{prefix}{field.name}"
        if isinstance(value, np.ndarray) and len(names) == len(value):
            yield from ((f"{name}.{joint}", float(one)) for joint, one in zip(names, value, strict=True))
        else:
            yield from _flattened_value(value, name)


def _flattened_value(value: Any, name: str) -> Iterator[tuple[str, float]]:
    """Yield the numbers in one field."""
    if isinstance(value, bool | int | float | np.number):
        yield name, float(value)
    elif isinstance(value, list | tuple | np.ndarray):
        for place, one in enumerate(value[: _MAX_CHANNELS + 1]):
            yield from _flattened_value(one, f"{name}[{place}]")
    elif dataclasses.is_dataclass(value) and getattr(value, "__msgtype__", "") not in _NOT_MEASURED:
        yield from _flattened(value, f"{name}.")


def _joint_names(message: Any) -> list[str]:
    """Return the names of joints, where a message gives them beside arrays of numbers."""
    names = getattr(message, "name", None)
    return names if isinstance(names, list) and all(isinstance(one, str) for one in names) else []


# --- LeRobot ----------------------------------------------------------------------------------------------------------


def is_lerobot_folder(folder: Path) -> bool:
    """Tell whether a folder is a LeRobot data set."""
    return (folder / _DESCRIPTION).is_file()


def read_lerobot_series(path: Path, columns: Columns, labels: Column | None) -> SequenceSet:
    """Read one recording per episode."""
    files = sorted(path.glob(_TABLES), key=lambda file: natural_order(str(file)))
    if not files:
        raise InputError(f"{path} has no {_TABLES}, needed the tables of the episodes. Download the whole data set.")
    there = _column_names(files[0])
    measured, labelled = (
        [there[at] for at in find_columns(wanted, there, len(there), path)] if wanted is not None else []
        for wanted in (_STATE if columns is None else columns, labels)
    )
    frame = ParquetFrame(path, _joined(files, [*measured, _EPISODE, *labelled]))
    episodes = cut_table(frame, path, measured, _EPISODE, labels=labelled[0] if labelled else None)
    with blame_file(path / _DESCRIPTION, "Download the data set again."):
        described = json.loads((path / _DESCRIPTION).read_text(encoding="utf-8"))
    features, rate = (described.get(key) if isinstance(described, dict) else None for key in ("features", "fps"))
    channels = [name for column in measured for name in _channel_names(column, features, episodes.channels)]
    return dataclasses.replace(
        episodes,
        names=tuple(f"episode {name}" for name in episodes.names),
        channels=tuple(channels) if len(channels) == episodes.n_dims else episodes.channels,
        rate=rate if isinstance(rate, int | float) and rate > 0 else None,
    )


def _column_names(file: Path) -> list[str]:
    """Return the names of the columns of a table without reading it."""
    parquet = require("pyarrow.parquet", "parquet", f"Reading {file}")
    with blame_file(file, "Download it again."):
        return [str(name) for name in parquet.read_schema(file).names]


def _joined(files: list[Path], columns: list[str]) -> Any:
    """Return the wanted columns of all files as one table."""
    pyarrow = require("pyarrow", "parquet", f"Reading {files[0]}")
    tables = [load_parquet(file, columns) for file in files]
    with blame_file(files[0].parent, "All tables must have the same columns."):
        return pyarrow.concat_tables([table.select(columns) for table in tables])


def _channel_names(column: str, features: Any, usual: tuple[str, ...]) -> list[str]:
    """Return what the dimensions of a column are called: as the data set says, in a list or in one inside a mapping."""
    feature = features.get(column) if isinstance(features, dict) else None
    names = feature.get("names") if isinstance(feature, dict) else None
    if isinstance(names, dict):
        names = next((one for one in names.values() if isinstance(one, list)), None)
    plain = [name for name in usual if name == column or name.startswith(f"{column}[")]
    if not isinstance(names, list) or len(names) != len(plain):
        return plain
    return [f"{column}.{name}" for name in names] if len(names) > 1 else plain
