"""The paper's series: as its table used them, and in full.

The paper's table names its sets by what was recorded. What was run is less: three position channels of six series for
grating, velocities of five series for rolling, the active arm's thirteen channels for peeling. Scores depend on it, so
both are here: the published input to compare like with like, the full one for what a user has.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from homothety.datasets import SequenceSet, make_toy_2d, read_sequences
from homothety.errors import InputError
from homothety.preprocessing import Preprocessing

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

TOY_SEED = 0

_POSITION, _QUATERNION = (0, 1, 2), (3, 4, 5, 6)
_ARM_GROUPS = (_POSITION, _QUATERNION, (7, 8, 9), (10, 11, 12))
_BOTH_ARMS = tuple(tuple(dim + 13 * arm for dim in group) for arm in (0, 1) for group in _ARM_GROUPS)
_ARM_WEIGHTS = (3.0,) * 3 + (1 / 2,) * 4 + (1 / 15,) * 3 + (1 / 2,) * 3  # position, quaternion, force, torque


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
    n_series : int, optional
        How many of the series to take, from the first on; by default all.
    n_channels : int, optional
        How many of the channels to take, from the first on; by default all.
    """

    title: str
    file: str
    preprocessing: Preprocessing = field(default_factory=lambda: Preprocessing(centre=None))
    n_series: int | None = None
    n_channels: int | None = None


SEQUENCE_RECIPES: dict[str, SequenceRecipe] = {
    "toy-2d": SequenceRecipe("Toy 2D", "toy_2d_seed0.npz"),
    "toy-2d-published": SequenceRecipe("Toy 2D, the authors' draw", "toy_2d_published.npz"),
    "grating": SequenceRecipe("Grating, 6 x 3-D", "grating_7d.npz", Preprocessing(centre="series"), 6, 3),
    "grating-full": SequenceRecipe(
        "Grating, 12 x 7-D",
        "grating_7d.npz",
        Preprocessing(centre="series", scale="std", groups=[_POSITION, _QUATERNION], quaternions=[_QUATERNION]),
    ),
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
    ),
    "peeling": SequenceRecipe(
        "Peeling, 13-D", "peeling_26d.npz", Preprocessing(centre="series", scale=_ARM_WEIGHTS), n_channels=13
    ),
    "peeling-full": SequenceRecipe(
        "Peeling, 26-D",
        "peeling_26d.npz",
        Preprocessing(centre="series", scale="std", groups=_BOTH_ARMS, quaternions=[_QUATERNION, tuple(range(16, 20))]),
    ),
    "peeling-positions": SequenceRecipe(
        "Peeling, 5 x 6-D positions", "peeling_pos6d.npz", Preprocessing(centre="series")
    ),
}
"""Key of each set: the plain name is what the paper's table was run on, as far as the recordings survive."""


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
    if not path.is_file() and key == "toy-2d":
        return make_toy_2d(TOY_SEED)
    recordings = _first_series(read_sequences(path, columns=_channels(recipe)), recipe.n_series)
    if not prepare:
        return recordings
    fitted = recipe.preprocessing.fit(recordings.sequences)
    prepared = list(fitted.transform(recordings.sequences))
    return replace(recordings, sequences=prepared, channels=fitted.name_dims(recordings.channels))


def load_sequence_sets(keys: Iterable[str], folder: Path) -> tuple[dict[str, SequenceSet], list[str]]:
    """Return the sets that are in the folder or can be made, by key, and a line about each of the others."""
    sets: dict[str, SequenceSet] = {}
    notes = []
    for key in keys:
        try:
            sets[key] = load_sequence_set(key, folder)
        except InputError as error:
            notes.append(f"{SEQUENCE_RECIPES[key].title if key in SEQUENCE_RECIPES else key}: skipped. {error}")
    return sets, notes


def _channels(recipe: SequenceRecipe) -> list[int] | None:
    return None if recipe.n_channels is None else list(range(recipe.n_channels))


def _first_series(recordings: SequenceSet, n_series: int | None) -> SequenceSet:
    """Return the first so many series with what is known of them."""
    return replace(
        recordings,
        sequences=recordings.sequences[:n_series],
        states=recordings.states and recordings.states[:n_series],
        actions=recordings.actions and recordings.actions[:n_series],
        names=recordings.names[:n_series],
    )
