"""Compute the paper's tables and figures again, and set them beside what the paper printed.

  2                         similarity functions with affinity propagation and spectral clustering
  3                         Gaussian mixture, CRP mixture and SPCM-CRP mixture
  4                         segmentation by hidden Markov models, with and without actions
  convergence               log posterior, F and time of every sweep of 20 chains
  segmentation-convergence  log joint, states, actions, F and time of every sweep of 20 chains
  sensitivity               F and log posterior over a grid of tolerance and concentration

Without a name all are computed, which takes many hours. Each is printed as soon as it is finished. If it was computed
in full, without any of the options below but --data, it is also put into paper/results.md. Toy data are generated
where their files are missing; other sets are then left out. `python -m paper.authors` makes most of them from clones of
the authors' repositories.

Sets of matrices: toy-3d, toy-6d, toy-6d-scaled, task, dti, rat, eth80, eth80-images, eth80-images-lerm; of series, as
the paper's table used them: toy-2d, toy-2d-published, grating, rolling, peeling, and in full: grating-7d, grating-full,
rolling-full, peeling-full. Not all in every table.
Results on the rat hippocampus may not be published without permission: its terms are beside the data. They are printed,
but not put into the page.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from homothety.errors import InputError
from paper.page import TABLES, markdown_of, write_part
from paper.sets import choose_sets

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    from paper.plan import Key, Task

PAGE = Path(__file__).resolve().parent / "results.md"


def main(argv: Sequence[str] | None = None) -> None:
    """Compute, print and write the tables that are asked for."""
    parser = build_parser()
    args = parser.parse_args(argv)
    is_full = not (args.quick or args.sets or effort_of(args))
    page = args.output or (PAGE if is_full else None)
    try:
        args.data = data_folder(args.data)
        if page is not None:
            page.parent.mkdir(parents=True, exist_ok=True)  # better an error now than after the work
        for name in args.tables:
            reproduce(TABLES[name], args, page)
    except InputError as error:
        parser.error(str(error))


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the arguments."""
    parser = argparse.ArgumentParser(
        prog="python -m paper", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables", nargs="*", metavar="TABLE", choices=TABLES, default=[*TABLES], help="see above")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="page to put the tables into")
    parser.add_argument("--data", metavar="DIR", type=Path, help="folder of the data ($HOMOTHETY_DATA, or ./data)")
    parser.add_argument("--sets", metavar="NAMES", help="which data sets, separated by commas; all if not given")
    parser.add_argument("--runs", metavar="N", type=int, help="runs of every method, or chains")
    parser.add_argument("--sweeps", metavar="N", type=int, help="sweeps of every chain")
    parser.add_argument("--grid", metavar="N", type=int, help="settings per axis of the sensitivity grid")
    parser.add_argument("--seed", metavar="N", type=int, help="seed of the first run (0)")
    parser.add_argument("--quick", action="store_true", help="as little as possible: the numbers mean nothing")
    return parser


def effort_of(args: argparse.Namespace) -> dict[str, int]:
    """Return what was asked for instead of the usual effort."""
    asked = {name: getattr(args, name) for name in ("runs", "sweeps", "grid", "seed")}
    return {name: value for name, value in asked.items() if value is not None}


def data_folder(given: Path | None) -> Path:
    """Return the folder of the data: as given, as the environment says, or ./data, which need not exist."""
    named = given or os.environ.get("HOMOTHETY_DATA")
    folder = Path(named or "data")
    if named and not folder.is_dir():
        raise InputError(f"{folder} is not a folder. Give the one with the paper's data with --data.")
    return folder


def reproduce(table: ModuleType, args: argparse.Namespace, page: Path | None) -> None:
    """Compute a table or figure, print it, and put it into the page if there is one."""
    sets, notes = table.LOAD(choose_sets(args.sets, table.SETS), args.data)
    if not sets:
        raise InputError(
            f"None of the data sets is in {args.data}. Name their folder with --data, or make them with 'python -m "
            "paper.authors'."
        )
    effort = replace(table.QUICK if args.quick else table.FULL, **effort_of(args))
    report = table.report(sets, effort, run_tasks(table.tasks(sets, effort)))
    print(f"# {table.TITLE}\n\n{markdown_of(notes, report)}\n", flush=True)
    if page is not None:
        write_part(page, table.TITLE, notes, report)


def run_tasks(tasks: list[Task]) -> dict[Key, list[Any]]:
    """Run tasks one by one, saying which, and return their results by key."""
    outcomes: dict[Key, list[Any]] = {}
    # Most problems are so small that threads of BLAS and OpenMP would spend their time waiting for each other.
    with threadpool_limits(1):
        for number, task in enumerate(tasks, 1):
            print(f"[{number}/{len(tasks)}] {task.name}", file=sys.stderr, flush=True)
            outcomes.setdefault(task.key, []).append(task.run())
    return outcomes


if __name__ == "__main__":
    main()
