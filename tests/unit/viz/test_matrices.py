from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure

from homothety.covariance import pairwise_similarity
from homothety.covariance.embedding import spectral_embedding
from homothety.datasets import make_toy_6d, make_wishart_families
from homothety.errors import InputError
from homothety.viz import cluster_colors, plot_coclustering, plot_embedding, plot_heatmap, plot_similarity
from homothety.viz.matrices import _setting_text


def shown(ax):
    """The matrix as it is drawn."""
    (image,) = ax.images
    return np.asarray(image.get_array())


def random_similarity(rng, n_items):
    points = rng.normal(size=(n_items, 2))
    return np.exp(-((points[:, None] - points[None]) ** 2).sum(axis=-1))


@pytest.fixture
def families():
    return make_wishart_families(3, 3, n_per_family=6, random_state=0)


@pytest.mark.parametrize("plot", [plot_similarity, plot_coclustering])
def test_the_matrix_is_sorted_by_cluster(plot, families, rng):
    shuffled = rng.permutation(len(families))
    similarity = pairwise_similarity(families.matrices)
    ax = plot(similarity[np.ix_(shuffled, shuffled)], families.labels[shuffled])
    assert isinstance(ax, Axes)
    order = np.argsort(families.labels[shuffled], kind="stable")
    np.testing.assert_allclose(shown(ax), similarity[np.ix_(shuffled[order], shuffled[order])])


def test_without_labels_it_is_drawn_as_it_is(families):
    similarity = pairwise_similarity(families.matrices)
    ax = plot_similarity(similarity)
    np.testing.assert_allclose(shown(ax), similarity)
    assert not ax.collections
    assert ax.get_xlabel() == "item"


def test_lines_run_between_clusters():
    ax = plot_similarity(np.eye(6), [0, 0, 0, 1, 1, 2])
    (lines,) = [artist for artist in ax.collections if isinstance(artist, LineCollection)]
    segments = np.array(lines.get_segments())
    upright = segments[segments[:, 0, 0] == segments[:, 1, 0]]
    level = segments[segments[:, 0, 1] == segments[:, 1, 1]]
    assert sorted(upright[:, 0, 0]) == sorted(level[:, 0, 1]) == [2.5, 4.5]
    assert ax.get_xlim() == (-0.5, 5.5)


def test_the_margin_has_colours_and_numbers_of_the_clusters():
    ax = plot_similarity(np.eye(6), [4, 4, 4, 1, 1, -1])
    (strip,) = [artist for artist in ax.collections if isinstance(artist, PolyCollection)]
    np.testing.assert_allclose(strip.get_facecolor()[:2, :3], cluster_colors(5)[[1, 4]])
    edges = [path.vertices[:, 1] for path in strip.get_paths()]
    assert [(edge.min(), edge.max()) for edge in edges] == [(-0.5, 1.5), (1.5, 4.5), (4.5, 5.5)]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["1", "4", "none"]
    assert ax.get_yticks().tolist() == [0.5, 3.0, 5.0]


def test_it_draws_where_it_is_told(families):
    ax = Figure().add_subplot()
    assert plot_similarity(np.eye(3), [0, 0, 1], ax=ax) is ax
    assert plot_coclustering(np.eye(3), ax=ax) is ax


def test_the_colour_bar_says_what_it_measures():
    labels = [bar.get_ylabel() for plot in (plot_similarity, plot_coclustering) for bar in plot(np.eye(2)).child_axes]
    assert labels == ["similarity", "agreement on one cluster"]


def test_limits_of_the_colours():
    assert plot_similarity(np.eye(2)).images[0].get_clim() == (0.0, 1.0)
    assert plot_similarity(np.eye(2), limits=(0.5, 0.9)).images[0].get_clim() == (0.5, 0.9)


@pytest.mark.parametrize(("n_clusters", "n_items"), [(1, 1), (1, 30), (12, 150), (40, 400), (40, 40)])
def test_texts_do_not_overlap(n_clusters, n_items, rng, partition, assert_legible):
    ax = plot_similarity(random_similarity(rng, n_items), partition(n_clusters, n_items))
    assert_legible(ax.figure)


def test_the_largest_clusters_keep_their_numbers(rng, partition):
    labels = partition(40, 400)
    ax = plot_similarity(random_similarity(rng, 400), labels)
    names = [int(label.get_text()) for label in ax.get_yticklabels()]
    assert names == sorted(names)
    assert np.bincount(labels).argmax() in names
    assert 10 < len(names) < 40


def test_many_items_take_no_more_artists_than_few(rng):
    few, many = (plot_similarity(random_similarity(rng, n), np.arange(n) % 3) for n in (10, 1000))
    assert len(few.findobj()) == len(many.findobj())


@pytest.mark.parametrize(
    ("similarity", "message"),
    [
        (np.ones((2, 3)), r"similarity has shape \(2, 3\), needed a square matrix"),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), r"similarity has entries from 1 to 2, needed values in \[0, 1\]"),
    ],
)
def test_what_is_no_similarity_is_refused(similarity, message):
    with pytest.raises(InputError, match=message):
        plot_similarity(similarity)


