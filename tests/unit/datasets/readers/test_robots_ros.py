"""Recordings of ROS 1 and ROS 2, written by the library people without ROS use."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from homothety.datasets import read_sequences
from homothety.datasets.readers.robots import _check_plain
from homothety.errors import InputError

rosbag1, rosbag2 = (pytest.importorskip(f"rosbags.rosbag{version}") for version in (1, 2))
typesys = pytest.importorskip("rosbags.typesys")

POSE, JOINTS, TEXT = "geometry_msgs/msg/PoseStamped", "sensor_msgs/msg/JointState", "std_msgs/msg/String"
POSE_CHANNELS = tuple(
    f"pose.{part}" for part in [*(f"position.{axis}" for axis in "xyz"), *(f"orientation.{axis}" for axis in "xyzw")]
)


@pytest.fixture
def poses(rng):
    return rng.normal(size=(6, 7))


def messages(store, poses):
    """Return topic, type, message and time of everything in a recording, out of order."""
    types = store.types
    stamp = types["builtin_interfaces/msg/Time"](sec=5, nanosec=0)
    is_ros1 = "seq" in types["std_msgs/msg/Header"].__dataclass_fields__
    header = types["std_msgs/msg/Header"](stamp=stamp, frame_id="base", **({"seq": 0} if is_ros1 else {}))
    for number, row in reversed(list(enumerate(poses))):
        pose = types["geometry_msgs/msg/Pose"](
            types["geometry_msgs/msg/Point"](*row[:3]), types["geometry_msgs/msg/Quaternion"](*row[3:])
        )
        yield "/arm/pose", POSE, types[POSE](header, pose), 1000 + number
        arm = types[JOINTS](header, ["elbow", "wrist"], row[:2], row[2:4], np.empty(0))
        yield "/joints", JOINTS, arm, 1000 + number
    yield "/note", TEXT, types[TEXT]("hello"), 999


def write_bag(path, poses, storage=None):
    store = typesys.get_typestore(typesys.Stores.ROS2_HUMBLE if storage else typesys.Stores.ROS1_NOETIC)
    plugin = storage and {"storage_plugin": rosbag2.StoragePlugin[storage]}
    writer = rosbag2.Writer(path, version=9, **plugin) if storage else rosbag1.Writer(path)
    with writer as bag:
        connections = {}
        for topic, kind, message, time in messages(store, poses):
            if topic not in connections:
                connections[topic] = bag.add_connection(topic, kind, typestore=store)
            encode = store.serialize_cdr if storage else store.serialize_ros1
            bag.write(connections[topic], time, encode(message, kind))
    return path


@pytest.fixture(params=["ROS 1", "ROS 2, sqlite", "ROS 2, mcap", "one file of sqlite", "one file of mcap"])
def bag(request, tmp_path, poses):
    if request.param == "ROS 1":
        return write_bag(tmp_path / "demo.bag", poses)
    storage = "MCAP" if request.param.endswith("mcap") else "SQLITE3"
    folder = write_bag(tmp_path / "demo", poses, storage)
    return folder if request.param.startswith("ROS") else next(folder.glob("*.[dm]*[3p]"))


def test_messages_of_a_topic_in_order_of_time(bag, poses):
    read = read_sequences(bag, topic="/arm/pose")
    np.testing.assert_array_equal(read.sequences[0], poses)
    assert (read.channels, read.names) == (POSE_CHANNELS, ("demo",))
    part = read_sequences(bag, topic="arm/pose", columns=["pose.orientation", "pose.position.z"])
    np.testing.assert_array_equal(part.sequences[0], poses[:, [3, 4, 5, 6, 2]])


def test_joints_are_called_by_their_names(tmp_path, poses):
    read = read_sequences(write_bag(tmp_path / "demo.bag", poses), topic="/joints")
    np.testing.assert_array_equal(read.sequences[0], poses[:, :4])
    assert read.channels == ("position.elbow", "position.wrist", "velocity.elbow", "velocity.wrist")


@pytest.mark.parametrize(("stamped", "rate"), [([0, 20, 40, 60, 80, 100], 50), ([0] * 6, 10)])
def test_stamps_or_else_arrivals_tell_the_rate(tmp_path, poses, stamped, rate):
    store = typesys.get_typestore(typesys.Stores.ROS1_NOETIC)
    types, kind = store.types, "geometry_msgs/msg/PointStamped"
    with rosbag1.Writer(tmp_path / "demo.bag") as bag:
        connection = bag.add_connection("/point", kind, typestore=store)
        for number, (milliseconds, row) in enumerate(zip(stamped, poses, strict=True)):
            stamp = types["builtin_interfaces/msg/Time"](sec=5, nanosec=milliseconds * 10**6)
            header = types["std_msgs/msg/Header"](seq=0, stamp=stamp, frame_id="base")
            message = types[kind](header, types["geometry_msgs/msg/Point"](*row[:3]))
            bag.write(connection, 10**18 + number * 10**8, store.serialize_ros1(message, kind))
    read = read_sequences(tmp_path / "demo.bag")
    assert read.rate == pytest.approx(rate)
    assert read.channels == ("point.x", "point.y", "point.z")


def test_topics_are_listed(tmp_path, poses):
    path = write_bag(tmp_path / "demo.bag", poses)
    there = (
        r"/arm/pose \(geometry_msgs/msg/PoseStamped, 6 messages\); /joints \(sensor_msgs/msg/JointState, 6 messages\)"
    )
    with pytest.raises(InputError, match=rf"has several topics; it has {there}; /note .*with topic="):
        read_sequences(path)
    with pytest.raises(InputError, match=rf"has no topic '/leg'; it has {there}"):
        read_sequences(path, topic="/leg")
    with pytest.raises(InputError, match="topic /note has 0 numbers in a message, needed 1 to 1000"):
        read_sequences(path, topic="/note")


def test_folders_of_recordings(tmp_path, poses):
    for number in (2, 10):
        write_bag(tmp_path / f"demo_{number}", poses[:number], "MCAP")
    read = read_sequences(tmp_path, topic="/arm/pose")
    assert read.names == ("demo_2", "demo_10")


def test_messages_that_change_are_named(tmp_path, poses):
    store = typesys.get_typestore(typesys.Stores.ROS1_NOETIC)
    kind = "std_msgs/msg/Float64MultiArray"
    layout = store.types["std_msgs/msg/MultiArrayLayout"]([], 0)
    with rosbag1.Writer(tmp_path / "demo.bag") as bag:
        connection = bag.add_connection("/x", kind, typestore=store)
        for n_numbers in (2, 3):
            bag.write(connection, n_numbers, store.serialize_ros1(store.types[kind](layout, np.ones(n_numbers)), kind))
    with pytest.raises(InputError, match=r"message 1, counted from 0, has the numbers .*data\[2\], but the first has"):
        read_sequences(tmp_path / "demo.bag")  # the only topic need not be named


@pytest.mark.parametrize("name", ["x: int\nimport os", "a b", "x()", "", "../x"])
def test_definitions_that_are_no_names_are_refused(name):
    _check_plain({"a_msgs/msg/X": [("x", (1, "float64"))]})
    with pytest.raises(InputError, match="not to be trusted"):
        _check_plain({"a_msgs/msg/X": [(name, (1, "float64"))]})


def test_what_is_no_recording_is_named(tmp_path, poses, monkeypatch):
    (tmp_path / "demo.mcap").write_bytes(b"no recording")
    with pytest.raises(InputError, match=r"demo\.mcap cannot be read"):
        read_sequences(tmp_path / "demo.mcap", topic="/x")
    with pytest.raises(InputError, match=r"topic means nothing for .*: it applies to \.bag, \.db3, \.mcap, ROS 2 rec"):
        read_sequences(write_text(tmp_path / "x.csv"), topic="/x")
    monkeypatch.setitem(sys.modules, "rosbags", None)
    with pytest.raises(ImportError, match=r"rosbags, which is not installed. pip install 'homothety\[ros\]' brings it"):
        read_sequences(tmp_path / "demo.mcap", topic="/x")


def write_text(path):
    path.write_text("1,2\n3,4\n")
    return path
