"""A synthetic diffusion-tensor image of any size, whose regions are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from scipy.spatial.transform import Rotation

from homothety.arrays import check_count
from homothety.datasets._draws import check_spread, with_noise
from homothety.datasets.matrix_set import MatrixSet
from homothety.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.random import Generator
    from numpy.typing import ArrayLike

    from homothety.arrays import FloatArray, IntArray
    from homothety.datasets._draws import RandomState

# Voxels worked on at a time: bounds the temporaries to some tens of megabytes whatever the size of the image.
BLOCK = 1 << 15

# Waves per smooth field, and the standard deviation of how often a wave swings across the image along an axis.
N_WAVES, WAVE_FREQUENCY = 4, 0.7

# How far region boundaries wander, as a fraction of the image's longest side.
BOUNDARY_WARP = 0.06

# Candidates drawn for each region's centre, of which the one farthest from the earlier centres is kept.
N_CANDIDATES = 16


def make_dti(
    shape: Sequence[int] = (32, 32),
    n_regions: int = 5,
    *,
    anisotropies: ArrayLike | None = None,
    mean_diffusivity: float = 7e-4,
    diffusivity_spread: float = 0.2,
    noise: float = 0.05,
    random_state: RandomState = None,
) -> MatrixSet:
    """Make a field of diffusion tensors in which regions differ by shape alone.

    Orientation and size of the tensors change smoothly across the whole image and tell nothing of the regions: those
    differ by fractional anisotropy.

    Parameters
    ----------
    shape : sequence of 2 or 3 int, default (32, 32)
        Size of the image.
    n_regions : int, default 5
    anisotropies : array_like of shape (n_regions,), optional
        Fractional anisotropy of the tensors of each region, each in [0, 1); by default evenly spaced from 0.15 to 0.85.
    mean_diffusivity : float, default 7e-4
        Typical mean of a tensor's eigenvalues; the default is that of brain tissue in square millimetres per second.
    diffusivity_spread : float, default 0.2
        Standard deviation across the image of the log of the mean diffusivity.
    noise : float, default 0.05
        Standard deviation of the noise on the log of each tensor; 0 for none.
    random_state : int, Generator or None, default None
        Seed, or generator to draw on.

    Returns
    -------
    field : MatrixSet
        One tensor per voxel in row-major order, with `grid` and `positions`; labels 0, 1, ... are the regions in the
        order of `anisotropies`. ``field.to_image(field.labels)`` is the picture of the regions.

    Notes
    -----
    Tensors have one long and two equal short axes. Regions are the Voronoi cells of random centres in smoothly warped
    coordinates, none of them empty. Orientations are unit quaternions whose components are sums of random
    low-frequency waves, so they turn smoothly. Noise multiplies a tensor F F' from within, F exp(E) F' with E Gaussian
    and isotropic, which keeps it positive definite and hits all shapes and sizes alike.

    Examples
    --------
    >>> make_dti((64, 64, 20), random_state=0)
    <MatrixSet dti: 81920 matrices of 3 x 3, 5 classes, on a grid of 64 x 64 x 20>
    """
    rng = np.random.default_rng(random_state)
    grid = _check_grid(shape)
    n_regions = check_count(n_regions, "n_regions")
    if not (np.isfinite(mean_diffusivity) and mean_diffusivity > 0):
        raise InputError(f"mean_diffusivity is {mean_diffusivity}, needed a positive number.")
    check_spread(diffusivity_spread, "diffusivity_spread")
    check_spread(noise, "noise")
    spectra = mean_diffusivity * _prolate_spectra(_check_anisotropies(anisotropies, n_regions))
    positions = np.stack(np.unravel_index(np.arange(np.prod(grid)), grid), axis=1)
    labels = _draw_regions(rng, positions, grid, n_regions)
    lengths = np.sqrt(spectra)
    orientation, log_size = _SmoothField.draw(rng, len(grid), 4), _SmoothField.draw(rng, len(grid), 1)
    tensors = np.empty((len(positions), 3, 3))
    for block in _blocks(len(positions)):
        coordinates = positions[block] / max(grid)
        sizes = np.exp(diffusivity_spread / 2 * log_size(coordinates))
        factors = _rotations(orientation(coordinates)) * (sizes * lengths[labels[block]])[:, None, :]
        tensors[block] = with_noise(rng, factors, noise)
    return MatrixSet(tensors, labels, "dti", grid, positions)


@dataclass(frozen=True, slots=True, eq=False)
class _SmoothField:
    """Sums of random low-frequency waves: a smooth vector field of zero mean and unit variance on the unit cube."""

    waves: FloatArray  # (n_axes, n_components * N_WAVES)
    phases: FloatArray  # (n_components * N_WAVES,)

    @classmethod
    def draw(cls, rng: Generator, n_axes: int, n_components: int) -> _SmoothField:
        """Draw a field of `n_components` components over `n_axes` coordinates."""
        waves = rng.normal(scale=2 * np.pi * WAVE_FREQUENCY, size=(n_axes, n_components * N_WAVES))
        return cls(waves, rng.uniform(0, 2 * np.pi, size=n_components * N_WAVES))

    def __call__(self, coordinates: FloatArray) -> FloatArray:
        """Return the field at the given points, shape (n_points, n_components)."""
        swings = np.cos(coordinates @ self.waves + self.phases)
        return swings.reshape(len(coordinates), -1, N_WAVES).sum(axis=2) * np.sqrt(2 / N_WAVES)


def _draw_regions(rng: Generator, positions: IntArray, grid: tuple[int, ...], n_regions: int) -> IntArray:
    """Divide the voxels into regions with curved boundaries, none of them empty; shape (n_voxels,)."""
    n_voxels, n_axes = positions.shape
    if n_regions > n_voxels:
        raise InputError(f"n_regions is {n_regions} but the image has {n_voxels} voxels, needed at least one each.")
    displacement = _SmoothField.draw(rng, n_axes, n_axes)
    candidates = rng.choice(n_voxels, size=min(n_voxels, N_CANDIDATES * n_regions), replace=False)
    # Centres are voxels and are warped like all others, so each is nearest to itself.
    centres = cKDTree(_spread_out(_warp(displacement, positions[candidates], grid), n_regions))
    labels = np.empty(n_voxels, dtype=np.int64)
    for block in _blocks(n_voxels):
        labels[block] = centres.query(_warp(displacement, positions[block], grid))[1]
    return labels


def _warp(displacement: _SmoothField, positions: IntArray, grid: tuple[int, ...]) -> FloatArray:
    """Return voxels moved a little by a smooth field, in units of the image's longest side."""
    coordinates = positions / max(grid)
    return coordinates + BOUNDARY_WARP * displacement(coordinates)


