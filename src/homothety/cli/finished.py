"""Commands about runs that have written results: `homothety apply`, `homothety resume` and `homothety report`."""

from __future__ import annotations

import shlex
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from homothety.cli import recordings
from homothety.cli.options import (
    REPORT,
    add_cluster_option,
    add_command,
    add_memory_option,
    add_output_options,
    at_least,
    check_folder,
)
from homothety.errors import InputError

if TYPE_CHECKING:
    import argparse

    from homothety.cli.console import Console
    from homothety.cli.runs import Record

# homothety apply

_APPLY_HELP = "find what a saved model has found in new data"
_APPLY_DESCRIPTION = """\
Find the states and actions, or the clusters, of a saved model in new recordings or matrices. Every recording may be in
a frame that the model has never seen: its rotation, size and place are found first. Writes tables with probabilities,
frames, a summary and an interactive report, and says which recordings do not fit the model. Nothing is fitted again.
"""
_APPLY_EPILOG = """\
examples:
  homothety apply homothety-output new_1.csv new_2.csv      the model of a finished run
  homothety apply grating.homothety demos/ -o new           a model that was saved from Python
  homothety apply regions new.nii.gz --order fsl            clusters of matrices
  homothety apply homothety-output new.csv --json | jq '.fits'
"""
_APPLY_OUTPUT = "homothety-applied"
_OF_MATRICES = ("order", "mask")


def add_apply(commands: Any) -> None:
    """Add this command to the parser of all commands."""
    parser = add_command(
        commands, "apply", _run_apply, help=_APPLY_HELP, description=_APPLY_DESCRIPTION, epilog=_APPLY_EPILOG
    )
    parser.add_argument("model", metavar="MODEL", type=Path, help="saved model, or the folder of a run")
    recordings.add_files(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        type=Path,
        default=Path(_APPLY_OUTPUT),
        help=f"folder for results (default: {_APPLY_OUTPUT})",
    )
    add_output_options(parser)
    add_memory_option(parser)
    recordings.add_reading_options(parser)
    matrices = parser.add_argument_group("reading matrices")
    matrices.add_argument("--order", help="order of distinct entries: upper, lower, diagonal, fsl, nifti, dipy, mrtrix")
    matrices.add_argument("--mask", metavar="FILE", type=Path, help="NIfTI image of the voxels to read")


def _run_apply(args: argparse.Namespace, console: Console) -> bool:
    """Apply a model to new data; return True."""
    from homothety.cli import results
    from homothety.persistence import load
    from homothety.summaries.result import Segmentation

    folder = check_folder(args.output)
    path = args.model / results.MODEL if args.model.is_dir() else args.model
    model = load(path)
    if not hasattr(model, "apply"):
        raise InputError(f"{path} holds a {type(model).__name__}, needed a segmenter or an SPCMMixture.")
    segments = isinstance(model.result_, Segmentation)
    data: Any = _read_recordings(args, console, model) if segments else _read_matrices(args, console)
    result = model.apply(data if segments else data.matrices)
    result = replace(result, provenance=replace(result.provenance, source=recordings.title(args.files)))
    results.show(console, results.write(result, data, folder), folder)
    return True


def _read_recordings(args: argparse.Namespace, console: Console, model: Any) -> Any:
    for name in _OF_MATRICES:
        if getattr(args, name) is not None:
            raise InputError(f"--{name} means nothing for a model of recordings. Leave it out.")
    return recordings.read(args, console, getattr(model, "blocks", "auto"))


def _read_matrices(args: argparse.Namespace, console: Console) -> Any:
    from homothety.datasets import read_matrices

    if len(args.files) > 1:
        raise InputError(f"A model of matrices reads a single file, but there are {len(args.files)}. Name one.")
    console.say(f"Reading {args.files[0]}")
    return read_matrices(args.files[0], variable=args.variable, order=args.order, mask=args.mask)


# homothety resume

_RESUME_HELP = "go on with a run that was interrupted or killed"
_RESUME_DESCRIPTION = """\
Go on with a run of homothety segment or homothety cluster that was interrupted or killed, from what is in its folder:
the command as it was given, and the chains. It ends with the same results as a run that was never stopped. Data that
have changed in the meantime are refused.
"""
_RESUME_EPILOG = """\
examples:
  homothety resume homothety-output                 go on to the end
  homothety resume grating --sweeps 1000            let chains that do not agree yet run longer

A kill loses at most half a minute of sampling, and Ctrl-C nothing. With --sweeps, the first sweeps that are thrown
away stay those of the command, or are half of the new number if the command had no --sweeps. A run that has come to its
end is left as it is. It goes on here, also if it began on a cluster, unless --cluster says where.
Exit status: 0; 2 for a folder without a run, or other data; 130 after Ctrl-C, from where it can be resumed again.
"""


