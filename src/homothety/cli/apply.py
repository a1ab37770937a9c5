"""`homothety apply`: a saved model on new recordings or matrices."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from homothety.cli import series
from homothety.cli.files import check_folder
from homothety.cli.options import add_command, add_memory_option, add_output_options
from homothety.errors import InputError

if TYPE_CHECKING:
    import argparse

    from homothety.cli.console import Console

DESCRIPTION = """\
Find the states and actions, or the clusters, of a saved model in new recordings or matrices. Every recording may be in
a frame that the model has never seen: its rotation, size and place are found first. Writes tables with probabilities,
frames, a summary and an interactive report, and says which recordings do not fit the model. Nothing is fitted again.
"""
EPILOG = """\
examples:
  homothety apply homothety-output new_1.csv new_2.csv      the model of a finished run
  homothety apply grating.homothety demos/ -o new           a model that was saved from Python
  homothety apply regions new.nii.gz --order fsl            clusters of matrices
  homothety apply homothety-output new.csv --json | jq '.fits'
"""
OUTPUT = "homothety-applied"
OF_MATRICES = ("order", "mask")


def add_parser(commands: Any) -> None:
    """Add this command to the parser of all commands."""
    parser = add_command(
        commands,
        "apply",
        run,
        help="find what a saved model has found in new data",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    parser.add_argument("model", metavar="MODEL", type=Path, help="saved model, or the folder of a run")
    series.add_files(parser)
    parser.add_argument("-o", "--output", metavar="DIR", type=Path, help=f"folder for results (default: {OUTPUT})")
    add_output_options(parser)
    add_memory_option(parser)
    series.add_reading_options(parser)
    matrices = parser.add_argument_group("reading matrices")
    matrices.add_argument("--order", help="order of distinct entries: upper, lower, diagonal, fsl, nifti, dipy, mrtrix")
    matrices.add_argument("--mask", metavar="FILE", type=Path, help="NIfTI image of the voxels to read")


def run(args: argparse.Namespace, console: Console) -> bool:
    """Apply a model; return that it came to its end."""
    from homothety.cli import results
    from homothety.persistence import load
    from homothety.report import render_text
    from homothety.summaries.result import Segmentation

    folder = check_folder(args.output or Path(OUTPUT))
    path = args.model / results.MODEL if args.model.is_dir() else args.model
    model = load(path)
    if not hasattr(model, "apply"):
        raise InputError(f"{path} holds a {type(model).__name__}, needed a segmenter or an SPCMMixture.")
    segments = isinstance(model.result_, Segmentation)
    data: Any = _read_recordings(args, console) if segments else _read_matrices(args, console)
    result = model.apply(data if segments else data.matrices)
    result = replace(result, provenance=replace(result.provenance, source=series.title(args.files)))
    files, document, summary = results.write(result, data, folder)
    found = summary | {"output": str(folder), "files": files}
    console.show(f"{render_text(document)}\n\nWritten to {folder}: {', '.join(files)}.", found)
    return True


def _read_recordings(args: argparse.Namespace, console: Console) -> Any:
    for name in OF_MATRICES:
        if getattr(args, name) is not None:
            raise InputError(f"--{name} means nothing for a model of recordings. Leave it out.")
    return series.read(args, console)


def _read_matrices(args: argparse.Namespace, console: Console) -> Any:
    from homothety.datasets import read_matrices

    if len(args.files) > 1:
        raise InputError(f"A model of matrices reads a single file, but there are {len(args.files)}. Name one.")
    console.say(f"Reading {args.files[0]}")
    return read_matrices(args.files[0], variable=args.variable, order=args.order, mask=args.mask)
