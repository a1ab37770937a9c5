"""Writing files completely or not at all: after a crash, either the old or the new file is there.

A file is written aside, under a random name that nobody can have put a link at, and gets its own name when it is
complete. A link in the place of the file is replaced, never followed.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import contextmanager, suppress
from secrets import token_hex
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

UNFINISHED = re.compile(r"\.part-[0-9a-f]{16}-.*")  # names of files that are being written
_N_KEPT = 40  # characters at the end of a name that are kept while the file is written: its ending among them
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def write_whole(path: Path, content: bytes, *, keep_as: Path | None = None) -> None:
    """Write a file aside, make sure it is on the disk, and rename it into place.

    Parameters
    ----------
    path : Path
    content : bytes
    keep_as : Path, optional
        Name that the file that was there before gets; without, it is gone.
    """
    with _aside(path) as (aside, file):
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
        file.close()
        if keep_as is not None and path.exists():
            os.replace(path, keep_as)
        os.replace(aside, path)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make a rename last: it is an entry of the folder. Windows has no way, and no need, to do this."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _aside(path: Path) -> Iterator[tuple[Path, BinaryIO]]:
    """Give a new file with a random name beside a path, which is gone at the end unless it was renamed.

    Errors of the disk name the path: its owner knows that name.
    """
    aside = path.with_name(f".part-{token_hex(8)}-{path.name[-_N_KEPT:]}")
    try:
        with aside.open("xb") as file:  # never one that is there, nor one that a link points to
            yield aside, file
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(aside)):
            raise
        is_gone = isinstance(error, FileNotFoundError) and path.parent.is_dir()
        reason = "Another process has begun to write to this folder" if is_gone else error.strerror
        raise OSError(error.errno, reason, str(path)) from error
    finally:
        with suppress(OSError):
            aside.unlink(missing_ok=True)


@contextmanager
def written_aside(path: Path) -> Iterator[Path]:
    """Give a path to write to, with the same ending; the file gets its name when it is complete."""
    with _aside(path) as (aside, file):
        file.close()
        yield aside
        with aside.open("rb+") as written:
            os.fsync(written.fileno())
        os.replace(aside, path)


def write_text(path: Path, text: str) -> None:
    """Write a text file, such as the record that taking up a run depends on; what is no text in it becomes a `?`."""
    write_whole(path, text.encode("utf-8", "replace"))


def write_json(path: Path, data: Any) -> None:
    """Write a text file of JSON."""
    write_text(path, json.dumps(data, indent=2, allow_nan=False) + "\n")


def remove_unfinished(folder: Path) -> None:
    """Remove the files of a folder that were being written when their process was killed."""
    for path in folder.iterdir():
        if UNFINISHED.fullmatch(path.name) and not path.is_symlink() and path.is_file():
            path.unlink(missing_ok=True)


def printable(name: str) -> str:
    r"""Return a name as text to write and to show: names may hold bytes that are no text, or steer a terminal.

    Examples
    --------
    >>> printable("demo\udcff"), printable("\x1b[2Jdemo")
    ('demo?', '?[2Jdemo')
    """
    return _CONTROLS.sub("?", name)
