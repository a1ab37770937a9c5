"""The paper's series: as its table used them, and in full.

The paper's table names its sets by what was recorded. What was run is less: three position channels of six series for
grating, velocities of five series for rolling, the active arm's thirteen channels for peeling. Scores depend on it, so
both are here: the published input to compare like with like, the full one for what a user has.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from homothety.datasets import SequenceSet, make_toy_2d, read_sequences
from homothety.errors import InputError
from homothety.preprocessing import Preprocessing
from paper.sets import TOY_SEED, LabelledSet, made_anew, skipped

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from homothety.arrays import FloatArray

_POSITION, _QUATERNION = (0, 1, 2), (3, 4, 5, 6)
_ARM_GROUPS = (_POSITION, _QUATERNION, (7, 8, 9), (10, 11, 12))
_BOTH_ARMS = tuple(tuple(dim + 13 * arm for dim in group) for arm in (0, 1) for group in _ARM_GROUPS)
_ARM_WEIGHTS = (3.0,) * 3 + (1 / 2,) * 4 + (1 / 15,) * 3 + (1 / 2,) * 3  # position, quaternion, force, torque


@dataclass(frozen=True, eq=False)
class SeriesSet(LabelledSet):
    """One of the paper's sets of series, ready to be segmented.

    Parameters
    ----------
    key, title, labels, restricted, printed_as
        See `LabelledSet`; the items are the steps of all series, one series after the other, and their labels the true
        actions.
    sequences : list of ndarray of shape (n_steps_i, n_dims)
        Prepared as the recipe says.
    """

    sequences: list[FloatArray]


@dataclass(frozen=True)
class SequenceRecipe:
    """Which part of which file a set is, and how its recordings are prepared.

    Parameters
    ----------
    title : str
        What tables call it.
    file : str
        Name in the folder of data sets.
    preprocessing : Preprocessing
    n_recordings : int, optional
        How many of the series to take, from the first on; by default all.
    n_channels : int, optional
        How many of the channels to take, from the first on; by default all.
    printed_as : str
        Key of the rows of the paper's table to compare with, if they are not those of the set's own key.
    """

    title: str
    file: str
    preprocessing: Preprocessing = field(default_factory=lambda: Preprocessing(centre=None))
    n_recordings: int | None = None
    n_channels: int | None = None
    printed_as: str = ""


# What a user has of the grating recordings: vectors of one unit each, scaled as one.
_WHOLE_GRATING = Preprocessing(centre="series", scale="std", groups=[_POSITION, _QUATERNION], quaternions=[_QUATERNION])

SEQUENCE_RECIPES: dict[str, SequenceRecipe] = {
    "toy-2d": SequenceRecipe("Toy 2D", "toy_2d_seed0.npz"),
    "toy-2d-published": SequenceRecipe("Toy 2D, the authors' draw", "toy_2d_published.npz", printed_as="toy-2d"),
    "grating": SequenceRecipe("Grating, 6 x 3-D", "grating_7d.npz", Preprocessing(centre="series"), 6, 3),
    "grating-7d": SequenceRecipe("Grating, 6 x 7-D", "grating_7d.npz", _WHOLE_GRATING, 6, printed_as="grating"),
    "grating-full": SequenceRecipe("Grating, 12 x 7-D", "grating_7d.npz", _WHOLE_GRATING, printed_as="grating"),
    # Metres per second (recorded at 100 Hz) weighted by ten. The derivative of the local cubic stands for the authors'
    # smoothed first difference, from which it differs by a few percent.
    "rolling": SequenceRecipe(
        "Rolling, velocities",
        "rolling_pos3d.npz",
        Preprocessing(centre="series", smooth=151, velocities="replace", scale=(1000.0,) * 3),
    ),
    "rolling-full": SequenceRecipe(
        "Rolling, positions and velocities",
        "rolling_pos3d.npz",
        Preprocessing(centre="series", smooth=13, velocities="append", scale="std", groups=[_POSITION]),
        printed_as="rolling",
    ),
    "peeling": SequenceRecipe(
        "Peeling, 13-D", "peeling_26d.npz", Preprocessing(centre="series", scale=_ARM_WEIGHTS), n_channels=13
    ),
    "peeling-full": SequenceRecipe(
        "Peeling, 26-D",
        "peeling_26d.npz",
        Preprocessing(centre="series", scale="std", groups=_BOTH_ARMS, quaternions=[_QUATERNION, tuple(range(16, 20))]),
        printed_as="peeling",
    ),
    "peeling-positions": SequenceRecipe(
        "Peeling, 5 x 6-D positions", "peeling_pos6d.npz", Preprocessing(centre="series"), printed_as="peeling"
    ),
}
"""Key of each set: the plain name is what the paper's table was run on, as far as the recordings survive."""

