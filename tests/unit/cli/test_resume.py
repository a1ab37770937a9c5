"""Runs that are taken up again: the same bits as without a stop, and clear refusals of everything else."""

from __future__ import annotations

import json
import os
import shutil
from functools import wraps

import numpy as np
import pytest

import homothety
from homothety.datasets import make_dti
from homothety.estimators.sampled import AutoSweeps, SampledChains
from homothety.models.shapes import moves

QUICK = ("--chains", "2", "--sweeps", "8")
ICSC = ("--model", "icsc", *QUICK)


@pytest.fixture(autouse=True)
def plain():
    """No test here looks at figures."""


@pytest.fixture
def series_file(tmp_path, recordings):
    """Two short recordings: every test runs several times over them."""
    path = tmp_path / "demos.npz"
    np.savez(path, a=recordings.sequences[0], b=recordings.sequences[1])
    return path


def record_of(folder):
    return json.loads((folder / "run.json").read_text())


def same_files(folder, other, *names):
    return all((folder / name).read_bytes() == (other / name).read_bytes() for name in names)


@pytest.mark.parametrize("n_sweeps", [0, 3, 8, 13])  # before the first, in burn-in, between two chains, in the second
def test_a_resumed_segmentation_is_the_one_that_was_not_stopped(
    n_sweeps, run, series_file, tmp_path, interrupt_segmentation_after
):
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    run("segment", series_file, "-o", whole, *ICSC)
    interrupt_segmentation_after(n_sweeps)
    answer = run("segment", series_file, "-o", stopped, *ICSC)
    assert answer.status == 130
    assert answer.err.count(f"To go on from there: homothety resume {stopped}") == 1
    assert not record_of(stopped)["finished"]
    assert (stopped / "segments.csv").exists() == (n_sweeps >= 8)

    assert run("resume", stopped).status == 0
    assert record_of(stopped)["finished"]
    assert same_files(whole, stopped, "segments.csv", "action_segments.csv", "labels.csv", "transforms.csv")
    a, b = (homothety.load(folder / "model.homothety") for folder in (whole, stopped))
    np.testing.assert_array_equal(a.trace_["log_joint"], b.trace_["log_joint"])


def test_a_resumed_run_with_frames_is_the_one_that_was_not_stopped(
    run, series_file, tmp_path, interrupt_segmentation_after
):
    whole, stopped, quick = tmp_path / "whole", tmp_path / "stopped", ("--chains", "1", "--sweeps", "6")
    run("segment", series_file, "-o", whole, *quick)
    interrupt_segmentation_after(4)
    assert run("segment", series_file, "-o", stopped, *quick).status == 130
    assert run("resume", stopped).status == 0
    assert same_files(whole, stopped, "segments.csv", "action_segments.csv", "labels.csv", "frames.csv")
    a, b = (homothety.load(folder / "model.homothety") for folder in (whole, stopped))
    np.testing.assert_array_equal(a.trace_["log_joint"], b.trace_["log_joint"])


def test_a_resumed_clustering_is_the_one_that_was_not_stopped(run, toy_file, tmp_path, interrupt_after):
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    run("cluster", toy_file, "-o", whole, *QUICK)
    interrupt_after(3)
    assert run("cluster", toy_file, "-o", stopped, *QUICK).status == 130
    assert run("resume", stopped).status == 0
    assert same_files(whole, stopped, "labels.csv")
    a, b = (homothety.load(folder / "model.homothety") for folder in (whole, stopped))
    np.testing.assert_array_equal(a.draws_, b.draws_)
    assert b.checkpoint is None


def test_a_resumed_clustering_of_an_image_keeps_its_neighbours(run, tmp_path, interrupt_ordered_after):
    field = make_dti((5, 6), 2, random_state=0)
    np.savez(tmp_path / "field.npz", matrices=field.matrices, grid=field.grid)
    whole, stopped, words = tmp_path / "whole", tmp_path / "stopped", ("--spatial", *QUICK)
    run("cluster", tmp_path / "field.npz", "-o", whole, *words)
    interrupt_ordered_after(3)
    assert run("cluster", tmp_path / "field.npz", "-o", stopped, *words).status == 130
    assert run("resume", stopped).status == 0
    a, b = (homothety.load(folder / "model.homothety") for folder in (whole, stopped))
    np.testing.assert_array_equal(a.draws_, b.draws_)
    assert "positions" in record_of(stopped)["data"]


