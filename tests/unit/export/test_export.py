"""What is written is what other libraries read."""

from __future__ import annotations

import csv
import json
import sys
from datetime import UTC, datetime
from xml.etree import ElementTree

import numpy as np
import pytest

from homothety import export
from homothety.errors import InputError

PATH = [2, 2, 0, 0, 0, 1, 2]


def test_change_points_of_ruptures():
    metrics = pytest.importorskip("ruptures.metrics")
    assert export.to_ruptures(PATH) == [2, 5, 6, 7]
    assert export.to_ruptures([4, 4]) == [2]
    assert metrics.hausdorff(export.to_ruptures(PATH), export.to_ruptures([0, 0, 1, 1, 1, 2, 0])) == 0


def test_change_points_of_aeon():
    assert export.to_aeon(PATH) == [2, 5, 6]
    assert export.to_aeon([4, 4]) == []
    assert export.to_aeon(np.array(["reach", "reach", "cut"])) == [2]


@pytest.mark.parametrize("path", [[], [[1, 2]], 3])
def test_paths_that_are_none(path):
    with pytest.raises(InputError, match="needed one label for each step"):
        export.to_ruptures(path)


def test_annotations_are_read_by_another_library(tmp_path):
    elan = pytest.importorskip("pympi.Elan")
    export.write_elan(tmp_path / "demo.eaf", {"state": PATH, "action": [0, 0, 0, 0, 0, 1, 1]}, rate=8)
    read = elan.Eaf(str(tmp_path / "demo.eaf"))
    found = {tier: sorted(read.get_annotation_data_for_tier(tier)) for tier in read.get_tier_names()}
    assert found == {
        "state": [(0, 250, "state 2"), (250, 625, "state 0"), (625, 750, "state 1"), (750, 875, "state 2")],
        "action": [(0, 625, "action 0"), (625, 875, "action 1")],
    }


def test_annotations_have_what_the_format_demands(tmp_path):
    pytest.importorskip("pympi")
    date = datetime(2026, 1, 2, tzinfo=UTC)
    export.write_elan(tmp_path / "demo.eaf", {"a": [0, 1], "b": [1, 1]}, rate=30, date=date)
    root = ElementTree.parse(tmp_path / "demo.eaf").getroot()
    assert [part.tag for part in root[:5]] == ["HEADER", "TIME_ORDER", "TIER", "TIER", "LINGUISTIC_TYPE"]
    assert [tier.get("TIER_ID") for tier in root.iter("TIER")] == ["a", "b"]
    assert {"AUTHOR", "DATE", "FORMAT", "VERSION"} <= set(root.attrib)
    assert root.get("DATE") == "2026-01-02T00:00:00+00:00"
    slots = {slot.get("TIME_SLOT_ID"): int(slot.get("TIME_VALUE")) for slot in root.iter("TIME_SLOT")}
    ids = [one.get("ANNOTATION_ID") for one in root.iter("ALIGNABLE_ANNOTATION")]
    assert (len(slots), len(set(ids)), sorted(set(slots.values()))) == (6, 3, [0, 33, 67])
    assert all(one.get("TIME_SLOT_REF2") in slots for one in root.iter("ALIGNABLE_ANNOTATION"))


def test_annotations_shorter_than_a_millisecond_get_one_each(tmp_path):
    pytest.importorskip("pympi")
    export.write_elan(tmp_path / "demo.eaf", {"state": [0, 1, 2, 2, 2, 2, 2, 2]}, rate=4000)
    slots = [int(slot.get("TIME_VALUE")) for slot in ElementTree.parse(tmp_path / "demo.eaf").iter("TIME_SLOT")]
    assert slots == [0, 1, 1, 2, 2, 3]


