"""Arguments of commands on recordings: reading of files, preparation, and export."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from homothety.cli.options import column, columns, number_or_name
from homothety.errors import InputError
from homothety.files import printable

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from homothety.cli.console import Console
    from homothety.datasets import SequenceSet
    from homothety.preprocessing import Preprocessing


def add_files(parser: ArgumentParser) -> None:
    """Add the files to read, all in one argument."""
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        type=Path,
        help="table (.csv, .parquet), arrays (.npz, .npy, .h5, .mat), ROS recording (.bag, .mcap), motion capture "
        "(.bvh, .c3d), epochs (.fif), LeRobot data set; or a folder of files of one kind",
    )


def add_reading_options(parser: ArgumentParser) -> None:
    """Add the options of reading files."""
    reading = parser.add_argument_group("reading")
    reading.add_argument(
        "--group",
        metavar="COLUMN",
        type=column,
        help="column of a table that tells recordings apart; else a file is one",
    )
    reading.add_argument(
        "--columns", metavar="A,B,...", type=columns, help="columns to use, by name or by number from 0; else all"
    )
    reading.add_argument(
        "--variable", metavar="NAME", help="array in a .npz, .h5 or .mat file that holds the recordings"
    )
    reading.add_argument("--topic", metavar="NAME", help="messages of a ROS recording to read; else those are listed")
    poses = reading.add_mutually_exclusive_group()
    poses.add_argument(
        "--poses",
        metavar="FILE",
        type=Path,
        help="pose of an object in each recording, which fixes its frame: .npy of 4 x 4 matrices, or a table with "
        "a row x, y, z, qw, qx, qy, qz for each recording; results are in the coordinates of the object",
    )
    poses.add_argument(
        "--pose-columns",
        metavar="A,B,...",
        type=columns,
        help="columns with position and quaternion of the object, of which the first step of each recording counts; "
        "they are no measurements",
    )


def add_preparation_options(parser: ArgumentParser) -> None:
    """Add the options of preparation."""
    group = parser.add_argument_group(
        "preparation, in this order; results are in the units of the recordings",
        "The model actions takes --subsample and --velocities, and prepares the rest by itself.",
    )
    group.add_argument(
        "--quaternions", metavar="A,B,C,D", type=columns, action="append", help="columns of a quaternion; repeatable"
    )
    group.add_argument("--smooth", metavar="N", type=int, help="window of a smoothing filter: steps, odd, 5 or more")
    group.add_argument(
        "--velocities",
        choices=("append", "replace", "none"),
        help="velocities as further columns, or instead of positions (default: none; model actions: of positions, "
        "where they move along a path)",
    )
    group.add_argument(
        "--subsample",
        metavar="N",
        type=number_or_name,
        default="auto",
        help="use every N-th step; 1 for all, auto for as often as steps are not strongly correlated (default: auto)",
    )
    group.add_argument(
        "--centre",
        choices=("all", "series", "none"),
        default="all",
        help="subtract the mean of all, or of each recording",
    )
    group.add_argument("--scale", choices=("std", "range"), help="bring columns to one size; rarely needed")
    group.add_argument(
        "--scale-together",
        metavar="A,B,...",
        type=columns,
        action="append",
        help="columns that --scale brings to size by one factor, such as the coordinates of a vector; repeatable",
    )


def read(args: Namespace, console: Console, blocks: Sequence[str] | str = "auto") -> SequenceSet:
    """Return the recordings in the files, in the coordinates of an object if its poses are given."""
    from homothety.datasets import in_object_coordinates, read_sequences
    from homothety.datasets.poses import read_poses, split_poses

    console.say(f"Reading {title(args.files)}")
    items = read_sequences(args.files, **reading_options(args))
    if not has_poses(args):
        return items
    items, poses = (items, read_poses(args.poses)) if args.poses else split_poses(items, args.pose_columns)
    console.say("Recordings are in the coordinates of the object, whose poses are given")
    return in_object_coordinates(items, poses, blocks=blocks)


def has_poses(args: Namespace) -> bool:
    """Tell whether the frames of recordings are given by the poses of an object."""
    return args.poses is not None or args.pose_columns is not None


def given_frames(args: Namespace) -> str | list[int]:
    """Return which recordings share the frame of the object: all, or those of which its pose is known."""
    from homothety.datasets import shared_frames
    from homothety.datasets.poses import read_poses

    return "one" if args.poses is None else shared_frames(read_poses(args.poses))


def reading_options(args: Namespace) -> dict[str, Any]:
    """Return the options of reading files as arguments of `read_sequences`."""
    options = {name: getattr(args, name) for name in ("group", "columns", "variable", "topic")}
    if args.columns is not None and args.pose_columns is not None:
        options["columns"] = [*args.columns, *args.pose_columns]
    return options


def title(files: list[Path]) -> str:
    """Return the files in few words."""
    return printable(str(files[0]) if len(files) == 1 else f"{files[0]} and {len(files) - 1} more")


_OF_OTHERS = {
    "quaternions": "quaternions are found by the names of columns, or listed with --blocks",
    "smooth": "velocities are smoothed over a few of the steps that are used",
    "centre": "every recording has a place of its own",
    "scale": "every block of columns is brought to one size",
    "scale_together": "every block of columns is brought to one size",
}


def own_preparation(args: Namespace) -> dict[str, Any]:
    """Return the options of preparation for a model with frames, or raise for options that it does not have."""
    for name, reason in _OF_OTHERS.items():
        if getattr(args, name) != args.parser.get_default(name):
            option = f"--{name.replace('_', '-')}"
            raise InputError(
                f"{option} means nothing for --model actions: {reason}. Leave it out, or use --model icsc."
            )
    if args.velocities == "replace":
        raise InputError(
            "--velocities replace means nothing for --model actions, which needs positions. Use --velocities append, "
            "or leave it out."
        )
    velocities = {None: "auto", "append": True, "none": False}[args.velocities]
    return {"subsample": args.subsample, "velocities": velocities}


def chosen_preprocessing(args: Namespace, items: SequenceSet) -> Preprocessing:
    """Return the chosen preparation, with columns as numbers."""
    from homothety.datasets.readers.checks import find_columns
    from homothety.preprocessing import Preprocessing

    def numbers(groups: list[list[int | str]] | None, option: str) -> list[list[int]]:
        return [find_columns(group, items.channels, items.n_dims, args.files[0], option) for group in groups or []]

    return Preprocessing(
        centre=None if args.centre == "none" else args.centre,
        scale=args.scale,
        groups=numbers(args.scale_together, "groups"),
        subsample=args.subsample,
        smooth=args.smooth,
        velocities=None if args.velocities == "none" else args.velocities,
        quaternions=numbers(args.quaternions, "quaternions"),
    )


# Files for other programs

EXPORTS = {
    "ruptures": None,
    "aeon": None,
    "elan": ("pympi.Elan", "elan"),
    "lerobot": ("pyarrow.parquet", "parquet"),
    "robomimic": ("h5py", "hdf5"),
    "rerun": ("rerun", "rerun"),
    "moments": None,
}
"""What can be exported, and the package it needs with the extra that brings it."""
_OF_SOURCES = {
    "lerobot": "a LeRobot data set",
    "robomimic": "an HDF5 file of robomimic, read with --variable 'data/*/obs/...'",
}
_NAMES_IN = {"lerobot": r"episode (\d+)", "robomimic": r"data/([^/]+)/.*"}
"""What recordings of each are called by the reader."""
_FORMATS = ("csv", "parquet", "json")


def add_export_options(parser: ArgumentParser) -> None:
    """Add the options of formats and exports."""
    group = parser.add_argument_group("files for other programs")
    group.add_argument("--format", choices=_FORMATS, default="csv", help="of all tables (default: csv)")
    group.add_argument(
        "--export",
        metavar="A,B,...",
        help="also write: ruptures and aeon (change points as these count), elan (annotations), lerobot and robomimic "
        "(subtasks of the data set or file that was read), rerun (paths, segments and states to look at), moments "
        "(means and covariances of states and actions)",
    )
    group.add_argument(
        "--rate", metavar="HZ", type=float, help="steps per second of the recordings, if the files do not tell"
    )


def check_exports(args: Namespace) -> list[str]:
    """Return the chosen exports, or raise before the fit for those that cannot be written."""
    from homothety.arrays import check_positive
    from homothety.datasets.readers.checks import require
    from homothety.export import check_table_kind
    from homothety.times import FASTEST, SLOWEST

    check_table_kind(args.format)
    chosen = [kind.strip() for kind in args.export.split(",")] if args.export is not None else []
    for kind in chosen:
        if kind not in EXPORTS:
            raise InputError(f"--export names {kind!r}, needed some of {', '.join(EXPORTS)}, with commas between.")
        if (needed := EXPORTS[kind]) is not None:
            require(*needed, f"--export {kind}")
        if kind in _OF_SOURCES and len(args.files) > 1:
            raise InputError(
                f"--export {kind} writes the subtasks of one data set or file, but {len(args.files)} are named. "
                "Name one, or leave it out."
            )
    if args.rate is not None and not SLOWEST <= check_positive(args.rate, "--rate") <= FASTEST:
        raise InputError(
            f"--rate is {args.rate:g}, needed steps per second from {SLOWEST:g} to {FASTEST:g}. Leave it out if it is "
            "not known."
        )
    return chosen


def numbered_in_source(names: Sequence[str], kind: str, source: Path) -> list[str]:
    """Return what recordings are called in the file or data set they were read from, or raise if it is not of a kind.

    Examples
    --------
    >>> numbered_in_source(["episode 0", "episode 7"], "lerobot", Path("."))
    ['0', '7']
    >>> numbered_in_source(["data/demo_0/obs/eef_pos"], "robomimic", Path("low_dim.hdf5"))
    ['demo_0']
    """
    found = [re.fullmatch(_NAMES_IN[kind], name) for name in names]
    if not all(found) or source.is_dir() != (kind == "lerobot"):
        raise InputError(
            f"--export {kind} needs recordings of {_OF_SOURCES[kind]}, but they are of {source}. Leave it out."
        )
    return [one[1] for one in found if one]


def check_sources(items: SequenceSet, args: Namespace, kinds: list[str]) -> None:
    """Raise if subtasks are asked for of recordings that are not of such a data set or file."""
    from homothety.export import lerobot_info

    for kind in set(kinds).intersection(_OF_SOURCES):
        numbered_in_source(items.names, kind, args.files[0])
    if "lerobot" in kinds:
        lerobot_info(args.files[0])


def with_rate(items: SequenceSet, args: Namespace, kinds: list[str]) -> SequenceSet:
    """Return recordings with the rate that was given, or raise if annotations need one and there is none."""
    if args.rate is not None:
        items = replace(items, rate=args.rate)
    if items.rate is None and "elan" in kinds:
        raise InputError("--export elan needs the steps per second of the recordings, to tell times. Add --rate HZ.")
    return items
