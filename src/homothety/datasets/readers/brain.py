"""Recordings of the brain: epochs of EEG and MEG by MNE, diffusion tensors in NIfTI images, and label images."""

from __future__ import annotations

from itertools import pairwise
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.archives import check_size
from homothety.datasets.readers.checks import (
    blame_file,
    check_order,
    check_stack,
    entries_of,
    require,
    whole_series,
)
from homothety.datasets.sets import MatrixSet
from homothety.errors import InputError
from homothety.phrases import cluster_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.covariance.estimate import Shrinkage
    from homothety.datasets.readers.checks import Columns
    from homothety.datasets.sets import SequenceSet

_FIF_REMEDY = "Needed epochs as MNE writes them: epochs.save('name-epo.fif')."
_SYMMETRIC_MATRIX_INTENT = 1005
_N_COMPONENTS, _N_DIMS = 6, 3
_N_SLABS = 8  # in which each component of an image is read: what is in memory besides the tensors is one of them
NIFTI_SUFFIXES = (".nii", ".nii.gz")
_NIFTI_REMEDY = "Check that it is a complete NIfTI image."

# Affines that differ by less (in millimetres) are one: headers store them in single precision, in two ways.
_AFFINE_TOLERANCE = 1e-3


# --- epochs -----------------------------------------------------------------------------------------------------------


def read_epochs(path: Path, variable: str | None) -> MatrixSet:
    """Read one covariance matrix per epoch of a .fif file, labelled by its event."""
    return epochs_covariances(_load_epochs(path), kind=variable, name=_stem(path, ".fif"))


def read_epochs_series(path: Path, columns: Columns, variable: str | None) -> SequenceSet:
    """Read one recording per epoch of a .fif file."""
    epochs = _load_epochs(path)
    data, channels = _measured(epochs, variable, str(path))
    series = [np.ascontiguousarray(one.T) for one in data]
    names = tuple(f"{_stem(path, '.fif')} {i}" for i in range(len(series)))
    return whole_series(series, columns, channels, path, names=names, rate=float(epochs.info["sfreq"]))


def epochs_covariances(
    epochs: Any, *, kind: str | None = None, shrinkage: Shrinkage = "ledoit-wolf", name: str = "epochs"
) -> MatrixSet:
    """Return the covariance of the channels in each epoch.

    Parameters
    ----------
    epochs : mne.Epochs
        Bad channels are left out, as everywhere in MNE.
    kind : str, optional
        Which channels, such as ``"eeg"`` or ``"mag"``; needed where there are several kinds, whose units differ.
    shrinkage : {"ledoit-wolf", "oas"}, float or None, default="ledoit-wolf"
        See `sample_covariance`. Without any, epochs of few samples, or an average reference, leave matrices that are
        not positive definite.
    name : str, default="epochs"
        What the set is called in tables and figures.

    Returns
    -------
    covariances : MatrixSet
        Their labels are the names of the events.
    """
    from homothety.covariance import sample_covariances  # here, because reading anything else needs none of it

    data, _ = _measured(epochs, kind, name)
    covariances = sample_covariances(np.swapaxes(data, 1, 2), shrinkage=shrinkage)
    return MatrixSet(check_stack(covariances, name), _events(epochs), name)


def _measured(epochs: Any, kind: str | None, item: str) -> tuple[FloatArray, tuple[str, ...]]:
    """Return the data of one kind of channel, shape (n_epochs, n_channels, n_times), and the names of the channels."""
    kinds = sorted(set(epochs.get_channel_types(picks="data")))
    if (kind is None and len(kinds) != 1) or (kind is not None and kind not in kinds):
        found = ", ".join(kinds) or "none"
        raise InputError(
            f"{item} has channels of these kinds: {found}; needed one of them. Choose with variable=.", "variable"
        )
    chosen = epochs.copy().pick(kind or kinds[0], exclude="bads")
    if len(chosen) == 0:
        raise InputError(f"{item} has no epochs that were not dropped, needed at least one.")
    return chosen.get_data(), tuple(chosen.ch_names)


