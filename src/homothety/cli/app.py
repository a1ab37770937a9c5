"""The program: its parser, exit statuses and error messages."""

from __future__ import annotations

import os
import sys
import warnings
from argparse import Action, ArgumentParser, Namespace, RawDescriptionHelpFormatter, _SubParsersAction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from homothety._version import __version__
from homothety.cli import check, cluster, compare, demo, finished, segment
from homothety.cli.console import Console
from homothety.cli.options import add_command, in_options, limited_memory, on_cluster
from homothety.errors import HomothetyWarning, InputError
from homothety.files import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_BAD_INPUT, _INTERRUPTED, _NOBODY_READS = 2, 130, 141

_DESCRIPTION = """\
Cluster covariance matrices by shape, whatever their rotation and scale, and segment series into states and actions they
share, without saying how many clusters, states or actions there are.
"""
_EPILOG = """\
examples:
  homothety demo                       see what it does, on embedded data
  homothety check demos/*.csv          look for faults in recordings
  homothety cluster tensors.npz        cluster the matrices in a file
  homothety segment demos/*.csv        segment the recordings in files
  homothety apply homothety-output new.csv    find the same actions in new recordings
  homothety resume homothety-output    go on with a run that was interrupted or killed
  homothety report homothety-output    draw the page about a finished run again
  homothety compare demos.npz          several methods side by side, against known labels
  homothety warm-up                    compile now what the first run would wait for

'homothety COMMAND --help' explains each command.
"""


_COMPLETION_DESCRIPTION = """\
Print a script that lets a shell complete commands, options and their values when the tab key is pressed.
"""
_COMPLETION_EPILOG = """\
examples:
  eval "$(homothety completion bash)"                                      in ~/.bashrc
  homothety completion zsh > ~/.zfunc/_homothety                           once, to a folder of $fpath
  homothety completion fish > ~/.config/fish/completions/homothety.fish    once
"""
SHELLS = ("bash", "zsh", "fish", "tcsh", "powershell")


class _Parser(ArgumentParser):
    """A parser that answers wrong arguments with one line, as all else that is wrong is answered."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and end the program."""
        text = message.removeprefix("argument ")
        self.exit(_BAD_INPUT, printable(f"homothety: {text[0].upper()}{text[1:]}. See {self.prog} --help.") + "\n")


def build_parser() -> ArgumentParser:
    """Return the parser of all commands."""
    parser = _Parser(
        prog="homothety", description=_DESCRIPTION, epilog=_EPILOG, formatter_class=RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"homothety {__version__}")
    parser.set_defaults(program=parser)  # for commands that need the parser of all: this module imports them
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for add_parser in (
        demo.add_parser,
        check.add_parser,
        cluster.add_parser,
        segment.add_parser,
        finished.add_apply,
        finished.add_resume,
        finished.add_report,
        compare.add_parser,
        demo.add_warm_up,
        _add_completion,
    ):
        add_parser(commands)
    return parser


def _add_completion(commands: Any) -> None:
    """Add the command that prints a script for a shell, by which it completes all others."""
    parser = add_command(
        commands,
        "completion",
        _run_completion,
        help="let the shell complete commands and options",
        description=_COMPLETION_DESCRIPTION,
        epilog=_COMPLETION_EPILOG,
    )
    parser.add_argument("shell", choices=SHELLS, help="shell to print the script of")
    parser.set_defaults(quiet=False, json=False)


def _run_completion(args: Namespace, console: Console) -> bool:
    """Print the script of a shell; return that it came to its end."""
    import shtab

    for action in arguments_of(args.program):
        if action.type is Path:
            action.complete = shtab.FILE  # type: ignore[attr-defined]  # where shtab looks for it
    script = shtab.complete(args.program, args.shell)
    console.show(script, script)
    return True


def arguments_of(parser: ArgumentParser) -> Iterator[Action]:
    """Yield the options and arguments of a program and of its commands."""
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            for command in action.choices.values():
                yield from arguments_of(command)
        else:
            yield action


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status.

    It is 0, 1 where `check` finds something, 2 for bad input, 130 after an interrupt, 141 if nobody reads.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments; those of the process by default. Wrong ones end it with status 2, as argparse does.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    args, unknown = build_parser().parse_known_args(words)
    if unknown:
        args.parser.error(f"unknown arguments: {' '.join(unknown)}")
    args.words = words
    console = Console(quiet=args.quiet, as_json=args.json)
    with warnings.catch_warnings():
        warnings.simplefilter("always", HomothetyWarning)
        warnings.showwarning = lambda message, *_, **__: console.warn(in_options(str(message), message, args.parser))
        try:
            memory = limited_memory(getattr(args, "max_memory", None))
            with memory, on_cluster(getattr(args, "cluster", None), console), console.announcing_compilation():
                finished: bool = args.run(args, console)
            sys.stdout.flush()
        except BrokenPipeError:  # whoever reads the output has had enough of it, such as head
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at the very end
            return _NOBODY_READS
        except KeyboardInterrupt as interrupt:
            console.fail(str(interrupt) or "Interrupted: nothing had been computed that could be saved.")
            return _INTERRUPTED
        except (ValueError, ImportError, OSError, MemoryError) as error:
            if not _is_expected(error):
                raise
            console.fail(in_options(explain(error), error, args.parser))
            return _BAD_INPUT
    return 0 if finished else getattr(args, "otherwise", _INTERRUPTED)


def _is_expected(error: Exception) -> bool:
    """Say whether data or the machine brought an error about; any other is a fault of the program, to be traced."""
    return not isinstance(error, ValueError) or isinstance(error, InputError) or _is_breakdown(error)


def _is_breakdown(error: Exception) -> bool:
    """Say whether a matrix could not be decomposed."""
    from numpy.linalg import LinAlgError  # here, because it would make --help slow

    return isinstance(error, LinAlgError)


def explain(error: Exception) -> str:
    """Return one line that says what is wrong and, where that is known, what to do."""
    if _is_breakdown(error):
        text = (
            f"The computation broke down ({error}): the data are degenerate, or nearly so. Leave out columns or "
            "matrices that follow from others, or bring all to one size first."
        )
    elif isinstance(error, MemoryError):
        text = (
            f"Not enough memory: {error or 'too many data'}. Give fewer matrices, of which all pairs are kept, or "
            "recordings of fewer steps, and ask for fewer states and chains."
        )
    elif isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    else:
        text = str(error)
    return " ".join(text.split())
