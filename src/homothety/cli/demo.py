"""`homothety demo`: what the library does, on data it makes itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from homothety.cli.files import REPORT, check_folder
from homothety.cli.options import add_command, add_shared_options

if TYPE_CHECKING:
    import argparse

    from homothety.cli.clustering import Clustering
    from homothety.cli.console import Console
    from homothety.cli.segmentation import Segmentation

DESCRIPTION = """\
Two made-up sets whose answer is known. A hand reaches out, strokes and returns, recorded in three frames of different
place, orientation and size: the frame of every recording is found, and the actions that the recordings have in common.
And a field of 400 diffusion tensors is clustered by shape. Takes about two minutes the first time, when most of it is
compilation. Writes tables, figures and an interactive report.
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


def run(args: argparse.Namespace, console: Console) -> bool:
    """Segment the demonstrations and cluster the field; return whether it came to its end."""
    from homothety.cli import clustering, segmentation

    folder = check_folder(args.output or Path(OUTPUT))
    demonstrations = segment_demonstrations(args.seed, console)
    segmentation.write(demonstrations, folder / "demonstrations", console)
    told, data = [tell_actions(demonstrations)], {"demonstrations": segmentation.summarise(demonstrations)}
    if not demonstrations.interrupted:
        field = cluster_field(args.seed, console)
        clustering.write(field, folder / "tensor-field", console)
        told, data = [*told, tell_clusters(field)], data | {"tensor-field": clustering.summarise(field)}
    console.show("\n\n".join([*told, where_to_look([folder / name for name in data])]), data)
    return not any(one["interrupted"] for one in data.values())


def segment_demonstrations(seed: int, console: Console) -> Segmentation:
    """Find the actions of demonstrations in several frames."""
    from homothety.cli import segmentation
    from homothety.datasets import make_demonstrations
    from homothety.estimators.action_hmm import ActionHMM

    items = make_demonstrations(seed, n_per_frame=PER_FRAME)
    model = ActionHMM(random_state=seed)
    return segmentation.fit(items, model, console, source="made-up demonstrations of a task in three frames")


def cluster_field(seed: int, console: Console) -> Clustering:
    """Cluster a field of tensors."""
    from homothety.cli import clustering
    from homothety.datasets import make_dti
    from homothety.estimators.spcm import SPCMMixture

    model = SPCMMixture(random_state=seed)
    return clustering.fit(make_dti(FIELD, random_state=seed), model, console, source="a made-up field of tensors")


def tell_actions(result: Segmentation) -> str:
    """Return the story of the demonstrations in plain words, their actions, and the frames of the recordings."""
    from homothety.metrics import hamming
    from homothety.words import actions, frames

    model: Any = result.model
    assert result.items.actions is not None
    right = 1 - hamming(result.items.actions, model.actions_)
    n_frames = len(set(model.frame_labels_.tolist()))
    story = (
        f"A hand reaches out, strokes and returns: {len(result.items)} recordings in three places, orientations and "
        f"sizes.\nNot told that these are 3 actions in 3 frames, homothety found {model.n_actions_} actions in "
        f"{n_frames} frames, in {result.seconds:.0f} s.\n{right:.0%} of the {result.items.n_steps} steps have the "
        "right action."
    )
    return "\n\n".join([story, actions.table(model, result.items.names), "\n".join(frames.notes(model))])


def tell_clusters(result: Clustering) -> str:
    """Return the story of the field in plain words, and its clusters."""
    from homothety.cli.clustering import cluster_table

    n_true = len(set(result.items.labels.tolist())) if result.items.labels is not None else 0
    metrics = result.metrics or {}
    story = (
        f"A field of {len(result.items)} diffusion tensors whose {n_true} regions differ by shape, not by direction or "
        f"size.\nNot told their number, homothety found {result.model.n_clusters_} clusters in {result.seconds:.0f} s; "
        f"{metrics['purity']:.1%} of the tensors are with their kind."
    )
    return f"{story}\n\n{cluster_table(result)}"


def where_to_look(folders: list[Path]) -> str:
    """Return where the results are."""
    pages = " and ".join(str(folder / REPORT) for folder in folders)
    return (
        f"Open {pages} in a browser.\nYour own recordings: homothety segment FILES; "
        "your own matrices: homothety cluster FILE (see --help)."
    )
