"""Writing files so that, whatever happens, either the old one or the new one is there, whole."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

UNFINISHED = ".part"  # how the names of files end that are being written


def write_whole(path: Path, content: bytes) -> None:
    """Write a file aside, make sure it is on the disk, and rename it into place."""
    aside = path.with_name(path.name + UNFINISHED)
    try:
        with aside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)
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
def written_aside(path: Path) -> Iterator[Path]:
    """Give a path to write to, with the same ending; the file gets its name when it is complete."""
    aside = path.with_name(f".part-{path.name}")
    try:
        yield aside
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file, such as the record that taking up a run depends on."""
    write_whole(path, text.encode("utf-8"))


def printable(name: str) -> str:
    r"""Return the name of a file as text that can be written: a name may hold bytes that are no text.

    Examples
    --------
    >>> printable("demo\udcff")
    'demo?'
    """
    return name.encode("utf-8", "replace").decode()
