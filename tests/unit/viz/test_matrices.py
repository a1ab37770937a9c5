from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure

from homothety.covariance import pairwise_similarity
from homothety.datasets import make_wishart_families
from homothety.errors import InputError
from homothety.viz import cluster_colors, plot_coclustering, plot_similarity


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
    assert labels == ["similarity", "posterior probability of sharing a cluster"]


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
