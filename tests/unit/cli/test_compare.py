from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from homothety.cli.comparing import Comparison, Method, named_after
from homothety.datasets import make_toy_2d
from homothety.estimators.methods import METHODS
from homothety.metrics import ari, hamming, nmi, vi
from homothety.models import hdphmm
from homothety.models.ibphmm import moves as ibp_moves

QUICK = ("--chains", "1", "--sweeps", "6", "--max-states", "4")


@pytest.fixture(scope="module")
def recordings():
    return make_toy_2d(1, n_steps=30)


@pytest.fixture
def series_file(tmp_path, recordings):
    path = tmp_path / "demos.npz"
    known = {"states": np.concatenate(recordings.states), "labels": np.concatenate(recordings.actions)}
    lengths = [len(one) for one in recordings.sequences]
    np.savez(path, X=np.concatenate(recordings.sequences), lengths=lengths, **known)
    return path


def read_table(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_all_methods_stand_side_by_side(run, series_file, tmp_path):
    folder = tmp_path / "results"
    answer = run("compare", series_file, "-o", folder, "--figures", *QUICK)
    assert answer.status == 0
    rows = read_table(folder / "comparison.csv")
    assert [row["method"] for row in rows] == list(METHODS)
    assert list(rows[0])[2:] == ["Hamming", "F", "GCE", "VI", "NMI", "purity", "ARI", "labels", "seconds"]
    assert {path.name for path in folder.iterdir()} == {
        "comparison.md",
        "comparison.csv",
        *(f"series-{i}.png" for i in range(4)),
    }
    assert "The truth has 2 labels." in answer.out
    for method in METHODS.values():
        assert f"| {method.title} " in answer.out
        assert f"| {method.title} " in (folder / "comparison.md").read_text()


@pytest.mark.parametrize("truth", ["label", "state"])
def test_everything_called_one_is_in_every_table(truth, run, series_file, recordings, tmp_path):
    options = ("--methods", "hdp", "--runs", "2", "--truth", truth, "--json")
    *_, last = json.loads(run("compare", series_file, "-o", tmp_path / "results", *options, *QUICK).out)["runs"]
    known = np.concatenate(recordings.actions if truth == "label" else recordings.states)
    assert (last["method"], last["seed"], last["labels"]) == ("one-state", None, 1)
    assert last["Hamming"] == pytest.approx(1 - np.bincount(known).max() / len(known))
    assert last["NMI"] == 0


def test_scores_are_those_of_what_was_found(recordings):
    wrong = [np.where(path == path[0], 0, 1) for path in recordings.states]
    comparison = Comparison(
        [Method("wrong", "wrong", lambda seed: wrong)],
        Method("one", "one", lambda seed: [np.zeros(len(path)) for path in wrong]),
        recordings.states,
        {"Hamming": hamming, "VI": vi, "ARI": ari},
        "labels",
    )
    found = comparison.run(comparison.methods[0], 0).scores
    assert found["Hamming"] == hamming(recordings.states, wrong)
    assert found["VI"] == vi(recordings.states, wrong)
    assert found["ARI"] == ari(recordings.states, wrong)
    assert found["labels"] == 2


def test_runs_have_seeds_of_their_own_and_are_averaged(run, series_file, tmp_path):
    options = ("--methods", "hdp", "--runs", "3", "--seed", "5", "--json")
    data = json.loads(run("compare", series_file, "-o", tmp_path / "results", *options, *QUICK).out)
    assert [row["seed"] for row in data["runs"]] == [5, 6, 7, None]
    assert data["true_labels"] == 2  # the labels of the file, unless its states are asked for
    mean = np.mean([row["NMI"] for row in data["runs"][:3]])
    (line,) = [
        line
        for line in (tmp_path / "results" / "comparison.md").read_text().splitlines()
        if line.startswith("| sticky")
    ]
    assert f"{mean:.3f}" in line


def test_truth_from_a_column_of_any_name(run, recordings, tmp_path):
    for i in range(2):
        rows = zip(recordings.sequences[i].tolist(), recordings.states[i], strict=True)
        text = "\n".join(f"{x},{y},phase {state}" for (x, y), state in rows)
        (tmp_path / f"demo_{i}.csv").write_text(f"x,y,phase\n{text}\n")
    files = [tmp_path / f"demo_{i}.csv" for i in range(2)]
    options = ("--methods", "hdp", "--truth", "phase", "--json")
    data = json.loads(run("compare", *files, "-o", tmp_path / "results", *options, *QUICK).out)
    assert data["true_labels"] == len(np.unique(np.concatenate(recordings.states[:2])))


def test_truth_from_an_array_of_any_name(run, series_file, recordings, tmp_path):
    with np.load(series_file) as archive:
        np.savez(tmp_path / "other.npz", skills=archive["states"], X=archive["X"], lengths=archive["lengths"])
    options = ("--methods", "hdp", "--truth", "skills", "--json")
    data = json.loads(run("compare", tmp_path / "other.npz", "-o", tmp_path / "results", *options, *QUICK).out)
    assert data["true_labels"] == 4


@pytest.mark.parametrize("suffix", [".txt", ".npy"])
def test_truth_from_a_file(suffix, run, recordings, tmp_path):
    steps, truth = np.concatenate(recordings.sequences), np.concatenate(recordings.states)
    np.savez(tmp_path / "demos.npz", X=steps, lengths=[len(one) for one in recordings.sequences])
    if suffix == ".npy":
        np.save(tmp_path / "truth.npy", truth)
    else:
        (tmp_path / "truth.txt").write_text("\n".join(f"state {label}" for label in truth))
    options = ("--truth", tmp_path / f"truth{suffix}", "--methods", "hmm", "--max-states", "4", "--json")
    data = json.loads(run("compare", tmp_path / "demos.npz", "-o", tmp_path / "results", *options).out)
    assert data["true_labels"] == 4
    assert data["runs"][0]["ARI"] > 0.5  # labels of the right steps, not of others


def test_matrices_are_clustered(run, toy, toy_file, tmp_path):
    options = ("--matrices", "--chains", "2", "--sweeps", "20", "--json")
    data = json.loads(run("compare", toy_file, "-o", tmp_path / "results", *options).out)
    assert [row["method"] for row in data["runs"]] == ["spcm", "crp", "gmm", "one-cluster"]
    assert data["true_clusters"] == 3
    assert all(row["NMI"] > 0.8 for row in data["runs"][:3])
    assert data["runs"][3]["NMI"] == 0
    assert set(data["runs"][0]) == {"method", "seed", "NMI", "purity", "F", "ARI", "clusters", "seconds"}


def test_matrices_may_have_their_classes_in_a_file(run, toy, tmp_path):
    np.save(tmp_path / "matrices.npy", toy.matrices)
    (tmp_path / "classes.txt").write_text("\n".join(map(str, toy.labels)))
    options = ("--matrices", "--truth", tmp_path / "classes.txt", "--methods", "gmm", "--json")
    data = json.loads(run("compare", tmp_path / "matrices.npy", "-o", tmp_path / "results", *options).out)
    assert data["true_clusters"] == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--truth", "phase"), "has no array 'phase'"),
        (("--truth", "X"), "array 'X' holds the series, needed another one for --truth"),
        (("--truth", "{folder}/latin.txt"), "latin.txt cannot be read"),
        (("--truth", "{folder}/objects.npy"), "objects.npy cannot be read"),
        (("--truth", "{folder}/garbage.npy"), "garbage.npy cannot be read"),
        (("--truth", "{folder}/archive.npy"), "is an archive of several arrays, needed one array"),
        (("--truth", "{folder}/archive.npz"), "ends in '.npz', needed labels in one of .npy, .txt"),
        (("--smooth", "4"), "--smooth is 4"),
        (("--matrices", "--truth", "phase"), "needed"),
        (("--matrices", "--columns", "x"), "--columns means nothing with --matrices"),
        (("--matrices", "--subsample", "2"), "--subsample means nothing with --matrices"),
    ],
)
def test_bad_input_exits_with_2_and_one_line(options, message, run, series_file, tmp_path):
    (tmp_path / "latin.txt").write_bytes("schälen\n".encode("latin-1"))
    (tmp_path / "garbage.npy").write_text("no array at all")
    np.save(tmp_path / "objects.npy", np.array([{}]), allow_pickle=True)
    for name in ("archive.npz", "archive.npy"):
        with (tmp_path / name).open("wb") as file:
            np.savez(file, labels=[0, 1])
    words = [word.format(folder=tmp_path) for word in options]
    answer = run("compare", series_file, "-o", tmp_path / "results", *words)
    assert answer.status == 2
    assert message in answer.error
    assert not (tmp_path / "results").exists()


