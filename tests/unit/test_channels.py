"""Channels in blocks: by their names, and as listed."""

from __future__ import annotations

import numpy as np
import pytest

from homothety.channels import check_blocks, check_quaternions, guess_blocks
from homothety.errors import InputError
from homothety.sequences import check_sequences


def guess(names):
    names = names.split()
    return guess_blocks(names, len(names))


@pytest.mark.parametrize(
    ("names", "kinds"),
    [
        ("x y z", "point"),
        ("posX posY posZ", "point"),
        ("px py pz vx vy vz wx wy wz", "point vector vector"),
        ("x_a y_a z_a fx_a fy_a fz_a tx_a ty_a tz_a", "point vector vector"),
        ("x_a y_a z_a x_p y_p z_p", "point point"),
        ("x1 y1 z1 x2 y2 z2", "point point"),
        ("left_x left_y left_z right_x right_y right_z gripper", "point point plain"),
        ("x y z x y z", "point point"),
        ("lx ly lz rx ry rz", "point point"),
        ("x y z rx ry rz", "point plain plain plain"),
        ("x y z roll pitch yaw", "point plain plain plain"),
        ("handx handy handz", "point"),
        ("x_w y_w z_w", "point"),
        ("pos_x pos_y pos_z pos_w", "point plain"),
        ("x[m] y[m] z[m] fx[N] fy[N] fz[N]", "point vector"),
        ("x_deg y_deg z_deg", "plain plain plain"),
        ("s1_ax s1_ay s1_az s1_gx s1_gy s1_gz", "vector vector"),
        ("force[0] force[1] force[2]", "vector"),
        ("q1 q2 q3 q4 q5 q6 q7", "plain plain plain plain plain plain plain"),
        ("Fz Cz Pz Oz", "plain plain plain plain"),
        ("xx xy xz yy yz zz", "plain plain plain plain plain plain"),
        ("hip knee ankle", "plain plain plain"),
        ("joint_1 joint_2 joint_3", "plain plain plain"),
        ("euler[0] euler[1] euler[2]", "plain plain plain"),
    ],
)
def test_names_in_three_dimensions(names, kinds):
    found = guess(names)
    assert (" ".join(found.kinds), found.dim) == (kinds, 3)
    assert found.order == tuple(range(len(names.split())))


@pytest.mark.parametrize(
    ("names", "kinds"),
    [
        ("x y", "point"),
        ("y1 y2", "point"),
        ("observation.state[0] observation.state[1]", "point"),
        ("agent_pos[0] agent_pos[1] gripper", "point plain"),
        ("x y theta", "point plain"),
        ("left_x left_y right_x right_y", "point point"),
        ("linear.x linear.y angular.z", "vector plain"),
        ("fx fy tx ty", "vector plain plain"),  # a torque in a plane has one channel
    ],
)
def test_names_in_a_plane(names, kinds):
    found = guess(names)
    assert (" ".join(found.kinds), found.dim) == (kinds, 2)


def test_two_axes_are_plain_beside_three():
    assert guess("x y fx fy fz").kinds == ("plain", "plain", "vector")
    assert guess("x y qw qx qy qz").kinds == ("plain", "plain", "quaternion")
    assert guess("max may").kinds == ("plain", "plain")


@pytest.mark.parametrize(
    ("names", "kinds"),
    [  # as readers of ROS recordings, LeRobot data sets and motion capture call them
        ("pose.position.x pose.position.y pose.position.z", "point"),
        ("/pose/position/x /pose/position/y /pose/position/z", "point"),
        ("linear.x linear.y linear.z angular.x angular.y angular.z", "vector vector"),
        ("twist.linear.x twist.linear.y twist.linear.z", "vector"),
        (
            "wrench.force.x wrench.force.y wrench.force.z wrench.torque.x wrench.torque.y wrench.torque.z",
            "vector vector",
        ),
        ("linear_acceleration.x linear_acceleration.y linear_acceleration.z", "vector"),
        ("position.shoulder position.elbow velocity.shoulder velocity.elbow", "plain plain plain plain"),
        ("observation.state.x observation.state.y observation.state.z observation.state.gripper", "point plain"),
        ("observation.state.ee_pos_x observation.state.ee_pos_y observation.state.ee_pos_z", "point"),
        ("observation.state.motor_0 observation.state.motor_1", "plain plain"),
        ("RHAND.x RHAND.y RHAND.z T10.x T10.y T10.z", "point point"),
        (
            "Hips.Xposition Hips.Yposition Hips.Zposition Hips.Xrotation Hips.Yrotation Hips.Zrotation",
            "point" + 3 * " plain",
        ),
    ],
)
def test_names_as_readers_give_them(names, kinds):
    assert " ".join(guess(names).kinds) == kinds


@pytest.mark.parametrize(
    "names",
    [
        "x y z qx qy qz qw",
        "tx ty tz qx qy qz qw",  # a translation: no force and no other position is there
        "pose.position.x pose.position.y pose.position.z pose.orientation.x pose.orientation.y pose.orientation.z "
        "pose.orientation.w",
        "transform.translation.x transform.translation.y transform.translation.z transform.rotation.x "
        "transform.rotation.y transform.rotation.z transform.rotation.w",
    ],
)
def test_w_comes_first(names):
    found = guess(names)
    assert (found.kinds, found.order) == (("point", "quaternion"), (0, 1, 2, 6, 3, 4, 5))
    assert found.channels == ((0, 1, 2), (6, 3, 4, 5))
    assert found.slices == (slice(0, 3), slice(3, 7))


