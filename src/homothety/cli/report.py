"""`homothety report`: the page about a run that is finished, drawn again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from homothety.cli.files import REPORT
from homothety.cli.options import add_command, add_memory_option
from homothety.errors import InputError

if TYPE_CHECKING:
    import argparse

    from homothety.cli.console import Console

DESCRIPTION = """\
Draw the page about a finished run again, from what homothety segment or cluster has written to a folder. The page is
one HTML file: it opens in any browser, needs no network, and can be copied and sent as it is.
"""
EPILOG = """\
examples:
  homothety report homothety-output                  writes homothety-output/report.html
  homothety report grating --names reach,grate,return    names of actions, kept in the folder
  homothety report grating -o grating-for-mary.html
  homothety report grating --json | jq '.answers[0]'
"""


def add_parser(commands: Any) -> None:
    """Add this command to the parser of all commands."""
    parser = add_command(
        commands, "report", run, help="draw the page about a finished run again", description=DESCRIPTION, epilog=EPILOG
    )
    parser.add_argument("folder", metavar="DIR", type=Path, help="folder that a run has written to")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help=f"page to write (default: DIR/{REPORT})")
    parser.add_argument("--names", metavar="A,B,...", help="names of the actions, in the order of their numbers; kept")
    parser.add_argument("--quiet", action="store_true", help="print errors only")
    parser.add_argument("--json", action="store_true", help="print the answers as JSON, and nothing else, on stdout")
    add_memory_option(parser)


def run(args: argparse.Namespace, console: Console) -> bool:
    """Write the page; return that it came to its end."""
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
