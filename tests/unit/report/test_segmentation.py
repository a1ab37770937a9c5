from __future__ import annotations

import json
from base64 import b64decode
from dataclasses import replace

import numpy as np
import pytest

from fabricated import make_recordings, make_segmentation, with_parts, with_trace
from homothety import HMMSelection, TwoStageHMM
from homothety.datasets import SequenceSet
from homothety.errors import InputError
from homothety.report import describe, render_html, write_report
from homothety.report.charts import _MISSING, _add_traces
from homothety.summaries.chains import Chains
from homothety.summaries.positions import position_dims
from homothety.summaries.result import Labels, Provenance


@pytest.fixture(scope="module")
def recordings():
    return make_recordings()


@pytest.fixture(scope="module")
def model(recordings):
    return make_segmentation(recordings)


@pytest.fixture(scope="module")
def report(model, recordings):
    return describe(model, recordings)


def block(report, section, kind):
    (found,) = [one for one in report.sections if one.name == section]
    return [one for one in found.blocks if type(one).__name__ == kind]


def test_the_four_answers(report):
    how_many, uncertain, differs, agree = report.answers
    assert how_many.short == "3 actions."
    assert "in 4 versions (states), in 12 segments of 3 recordings" in how_many.text
    assert uncertain.short == "1 of 12 segments."
    assert list(uncertain.points) == ["demo 2, steps 90 to 119: action 1, with probability 0.55"]
    assert differs.short == "Action 0 has several versions."
    assert "State 1 is state 0 turned by 90° (within 5°), 2.0 times as large" in differs.points[0]
    assert "State 1 is found in 1 of 3 recordings (demo 0)" in differs.points[0]
    assert agree.short in ("Yes.", "Not yet.")


def test_recordings_in_one_array_are_those_that_were_fitted(model, recordings, report):
    together = describe(model, np.concatenate(recordings.sequences))
    assert [one["low"] for one in together.data["series"]] == [one["low"] for one in report.data["series"]]


def test_rows_of_series_that_are_not_drawn_have_no_button(model, recordings, monkeypatch):
    monkeypatch.setattr("homothety.report.charts.MAX_RECORDINGS", 2)
    for module in ("segmentation", "document"):
        monkeypatch.setattr(f"homothety.report.{module}.MAX_ROWS", 6)
    report = describe(model, recordings)
    (table,) = block(report, "segments", "Table")
    assert table.caption == "The 6 least sure segments"
    assert [place is None for place in table.places] == [row[0] == "demo 2" for row in table.rows]
    page = render_html(report)
    assert page.count('data-place="') == sum(place is not None for place in table.places) > 0
    assert 'data-place="2,' not in page


def test_what_is_outside_of_a_drawn_trace_is_told_apart():
    trace = np.array([[-1000.0, 9.0, 1.0, 2.0, 3.0, 2.0]])
    chains = Chains(trace={"log_joint": trace}, n_burn=8, n_kept=0, weights=np.ones(1), compared=("log_joint",))
    (told,) = _add_traces({"looks": {}}, chains)["traces"]
    codes = np.frombuffer(b64decode(told["chains"][0]["low"]), dtype="<u2")
    values = told["low"] + codes / (_MISSING - 1) * (told["high"] - told["low"])
    assert told["drawn"] == {"low": 1.0, "high": 3.0}
    assert codes.tolist()[:2] == [0, _MISSING - 1]
    assert ((codes[2:] > 0) & (codes[2:] < _MISSING - 1)).all()
    np.testing.assert_allclose(values[2:], trace[0, 2:], atol=1e-4)


def test_nothing_is_uncertain_where_all_is_sure(recordings):
    sure = describe(make_segmentation(recordings, unsure=1.0), recordings)
    assert sure.answers[1].short == "None."


def test_chains_that_differ_are_named(recordings):
    model = make_segmentation(recordings)
    n_actions = model.trace_["n_actions"].copy()
    n_actions[1] = 9.0
    model = with_trace(model, n_actions=n_actions)
    answer = describe(model, recordings).answers[3]
    assert answer.short == "Not yet."
    assert "The number of actions stays at 4 in one chain and at 9 in another." in answer.points


def test_one_chain_cannot_agree(recordings):
    model = make_segmentation(recordings)
    model = with_trace(model, **{name: values[:1] for name, values in model.trace_.items()})
    assert describe(model, recordings).answers[3].short == "This cannot be told."


def test_an_interrupted_run_is_said(recordings):
    model = make_segmentation(recordings)
    model = with_parts(model, chains=replace(model.result_.chains, interrupted=True))
    assert "was interrupted" in describe(model, recordings).answers[3].text


def test_tables_have_what_is_drawn(report):
    (segments,) = block(report, "segments", "Table")
    assert segments.rows[0] == ["demo 2", 90, 119, "1", "0.55"]
    assert segments.places[0] == (2, 90, 120)
    assert len(segments.rows) == 12
    (coaction,) = block(report, "coaction", "Table")
    assert coaction.rows[0][1:] == pytest.approx([0.98, 0.98, 0.02, 0.02])
    all_actions, by_series = block(report, "labels", "Table")
    assert all_actions.rows[0][:5] == ["0", 90, "25 %", "3 of 3", "0, 1"]
    assert by_series.rows[0] == ["demo 0", "30 (1)", "60 (2)", "30 (3)"]


