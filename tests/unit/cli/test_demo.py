from __future__ import annotations

import json

import pytest

import homothety
from homothety.cli import demo
from homothety.estimators.sampled import AutoSweeps


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(demo, "FIELD", (8, 8))
    monkeypatch.setattr(demo, "_PER_FRAME", 1)
    monkeypatch.setattr(homothety.ActionHMM, "auto_sweeps", AutoSweeps(4, 4, 4))


def test_the_demo_tells_what_it_found(run, tmp_path):
    answer = run("demo", "-o", tmp_path)
    assert answer.status == 0
    model = homothety.load(tmp_path / "demonstrations" / "model.homothety")
    assert f"found {model.n_actions_} actions in" in answer.out
    assert "is turned by" in answer.out
    assert "A field of 64 diffusion tensors" in answer.out
    for name in ("demonstrations", "tensor-field"):
        assert str(tmp_path / name / "report.html") in answer.out
        assert (tmp_path / name / "report.html").is_file()


def test_the_demo_as_json(run, tmp_path):
    data = json.loads(run("demo", "-o", tmp_path, "--json").out)
    model = homothety.load(tmp_path / "demonstrations" / "model.homothety")
    assert data["demonstrations"]["actions"] == model.n_actions_
    assert data["tensor-field"]["matrices"] == 64


def test_an_interrupted_demo_keeps_what_it_has(run, tmp_path, interrupt_after):
    interrupt_after(150)
    answer = run("demo", "-o", tmp_path)
    assert answer.status == 130
    ended = {
        name: json.loads((tmp_path / name / "summary.json").read_text()) for name in ("demonstrations", "tensor-field")
    }
    assert {name: one["interrupted"] for name, one in ended.items()} == {"demonstrations": False, "tensor-field": True}
