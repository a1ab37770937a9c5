"""Motion capture: .bvh by hand, whose geometry can be worked out, and .c3d as other libraries write it."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest

from homothety.datasets import read_sequences
from homothety.errors import InputError
from homothety.sequences import check_sequences

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
    JOINT Foot
    {
      OFFSET 0.0 -1.0 0.0
      CHANNELS 3 zrotation xrotation yrotation
    }
  }
}
MOTION
Frames: 3
Frame Time: 0.01
1 2 3 0 0 0 0 0 0 0 0 0
1 2 3 90 0 0 0 0 0 0 0 0
1 2 3 90 90 0 0 90 0 5 5 5
"""


@pytest.fixture
def bvh(tmp_path):
    def write(text=BVH):
        (tmp_path / "walk.bvh").write_text(text)
        return tmp_path / "walk.bvh"

    return write


def test_channels_of_joints(bvh):
    read = read_sequences(bvh())
    assert read.sequences[0].shape == (3, 12)
    assert read.channels[:4] == ("Hips.Xposition", "Hips.Yposition", "Hips.Zposition", "Hips.Zrotation")
    assert read.channels[-1] == "Foot.Yrotation"
    np.testing.assert_array_equal(
        read_sequences(bvh(), columns=["Knee", "Hips.Yposition"]).sequences[0][2], [0, 90, 0, 2]
    )


def test_the_time_between_frames_tells_the_rate(bvh):
    assert check_sequences(read_sequences(bvh()), allow_constant=True).rate == 100
    assert read_sequences(bvh(BVH.replace("0.01", "0.0083333333")), variable="positions").rate == pytest.approx(120)
    assert read_sequences(bvh(BVH.replace("0.01", "0"))).rate is None


def test_positions_of_joints(bvh):
    read = read_sequences(bvh(), variable="positions")
    assert read.channels == tuple(f"{joint}.{axis}" for joint in ("Hips", "Knee", "Foot") for axis in "xyz")
    # Hanging down; turned about z, so that down is along x; then about the new x, down along -z, and bent at the knee.
    expected = [[1, 2, 3, 1, 0, 3, 1, -1, 3], [1, 2, 3, 3, 2, 3, 4, 2, 3], [1, 2, 3, 1, 2, 1, 0, 2, 1]]
    np.testing.assert_allclose(read.sequences[0], expected, atol=1e-12)


def test_a_position_of_a_joint_takes_the_place_of_its_offset(bvh):
    text = BVH.replace("OFFSET 0.0 0.0 0.0", "OFFSET 10 0 0").replace("CHANNELS 3 Z", "CHANNELS 4 Yposition Z")
    head, frames = text.split("0.01\n")
    moved = [" ".join([*line.split()[:6], "-5", *line.split()[6:]]) for line in frames.splitlines()]
    read = read_sequences(bvh(head + "0.01\n" + "\n".join(moved)), variable="positions", columns=["Hips", "Knee"])
    np.testing.assert_allclose(read.sequences[0][0], [11, 2, 3, 11, -3, 3])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("MOTION", "MOTIONS", "cannot be read: .*HIERARCHY of joints"),
        ("1 2 3 90 0 0 0 0 0 0 0 0", "1 2 3", "frame 1, counted from 0, has 3 numbers, needed 12"),
        ("1 2 3 90 90", "1 2 3 90 x", "cannot be read: could not convert"),
        ("Frames: 3", "Frames: 30", "says that it has 30 frames but has 3 lines of numbers"),
        ("zrotation", "Wrotation", "A channel is called 'Wrotation', needed Xposition"),
    ],
)
def test_bad_bvh(bvh, old, new, message):
    with pytest.raises(InputError, match=message):
        read_sequences(bvh(BVH.replace(old, new)))


def test_what_a_bvh_file_holds_is_listed(bvh):
    with pytest.raises(InputError, match=r"has no 'angles'. It holds channels and positions"):
        read_sequences(bvh(), variable="angles")


@pytest.fixture
def points(rng):
    return rng.normal(size=(6, 2, 3)).astype(np.float32)


def check_markers(path, points, unseen):
    read = read_sequences(path)
    expected = points.astype(np.float64)
    expected[unseen] = np.nan
    np.testing.assert_allclose(read.sequences[0], expected.reshape(6, 6), rtol=1e-6)
    assert read.channels == ("LASI.x", "LASI.y", "LASI.z", "RASI.x", "RASI.y", "RASI.z")
    assert read_sequences(path, columns="RASI").channels == ("RASI.x", "RASI.y", "RASI.z")
    assert check_sequences(read_sequences(path, columns="LASI")).rate == read.rate == 100


def test_markers(tmp_path, points):
    c3d = pytest.importorskip("c3d")
    writer = c3d.Writer(point_rate=100)
    writer.set_point_labels(["LASI", "RASI"])
    for number, frame in enumerate(points):
        errors = np.zeros((2, 2), dtype=np.float32)
        errors[1] = -1 if number == 3 else 0
        writer.add_frames([(np.hstack([frame, errors]), np.empty((0, 0)))])
    with (tmp_path / "walk.c3d").open("wb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        writer.write(file)
    check_markers(tmp_path / "walk.c3d", points, (3, 1))


def test_markers_as_another_library_writes_them(tmp_path, points):
    pytest.importorskip("c3d")
    ezc3d = pytest.importorskip("ezc3d")
    made = ezc3d.c3d()
    made["parameters"]["POINT"]["RATE"]["value"] = [100.0]
    made["parameters"]["POINT"]["LABELS"]["value"] = ["LASI", "RASI"]
    unseen = points.copy()
    unseen[3, 1] = np.nan
    made["data"]["points"] = np.concatenate([unseen.transpose(2, 1, 0), np.ones((1, 2, 6))])
    made.write(str(tmp_path / "walk.c3d"))
    check_markers(tmp_path / "walk.c3d", points, (3, 1))


def test_without_c3d_the_extra_is_named(tmp_path, monkeypatch):
    (tmp_path / "walk.c3d").write_bytes(b"C3D")
    monkeypatch.setitem(sys.modules, "c3d", None)
    with pytest.raises(ImportError, match=r"homothety\[mocap\]"):
        read_sequences(tmp_path / "walk.c3d")