def write_demo(path, one, states, columns="x,y,phase"):
    rows = zip(one.tolist(), states, strict=True)
    path.write_text("\n".join([columns, *(f"{x},{y},{state}" for (x, y), state in rows)]) + "\n")


@pytest.mark.parametrize("option", ["--truth", "--group"])
def test_no_method_is_shown_what_it_is_scored_by(option, run, recordings, tmp_path):
    write_demo(tmp_path / "demo.csv", recordings.sequences[0], recordings.states[0])
    answer = run("compare", tmp_path / "demo.csv", option, "phase", "--columns", "x,y,phase")
    assert answer.status == 2
    assert f"column 'phase' is named by {option} and by --columns" in answer.error


@pytest.mark.parametrize("gap", ["", "nan"])
def test_steps_without_a_label_are_named_before_anything_runs(gap, run, recordings, tmp_path):
    for i in range(2):
        states = recordings.states[i].tolist()
        states[3] = gap if i == 1 else states[3]
        write_demo(tmp_path / f"demo_{i}.csv", recordings.sequences[i], states, "x,y,label")
    answer = run("compare", *(tmp_path / f"demo_{i}.csv" for i in range(2)), "-o", tmp_path / "results", *QUICK)
    assert answer.status == 2
    assert "Recording 1 (demo_1) has no label at step 3, counted from 0 (1 such of" in answer.error
    assert "IBP-HMM" not in answer.err


