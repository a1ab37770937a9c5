from __future__ import annotations

import pytest

from homothety.cli.options import check_folder
from homothety.errors import InputError
from homothety.files import write_text, written_aside


def fail_halfway(path):
    with written_aside(path) as aside:
        aside.write_text("half")
        raise OSError("disk full")


def test_a_file_is_replaced_only_when_the_new_one_is_complete(tmp_path):
    path = tmp_path / "labels.csv"
    write_text(path, "old")
    with pytest.raises(OSError, match="disk full"):
        fail_halfway(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_file_aside_has_the_same_ending(tmp_path):
    with written_aside(tmp_path / "labels.nii.gz") as aside:
        assert aside.name.endswith(".nii.gz")
        aside.write_text("whole")
    assert (tmp_path / "labels.nii.gz").read_text() == "whole"


def test_a_folder_that_can_be_written_to_is_left_as_it_was(tmp_path):
    write_text(tmp_path / "labels.csv", "old")
    assert check_folder(tmp_path) == tmp_path
    assert check_folder(tmp_path / "new" / "results") == tmp_path / "new" / "results"
    assert [path.name for path in tmp_path.rglob("*")] == ["labels.csv"]


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    write_text(tmp_path / "file", "")
    with pytest.raises(InputError, match=r"file/a/b cannot be written to \(.*\), needed a folder .* with -o"):
        check_folder(tmp_path / "file" / "a" / "b")


def test_a_folder_that_takes_no_files_is_named(tmp_path, monkeypatch):
    def refuse(**_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("homothety.cli.options.TemporaryFile", refuse)
    with pytest.raises(InputError, match=r"cannot be written to \(Permission denied\)"):
        check_folder(tmp_path / "results")
    assert not list(tmp_path.iterdir())
