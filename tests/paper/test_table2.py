from __future__ import annotations

import numpy as np

from homothety import pairwise_similarity
from paper import table2
from paper.plan import Effort


def test_similarities_are_those_of_the_library(small_set):
    expected = pairwise_similarity(small_set.items, variant="published", tolerance=1.0)
    np.testing.assert_array_equal(table2.similarity_of(small_set, "bspcm"), expected)
    np.testing.assert_array_equal(
        table2.similarity_of(small_set, "airm"), pairwise_similarity(small_set.items, measure="airm")
    )


def test_spectral_clustering_recovers_shapes_from_bspcm(small_set):
    labels = table2.cluster_spectrally("bspcm", small_set, Effort(), 0)
    assert len(np.unique(labels)) == 3
    assert all(len(np.unique(labels[small_set.labels == k])) == 1 for k in range(3))


def test_the_page_has_all_cells_and_a_figure(small_set):
    runs = [{"NMI": 0.5, "purity": 0.25, "F": 0.75, "K": 4.0}]
    outcomes = {(small_set.key, method.key): runs for method in table2.METHODS}
    report = table2.report([small_set], Effort(runs=1), outcomes)
    rows = [line for line in report.markdown.splitlines() if line.startswith("| Toy 6D")]
    assert len(rows) == 2 * 4
    assert rows[0].count("0.50 / 0.19") == 4
    assert "4 / 2" in rows[3]
    axes = report.figures["table-2"]().axes
    assert [ax.get_title() for ax in axes] == ["Affinity propagation", "Spectral clustering"]
