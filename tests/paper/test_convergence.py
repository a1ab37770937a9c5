from __future__ import annotations

import numpy as np
import pytest

from homothety import SPCMMixture
from homothety.metrics import f_measure
from paper import convergence
from paper.chains import median_seconds, sweeps_to_settle
from paper.convergence import ChainRecord, record_chain, warm_model
from paper.plan import Effort


def chain(seconds):
    ones = np.ones(len(seconds))
    return ChainRecord(ones, ones, ones, np.array(seconds))


def test_a_chain_is_recorded_from_its_first_sweep(small_set):
    record = record_chain(small_set, "default", 7, 0)
    for values in (record.log_posterior, record.f_measure, record.n_clusters, record.seconds):
        assert values.shape == (7,)
    assert ((record.f_measure > 0) & (record.f_measure <= 1)).all()
    assert (record.seconds > 0).all()


def test_equal_seeds_give_equal_chains(small_set):
    a, b = (record_chain(small_set, "published", 5, seed=3) for _ in range(2))
    np.testing.assert_array_equal(a.log_posterior, b.log_posterior)
    np.testing.assert_array_equal(a.f_measure, b.f_measure)


def test_the_default_model_is_the_estimators(small_set):
    model = warm_model(small_set, "default")
    fitted = SPCMMixture(model="links", n_chains=1, n_sweeps=4, random_state=0).fit(small_set.items)
    np.testing.assert_array_equal(model.points, fitted.embedding_)
    np.testing.assert_array_equal(model.base.scale, fitted.base_.scale)
    assert model.base.dof == fitted.base_.dof


def test_f_is_that_of_the_partition_of_each_sweep(small_set):
    record = record_chain(small_set, "default", 3, 0)
    everything_right = f_measure(small_set.labels, small_set.labels)
    right = record.n_clusters == small_set.n_classes
    assert (record.f_measure[~right] < everything_right).all()


def test_medians_tell_the_first_sweep_from_the_others():
    chains = [chain([3.0, 1.0, 1.0]), chain([5.0, 2.0, 2.0]), chain([4.0, 1.5, 1.5])]
    assert median_seconds(chains) == (4.0, 1.5, 7.0)
    assert median_seconds([chain([3.0])]) == (3.0, 3.0, 3.0)


@pytest.mark.parametrize(
    ("trace", "n_sweeps"),
    [([-100, -50, 0, 0, 0, 0], 3), ([5, 5, 5, 5], 1), ([10, 0, 0, 0], 1), ([-100, -1, 0, 0], 2)],
)
def test_sweeps_to_settle(trace, n_sweeps):
    assert sweeps_to_settle(np.array(trace, dtype=float)) == n_sweeps


def test_the_page_has_times_beside_the_authors_and_a_figure_per_settings(small_set):
    outcomes = {(small_set.key, settings): [chain([0.002, 0.001])] * 2 for settings in convergence.SETTINGS}
    report = convergence.report([small_set], Effort(runs=2, sweeps=2), outcomes)
    row = report.markdown.splitlines()[2]
    for cell in ("2 ms", "234 ms", "1 ms", "55 ms", "3 ms", "28 s"):
        assert f" {cell} |" in row
    assert set(report.figures) == {"convergence", "convergence-published"}
    assert len(report.figures["convergence"]().axes) == 3
