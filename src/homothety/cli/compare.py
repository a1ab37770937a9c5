"""`homothety compare`: run several methods on data with known labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from homothety.cli import recordings
from homothety.cli.options import (
    add_cluster_option,
    add_command,
    add_shared_options,
    at_least,
    check_figures,
    check_folder,
)
from homothety.errors import InputError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from homothety.cli.comparing import Comparison
    from homothety.cli.console import Console
    from homothety.datasets import SequenceSet

_HELP = "several methods side by side, against known labels"
_DESCRIPTION = """\
Segment recordings whose actions are known by the five methods of the paper and by ours, and see which agrees best:

  hmm         hidden Markov model, number of states chosen by BIC
  hdp         sticky HDP-HMM
  ibp         IBP-HMM
  two-stage   IBP-HMM, its states then clustered by the SPCM-CRP mixture
  icsc-paper  ICSC-HMM as published: states and actions together
  icsc        ICSC-HMM with our grouping of states
  actions     ActionHMM: recordings in frames of their own, as homothety segment has it

ActionHMM prepares recordings by itself: of the options of preparation only --subsample holds for it.
Methods that know actions are scored by them, others by their states. Or, with --matrices, cluster covariance matrices
of known classes by the SPCM-CRP mixture (spcm), CRP mixture (crp) and Gaussian mixture with model selection (gmm).
"""
_EPILOG = """\
examples:
  homothety compare demos.npz                             labels are in the file
  homothety compare demos/*.csv --truth phase             ... in the column phase
  homothety compare demos.npy --truth labels.txt          ... in a file, one line per step of all series in order
  homothety compare demos.npz --methods hmm,actions --runs 5
  homothety compare tensors.npz --matrices

A true label is the same for the same action, wherever and in whatever direction it is done. Hamming, GCE and VI are
errors; NMI, purity, F and ARI are better the larger. All of them can be fooled: GCE by one state for everything and by
one for each step, Hamming and F by one state where an action takes most of the time. So every table has a row for what
calls everything the same.
Exit status: 0; 2 for input that cannot be used; 130 after Ctrl-C, with a table of everything finished until then.
"""
_OUTPUT = "homothety-output/comparison"
_LABELS, _STATES = ("label", "labels"), ("state", "states")  # names that readers know by themselves
_LABEL_FILES = (".npy", ".txt", ".csv", ".tsv")
_RECORDING_OPTIONS = (
    "max_states",
    "group",
    "columns",
    "topic",
    "quaternions",
    "smooth",
    "velocities",
    "subsample",
    "centre",
    "scale",
    "scale_together",
)


def add_parser(commands: Any) -> None:
    """Add this command to the parser of all commands."""
    parser = add_command(commands, "compare", run, help=_HELP, description=_DESCRIPTION, epilog=_EPILOG)
    recordings.add_files(parser)
    add_shared_options(parser, output=_OUTPUT)
    add_cluster_option(parser)
    parser.add_argument("--matrices", action="store_true", help="FILE holds covariance matrices to cluster, no series")
    parser.add_argument(
        "--truth",
        metavar="NAME",
        help="column or array of true labels, or file with one label per step; label or state by default",
    )
    parser.add_argument("--methods", metavar="NAMES", help="which, separated by commas; all if not given")
    parser.add_argument("--runs", metavar="N", type=at_least(1), default=1, help="of each method (default: 1)")
    parser.add_argument("--chains", metavar="N", type=at_least(1), default=4, help="of each sampler (default: 4)")
    parser.add_argument("--sweeps", metavar="N", type=at_least(2), help="of each chain (default: as the method has)")
    parser.add_argument("--max-states", metavar="N", type=at_least(1), help="at most so many, for hdp and hmm")
    recordings.add_reading_options(parser)
    recordings.add_preparation_options(parser)


def run(args: argparse.Namespace, console: Console) -> bool:
    """Compare methods; return whether it came to its end."""
    from homothety.cli import comparing

    check_figures(args)
    folder = check_folder(args.output)
    comparison = _of_matrices(args, console) if args.matrices else _of_recordings(args, console)
    outcomes, finished = comparing.run_tasks(comparison.tasks(args.seed, args.runs), console)
    if not finished:
        console.say("Interrupted: only what was finished until then is here.")
    files = comparing.write(comparison, outcomes, folder, with_figures=args.figures)
    text = f"{comparison.table(outcomes)}\n\n{comparison.note}\n\nWritten to {folder}: {', '.join(files)}."
    console.show(text, comparison.summary(outcomes) | {"finished": finished, "output": str(folder), "files": files})
    return finished


def _of_recordings(args: argparse.Namespace, console: Console) -> Comparison:
    """Return the comparison of segmentations that was asked for."""
    from homothety.cli import comparing
    from homothety.datasets import read_sequences

    console.say(f"Reading {recordings.title(args.files)}")
    usual = args.truth in (None, *_LABELS, *_STATES) or _is_file(args.truth)
    items = read_sequences(args.files, **recordings.reading_options(args), labels=None if usual else args.truth)
    preprocessing = recordings.chosen_preprocessing(args, items)
    methods = comparing.segmentation_methods(items, preprocessing, **_effort(args), max_states=args.max_states)
    baseline = methods.pop("one-state")
    chosen = comparing.choose(methods, args.methods)
    truth = _true_paths(args, items)
    _check_labelled(truth, [f"Recording {i} ({name})" for i, name in enumerate(items.names)], "step")
    return comparing.Comparison(chosen, baseline, truth, comparing.SEGMENTATION_METRICS, "labels", items.names)


def _true_paths(args: argparse.Namespace, items: SequenceSet) -> list[NDArray[Any]]:
    """Return the true label of every step of each recording: from a file, as asked for, or whatever the set knows."""
    if _is_file(args.truth):
        import numpy as np

        flat = _read_labels(Path(args.truth), items.n_steps, "steps")
        return np.split(flat, np.cumsum([len(one) for one in items.sequences])[:-1])
    known = {"label": items.actions, "state": items.states}
    wanted = ["state"] if args.truth in _STATES else ["label"] if args.truth else list(known)
    for name in wanted:
        if (paths := known[name]) is not None:
            return paths
    raise InputError(
        f"{recordings.title(args.files)} has no {wanted[0]} for every step. Say with --truth which column, array or "
        "file has them."
    )


def _of_matrices(args: argparse.Namespace, console: Console) -> Comparison:
    """Return the comparison of clusterings that was asked for."""
    from homothety.cli import comparing
    from homothety.datasets import read_matrices

    if len(args.files) > 1:
        raise InputError(f"--matrices reads a single file, but there are {len(args.files)}. Name one.")
    _check_no_recording_options(args)
    console.say(f"Reading {args.files[0]}")
    items = read_matrices(args.files[0], variable=args.variable)
    truth = items.labels
    if _is_file(args.truth):
        truth = _read_labels(Path(args.truth), len(items), "matrices")
    elif args.truth not in (None, *_LABELS):
        raise InputError(f"--truth is {args.truth!r}, needed a file with one label for each matrix, or nothing.")
    if truth is None:
        raise InputError(f"{args.files[0]} has no labels. Give a file with one for each matrix with --truth.")
    _check_labelled([truth], [str(args.files[0])], "matrix")
    methods = comparing.clustering_methods(items.matrices, _effort(args))
    baseline = methods.pop("one-cluster")
    chosen = comparing.choose(methods, args.methods)
    return comparing.Comparison(chosen, baseline, truth, comparing.CLUSTERING_METRICS, "clusters")


def _check_no_recording_options(args: argparse.Namespace) -> None:
    """Raise for an option that would be ignored, because it is about recordings."""
    for name in _RECORDING_OPTIONS:
        if getattr(args, name) != args.parser.get_default(name):
            option = f"--{name.replace('_', '-')}"
            raise InputError(f"{option} means nothing with --matrices: it is for series. Leave it out.")


def _is_file(truth: str | None) -> bool:
    """Say whether the truth is in a file of its own."""
    return truth is not None and Path(truth).is_file()


def _effort(args: argparse.Namespace) -> dict[str, int]:
    """Return how long samplers run."""
    return {"n_chains": args.chains} | ({} if args.sweeps is None else {"n_sweeps": args.sweeps})


def _read_labels(path: Path, n_needed: int, items: str) -> NDArray[Any]:
    """Return the labels in a file, an array or text with one in each line, or raise unless there are enough."""
    import numpy as np

    from homothety.datasets.readers.arrays import load_array

    suffix = path.suffix.lower()
    if suffix not in _LABEL_FILES:
        raise InputError(
            f"{path} ends in {suffix or 'nothing'!r}, needed labels in one of {', '.join(_LABEL_FILES)}. Write one "
            "label in each line of a .txt file."
        )
    labels = np.ravel(load_array(path)) if suffix == ".npy" else np.array(_read_lines(path))
    if len(labels) != n_needed:
        raise InputError(
            f"{path} has {len(labels)} labels for {n_needed} {items}, needed one each and no header. Correct it."
        )
    return labels


def _read_lines(path: Path) -> list[str]:
    """Return the lines of a text that are not blank."""
    from homothety.datasets.readers.checks import blame_file

    with blame_file(path, "Save it as plain text in UTF-8, one label in each line."):
        text = path.read_text(encoding="utf-8-sig")  # spreadsheets put a byte-order mark in front
    return [line.strip() for line in text.splitlines() if line.strip()]


def _check_labelled(truth: Sequence[NDArray[Any]], titles: Sequence[str], item: str) -> None:
    """Raise naming the first item without a label: no method need run to find that out."""
    import numpy as np

    from homothety.datasets.readers.checks import is_missing

    for title, labels in zip(titles, truth, strict=True):
        gaps = np.flatnonzero(is_missing(labels))
        if gaps.size:
            raise InputError(
                f"{title} has no label at {item} {gaps[0]}, counted from 0 ({gaps.size} such of {len(labels)}), needed "
                "one for each. Fill it in, or take those without one out."
            )
