from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from homothety.estimators.methods import OneState
from paper import table4
from paper.plan import Effort

TINY = Effort(runs=1, sweeps=4, states=2)
RUNS = [{"Hamming": 0.25, "GCE": 0.125, "VI": 1.5, "purity": 0.5, "NMI": 0.5, "F": 0.75, "K": 5.0, "K_Z": 3.0}]


class Fitted:
    """An answer known beforehand: two states of series 0 are one action."""

    def __init__(self, paths, actions=None):
        self.paths_ = paths
        if actions is not None:
            self.actions_, self.n_actions_ = actions, len(np.unique(np.concatenate(actions)))


@pytest.mark.parametrize("method", table4.METHODS, ids=lambda method: method.key)
def test_every_method_has_the_columns_of_the_table(method, small_series):
    with threadpool_limits(1):
        scores = table4.score_fit(small_series, method.cluster(small_series, TINY, 0))
    without = {"K_Z"} if method.key in ("hmm", "hdp", "ibp", "one-state") else set()
    assert set(scores) == set(table4.printed.SEGMENTATION_METRICS) - without
    assert scores["K"] >= scores.get("K_Z", 1) >= 1


def test_the_papers_samplers_report_one_sample_and_ours_what_chains_agree_on(small_series):
    with threadpool_limits(1):
        theirs, ours = (table4.fit_method(key, small_series, TINY, 0) for key in ("icsc-paper", "icsc"))
    assert (theirs.n_chains, theirs.point_estimate, theirs.coupling, theirs.n_sweeps) == (1, "map", "paper", 4)
    assert (ours.n_chains, ours.point_estimate, ours.coupling, ours.n_sweeps) == (4, "vi", None, 4)


def test_actions_are_scored_where_there_are_any(small_series):
    truth = np.split(small_series.labels, np.cumsum([len(one) for one in small_series.sequences])[:-1])
    paths = [2 * actions + (np.arange(len(actions)) % 2) for actions in truth]  # two states of every action
    by_states = table4.score_fit(small_series, Fitted(paths))
    by_actions = table4.score_fit(small_series, Fitted(paths, truth))
    assert by_states["Hamming"] > 0.4
    assert (by_actions["Hamming"], by_actions["F"]) == (0.0, 1.0)
    assert (by_actions["K"], by_actions["K_Z"]) == (4.0, 2.0)


def test_one_state_looks_better_by_hamming_than_it_is(small_series):
    scores = table4.score_fit(small_series, OneState().fit(small_series.sequences))
    largest = np.bincount(small_series.labels).max() / len(small_series)
    assert scores["Hamming"] == pytest.approx(1 - largest)
    assert (scores["GCE"], scores["NMI"], scores["K"]) == (0.0, 0.0, 1.0)


def test_the_page_has_both_inputs_the_papers_cells_and_a_figure(small_series):
    full = table4.SeriesSet("grating-7d", "Grating", small_series.labels, small_series.sequences, printed_as="grating")
    outcomes = {(one.key, method.key): RUNS for one in (small_series, full) for method in table4.METHODS}
    report = table4.report([small_series, full], Effort(runs=1), outcomes)
    assert [line for line in report.markdown.splitlines() if line.startswith("##")] == [
        "## As the paper's table used them",
        "## In full",
    ]
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in report.markdown.splitlines()]
    ours = next(line for line in lines if line[:2] == ["Grating (2)", "ICSC-HMM"])
    assert ours[2:6] == ["0.250", "0.126 (0.075)", "0.125", "0.108 (0.031)"]
    assert ours[-4:] == ["5", "4.6 (1.07)", "3", "3.4 (1.07)"]
    nothing = next(line for line in lines if line[:2] == ["Grating (2)", "one state"])
    assert nothing[3::2] == ["-"] * 6
    assert [ax.get_title() for ax in report.figures["table-4"]().axes] == ["Hamming", "F"]


def test_a_part_without_sets_is_left_out(small_series):
    report = table4.report([small_series], Effort(runs=1), {("toy-2d", method.key): RUNS for method in table4.METHODS})
    assert "## In full" not in report.markdown
    assert "## As the paper's table used them" in report.markdown