def test_names_of_files_start_where_the_command_was_given(run, toy_file, tmp_path, interrupt_after, monkeypatch):
    monkeypatch.chdir(tmp_path)
    interrupt_after(3)
    run("cluster", toy_file.name, "-o", "stopped", *QUICK)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    answer = run("resume", "../stopped", "--json")
    assert answer.status == 0
    assert json.loads(answer.out)["source"] == toy_file.name
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_killed_run_goes_on_from_the_last_sweep_that_was_written(run, toy_file, tmp_path, monkeypatch):
    resample_labels, calls = moves.resample_labels, iter(range(10**6))

    @wraps(resample_labels)
    def photographed(rng, model, state):
        if next(calls) == 5:  # what the folder holds at any moment is what a kill would leave
            shutil.copytree(tmp_path / "results", tmp_path / "killed")
        return resample_labels(rng, model, state)

    monkeypatch.setattr("homothety.cli.runs.EVERY_SECONDS", 0.0)
    monkeypatch.setattr(moves, "resample_labels", photographed)
    run("cluster", toy_file, "-o", tmp_path / "results", *QUICK)
    assert {path.name for path in (tmp_path / "killed").iterdir()} == {"run.json", "checkpoint"}
    n_calls = next(calls)
    assert run("resume", tmp_path / "killed").status == 0
    assert next(calls) - n_calls - 1 == 16 - 5
    assert same_files(tmp_path / "results", tmp_path / "killed", "labels.csv")


def test_a_finished_run_says_so_and_can_be_made_longer(run, series_file, tmp_path):
    folder = tmp_path / "results"
    answer = run("segment", series_file, "-o", folder, *ICSC)
    assert "Run longer: n_sweeps=16, or homothety resume with --sweeps 16." in answer.out
    written = (folder / "model.homothety").stat().st_mtime_ns
    answer = run("resume", folder)
    assert answer.status == 0
    assert f"{folder} is finished: all 8 sweeps of each chain. For more, add --sweeps." in answer.out
    assert json.loads(run("resume", folder, "--json").out)["finished"]
    assert (folder / "model.homothety").stat().st_mtime_ns == written

    assert run("resume", folder, "--sweeps", "16").status == 0
    assert json.loads((folder / "summary.json").read_text())["sweeps_kept"] == 24  # burn-in stays at 4
    assert "needed more" in run("resume", folder, "--sweeps", "12").error
    run("segment", series_file, "-o", tmp_path / "at once", "--chains", "2", "--sweeps", "16", "--burn", "4", *ICSC[:2])
    assert same_files(folder, tmp_path / "at once", "segments.csv", "labels.csv")


def test_a_longer_run_that_is_interrupted_knows_its_new_length(run, toy_file, tmp_path, interrupt_after):
    run("cluster", toy_file, "-o", tmp_path / "results", *QUICK)
    interrupt_after(2)
    assert run("resume", tmp_path / "results", "--sweeps", "12").status == 130
    assert run("resume", tmp_path / "results").status == 0
    assert homothety.load(tmp_path / "results" / "model.homothety").trace_["log_joint"].shape == (2, 12)


def test_the_same_command_goes_on_and_another_one_starts_anew(run, toy_file, tmp_path, interrupt_after):
    folder = tmp_path / "results"
    interrupt_after(3)
    run("cluster", toy_file, "-o", folder, *QUICK)
    assert f"Going on with the same run in {folder}" in run("cluster", toy_file, "-o", folder, *QUICK).err
    assert "Going on" not in run("cluster", toy_file, "-o", folder, *QUICK).err  # it was finished
    interrupt_after(3)
    run("cluster", toy_file, "-o", folder, *QUICK)
    answer = run("cluster", toy_file, "-o", folder, *QUICK, "--seed", "1")
    assert answer.status == 0
    assert f"Replacing a run in {folder} that was not finished" in answer.err
    assert homothety.load(folder / "model.homothety").random_state == 1