def _load_epochs(path: Path) -> Any:
    """Load the epochs in a file."""
    mne = require("mne", "mne", f"Reading {path}")
    with blame_file(path, _FIF_REMEDY):
        return mne.read_epochs(path, verbose="ERROR")


def _events(epochs: Any) -> NDArray[Any]:
    """Return the name of the event of every epoch."""
    names = {number: name for name, number in epochs.event_id.items()}
    return np.array([names.get(number, str(number)) for number in epochs.events[:, 2].tolist()])


# --- tensor images ----------------------------------------------------------------------------------------------------


def read_nifti(path: Path, order: str | None, mask: str | Path | ArrayLike | None) -> MatrixSet:
    """Read one tensor per voxel of a mask, with its position and the image's affine.

    A compressed image is decompressed once, and once more beforehand to find its voxels if there is no mask.
    """
    image = _open_image(path)
    order = _resolve_order(order, image, path)
    grid, affine = image.shape[:3], np.asarray(image.affine, dtype=np.float64)
    inside = _find_tissue(image, path) if mask is None else _load_mask(mask, grid, affine)
    if not inside.any():
        raise InputError(f"{path}: no voxel is inside the mask, needed at least one with a tensor.")
    positions = np.argwhere(inside)
    tensors = _read_tensors(image, inside, positions, order, path)
    return MatrixSet(tensors, None, _stem(path, ".nii"), grid, positions, affine)


def write_label_image(path: str | Path, labels: ArrayLike, source: MatrixSet) -> None:
    """Write one label per voxel as a NIfTI image that overlays on the image the matrices came from.

    Parameters
    ----------
    path : str or Path
        Ends in .nii or .nii.gz.
    labels : array_like of shape (n_matrices,)
        Label of each matrix of `source`, in its order. The image holds 1 for the smallest label, 2 for the next, and
        so on; voxels without a matrix are 0.
    source : MatrixSet
        What the labels are of: read from a NIfTI image, or on a grid of another origin, which then gets a plain affine.
    """
    path = Path(path)
    if not path.name.lower().endswith(NIFTI_SUFFIXES):
        raise InputError(f"{path} does not end in .nii or .nii.gz, needed the name of a NIfTI image.")
    nibabel = require("nibabel", "dti", "A NIfTI image")
    numbers = cluster_number(np.unique(np.asarray(labels), return_inverse=True)[1])
    image = source.to_image(numbers.astype(np.int32))
    volume = image.reshape(image.shape + (1,) * (3 - image.ndim))
    affine = np.eye(4) if source.affine is None else source.affine
    nifti = nibabel.Nifti1Image(volume, affine)
    nifti.header.set_intent("label")
    nifti.header.set_xyzt_units("mm")
    nibabel.save(nifti, path)


