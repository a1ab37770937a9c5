from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from homothety.datasets import make_toy_6d, make_wishart_families
from homothety.errors import InputError
from homothety.viz import cluster_colors, plot_spectra
from homothety.viz.spectra import unit_lengths


def test_lengths_are_free_of_rotation_and_scale():
    toy = make_toy_6d(random_state=0, scale="matrix")
    lengths = unit_lengths(toy.matrices)
    np.testing.assert_allclose(lengths.prod(axis=1), 1.0)
    assert (np.diff(lengths, axis=1) > -1e-9).all()
    for label in range(3):
        np.testing.assert_allclose(np.ptp(lengths[toy.labels == label], axis=0), 0.0, atol=1e-9)


def test_one_line_per_matrix_and_one_mean_per_cluster():
    families = make_wishart_families(3, 4, n_per_family=5, random_state=0)
    ax = plot_spectra(families.matrices, families.labels)
    assert isinstance(ax, Axes)
    assert [len(artist.get_segments()) for artist in ax.collections] == [5, 5, 5]
    lengths = unit_lengths(families.matrices)
    for label, (lines, mean) in enumerate(zip(ax.collections, ax.lines, strict=True)):
        np.testing.assert_allclose(np.array(lines.get_segments())[..., 1], lengths[families.labels == label])
        np.testing.assert_allclose(
            mean.get_ydata(), np.exp(np.log(lengths[families.labels == label]).mean(axis=0)), rtol=1e-12
        )
        np.testing.assert_allclose(to_rgb(mean.get_color()), cluster_colors(3)[label])
    assert len({line.get_marker() for line in ax.lines}) == 3
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["0", "1", "2"]


def test_all_of_every_line_is_in_view():
    families = make_wishart_families(3, 4, n_per_family=5, random_state=0)
    low, high = plot_spectra(families.matrices, families.labels).get_ylim()
    lengths = unit_lengths(families.matrices)
    assert low < lengths.min()
    assert lengths.max() < high


def test_axes_are_labelled_with_plain_numbers():
    ax = plot_spectra(make_toy_6d(random_state=0).matrices)
    ax.figure.draw_without_rendering()
    assert ax.get_yscale() == "log"
    assert ax.get_ylabel() == "axis length, scaled to unit product"
    assert "1" in [label.get_text() for label in ax.get_yticklabels()]
    assert all(tick == int(tick) for tick in ax.get_xticks())


@pytest.mark.parametrize(("n_clusters", "n_items", "n_dims"), [(1, 1, 2), (12, 60, 6), (40, 200, 3)])
def test_texts_do_not_overlap(n_clusters, n_items, n_dims, rng, partition, assert_legible):
    factors = rng.normal(size=(n_items, n_dims, n_dims + 2))
    assert_legible(plot_spectra(factors @ factors.swapaxes(1, 2), partition(n_clusters, n_items)).figure)


def test_spheres_alone_can_be_drawn(assert_legible):
    assert_legible(plot_spectra(np.eye(3)[np.newaxis], [0]).figure)


def test_it_draws_where_it_is_told():
    ax = Figure().add_subplot()
    assert plot_spectra(np.eye(3)[np.newaxis], ax=ax) is ax


def test_what_is_no_stack_of_covariances_is_refused():
    with pytest.raises(InputError, match=r"covariances has shape \(3, 3\)"):
        plot_spectra(np.eye(3))
