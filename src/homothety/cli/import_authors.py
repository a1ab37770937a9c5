"""`homothety import-authors`: the paper's data out of clones of the authors' repositories."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from homothety.cli.files import check_folder, make_folder
from homothety.cli.options import add_command
from homothety.errors import InputError
from homothety.files import written_aside

if TYPE_CHECKING:
    import argparse

    from numpy.typing import NDArray

    from homothety.cli.console import Console

DESCRIPTION = """\
Make the data sets that 'homothety reproduce' reads from clones of the authors' public repositories: SPCM-CRP (task
ellipsoids, rat hippocampus, ETH-80) and ICSC-HMM (grating, rolling, peeling), labels and all. Nothing is downloaded,
and nothing of theirs is part of this program. Toy data need no files.
"""
EPILOG = """\
examples:
  homothety import-authors authors -o data     a folder with clones of both repositories
  homothety reproduce 3 --data data            the tables from what was made

The repositories are nbfigueroa/SPCM-CRP and nbfigueroa/ICSC-HMM on GitHub. They have terms of their own, and so has the
rat's hippocampus: read them before you publish anything.
Exit status: 0; 2 if nothing could be made.
"""
OUTPUT = "data"


def add_parser(commands: Any) -> None:
    """Add this command to the parser of all commands."""
    parser = add_command(
        commands,
        "import-authors",
        run,
        help="the paper's data from clones of the authors' repositories",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    parser.add_argument("folder", metavar="DIR", type=Path, help="clone of a repository, or folder of clones")
    parser.add_argument("-o", "--output", metavar="DIR", type=Path, help=f"folder for the sets (default: {OUTPUT})")
    parser.add_argument("--quiet", action="store_true", help="print errors only")
    parser.add_argument("--json", action="store_true", help="print what was made as JSON, and nothing else, on stdout")


def save_set(folder: Path, file: str, arrays: dict[str, NDArray[Any]]) -> None:
    """Write a data set."""
    import numpy as np

    with written_aside(make_folder(folder) / file) as aside:
        np.savez_compressed(aside, **arrays)  # type: ignore[arg-type]


def run(args: argparse.Namespace, console: Console) -> bool:
    """Make what can be made; return whether that was anything, which it is unless an error says otherwise."""
    from homothety.reproduce.authors import import_sets

    if not args.folder.is_dir():
        raise InputError(f"{args.folder} is not a folder. Give the one with clones of the authors' repositories.")
    output = check_folder(args.output or Path(OUTPUT))
    console.say(f"Reading {args.folder}")
    outcomes = import_sets(args.folder, partial(save_set, output))
    if not any(one.written for one in outcomes):
        missing = " ".join(f"{one.file}: {one.text}." for one in outcomes)
        raise InputError(f"{args.folder} holds nothing of the authors' repositories SPCM-CRP and ICSC-HMM. {missing}")
    lines = [f"{one.file}: {one.text}." for one in outcomes]
    console.show("\n".join([*lines, "", f"Written to {output}."]), [one._asdict() for one in outcomes])
    return True
