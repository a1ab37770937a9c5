"""Synthetic sets of known classes: sample covariances, images of diffusion tensors, and demonstrations of a task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from scipy.spatial.transform import Rotation

from homothety.arrays import check_count
from homothety.covariance.embedding import blocks_of
from homothety.datasets.sets import Frames, MatrixSet, SequenceSet
from homothety.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.random import Generator
    from numpy.typing import ArrayLike

    from homothety.arrays import FloatArray, IntArray


RandomState: TypeAlias = "int | Generator | None"
"""A seed, a generator to draw on, or None for fresh entropy."""


def haar_orthogonal(rng: Generator, n_matrices: int, n_dims: int) -> FloatArray:
    """Draw orthogonal matrices from the uniform (Haar) distribution, shape (n_matrices, n_dims, n_dims).

    Reflections are drawn as often as rotations. On covariances both act alike: flipping an eigenvector changes nothing.
    """
    orthogonal, triangular = np.linalg.qr(rng.standard_normal((n_matrices, n_dims, n_dims)))
    # QR is unique only up to signs, and the library's choice of them is not uniform (Mezzadri 2007).
    signs = np.sign(np.einsum("mii->mi", triangular))
    return orthogonal * signs[:, None, :]


def rotate_spectra(rng: Generator, spectra: FloatArray) -> FloatArray:
    """Return covariances with the given eigenvalues, shape (n_matrices, n_dims), along random axes."""
    axes = haar_orthogonal(rng, *spectra.shape)
    return _gram(axes * np.sqrt(spectra)[:, None, :])


def _lognormal_noise(rng: Generator, n_matrices: int, n_dims: int, spread: float) -> FloatArray:
    """Draw positive definite matrices about the identity: exponentials of symmetric Gaussian ones.

    Parameters
    ----------
    rng : Generator
    n_matrices, n_dims : int
    spread : float
        Standard deviation of the diagonal of the logarithm; off the diagonal it is smaller by the square root of 2,
        which makes the distribution the same along all axes.

    Returns
    -------
    noise : ndarray of shape (n_matrices, n_dims, n_dims)
    """
    normals = rng.standard_normal((n_matrices, n_dims, n_dims))
    values, vectors = np.linalg.eigh(spread * (normals + normals.swapaxes(1, 2)) / 2)
    return _gram(vectors * np.exp(values / 2)[:, None, :])


def _wishart_factors(rng: Generator, n_matrices: int, n_dims: int, dof: int) -> FloatArray:
    """Draw triangular factors of sample covariances of white noise, shape (n_matrices, n_dims, n_dims).

    Bartlett's decomposition: the cost does not depend on the degrees of freedom.
    """
    factors = np.tril(rng.standard_normal((n_matrices, n_dims, n_dims)), k=-1)
    diagonal = np.arange(n_dims)
    factors[:, diagonal, diagonal] = np.sqrt(rng.chisquare(dof - diagonal, size=(n_matrices, n_dims)))
    return factors / np.sqrt(dof)


def with_noise(rng: Generator, factors: FloatArray, noise: float) -> FloatArray:
    """Return the covariances F F' with noise of the given spread put in between, or as they are if it is 0."""
    if noise == 0:
        return _gram(factors)
    return congruence(factors, _lognormal_noise(rng, len(factors), factors.shape[1], noise))


def congruence(factors: FloatArray, inner: FloatArray) -> FloatArray:
    """Return F S F' for stacks of factors F and symmetric S, exactly symmetric."""
    product = factors @ inner @ factors.swapaxes(1, 2)
    return (product + product.swapaxes(1, 2)) / 2


def _gram(factors: FloatArray) -> FloatArray:
    """Return F F' for a stack of factors F, exactly symmetric."""
    product = factors @ factors.swapaxes(1, 2)
    return (product + product.swapaxes(1, 2)) / 2


def shape_distance(spectrum: FloatArray, others: FloatArray) -> FloatArray:
    """How much the shapes of two ascending spectra differ; leading axes broadcast.

    The standard deviation, over axes, of the difference of log axis lengths: zero for one shape at any two scales.
    """
    return np.std(np.log(spectrum) - np.log(others), axis=-1) / 2


def check_spread(value: float, name: str) -> float:
    """Return a finite number that is not negative, or raise naming it."""
    if not (np.isfinite(value) and value >= 0):
        raise InputError(f"{name} is {value}, needed a finite number of at least 0.")
    return float(value)


def check_choice(value: str, name: str, choices: tuple[str, ...]) -> None:
    """Raise unless the value is one of the choices."""
    if value not in choices:
        raise InputError(f"{name} is {value!r}, needed one of {', '.join(map(repr, choices))}.")


