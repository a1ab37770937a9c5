from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb

from homothety.errors import InputError
from homothety.palette import (
    _COLORS,
    _SHADES,
    _UNASSIGNED_COLOR,
    N_SAFE_COLORS,
    cluster_style,
    contrasting,
    darkened,
    shade_style,
)
from homothety.viz import cluster_colors

OKABE_ITO = {"#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7", "#000000"}

# Oklab (Ottosson 2020): from linear red, green, blue to cone responses, and from their cube roots to coordinates.
TO_CONES = np.array([[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]])
TO_OKLAB = np.array([[0.2105, 0.7936, -0.0041], [1.9780, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]])

# What the green-blind see of linear colours (Machado, Oliveira and Fernandes 2009).
DEUTERANOPIA = np.array([[0.3673, 0.8606, -0.2280], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]])


def closest_pair(colors, vision=None):
    """Smallest distance in Oklab between any two colours."""
    linear = np.where(colors <= 0.04045, colors / 12.92, ((colors + 0.055) / 1.055) ** 2.4)
    if vision is not None:
        linear = np.clip(linear @ vision.T, 0, 1)
    points = np.cbrt(linear @ TO_CONES.T) @ TO_OKLAB.T
    distances = np.linalg.norm(points[:, None] - points[None], axis=-1)
    return distances[np.triu_indices(len(points), 1)].min()


def test_first_eight_colours_are_okabe_and_itos():
    assert {to_hex(color) for color in cluster_colors(8)} == OKABE_ITO


@pytest.mark.parametrize("n_clusters", [0, 1, 8, 13, 100])
def test_a_clusters_colour_does_not_depend_on_how_many_there_are(n_clusters):
    colors = cluster_colors(n_clusters)
    assert colors.shape == (n_clusters, 3)
    np.testing.assert_array_equal(colors, cluster_colors(200)[:n_clusters])


def test_forty_colours_and_the_grey_are_well_apart():
    colors = np.vstack([cluster_colors(40), to_rgb(_UNASSIGNED_COLOR)])
    assert closest_pair(colors) > 0.09
    assert closest_pair(colors, DEUTERANOPIA) > 0.04
    assert closest_pair(colors[:N_SAFE_COLORS], DEUTERANOPIA) > 0.07


def test_colour_and_marker_together_are_unique():
    styles = [cluster_style(number) for number in range(440)]
    assert len({(style.color, style.marker) for style in styles}) == 440


def test_alike_places_in_the_palette_differ_by_hatch_and_line():
    for number in range(len(_COLORS) - N_SAFE_COLORS):
        here, there = cluster_style(number), cluster_style(number + N_SAFE_COLORS)
        assert here.hatch != there.hatch
        assert here.linestyle != there.linestyle


def test_items_in_no_cluster_are_grey():
    assert cluster_style(-1).color == _UNASSIGNED_COLOR


def test_a_negative_number_of_clusters_is_refused():
    with pytest.raises(InputError, match="n_clusters is -1, needed 0 or more"):
        cluster_colors(-1)


def test_edges_are_darker_and_text_stands_out():
    assert darkened("#ffffff") == (0.5, 0.5, 0.5)
    assert contrasting(1, 1, 0) == "black"
    assert contrasting(0, 0, 1) == "white"


def shades_of(number):
    return np.array([to_rgb(shade_style(cluster_style(number), rank).color) for rank in range(len(_SHADES))])


@pytest.mark.parametrize("number", [0, 9, 33, -1])
def test_the_first_part_of_a_cluster_looks_like_the_cluster(number):
    style, first = cluster_style(number), shade_style(cluster_style(number), 0)
    assert (first.color.upper(), first.hatch, first.linestyle) == (style.color, style.hatch, style.linestyle)


@pytest.mark.parametrize("number", range(N_SAFE_COLORS))
def test_shades_of_a_cluster_are_told_apart_by_all_eyes(number):
    colors = np.vstack([shades_of(number), np.ones(3)])
    assert closest_pair(colors[:-1]) > 0.12
    assert closest_pair(colors[:-1], DEUTERANOPIA) > 0.12
    assert closest_pair(colors) > 0.07  # white is the page


def test_no_two_shades_of_different_clusters_are_the_same():
    assert closest_pair(np.vstack([shades_of(number) for number in range(N_SAFE_COLORS)])) > 0.045


def test_when_shades_come_again_hatch_and_line_differ():
    styles = [shade_style(cluster_style(9), rank) for rank in range(3 * len(_SHADES))]
    assert len({(style.color, style.hatch) for style in styles}) == len(styles)
    assert len({(style.color, style.linestyle) for style in styles}) == len(styles)
