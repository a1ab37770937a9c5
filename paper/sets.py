"""The paper's data sets: read from a folder, or made where the paper says how."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.covariance import sample_covariances
from homothety.datasets import MatrixSet, make_toy_3d, make_toy_6d
from homothety.errors import InputError
from paper.authors import how_to_get

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from homothety.arrays import FloatArray

IMAGE_RIDGE = 1e-3  # of the trace: 41 images leave a covariance of 400 pixels without full rank
TOY_SEED = 0

RESTRICTED_NOTE = (
    "‡ The terms of this data set allow non-commercial research only and ask for permission before results are "
    "published. Do not publish or redistribute these rows."
)


@dataclass(frozen=True, eq=False)
class LabelledSet:
    """What a table has to know of a data set, whatever is in it.

    Parameters
    ----------
    key, title : str
        What commands and tables call it.
    labels : ndarray of shape (n_items,)
        True classes of its items: matrices, or steps of series.
    restricted : bool
        Whether its terms forbid publishing results without permission.
    printed_as : str
        Key of the rows of the paper's tables to compare with, if they are not those of `key`.
    """

    key: str
    title: str
    labels: NDArray[Any]
    restricted: bool = field(default=False, kw_only=True)
    printed_as: str = field(default="", kw_only=True)

    @property
    def paper_key(self) -> str:
        """Key of its rows in the paper's tables."""
        return self.printed_as or self.key

    @property
    def n_classes(self) -> int:
        """Number of true classes."""
        return len(np.unique(self.labels))

    @property
    def heading(self) -> str:
        """Title as tables show it, with a mark if results may not be published."""
        return self.title + " ‡" * self.restricted

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, eq=False)
class PaperSet(LabelledSet):
    """One of the paper's sets of matrices, ready to be clustered.

    Parameters
    ----------
    key, title, labels, restricted, printed_as
        See `LabelledSet`.
    items : ndarray of shape (n_items, n_dims, n_dims) or (n_items, n_items)
        Covariance matrices; or their similarity if the measure is "precomputed".
    measure : str
        Similarity to use where the paper uses its own.
    tolerance : float
        The paper's tau in Table 3.
    """

    items: FloatArray
    measure: str = "bspcm"
    tolerance: float = 1.0


@dataclass(frozen=True)
class Recipe:
    """How to get a data set: which array of which file, and what to do with it or without it.

    Without a file the set is made in any case.
    """

    title: str
    file: str | None
    array: str = "matrices"
    prepare: Callable[[NDArray[Any]], FloatArray] = np.asarray
    make: Callable[[int], MatrixSet] | None = None
    measure: str = "bspcm"
    tolerance: float = 1.0
    restricted: bool = False
    printed_as: str = ""


def make_scaled_toy(seed: int) -> MatrixSet:
    """Make the 6-D toy as the authors' program does, with a scale for each matrix instead of each shape."""
    return make_toy_6d(seed, scale="matrix", spectra="published")


def image_covariances(images: NDArray[Any]) -> FloatArray:
    """Return one covariance of the pixels per set of images (n_sets, n_images, n_pixels), with a ridge."""
    return sample_covariances(images.astype(np.float64), ddof=1, ridge=IMAGE_RIDGE)


_IMAGES = {"file": "eth80_images_20x20.npz", "array": "images", "prepare": image_covariances}

RECIPES: dict[str, Recipe] = {
    "toy-3d": Recipe("Toy 3D", "toy_3d.npz", make=make_toy_3d),
    "toy-6d": Recipe("Toy 6D", "toy_6d_seed0.npz", make=make_toy_6d),
    "toy-6d-scaled": Recipe("Toy 6D, scaled", None, make=make_scaled_toy, printed_as="toy-6d"),
    "task": Recipe("Task ellipsoids", "task_ellipsoids_6d.npz"),
    "dti": Recipe("Synthetic DTI", "dti_synthetic.npz", tolerance=10.0),
    "rat": Recipe("Rat DTI", "dti_rat_hippocampus.npz", tolerance=10.0, restricted=True),
    "eth80": Recipe("ETH-80, authors' similarity", "eth80_similarity.npz", "similarity", measure="precomputed"),
    "eth80-images": Recipe("ETH-80 images, by shape", **_IMAGES),  # type: ignore[arg-type]
    "eth80-images-lerm": Recipe("ETH-80 images, LERM", measure="lerm", **_IMAGES),  # type: ignore[arg-type]
}


def load_sets(keys: Iterable[str], folder: Path) -> tuple[list[PaperSet], list[str]]:
    """Return those sets that are in the folder or can be made, and a line about each of the others.

    Parameters
    ----------
    keys : iterable of str
        Of `RECIPES`.
    folder : Path
        Where the files are; it need not exist.
    """
    sets, notes = [], []
    for key in keys:
        recipe = RECIPES[key]
        path = folder / (recipe.file or "")
        if path.is_file():
            sets.append(_read_set(key, recipe, path))
        elif recipe.make is not None:
            sets.append(_make_set(key, recipe, recipe.make))
            if recipe.file:
                notes.append(made_anew(recipe.title, path))
        else:
            notes.append(skipped(recipe.title, path))
    return sets, notes


def made_anew(title: str, path: Path) -> str:
    """Return the line about a set that was made because its file is missing."""
    return f"{title}: {path} is not there, so it was generated anew with seed {TOY_SEED}."


def skipped(title: str, path: Path) -> str:
    """Return the line about a set whose file is missing and that nothing generates, and how to get it."""
    return f"{title}: skipped, {path} is not there. {how_to_get(path.name)}"


def choose_sets(wanted: str | None, available: Sequence[str]) -> list[str]:
    """Return the keys in a comma-separated text, in the order of the table, or raise for one that is not in it."""
    if wanted is None:
        return list(available)
    chosen = {key.strip() for key in wanted.split(",")}
    unknown = sorted(chosen.difference(available))
    if unknown:
        raise InputError(f"There is no set {unknown[0]!r} here, only {', '.join(available)}.")
    return [key for key in available if key in chosen]


def _read_set(key: str, recipe: Recipe, path: Path) -> PaperSet:
    """Read a set from its file, or raise naming the file."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            array, labels = archive[recipe.array], archive["labels"]
    except (KeyError, OSError, ValueError, zipfile.BadZipFile) as error:
        reason = " ".join(str(error).split()).strip("'.")
        raise InputError(f"{path} cannot be read: {reason}. Needed arrays {recipe.array!r} and 'labels'.") from error
    return _finish_set(key, recipe, recipe.prepare(array), labels)


def _make_set(key: str, recipe: Recipe, make: Callable[[int], MatrixSet]) -> PaperSet:
    """Make a set by its recipe."""
    made = make(TOY_SEED)
    return _finish_set(key, recipe, made.matrices, np.asarray(made.labels))


def _finish_set(key: str, recipe: Recipe, items: FloatArray, labels: NDArray[Any]) -> PaperSet:
    return PaperSet(
        key,
        recipe.title,
        labels,
        items,
        recipe.measure,
        recipe.tolerance,
        restricted=recipe.restricted,
        printed_as=recipe.printed_as,
    )
