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
    from homothety.datasets import MatrixSet

DESCRIPTION = """\
Cluster two made-up sets whose answer is known: 60 matrices of three shapes, each turned and scaled at random, and a
field of 400 diffusion tensors with five regions. Takes some seconds, and writes tables and figures to look at.
"""
EPILOG = """\
examples:
  homothety demo                  results go to homothety-demo
  homothety demo --seed 1         other data, another run
"""
OUTPUT = "homothety-demo"
FIELD = (20, 20)


def add_parser(commands: Any) -> None:
    """Add this command to the parser of all commands."""
    parser = add_command(
        commands, "demo", run, help="see what it does, on embedded data", description=DESCRIPTION, epilog=EPILOG
    )
    add_shared_options(parser, output=OUTPUT)


def run(args: argparse.Namespace, console: Console) -> bool:
    """Cluster both sets; return whether it came to its end."""
    from homothety.cli import clustering
    from homothety.estimators.spcm import SPCMMixture

    folder, results = check_folder(args.output or Path(OUTPUT)), {}
    for name, (items, source) in demo_sets(args.seed).items():
        # Sizes are random here and should not matter, which only this reading of SPCM promises.
        model = SPCMMixture(variant="log", random_state=args.seed)
        results[name] = clustering.fit(items, model, console, source=source)
        clustering.write(results[name], folder / name, console)
        if model.interrupted_:
            break
    text = [*(tell(result) for result in results.values()), where_to_look([folder / name for name in results])]
    console.show("\n\n".join(text), {name: clustering.summarise(result) for name, result in results.items()})
    return not any(result.model.interrupted_ for result in results.values())


def demo_sets(seed: int) -> dict[str, tuple[MatrixSet, str]]:
    """Return the sets by the name of their folder, each with a phrase that says what it is."""
    from homothety.datasets import make_dti, make_toy_6d

    return {
        "shapes": (
            make_toy_6d(seed, scale="matrix"),
            "three shapes in six dimensions, each matrix turned and scaled at random",
        ),
        "tensor-field": (
            make_dti(FIELD, random_state=seed),
            "a field of diffusion tensors whose regions differ by shape, not by direction or size",
        ),
    }


def tell(result: Clustering) -> str:
    """Return the story of one set in plain words, and its clusters."""
    from homothety.cli.clustering import cluster_table

    n_true = len(set(result.items.labels.tolist())) if result.items.labels is not None else 0
    metrics = result.metrics or {}
    story = (
        f"{result.source[0].upper()}{result.source[1:]}.\n"
        f"Not told that there are {n_true}, homothety found {result.model.n_clusters_} clusters "
        f"in {result.seconds:.1f} s; {metrics['purity']:.1%} of the {len(result.items)} matrices are with their kind."
    )
    return f"{story}\n\n{cluster_table(result)}"


def where_to_look(folders: list[Path]) -> str:
    """Return where the results are."""
    pages = " and ".join(str(folder / REPORT) for folder in folders)
    return f"Open {pages} in a browser.\nYour own matrices: homothety cluster FILE (see --help)."
