"""`homothety resume`: go on with a run that was interrupted or killed, or make one longer."""

from __future__ import annotations

import shlex
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from homothety.cli.options import add_cluster_option, add_command, add_memory_option, add_output_options, at_least
from homothety.errors import InputError

if TYPE_CHECKING:
    import argparse

    from homothety.cli.console import Console
    from homothety.cli.runs import Record

DESCRIPTION = """\
Go on with a run of homothety segment or homothety cluster that was interrupted or killed, from what is in its folder:
the command as it was given, and the chains. It ends with the same results as a run that was never stopped. Data that
have changed in the meantime are refused.
"""
EPILOG = """\
examples:
  homothety resume homothety-output                 go on to the end
  homothety resume grating --sweeps 1000            let chains that do not agree yet run longer

A kill loses at most half a minute of sampling, and Ctrl-C nothing. With --sweeps, the first sweeps that are thrown
away stay those of the command, or are half of the new number if the command had no --sweeps. A run that has come to its
end is left as it is. It goes on here, also if it began on a cluster, unless --cluster says where.
Exit status: 0; 2 for a folder without a run, or other data; 130 after Ctrl-C, from where it can be resumed again.
"""


def add_parser(commands: Any) -> None:
    """Add this command to the parser of all commands."""
    parser = add_command(
        commands,
        "resume",
        run,
        help="go on with a run that was interrupted or killed",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    parser.add_argument("folder", metavar="DIR", type=Path, help="folder of the results (-o of the command)")
    parser.add_argument("--sweeps", metavar="N", type=at_least(1), help="sweeps per chain, if they are to be more")
    add_cluster_option(parser)
    add_output_options(parser)
    add_memory_option(parser)


def run(args: argparse.Namespace, console: Console) -> bool:
    """Go on with a run; return whether it came to its end."""
    from homothety.cli import runs

    record, folder = lengthened(runs.read(args.folder), args.sweeps, args.folder), args.folder.absolute()
    if record.finished:
        n_made = sweeps_of(record)
        text = f"{args.folder} is finished: all {n_made} sweeps of each chain. For more, add --sweeps."
        console.show(text, {"output": str(folder), "finished": True, "sweeps": n_made})
        return True
    asked = parse(args.program, record)
    asked.output, asked.quiet, asked.json, asked.resumed = folder, args.quiet, args.json, record
    args.parser = asked.parser  # errors speak of its options
    console.say(f"Going on with: homothety {shlex.join(record.command)}")
    with chdir(record.given_in if Path(record.given_in).is_dir() else "."):
        finished: bool = asked.run(asked, console)
    return finished


def lengthened(record: Record, n_sweeps: int | None, folder: Path) -> Record:
    """Return the record of a run with as many sweeps as asked for, or raise if it has more already."""
    n_made = sweeps_of(record)
    if n_sweeps is None or n_sweeps == n_made:
        return record
    if n_sweeps < n_made:
        raise InputError(
            f"--sweeps is {n_sweeps}, but {folder} is a run of {n_made}: needed more. Leave it out to go on."
        )
    return replace(record, n_sweeps=n_sweeps, finished=False)


def sweeps_of(record: Record) -> int:
    """Return how many sweeps of each chain a run has; 0 if that depends on chains that are not finished."""
    return record.n_made if record.n_sweeps == "auto" else record.n_sweeps


def parse(program: argparse.ArgumentParser, record: Record) -> argparse.Namespace:
    """Return the arguments of the command that began a run."""
    asked = program.parse_args(record.command)
    asked.words = record.command
    return asked
