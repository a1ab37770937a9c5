"""How large the library is, and how long the way from files to the report: ``python -m benchmarks.size``.

Lines of code are those of the package without docstrings, comments and blank lines. Public names are functions, classes
and constants at the top of modules that do not start with an underscore. The way is traced by a run of the command
``segment`` on small files: functions of the package that Python calls, compiled loops left out. Nothing is written.
"""

from __future__ import annotations

import ast
import io
import sys
import tempfile
import threading
import tokenize
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import homothety
from homothety.cli import main as run_command
from homothety.datasets import make_demonstrations

if TYPE_CHECKING:
    from types import FrameType

PACKAGE = Path(homothety.__file__).parent
LAYOUT = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def lines_of_code(source: str) -> int:
    """Return the number of lines with code.

    Examples
    --------
    >>> lines_of_code("# why" + chr(10) + "x = 1" + chr(10) + chr(10) + "'a text'" + chr(10))
    1
    """
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in LAYOUT:
            code.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            code.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(code)


def public_names(source: str) -> list[str]:
    """Return the public functions, classes and constants at the top of a module."""
    names = []
    for node in ast.parse(source).body:
        if isinstance(node, DOCUMENTED):
            names.append(getattr(node, "name", ""))
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names += [target.id for target in targets if isinstance(target, ast.Name)]
    return [name for name in names if not name.startswith("_")]


def traced(folder: Path) -> Counter[tuple[str, str]]:
    """Return how often each function of the package is called by a run of `segment`, by module and name."""
    made, calls = make_demonstrations(0, n_per_frame=1), Counter[tuple[str, str]]()
    files = []
    for i, steps in enumerate(made.sequences):
        files.append(str(folder / f"demo_{i}.csv"))
        np.savetxt(files[-1], steps[::4], delimiter=",", header="x,y,z", comments="")

    def count(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(PACKAGE) and not frame.f_code.co_name.startswith("<"):
            calls[str(path.relative_to(PACKAGE)), frame.f_code.co_qualname] += 1

    threading.setprofile(count)
    sys.setprofile(count)
    try:
        run_command(["segment", *files, "-o", str(folder / "out"), "--quiet", "--chains", "2", "--sweeps", "10"])
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return calls


def main() -> None:
    """Measure and print."""
    sources = [path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")]
    print(f"Lines of code: {sum(map(lines_of_code, sources))}")
    print(f"Modules: {len(sources)}")
    print(f"Public names: {sum(len(public_names(source)) for source in sources)}")
    with tempfile.TemporaryDirectory() as folder:
        calls = traced(Path(folder))
    after = [name for name in calls if name[0].startswith(("summaries/", "report/", "export/", "cli/"))]
    print(f"Functions from csv files to the report: {len(calls)} in {len({module for module, _ in calls})} modules")
    print(f"Of these, functions that read, summarise, tell and write: {len(after)}")
    for name in ("judge", "segments_table", "FrameTable.rows"):
        times = sum(number for (_, function), number in calls.items() if function == name)
        print(f"Calls of {name}: {times}")


if __name__ == "__main__":
    main()
