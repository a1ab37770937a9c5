"""Files are there whole or not at all; nothing is written where somebody has planted a link."""

from __future__ import annotations

import errno
import os

import pytest

from homothety import files
from homothety.files import printable, remove_unfinished, write_text, write_whole, written_aside


def test_the_file_before_can_be_kept(tmp_path):
    path, kept = tmp_path / "position", tmp_path / "position-before"
    for content in (b"1", b"2", b"3"):
        write_whole(path, content, keep_as=kept)
    assert (path.read_bytes(), kept.read_bytes()) == (b"3", b"2")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["position", "position-before"]


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_link_in_the_place_of_a_file_is_replaced_and_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for name in ("run.json", "labels.csv"):
        (tmp_path / name).symlink_to(victim)
    write_text(tmp_path / "run.json", "ours")
    with written_aside(tmp_path / "labels.csv") as aside:
        aside.write_text("ours")
    assert victim.read_text() == "precious"
    assert (tmp_path / "run.json").read_text() == (tmp_path / "labels.csv").read_text() == "ours"
    assert not (tmp_path / "run.json").is_symlink()


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_link_at_the_name_aside_is_not_followed(tmp_path, monkeypatch):
    """The name is random; should anybody guess it, the file is not opened."""
    monkeypatch.setattr(files, "token_hex", lambda n: "0" * 16)
    victim = tmp_path / "victim"
    (tmp_path / f".part-{'0' * 16}-run.json").symlink_to(victim)
    with pytest.raises(FileExistsError):
        write_text(tmp_path / "run.json", "ours")
    assert not victim.exists()


def test_names_aside_are_random_and_end_alike(tmp_path):
    names = []
    for _ in range(2):
        with written_aside(tmp_path / f"{'long' * 60}.nii.gz") as aside:
            names.append(aside.name)
    assert names[0] != names[1]
    assert all(name.endswith("long.nii.gz") and len(name) < 100 for name in names)


def test_what_a_kill_has_left_is_removed_and_nothing_else(tmp_path):
    for name in (f".part-{'0' * 16}-labels.csv", ".part-mine", "labels.csv.part"):
        (tmp_path / name).write_text("")
    remove_unfinished(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".part-mine", "labels.csv.part"]


@pytest.mark.parametrize("write", [lambda path: write_text(path, "x"), lambda path: full_aside(path)])
def test_a_full_disk_is_told_with_the_name_of_the_file(tmp_path, monkeypatch, write):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")  # as the system says it, without a name

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left on device.*labels\.csv"):
        write(tmp_path / "labels.csv")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_another_process_has_removed_is_told(tmp_path):
    with (
        pytest.raises(OSError, match=r"Another process has begun to write to this folder.*labels\.csv"),
        written_aside(tmp_path / "labels.csv") as aside,
    ):
        aside.unlink()


def test_texts_that_are_no_text_are_written_all_the_same(tmp_path):
    write_text(tmp_path / "names.txt", "demo\udcff")
    assert (tmp_path / "names.txt").read_text() == "demo?"


def full_aside(path):
    with written_aside(path) as aside:
        aside.write_text("x")
        files.os.fsync(0)


@pytest.mark.parametrize(
    ("name", "shown"),
    [("démo 1", "démo 1"), ("\x1b]0;owned\x07", "?]0;owned?"), ("a\nb\x9bc", "a?b?c"), ("\u202egnp.exe", "?gnp.exe")],
)
def test_names_cannot_steer_a_terminal(name, shown):
    assert printable(name) == shown
