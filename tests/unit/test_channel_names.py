"""Which channels belong together by their names."""

from __future__ import annotations

import pytest

from homothety.channels import _named_blocks, _say_nothing, _unordered_quaternions


@pytest.mark.parametrize(
    ("names", "quantity"),
    [
        ("x y z", "position"),
        ("tool_x tool_y tool_z", "position"),
        ("v_x v_y v_z", "velocity"),
        ("linear_velocity.x linear_velocity.y linear_velocity.z", "velocity"),
        ("angular_velocity.x angular_velocity.y angular_velocity.z", "angular velocity"),
        ("rotationRateX rotationRateY rotationRateZ", "angular velocity"),
        ("ωx ωy ωz", "angular velocity"),
        ("ground_force_vx ground_force_vy ground_force_vz", "force"),
        ("ground_force_px ground_force_py ground_force_pz", "position"),
        ("mx my mz", "torque"),
        ("w x y z", "orientation quaternion"),
    ],
)
def test_quantities(names, quantity):
    (block,) = _named_blocks(names.split())
    assert (block.quantity, block.channels) == (quantity, tuple(range(len(names.split()))))


def test_a_w_beside_a_quaternion_is_none_of_a_second():
    found = _named_blocks(["x", "y", "z", "w", "qw", "qx", "qy", "qz"])
    assert [block.channels for block in found] == [(0, 1, 2), (4, 5, 6, 7)]


def test_numbers_of_quaternions():
    assert _unordered_quaternions(["q1_a", "q2_a", "q3_a", "q4_a"]) == [[0, 1, 2, 3]]
    assert _unordered_quaternions([f"q{i}" for i in range(1, 8)]) == []


def test_names_that_only_number():
    assert _say_nothing(["0", "1"])
    assert _say_nothing(["channel 1", "channel 2"])
    assert _say_nothing(["state[0]", "state[1]"])
    assert not _say_nothing(["x", "y"])
    assert not _say_nothing(["q1", "q2"])
    assert not _say_nothing(["qpos[0]", "qpos[1]"])
    assert not _say_nothing([""])
