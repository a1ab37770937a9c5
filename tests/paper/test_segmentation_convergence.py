from __future__ import annotations

import numpy as np
import pytest

from homothety.metrics import f_measure
from paper import segmentation_convergence
from paper.plan import Effort
from paper.segmentation_convergence import SegmentationRecord, record_chain


@pytest.mark.parametrize("settings", segmentation_convergence.SETTINGS)
def test_a_chain_is_recorded_from_its_first_sweep(settings, small_series):
    record = record_chain(small_series, settings, 5, 0)
    for name in SegmentationRecord.__dataclass_fields__:
        assert getattr(record, name).shape == (5,), name
    assert (record.n_actions <= record.n_states).all()
    assert (record.seconds > 0).all()


def test_scores_are_those_of_the_actions_of_each_sweep(small_series):
    record = record_chain(small_series, "default", 5, 0)
    actions = list(segmentation_convergence.fit_chain(small_series, "default", 5, 0).action_draws_)
    assert record.n_actions.tolist() == [len(np.unique(one)) for one in actions]
    assert record.f_measure.tolist() == [f_measure(small_series.labels, one) for one in actions]


def test_equal_seeds_give_equal_chains(small_series):
    a, b = (record_chain(small_series, "default", 4, seed=3) for _ in range(2))
    np.testing.assert_array_equal(a.log_joint, b.log_joint)
    np.testing.assert_array_equal(a.hamming, b.hamming)


def test_the_page_has_times_beside_the_authors_and_a_figure_per_settings(small_series):
    values = np.array([1.0, 2.0])
    chain = SegmentationRecord(values, values, values, values / 8, values / 4, values / 1000)
    outcomes = {(small_series.key, settings): [chain] * 2 for settings in segmentation_convergence.SETTINGS}
    report = segmentation_convergence.report([small_series], Effort(runs=2, sweeps=2), outcomes)
    cells = [cell.strip() for cell in report.markdown.splitlines()[2].split("|")[1:-1]]
    assert cells[:6] == ["Toy 2D (2)", "as published", "1 ms", "2 ms", "630 ms", "3 ms"]
    assert cells[6:] == ["0.250", "0.500", "2", "2", "2"]
    assert set(report.figures) == {"segmentation-convergence", "segmentation-convergence-published"}
    assert len(report.figures["segmentation-convergence"]().axes) == 5
