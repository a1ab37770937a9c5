from __future__ import annotations

import json

import numpy as np
import pytest

from homothety.cli import reproduce as command
from homothety.reproduce import paper

TOYS = {
    "2": "toy-3d,toy-6d-scaled",
    "3": "toy-3d",
    "4": "toy-2d",
    "convergence": "toy-6d",
    "segmentation-convergence": "toy-2d",
    "sensitivity": "toy-3d",
}
NAMES = {what: f"table-{what}" if what.isdigit() else what for what in TOYS}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Work in an empty folder, without the data of whoever runs the tests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOMOTHETY_DATA", raising=False)


@pytest.mark.parametrize("what", sorted(TOYS))
def test_every_reproduction_writes_a_page_with_its_figures(what, run, tmp_path):
    answer = run("reproduce", what, "--quick", "--sets", TOYS[what])
    assert answer.status == 0
    folder = tmp_path / "homothety-output" / f"reproduce-{NAMES[what]}"
    page = (folder / f"{NAMES[what]}.md").read_text()
    figures = [path.name for path in folder.glob("*.png")]
    assert figures
    assert all(f"]({name})" in page for name in figures)
    assert "is not there, so it was generated anew with seed 0" in page
    assert f"Written to homothety-output/reproduce-{NAMES[what]}" in answer.out


def test_table_2_sets_measured_beside_printed(run, tmp_path):
    data = json.loads(run("reproduce", "2", "--quick", "--sets", "toy-3d", "-o", tmp_path, "--json").out)
    records = {(record["method"], record["metric"]): record for record in data["results"]}
    assert len(records) == len(data["results"]) == 10 * 4
    assert records["sc-bspcm", "NMI"]["mean"] == 1.0
    assert records["sc-airm", "F"]["paper"] == "0.70 (0.09)"
    assert "| Toy 3D |    NMI |" in (tmp_path / "table-2.md").read_text()


def test_table_3_has_the_printed_column_for_both_of_ours(run, tmp_path):
    data = json.loads(run("reproduce", "3", "--quick", "--sets", "toy-6d", "-o", tmp_path, "--json").out)
    records = {(record["method"], record["metric"]): record for record in data["results"]}
    assert {method for method, _ in records} == {"gmm", "crp", "spcm", "default"}
    assert records["default", "K"]["paper"] == records["spcm", "K"]["paper"] == paper.TABLE_3["toy-6d", "spcm", "K"]
    assert records["spcm", "K"]["runs"] == 2


def test_runs_sweeps_and_grid_can_be_chosen(run, tmp_path):
    options = ("--quick", "--runs", "3", "--sweeps", "4", "--grid", "2", "--sets", "toy-3d", "-o", tmp_path, "--json")
    data = json.loads(run("reproduce", "sensitivity", *options).out)
    assert [(record["row"], record["column"]) for record in data["results"]] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert all(len(record["F"]) == 3 for record in data["results"])


@pytest.fixture
def small_rat(tmp_path):
    """A folder with a made-up file in the place of the set that may not be published."""
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((10, 3, 3))
    matrices = factors @ factors.swapaxes(1, 2) + np.eye(3)
    np.savez(tmp_path / "dti_rat_hippocampus.npz", matrices=matrices, labels=np.repeat([1, 2], 5))
    return tmp_path


@pytest.mark.parametrize("what", ["2", "3"])
def test_rows_that_may_not_be_published_say_so(what, run, small_rat, tmp_path):
    answer = run("reproduce", what, "--quick", "--data", small_rat, "--sets", "toy-3d,rat", "-o", tmp_path)
    page = (tmp_path / f"table-{what}.md").read_text()
    assert "| Rat DTI ‡" in page
    assert "ask for permission before results are published" in page
    assert "Toy 3D ‡" not in page
    assert answer.status == 0


def test_sets_that_are_not_there_are_skipped_with_a_line(run, tmp_path):
    answer = run("reproduce", "2", "--quick", "--sets", "toy-3d,task", "-o", tmp_path)
    assert answer.status == 0
    assert "Task ellipsoids: skipped, data/task_ellipsoids_6d.npz is not there." in answer.err
    assert "Task ellipsoids: skipped" in (tmp_path / "table-2.md").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--sets", "mice"), "There is no set 'mice' here, only toy-3d, toy-6d"),
        (("--sets", "task"), "None of the data sets is in data"),
    ],
)
def test_bad_input_exits_with_2_and_one_line(options, message, run):
    answer = run("reproduce", "2", "--quick", *options)
    assert answer.status == 2
    assert message in answer.error


def test_a_folder_that_cannot_be_written_to_is_found_before_the_work(run, tmp_path):
    (tmp_path / "file").touch()
    answer = run("reproduce", "2", "--quick", "--sets", "toy-3d", "-o", tmp_path / "file" / "results")
    assert answer.status == 2
    assert "cannot be written to (Not a directory)" in answer.error
    assert "[0/" not in answer.err


def test_the_environment_says_where_the_data_are(run, tmp_path, monkeypatch):
    monkeypatch.setenv("HOMOTHETY_DATA", str(tmp_path / "nowhere"))
    assert "nowhere is not a folder" in run("reproduce", "2", "--quick").error


def test_a_broken_file_is_named(run, tmp_path):
    (tmp_path / "toy_3d.npz").write_text("not an archive")
    answer = run("reproduce", "2", "--quick", "--data", tmp_path, "--sets", "toy-3d")
    assert answer.status == 2
    assert "toy_3d.npz cannot be read" in answer.error


@pytest.mark.parametrize(("what", "n_sweeps"), [("3", 70), ("convergence", 30), ("sensitivity", 300)])
def test_an_interrupt_reports_what_is_finished_and_exits_with_130(what, n_sweeps, run, tmp_path, interrupt_links_after):
    interrupt_links_after(n_sweeps)
    sets = {"3": "toy-3d,toy-6d", "convergence": "toy-6d", "sensitivity": "toy-3d"}[what]
    answer = run("reproduce", what, "--quick", "--sets", sets, "-o", tmp_path)
    assert answer.status == 130
    assert "Interrupted: only what was finished until then is here." in (tmp_path / f"{NAMES[what]}.md").read_text()
    assert (tmp_path / f"{NAMES[what]}.png").is_file()


def test_an_interrupt_before_the_first_result_exits_with_130(run, tmp_path, interrupt_links_after):
    interrupt_links_after(0)
    answer = run("reproduce", "sensitivity", "--quick", "--sets", "toy-3d", "-o", tmp_path / "results")
    assert answer.status == 130
    assert "Interrupted before the first result" in answer.error
    assert not (tmp_path / "results").exists()


def test_modules_are_alike():
    from importlib import import_module

    for name in command.MODULES.values():
        module = import_module(name)
        assert module.FULL.runs >= module.QUICK.runs
        assert set(module.SETS)
        assert callable(module.LOAD)
