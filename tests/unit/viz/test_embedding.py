from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from homothety.covariance import pairwise_similarity
from homothety.covariance.embedding import spectral_embedding
from homothety.datasets import make_toy_6d
from homothety.errors import InputError
from homothety.viz import cluster_colors, plot_embedding


def legend_names(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_each_cluster_has_its_points_its_colour_and_its_marker(rng):
    points, labels = rng.normal(size=(9, 2)), np.repeat([0, 1, 5], [2, 3, 4])
    ax = plot_embedding(points, labels)
    assert isinstance(ax, Axes)
    drawn = {tuple(artist.get_facecolor()[0, :3]): artist for artist in ax.collections}
    colors = cluster_colors(6)
    for label in (0, 1, 5):
        np.testing.assert_allclose(drawn[tuple(colors[label])].get_offsets(), points[labels == label])
    assert len({artist.get_paths()[0].vertices.tobytes() for artist in ax.collections}) == 3
    assert legend_names(ax) == ["0", "1", "5"]


def test_the_most_spread_columns_are_chosen(rng):
    points = rng.normal(size=(50, 4)) * [1.0, 5.0, 0.1, 3.0]
    ax = plot_embedding(points)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("embedding column 1", "embedding column 3")
    np.testing.assert_allclose(ax.collections[0].get_offsets(), points[:, [1, 3]])


def test_columns_can_be_named(rng):
    points = rng.normal(size=(5, 4))
    ax = plot_embedding(points, dims=(3, 0))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("embedding column 3", "embedding column 0")
    np.testing.assert_allclose(ax.collections[0].get_offsets(), points[:, [3, 0]])


def test_three_columns_make_a_space_with_all_labels_inside_the_figure(rng):
    ax = plot_embedding(rng.normal(size=(30, 4)), np.arange(30) % 3, dims=3)
    canvas = FigureCanvasAgg(ax.figure)
    canvas.draw()
    assert ax.name == "3d"
    assert legend_names(ax) == ["0", "1", "2"]
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
        assert axis.label.get_text().startswith("embedding column")
        box = axis.label.get_window_extent(canvas.get_renderer())
        assert ax.figure.bbox.contains(*box.min)
        assert ax.figure.bbox.contains(*box.max)


def test_a_single_column_is_drawn_against_the_items():
    ax = plot_embedding([[0.5], [0.1]], [0, 0])
    np.testing.assert_allclose(ax.collections[0].get_offsets(), [[0.5, 0], [0.1, 1]])
    assert ax.get_ylabel() == "item"


def test_small_clusters_lie_on_top():
    ax = plot_embedding(np.zeros((6, 2)), [0, 1, 1, 1, 1, 1])
    zorders = {len(artist.get_offsets()): artist.get_zorder() for artist in ax.collections}
    assert zorders[1] > zorders[5]


def test_a_real_embedding_of_one_unit_in_both_directions(assert_legible):
    toy = make_toy_6d(random_state=0)
    ax = plot_embedding(spectral_embedding(pairwise_similarity(toy.matrices)).points, toy.labels)
    assert ax.get_aspect() == 1.0
    assert_legible(ax.figure)


@pytest.mark.parametrize(("n_clusters", "n_items"), [(1, 1), (1, 10), (12, 100), (40, 300), (200, 400)])
def test_the_legend_covers_no_point_and_texts_do_not_overlap(n_clusters, n_items, rng, partition, assert_legible):
    ax = plot_embedding(rng.normal(size=(n_items, 2)), partition(n_clusters, n_items))
    assert_legible(ax.figure)
    assert len(ax.collections) == n_clusters


def test_without_labels_there_is_no_legend(rng):
    assert plot_embedding(rng.normal(size=(4, 2))).get_legend() is None


def test_items_in_no_cluster_come_last():
    assert legend_names(plot_embedding(np.eye(3), [-1, 0, 1])) == ["0", "1", "none"]


def test_it_draws_where_it_is_told():
    ax = Figure().add_subplot()
    assert plot_embedding(np.eye(2), [0, 1], ax=ax) is ax
    ax = Figure().add_subplot(projection="3d")
    assert plot_embedding(np.eye(3), [0, 1, 2], dims=3, ax=ax) is ax


@pytest.mark.parametrize(
    ("dims", "message"),
    [
        (4, "dims is 4, needed 2 or 3 columns"),
        (3, "points has 2 columns, needed at least 3 for dims=3"),
        ((0, 2), r"dims is \(0, 2\), needed 2 or 3 columns out of 0 to 1"),
        ((0,), r"dims is \(0,\), needed 2 or 3 columns"),
    ],
)
def test_columns_that_are_not_there_are_refused(dims, message):
    with pytest.raises(InputError, match=message):
        plot_embedding(np.eye(2), dims=dims)


def test_axes_of_the_wrong_kind_are_refused():
    with pytest.raises(InputError, match="ax is rectilinear but 3 columns are drawn: make it with projection='3d'"):
        plot_embedding(np.eye(3), dims=3, ax=Figure().add_subplot())
    with pytest.raises(InputError, match="ax is 3d but 2 columns are drawn"):
        plot_embedding(np.eye(3), ax=Figure().add_subplot(projection="3d"))


def test_points_of_the_wrong_shape_are_refused():
    with pytest.raises(InputError, match=r"points has shape \(3,\)"):
        plot_embedding([1.0, 2.0, 3.0])