# Matrices


# Draws of the shapes of families, before all are drawn again, and how often that is done.
_TRIES_PER_SHAPE, _MAX_RESTARTS = 50, 50

# Waves per smooth field, and the standard deviation of how often a wave swings across the image along an axis.
_N_WAVES, _WAVE_FREQUENCY = 4, 0.7

# How far region boundaries wander, as a fraction of the image's longest side.
_BOUNDARY_WARP = 0.06

# Candidates drawn for each region's centre, of which the one farthest from the earlier centres is kept.
_N_CANDIDATES = 16


def make_wishart_families(
    n_families: int = 3,
    n_dims: int = 3,
    *,
    n_per_family: int = 20,
    dof: int | None = 100,
    scale_spread: float = 1.0,
    min_separation: float = 0.25,
    max_condition: float = 100.0,
    random_state: RandomState = None,
) -> MatrixSet:
    """Make sample covariances that belong together by shape, not by orientation or size.

    Every matrix is the covariance of `dof` Gaussian samples about a known mean, whose true covariance is its family's
    shape in a random rotation and at a random scale.

    Parameters
    ----------
    n_families : int, default 3
    n_dims : int, default 3
    n_per_family : int, default 20
    dof : int or None, default 100
        Degrees of freedom of the Wishart distribution, at least `n_dims`; the fewer, the noisier. None for the true
        covariances themselves.
    scale_spread : float, default 1
        Standard deviation of the logarithm of the scales.
    min_separation : float, default 0.25
        Least difference between the shapes of any two families: standard deviation, over axes, of the difference of
        their log axis lengths.
    max_condition : float, default 100
        Bound on the condition number of the true covariances.
    random_state : int, Generator or None, default None
        Seed, or generator to draw on.

    Returns
    -------
    families : MatrixSet
        ``n_families * n_per_family`` matrices, family by family, with labels 0, 1, ...

    Notes
    -----
    Within a family, logs of the eigenvalues follow a beta distribution, whose parameters are log-uniform between 1/5
    and 5, stretched to a log-uniform condition number. That gives needles, plates, near-balls and graded spectra at
    any dimension; spectra that come too close to an earlier one are drawn again.

    Examples
    --------
    >>> make_wishart_families(4, 10, n_per_family=50, random_state=0)
    <MatrixSet wishart_families: 200 matrices of 10 x 10, 4 classes>
    """
    rng = np.random.default_rng(random_state)
    n_families, n_dims = check_count(n_families, "n_families"), check_count(n_dims, "n_dims")
    n_per_family = check_count(n_per_family, "n_per_family")
    check_spread(scale_spread, "scale_spread")
    check_spread(min_separation, "min_separation")
    if not (np.isfinite(max_condition) and max_condition >= 1):
        raise InputError(f"max_condition is {max_condition}, needed a finite number of at least 1.")
    shapes = _draw_shapes(rng, n_families, n_dims, min_separation, max_condition)
    labels = np.repeat(np.arange(n_families), n_per_family)
    scales = np.exp(scale_spread * rng.standard_normal((len(labels), 1)))
    factors = haar_orthogonal(rng, len(labels), n_dims) * np.sqrt(scales * shapes[labels])[:, None, :]
    if dof is not None:
        factors = factors @ _wishart_factors(rng, len(labels), n_dims, check_count(dof, "dof", minimum=n_dims))
    return MatrixSet(_gram(factors), labels, "wishart_families")


def _draw_shapes(
    rng: Generator, n_families: int, n_dims: int, min_separation: float, max_condition: float
) -> FloatArray:
    """Draw ascending spectra no two of which are nearly alike up to scale, shape (n_families, n_dims)."""
    for _ in range(_MAX_RESTARTS):
        shapes = np.empty((0, n_dims))
        for _ in range(_TRIES_PER_SHAPE * n_families):
            shape = _draw_spectrum(rng, n_dims, max_condition)
            if (shape_distance(shape, shapes) >= min_separation).all():
                shapes = np.vstack([shapes, shape])
            if len(shapes) == n_families:
                return shapes
        # The shapes kept so far may leave no room for another: start over.
    raise InputError(
        f"found no n_families={n_families} shapes in {n_dims} dimensions that differ by min_separation="
        f"{min_separation}. Ask for fewer families, a smaller min_separation or a larger max_condition."
    )


