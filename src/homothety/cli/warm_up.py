"""`homothety warm-up`: compiles what the first run would have to wait for."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any

from homothety.cli.options import add_command, add_output_options

if TYPE_CHECKING:
    import argparse

    from homothety.cli.console import Console

DESCRIPTION = """\
Compile the loops that `homothety segment` and `homothety cluster` use by default, by a short run of both on made-up
data. They are kept on disk, where every later run finds them: for use while installing, or in a container. Takes two to
three minutes, and a few seconds when all is compiled. Other models, such as --model icsc, compile what they need on top
when they are first used.
"""
EPILOG = """\
examples:
  homothety warm-up
  NUMBA_CACHE_DIR=/opt/cache homothety warm-up      to keep the compiled loops in a folder of your choice
"""


def add_parser(commands: Any) -> None:
    """Add this command to the parser of all commands."""
    parser = add_command(
        commands,
        "warm-up",
        run,
        help="compile now what the first run would wait for",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    add_output_options(parser)


def run(args: argparse.Namespace, console: Console) -> bool:  # noqa: ARG001
    """Segment and cluster made-up data, and throw the results away; return that it came to its end."""
    import numpy as np

    from homothety.cli import results
    from homothety.cli.console import Console
    from homothety.cli.fitting import fit
    from homothety.datasets import make_demonstrations, make_dti
    from homothety.estimators.action_hmm import ActionHMM
    from homothety.estimators.spcm import SPCMMixture
    from homothety.models.hmm.messages import mend_short_stays

    started, quiet = perf_counter(), Console(quiet=True)
    recordings, tensors = make_demonstrations(0, n_per_frame=1), make_dti((6, 6), random_state=0)
    actions, clusters = ActionHMM(random_state=0, n_chains=2, n_sweeps=10), SPCMMixture(random_state=0, n_sweeps=20)
    with TemporaryDirectory() as folder:
        fit(actions, recordings, quiet, size="", source="made-up recordings")
        results.write(actions, recordings, Path(folder) / "actions")
        fit(clusters, tensors.matrices, quiet, size="", source="made-up tensors")
        results.write(clusters, tensors, Path(folder) / "clusters")
    mend_short_stays(np.array([0, 0, 1, 0, 0]), np.array([0, 5]), 2)  # only some data have such stays
    seconds = perf_counter() - started
    console.show(f"Ready after {seconds:.0f} s.", {"seconds": seconds})
    return True
