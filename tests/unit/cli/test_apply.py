"""`homothety apply`: what a saved model says of data it was not fitted to."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import homothety
from homothety import CRPMixture, SPCMMixture
from homothety.cli.results import _write_recordings, read
from homothety.datasets import SequenceSet, make_demonstrations

QUICK = ("--chains", "2", "--sweeps", "10")


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """Return the folder of a run on three short demonstrations, each in a frame of its own."""
    from homothety.cli import main

    folder = tmp_path_factory.mktemp("fitted")
    made = make_demonstrations(1, n_per_frame=1)
    recordings = SequenceSet([one[::4] for one in made.sequences], names=("a", "b", "c"), channels=made.channels)
    _write_recordings(folder / "demos.npz", recordings)
    assert main(["segment", str(folder / "demos.npz"), "-o", str(folder / "run"), "--quiet", *QUICK]) == 0
    return folder / "run"


@pytest.fixture
def new_file(tmp_path):
    """Return a file with a new demonstration in a new frame, and something else."""
    made = make_demonstrations(7, n_frames=1, n_per_frame=1)
    strange = np.cumsum(np.random.default_rng(0).normal(size=(90, 3)), axis=0)
    items = SequenceSet([made.sequences[0][::4], strange], names=("new", "strange"), channels=made.channels)
    _write_recordings(tmp_path / "new.npz", items)
    return tmp_path / "new.npz"


def test_new_recordings_get_actions_frames_and_a_word_where_nothing_fits(run, fitted, new_file, tmp_path):
    folder = tmp_path / "applied"
    answer = run("apply", fitted, new_file, "-o", folder)
    assert answer.status == 0
    assert "Do the recordings fit the model? 1 of 2 recordings do not." in answer.out
    model = homothety.load(fitted / "model.homothety")
    result, data = read(folder)
    actions, details = model.predict_actions(data, return_details=True)
    np.testing.assert_array_equal(np.concatenate(actions), result.actions.flat)
    np.testing.assert_allclose([one.score for one in details], result.scores)
    probability = np.concatenate([one.action_probs for one in details])
    np.testing.assert_allclose(probability[np.arange(len(probability)), result.actions.flat], result.actions.sure)
    assert [one.angle for one in result.frame_table.rows] == pytest.approx([one.frame.angle for one in details])
    assert result.fits.tolist() == [True, False]
    with (folder / "frames.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["recording"], row["fits"]) for row in rows] == [("new 0", "True"), ("new 1", "False")]
    assert not (folder / "model.homothety").exists()
    page = (folder / "report.html").read_text()
    assert 'data-chart="aligned"' in page
    assert 'data-chart="traces"' not in page
    (folder / "report.html").unlink()
    assert run("report", folder).status == 0
    assert (folder / "report.html").read_text() == page


def test_json_says_what_fits(run, fitted, new_file, tmp_path):
    data = json.loads(run("apply", fitted / "model.homothety", new_file, "-o", tmp_path / "out", "--json").out)
    assert [(one["recording"], one["fits"]) for one in data["fits"]] == [("new 0", True), ("new 1", False)]
    assert "verdict" not in data


@pytest.mark.parametrize("model", ["icsc", "hmm"])
def test_models_without_frames_are_applied_too(model, run, series_file, tmp_path):
    options = ("--max-states", "3") if model == "hmm" else QUICK
    assert run("segment", series_file, "--model", model, "-o", tmp_path / "run", *options).status == 0
    assert run("apply", tmp_path / "run", series_file, "-o", tmp_path / "out").status == 0
    fitted, (result, data) = homothety.load(tmp_path / "run" / "model.homothety"), read(tmp_path / "out")
    np.testing.assert_array_equal(result.states.flat, np.concatenate(fitted.predict(data)))
    if model == "icsc":
        np.testing.assert_array_equal(result.actions.flat, np.concatenate(fitted.predict_actions(data)))


def test_new_matrices_get_clusters(run, toy, toy_file, tmp_path):
    model = SPCMMixture(n_chains=2, n_sweeps=20, random_state=0).fit(toy.matrices)
    model.save(tmp_path / "model")
    np.savez(tmp_path / "few.npz", matrices=toy.matrices[:3])
    answer = run("apply", tmp_path / "model", tmp_path / "few.npz", "-o", tmp_path / "out")
    assert answer.status == 0
    assert "How many clusters of the model are in these matrices?" in answer.out
    with (tmp_path / "out" / "labels.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    probability = model.predict_proba(toy.matrices[:3])
    assert [int(row["label"]) - 1 for row in rows] == probability.argmax(axis=1).tolist()
    assert [float(row["probability"]) for row in rows] == pytest.approx(probability.max(axis=1), abs=1e-4)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "new.npz", "--order", "fsl"), "--order means nothing for a model of recordings"),
        (("nowhere", "new.npz"), "nowhere does not exist"),
        (("points", "new.npz"), "holds a CRPMixture, needed a segmenter or an SPCMMixture"),
        (("matrices", "new.npz", "new.npz"), "A model of matrices reads a single file, but there are 2"),
    ],
)
def test_bad_input_exits_with_2_and_one_line(words, message, run, fitted, new_file, toy, tmp_path):
    SPCMMixture(n_chains=1, n_sweeps=4, random_state=0).fit(toy.matrices).save(tmp_path / "matrices")
    CRPMixture(n_chains=1, n_sweeps=4, random_state=0).fit(toy.matrices[:, 0]).save(tmp_path / "points")
    places = {"run": fitted, "--order": "--order", "fsl": "fsl"}
    given = [places.get(word, tmp_path / word) for word in words]
    answer = run("apply", *given, "-o", tmp_path / "out")
    assert answer.status == 2
    assert message in answer.error
    assert not (tmp_path / "out").exists()
