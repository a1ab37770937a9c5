"""The folder of results: what is written there, and that it is read again as it was."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from fabricated import make_clustering, make_recordings, make_segmentation, with_parts
from homothety.cli import main
from homothety.cli.results import _read_recordings, _write_recordings, read, write
from homothety.datasets import MatrixSet, SequenceSet, read_sequences
from homothety.distributions import NIW
from homothety.persistence import write_value
from homothety.report import describe


def reported_again(folder):
    """Return the document about what a folder holds."""
    result, data = read(folder)
    return describe(result, data)


def test_recordings_come_back_and_can_be_segmented_again(tmp_path):
    made = make_recordings(names=["a", "b\nc", "</script>"])
    truth = [np.array(["go"] * 60 + [None] * 60, dtype=object) for _ in made.sequences]
    items = SequenceSet(made.sequences, None, truth, made.names, made.channels)
    _write_recordings(tmp_path / "recordings.npz", items)
    back = _read_recordings(tmp_path / "recordings.npz")
    assert (back.names, back.channels) == (items.names, items.channels)
    assert back.actions[0].tolist() == ["go"] * 60 + [""] * 60
    for one, other in zip(back.sequences, items.sequences, strict=True):
        np.testing.assert_array_equal(one, other)
    assert read_sequences(tmp_path / "recordings.npz").n_steps == items.n_steps


def test_a_segmentation_is_reported_again_as_it_was(tmp_path, capsys):
    recordings = make_recordings()
    model = make_segmentation(recordings)
    model = with_parts(model, provenance=replace(model.result_.provenance, source="demos.npz"))
    written = write(model, recordings, tmp_path)
    assert {"report.html", "recordings.npz"} <= set(written.files)
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
    model = with_parts(make_clustering(), numbers=np.arange(30) + 5)
    items = MatrixSet(model.matrices_, np.array(["cigar", "plate", "ball"])[model.labels_])
    (tmp_path / "labels.nii.gz").touch()
    written = write(model, items, tmp_path)
    assert not (tmp_path / "labels.nii.gz").exists()  # of an earlier run
    again = reported_again(tmp_path)
    assert again.answers == written.document.answers
    assert again.data == written.document.data
    assert again.subtitle == written.document.subtitle


@pytest.mark.parametrize("keeps_matrices", [True, False])
@pytest.mark.parametrize("affine", [None, np.diag([2.0, 2.0, 3.0, 1.0])])
def test_an_image_is_reported_again_with_voxels_and_slices(tmp_path, affine, keeps_matrices):
    model = make_clustering()
    items = MatrixSet(model.matrices_, None, "image", (2, 3, 5), np.argwhere(np.ones((2, 3, 5))), affine)
    if not keeps_matrices:
        model = with_parts(model, matrices=None)
    written = write(model, items, tmp_path)
    with np.load(tmp_path / "matrices.npz") as stored:
        assert ("matrices" in stored) == (not keeps_matrices)
    again = reported_again(tmp_path)
    assert again.sections[1].name == "slices"
    assert again.sections == written.document.sections
    assert again.answers == written.document.answers


def test_a_model_that_keeps_no_matrices_is_reported_without_them(tmp_path):
    with_parts(make_clustering(), matrices=None).save(tmp_path / "model.homothety")
    assert reported_again(tmp_path).title == "30 matrices of 3 x 3 in 3 clusters"


def test_versions_are_those_of_the_run(tmp_path):
    recordings = make_recordings()
    model = make_segmentation(recordings)
    made = replace(model.result_.provenance, versions={"homothety": "0.0.9", "numpy": "1.2.3"})
    write(with_parts(model, provenance=made), recordings, tmp_path)
    assert read(tmp_path)[0].provenance.versions["numpy"] == "1.2.3"
    assert "homothety 0.0.9" in reported_again(tmp_path).subtitle


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
    assert reported_again(tmp_path).data["channels"] == []


SPOILT_RECORDINGS = {
    "no names": lambda arrays: arrays.pop("names"),
    "names of others": lambda arrays: arrays.update(names=np.array(["a"])),
    "no steps": lambda arrays: arrays.pop("X"),
}


@pytest.mark.parametrize("case", SPOILT_RECORDINGS)
def test_damaged_recordings_are_named(case, tmp_path, capsys):
    recordings = make_recordings()
    write(make_segmentation(recordings), recordings, tmp_path)
    with np.load(tmp_path / "recordings.npz") as archive:
        arrays = dict(archive)
    SPOILT_RECORDINGS[case](arrays)
    np.savez(tmp_path / "recordings.npz", **arrays)
    assert main(["report", str(tmp_path), "--quiet"]) == 2
    assert capsys.readouterr().err.startswith(f"homothety: {tmp_path / 'recordings.npz'}")


@pytest.mark.parametrize("change", [{"grid": np.array("x")}, {"fit": np.ones(3)}, {"labels": np.ones(2)}])
def test_damaged_matrices_are_named(change, tmp_path, capsys):
    model = make_clustering()
    write(model, MatrixSet(model.matrices_), tmp_path)
    np.savez(tmp_path / "matrices.npz", **({"matrices": model.matrices_} | change))
    assert main(["report", str(tmp_path), "--quiet"]) == 2
    assert str(tmp_path / "matrices.npz") in capsys.readouterr().err


def test_a_file_that_holds_no_result_is_refused(tmp_path, capsys):
    write_value(NIW(np.zeros(2), 1.0, np.eye(2), 3.0), tmp_path / "model.homothety")
    assert main(["report", str(tmp_path), "--quiet"]) == 2
    assert "model.homothety holds a NIW, needed a fitted model or a result" in capsys.readouterr().err