def test_the_same_command_goes_on_with_a_run_that_was_made_longer(run, toy_file, tmp_path, interrupt_after):
    folder = tmp_path / "my results"
    run("cluster", toy_file, "-o", folder, *QUICK)
    interrupt_after(2)
    stopped = run("resume", folder, "--sweeps", "12")
    assert f"To go on from there: homothety resume '{folder}'" in stopped.err
    before = record_of(folder)
    refused = run("cluster", toy_file, "-o", folder, "--jobs", "1", *QUICK)  # other words, the same run
    assert refused.status == 2
    assert f"has been made longer, to 12. Go on with homothety resume '{folder}'" in refused.error
    assert record_of(folder) == before
    answer = run("cluster", toy_file, "-o", folder, *QUICK)
    assert answer.status == 0
    assert f"Going on with the same run in {folder}, which was not finished, to sweep 12" in answer.err
    assert homothety.load(folder / "model.homothety").trace_["log_joint"].shape == (2, 12)


def test_a_command_that_is_refused_leaves_the_run_that_was_there(run, toy_file, tmp_path, interrupt_after):
    interrupt_after(3)
    run("cluster", toy_file, "-o", tmp_path / "results", *QUICK)
    assert run("cluster", toy_file, "-o", tmp_path / "results", "--concentration", "-1").status == 2
    assert run("resume", tmp_path / "results").status == 0


def test_a_model_without_chains_replaces_a_run(run, series_file, tmp_path):
    run("segment", series_file, "-o", tmp_path / "results", *QUICK)
    run("segment", series_file, "-o", tmp_path / "results", "--model", "hmm", "--max-states", "2")
    assert "holds no run that could be resumed" in run("resume", tmp_path / "results").error
    assert not (tmp_path / "results" / "checkpoint").exists()


def test_a_folder_of_somebody_else_is_not_touched(run, toy_file, tmp_path):
    mine = tmp_path / "results" / "checkpoint" / "mine.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("precious")
    answer = run("cluster", toy_file, "-o", tmp_path / "results", *QUICK)
    assert answer.status == 2
    assert "checkpoint is no checkpoint, it holds 'mine.txt'" in answer.error
    assert mine.read_text() == "precious"


def file_contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


PRECIOUS = {
    "checkpoint/run.json": '{"mine": 1}',
    "checkpoint/weights.bin": "weeks of training",
    "run.json": '{"mine": 1}',
}


@pytest.mark.parametrize("names", [("checkpoint/run.json", "checkpoint/weights.bin"), ("run.json",)])
def test_files_that_only_have_our_names_are_kept_and_refused(names, run, toy_file, tmp_path):
    results = tmp_path / "results"
    for name in names:
        (results / name).parent.mkdir(parents=True, exist_ok=True)
        (results / name).write_text(PRECIOUS[name])
    before = file_contents(results)
    answer = run("cluster", toy_file, "-o", results, *QUICK)
    assert answer.status == 2
    assert str(results / names[0]) in answer.error
    assert file_contents(results) == before


def test_a_checkpoint_with_a_file_of_the_user_is_not_removed(run, toy_file, tmp_path):
    results = tmp_path / "results"
    run("cluster", toy_file, "-o", results, *QUICK)
    (results / "checkpoint" / "chain-0" / "notes.txt").write_text("precious")
    before = file_contents(results)
    answer = run("cluster", toy_file, "-o", results, *QUICK, "--seed", "1")
    assert answer.status == 2
    assert "holds 'chain-0/notes.txt', which is not of a checkpoint" in answer.error
    assert file_contents(results) == before


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_planted_links_are_not_written_through(run, toy_file, tmp_path):
    results, victim, elsewhere = tmp_path / "results", tmp_path / "victim", tmp_path / "elsewhere"
    victim.write_text("precious")
    results.mkdir()
    elsewhere.mkdir()
    for name in ("run.json.part", "labels.csv", "model.homothety.part", "model.homothety"):
        (results / name).symlink_to(victim)
    assert run("cluster", toy_file, "-o", results, *QUICK).status == 0
    assert victim.read_text() == "precious"

    shutil.rmtree(results / "checkpoint")
    (results / "checkpoint").symlink_to(elsewhere)
    answer = run("cluster", toy_file, "-o", results, *QUICK)
    assert answer.status == 2
    assert "checkpoint is a link. Links are not followed" in answer.error
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("command", ["demo"]),
        ("command", ["report", "x"]),
        ("command", ["resume", "."]),
        ("command", []),
        ("command", "cluster toy.npz"),
        ("command", ["cluster", 1]),
        ("given_in", 3),
        ("data", ["x"]),
        ("n_sweeps", "many"),
        ("n_made", -1),
        ("finished", "no"),
        ("version", None),
        ("format", "1"),
    ],
)
def test_a_record_is_read_by_its_schema(part, value, run, toy_file, tmp_path, interrupt_after):
    interrupt_after(3)
    run("cluster", toy_file, "-o", tmp_path / "results", *QUICK)
    record = record_of(tmp_path / "results") | {part: value}
    (tmp_path / "results" / "run.json").write_text(json.dumps(record))
    answer = run("resume", tmp_path / "results")
    assert answer.status == 2
    assert "run.json is damaged or not of homothety" in answer.error
    assert answer.err.count("\n") == 1


