from __future__ import annotations

import io
from base64 import b64decode

import numpy as np
import pytest

from homothety.datasets import MatrixSet
from homothety.palette import cluster_colors
from homothety.report.clustering import _fullest_slice, _slices_section, png_of

BALL, NEEDLE = np.eye(3), np.diag([1.0, 1e-9, 1e-9])


def make_image(grid, affine=None, without=()):
    """Return balls in all voxels of a grid but some."""
    voxels = np.array([voxel for voxel in np.ndindex(*grid) if voxel not in without])
    return MatrixSet(np.tile(BALL, (len(voxels), 1, 1)), grid=grid, positions=voxels, affine=affine)


def pictures_of(items, labels):
    (block,) = _slices_section(items, labels).blocks
    return {one.title: one for one in block.pictures}


def clusters_in(picture, n_clusters=2):
    """Return the label of each pixel of a picture of balls, -1 where it is transparent."""
    image = pytest.importorskip("matplotlib.image")
    pixels = image.imread(io.BytesIO(b64decode(picture.source.partition(",")[2])), format="png")
    distances = np.abs(pixels[:, :, None, :3] - cluster_colors(n_clusters) / 2).sum(axis=-1)
    return np.where(pixels[..., 3] > 0, distances.argmin(axis=-1), -1)


@pytest.mark.parametrize("flip", [1, -1])
def test_edges_are_named_as_the_affine_says(flip):
    """One voxel, at the right, front and top of the middle slices, is of another cluster."""
    grid = (3, 5, 7)
    affine = np.diag([flip * 2.0, 3.0, 4.0, 1.0])
    items = make_image(grid, affine)
    right = 2 if flip > 0 else 0
    planes = {"Axial, k = 3": (right, 4, 3), "Coronal, j = 2": (right, 2, 6), "Sagittal, i = 1": (1, 4, 6)}
    letters = [("L", "R", "A", "P"), ("L", "R", "S", "I"), ("P", "A", "S", "I")]
    sizes = [(6, 15), (6, 28), (15, 28)]
    for (title, voxel), edges, size in zip(planes.items(), letters, sizes, strict=True):
        labels = (items.positions == voxel).all(axis=1).astype(int)
        found = pictures_of(items, labels)
        assert list(found) == list(planes)
        assert found[title].letters == edges
        assert found[title].size == size
        corner = clusters_in(found[title])
        assert corner[0, -1] == 1  # at the top on the right: towards R, A and S
        assert corner.sum() == 1


def test_axes_in_another_order_are_laid_out_alike():
    affine = np.array([[0, 0, -2.0, 0], [1.0, 0, 0, 0], [0, 3.0, 0, 0], [0, 0, 0, 1]])  # to the front, up, to the left
    items = make_image((5, 7, 3), affine)
    labels = (items.positions == (4, 3, 0)).all(axis=1).astype(int)
    axial = pictures_of(items, labels)["Axial, j = 3"]
    assert clusters_in(axial).shape == (5, 3)
    assert clusters_in(axial)[0, -1] == 1
    assert axial.size == (6, 5)


def test_slices_are_cut_to_where_matrices_are_and_gaps_are_transparent():
    items = make_image((4, 4, 1), np.eye(4), without={(0, j, 0) for j in range(4)} | {(1, 0, 0)})
    (picture,) = pictures_of(items, np.zeros(11, dtype=int)).values()  # the other planes are one voxel high
    assert picture.title == "Axial, k = 0"
    np.testing.assert_array_equal(clusters_in(picture), [[0, 0, 0], [0, 0, 0], [0, 0, 0], [-1, 0, 0]])


def test_a_plane_image_is_as_arrays_are_printed_and_has_no_letters():
    items = make_image((2, 3))
    (picture,) = pictures_of(items, np.array([0, 0, 1, 0, 0, 0])).values()
    assert picture.letters == ("", "", "", "")
    np.testing.assert_array_equal(clusters_in(picture), [[0, 0, 1], [0, 0, 0]])


def test_volumes_without_an_affine_have_planes_of_the_array():
    found = pictures_of(make_image((3, 4, 5)), np.zeros(60, dtype=int))
    assert list(found) == ["Slice, k = 2", "Slice, j = 1", "Slice, i = 1"]
    assert {one.letters for one in found.values()} == {("", "", "", "")}


def test_anisotropy_shows_through():
    items = MatrixSet(np.stack([BALL, NEEDLE]), grid=(1, 2), positions=np.array([[0, 0], [0, 1]]))
    (block,) = _slices_section(items, np.array([0, 0])).blocks
    assert block.legend == [("cluster 1", "#735000", "#f2cf80")]
    image = pytest.importorskip("matplotlib.image")
    pixels = image.imread(io.BytesIO(b64decode(block.pictures[0].source.partition(",")[2])), format="png")
    np.testing.assert_allclose(255 * pixels[0, :, :3], [[0x73, 0x50, 0x00], [0xF2, 0xCF, 0x80]], atol=1)


def test_sets_that_are_no_image_have_no_slices():
    assert _slices_section(MatrixSet(BALL[None]), np.array([0])) is None


def test_of_equally_full_slices_the_middle_one_is_shown():
    assert _fullest_slice(np.array([0, 1, 2, 3, 4, 5, 5, 6, 6])) == 5
    assert _fullest_slice(np.repeat(np.arange(3, 8), 2)) == 5


def test_pixels_come_back(rng):
    image = pytest.importorskip("matplotlib.image")
    pixels = rng.integers(256, size=(5, 7, 4)).astype(np.uint8)
    read = image.imread(io.BytesIO(png_of(pixels[::-1].swapaxes(0, 1))), format="png")  # not in the order of memory
    np.testing.assert_array_equal(np.rint(255 * read), pixels[::-1].swapaxes(0, 1))
