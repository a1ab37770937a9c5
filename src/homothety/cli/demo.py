"""`homothety demo`: what the library does, on data it makes itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from homothety.cli.files import REPORT, check_folder
from homothety.cli.options import add_command, add_figures_option, add_shared_options, check_figures

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from homothety.cli.console import Console
    from homothety.datasets import MatrixSet, SequenceSet
    from homothety.summaries.result import Partition, Segmentation

DESCRIPTION = """\
Two made-up sets whose answer is known. A hand reaches out, strokes and returns, recorded in three frames of different
place, orientation and size: the frame of every recording is found, and the actions that the recordings have in common.
And a field of 400 diffusion tensors is clustered by shape. Takes about three minutes the first time, when most of it is
compilation. Writes tables and an interactive report; figures with --figures.
"""
EPILOG = """\
examples:
  homothety demo                  results go to homothety-demo
  homothety demo --seed 1         other data, another run
"""
OUTPUT = "homothety-demo"
PER_FRAME = 3
FIELD = (20, 20)


def add_parser(commands: Any) -> None:
    """Add this command to the parser of all commands."""
    parser = add_command(
        commands, "demo", run, help="see what it does, on embedded data", description=DESCRIPTION, epilog=EPILOG
    )
    add_shared_options(parser, output=OUTPUT)
    add_figures_option(parser)


def run(args: argparse.Namespace, console: Console) -> bool:
    """Segment the demonstrations and cluster the field; return whether it came to its end."""
    from homothety.cli import results
    from homothety.report import render_text

    check_figures(args)
    folder, told, summaries = check_folder(args.output or Path(OUTPUT)), [], {}
    parts: dict[str, tuple[Callable[..., Any], Callable[..., str]]] = {
        "demonstrations": (segment_demonstrations, tell_actions),
        "tensor-field": (cluster_field, tell_clusters),
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


def segment_demonstrations(seed: int, console: Console) -> tuple[Any, SequenceSet]:
    """Find the actions of demonstrations in several frames."""
    from homothety.cli.fitting import fit
    from homothety.datasets import make_demonstrations
    from homothety.estimators.action_hmm import ActionHMM

    data, model = make_demonstrations(seed, n_per_frame=PER_FRAME), ActionHMM(random_state=seed)
    fit(model, data, console, size=f"{len(data)} demonstrations", source="made-up demonstrations in three frames")
    return model, data


def cluster_field(seed: int, console: Console) -> tuple[Any, MatrixSet]:
    """Cluster a field of tensors."""
    from homothety.cli.fitting import fit
    from homothety.datasets import make_dti
    from homothety.estimators.spcm import SPCMMixture

    data, model = make_dti(FIELD, random_state=seed), SPCMMixture(random_state=seed)
    fit(model, data.matrices, console, size=f"{len(data)} tensors", source="a made-up field of tensors")
    return model, data


def tell_actions(result: Segmentation, data: SequenceSet) -> str:
    """Return the story of the demonstrations in plain words."""
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


def tell_clusters(result: Partition, data: MatrixSet) -> str:
    """Return the story of the field in plain words."""
    from homothety.metrics import purity

    assert data.labels is not None
    return (
        f"A field of {len(data)} diffusion tensors whose {len(set(data.labels.tolist()))} regions differ by shape, not "
        f"by direction or size.\nNot told their number, homothety found {result.n_clusters} clusters in "
        f"{result.provenance.seconds:.0f} s; {100 * purity(data.labels, result.labels):.1f} % of the tensors are with "
        "their kind."
    )