def test_channels_are_brought_together():
    found = guess("z gripper x fy fx fz y")
    assert (found.kinds, found.order) == (("point", "plain", "vector"), (2, 6, 0, 1, 4, 3, 5))


def test_tx_is_a_torque_beside_a_force_or_a_position():
    assert guess("fx fy fz tx ty tz").kinds == ("vector", "vector")
    assert guess("x y z tx ty tz").kinds == ("point", "vector")
    assert guess("tx ty tz").kinds == ("point",)
    assert guess("pelvis_tx pelvis_ty pelvis_tz force_x force_y force_z").kinds == ("point", "vector")


def test_velocities_of_prepared_recordings():
    names = ["x", "y", "z", "qw", "qx", "qy", "qz"]
    found = guess_blocks([*names, *(f"velocity of {name}" for name in names)], 14)
    # The velocity of a quaternion is no rotation and no vector.
    assert found.kinds == ("point", "quaternion", "vector", *["plain"] * 4)


def test_channels_without_names():
    for n_dims in (2, 3):
        assert guess_blocks(None, n_dims)[:3] == (("point",), tuple(range(n_dims)), n_dims)
    assert guess_blocks(None, 1).kinds == ("plain",)
    many = guess_blocks((), 7)
    assert many.kinds == ("plain",) * 7
    assert "name the channels" in many.sentence
    assert "blocks=" in many.sentence
    with pytest.raises(InputError, match="2 names of channels for 3 channels"):
        guess_blocks(["x", "y"], 3)


def test_sentences_say_what_was_taken():
    found = guess("x y z qx qy qz qw fx fy fz gripper")
    assert found.sentence == (
        "Channels: position (x, y, z), orientation quaternion (qw, qx, qy, qz), force (fx, fy, fz); gripper as a plain "
        "channel."
    )
    assert guess("y1 y2").sentence == "Channels: position (y1, y2)."
    assert "name the channels" in guess("hip knee ankle").sentence
    markers = guess(" ".join(f"m{i}.{axis}" for i in range(20) for axis in "xyz"))
    assert markers.sentence.endswith("and 12 more blocks.")


def test_quaternions_with_numbers_are_left_to_the_user():
    found = guess("x_a y_a z_a q1_a q2_a q3_a q4_a")
    assert found.kinds == ("point", *["plain"] * 4)
    assert "q1_a, q2_a, q3_a, q4_a do not say which channel of a quaternion is w" in found.sentence


@pytest.mark.parametrize(
    ("kinds", "n_dims", "dim"),
    [
        (["point", "quaternion", "vector", "plain"], 11, 3),
        (["point", "vector", "plain"], 5, 2),
        (["plain", "plain"], 2, 3),
        (("quaternion",), 4, 3),
    ],
)
def test_listed_blocks(kinds, n_dims, dim):
    found = check_blocks(kinds, n_dims)
    assert found[:3] == (tuple(kinds), tuple(range(n_dims)), dim)


def test_listed_blocks_are_said_by_name():
    said = check_blocks(["point", "plain"], 4, ["a", "b", "c", "d"]).sentence
    assert said == "Channels: point (a, b, c); d as a plain channel."
    assert "point (channel 0, channel 1)" in check_blocks(["point"], 2).sentence


@pytest.mark.parametrize(
    ("kinds", "n_dims", "message"),
    [
        (["point", "vector"], 7, "needs 4 channels in 2-D or 6 in 3-D, but the recordings have 7"),
        (["point", "vector"], 5, "in 2-D and in 3-D cannot be mixed"),
        (["quaternion"], 5, "needs 4 channels, but the recordings have 5"),
        ([], 2, "needs 0 channels, but the recordings have 2"),
        (["point", "quaternion"], 6, "a quaternion needs 3-D"),
        (["point", "force"], 6, "blocks has 'force' at place 1, counted from 0, needed one of 'point', 'vector'"),
        ("point", 3, "blocks is 'point', needed 'auto' or a list"),
        (3, 3, "blocks is 3, needed 'auto' or a list"),
    ],
)
def test_listed_blocks_that_do_not_fit(kinds, n_dims, message):
    with pytest.raises(InputError, match=message):
        check_blocks(kinds, n_dims)


def test_quaternions_must_have_norm_one(rng):
    series = [rng.normal(size=(n_steps, 5)) for n_steps in (4, 6)]
    for one in series:
        one[:, :4] /= np.linalg.norm(one[:, :4], axis=1, keepdims=True)
    names = ["qx", "qy", "qz", "qw", "gripper"]
    blocks = guess_blocks(names, 5)
    check_quaternions(check_sequences([one.round(2) for one in series], channels=names), blocks)
    series[1][2:, :4] *= 2
    wrong = check_sequences(series, names=["first", "second"], channels=names)
    with pytest.raises(
        InputError, match=r"Recording 1 \(second\): the quaternion \(qw, qx, qy, qz\) has norm 2 at step 2 \(4 such"
    ):
        check_quaternions(wrong, blocks)
    with pytest.raises(InputError, match=r"the quaternion \(channel 0, channel 1, channel 2, channel 3\)"):
        check_quaternions(check_sequences(series), check_blocks(["quaternion", "plain"], 5))
