"""Messages of commands: results on stdout, everything else on stderr."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Any

from homothety.compilation import heard_by
from homothety.files import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from homothety.cli.comparing import Task

_COMPILING = "Compiling, first run only"
_N_KERNELS = 130  # that the default path of the command `segment` compiles; that of `cluster` a third as many
_BAR_FORMAT = "{percentage:3.0f}% |{bar}| {elapsed} gone, {remaining} left  {desc}"


class Console:
    """Output of a command: messages, progress and results.

    Parameters
    ----------
    quiet : bool
        Whether to say nothing but errors and, if asked for, JSON.
    as_json : bool
        Whether results are printed for scripts instead of for readers.
    """

    def __init__(self, *, quiet: bool = False, as_json: bool = False) -> None:
        self.quiet, self.as_json = quiet, as_json
        self._warned: set[str] = set()

    @property
    def live(self) -> bool:
        """Whether stderr is a terminal, so that a progress bar can be drawn."""
        return not self.quiet and sys.stderr.isatty()

    @property
    def shows_progress(self) -> bool:
        """Whether to show how far chains are, on stderr: as a bar on a terminal, in lines unless a script listens."""
        return self.live or not (self.quiet or self.as_json)

    def say(self, text: str) -> None:
        """Print a message about progress."""
        if not self.quiet:
            print(_shown(text), file=sys.stderr, flush=True)

    def fail(self, text: str) -> None:
        """Print why there is no result, or only a part of it."""
        print(_shown(f"homothety: {text}"), file=sys.stderr, flush=True)

    def show(self, text: str, data: Any) -> None:
        """Print a result: as JSON if asked for, otherwise as text."""
        if self.as_json:
            print(json.dumps(data, indent=2, allow_nan=False))
        elif not self.quiet:
            print(_shown(text))

    def warn(self, text: str) -> None:
        """Print a warning of the library, once."""
        if text not in self._warned:
            self._warned.add(text)
            self.say(f"Note: {text}")

    @contextmanager
    def announcing_compilation(self) -> Iterator[None]:
        """Print the progress of compilation while kernels are compiled, and its time in the end.

        On a terminal that is one line that changes, else one at the first kernel. Nothing is said where all are found
        compiled.
        """
        n_compiled, total = 0, 0.0

        def hear(seconds: float) -> None:
            nonlocal n_compiled, total
            n_compiled, total = n_compiled + 1, total + seconds
            if self.live:
                print(f"\r\033[K{_COMPILING}: {n_compiled} of about {_N_KERNELS}", end="", file=sys.stderr, flush=True)
            elif n_compiled == 1:
                self.say(f"{_COMPILING}, of about {_N_KERNELS} functions")

        with heard_by(hear):
            yield
        if n_compiled:
            print("\r\033[K", end="", file=sys.stderr) if self.live else None
            self.say(f"Compiled {n_compiled} functions in {total:.0f} s; the next run finds them ready")

    def track(self, tasks: Sequence[Task]) -> Iterator[Task]:
        """Yield tasks one by one, saying which is under way and how much time is left."""
        return self._track_live(tasks) if self.live else self._track_in_lines(tasks)

    def _track_live(self, tasks: Sequence[Task]) -> Iterator[Task]:
        from tqdm import tqdm

        with tqdm(total=len(tasks), bar_format=_BAR_FORMAT, leave=False) as bar:
            for task in tasks:
                bar.set_description_str(task.name)
                yield task
                bar.update()

    def _track_in_lines(self, tasks: Sequence[Task]) -> Iterator[Task]:
        started, name = perf_counter(), ""
        for number, task in enumerate(tasks):
            if task.name != name:
                name = task.name
                left = (perf_counter() - started) * (len(tasks) - number) / number if number else None
                self.say(f"[{number}/{len(tasks)}] {name}" + ("" if left is None else f", {_in_words(left)} left"))
            yield task


def _shown(text: str) -> str:
    """Return lines without control characters, which names of files and columns may contain."""
    return "\n".join(map(printable, text.split("\n")))


def _in_words(seconds: float) -> str:
    """Return a rough length of time.

    Examples
    --------
    >>> _in_words(4.2), _in_words(200)
    ('about 4 s', 'about 3 min')
    """
    return f"about {seconds:.0f} s" if seconds < 100 else f"about {seconds / 60:.0f} min"
