from __future__ import annotations

import json

import pytest

import homothety
from homothety.cli import demo


@pytest.fixture(autouse=True)
def small_field(monkeypatch):
    monkeypatch.setattr(demo, "FIELD", (8, 8))


def test_the_demo_finds_the_shapes_and_tells_so(run, tmp_path):
    answer = run("demo", "-o", tmp_path)
    assert answer.status == 0
    assert "Not told that there are 3, homothety found 3 clusters" in answer.out
    assert "100.0% of the 60 matrices are with their kind" in answer.out
    for name in ("shapes", "tensor-field"):
        assert str(tmp_path / name / "report.html") in answer.out
        assert {"summary.md", "labels.csv", "similarity.png"} <= {path.name for path in (tmp_path / name).iterdir()}


def test_the_demo_as_json(run, no_figures, tmp_path):
    data = json.loads(run("demo", "-o", tmp_path, "--json").out)
    assert data["shapes"]["clusters"] == homothety.load(tmp_path / "shapes" / "model.homothety").n_clusters_
    assert data["tensor-field"]["matrices"] == 64


def test_an_interrupted_demo_keeps_what_it_has(run, no_figures, tmp_path, interrupt_after):
    interrupt_after(150)
    answer = run("demo", "-o", tmp_path)
    assert answer.status == 130
    assert json.loads((tmp_path / "shapes" / "summary.json").read_text())["interrupted"]
    assert not (tmp_path / "tensor-field").exists()