def _draw_spectrum(rng: Generator, n_dims: int, max_condition: float) -> FloatArray:
    """Draw one ascending spectrum, shape (n_dims,), of condition number at most `max_condition`."""
    log_condition = np.log(max_condition) * rng.uniform()
    alpha, beta = np.exp(rng.uniform(-np.log(5), np.log(5), size=2))
    return np.exp(log_condition * np.sort(rng.beta(alpha, beta, size=n_dims)))


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

    Orientation and size of the tensors change smoothly across the whole image and carry no information on the regions,
    which differ in fractional anisotropy.

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
    for block in blocks_of(len(positions)):
        coordinates = positions[block] / max(grid)
        sizes = np.exp(diffusivity_spread / 2 * log_size(coordinates))
        rotations = Rotation.from_quat(orientation(coordinates)).as_matrix()
        factors = rotations * (sizes * lengths[labels[block]])[:, None, :]
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
        waves = rng.normal(scale=2 * np.pi * _WAVE_FREQUENCY, size=(n_axes, n_components * _N_WAVES))
        return cls(waves, rng.uniform(0, 2 * np.pi, size=n_components * _N_WAVES))

    def __call__(self, coordinates: FloatArray) -> FloatArray:
        """Return the field at the given points, shape (n_points, n_components)."""
        swings = np.cos(coordinates @ self.waves + self.phases)
        return swings.reshape(len(coordinates), -1, _N_WAVES).sum(axis=2) * np.sqrt(2 / _N_WAVES)


def _draw_regions(rng: Generator, positions: IntArray, grid: tuple[int, ...], n_regions: int) -> IntArray:
    """Divide the voxels into regions with curved boundaries, none of them empty; shape (n_voxels,)."""
    n_voxels, n_axes = positions.shape
    if n_regions > n_voxels:
        raise InputError(f"n_regions is {n_regions} but the image has {n_voxels} voxels, needed at least one each.")
    displacement = _SmoothField.draw(rng, n_axes, n_axes)
    candidates = rng.choice(n_voxels, size=min(n_voxels, _N_CANDIDATES * n_regions), replace=False)
    # Centres are voxels and are warped like all others, so each is nearest to itself.
    centres = cKDTree(_spread_out(_warp(displacement, positions[candidates], grid), n_regions))
    labels = np.empty(n_voxels, dtype=np.int64)
    for block in blocks_of(n_voxels):
        labels[block] = centres.query(_warp(displacement, positions[block], grid))[1]
    return labels


def _warp(displacement: _SmoothField, positions: IntArray, grid: tuple[int, ...]) -> FloatArray:
    """Return voxels moved a little by a smooth field, in units of the image's longest side."""
    coordinates = positions / max(grid)
    return coordinates + _BOUNDARY_WARP * displacement(coordinates)


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


# Demonstrations


_HOME = np.array([0.0, 0.0, 0.0])
_WORK = np.array([0.60, 0.0, 0.0])  # metres: the far end of a stroke is beside it
_ARCH = np.array([0.0, 0.0, 0.25])  # how high a reach goes on its way
_SWEEP = np.array([0.0, -0.12, 0.0])  # how far to the side a return goes
_STROKE = np.array([0.0, 0.16, 0.0])  # from the middle of a stroke to its end
_PRESS = np.array([0.0, 0.0, 0.03])  # how far the hand is lifted on its way back
_SWAY = np.array([0.05, 0.0, 0.0])  # how far it wanders sideways, from one stroke to another

_STEPS_OF = {"reach": (70, 100), "stroke": (220, 320), "return": (60, 90)}  # at 50 steps a second
_STROKE_STEPS = (36, 48)  # there and back
_SIZES = (0.6, 1.6)
_DISTANCE = 0.8  # metres between frames, about
_ACTIONS = tuple(_STEPS_OF)


