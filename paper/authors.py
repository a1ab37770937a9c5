"""Make the paper's data sets from clones of the authors' repositories: ``python -m paper.authors FOLDER -o data``.

The repositories are nbfigueroa/SPCM-CRP (task ellipsoids, rat hippocampus, ETH-80) and nbfigueroa/ICSC-HMM (grating,
rolling, peeling) on GitHub. They have terms of their own, and so has the rat's hippocampus: read them before you
publish anything. Nothing is downloaded, and no data are part of this repository. Toy data need no files.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from homothety.covariance.shape import fractional_anisotropy
from homothety.datasets.readers.arrays import load_variables
from homothety.errors import InputError
from paper.diffusion import (
    anisotropy_classes,
    fit_tensors,
    read_fdt,
    read_gradients,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from homothety.arrays import FloatArray, IntArray

    Arrays = dict[str, NDArray[Any]]

CLUSTERING, SEGMENTATION = "SPCM-CRP", "ICSC-HMM"
RAT_BIN_WIDTH = 0.25  # of fractional anisotropy
GRATING_CHANNELS = ("x", "y", "z", "qw", "qx", "qy", "qz")
ARM_CHANNELS = ("x", "y", "z", "q1", "q2", "q3", "q4", "fx", "fy", "fz", "tx", "ty", "tz")
PEELING_CHANNELS = tuple(f"{name}_{arm}" for arm in "ap" for name in ARM_CHANNELS)
PEELING_POSITIONS = (0, 1, 2, 13, 14, 15)
PEELING_LABELS = ("reach", "reach-to-peel", "peel", "rotate", "retract")
KEPT_PEELING = (2, 4, 5)  # of five series: those our tables rest on
ROLLING_STRIDE = 3  # every third of 15 series, as in the paper's table


@dataclass(frozen=True)
class AuthorsSet:
    """A data set and where it comes from.

    Parameters
    ----------
    file : str
        Name of the file that `python -m paper` reads.
    repository : str
        Which one has it.
    sources : tuple of str
        Files in the repository.
    read : callable
        From the paths of the sources to arrays by name.
    counts : tuple of int
        How many items each label has, if the file is what it was when the paper was written.
    note : str
        What to know of it.
    """

    file: str
    repository: str
    sources: tuple[str, ...]
    read: Callable[[Sequence[Path]], Arrays]
    counts: tuple[int, ...] = field(default=(), kw_only=True)
    note: str = field(default="", kw_only=True)


class Imported(NamedTuple):
    """A data set, or None if its sources are not there, and what to say of it."""

    arrays: Arrays | None
    text: str


def import_sets(folder: Path) -> dict[str, Imported]:
    """Return every data set by the name of its file, read from its sources where these are found.

    Parameters
    ----------
    folder : Path
        A clone of one of the repositories, or a folder of clones.
    """
    made: dict[str, Imported] = {}
    for one in AUTHORS_SETS:
        earlier = made.get(one.file)
        if earlier is None or earlier.arrays is None:
            made[one.file] = _import_set(one, folder)
    return made


def _import_set(one: AuthorsSet, folder: Path) -> Imported:
    """Return one data set, if its sources are there."""
    found = [find_source(folder, source) for source in one.sources]
    paths = [path for path in found if path is not None]
    if len(paths) < len(found):
        missing = ", ".join(source for source, path in zip(one.sources, found, strict=True) if path is None)
        return Imported(None, f"not made: {missing} of {one.repository} is not there")
    arrays = one.read(paths)
    parts = (_size(arrays), one.note, _difference(one, arrays))
    return Imported(arrays, "; ".join(part for part in parts if part))


def find_source(folder: Path, source: str) -> Path | None:
    """Return a file of a repository, the folder being a clone of it or holding one."""
    inside = [folder / source, *sorted(folder.glob(f"*/{source}"))]
    return next((path for path in inside if path.is_file()), None)


def _size(arrays: Arrays) -> str:
    """Return in words how much there is."""
    labels = len(arrays["labels"])
    return f"{len(arrays['lengths'])} series, {labels} steps" if "lengths" in arrays else f"{labels} matrices"


def _difference(one: AuthorsSet, arrays: Arrays) -> str:
    """Return in words that labels are not those of the paper, if so."""
    counts = tuple(np.bincount(arrays["labels"])[1:].tolist())
    if not one.counts or counts == one.counts:
        return ""
    return (
        f"WARNING: its labels come {', '.join(map(str, counts))} times, but {', '.join(map(str, one.counts))} times in "
        "the paper's: it is not the same set"
    )


def _cells(path: Path, name: str) -> list[NDArray[Any]]:
    """Return the cells of a variable in a .mat file, or raise."""
    variables = load_variables(path)
    if name not in variables or variables[name].dtype != object:
        raise InputError(f"{path} has no cell array {name!r}, needed the file as in the authors' repository.")
    return list(variables[name].ravel())


def _series(series: Sequence[FloatArray], labels: Sequence[NDArray[Any]], channels: Sequence[str]) -> Arrays:
    """Return series of shape (n_steps, n_dims) and their labels as the arrays that make up a set."""
    for i, (one, path) in enumerate(zip(series, labels, strict=True)):
        if len(one) != path.size:
            raise InputError(f"Series {i} has {len(one)} steps but {path.size} labels, needed one for each step.")
    return {
        "x": np.concatenate(series).astype(np.float64),
        "lengths": np.array([len(one) for one in series]),
        "labels": np.concatenate([np.ravel(path) for path in labels]).astype(np.int64),
        "channels": np.array(channels),
    }


def _read_task(paths: Sequence[Path]) -> Arrays:
    """Read the ellipsoids of three tasks: 3 rows of drawing, 1 of cutting and 1 of screwing, 21 in each."""
    cells = [np.ravel(cell)[0] for cell in _cells(paths[0], "behavs_theta")]
    return {
        "matrices": np.array([cell["Sigma"] for cell in cells]),
        "labels": np.repeat([1, 1, 1, 2, 3], len(cells) // 5),
        "mu": np.array([np.ravel(cell["mu"]) for cell in cells]),
    }


def _read_eth80(paths: Sequence[Path]) -> Arrays:
    """Read the authors' similarities of 80 objects: 8 kinds of 5 each to train on, then as many to test on."""
    similarity = load_variables(paths[0])["S"]
    return {"similarity": similarity, "labels": np.tile(np.repeat(np.arange(1, 9), len(similarity) // 16), 2)}


def _read_grating(paths: Sequence[Path]) -> Arrays:
    """Read the grating of carrots, series by turns in the frame of the grater and in that of the robot."""
    frames = {name: _cells(path, "Data") for name, path in zip(("robot", "grater"), paths, strict=True)}
    chosen = [("grater", "robot")[i % 2] for i in range(len(frames["robot"]))]
    series = [frames[name][i] for i, name in enumerate(chosen)]
    others = [frames["robot" if name == "grater" else "grater"][i][:, :3] for i, name in enumerate(chosen)]
    return _series(series, _cells(paths[0], "True_states"), GRATING_CHANNELS) | {
        "frame": np.array(chosen),
        "xyz_other_frame": np.concatenate(others),
        "label_names": np.array(("reach", "grate", "trash")),
    }


def _read_rolling(paths: Sequence[Path]) -> Arrays:
    """Read the positions of the rolling of dough, n_dims x n_steps in the file."""
    series, labels = (_cells(paths[0], name)[::ROLLING_STRIDE] for name in ("Data", "True_states"))
    made = _series([one[:3].T for one in series], labels, ("x", "y", "z"))
    return made | {"rate_hz": np.array(100), "label_names": np.array(("reach", "roll", "back"))}


def _peeling(paths: Sequence[Path]) -> dict[int, tuple[FloatArray, NDArray[Any]]]:
    """Read the series of peeling, by their numbers from 1, both arms of each and its labels; n_dims x n_steps in files.

    The first file has series 4 and 5; two more, of data with the looks of the vegetable and of labels, have 1 to 3.
    """
    found = dict(enumerate(zip(_cells(paths[0], "Data_noObj"), _cells(paths[0], "True_states_noObj"), strict=True), 4))
    if len(paths) > 1:
        found |= dict(enumerate(zip(_cells(paths[1], "Data"), _cells(paths[2], "True_states"), strict=True), 1))
    return {number: (series[: len(PEELING_CHANNELS)].T, labels) for number, (series, labels) in sorted(found.items())}


def _read_peeling(paths: Sequence[Path]) -> Arrays:
    """Read those series of peeling, with all channels, that our tables rest on."""
    kept = {number: pair for number, pair in _peeling(paths).items() if number in KEPT_PEELING}
    return _peeling_arrays(kept, PEELING_CHANNELS)


def _read_peeling_positions(paths: Sequence[Path]) -> Arrays:
    """Read the positions of both arms of all series of peeling."""
    positions = {number: (steps[:, PEELING_POSITIONS], labels) for number, (steps, labels) in _peeling(paths).items()}
    return _peeling_arrays(positions, [PEELING_CHANNELS[dim] for dim in PEELING_POSITIONS])


def _peeling_arrays(series: dict[int, tuple[FloatArray, NDArray[Any]]], channels: Sequence[str]) -> Arrays:
    made = _series([steps for steps, _ in series.values()], [labels for _, labels in series.values()], channels)
    numbers: IntArray = np.array(list(series))
    return made | {"rate_hz": np.array(100), "series": numbers, "label_names": np.array(PEELING_LABELS)}


def _read_rat(paths: Sequence[Path]) -> Arrays:
    """Fit tensors to the first plane of the rat's hippocampus, voxels row by row, and class them by anisotropy."""
    plane = read_fdt(paths[0])[:, :, 0]
    n_rows, n_columns = plane.shape[:2]
    fit = fit_tensors(plane.reshape(n_rows * n_columns, -1), *read_gradients(paths[1]))
    anisotropies = fractional_anisotropy(fit.matrices)
    row, column = np.divmod(np.arange(n_rows * n_columns), n_columns)
    return {
        "matrices": fit.matrices,
        "labels": anisotropy_classes(anisotropies, RAT_BIN_WIDTH),
        "fa": anisotropies,
        "s0": fit.baselines,
        "row": row,
        "col": column,
        "grid": np.array([n_rows, n_columns]),
        "fa_bin_width": np.array(RAT_BIN_WIDTH),
    }


_PEELING = tuple(f"test-data/Peeling/{name}.mat" for name in ("proc-data-noObj", "proc-data-labeled", "proc-labels"))
_RAT = "datasets/fandtasia_demo/fandtasia_demo"

AUTHORS_SETS = (
    AuthorsSet("task_ellipsoids_6d.npz", CLUSTERING, ("datasets/6D-Grasps.mat",), _read_task, counts=(63, 21, 21)),
    AuthorsSet(
        "dti_rat_hippocampus.npz",
        CLUSTERING,
        (f"{_RAT}.fdt", f"{_RAT}.txt"),
        _read_rat,
        counts=(336, 118, 239, 331),
        note="its terms allow non-commercial research only and ask for permission before results are published",
    ),
    AuthorsSet("eth80_similarity.npz", CLUSTERING, ("datasets/ETH80_tau1.mat",), _read_eth80, counts=(10,) * 8),
    AuthorsSet(
        "grating_7d.npz",
        SEGMENTATION,
        tuple(f"test-data/Grating/CarrotGrating_{frame}.mat" for frame in ("robot", "grater")),
        _read_grating,
        counts=(5897, 26381, 2309),
    ),
    AuthorsSet(
        "rolling_pos3d.npz",
        SEGMENTATION,
        ("test-data/Rolling/proc-data-labeled.mat",),
        _read_rolling,
        counts=(6280, 10784, 6843),
    ),
    AuthorsSet("peeling_26d.npz", SEGMENTATION, _PEELING, _read_peeling, counts=(1713, 10427, 11774, 7232, 959)),
    AuthorsSet(
        "peeling_26d.npz",
        SEGMENTATION,
        _PEELING[:1],
        _read_peeling,
        note=f"without series 2, which {_PEELING[1]} and {_PEELING[2]} would give",
    ),
    AuthorsSet(
        "peeling_pos6d.npz",
        SEGMENTATION,
        _PEELING,
        _read_peeling_positions,
        counts=(2436, 18452, 21076, 10302, 2273),
    ),
)
"""All sets that can be made; of two with one name the second is for clones that lack a file."""


def how_to_get(file: str) -> str:
    """Return in words how to come by a missing data set."""
    repository = next((one.repository for one in AUTHORS_SETS if one.file == file), None)
    if repository is None:
        return "It cannot be made from the authors' files."
    return f"'python -m paper.authors' makes it from a clone of the authors' repository {repository}."


def main(argv: Sequence[str] | None = None) -> None:
    """Write every data set that can be made, and say of the others what is missing."""
    parser = build_parser()
    args = parser.parse_args(argv)
    made = import_sets(args.folder)
    for file, one in made.items():
        if one.arrays is not None:
            args.output.mkdir(parents=True, exist_ok=True)
            np.savez_compressed(args.output / file, **one.arrays)  # type: ignore[arg-type]
        print(f"{file}: {one.text}.")
    if all(one.arrays is None for one in made.values()):
        parser.error(f"{args.folder} holds nothing of the authors' repositories SPCM-CRP and ICSC-HMM.")


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the arguments."""
    parser = argparse.ArgumentParser(
        prog="python -m paper.authors", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="clone of a repository, or folder of clones")
    parser.add_argument("-o", "--output", metavar="DIR", type=Path, default=Path("data"), help="for the sets (data)")
    return parser


if __name__ == "__main__":
    main()
