"""Diffusion tensors from NIfTI images, and label images back to NIfTI."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.datasets.matrix_set import MatrixSet
from homothety.datasets.readers.checks import blame_file, check_stack
from homothety.datasets.readers.components import check_order, unpack_symmetric
from homothety.datasets.readers.options import require
from homothety.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from homothety.arrays import BoolArray, FloatArray, IntArray

SYMMETRIC_MATRIX_INTENT = 1005
N_COMPONENTS = 6
NIFTI_SUFFIXES = (".nii", ".nii.gz")

# Affines that differ by less (in millimetres) are one: headers store them in single precision, in two ways.
AFFINE_TOLERANCE = 1e-3


def read_nifti(path: Path, order: str | None, mask: str | Path | ArrayLike | None) -> MatrixSet:
    """Read one tensor per voxel of a mask, with its position and the image's affine."""
    components, affine, stored_order = _load_components(path)
    order = _resolve_order(order, stored_order, path)
    grid = components.shape[:3]
    inside = _is_tissue(components) if mask is None else _load_mask(mask, grid, affine)
    if not inside.any():
        raise InputError(f"{path}: no voxel is inside the mask, needed at least one with a tensor.")
    positions, components = np.argwhere(inside), components[inside]
    _check_voxels(components, positions, path)
    matrices = check_stack(unpack_symmetric(components, order), str(path))
    return MatrixSet(matrices, None, _stem(path), grid, positions, affine)


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
    numbers = np.unique(np.asarray(labels), return_inverse=True)[1] + 1
    image = source.to_image(numbers.astype(np.int32))
    volume = image.reshape(image.shape + (1,) * (3 - image.ndim))
    affine = np.eye(4) if source.affine is None else source.affine
    nifti = nibabel.Nifti1Image(volume, affine)
    nifti.header.set_intent("label")
    nifti.header.set_xyzt_units("mm")
    nibabel.save(nifti, path)


def _load_components(path: Path) -> tuple[NDArray[Any], FloatArray, str | None]:
    """Return components of shape (x, y, z, 6), the affine, and their order if the image itself fixes it."""
    nibabel = require("nibabel", "dti", "A NIfTI image")
    with blame_file(path, "Check that it is a complete NIfTI image."):
        image = nibabel.load(path)
        # Before the values: an image of another kind can be very large.
        _check_image_shape(image.shape, path)
        components = np.asarray(image.dataobj).reshape((*image.shape[:3], N_COMPONENTS))
        is_symmetric_matrix = int(image.header["intent_code"]) == SYMMETRIC_MATRIX_INTENT
    affine = np.asarray(image.affine, dtype=np.float64)
    return components, affine, "nifti" if is_symmetric_matrix and len(image.shape) == 5 else None


def _check_image_shape(shape: tuple[int, ...], path: Path) -> None:
    """Raise unless an image has six components per voxel, along its fourth axis or, NIfTI's own way, its fifth."""
    if shape[3:] not in ((N_COMPONENTS,), (1, N_COMPONENTS)):
        raise InputError(
            f"{path} has shape {shape}, needed a tensor image of shape (x, y, z, 6) or (x, y, z, 1, 6). "
            "Fit tensors to diffusion-weighted images first."
        )


def _resolve_order(order: str | None, stored_order: str | None, path: Path) -> str:
    """Return the order of the components: as told, or as the image says."""
    if order is not None:
        return check_order(order)
    if stored_order is None:
        raise InputError(
            f"{path} does not say in which order its six components are. Pass order='fsl' for xx, xy, xz, yy, yz, zz, "
            "order='mrtrix' for xx, yy, zz, xy, xz, yz, or order='dipy' for xx, xy, yy, xz, yz, zz."
        )
    return stored_order


def _is_tissue(components: NDArray[Any]) -> BoolArray:
    """Tell which voxels hold a tensor: background is all zeros or all NaN."""
    is_nothing: BoolArray = ((components == 0) | np.isnan(components)).all(axis=-1)
    return ~is_nothing


def _check_voxels(components: NDArray[Any], positions: IntArray, path: Path) -> None:
    """Raise if a voxel to be read holds anything but numbers."""
    if components.dtype.kind not in "iuf":
        raise InputError(f"{path} holds values of type {components.dtype}, needed real numbers.")
    bad: BoolArray = ~np.isfinite(components).all(axis=1)
    if bad.any():
        voxel = tuple(positions[bad.argmax()].tolist())
        raise InputError(
            f"{path}: the tensor of voxel {voxel} holds NaN or infinity ({int(bad.sum())} such of {len(bad)}). "
            "Leave such voxels out with mask=."
        )


def _load_mask(mask: str | Path | ArrayLike, grid: tuple[int, ...], affine: FloatArray) -> BoolArray:
    """Return a mask of the grid's shape from a file or an array; anything but zero is inside."""
    if isinstance(mask, str | Path):
        values = _read_mask_file(Path(mask), affine)
        source = str(mask)
    else:
        values, source = np.asarray(mask), "mask"
    if values.shape != grid:
        raise InputError(f"{source} has shape {values.shape}, needed {grid}, that of the tensor image.")
    return (values != 0) & ~np.isnan(values)


def _read_mask_file(path: Path, affine: FloatArray) -> NDArray[Any]:
    """Return the values of a mask image on the same voxels as the tensors."""
    nibabel = require("nibabel", "dti", "A NIfTI image")
    with blame_file(path, "A mask is a NIfTI image on the voxels of the tensor image."):
        image = nibabel.load(path)
        values, mask_affine = np.asarray(image.dataobj), np.asarray(image.affine)
    if not np.allclose(mask_affine, affine, atol=AFFINE_TOLERANCE):
        raise InputError(
            f"{path} lies elsewhere than the tensor image: their affines differ. "
            "Resample the mask to the tensor image, or pass it as an array if its voxels are the same after all."
        )
    # Masks are often stored with a fourth axis of length one.
    return values[..., 0] if values.ndim == 4 and values.shape[3] == 1 else values


def _stem(path: Path) -> str:
    """Return the file's name without .nii or .nii.gz."""
    return path.name.removesuffix(".gz").removesuffix(".nii")
