from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from homothety.covariance import pairwise_similarity
from homothety.covariance.embedding import spectral_embedding
from homothety.estimators.similarity import SimilarityMixture
from paper import table3
from paper.plan import Effort
from paper.published import published_embedding, published_settings


def test_the_published_embedding_is_that_of_the_published_rule(small_set):
    similarity = pairwise_similarity(small_set.items, variant="published")
    expected = spectral_embedding(similarity, n_components="published").points
    np.testing.assert_array_equal(published_embedding(small_set).embedding_, expected)


def test_the_published_prior_is_that_of_the_authors(small_set):
    embedding = published_embedding(small_set)
    model = SimilarityMixture(**published_settings(small_set, n_sweeps=2, seed=0))
    model.fit(embedding.embedding_, similarity=embedding.similarity_)
    points, n_columns = embedding.embedding_, embedding.n_components_
    assert (model.base_.dof, model.base_.mean_strength) == (n_columns, 1.0)
    np.testing.assert_allclose(model.base_.mean, points.mean(axis=0))
    mean_variance = np.trace(np.cov(points.T, ddof=0)) / n_columns
    np.testing.assert_allclose(model.base_.scale, mean_variance * np.eye(n_columns), atol=1e-7)


@pytest.mark.parametrize("method", table3.METHODS, ids=lambda method: method.key)
def test_every_method_labels_every_item(method, small_set):
    with threadpool_limits(1):
        labels = method.cluster(small_set, Effort(sweeps=4), 0)
    assert labels.shape == (len(small_set),)


def test_the_page_has_all_methods_and_a_figure(small_set):
    runs = [{"NMI": 0.5, "purity": 0.25, "F": 0.75, "K": 4.0}]
    outcomes = {(small_set.key, method.key): runs for method in table3.METHODS}
    report = table3.report([small_set], Effort(runs=1), outcomes)
    cells = [cell.strip() for cell in report.markdown.splitlines()[2].split("|")[1:-1]]
    assert cells == ["Toy 6D (3)", "NMI", "0.500", "1.00", "0.500", "0.633 (0.342)", "0.500", "0.500", "1.00"]
    assert [ax.get_title() for ax in report.figures["table-3"]().axes] == ["NMI", "F"]
