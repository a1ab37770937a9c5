from __future__ import annotations

import json

import numpy as np
import pytest

from fabricated import make_clustering, with_parts
from homothety import SPCMMixture
from homothety.datasets import MatrixSet, make_toy_3d
from homothety.report import describe, render_html
from homothety.report.clustering import _cluster_means, _shapes_and_sizes


@pytest.fixture(scope="module")
def model():
    return make_clustering()


@pytest.fixture(scope="module")
def report(model):
    return describe(model, MatrixSet(model.matrices_, model.labels_))


def test_the_four_answers(report):
    how_many, uncertain, differs, _agree = report.answers
    assert how_many.short == "3 clusters."
    assert "Of 10, 10 and 10 matrices" in how_many.text
    assert "ARI 1.000" in how_many.text
    assert uncertain.short == "1 of 30."
    assert list(uncertain.points) == ["Matrix 29: cluster 3, agreement 0.50"]
    assert differs.short == "By shape."
    assert differs.points[0].startswith("Cluster 1: axes 1.59 : 0.794 : 0.794; the largest is ")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "By shape."),
        ({"size": "use"}, "By shape and size."),
        ({"measure": "airm"}, "By matrices as a whole: shape, size and direction."),
        ({"points": "log-euclidean"}, "By matrices as a whole: shape, size and direction."),
        ({"measure": "airm", "points": "shape"}, "By shape."),
        ({"measure": lambda a, b: float(np.abs(a - b).sum())}, "By the measure that was given."),
    ],
)
def test_what_was_compared_depends_on_the_settings(settings, said):
    toy = make_toy_3d(0)
    model = SPCMMixture(n_chains=1, n_sweeps=6, random_state=0, **settings).fit(toy.matrices)
    answer = describe(model).answers[2].short
    assert answer == (said if model.n_clusters_ > 1 else "There is only one.")
    assert f"By {model.result_.basis}." == said


def test_data_are_json_with_all_charts(report):
    data = json.loads(json.dumps(report.data, allow_nan=False))
    charts = [block for section in report.sections for block in section.blocks if type(block).__name__ == "Chart"]
    assert [chart.name for chart in charts] == ["space", "similarity", "coclustering", "traces"]
    assert all(chart.name in data for chart in charts)
    assert [look["name"] for look in data["looks"]["cluster"]] == ["1", "2", "3"]
    assert data["similarity"]["clusters"] == {"starts": [0, 10, 20], "labels": [1, 2, 3]}


def test_items_are_called_by_their_numbers_in_the_file(model):
    report = describe(with_parts(model, numbers=np.arange(30) + 100))
    (items,) = [section for section in report.sections if section.name == "items"]
    assert items.blocks[-1].rows[0][:3] == (129, 3, "0.50")


def test_matrices_of_an_image_have_voxels_and_slices(model):
    voxels = np.argwhere(np.ones((2, 3, 5)))
    report = describe(model, MatrixSet(model.matrices_, grid=(2, 3, 5), positions=voxels))
    sections = {section.name: section for section in report.sections}
    assert list(sections)[:2] == ["labels", "slices"]
    assert list(report.answers[1].points) == ["Matrix 29, voxel (1, 2, 4): cluster 3, agreement 0.50"]
    table = sections["items"].blocks[-1]
    assert table.header[:3] == ["matrix", "voxel", "cluster"]
    assert table.rows[0][:3] == (29, "(1, 2, 4)", 3)
    assert report.data["space"]["items"][7] == report.data["similarity"]["items"][7] == "7, voxel (0, 1, 2)"
    assert '<img src="data:image/png;base64,' in render_html(report)


def test_shapes_are_free_of_size():
    shapes, sizes = _shapes_and_sizes(np.stack([np.diag([1.0, 16.0]), 9 * np.diag([16.0, 1.0])]))
    np.testing.assert_allclose(shapes, [[2.0, 0.5], [2.0, 0.5]])
    np.testing.assert_allclose(sizes, [2.0, 6.0])


def test_means_over_clusters(rng):
    matrix, labels = rng.uniform(size=(5, 5)), np.array([0, 1, 0, 1, 1])
    expected = [[matrix[np.ix_(labels == i, labels == j)].mean() for j in range(2)] for i in range(2)]
    np.testing.assert_allclose(_cluster_means(matrix, labels), expected)