def test_a_run_of_another_version_is_gone_on_with_and_said(run, toy_file, tmp_path, interrupt_after):
    interrupt_after(3)
    run("cluster", toy_file, "-o", tmp_path / "results", *QUICK)
    path = tmp_path / "results" / "checkpoint" / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": "0.0.7"}))
    answer = run("resume", tmp_path / "results")
    assert answer.status == 0
    assert "was begun by homothety 0.0.7, this is" in answer.err


def test_a_damaged_position_is_told_and_costs_one_interval(run, toy_file, tmp_path, interrupt_after):
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    run("cluster", toy_file, "-o", whole, *QUICK)
    interrupt_after(3)
    run("cluster", toy_file, "-o", stopped, *QUICK)
    path = stopped / "checkpoint" / "chain-0" / "position.zip"
    content = bytearray(path.read_bytes())
    content[140] ^= 0xFF
    path.write_bytes(content)
    answer = run("resume", stopped)
    assert answer.status == 0
    assert "position.zip cannot be read" in answer.err
    assert same_files(whole, stopped, "labels.csv")


def test_an_interrupt_while_results_are_written_loses_nothing(run, toy_file, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("homothety.cli.results.write_rows", interrupted)
        answer = run("cluster", toy_file, "-o", tmp_path / "results", *QUICK)
    assert answer.status == 130
    assert f"Interrupted. To go on from there: homothety resume {tmp_path / 'results'}" in answer.error
    assert run("resume", tmp_path / "results").status == 0
    assert (tmp_path / "results" / "labels.csv").is_file()


def few_sweeps(monkeypatch):
    """Let `auto` mean 8 sweeps, 16 if chains differ, and always let them differ."""
    monkeypatch.setattr(homothety.SPCMMixture, "auto_sweeps", AutoSweeps(8, 16, 8))
    monkeypatch.setattr(SampledChains, "_differences", lambda self, traces: "the number of clusters (R-hat 1.40)")


@pytest.mark.parametrize("n_sweeps", [5, 20])  # in the first round, and in the second
def test_a_run_until_chains_agree_is_resumed(n_sweeps, run, toy_file, tmp_path, interrupt_after, monkeypatch):
    few_sweeps(monkeypatch)
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    assert (
        "2 chains of 8 sweeps, up to 16 until they agree, over"
        in run("cluster", toy_file, "-o", whole, "--chains", "2").err
    )
    interrupt_after(n_sweeps)
    assert run("cluster", toy_file, "-o", stopped, "--chains", "2").status == 130
    assert run("resume", stopped).status == 0
    assert same_files(whole, stopped, "labels.csv")
    assert record_of(stopped)["n_made"] == 16
    assert "is finished: all 16 sweeps" in run("resume", stopped).out


def test_a_run_until_chains_agree_is_made_longer(run, toy_file, tmp_path, monkeypatch):
    few_sweeps(monkeypatch)
    folder = tmp_path / "results"
    run("cluster", toy_file, "-o", folder, "--chains", "2")
    assert "--sweeps is 12, but" in run("resume", folder, "--sweeps", "12").error
    assert run("resume", folder, "--sweeps", "30").status == 0
    run("cluster", toy_file, "-o", tmp_path / "at once", "--chains", "2", "--sweeps", "30")
    a, b = (homothety.load(one / "model.homothety") for one in (folder, tmp_path / "at once"))
    np.testing.assert_array_equal(a.draws_, b.draws_)
    assert a.n_burn_ == b.n_burn_ == 15