def test_the_name_in_the_message_is_the_arguments():
    with pytest.raises(InputError, match="coclustering has shape"):
        plot_coclustering([0.0])
    with pytest.raises(InputError, match=r"labels has shape \(3,\), needed \(2,\)"):
        plot_coclustering(np.eye(2), [0, 0, 1])


# --- embeddings -------------------------------------------------------------------------------------------------------


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


def test_an_embedding_is_drawn_where_told():
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


# --- tables -----------------------------------------------------------------------------------------------------------


def tick_names(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def test_cells_hold_the_values_with_the_first_row_at_the_bottom(rng):
    values = rng.random((3, 4))
    ax = plot_heatmap(values, [0.1, 1, 10], [1, 2, 3, 4], row_label="rows", column_label="columns", value_label="NMI")
    assert isinstance(ax, Axes)
    np.testing.assert_array_equal(ax.images[0].get_array(), values)
    low, high = ax.get_ylim()
    assert low < high
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.child_axes[0].get_ylabel()) == ("columns", "rows", "NMI")


def test_settings_are_named():
    ax = plot_heatmap(np.eye(3), [0.01, 1.0, 100.0], ["toy", "DTI", "all"])
    assert tick_names(ax.yaxis) == ["0.01", "1", "100"]
    assert tick_names(ax.xaxis) == ["toy", "DTI", "all"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (1.0, "1"),
        (0.0001, "0.0001"),
        (1e-5, "$10^{-5}$"),
        (2.5e-7, r"$2.5 \times 10^{-7}$"),
        (10_000, "10000"),
        (1e6, "$10^{6}$"),
        (-3e8, r"$-3 \times 10^{8}$"),
        (1 / 3, "0.333"),
        ("auto", "auto"),
    ],
)
def test_numbers_as_text(value, text):
    assert _setting_text(value) == text


def test_few_cells_are_annotated_light_on_dark():
    ax = plot_heatmap([[0.0, 1.0]], [1], [1, 2], cmap="gray")
    assert [(text.get_text(), text.get_color()) for text in ax.texts] == [("0.00", "white"), ("1.00", "black")]
    assert [text.get_position() for text in ax.texts] == [(0, 0), (1, 0)]


def test_annotation_follows_the_order_of_the_table(rng):
    values = rng.random((2, 3))
    ax = plot_heatmap(values, [1, 2], [1, 2, 3], number_format=".3f")
    written = {text.get_position(): float(text.get_text()) for text in ax.texts}
    assert written == {(column, row): round(values[row, column], 3) for row in range(2) for column in range(3)}


def test_many_cells_are_not_annotated_unless_asked(rng):
    values = rng.random((20, 20))
    assert not plot_heatmap(values, range(20), range(20)).texts
    assert len(plot_heatmap(values, range(20), range(20), annotate=True).texts) == 400
    assert not plot_heatmap(np.eye(2), [1, 2], [1, 2], annotate=False).texts


def test_what_is_missing_stays_empty():
    ax = plot_heatmap([[np.nan, 1.0, 2.0]], [1], [1, 2, 3])
    assert [text.get_position()[0] for text in ax.texts] == [1, 2]
    assert ax.images[0].get_clim() == (1.0, 2.0)


def test_limits_of_the_colours_of_a_table():
    assert plot_heatmap([[0.5, 0.6]], [1], [1, 2], limits=(0, 1)).images[0].get_clim() == (0, 1)


@pytest.mark.parametrize(("n_rows", "n_columns"), [(1, 1), (5, 7), (30, 4)])
def test_texts_of_tables_do_not_overlap(n_rows, n_columns, rng, assert_legible):
    values, rows, columns = rng.random((n_rows, n_columns)), np.logspace(-3, 3, n_rows), np.logspace(-5, 1, n_columns)
    ax = plot_heatmap(values, rows, columns, row_label="concentration", column_label="tolerance", value_label="NMI")
    assert_legible(ax.figure)


def test_long_names_of_columns_slant_and_stay_all():
    names = [f"a data set with a long name {number}" for number in range(5)]
    ax = plot_heatmap(np.eye(5), range(5), names)
    ax.figure.draw_without_rendering()
    assert tick_names(ax.xaxis) == names
    assert {label.get_rotation() for label in ax.get_xticklabels()} == {45.0}


def test_too_many_settings_are_named_in_part(rng):
    ax = plot_heatmap(rng.random((2, 200)), [1, 2], range(200))
    assert 2 < len(ax.get_xticks()) < 60
    assert np.ptp(np.diff(ax.get_xticks())) == 0
    assert tick_names(ax.xaxis) == [str(int(tick)) for tick in ax.get_xticks()]


def test_a_table_is_drawn_where_told():
    ax = Figure().add_subplot()
    assert plot_heatmap(np.eye(2), [1, 2], [1, 2], ax=ax) is ax


@pytest.mark.parametrize("values", [np.ones((3, 2)), np.ones(6), np.ones((2, 3, 1))])
def test_tables_that_do_not_fit_the_settings_are_refused(values):
    with pytest.raises(InputError, match=r"values has shape .*, needed \(2, 3\): one value for each"):
        plot_heatmap(values, [1, 2], [1, 2, 3])


def test_empty_tables_are_refused():
    with pytest.raises(InputError, match="at least one of each"):
        plot_heatmap(np.ones((0, 2)), [], [1, 2])