def test_the_run_can_be_repeated_from_the_page(report):
    (code,) = block(report, "settings", "Code")
    assert "ICSCHMM(n_chains=2, n_sweeps=40, random_state=7)" in code.text
    versions = dict(block(report, "settings", "Table")[-1].rows)
    assert versions["numpy"] == np.__version__
    assert {"homothety", "python", "scipy", "scikit-learn", "numba"} <= set(versions)


def test_data_are_json_and_name_every_lane(report):
    data = json.loads(json.dumps(report.data, allow_nan=False))
    first = data["series"][0]
    assert first["lanes"]["action"] == {"starts": [0, 30, 60, 90], "labels": [0, 1, 2, 1]}
    assert first["lanes"]["state"]["labels"] == [1, 2, 3, 2]
    assert data["looks"]["state"][1]["of"] == 0
    assert [one["name"] for one in data["channels"]] == ["x", "y", "z"]
    assert data["space"]["dims"] == [0, 1, 2]


def test_states_are_shades_of_their_action_and_differ(report):
    looks = report.data["looks"]
    assert looks["state"][0]["color"].lower() == looks["action"][0]["color"].lower()
    assert looks["state"][0]["color"] != looks["state"][1]["color"]


def test_known_labels_have_the_colour_of_the_action_they_are_in(recordings, model):
    truth = [np.repeat(["go", "stay"], len(one) // 2).astype(object) for one in recordings.sequences]
    truth[0][0] = None
    known = SequenceSet(recordings.sequences, None, truth, recordings.names, recordings.channels)
    data = describe(model, known).data
    assert [one["name"] for one in data["looks"]["truth"]] == ["go", "stay"]
    assert data["series"][0]["lanes"]["truth"]["labels"] == [-1, 0, 1]
    assert data["looks"]["truth"][1]["color"] == data["looks"]["action"][1]["color"]


def test_without_recordings_there_are_bars_but_no_curves(model):
    report = describe(model)
    assert report.data["channels"] == []
    assert "low" not in report.data["series"][0]
    assert [section.name for section in report.sections if section.name == "trajectories"] == []


def test_long_series_are_thinned_out_and_it_is_said(monkeypatch, recordings, model):
    monkeypatch.setattr("homothety.report.charts._bin_size", lambda n_steps, n_dims: 7)
    report = describe(model, recordings)
    (chart,) = block(report, "series", "Chart")
    assert "Of every 7 steps only the least and the largest value are drawn" in chart.caption
    assert report.data["series"][0]["every"] == 7
    assert "high" in report.data["series"][0]


@pytest.mark.parametrize(
    ("channels", "dims"),
    [
        (("t", "pos_x", "pos_y", "pos_z"), [1, 2, 3]),
        (("a", "b", "c", "d"), [0, 1, 2]),
        (("x", "y", "w", "v"), [0, 1, 2]),
    ],
)
def test_positions_are_found_by_name(channels, dims):
    recordings = make_recordings(n_dims=4)
    items = SequenceSet(recordings.sequences, names=recordings.names, channels=channels)
    assert position_dims(make_segmentation(items).result_) == dims


def without_chains(fitted):
    """Return a model of the same states that says nothing of how sure they are."""
    result, fixed = fitted.result_, HMMSelection()
    fixed.result_ = replace(
        result,
        provenance=Provenance.of(fixed),
        states=Labels(flat=result.states.flat, starts=result.states.starts),
        **dict.fromkeys(("actions", "state_actions", "coaction", "transform_table", "chains")),
    )
    return fixed


def test_models_without_chains_and_probabilities(model, recordings):
    report = describe(without_chains(model), recordings)
    assert [one.short for one in report.answers[:2]] == ["4 states.", "This is not known."]
    assert report.answers[3].short == "There are no chains."
    assert report.answers[2].short == "Of 4 states, 2 are found in every recording and 1 in a single one."


def test_models_in_two_stages(model, recordings):
    two, actions = TwoStageHMM(random_state=0), model.result_.actions
    two.result_ = replace(
        without_chains(model).result_,
        actions=Labels(flat=actions.flat, starts=actions.starts),
        state_actions=model.state_actions_,
    )
    report = describe(two, recordings)
    assert report.answers[0].short == "3 actions."
    assert "does not say by how much" in report.answers[2].text


@pytest.mark.parametrize(
    ("result", "data", "message"),
    [
        ("a text", None, "result is a str, needed a Segmentation, a Partition or a fitted estimator"),
        (
            None,
            [np.zeros((5, 3))],
            "data has 1 recording of 5 steps, but the model was fitted to 3 recordings of 360 steps",
        ),
    ],
)
def test_bad_input_is_named(result, data, message, model, tmp_path):
    with pytest.raises(InputError, match=message):
        write_report(result or model, tmp_path / "report.html", data=data)
    assert not list(tmp_path.iterdir())


def test_weights_of_chains_are_told(model, recordings):
    chains = replace(model.result_.chains, weights=np.array([0.7, 0.3]))
    n_actions = np.array([[4.0] * 40, [9.0] * 40])
    weighted = with_parts(model, chains=replace(chains, trace=chains.trace | {"n_actions": n_actions}))
    told = "Draws are weighted by how well each chain predicts left-out looks: 0.70, 0.30."
    assert told in describe(weighted, recordings).answers[3].text
    assert "weighted" not in describe(model, recordings).answers[3].text