def test_annotations_need_a_rate_and_a_name(tmp_path):
    with pytest.raises(InputError, match="rate is 0, needed a finite number above 0"):
        export.write_elan(tmp_path / "demo.eaf", {"state": PATH}, rate=0)
    with pytest.raises(InputError, match=r"does not end in \.eaf"):
        export.write_elan(tmp_path / "demo.xml", {"state": PATH}, rate=1)


def test_moments_are_those_of_the_steps_of_each_label(rng, tmp_path):
    series = [rng.normal(size=(7, 2)), rng.normal(size=(3, 2))]
    found = export.pooled_moments(series, [PATH, [2, 2, 2]], n_labels=4)
    steps = np.concatenate(series)[np.flatnonzero(np.array([*PATH, 2, 2, 2]) == 2)]
    assert found.steps.tolist() == [3, 1, 6, 0]
    np.testing.assert_allclose(found.means[2], steps.mean(axis=0))
    np.testing.assert_allclose(found.covariances[2], np.cov(steps.T, ddof=0))
    assert np.isnan(found.means[3]).all()
    export.write_moments(tmp_path / "moments.npz", {"action": found}, ["x", "y"])
    with np.load(tmp_path / "moments.npz", allow_pickle=False) as read:
        np.testing.assert_array_equal(read["action_covariances"], found.covariances)
        assert read["channels"].tolist() == ["x", "y"]
    with pytest.raises(InputError, match="needed one label for each step of each series"):
        export.pooled_moments(series, [PATH])


ROWS = [{"series": "a", "start": 0, "probability": 0.5}, {"series": "b", "start": 3, "probability": None}]


def test_rows_in_every_kind_of_table(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    for kind in ("csv", "json", "parquet"):
        export.write_rows(tmp_path / f"rows.{kind}", iter(ROWS))
        export.write_rows(tmp_path / f"none.{kind}", [], header=["series"])
    with (tmp_path / "rows.csv").open(newline="") as file:
        assert list(csv.DictReader(file))[1] == {"series": "b", "start": "3", "probability": ""}
    assert json.loads((tmp_path / "rows.json").read_text()) == ROWS
    assert parquet.read_table(tmp_path / "rows.parquet").to_pylist() == ROWS
    assert (tmp_path / "none.csv").read_text().strip() == "series"
    assert (json.loads((tmp_path / "none.json").read_text()), parquet.read_table(tmp_path / "none.parquet").shape) == (
        [],
        (0, 1),
    )


def test_what_json_has_no_word_for_is_null(tmp_path):
    export.write_rows(tmp_path / "rows.json", [{"low": float("nan"), "high": float("inf"), "mean": 1.5}])
    assert json.loads((tmp_path / "rows.json").read_text()) == [{"low": None, "high": None, "mean": 1.5}]


def test_tables_that_cannot_be_written(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="ends in 'xlsx', needed one of csv, parquet, json"):
        export.write_rows(tmp_path / "rows.xlsx", ROWS)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"homothety\[parquet\]"):
        export.write_rows(tmp_path / "rows.parquet", ROWS)


def test_moments_are_those_of_what_is_known():
    rng = np.random.default_rng(0)
    whole = rng.multivariate_normal([1.0, -2.0], [[1.0, 0.7], [0.7, 2.0]], 4000)
    gappy = np.where(rng.random(whole.shape) < 0.3, np.nan, whole)
    found = export.pooled_moments([gappy], [np.zeros(4000, dtype=int)])
    np.testing.assert_allclose(found.means[0], np.nanmean(gappy, axis=0))
    both = ~np.isnan(gappy).any(axis=1)
    about = gappy - found.means[0]
    assert found.covariances[0, 0, 1] == pytest.approx((about[both, 0] * about[both, 1]).mean())
    np.testing.assert_allclose(found.covariances[0], np.cov(whole.T), atol=0.1)
    apart = np.array([[1.0, np.nan], [np.nan, 2.0], [3.0, np.nan]])
    assert np.isnan(export.pooled_moments([apart], [[0, 0, 0]]).covariances[0, 0, 1])
