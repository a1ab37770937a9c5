from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from homothety.datasets import make_toy_3d, make_toy_6d, make_wishart_families
from homothety.errors import InputError
from homothety.viz import cluster_colors, plot_ellipses, plot_ellipsoids, plot_spectra
from homothety.viz.covariances import _camera, _sphere, _unit_lengths, outlines_of


def corners(collection):
    """Corners of the polygons of a collection, the closing one left out."""
    return np.array([path.vertices[:-1] for path in collection.get_paths()])


def mahalanobis(points, covariance):
    return np.einsum("...i,ij,...j->...", points, np.linalg.inv(covariance), points)


@pytest.fixture
def plane_families():
    return make_wishart_families(3, 2, n_per_family=4, random_state=0)


def test_ellipses_at_their_means_are_of_one_standard_deviation(plane_families, rng):
    means = rng.normal(size=(12, 2))
    ax = plot_ellipses(plane_families.matrices, plane_families.labels, means=means)
    assert isinstance(ax, Axes)
    assert ax.get_aspect() == 1.0
    for label, artist in enumerate(ax.collections):
        members = np.flatnonzero(plane_families.labels == label)
        np.testing.assert_allclose(artist.get_facecolor()[0, :3], cluster_colors(3)[label])
        for polygon, member in zip(corners(artist), members, strict=True):
            np.testing.assert_allclose(mahalanobis(polygon - means[member], plane_families.matrices[member]), 1.0)


def test_on_a_grid_ellipses_are_of_equal_size_unless_told(plane_families):
    for sizes, spread in (("equal", 0.0), ("true", np.ptp(np.linalg.eigvalsh(plane_families.matrices)[:, 1] ** 0.5))):
        ax = plot_ellipses(plane_families.matrices, plane_families.labels, sizes=sizes)
        outlines = np.concatenate([corners(artist) for artist in ax.collections])
        reach = np.linalg.norm(outlines - outlines.mean(axis=1, keepdims=True), axis=-1).max(axis=1)
        assert np.ptp(reach) > 0.1 if spread else np.ptp(reach) < 1e-2
        assert reach.max() == pytest.approx(1.0, abs=1e-2)


def test_means_of_the_wrong_shape_are_refused(plane_families):
    with pytest.raises(InputError, match=r"means has shape \(2, 2\), needed \(12, 2\): a centre for each matrix"):
        plot_ellipses(plane_families.matrices, means=np.eye(2))


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_the_grid_does_not_depend_on_the_unit_of_measurement(scale, plane_families):
    ax = plot_ellipses(scale * plane_families.matrices, plane_families.labels, sizes="true")
    expected = plot_ellipses(plane_families.matrices, plane_families.labels, sizes="true")
    assert ax.get_xlim() == expected.get_xlim()
    np.testing.assert_allclose(np.abs(corners(ax.collections[0])), np.abs(corners(expected.collections[0])), atol=1e-9)


