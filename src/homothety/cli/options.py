"""Arguments that all commands share, types of arguments, and checks of the results folder."""

from __future__ import annotations

import os
import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, TypeAlias

from homothety.errors import InputError

if TYPE_CHECKING:
    from homothety.cli.console import Console

REPORT = "report.html"  # in the folder of a run

# From the arguments to whether the command came to its end.
_Command: TypeAlias = Callable[[Namespace, "Console"], bool]


# Options that are called otherwise than the parameters they set.
_CALLED = {"groups": "--scale-together", "labels": "--truth", "positions": "--spatial"}


def in_options(text: str, message: object, parser: ArgumentParser) -> str:
    """Return the text of an error or a warning with the options of a command in the place of parameters.

    Parameters
    ----------
    text : str
        What is said of the message.
    message : Exception
        Errors and warnings of the library know which parameters they name.
    parser : ArgumentParser
        Of the command: a parameter it has no option for stays as it is.

    Examples
    --------
    >>> parser = ArgumentParser()
    >>> _ = parser.add_argument("--jobs")
    >>> error = InputError("n_jobs is 0, needed 1 or more.", "n_jobs")
    >>> in_options(str(error), error, parser)
    '--jobs is 0, needed 1 or more.'
    """
    for name in getattr(message, "parameters", ()):
        place = rf"\b{name}\b" if "_" in name else rf"(?:^|(?<=: )){name}\b|\b{name}(?==)"
        if option := _option(name, parser):
            text = re.sub(rf"\b{name}='([^']*)'", rf"{option} \1", text)
            text = re.sub(rf"({place})(=(?!['\w]))?", option, text)
    item = getattr(message, "item", None)
    return text.replace(f"X[{item}]", f"matrix {item}, counted from 0,")


def _option(name: str, parser: ArgumentParser) -> str | None:
    """Return the option that sets a parameter, if the command has one."""
    dashed = name.replace("_", "-")
    known = (_CALLED.get(name, ""), f"--{dashed}", f"--{dashed.removeprefix('n-')}")
    return next((option for option in known if option in parser._option_string_actions), None)


def add_command(commands: Any, name: str, run: _Command, *, help: str, description: str, epilog: str) -> ArgumentParser:
    """Add a command whose function is `run`, and return its parser."""
    parser: ArgumentParser = commands.add_parser(
        name, help=help, description=description, epilog=epilog, formatter_class=RawDescriptionHelpFormatter
    )
    parser.set_defaults(run=run, parser=parser)
    return parser


def add_shared_options(parser: ArgumentParser, *, output: str) -> None:
    """Add the options of commands that fit models; `output` is the default folder of results."""
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        type=Path,
        default=Path(output),
        help=f"folder for the results (default: {output})",
    )
    parser.add_argument("--seed", metavar="N", type=at_least(0), default=0, help="seed of all randomness (default: 0)")
    add_output_options(parser)
    add_memory_option(parser)
    parser.add_argument("--figures", action="store_true", help="draw figures as PNG files too (needs matplotlib)")


def check_figures(args: Namespace) -> None:
    """Raise before the fit if figures are asked for but matplotlib is not installed."""
    if args.figures:
        from homothety.datasets.readers.checks import require

        require("matplotlib", "plot", "--figures")


def add_output_options(parser: ArgumentParser) -> None:
    """Add the options of printed output."""
    parser.add_argument("--quiet", action="store_true", help="print errors only")
    parser.add_argument("--json", action="store_true", help="print the result as JSON, and nothing else, on stdout")


def add_memory_option(parser: ArgumentParser) -> None:
    """Add the option that limits the memory of files."""
    parser.add_argument(
        "--max-memory",
        metavar="SIZE",
        type=size,
        help="memory that reading a file may take, such as 500M or 8G (default: 100 times its size, at least 1G)",
    )


def add_cluster_option(parser: ArgumentParser) -> None:
    """Add the option of a cluster."""
    parser.add_argument(
        "--cluster", metavar="ADDRESS", help="dask scheduler whose workers do the work, such as tcp://host:8786"
    )


def check_folder(folder: Path) -> Path:
    """Return a folder after writing a test file to it, or raise, so that errors occur before the fit.

    The file, and folders that were made for it, are removed again: a run that fails later leaves nothing behind.
    """
    if os.path.isfile(folder):
        raise InputError(f"{folder} is a file, needed a folder for the results. Name another one with -o.")
    # Not by Path.exists, which raises where it may not look.
    missing = [one for one in (folder, *folder.parents) if not os.path.exists(one)]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder, prefix=".part-"):
            pass
    except OSError as error:
        reason = f"{folder} cannot be written to ({error.strerror}), needed a folder for the results."
        raise InputError(f"{reason} Name another one with -o.") from error
    finally:
        for one in missing:
            with suppress(OSError):
                one.rmdir()
    return folder


@contextmanager
def on_cluster(address: str | None, console: Console) -> Iterator[None]:
    """Run fits on the cluster at an address, if one is given."""
    if address is None:
        yield
        return
    from homothety.workers import use_cluster

    with use_cluster(address) as client:
        threads = client.nthreads()
        found = f"{len(threads)} workers with {sum(threads.values())} threads" if threads else "no worker yet, waiting"
        console.say(f"Cluster at {address}: {found}")
        yield


def at_least(least: int) -> Callable[[str], int]:
    """Return a type of argument: whole numbers from `least` on."""

    def whole_number(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise ArgumentTypeError(f"{text!r} is not a whole number of at least {least}")
        return number

    return whole_number


def size(text: str) -> int:
    """Return a size in bytes."""
    from homothety.archives import bytes_of  # here, because it imports NumPy, which --help does without

    try:
        return bytes_of(text)
    except InputError:
        raise ArgumentTypeError(f"{text!r} is not a size such as 500M or 8G") from None


@contextmanager
def limited_memory(n_bytes: int | None) -> Iterator[None]:
    """Limit the memory of files that are read, if a limit is given."""
    if n_bytes is None:
        yield
        return
    from homothety.archives import memory_limit

    with memory_limit(n_bytes):
        yield


def sweeps(text: str) -> int | str:
    """Return a whole number of sweeps from 1 on, or auto."""
    try:
        return text if text == "auto" else at_least(1)(text)
    except ArgumentTypeError:
        raise ArgumentTypeError(f"{text!r} is neither a whole number of at least 1 nor auto") from None


def steps_or_time(text: str) -> int | str:
    """Return a number of steps (at least 1), or the text of a time with its unit."""
    from homothety.times import is_duration

    if is_duration(text):
        return text
    try:
        return at_least(1)(text)
    except ArgumentTypeError:
        raise ArgumentTypeError(f"{text!r} is neither a whole number of steps nor a time such as 0.5s") from None


def words(text: str) -> list[str]:
    """Return words with commas between them."""
    return [part.strip() for part in text.split(",")]


def number_or_auto(text: str) -> float | str:
    """Return a number, or auto."""
    try:
        return text if text == "auto" else float(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is neither a number nor auto") from None


def number_or_name(text: str) -> int | str:
    """Return a whole number as such, anything else as a name."""
    return int(text) if text.removeprefix("-").isdecimal() else text


def column(text: str) -> int | str:
    """Return a column by its number from 0, or by its name."""
    return number_or_name(text.strip())


def columns(text: str) -> list[int | str]:
    """Return columns given by numbers or names with commas between them."""
    if not all(part.strip() for part in text.split(",")):
        raise ArgumentTypeError(f"{text!r} is not a list of columns, such as x,y,z or 0,1,2")
    return [column(part) for part in text.split(",")]