def make_demonstrations(
    random_state: RandomState = None, *, n_frames: int = 3, n_per_frame: int = 2, noise: float = 0.002
) -> SequenceSet:
    """Make demonstrations of one task in several frames: reach, stroke, return, and again.

    Parameters
    ----------
    random_state : int, Generator or None, default None
        Seed, or generator to draw on.
    n_frames : int, default 3
        Places where the task is performed, each turned, resized and moved at random.
    n_per_frame : int, default 2
        Demonstrations in each frame.
    noise : float, default 0.002
        Standard deviation of the noise of a recorded position, in metres.

    Returns
    -------
    demonstrations : SequenceSet
        Positions of a hand, 50 a second. True `actions` are 0 (reach), 1 (stroke) and 2 (return); true `states` are
        actions in a frame, ``3 * frame + action``; true `frames` are the rotation, size and origin of each
        demonstration, and the number of its frame.

    Notes
    -----
    A reach goes over an arch and slows down at both ends; a stroke goes to and fro along a line, pressed one way,
    lifted the other, and wanders; a return goes home in a flat bow to the side. All three are performed two or three
    times in a demonstration, at a pace that varies. A stroke has a shape of its own; a reach and a return are both
    drawn out, and much alike: only their order tells them apart.

    Examples
    --------
    >>> make_demonstrations(0)
    <SequenceSet demonstrations: 6 series, ... steps of 3 dimensions, 9 states, 3 actions>
    """
    rng = np.random.default_rng(random_state)
    n_frames = check_count(n_frames, "n_frames")
    n_per_frame = check_count(n_per_frame, "n_per_frame")
    check_spread(noise, "noise")
    frames = _draw_frames(rng, n_frames, n_per_frame)
    paths, actions = zip(*(_perform(rng) for _ in frames.label), strict=True)
    return SequenceSet(
        [_recorded(rng, path, frames, i, noise) for i, path in enumerate(paths)],
        [len(_ACTIONS) * frame + one for frame, one in zip(frames.label, actions, strict=True)],
        list(actions),
        tuple(f"frame {i + 1}, demonstration {n + 1}" for i in range(n_frames) for n in range(n_per_frame)),
        ("x", "y", "z"),
        "demonstrations",
        frames,
    )


def _draw_frames(rng: Generator, n_frames: int, n_per_frame: int) -> Frames:
    """Draw proper rotations, log-uniform sizes and origins, and repeat each frame for its demonstrations."""
    rotations = haar_orthogonal(rng, n_frames, 3)
    rotations[:, :, 0] *= np.linalg.det(rotations)[:, None]
    smallest, largest = np.log(_SIZES).tolist()
    sizes = np.exp(rng.uniform(smallest, largest, size=n_frames))
    origins = _DISTANCE * rng.standard_normal((n_frames, 3))
    frames = (rotations, sizes, origins, np.arange(n_frames))
    return Frames(*(np.repeat(each, n_per_frame, axis=0) for each in frames))


def _perform(rng: Generator) -> tuple[FloatArray, IntArray]:
    """Return the positions and the actions of one demonstration, in the frame of the task."""
    pieces, actions = [_HOME[None]], []
    for _ in range(rng.integers(2, 4)):
        for number, (name, bounds) in enumerate(_STEPS_OF.items()):
            n_steps = int(rng.integers(*bounds))
            pieces.append(_MOVES[name](rng, n_steps, pieces[-1][-1]))
            actions.append(np.full(n_steps, number))
    return np.concatenate(pieces[1:]), np.concatenate(actions)


def _reach(rng: Generator, n_steps: int, start: FloatArray) -> FloatArray:
    """Go to the work over an arch."""
    on_the_way = _ease(n_steps)[:, None]
    height = np.sin(np.pi * on_the_way) * rng.uniform(0.8, 1.2)
    return start + on_the_way * (_WORK + _STROKE - start) + height * _ARCH


def _stroke(rng: Generator, n_steps: int, start: FloatArray) -> FloatArray:  # noqa: ARG001
    """Go to and fro: pressed one way, lifted the other, wandering sideways."""
    period = np.interp(np.arange(n_steps), np.linspace(0, n_steps, 5), rng.uniform(*_STROKE_STEPS, size=5))
    phase = 2 * np.pi * np.cumsum(1 / period)[:, None]
    drift = np.interp(np.arange(n_steps), np.linspace(0, n_steps, 6), [0, *rng.uniform(-1, 1, size=4), 0])[:, None]
    return _WORK + np.cos(phase) * _STROKE + np.sin(phase) * _PRESS + drift * _SWAY


def _return(rng: Generator, n_steps: int, start: FloatArray) -> FloatArray:
    """Go home in a flat bow to the side."""
    on_the_way = _ease(n_steps)[:, None]
    bow = np.sin(np.pi * on_the_way) * rng.uniform(0.8, 1.2)
    return start + on_the_way * (_HOME - start) + bow * _SWEEP


def _ease(n_steps: int) -> FloatArray:
    """Return the way from 0 to 1, slower at both ends, as hands go."""
    t = np.linspace(0, 1, n_steps)
    return t - np.sin(2 * np.pi * t) / (4 * np.pi)


def _recorded(rng: Generator, points: FloatArray, frames: Frames, i: int, noise: float) -> FloatArray:
    """Return the positions of demonstration `i` as they are measured in its frame."""
    placed = frames.origin[i] + frames.size[i] * points @ frames.rotation[i].T
    return placed + noise * rng.standard_normal(points.shape)


_Move: TypeAlias = "Callable[[Generator, int, FloatArray], FloatArray]"
_MOVES: dict[str, _Move] = {"reach": _reach, "stroke": _stroke, "return": _return}
