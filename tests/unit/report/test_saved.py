from __future__ import annotations

import json

import numpy as np
import pytest

from fabricated import make_clustering, make_recordings, make_segmentation
from homothety.cli import clustering, main, segmentation
from homothety.cli.console import Console
from homothety.datasets import MatrixSet, SequenceSet, read_sequences
from homothety.report import describe_run
from homothety.report.runs import run_of
from homothety.report.saved import read_recordings, read_run, write_recordings


@pytest.fixture(autouse=True)
def _no_figures(monkeypatch):
    """Draw no pictures: they are slow, and not what is tested here."""
    monkeypatch.setattr("homothety.cli.segmentation.has_matplotlib", lambda: False)
    monkeypatch.setattr("homothety.cli.clustering.has_matplotlib", lambda: False)


def test_recordings_come_back_and_can_be_segmented_again(tmp_path):
    made = make_recordings(names=["a", "b\nc", "</script>"])
    truth = [np.array(["go"] * 60 + [None] * 60, dtype=object) for _ in made.sequences]
    items = SequenceSet(made.sequences, None, truth, made.names, made.channels)
    write_recordings(tmp_path / "recordings.npz", items)
    back = read_recordings(tmp_path / "recordings.npz")
    assert (back.names, back.channels) == (items.names, items.channels)
    assert back.actions[0].tolist() == ["go"] * 60 + [""] * 60
    for one, other in zip(back.sequences, items.sequences, strict=True):
        np.testing.assert_array_equal(one, other)
    assert read_sequences(tmp_path / "recordings.npz").n_steps == items.n_steps


def test_a_segmentation_is_reported_again_as_it_was(tmp_path, capsys):
    recordings = make_recordings()
    result = segmentation.Segmentation(recordings, make_segmentation(recordings), "demos.npz", 1.5)
    files = segmentation.write(result, tmp_path, Console(quiet=True))
    assert {"report.html", "recordings.npz"} <= set(files)
    first = (tmp_path / "report.html").read_text()
    (tmp_path / "report.html").unlink()
    assert main(["report", str(tmp_path), "-o", str(tmp_path / "missing" / "page.html")]) == 2
    assert f"there is no folder {tmp_path / 'missing'}." in capsys.readouterr().err
    assert main(["report", str(tmp_path), "--json"]) == 0
    assert (tmp_path / "report.html").read_text() == first
    told = json.loads(capsys.readouterr().out)
    assert told["answers"][0]["answer"].startswith("3 actions.")
    assert "demos.npz" in first


def test_a_clustering_is_reported_again_with_its_numbers_and_classes(tmp_path):
    model = make_clustering()
    items = MatrixSet(model.matrices_, np.array(["cigar", "plate", "ball"])[model.labels_])
    result = clustering.Clustering(items, model, np.arange(30) + 5, "shapes.npy", 2.0)
    (tmp_path / "labels.nii.gz").touch()
    clustering.write(result, tmp_path, Console(quiet=True))
    assert not (tmp_path / "labels.nii.gz").exists()  # of an earlier run
    again, before = describe_run(read_run(tmp_path)), describe_run(run_of(result))
    assert again.answers == before.answers
    assert again.data == before.data
    assert again.subtitle == before.subtitle


@pytest.mark.parametrize("keeps_matrices", [True, False])
@pytest.mark.parametrize("affine", [None, np.diag([2.0, 2.0, 3.0, 1.0])])
def test_an_image_is_reported_again_with_voxels_and_slices(tmp_path, affine, keeps_matrices):
    model = make_clustering()
    items = MatrixSet(model.matrices_, None, "image", (2, 3, 5), np.argwhere(np.ones((2, 3, 5))), affine)
    if not keeps_matrices:
        del model.matrices_
    result = clustering.Clustering(items, model, np.arange(30), "image.npz", 2.0)
    (tmp_path / "matrices.npz").touch()  # of an earlier run
    files = clustering.write(result, tmp_path, Console(quiet=True))
    assert ("matrices.npz" in files) == (tmp_path / "matrices.npz").exists() == (not keeps_matrices)
    again, before = describe_run(read_run(tmp_path)), describe_run(run_of(result))
    assert again.sections[1].name == "slices"
    assert again.sections == before.sections
    assert again.answers == before.answers


def test_a_model_that_keeps_no_matrices_is_reported_again(tmp_path):
    model = make_clustering()
    del model.matrices_
    model.save(tmp_path / "model.homothety")
    assert describe_run(read_run(tmp_path)).title == "30 items in 3 clusters"


def test_versions_are_those_of_the_run(tmp_path):
    recordings = make_recordings()
    result = segmentation.Segmentation(recordings, make_segmentation(recordings), "", 1.0)
    segmentation.write(result, tmp_path, Console(quiet=True))
    summary = json.loads((tmp_path / "summary.json").read_text())
    summary["versions"]["numpy"] = "1.2.3"
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    assert read_run(tmp_path).versions["numpy"] == "1.2.3"


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (lambda folder: folder.rmdir(), "is no folder, needed one that homothety segment or cluster has written to"),
        (lambda folder: None, "holds no model.homothety"),
        (lambda folder: (folder / "model.homothety").write_text("x"), "is not a model saved by homothety"),
    ],
)
def test_folders_without_a_run_exit_with_2(prepare, message, tmp_path, capsys):
    folder = tmp_path / "run"
    folder.mkdir()
    prepare(folder)
    assert main(["report", str(folder)]) == 2
    assert message in capsys.readouterr().err


def test_a_run_from_before_recordings_were_kept_is_reported_without_curves(tmp_path):
    recordings = make_recordings()
    make_segmentation(recordings).save(tmp_path / "model.homothety")
    assert describe_run(read_run(tmp_path)).data["channels"] == []
