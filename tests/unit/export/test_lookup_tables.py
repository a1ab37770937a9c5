from __future__ import annotations

import numpy as np
import pytest

from homothety.export import to_napari, write_lookup_tables
from homothety.palette import cluster_colors


def test_both_tables_have_the_colours_of_the_report(tmp_path):
    assert write_lookup_tables(tmp_path, 9) == ["labels.lut", "labels_lut.txt"]
    fsleyes = [line.split() for line in (tmp_path / "labels.lut").read_text().splitlines()]
    freesurfer = [line.split() for line in (tmp_path / "labels_lut.txt").read_text().splitlines()]
    assert freesurfer[0] == ["0", "background", "0", "0", "0", "0"]
    assert [int(row[0]) for row in fsleyes] == [int(row[0]) for row in freesurfer[1:]] == list(range(1, 10))
    assert [row[4] for row in fsleyes] == [row[1] for row in freesurfer[1:]] == [f"cluster-{k}" for k in range(1, 10)]
    np.testing.assert_allclose([list(map(float, row[1:4])) for row in fsleyes], cluster_colors(9), atol=1e-5)
    np.testing.assert_allclose([list(map(int, row[2:5])) for row in freesurfer[1:]], 255 * cluster_colors(9))


def test_napari_shows_clusters_in_the_colours_of_the_report():
    layers = pytest.importorskip("napari.layers")
    layer = layers.Labels(np.array([[0, 1], [9, 2]]), **to_napari(9))
    colors = layer.colormap.map(layer.data)
    np.testing.assert_allclose(colors[0, 0], 0)
    np.testing.assert_allclose(colors[[0, 1, 1], [1, 1, 0], :3], cluster_colors(9)[[0, 1, 8]], atol=1e-6)
    assert layer.features["cluster"].tolist() == ["background", *(f"cluster-{k}" for k in range(1, 10))]
