"""Results: what they say in tables, and what they work out from their parts."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from fabricated import made_up_chains, make_clustering, make_framed_segmentation, make_recordings, make_segmentation
from homothety import IBPHMM
from homothety.errors import InputError
from homothety.sampling import Trace
from homothety.summaries.chains import Chains, stack_traces
from homothety.summaries.result import Provenance


@pytest.fixture(scope="module")
def result():
    return make_segmentation(make_recordings()).result_


def test_segments_have_names_and_the_action_of_most_of_their_steps(result):
    flat = result.actions.flat.copy()
    flat[:5] = [0, 2, 2, 2, 1]
    flat[5:30] = 2
    sure = np.where(flat == 2, 0.6, 0.123456)
    changed = replace(result, names=("left", "b", "c"), actions=replace(result.actions, flat=flat, sure=sure))
    expected = {"series": "left", "start": 0, "end": 30, "state": 1, "probability": 1.0}
    assert changed.tables()["segments"][0] == expected | {"action": 2, "action_probability": 0.6}
    first = changed.tables()["action_segments"][0]
    assert first == {"series": "left", "start": 0, "end": 1, "action": 0, "probability": 0.1235}


def test_the_call_names_only_what_numbers_depend_on(tmp_path):
    made = Provenance.of(IBPHMM(n_sweeps=7, progress=True, checkpoint=tmp_path))
    assert made.call == "IBPHMM(n_sweeps=7)"
    assert {"progress", "checkpoint"}.isdisjoint(made.settings)


def test_times_are_in_seconds_where_the_rate_is_known(result):
    row = replace(result, rate=50.0).tables()["segments"][1]
    assert (row["start_s"], row["end_s"]) == (row["start"] / 50, row["end"] / 50)
    assert "start_s" not in result.tables()["segments"][0]


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_tables_are_data_frames(result, library):
    pytest.importorskip({"arrow": "pyarrow"}.get(library, library))
    frame = result.to_frame("action_segments", library=library)
    assert list(map(int, frame["action"].to_numpy())) == [one.label for one in result.actions.segments]
    assert len(result.to_frame(library=library)) == len(result.states.segments)


def test_tables_that_are_not_there_are_refused(result):
    with pytest.raises(InputError, match="table is 'frames', needed one of segments, boundaries, labels"):
        result.to_frame("frames")
    with pytest.raises(InputError, match="library is 'dask', needed 'pandas', 'polars' or 'arrow'"):
        result.to_frame(library="dask")


def test_a_partition_has_a_table_of_labels():
    result = make_clustering().result_
    rows = list(result.tables()["labels"])
    assert [row["label"] for row in rows] == (result.labels + 1).tolist()
    assert rows[-1]["agreement"] == "0.5000"


def test_results_are_frozen(result):
    with pytest.raises(FrozenInstanceError):
        result.names = ()


def test_other_numbers_of_actions_without_sampling_again():
    framed = make_framed_segmentation(make_recordings()).result_
    assert [len(np.unique(np.concatenate(framed.actions_at(k)))) for k in (1, 2, 3, 4)] == [1, 2, 3, 4]
    with pytest.raises(InputError, match="n_actions is 5, but only 4 states were found"):
        framed.actions_at(5)


def test_models_without_an_order_of_merges_say_so(result):
    with pytest.raises(InputError, match="ICSCHMM has no order in which states are merged: use ActionHMM"):
        result.actions_at(2)


def test_the_verdict_is_worked_out_once(monkeypatch):
    chains = made_up_chains(("n_states",))
    first = chains.verdict
    monkeypatch.setattr("homothety.summaries.chains.judge", None)
    assert chains.verdict is first


def test_chains_that_were_cut_short_are_compared_over_their_common_draws():
    traces = [Trace({"log_joint": [0.0] * 4 + [float(chain)] * n}, kept=[0] * n) for chain, n in enumerate((6, 3, 0))]
    traces[2].scalars["log_joint"] = [0.0, 0.0]
    chains = Chains(trace=stack_traces(traces), n_burn=4, n_kept=9, weights=np.ones(3) / 3, compared=("log_joint",))
    np.testing.assert_array_equal(chains.kept(["log_joint"])["log_joint"], [[0.0] * 3, [1.0] * 3])
    assert (chains.n_chains, chains.n_sweeps) == (3, 10)