def _spread_out(points: FloatArray, n_chosen: int) -> FloatArray:
    """Choose points that keep apart: out of every batch the one farthest from those chosen before."""
    first, *batches = np.array_split(points, n_chosen)
    chosen = first[:1]
    for batch in batches:
        gaps = cdist(batch, chosen).min(axis=1)
        chosen = np.vstack([chosen, batch[gaps.argmax()]])
    return chosen


def _prolate_spectra(anisotropies: FloatArray) -> FloatArray:
    """Return spectra of mean 1, two equal eigenvalues and one larger, with the given fractional anisotropies."""
    # With eigenvalues (1 - t, 1 - t, 1 + 2t), FA = 3t / sqrt(3 + 6t^2); solved for t.
    stretch = anisotropies / np.sqrt(3 - 2 * anisotropies**2)
    return np.stack([1 - stretch, 1 - stretch, 1 + 2 * stretch], axis=-1)


def _rotations(quaternions: FloatArray) -> FloatArray:
    """Return the rotation matrix of each quaternion, shape (n_voxels, 3, 3), whatever its length."""
    rotations: FloatArray = Rotation.from_quat(quaternions).as_matrix()
    return rotations


def _blocks(n_items: int) -> Iterator[slice]:
    """Cut a range into slices of bounded length."""
    for start in range(0, n_items, BLOCK):
        yield slice(start, min(start + BLOCK, n_items))


def _check_grid(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the size of a plane or volume image, or raise."""
    if np.ndim(shape) != 1 or len(shape) not in (2, 3):
        raise InputError(f"shape is {shape!r}, needed 2 or 3 sizes, such as (32, 32) or (64, 64, 20).")
    return tuple(check_count(size, f"shape[{axis}]") for axis, size in enumerate(shape))


def _check_anisotropies(anisotropies: ArrayLike | None, n_regions: int) -> FloatArray:
    """Return one fractional anisotropy per region, or raise."""
    if anisotropies is None:
        return np.linspace(0.15, 0.85, n_regions)
    values = np.asarray(anisotropies, dtype=np.float64)
    if values.shape != (n_regions,):
        raise InputError(f"anisotropies has shape {values.shape}, needed one value for each of {n_regions} regions.")
    if not ((values >= 0) & (values < 1)).all():
        raise InputError(f"anisotropies is {values}, needed fractional anisotropies in [0, 1).")
    return values