MADE = {"toy-2d": make_toy_2d}
"""How to make the sets that need no file, from a seed."""


def load_sequence_set(key: str, folder: Path, *, prepare: bool = True) -> SequenceSet:
    """Return one of the paper's sets of series, or raise if its file is not there and it cannot be made.

    Parameters
    ----------
    key : str
        Of `SEQUENCE_RECIPES`.
    folder : Path
        Where the files are.
    prepare : bool, default=True
        Whether to prepare the recordings as the recipe says, or return them raw.

    Returns
    -------
    recordings : SequenceSet
        Its `actions` are the true labels. The toy has true `states` too.
    """
    if key not in SEQUENCE_RECIPES:
        raise InputError(f"There is no set {key!r} here, only {', '.join(SEQUENCE_RECIPES)}.")
    recipe = SEQUENCE_RECIPES[key]
    path = folder / recipe.file
    if not path.is_file() and key in MADE:
        return MADE[key](TOY_SEED)
    recordings = _first_series(read_sequences(path, columns=_channels(recipe)), recipe.n_recordings)
    if not prepare:
        return recordings
    fitted = recipe.preprocessing.fit(recordings.sequences)
    prepared = list(fitted.transform(recordings.sequences))
    return replace(recordings, sequences=prepared, channels=fitted.name_dims(recordings.channels))


def load_sequence_sets(keys: Iterable[str], folder: Path) -> tuple[list[SeriesSet], list[str]]:
    """Return the sets that are in the folder or can be made, and a line about each of the others.

    Parameters
    ----------
    keys : iterable of str
        Of `SEQUENCE_RECIPES`.
    folder : Path
        Where the files are; it need not exist.
    """
    sets, notes = [], []
    for key in keys:
        recipe = SEQUENCE_RECIPES[key]
        path = folder / recipe.file
        if path.is_file() or key in MADE:
            sets.append(_labelled(key, recipe, load_sequence_set(key, folder)))
            notes += [] if path.is_file() else [made_anew(recipe.title, path)]
        else:
            notes.append(skipped(recipe.title, path))
    return sets, notes


def _labelled(key: str, recipe: SequenceRecipe, recordings: SequenceSet) -> SeriesSet:
    """Return recordings as a table wants them, or raise if their actions are not known."""
    if recordings.actions is None:
        raise InputError(f"{recipe.file} has no labels, needed the action of every step to compare with.")
    labels = np.concatenate(recordings.actions)
    return SeriesSet(key, recipe.title, labels, recordings.sequences, printed_as=recipe.printed_as)


def _channels(recipe: SequenceRecipe) -> list[int] | None:
    return None if recipe.n_channels is None else list(range(recipe.n_channels))


def _first_series(recordings: SequenceSet, n_recordings: int | None) -> SequenceSet:
    """Return the first so many series with what is known of them."""
    return replace(
        recordings,
        sequences=recordings.sequences[:n_recordings],
        states=recordings.states and recordings.states[:n_recordings],
        actions=recordings.actions and recordings.actions[:n_recordings],
        names=recordings.names[:n_recordings],
    )
