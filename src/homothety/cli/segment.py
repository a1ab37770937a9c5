"""`homothety segment`: segment recordings from files, and group their states into actions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from homothety.cli import recordings
from homothety.cli.options import (
    add_cluster_option,
    add_command,
    add_shared_options,
    at_least,
    check_figures,
    check_folder,
    number_or_auto,
    steps_or_time,
    sweeps,
    words,
)
from homothety.errors import InputError
from homothety.phrases import number_of
from homothety.times import steps_of

if TYPE_CHECKING:
    import argparse

    from homothety.channels import ChannelBlocks
    from homothety.cli.console import Console
    from homothety.datasets import SequenceSet
    from homothety.estimators.segmentation import Segmenter
    from homothety.sampling.checkpoint import Fingerprint

_HELP = "segment recordings into states and actions they share"
_DESCRIPTION = """\
Cut recordings, such as demonstrations of a task, into segments, and find which segments are the same action, also in
recordings that are turned, moved or resized. The number of actions is inferred, and so is the frame (rotation, size and
place) of every recording. Writes segments, changes with their intervals, labels of every step, states and actions,
frames, a summary, an interactive report and the fitted model; figures with --figures.
"""
_EPILOG = """\
examples:
  homothety segment demo_1.csv demo_2.csv demo_3.csv      one file per demonstration
  homothety segment demos/ -o grating                     all files of a folder
  homothety segment log.parquet --group episode_index --columns observation.state
  homothety segment arm.csv --columns x,y,z,qw,qx,qy,qz   position and orientation, as the names say
  homothety segment arm.npy --blocks point,quaternion,vector,plain
  homothety segment demos/ --frames one --actions 4       all recordings in one frame, four actions
  homothety segment demos/ --poses bowls.csv              frames are known: where the bowl was in each recording
  homothety segment demos.npz -o run --sweeps 2000        can be stopped: homothety resume run goes on
  homothety segment demos.npz --chains 20 --cluster tcp://head:8786    chains on the workers of a dask cluster
  homothety segment arm.bag --topic /joint_states --columns position
  homothety segment lerobot/pusht --export ruptures,elan       annotations to look at in ELAN
  homothety segment demos/ --rate 100 --least-stay 0.5s   no action is shorter than half a second
  homothety segment demos.npz --json | jq '.segments[0]'