def test_matrices_without_a_class_are_named_before_anything_runs(run, toy, tmp_path):
    np.save(tmp_path / "matrices.npy", toy.matrices)
    np.save(tmp_path / "classes.npy", np.where(np.arange(len(toy.labels)) == 2, np.nan, toy.labels))
    answer = run("compare", tmp_path / "matrices.npy", "--matrices", "--truth", tmp_path / "classes.npy")
    assert answer.status == 2
    assert "has no label at matrix 2, counted from 0" in answer.error


def test_constant_columns_are_called_by_their_names(run, recordings, tmp_path):
    write_demo(tmp_path / "demo.csv", recordings.sequences[0] * [1, 0] + [0, 2], recordings.states[0], "x,y,label")
    answer = run("compare", tmp_path / "demo.csv", "-o", tmp_path / "results", *QUICK)
    assert "Channel y is 2 at every step" in answer.error


def test_figures_of_an_earlier_comparison_are_removed(run, recordings, tmp_path):
    for name in ("series-3.png", "series-4.png", "traces.png"):
        (tmp_path / name).touch()
    write_demo(tmp_path / "demo.csv", recordings.sequences[0], recordings.states[0], "x,y,label")
    options = ("--methods", "hmm", "--max-states", "2", "--figures")
    assert run("compare", tmp_path / "demo.csv", "-o", tmp_path, *options).status == 0
    assert {path.name for path in tmp_path.glob("*.png")} == {"series-0.png", "series-4.png", "traces.png"}


def test_data_without_labels_are_refused(run, recordings, toy, tmp_path):
    np.save(tmp_path / "demo.npy", recordings.sequences[0])
    assert "has no label for every step. Say with --truth" in run("compare", tmp_path / "demo.npy").error
    np.save(tmp_path / "matrices.npy", toy.matrices)
    assert "has no labels" in run("compare", tmp_path / "matrices.npy", "--matrices").error
    assert "reads a single file" in run("compare", tmp_path / "a.npy", tmp_path / "b.npy", "--matrices").error


def test_an_interrupt_leaves_what_was_finished(run, series_file, tmp_path, monkeypatch):
    def interrupted(rng, model, state):
        raise KeyboardInterrupt

    monkeypatch.setattr(hdphmm, "_resample_tables", interrupted)
    options = ("--methods", "icsc,hdp,hmm", "-o", tmp_path / "results")
    answer = run("compare", series_file, *options, *QUICK)
    assert answer.status == 130
    assert [row["method"] for row in read_table(tmp_path / "results" / "comparison.csv")] == ["icsc", "one-state"]
    assert "Interrupted" in answer.err


def test_colours_are_those_of_the_class_a_state_is_named_after(rng):
    truth = rng.integers(3, size=200)
    shuffled = np.array([2, 0, 1])[truth]
    np.testing.assert_array_equal(named_after(truth, shuffled), truth)
    split = np.where(np.arange(200) < 40, shuffled + 3, shuffled)
    renamed = named_after(truth, split)
    np.testing.assert_array_equal(renamed[40:], truth[40:])
    assert (renamed[:40] >= 3).all()
    assert nmi(split, renamed) == pytest.approx(1.0)


def test_half_a_segmentation_is_no_run_of_two_stages(run, series_file, tmp_path, monkeypatch):
    resample_paths, calls = ibp_moves.resample_paths, iter(range(1, 10**6))

    def interrupted(rng, model, state):
        if next(calls) == 6:  # one sweep has been kept by then, on which an estimator would rest its answer
            raise KeyboardInterrupt
        return resample_paths(rng, model, state)

    monkeypatch.setattr(ibp_moves, "resample_paths", interrupted)
    answer = run("compare", series_file, "--methods", "two-stage", "-o", tmp_path / "results", *QUICK)
    assert answer.status == 130
    assert "Interrupted before the first result" in answer.error