def _open_image(path: Path) -> Any:
    """Return a tensor image of which nothing but the header is read yet, or raise if it is of another kind."""
    nibabel = require("nibabel", "dti", "A NIfTI image")
    with blame_file(path, _NIFTI_REMEDY):
        # Kept open, a compressed file is not decompressed from its beginning for every slab.
        image = nibabel.load(path, keep_file_open=True)
    # Along the fourth axis, or, NIfTI's own way, along the fifth.
    if image.shape[3:] not in ((_N_COMPONENTS,), (1, _N_COMPONENTS)):
        raise InputError(
            f"{path} has shape {image.shape}, needed a tensor image of shape (x, y, z, 6) or (x, y, z, 1, 6). "
            "Fit tensors to diffusion-weighted images first."
        )
    n_voxels = prod(image.shape[:3])  # what finding the voxels takes, whatever the file has behind its header
    check_size(2 * n_voxels + n_voxels * 8 // _N_SLABS, path.stat().st_size, str(path))
    if image.dataobj.dtype.kind not in "iuf":
        raise InputError(f"{path} holds values of type {image.dataobj.dtype}, needed real numbers.")
    return image


def _resolve_order(order: str | None, image: Any, path: Path) -> str:
    """Return the order of the components: the one asked for, or the one that the image states."""
    if order is not None:
        return check_order(order)
    if int(image.header["intent_code"]) == _SYMMETRIC_MATRIX_INTENT and len(image.shape) == 5:
        return check_order("nifti")
    raise InputError(
        f"{path} does not say in which order its six components are. Pass order='fsl' for xx, xy, xz, yy, yz, zz, "
        "order='mrtrix' for xx, yy, zz, xy, xz, yz, or order='dipy' for xx, xy, yy, xz, yz, zz.",
        "order",
    )


def _read_slabs(image: Any, path: Path) -> Iterator[tuple[int, slice, NDArray[Any]]]:
    """Yield all values in the order they have in the file: component, slab of the third axis, values (x, y, slab)."""
    *plane, depth = image.shape[:3]
    bounds = np.linspace(0, depth, min(_N_SLABS, depth) + 1).astype(int).tolist()
    for component in range(_N_COMPONENTS):
        for start, stop in pairwise(bounds):
            with blame_file(path, _NIFTI_REMEDY):
                values = image.dataobj[:, :, start:stop, ..., component]
            yield component, slice(start, stop), values.reshape(*plane, stop - start)


def _find_tissue(image: Any, path: Path) -> BoolArray:
    """Tell which voxels hold a tensor: background is all zeros or all NaN."""
    inside = np.zeros(image.shape[:3], dtype=bool)
    for _, slab, values in _read_slabs(image, path):
        inside[:, :, slab] |= (values != 0) & ~np.isnan(values)
    return inside


def _read_tensors(image: Any, inside: BoolArray, positions: IntArray, order: str, path: Path) -> FloatArray:
    """Return the tensors of the voxels inside, (n_voxels, 3, 3), or raise if one holds anything but numbers."""
    tensors = np.empty((len(positions), _N_DIMS, _N_DIMS))
    bad, depths = np.zeros(len(positions), dtype=bool), positions[:, 2]
    entries = list(zip(*entries_of(order, _N_DIMS), strict=True))
    for component, slab, values in _read_slabs(image, path):
        rows = np.flatnonzero((depths >= slab.start) & (depths < slab.stop))
        row, column = entries[component]
        tensors[rows, row, column] = tensors[rows, column, row] = values[inside[:, :, slab]]
        bad[rows] |= ~np.isfinite(tensors[rows, row, column])
    if bad.any():
        voxel = tuple(positions[bad.argmax()].tolist())
        raise InputError(
            f"{path}: the tensor of voxel {voxel} holds NaN or infinity ({int(bad.sum())} such of {len(bad)}). "
            "Leave such voxels out with mask=.",
            "mask",
        )
    return tensors


def _load_mask(mask: str | Path | ArrayLike, grid: tuple[int, ...], affine: FloatArray) -> BoolArray:
    """Return a mask of the grid's shape from a file or an array; anything but zero is inside."""
    values = _read_mask_file(Path(mask), affine) if isinstance(mask, str | Path) else np.asarray(mask)
    if values.shape != grid:
        source = mask if isinstance(mask, str | Path) else "mask"
        raise InputError(f"{source} has shape {values.shape}, needed {grid}, that of the tensor image.")
    return (values != 0) & ~np.isnan(values)


def _read_mask_file(path: Path, affine: FloatArray) -> NDArray[Any]:
    """Return the values of a mask image on the same voxels as the tensors."""
    nibabel = require("nibabel", "dti", "A NIfTI image")
    with blame_file(path, "A mask is a NIfTI image on the voxels of the tensor image."):
        image = nibabel.load(path)
        check_size(prod(image.shape) * image.dataobj.dtype.itemsize, path.stat().st_size, str(path))
        values, mask_affine = np.asarray(image.dataobj), np.asarray(image.affine)
    if not np.allclose(mask_affine, affine, atol=_AFFINE_TOLERANCE):
        raise InputError(
            f"{path} lies elsewhere than the tensor image: their affines differ. "
            "Resample the mask to the tensor image, or pass it as an array if its voxels are the same after all."
        )
    # Masks are often stored with a fourth axis of length one.
    return values[..., 0] if values.ndim == 4 and values.shape[3] == 1 else values


def _stem(path: Path, suffix: str) -> str:
    """Return a file's name without its suffix, which may be followed by .gz."""
    return path.name.removesuffix(".gz").removesuffix(suffix)
