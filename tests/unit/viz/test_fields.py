from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from homothety.datasets import make_dti, make_toy_3d
from homothety.errors import InputError
from homothety.palette import _UNASSIGNED_COLOR
from homothety.viz import cluster_colors, plot_label_comparison, plot_label_image


def pixels(ax):
    """Colours of the picture, red, green, blue and opacity."""
    (image,) = ax.images
    return np.asarray(image.get_array())


def legend_names(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.fixture
def plane():
    return make_dti((8, 12), n_regions=3, random_state=0)


@pytest.fixture
def volume():
    return make_dti((5, 6, 4), n_regions=3, random_state=0)


def test_every_voxel_has_the_colour_of_its_cluster(plane):
    ax = plot_label_image(plane.labels, plane)
    assert isinstance(ax, Axes)
    np.testing.assert_allclose(pixels(ax)[..., :3], cluster_colors(3)[plane.to_image(plane.labels)])
    assert (pixels(ax)[..., 3] == 1).all()
    assert legend_names(ax) == ["0", "1", "2"]


@pytest.mark.parametrize("field", [(8, 12), None])
def test_a_grid_and_an_image_give_the_same_picture_as_the_set(field, plane):
    labels = plane.labels if field else plane.to_image(plane.labels)
    np.testing.assert_array_equal(
        pixels(plot_label_image(labels, field)), pixels(plot_label_image(plane.labels, plane))
    )


def test_voxels_are_counted_in_whole_numbers():
    ax = plot_label_image(np.arange(400).reshape(20, 20) // 200)
    assert all(tick == round(tick) for tick in [*ax.get_xticks(), *ax.get_yticks()])


def test_voxels_outside_the_set_are_blank(plane):
    inside = plane.positions[:, 0] > 2
    ax = plot_label_image(plane.labels[inside], plane.take(inside))
    np.testing.assert_array_equal(pixels(ax)[..., 3], np.broadcast_to(np.arange(8)[:, None] > 2, (8, 12)))


def test_background_and_masked_voxels_are_blank_and_those_in_no_cluster_grey():
    labels = np.ma.masked_equal([[0, 7], [-1, 1]], 7)
    ax = plot_label_image(labels, background=0)
    assert pixels(ax)[..., 3].tolist() == [[0, 0], [1, 1]]
    np.testing.assert_allclose(pixels(ax)[1, 0, :3], to_rgb(_UNASSIGNED_COLOR))
    assert legend_names(ax) == ["1", "none"]


@pytest.mark.parametrize("slice_axis", [0, 1, 2])
def test_a_slice_has_its_first_axis_to_the_right_and_its_second_up(slice_axis, volume):
    ax = plot_label_image(volume.labels, volume, slice_axis=slice_axis, index=1)
    expected = np.take(volume.to_image(volume.labels), 1, axis=slice_axis).T
    np.testing.assert_allclose(pixels(ax)[..., :3], cluster_colors(3)[expected])
    low, high = ax.get_ylim()
    assert low < high
    right, up = (axis for axis in range(3) if axis != slice_axis)
    assert (ax.get_xlabel(), ax.get_ylabel()) == (f"axis {right}", f"axis {up}")
    assert ax.get_title() == f"slice 1 along axis {slice_axis}"


def test_the_middle_slice_is_the_default(volume):
    assert plot_label_image(volume.labels, volume).get_title() == "slice 2 along axis 2"


def test_voxels_are_drawn_in_proportion(volume):
    thick = replace(volume, affine=np.diag([2.0, 2.0, 5.0, 1.0]))
    assert plot_label_image(thick.labels, thick, slice_axis=0).get_aspect() == 2.5
    assert plot_label_image(thick.labels, thick, slice_axis=2).get_aspect() == 1.0


def test_a_cluster_keeps_its_colour_in_a_slice_that_lacks_others():
    names = np.array([["a", "a"], ["b", "c"]])[np.newaxis]
    ax = plot_label_image(names, slice_axis=1, index=1)
    assert legend_names(ax) == ["b", "c"]
    np.testing.assert_allclose(pixels(ax)[:, 0, :3], cluster_colors(3)[1:])


def test_more_than_eight_clusters_are_also_numbered_inside_themselves(assert_legible):
    dti = make_dti((64, 64), n_regions=12, random_state=3)
    ax = plot_label_image(dti.labels, dti)
    image = dti.to_image(dti.labels)
    assert len(ax.texts) > 8
    for text in ax.texts:
        column, row = text.get_position()
        assert str(image[row, column]) == text.get_text()
    assert_legible(ax.figure)


def test_regions_too_narrow_for_a_number_get_none():
    labels = np.arange(400).reshape(20, 20) % 20
    assert not plot_label_image(labels).texts


@pytest.mark.parametrize("shape", [(1, 1), (5, 40), (40, 5), (50, 50)])
@pytest.mark.parametrize("n_clusters", [1, 40])
def test_texts_do_not_overlap(shape, n_clusters, rng, assert_legible):
    assert_legible(plot_label_image(rng.integers(n_clusters, size=shape)).figure)


def test_true_classes_have_the_colours_of_the_clusters_they_match(plane):
    renamed = np.array([2, 0, 1])[plane.labels]
    clusters, truth = plot_label_comparison(renamed, plane.labels, plane)
    np.testing.assert_array_equal(pixels(clusters), pixels(truth))
    assert legend_names(clusters) == ["0", "1", "2"]
    assert legend_names(truth) == ["1", "2", "0"]
    assert truth.get_legend().get_title().get_text() == "truth"


def test_a_class_without_cluster_has_a_colour_of_its_own():
    clusters, truth = plot_label_comparison([[0, 0, 0, 0]], [["a", "a", "a", "b"]])
    np.testing.assert_allclose(pixels(truth)[0, :, :3], cluster_colors(2)[[0, 0, 0, 1]])
    np.testing.assert_allclose(pixels(clusters)[0, :, :3], cluster_colors(1)[[0, 0, 0, 0]])


def test_a_comparison_of_a_slice(volume, assert_legible):
    axes = plot_label_comparison(volume.labels, volume.labels, volume, index=0)
    assert [ax.get_title() for ax in axes] == ["slice 0 along axis 2"] * 2
    assert_legible(axes[0].figure)


def test_a_comparison_of_many_clusters(assert_legible):
    dti = make_dti((80, 80), n_regions=40, random_state=3)
    axes = plot_label_comparison(dti.labels, dti.labels, dti)
    assert [len(legend_names(ax)) for ax in axes] == [40, 40]
    assert_legible(axes[0].figure)


def test_they_draw_where_they_are_told(plane):
    axes = Figure().subplots(1, 2)
    assert plot_label_image(plane.labels, plane, ax=axes[0]) is axes[0]
    assert plot_label_comparison(plane.labels, plane.labels, plane, axes=axes) == list(axes)


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        ([0, 1, 2], {}, r"labels makes an image of shape \(3,\), needed 2 or 3 dimensions"),
        ([0, 1, 2], {"field": (2, 2)}, r"labels has shape \(3,\), needed 4 labels for a grid \(2, 2\)"),
        (np.zeros((2, 2)), {"index": 1}, r"index is 1 but the image has shape \(2, 2\): only volumes have slices"),
        (np.zeros((2, 2, 2)), {"index": 2}, "index is 2, needed 0 to 1 along axis 2"),
        (np.zeros((2, 2, 2)), {"slice_axis": 3}, "slice_axis is 3, needed 0, 1 or 2"),
        ([0] * 5, {"field": make_toy_3d(0)}, "toy_3d has no grid"),
        (
            [0] * 3,
            {"field": make_dti((2, 2), 2, random_state=0)},
            r"values has shape \(3,\), needed one value for each",
        ),
    ],
)
def test_what_makes_no_image_is_refused(labels, options, message):
    with pytest.raises(InputError, match=message):
        plot_label_image(labels, **options)


def test_comparisons_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match=r"truth has shape \(1, 3\) and labels \(1, 2\), needed the same"):
        plot_label_comparison([[0, 1]], [[0, 1, 1]])
    with pytest.raises(InputError, match="axes has 1 Axes, needed 2: labels, truth"):
        plot_label_comparison([[0, 1]], [[0, 1]], axes=[Figure().add_subplot()])
