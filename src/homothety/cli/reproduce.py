"""`homothety reproduce`: the paper's tables and figures, beside the paper's numbers."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from homothety.cli.files import check_folder, make_folder, write_figures
from homothety.cli.options import add_cluster_option, add_command, add_shared_options, at_least
from homothety.errors import InputError
from homothety.files import write_text

if TYPE_CHECKING:
    import argparse

    from homothety.cli.console import Console
    from homothety.reproduce.plan import Effort, Plan, Report

MODULES = {
    "2": "homothety.reproduce.table2",
    "3": "homothety.reproduce.table3",
    "4": "homothety.reproduce.table4",
    "convergence": "homothety.reproduce.convergence",
    "segmentation-convergence": "homothety.reproduce.segmentation_convergence",
    "sensitivity": "homothety.reproduce.sensitivity",
}
DESCRIPTION = """\
Compute one of the paper's tables or figures again and set it beside what the paper printed, as Markdown and PNG:

  2                         similarity functions with affinity propagation and spectral clustering
  3                         Gaussian mixture, CRP mixture and SPCM-CRP mixture
  4                         segmentation by hidden Markov models, with and without actions
  convergence               log posterior, F and time of every sweep of 20 chains
  segmentation-convergence  log joint, states, actions, F and time of every sweep of 20 chains
  sensitivity               F and log posterior over a grid of tolerance and concentration

Toy data are generated where their files are missing; other sets are then left out. 'homothety import-authors' makes
most of them from clones of the authors' repositories.
"""
EPILOG = """\
examples:
  homothety reproduce 3 --data data                    everything, ten runs each
  homothety reproduce 3 --sets toy-6d,task --runs 3    part of it
  homothety reproduce 4 --sets toy-2d,grating          series take longer than matrices
  homothety reproduce sensitivity --grid 8             a coarse grid
  homothety reproduce sensitivity --cluster tcp://head:8786    all 400 settings, on the workers of a dask cluster
  homothety reproduce 2 --quick                        does it work at all?

Sets of matrices: toy-3d, toy-6d, toy-6d-scaled, task, dti, rat, eth80, eth80-images, eth80-images-lerm; of series, as
the paper's table used them: toy-2d, toy-2d-published, grating, rolling, peeling, and in full: grating-7d, grating-full,
rolling-full, peeling-full. Not all in every table.
Results on the rat hippocampus may not be published without permission: its terms are beside the data.
Exit status: 0; 2 for input that cannot be used; 130 after Ctrl-C, with a report of everything finished until then.
"""
OUTPUT = "homothety-output/reproduce-{name}"


def add_parser(commands: Any) -> None:
    """Add this command to the parser of all commands."""
    parser = add_command(
        commands,
        "reproduce",
        run,
        help="the paper's tables and figures beside the paper's numbers",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    parser.add_argument("what", metavar="TABLE", choices=MODULES, help="table or figure, see above")
    add_shared_options(parser, output=OUTPUT.format(name="..."))
    add_cluster_option(parser)
    parser.add_argument(
        "--data", metavar="DIR", type=Path, help="folder of the paper's data; $HOMOTHETY_DATA, or ./data, if not given"
    )
    parser.add_argument("--sets", metavar="NAMES", help="which data sets, separated by commas; all if not given")
    parser.add_argument("--runs", metavar="N", type=at_least(1), help="runs of every method, or chains")
    parser.add_argument("--sweeps", metavar="N", type=at_least(1), help="sweeps of every chain")
    parser.add_argument("--grid", metavar="N", type=at_least(2), help="settings per axis of the sensitivity grid")
    parser.add_argument("--quick", action="store_true", help="as little as possible: the numbers mean nothing")


def run(args: argparse.Namespace, console: Console) -> bool:
    """Compute and write one reproduction; return whether it came to its end."""
    from homothety.cli.comparing import run_tasks
    from homothety.reproduce.sets import choose_sets

    folder = data_folder(args.data)
    module = import_module(MODULES[args.what])
    sets, notes = module.LOAD(choose_sets(args.sets, module.SETS), folder)
    for note in notes:
        console.say(note)
    if not sets:
        raise InputError(
            f"None of the data sets is in {folder}. Say where they are with --data, or make them with "
            "'homothety import-authors'."
        )
    plan = module.plan(sets, chosen_effort(args, module))
    output = check_folder(args.output or Path(OUTPUT.format(name=plan.name)))
    outcomes, finished = run_tasks(plan.tasks, console)
    if not finished:
        notes.append("Interrupted: only what was finished until then is here.")
    report = plan.report(outcomes)
    write_report(plan, report, notes, output, console)
    console.show(f"{report.markdown}\n\nWritten to {output}.", {"name": plan.name, "results": report.results})
    return finished


def data_folder(given: Path | None) -> Path:
    """Return the folder of the paper's data: as given, as the environment says, or ./data, which need not exist."""
    named = given or os.environ.get("HOMOTHETY_DATA")
    folder = Path(named or "data")
    if named and not folder.is_dir():
        raise InputError(f"{folder} is not a folder. Give the one with the paper's data with --data.")
    return folder


def chosen_effort(args: argparse.Namespace, module: Any) -> Effort:
    """Return the effort of a reproduction with whatever was asked for instead."""
    usual: Effort = module.QUICK if args.quick else module.FULL
    asked = {name: getattr(args, name) for name in ("runs", "sweeps", "grid") if getattr(args, name) is not None}
    return replace(usual, seed=args.seed, **asked)


def write_report(plan: Plan, report: Report, notes: list[str], folder: Path, console: Console) -> None:
    """Write the report as Markdown with its figures beside it."""
    make_folder(folder)
    figures = write_figures(folder, report.figures, console)
    images = [f"![{plan.title}]({name})" for name in figures]
    write_text(folder / f"{plan.name}.md", "\n\n".join([f"# {plan.title}", *notes, report.markdown, *images]) + "\n")
