from __future__ import annotations

import pytest

from homothety.cli.files import write_text, written_aside


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