def add_resume(commands: Any) -> None:
    """Add this command to the parser of all commands."""
    parser = add_command(
        commands, "resume", _run_resume, help=_RESUME_HELP, description=_RESUME_DESCRIPTION, epilog=_RESUME_EPILOG
    )
    parser.add_argument("folder", metavar="DIR", type=Path, help="folder of the results (-o of the command)")
    parser.add_argument("--sweeps", metavar="N", type=at_least(1), help="sweeps per chain, if they are to be more")
    add_cluster_option(parser)
    add_output_options(parser)
    add_memory_option(parser)


def _run_resume(args: argparse.Namespace, console: Console) -> bool:
    """Resume a run; return whether it was completed."""
    from homothety.cli import runs

    record, folder = _lengthened(runs.read(args.folder), args.sweeps, args.folder), args.folder.absolute()
    if record.finished:
        n_made = _sweeps_of(record)
        text = f"{args.folder} is finished: all {n_made} sweeps of each chain. For more, add --sweeps."
        console.show(text, {"output": str(folder), "finished": True, "sweeps": n_made})
        return True
    asked = _parse(args.program, record)
    asked.output, asked.quiet, asked.json, asked.resumed = folder, args.quiet, args.json, record
    args.parser = asked.parser  # errors speak of its options
    console.say(f"Going on with: homothety {shlex.join(record.command)}")
    with chdir(record.given_in if Path(record.given_in).is_dir() else "."):
        finished: bool = asked.run(asked, console)
    return finished


def _lengthened(record: Record, n_sweeps: int | None, folder: Path) -> Record:
    """Return the record of a run with as many sweeps as asked for, or raise if it has more already."""
    n_made = _sweeps_of(record)
    if n_sweeps is None or n_sweeps == n_made:
        return record
    if n_sweeps < n_made:
        raise InputError(
            f"--sweeps is {n_sweeps}, but {folder} is a run of {n_made}: needed more. Leave it out to go on."
        )
    return replace(record, n_sweeps=n_sweeps, finished=False)


def _sweeps_of(record: Record) -> int:
    """Return how many sweeps of each chain a run has; 0 if that depends on chains that are not finished."""
    return record.n_made if record.n_sweeps == "auto" else record.n_sweeps


def _parse(program: argparse.ArgumentParser, record: Record) -> argparse.Namespace:
    """Return the arguments of the command that began a run."""
    asked = program.parse_args(record.command)
    asked.words = record.command
    return asked


# homothety report

_REPORT_HELP = "draw the page about a finished run again"
_REPORT_DESCRIPTION = """\
Draw the page about a finished run again, from what homothety segment or cluster has written to a folder. The page is
one HTML file: it opens in any browser, needs no network, and can be copied and sent as it is.
"""
_REPORT_EPILOG = """\
examples:
  homothety report homothety-output                  writes homothety-output/report.html
  homothety report grating --names reach,grate,return    names of actions, kept in the folder
  homothety report grating -o grating-for-mary.html
  homothety report grating --json | jq '.answers[0]'
"""


def add_report(commands: Any) -> None:
    """Add this command to the parser of all commands."""
    parser = add_command(
        commands, "report", _run_report, help=_REPORT_HELP, description=_REPORT_DESCRIPTION, epilog=_REPORT_EPILOG
    )
    parser.add_argument("folder", metavar="DIR", type=Path, help="folder that a run has written to")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help=f"page to write (default: DIR/{REPORT})")
    parser.add_argument("--names", metavar="A,B,...", help="names of the actions, in the order of their numbers; kept")
    parser.add_argument("--quiet", action="store_true", help="print errors only")
    parser.add_argument("--json", action="store_true", help="print the answers as JSON, and nothing else, on stdout")
    add_memory_option(parser)


def _run_report(args: argparse.Namespace, console: Console) -> bool:
    """Write the report; return True."""
    from homothety.cli.results import read, rename
    from homothety.report import write_report

    console.say(f"Reading {args.folder}")
    path = args.output or args.folder / REPORT
    if args.output is not None and not path.absolute().parent.is_dir():
        raise InputError(
            f"{path} cannot be written: there is no folder {path.parent}. Make it, or name another with -o."
        )
    result, data = read(args.folder) if args.names is None else rename(args.folder, args.names.split(","))
    document = write_report(result, path, data=data)
    answers = [{"question": one.question, "answer": f"{one.short} {one.text}".strip()} for one in document.answers]
    text = "\n\n".join(f"{one['question']}\n{one['answer']}" for one in answers)
    console.show(f"{text}\n\nWritten to {path}.", {"title": document.title, "answers": answers, "output": str(path)})
    return True