Models: actions, every recording has a frame of its own, and the states of the aligned recordings are grouped into
actions; icsc, the model of the paper: no frames, states of the same shape are one action; ibp, the same states without
actions; hdp, all recordings share all states; hmm, the same by EM, without saying how sure it is. Columns called label,
state, time and timestamp are no measurements unless named. A column of times, or --rate, tells the steps per second;
tables then have times in seconds too.
Exit status: 0; 2 for input that cannot be used; 130 after Ctrl-C. What was sampled until then is written, except during
burn-in (--burn), of which nothing is kept; homothety resume goes on from there, also after a kill (not --model hmm).
"""

_OUTPUT = "homothety-output"
_IN_JSON = ("segments", "boundaries", "action_segments", "action_boundaries")  # tables on stdout
_FRAMED = ("actions",)
_SELECTING = ("icsc", "ibp")
_SAMPLED = (*_FRAMED, *_SELECTING, "hdp")
_CLASSES = {"actions": "ActionHMM", "icsc": "ICSCHMM", "ibp": "IBPHMM", "hdp": "StickyHDPHMM", "hmm": "HMMSelection"}


class _ModelOption(NamedTuple):
    """An option of the model: what sets it, which parameter of which models it sets, and what it means.

    Options are None unless given, so that each model keeps its own defaults.
    """

    flag: str
    parameter: str
    kind: Any
    models: tuple[str, ...]
    meaning: str
    choices: tuple[str, ...] | None = None


MODEL_OPTIONS = (
    _ModelOption(
        "--blocks",
        "blocks",
        words,
        _FRAMED,
        "what the columns are, in order: point, vector, quaternion, plain; auto goes by their names (default: auto)",
    ),
    _ModelOption(
        "--frames",
        "frames",
        str,
        _FRAMED,
        "recordings share one frame, have one each, or auto to infer who shares one (default: auto)",
        ("auto", "one", "each"),
    ),
    _ModelOption(
        "--rotations",
        "rotations",
        str,
        _FRAMED,
        "recordings are turned by: all rotations, yaw (about the third axis), none (default: all)",
        ("all", "yaw", "none"),
    ),
    _ModelOption("--actions", "n_actions", at_least(1), _FRAMED, "number of actions to report; inferred if not given"),
    _ModelOption(
        "--least-stay",
        "least_stay",
        steps_or_time,
        _SAMPLED,
        "fewest steps that a state lasts, or a time such as 0.5s (default: auto, half a period of a typical swing; "
        "others: 1)",
    ),
    _ModelOption(
        "--grouping", "grouping", str, ("icsc",), "states are one action by: shapes (default), or links, as published"
    ),
    _ModelOption(
        "--step-weight",
        "step_weight",
        number_or_auto,
        _SELECTING,
        "share of an observation that a step counts as, or auto to measure it (default: auto; ibp: 1.0)",
    ),
    _ModelOption("--emission", "emission", str, _SELECTING, "a state is: gaussian (default), diagonal, autoregressive"),
    _ModelOption(
        "--order", "order", at_least(1), _SELECTING, "past steps an autoregressive state looks at (default: 1)"
    ),
    _ModelOption(
        "--outliers",
        "outliers",
        str,
        _SAMPLED,
        "outliers and dead sensors are missing values, or kept as they are (default: missing)",
        ("missing", "keep"),
    ),
    _ModelOption("--max-states", "max_states", at_least(1), ("hdp", "hmm"), "at most so many (default: 20 and 15)"),
    _ModelOption("--chains", "n_chains", at_least(1), _SAMPLED, "independent chains (default: 4)"),
    _ModelOption(
        "--sweeps",
        "n_sweeps",
        sweeps,
        _SAMPLED,
        "sweeps per chain; auto doubles 100, up to 800, until chains agree (default: auto; others: from 200 to 1600)",
    ),
    _ModelOption("--burn", "n_burn", at_least(0), _SAMPLED, "sweeps to throw away first (default: half of them)"),
    _ModelOption("--jobs", "n_jobs", int, _SAMPLED, "chains run side by side (default: 1)"),
)


def add_parser(commands: Any) -> None:
    """Add this command to the parser of all commands."""
    parser = add_command(commands, "segment", run, help=_HELP, description=_DESCRIPTION, epilog=_EPILOG)
    parser.set_defaults(resumed=None)
    recordings.add_files(parser)
    add_shared_options(parser, output=_OUTPUT)
    add_cluster_option(parser)
    recordings.add_reading_options(parser)
    recordings.add_preparation_options(parser)
    recordings.add_export_options(parser)
    model = parser.add_argument_group("model")
    model.add_argument("--model", choices=tuple(_CLASSES), default="actions", help="see below (default: actions)")
    for option in MODEL_OPTIONS:
        metavar = None if option.choices else {str: "NAME", words: "A,B,..."}.get(option.kind, "N")
        where = "" if option.models == _SAMPLED else f" [{', '.join(option.models)}]"
        model.add_argument(
            option.flag,
            dest=option.parameter,
            metavar=metavar,
            type=option.kind,
            choices=option.choices,
            help=option.meaning + where,
        )


def run(args: argparse.Namespace, console: Console) -> bool:
    """Segment files; return whether the run was completed."""
    from homothety.cli import results, runs
    from homothety.cli.runs import fit

    check_figures(args)
    kinds = recordings.check_exports(args)
    folder = check_folder(args.output)
    items = recordings.with_rate(recordings.read(args, console, _asked_blocks(args)), args, kinds)
    recordings.check_sources(items, args, kinds)
    this = runs.of(args, folder, _digest(items), console)
    size = f"{number_of(len(items), 'recording')}, {items.n_steps} steps of {number_of(items.n_dims, 'channel')}"
    with this.explaining_interrupts():
        model = _build_model(args, items)
        if args.model in _FRAMED:
            console.say(_channel_blocks(args, items).sentence.replace("blocks=", "--blocks"))
            size += ", after a search for frames to start from"
        with this.sampling(model):
            fit(model, items, console, size=size, source=recordings.title(args.files))
        written = results.write(model, items, folder, kind=args.format, with_figures=args.figures)
        exported = results.write_exports(model.result_, items, folder, kinds, args.files[0])
    this.end(interrupted=model.result_.interrupted)
    tables = {name: [dict(row) for row in rows] for name, rows in model.result_.tables().items() if name in _IN_JSON}
    results.show(console, written._replace(files=[*written.files, *exported]), folder, tables)
    return not model.result_.interrupted


def _digest(items: SequenceSet) -> Fingerprint:
    """Return digests of the recordings, by name."""
    from homothety.sampling.checkpoint import fingerprint

    return fingerprint(**{f"series {name}": one for name, one in zip(items.names, items.sequences, strict=True)})


def _build_model(args: argparse.Namespace, items: SequenceSet) -> Segmenter:
    """Return the chosen model, not yet fitted."""
    import homothety

    if args.model in _FRAMED:
        own = recordings.own_preparation(args)
        return homothety.ActionHMM(random_state=args.seed, **own, **_chosen_parameters(args, items.rate))
    if args.model == "icsc" and items.n_dims == 1 and args.velocities != "append":
        raise InputError(
            f"{recordings.title(args.files)} has 1 column of measurements, needed 2 or more: an action is a shape, and "
            "a line has none. Use --model ibp to find states alone, or add --velocities append."
        )
    estimator = getattr(homothety, _CLASSES[args.model])
    preprocessing = recordings.chosen_preprocessing(args, items)
    model: Segmenter = estimator(
        random_state=args.seed, preprocessing=preprocessing, **_chosen_parameters(args, items.rate)
    )
    return model


def _channel_blocks(args: argparse.Namespace, items: SequenceSet) -> ChannelBlocks:
    """Return the kinds of the columns for a model with frames."""
    from homothety.channels import check_blocks, guess_blocks

    asked = _asked_blocks(args)
    if isinstance(asked, str):
        return guess_blocks(items.channels or None, items.n_dims)
    return check_blocks(asked, items.n_dims, items.channels or None)


def _asked_blocks(args: argparse.Namespace) -> list[str] | str:
    """Return the kinds of blocks that were given, or auto."""
    return "auto" if args.blocks in (None, ["auto"]) else args.blocks


def _chosen_parameters(args: argparse.Namespace, rate: float | None) -> dict[str, Any]:
    """Return the parameters that were given, times in steps, or raise if one means nothing for the model."""
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
    chosen = {option.parameter: "auto" if value == ["auto"] else value for option, value in given.items()}
    if recordings.has_poses(args) and args.model in _FRAMED:
        chosen.setdefault("frames", recordings.given_frames(args))
    if "least_stay" in chosen:
        chosen["least_stay"] = steps_of(chosen["least_stay"], rate, "--least-stay")
    return chosen
