"""Commands on data the library makes itself: `homothety demo`, and `homothety warm-up`, which compiles."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any

from homothety.cli.options import (
    REPORT,
    add_command,
    add_output_options,
    add_shared_options,
    check_figures,
    check_folder,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from homothety.cli.console import Console
    from homothety.datasets import MatrixSet, SequenceSet
    from homothety.summaries.result import Partition, Segmentation

_HELP = "see what it does, on embedded data"
_DESCRIPTION = """\
Two made-up sets whose answer is known. A hand reaches out, strokes and returns, recorded in three frames of different
place, orientation and size: the frame of every recording is found, and the actions that the recordings have in common.
And a field of 400 diffusion tensors is clustered by shape. Takes about three minutes the first time, when most of it is
compilation. Writes tables and an interactive report; figures with --figures.
"""
_EPILOG = """\
examples:
  homothety demo                  results go to homothety-demo
  homothety demo --seed 1         other data, another run
"""
_OUTPUT = "homothety-demo"
_PER_FRAME = 3
FIELD = (20, 20)


def add_parser(commands: Any) -> None:
    """Add this command to the parser of all commands."""
    parser = add_command(commands, "demo", run, help=_HELP, description=_DESCRIPTION, epilog=_EPILOG)
    add_shared_options(parser, output=_OUTPUT)


def run(args: argparse.Namespace, console: Console) -> bool:
    """Segment the demonstrations and cluster the field; return whether both runs were completed."""
    from homothety.cli import results
    from homothety.report import render_text

    check_figures(args)
    folder, told, summaries = check_folder(args.output), [], {}
    parts: dict[str, tuple[Callable[..., Any], Callable[..., str]]] = {
        "demonstrations": (_segment_demonstrations, _tell_actions),
        "tensor-field": (_cluster_field, _tell_clusters),
    }
    for name, (fitted, tell) in parts.items():
        model, data = fitted(args.seed, console)
        written = results.write(model, data, folder / name, with_figures=args.figures)
        summaries[name] = written.summary
        told.append(f"{tell(model.result_, data)}\n\n{render_text(written.document)}")
        if model.result_.interrupted:
            break
    pages = " and ".join(str(folder / name / REPORT) for name in summaries)
    told.append(
        f"Open {pages} in a browser.\nYour own recordings: homothety segment FILES; "
        "your own matrices: homothety cluster FILE (see --help)."
    )
    console.show("\n\n".join(told), summaries)
    return not any(one["interrupted"] for one in summaries.values())


def _segment_demonstrations(seed: int, console: Console) -> tuple[Any, SequenceSet]:
    """Find the actions of demonstrations in several frames."""
    from homothety.cli.runs import fit
    from homothety.datasets import make_demonstrations
    from homothety.estimators.action_hmm import ActionHMM

    data, model = make_demonstrations(seed, n_per_frame=_PER_FRAME), ActionHMM(random_state=seed)
    fit(model, data, console, size=f"{len(data)} demonstrations", source="made-up demonstrations in three frames")
    return model, data


def _cluster_field(seed: int, console: Console) -> tuple[Any, MatrixSet]:
    """Cluster a field of tensors."""
    from homothety.cli.runs import fit
    from homothety.datasets import make_dti
    from homothety.estimators.spcm import SPCMMixture

    data, model = make_dti(FIELD, random_state=seed), SPCMMixture(random_state=seed)
    fit(model, data.matrices, console, size=f"{len(data)} tensors", source="a made-up field of tensors")
    return model, data


def _tell_actions(result: Segmentation, data: SequenceSet) -> str:
    """Return a description of the demonstrations and the actions found."""
    from homothety.metrics import hamming

    assert data.actions is not None
    right = 1 - hamming(data.actions, result.labels.paths)
    n_frames = 0 if result.frame_table is None else len(set(result.frame_table.labels.tolist()))
    return (
        f"A hand reaches out, strokes and returns: {len(data)} recordings in three places, orientations and sizes.\n"
        f"Not told that these are 3 actions in 3 frames, homothety found {result.labels.number} actions in {n_frames} "
        f"frames, in {result.provenance.seconds:.0f} s.\n{100 * right:.0f} % of the {data.n_steps} steps have the "
        "right action."
    )


def _tell_clusters(result: Partition, data: MatrixSet) -> str:
    """Return a description of the field and the clusters found."""
    from homothety.metrics import purity

    assert data.labels is not None
    return (
        f"A field of {len(data)} diffusion tensors whose {len(set(data.labels.tolist()))} regions differ by shape, not "
        f"by direction or size.\nNot told their number, homothety found {result.n_clusters} clusters in "
        f"{result.provenance.seconds:.0f} s; {100 * purity(data.labels, result.labels):.1f} % of the tensors are with "
        "their kind."
    )


# homothety warm-up

_WARM_UP_HELP = "compile now what the first run would wait for"
_WARM_UP_DESCRIPTION = """\
Compile the loops that `homothety segment` and `homothety cluster` use by default, by a short run of both on made-up
data. They are kept on disk, where every later run finds them: for use while installing, or in a container. Takes two to
three minutes, and a few seconds when all is compiled. Other models, such as --model icsc, compile what they need on top
when they are first used.
"""
_WARM_UP_EPILOG = """\
examples:
  homothety warm-up
  NUMBA_CACHE_DIR=/opt/cache homothety warm-up      to keep the compiled loops in a folder of your choice
"""


def add_warm_up(commands: Any) -> None:
    """Add this command to the parser of all commands."""
    parser = add_command(
        commands, "warm-up", _run_warm_up, help=_WARM_UP_HELP, description=_WARM_UP_DESCRIPTION, epilog=_WARM_UP_EPILOG
    )
    add_output_options(parser)


def _run_warm_up(args: argparse.Namespace, console: Console) -> bool:  # noqa: ARG001
    """Compile by segmenting and clustering made-up data; the results are discarded."""
    import numpy as np

    from homothety.cli import results
    from homothety.cli.console import Console
    from homothety.cli.runs import fit
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