def test_ellipsoids_stand_cluster_by_cluster_and_are_numbered():
    toy = make_toy_3d(0)
    ax = plot_ellipsoids(toy.matrices, [1, 0, 1, 0, 0])
    places = sorted((-text.get_position()[1], text.get_position()[0], text.get_text()) for text in ax.texts)
    assert [name for _, _, name in places] == ["1", "3", "4", "0", "2"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["0", "1"]
    assert ax.get_aspect() == 1.0


def test_all_faces_lie_inside_the_outline_of_their_ellipsoid():
    toy = make_toy_3d(0)
    ax = plot_ellipsoids(toy.matrices[:1])
    surface, outline = (corners(artist) for artist in ax.collections)
    centre = outline[0].mean(axis=0)
    covariance = 2 * np.cov(outline[0].T, ddof=0)  # of points spread evenly by angle over an ellipse
    assert mahalanobis(outline[0] - centre, covariance) == pytest.approx(np.ones(len(outline[0])))
    assert mahalanobis(surface - centre, covariance).max() < 1 + 1e-9
    n_faces = len(_sphere(10**6)[0])
    assert 0.45 * n_faces < len(surface) < 0.55 * n_faces


def test_the_outline_is_the_shadow_of_the_ellipsoid(rng):
    factor = rng.normal(size=(1, 3, 3))
    directions = rng.normal(size=(20, 2))
    farthest = (outlines_of(factor)[0] @ directions.T).max(axis=0)
    # The largest coordinate of an ellipsoid along a direction is the root of the variance there.
    expected = np.sqrt(np.einsum("di,ij,dj->d", directions, (factor[0] @ factor[0].T)[:2, :2], directions))
    np.testing.assert_allclose(farthest, expected, rtol=3e-3)


def test_the_camera_keeps_dimension_2_upright():
    camera = _camera(25.0, -60.0)
    np.testing.assert_allclose(camera @ camera.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(camera) == pytest.approx(1.0)
    right, up, towards = camera @ [0, 0, 1]
    assert right == 0
    assert up > 0
    assert towards > 0
    np.testing.assert_allclose(_camera(0.0, 0.0) @ [1, 0, 0], [0, 0, 1], atol=1e-12)


def test_shading_keeps_the_hue_of_the_cluster():
    ax = plot_ellipsoids(np.eye(3)[np.newaxis], [1])
    faces, base = ax.collections[0].get_facecolor()[:, :3], np.array(to_rgb(cluster_colors(2)[1]))
    assert (faces.argmax(axis=1) == base.argmax()).all()
    assert np.ptp(faces.sum(axis=1)) > 0.5


@pytest.mark.parametrize("plot", [plot_ellipses, plot_ellipsoids])
@pytest.mark.parametrize(("n_clusters", "n_items"), [(1, 1), (2, 5), (12, 60), (40, 200)])
def test_texts_do_not_overlap(plot, n_clusters, n_items, rng, partition, assert_legible):
    n_dims = 2 if plot is plot_ellipses else 3
    factors = rng.normal(size=(n_items, n_dims, n_dims))
    ax = plot(factors @ factors.swapaxes(1, 2), partition(n_clusters, n_items))
    assert len(ax.texts) == (n_items if n_items <= 60 else 0)
    assert_legible(ax.figure)


def test_two_thousand_ellipsoids_take_few_artists(rng, partition):
    factors = rng.normal(size=(2000, 3, 3))
    ax = plot_ellipsoids(factors @ factors.swapaxes(1, 2), partition(5, 2000))
    assert len(ax.collections) == 1 + 5
    assert len(ax.get_children()) < 30


@pytest.mark.parametrize(("n_items", "n_rows", "n_columns"), [(1, 1, 1), (2, 1, 2), (5, 2, 3), (60, 6, 10)])
def test_grids_have_room_for_all_and_no_empty_row(n_items, n_rows, n_columns):
    ax = plot_ellipses(np.broadcast_to(np.eye(2), (n_items, 2, 2)), np.arange(n_items)[::-1])
    places = np.array([text.get_position() for text in ax.texts])
    assert len(np.unique(places, axis=0)) == n_items
    assert (len(set(places[:, 1])), len(set(places[:, 0]))) == (n_rows, n_columns)
    assert places[-1].tolist() == [places[:, 0].min(), places[:, 1].max()]


def test_ellipses_are_drawn_where_told():
    ax = Figure().add_subplot()
    assert plot_ellipses(np.eye(2)[np.newaxis], ax=ax) is ax
    assert plot_ellipsoids(np.eye(3)[np.newaxis], ax=ax) is ax


def test_flat_matrices_are_drawn(assert_legible):
    ax = plot_ellipsoids(np.diag([1.0, 1.0, 0.0])[np.newaxis], [0])
    assert np.isfinite(ax.collections[0].get_facecolor()).all()
    assert_legible(ax.figure)


@pytest.mark.parametrize(
    ("plot", "covariances", "message"),
    [
        (plot_ellipsoids, make_toy_6d(0).matrices, "covariances are 6 x 6, needed 3 x 3. Use plot_spectra"),
        (plot_ellipsoids, np.eye(2)[None], "covariances are 2 x 2, needed 3 x 3. Use plot_ellipses"),
        (plot_ellipses, np.eye(3)[None], "covariances are 3 x 3, needed 2 x 2. Use plot_ellipsoids"),
        (plot_ellipsoids, np.eye(3), r"covariances has shape \(3, 3\), needed \(n_matrices, n_dims, n_dims\)"),
        (plot_ellipsoids, -np.eye(3)[None], r"covariances\[0\] is not positive definite"),
        (plot_ellipsoids, np.broadcast_to(np.eye(3), (5001, 3, 3)), "covariances holds 5001 matrices, needed at most"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_advice(plot, covariances, message):
    with pytest.raises(InputError, match=message):
        plot(covariances)


def test_sizes_must_be_known():
    with pytest.raises(InputError, match="sizes is 'big', needed 'true' or 'equal'"):
        plot_ellipsoids(np.eye(3)[np.newaxis], sizes="big")


# --- spectra ----------------------------------------------------------------------------------------------------------


def test_lengths_are_free_of_rotation_and_scale():
    toy = make_toy_6d(random_state=0, scale="matrix")
    lengths = _unit_lengths(toy.matrices)
    np.testing.assert_allclose(lengths.prod(axis=1), 1.0)
    assert (np.diff(lengths, axis=1) > -1e-9).all()
    for label in range(3):
        np.testing.assert_allclose(np.ptp(lengths[toy.labels == label], axis=0), 0.0, atol=1e-9)


def test_one_line_per_matrix_and_one_mean_per_cluster():
    families = make_wishart_families(3, 4, n_per_family=5, random_state=0)
    ax = plot_spectra(families.matrices, families.labels)
    assert isinstance(ax, Axes)
    assert [len(artist.get_segments()) for artist in ax.collections] == [5, 5, 5]
    lengths = _unit_lengths(families.matrices)
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
    lengths = _unit_lengths(families.matrices)
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
def test_texts_of_spectra_do_not_overlap(n_clusters, n_items, n_dims, rng, partition, assert_legible):
    factors = rng.normal(size=(n_items, n_dims, n_dims + 2))
    assert_legible(plot_spectra(factors @ factors.swapaxes(1, 2), partition(n_clusters, n_items)).figure)


def test_spheres_alone_can_be_drawn(assert_legible):
    assert_legible(plot_spectra(np.eye(3)[np.newaxis], [0]).figure)


def test_spectra_are_drawn_where_told():
    ax = Figure().add_subplot()
    assert plot_spectra(np.eye(3)[np.newaxis], ax=ax) is ax


def test_spectra_are_those_of_a_stack_of_covariances():
    with pytest.raises(InputError, match=r"covariances has shape \(3, 3\)"):
        plot_spectra(np.eye(3))
