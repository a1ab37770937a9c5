"""Writing files so that nobody ever finds half of one."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from homothety.errors import InputError
from homothety.files import write_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from pathlib import Path

    from matplotlib.figure import Figure

REPORT = "report.html"  # in the folder of a run


def check_folder(folder: Path) -> Path:
    """Return a folder that can be written to, or raise: better before the work than after it.

    What it takes to find out is undone, so that a run that comes to nothing leaves nothing.
    """
    if os.path.isfile(folder):
        raise InputError(f"{folder} is a file, needed a folder for the results. Name another one with -o.")
    # Not by Path.exists, which raises where it may not look.
    missing = [one for one in (folder, *folder.parents) if not os.path.exists(one)]
    try:
        with TemporaryFile(dir=make_folder(folder), prefix=".part-"):
            pass
    except OSError as error:
        reason = f"{folder} cannot be written to ({error.strerror}), needed a folder for the results."
        raise InputError(f"{reason} Name another one with -o.") from error
    finally:
        for one in missing:
            with suppress(OSError):
                one.rmdir()
    return folder


def make_folder(folder: Path) -> Path:
    """Return a folder that exists."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def write_json(path: Path, data: Any) -> None:
    """Write what JSON can hold."""
    write_text(path, json.dumps(data, indent=2, allow_nan=False) + "\n")


def write_figures(
    folder: Path, figures: Mapping[str, Callable[[], Figure]], replaced: Collection[str] = ()
) -> list[str]:
    """Draw and write figures as PNG, and return the names of the files.

    Figures called as in `replaced` that are not written again are of an earlier run, and are removed.
    """
    for name in set(replaced).difference(figures):
        (folder / f"{name}.png").unlink(missing_ok=True)
    if figures:
        from homothety.viz.figures import write_figure

        for name, draw in figures.items():
            write_figure(folder / f"{name}.png", draw())
    return [f"{name}.png" for name in figures]
