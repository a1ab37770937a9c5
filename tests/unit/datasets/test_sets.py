from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from homothety.datasets import MatrixSet, SequenceSet, make_demonstrations, make_toy_2d
from homothety.datasets.sets import join_sets
from homothety.errors import InputError
from homothety.models.ordered import grid_neighbors

POSITIONS = np.array([[0, 1], [1, 0], [1, 2]])


@pytest.fixture
def on_grid():
    matrices = np.arange(1.0, 4.0)[:, None, None] * np.eye(2)
    return MatrixSet(matrices, np.array([5, 6, 5]), "few", (2, 3), POSITIONS, np.eye(4))


def test_values_are_laid_out_on_the_grid(on_grid):
    np.testing.assert_array_equal(on_grid.to_image(on_grid.labels), [[0, 5, 0], [6, 0, 5]])
    np.testing.assert_array_equal(on_grid.to_image([0.5, 1.5, 2.5], background=np.nan)[1], [1.5, np.nan, 2.5])
    assert on_grid.to_image(on_grid.matrices).shape == (2, 3, 2, 2)


@pytest.mark.parametrize("which", [np.array([True, False, True]), np.array([0, 2])], ids=["mask", "indices"])
def test_taking_some_keeps_everything_aligned(on_grid, which):
    taken = on_grid.take(which)
    np.testing.assert_array_equal(taken.matrices[:, 0, 0], [1, 3])
    np.testing.assert_array_equal(taken.labels, [5, 5])
    np.testing.assert_array_equal(taken.to_image(taken.labels), [[0, 5, 0], [0, 0, 5]])
    assert (taken.name, taken.grid) == ("few", (2, 3))


def test_taking_from_a_bare_set():
    taken = MatrixSet(np.ones((4, 2, 2))).take(np.array([1]))
    assert (len(taken), taken.labels, taken.positions) == (1, None, None)


def test_is_frozen_and_says_what_it_is(on_grid):
    with pytest.raises(FrozenInstanceError):
        on_grid.name = "other"
    assert repr(on_grid) == "<MatrixSet few: 3 matrices of 2 x 2, 2 classes, on a grid of 2 x 3>"
    assert repr(MatrixSet(np.ones((4, 3, 3)))) == "<MatrixSet matrices: 4 matrices of 3 x 3>"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"matrices": np.ones((3, 2))}, r"matrices has shape \(3, 2\), needed \(n_matrices, n_dims, n_dims\)"),
        ({"matrices": np.ones((3, 2, 4))}, r"matrices has shape \(3, 2, 4\)"),
        ({"labels": np.array([1, 2])}, r"3 matrices but labels of shape \(2,\)"),
        ({"grid": (2, 3)}, "grid and positions describe an image together, needed both or neither"),
        ({"positions": POSITIONS}, "needed both or neither"),
        ({"grid": (2, 3, 1), "positions": POSITIONS}, r"positions has shape \(3, 2\), needed \(3, 3\)"),
        ({"grid": (2, 2), "positions": POSITIONS}, r"positions run outside the grid \(2, 2\)"),
        ({"grid": (2, 3), "positions": POSITIONS - 1}, "positions run outside the grid"),
        ({"affine": np.eye(3)}, r"affine has shape \(3, 3\), needed \(4, 4\)"),
    ],
)
def test_parts_that_do_not_fit_are_refused(fields, message):
    with pytest.raises(InputError, match=message):
        MatrixSet(**({"matrices": np.ones((3, 2, 2))} | fields))


def test_image_needs_a_grid_and_one_value_per_matrix(on_grid):
    with pytest.raises(InputError, match="has no grid, so its values have no place in an image"):
        MatrixSet(np.ones((4, 2, 2))).to_image([1, 2, 3, 4])
    with pytest.raises(InputError, match=r"values has shape \(2,\), needed one value for each of 3 matrices"):
        on_grid.to_image([1, 2])


def image_with(sizes, grid=(2, 3, 4), turn=None):
    """Return matrices in all voxels of a grid, of the given sizes in millimetres."""
    affine = np.eye(4)
    affine[:3, :3] = (np.eye(3) if turn is None else turn) * sizes
    voxels = np.argwhere(np.ones(grid))
    return MatrixSet(np.tile(np.eye(3), (len(voxels), 1, 1)), grid=grid, positions=voxels, affine=affine)


@pytest.mark.parametrize(
    ("sizes", "far"),
    [((2, 2, 2), ()), ((2, 2, 4), ()), ((2, 2, 4.5), (2,)), ((5, 1, 5), (0, 2)), ((1, 1, np.float32(2.0000002)), ())],
)
def test_thick_slices_are_no_neighbours(sizes, far):
    items = image_with(sizes)
    assert items.far_axes == far
    neighbors = grid_neighbors(items.link_positions)
    has_neighbors = (neighbors >= 0).reshape(-1, 3, 2).any(axis=(0, 2))
    assert np.flatnonzero(~has_neighbors).tolist() == list(far)
    near = [axis for axis in range(3) if axis not in far]
    np.testing.assert_array_equal(
        neighbors.reshape(-1, 3, 2)[:, near], grid_neighbors(items.positions).reshape(-1, 3, 2)[:, near]
    )


def test_sizes_are_those_of_voxels_however_the_image_is_turned():
    turn = np.array([[0.6, -0.8, 0], [0.8, 0.6, 0], [0, 0, 1]])
    assert image_with((2, 2, 6), turn=turn).far_axes == (2,)


def test_an_image_of_one_slice_is_judged_by_what_is_in_it():
    assert image_with((2, 2, 0.1), grid=(3, 3, 1)).far_axes == ()
    assert image_with((2, 2, 0.1), grid=(1, 1, 1)).far_axes == ()


def test_without_an_affine_all_steps_count():
    items = MatrixSet(np.eye(3)[None], grid=(1, 1), positions=np.zeros((1, 2), dtype=int))
    assert items.far_axes == ()
    np.testing.assert_array_equal(items.link_positions, items.positions)
    assert MatrixSet(np.eye(3)[None]).link_positions is None


# --- series -----------------------------------------------------------------------------------------------------------


def test_sets_say_what_is_in_them():
    assert repr(make_toy_2d(0)).endswith("of 2 dimensions, 4 states, 2 actions>")
    plain = SequenceSet([np.zeros((3, 2))])
    assert repr(plain) == "<SequenceSet sequences: 1 series, 3 steps of 2 dimensions>"
    assert plain.names == ("series 0",)


def test_joining_keeps_what_all_know():
    toy, plain = make_toy_2d(0), SequenceSet([np.zeros((3, 2))], actions=[np.zeros(3, dtype=int)])
    joined = join_sets([toy, plain], "both")
    assert (len(joined), joined.states, len(joined.actions), joined.name) == (5, None, 5, "both")
    assert joined.frames is None


def test_joined_sets_share_no_frame():
    made = [make_demonstrations(seed, n_frames=2, n_per_frame=1) for seed in range(2)]
    joined = join_sets(made, "both").frames
    assert joined.label.tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(joined.rotation[2:], made[1].frames.rotation)
    with pytest.raises(InputError, match="rotation of frames has 4 entries for 2 series"):
        replace(made[0], frames=joined)


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"states": []}, "states of 0 series but there are 1"),
        ({"actions": [np.zeros(2)]}, r"actions\[0\] has shape \(2,\), needed one for each of 3 steps"),
        ({"names": ("a", "b")}, "2 names for 1 series"),
    ],
)
def test_sets_that_do_not_fit(known, message):
    with pytest.raises(InputError, match=message):
        SequenceSet([np.zeros((3, 2))], **known)
