"""`homothety segment`: series from files into segments, the states they share and the actions these are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from homothety.cli import exports, series
from homothety.cli.files import check_folder
from homothety.cli.options import add_cluster_option, add_command, add_shared_options, at_least, number_or_auto
from homothety.cli.wording import columns_called
from homothety.errors import InputError

if TYPE_CHECKING:
    import argparse

    from homothety.cli.console import Console
    from homothety.datasets import SequenceSet
    from homothety.estimators._segmentation import Segmenter
    from homothety.sampling.fingerprint import Fingerprint

DESCRIPTION = """\
Cut recordings, such as demonstrations of a task, into segments, and say which segments are the same state, also across
recordings, and which states are the same action: turned, moved or resized. The numbers of states and actions are
inferred. Writes segments, changes with their intervals, labels of every step, states and actions, how the states of an
action differ, a summary, figures and the fitted model.
"""
EPILOG = """\
examples:
  homothety segment demo_1.csv demo_2.csv demo_3.csv      one file per demonstration
  homothety segment demos/ -o grating                     all files of a folder
  homothety segment log.parquet --group episode_index --columns observation.state
  homothety segment arm.csv --columns x,y,z,qw,qx,qy,qz --quaternions qw,qx,qy,qz
  homothety segment demos.npz --velocities append --subsample 5
  homothety segment demos.npz -o run --sweeps 2000        can be stopped: homothety resume run goes on
  homothety segment demos.npz --chains 20 --cluster tcp://head:8786    chains on the workers of a dask cluster
  homothety segment arm.bag --topic /joint_states --columns position
  homothety segment lerobot/pusht --export ruptures,elan --rate 10   annotations to look at in ELAN
  homothety segment demos.npz --json | jq '.segments[0]'

Models: icsc, every series has its own selection of common states, which are grouped into actions; ibp, the same without
actions; hdp, all series share all states; hmm, the same by EM, without saying how sure it is. Columns called label,
state, time and timestamp are no measurements unless named.
Exit status: 0; 2 for input that cannot be used; 130 after Ctrl-C. What was sampled until then is written, except during
burn-in (--burn), of which nothing is kept; homothety resume goes on from there, also after a kill (not --model hmm).
"""

OUTPUT = "homothety-output"
SELECTING = ("icsc", "ibp")
SAMPLED = (*SELECTING, "hdp")
CLASSES = {"icsc": "ICSCHMM", "ibp": "IBPHMM", "hdp": "StickyHDPHMM", "hmm": "HMMSelection"}


class ModelOption(NamedTuple):
    """An option of the model: what sets it, which parameter of which models it sets, and what it means.

    Options are None unless given, so that each model keeps its own defaults.
    """

    flag: str
    parameter: str
    kind: Any
    models: tuple[str, ...]
    meaning: str


MODEL_OPTIONS = (
    ModelOption(
        "--grouping", "grouping", str, ("icsc",), "states are one action by: shapes (default), or links, as published"
    ),
    ModelOption(
        "--step-weight",
        "step_weight",
        number_or_auto,
        SELECTING,
        "share of an observation that a step counts as, or auto to measure it (default: auto; ibp: 1.0)",
    ),
    ModelOption("--emission", "emission", str, SELECTING, "a state is: gaussian (default), diagonal, autoregressive"),
    ModelOption("--order", "order", at_least(1), SELECTING, "past steps an autoregressive state looks at (default: 1)"),
    ModelOption("--max-states", "max_states", at_least(1), ("hdp", "hmm"), "at most so many (default: 20 and 15)"),
    ModelOption("--chains", "n_chains", at_least(1), SAMPLED, "independent chains (default: 4)"),
    ModelOption("--sweeps", "n_sweeps", at_least(1), SAMPLED, "sweeps per chain (default: 500)"),
    ModelOption("--burn", "n_burn", at_least(0), SAMPLED, "sweeps to throw away first (default: half of them)"),
    ModelOption("--jobs", "n_jobs", int, SAMPLED, "chains run side by side (default: 1)"),
)


def add_parser(commands: Any) -> None:
    """Add this command to the parser of all commands."""
    parser = add_command(
        commands,
        "segment",
        run,
        help="segment series into states and actions they share",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    parser.set_defaults(resumed=None)
    series.add_files(parser)
    add_shared_options(parser, output=OUTPUT)
    add_cluster_option(parser)
    series.add_reading_options(parser)
    series.add_preparation_options(parser)
    exports.add_export_options(parser)
    model = parser.add_argument_group("model")
    model.add_argument("--model", choices=tuple(CLASSES), default="icsc", help="see below (default: icsc)")
    for option in MODEL_OPTIONS:
        metavar = "NAME" if option.kind is str else "N"
        where = "" if option.models == SAMPLED else f" [{', '.join(option.models)}]"
        model.add_argument(
            option.flag, dest=option.parameter, metavar=metavar, type=option.kind, help=option.meaning + where
        )


def run(args: argparse.Namespace, console: Console) -> bool:
    """Segment files; return whether it came to its end."""
    from homothety.cli import runs, segmentation

    kinds = exports.check_exports(args)
    folder = check_folder(args.output or Path(OUTPUT))
    items = series.read(args, console)
    this = runs.of(args, folder, digest(items), console)
    with this.explaining_interrupts():
        with columns_called(series.dimension_names(items, args.velocities)):
            model = build_model(args, items)
            with this.sampling(model):
                result = segmentation.fit(items, model, console, source=series.title(args.files))
        files = segmentation.write(result, folder, console, args.format)
        files += exports.write(result, folder, kinds, args.rate)
    this.end(interrupted=result.interrupted)
    written = f"Written to {folder}: {', '.join(files)}."
    data = segmentation.summarise(result) | segmentation.tables(result) | {"output": str(folder), "files": files}
    console.show(f"{segmentation.report(result)}\n\n{written}", data)
    return not result.interrupted


def digest(items: SequenceSet) -> Fingerprint:
    """Return what tells the series from others, by name."""
    from homothety.sampling.fingerprint import fingerprint

    return fingerprint(**{f"series {name}": one for name, one in zip(items.names, items.sequences, strict=True)})


def build_model(args: argparse.Namespace, items: SequenceSet) -> Segmenter:
    """Return the model that was asked for, not yet fitted."""
    import homothety

    if args.model == "icsc" and len(series.dimension_names(items, args.velocities)) == 1:
        raise InputError(
            f"{series.title(args.files)} has 1 column of measurements, needed 2 or more: an action is a shape, and a "
            "line has none. Use --model ibp to find states alone, or add --velocities append."
        )
    estimator = getattr(homothety, CLASSES[args.model])
    preprocessing = series.chosen_preprocessing(args, items)
    model: Segmenter = estimator(random_state=args.seed, preprocessing=preprocessing, **chosen_parameters(args))
    return model


def chosen_parameters(args: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters that were given, or raise if one means nothing for the model."""
    given = {option: value for option in MODEL_OPTIONS if (value := getattr(args, option.parameter)) is not None}
    for option in given:
        if args.model not in option.models:
            raise InputError(
                f"{option.flag} means nothing for --model {args.model}; it is for {' and '.join(option.models)}. "
                "Leave it out."
            )
    if args.order is not None and args.emission != "autoregressive":
        raise InputError(
            f"--order is {args.order}, but only autoregressive states look at past steps. "
            "Add --emission autoregressive, or leave it out."
        )
    return {option.parameter: value for option, value in given.items()}
