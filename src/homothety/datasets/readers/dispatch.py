"""Choosing the reader by the name of the file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from homothety.covariance.landmarks import blocks_of
from homothety.datasets.readers.components import check_order
from homothety.datasets.readers.csv_files import read_csv
from homothety.datasets.readers.hdf5 import read_hdf5
from homothety.datasets.readers.matlab import read_mat
from homothety.datasets.readers.mne_files import read_epochs
from homothety.datasets.readers.nifti import read_nifti
from homothety.datasets.readers.numpy_files import read_npy, read_npz
from homothety.errors import InputError
from homothety.files import printable

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.datasets.readers.components import ComponentOrder
    from homothety.datasets.sets import MatrixSet

# Which options mean anything for which kind of file.
OPTIONS = {
    ".npy": frozenset[str](),
    ".npz": frozenset({"variable"}),
    ".mat": frozenset({"variable"}),
    ".h5": frozenset({"variable"}),
    ".hdf5": frozenset({"variable"}),
    ".csv": frozenset({"order"}),
    ".nii": frozenset({"order", "mask"}),
    ".nii.gz": frozenset({"order", "mask"}),
    ".fif": frozenset({"variable"}),
    ".fif.gz": frozenset({"variable"}),
}

# Matrices whose smallest eigenvalue is a smaller fraction of the largest do not count as positive definite.
MIN_RECIPROCAL_CONDITION = 1e-12


def read_matrices(
    path: str | Path,
    *,
    variable: str | None = None,
    order: ComponentOrder | None = None,
    mask: str | Path | ArrayLike | None = None,
    only_spd: bool = False,
) -> MatrixSet:
    """Read covariance matrices from a file.

    Parameters
    ----------
    path : str or Path
        What it ends in decides how it is read:

        - ``.npy``: an array of shape (n_matrices, n_dims, n_dims);
        - ``.npz``: such an array called ``matrices``, or the only 3-D one; ``labels``, ``grid``, ``positions`` and
          ``affine`` too if they are there. A grid without positions is taken voxel by voxel in row-major order;
        - ``.h5``, ``.hdf5``: the same, arrays inside groups by their paths. Needs ``homothety[hdf5]``;
        - ``.mat`` (version 7.3 needs ``homothety[hdf5]``): an N x N x M or M x N x N array, a cell array of matrices,
          or a cell or struct array with a field of them, taken row by row; the variable called ``matrices``, or the
          only such one; ``labels`` too if there are any;
        - ``.csv``: one matrix per row, all N*N entries or the N*(N+1)/2 distinct ones, with or without a header, and a
          column of labels if the header calls it ``label``; cells are parted by commas, semicolons or tabs;
        - ``.nii``, ``.nii.gz``: diffusion tensors of shape (x, y, z, 6) or (x, y, z, 1, 6). Needs ``homothety[dti]``;
        - ``.fif``, ``.fif.gz``: epochs of MNE, as the covariances of the channels in each, shrunk a little so that they
          are positive definite, and labelled by event. Needs ``homothety[mne]``.
    variable : str, optional
        Name of the array in an ``.npz``, ``.h5`` or ``.mat`` file; ``"name.field"`` for a field of MATLAB structs; the
        kind of channel in a ``.fif`` file, such as ``"eeg"``, where there are several.
    order : {"upper", "lower", "diagonal", "fsl", "nifti", "dipy", "mrtrix"}, optional
        In which order the distinct entries are listed: by rows of the upper triangle ("upper", "fsl"), by rows of the
        lower triangle ("lower", "nifti", "dipy"), or diagonal first, then the upper triangle ("diagonal", "mrtrix").
        By default "upper" for ``.csv``, and "nifti" for images of 5 dimensions whose intent is a symmetric matrix;
        other images say nothing of it, so for them it must be given.
    mask : str, Path or array_like of shape (x, y, z), optional
        Which voxels of a NIfTI image to read: those where the mask is not 0. By default those whose tensor is neither
        all zeros nor all NaN.
    only_spd : bool, default False
        Leave out matrices that are not positive definite, of which tensor fits usually leave a few.

    Returns
    -------
    matrices : MatrixSet
        Labels are None where the file has none; images have their grid, positions and affine.

    Raises
    ------
    InputError
        When the file is missing, broken, of another kind or shape, or holds NaN or asymmetric matrices.
    ImportError
        When the library for a format is not installed; the message says which extra of homothety brings it.
    """
    path = Path(path)
    suffix = _suffix(path)
    _check_options(
        suffix, path, {"variable": variable is not None, "order": order is not None, "mask": mask is not None}
    )
    if order is not None:
        check_order(order)
    if not path.is_file():
        raise InputError(f"{path} is not there or not a file. Check the name and the folder.")
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty, needed covariance matrices. Export it again.")
    match suffix:
        case ".npy":
            matrices = read_npy(path)
        case ".npz":
            matrices = read_npz(path, variable)
        case ".mat":
            matrices = read_mat(path, variable)
        case ".h5" | ".hdf5":
            matrices = read_hdf5(path, variable)
        case ".csv":
            matrices = read_csv(path, order)
        case ".fif" | ".fif.gz":
            matrices = read_epochs(path, variable)
        case _:
            matrices = read_nifti(path, order, mask)
    matrices = replace(matrices, name=printable(matrices.name))
    return keep_spd(matrices, path)[0] if only_spd else matrices


def _suffix(path: Path) -> str:
    """Return which kind of file this is by its name, or raise listing the kinds there are."""
    for suffix in OPTIONS:
        if path.name.lower().endswith(suffix):
            return suffix
    raise InputError(
        f"{path} ends in {path.suffix or 'nothing'!r}, needed one of {', '.join(OPTIONS)}. Convert it first."
    )


def _check_options(suffix: str, path: Path, given: dict[str, bool]) -> None:
    """Raise for an option that would be ignored."""
    for option, is_given in given.items():
        if is_given and option not in OPTIONS[suffix]:
            kinds = ", ".join(kind for kind, options in OPTIONS.items() if option in options)
            raise InputError(f"{option} means nothing for {path}: it applies to {kinds}. Leave it out.")


def positive_definite(matrices: FloatArray, least: float = MIN_RECIPROCAL_CONDITION) -> BoolArray:
    """Say which of `matrices` (n_matrices, n_dims, n_dims) have no eigenvalue below a share of their largest."""
    is_spd = np.empty(len(matrices), dtype=bool)
    for rows in blocks_of(len(matrices)):
        eigenvalues = np.linalg.eigvalsh(matrices[rows])
        is_spd[rows] = eigenvalues[:, 0] > least * np.abs(eigenvalues[:, -1])
    return is_spd


def keep_spd(items: MatrixSet, path: Path, least: float = MIN_RECIPROCAL_CONDITION) -> tuple[MatrixSet, IntArray]:
    """Return those of the matrices just read that are positive definite, and their numbers, or raise if none is.

    None of their eigenvalues is below the share `least` of the largest one.

    They move to the front of the array they are in, over the others: a copy would take as much memory again.
    """
    kept, matrices = np.flatnonzero(positive_definite(items.matrices, least)), items.matrices
    if len(kept) == 0:
        raise InputError(f"{path}: none of {len(items)} matrices is positive definite. Check what the file holds.")
    for rows in blocks_of(len(kept)):
        matrices[rows] = matrices[kept[rows]]
    labels, positions = (None if one is None else one[kept] for one in (items.labels, items.positions))
    return replace(items, matrices=matrices[: len(kept)], labels=labels, positions=positions), kept
