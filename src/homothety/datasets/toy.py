"""The paper's toy data: matrices of a few shapes, and recordings in the plane whose states have two shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from homothety.arrays import check_count
from homothety.datasets.sets import MatrixSet, SequenceSet
from homothety.datasets.synthetic import (
    check_choice,
    check_spread,
    congruence,
    haar_orthogonal,
    rotate_spectra,
    shape_distance,
    with_noise,
)

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray
    from homothety.datasets.synthetic import RandomState

# Bounds a draw of the 3-D toy must keep. In the instance the paper was run on, the larger condition number is 8 and
# the shapes are 0.37 apart; accepted draws have medians 6 and 0.38.
_MAX_CONDITION_3D = 20.0
_MIN_SEPARATION_3D = 0.25

# Scales of the copies, as in the paper's own instance.
_SCALE_OF_SECOND, _SCALE_OF_FIFTH = 0.5, 0.75

_SPECTRA_6D = {
    "paper": np.array([[1, 1, 1, 1, 1, 1], [1, 10, 10, 10, 1, 1], [1, 10, 20, 30, 40, 50]], dtype=np.float64),
    "published": np.array([[1, 1, 1, 1, 1, 1], [1, 10, 10, 10, 1, 1], [0.5, 10, 15, 20, 25, 30]], dtype=np.float64),
}

# The toy recordings.
_MEANS = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0]])

# The first and the last are one narrow ellipse in two directions, the others one circle in two sizes.
_COVARIANCES = np.array(
    [
        [[0.1, 0.08], [0.08, 0.1]],
        [[0.2, 0.0], [0.0, 0.2]],
        [[0.05, 0.0], [0.0, 0.05]],
        [[0.1, -0.08], [-0.08, 0.1]],
    ]
)
_ACTIONS = np.array([0, 1, 1, 0])

_STATES_OF_SERIES = ((0, 1), (0, 2), (2, 3), (1, 3))

_STAY, _MOVE = (
    0.96,
    0.04 / 3,
)  # of a chain over all four states; a recording visits two of them, so both are renormalised

_Scale = Literal["class", "matrix"]
_Spectra = Literal["paper", "published"]


def make_toy_3d(random_state: RandomState = None, *, noise: float = 0.0) -> MatrixSet:
    """Make the paper's first example: five 3 x 3 matrices of two shapes.

    Parameters
    ----------
    random_state : int, Generator or None, default None
        Seed, or generator to draw on.
    noise : float, default 0
        How noisy the second matrix is: standard deviation of the log of its axes' variances, about. The paper's text
        has a "scaled and noisy" copy, its own instance an exact one.

    Returns
    -------
    toy : MatrixSet
        In the paper's order: S1, its scaled (and noisy) copy, its rotated copy; S4, its rotated and scaled copy.
        Labels are 0, 0, 0, 1, 1.

    Notes
    -----
    ::

             | b a a |         | a d e |
        S1 = | a b a |    S4 = | d b f |
             | a a b |         | e f c |

    The entries are drawn uniformly, a, b, c from (0, 4) and d, e, f from (-1.5, 1.5), again and again until both
    matrices are positive definite with condition number at most 20 and their shapes differ by at least 0.25 (standard
    deviation of the difference of log axis lengths). About one draw in seven passes. Rotations are uniform, scales 0.5
    and 0.75.

    Examples
    --------
    >>> make_toy_3d(0)
    <MatrixSet toy_3d: 5 matrices of 3 x 3, 2 classes>
    """
    rng = np.random.default_rng(random_state)
    check_spread(noise, "noise")
    first, fourth = _draw_two_shapes(rng)
    rotations = haar_orthogonal(rng, 2, 3)
    third, fifth = congruence(rotations, np.stack([first, _SCALE_OF_FIFTH * fourth]))
    factors = np.asarray(np.linalg.cholesky(_SCALE_OF_SECOND * first[None]), dtype=np.float64)
    (second,) = with_noise(rng, factors, noise)
    return MatrixSet(np.stack([first, second, third, fourth, fifth]), np.array([0, 0, 0, 1, 1]), "toy_3d")


def _draw_two_shapes(rng: Generator) -> tuple[FloatArray, FloatArray]:
    """Draw S1 and S4 until both are well conditioned and unlike in shape."""
    while True:
        a, b, c = rng.uniform(0, 4, size=3)
        d, e, f = rng.uniform(-1.5, 1.5, size=3)
        pair = np.array([[[b, a, a], [a, b, a], [a, a, b]], [[a, d, e], [d, b, f], [e, f, c]]])
        spectra = np.linalg.eigvalsh(pair)
        well_conditioned = (spectra[:, 0] * _MAX_CONDITION_3D >= spectra[:, 2]).all()
        if well_conditioned and shape_distance(*spectra) >= _MIN_SEPARATION_3D:
            return pair[0], pair[1]


def make_toy_6d(
    random_state: RandomState = None,
    *,
    n_per_class: int = 20,
    scale: _Scale = "class",
    spectra: _Spectra = "paper",
) -> MatrixSet:
    r"""Make the paper's 6-D toy: three shapes, each in many rotations.

    Parameters
    ----------
    random_state : int, Generator or None, default None
        Seed, or generator to draw on.
    n_per_class : int, default 20
        Matrices per shape.
    scale : {"class", "matrix"}, default "class"
        Whether the scale :math:`|\epsilon|`, :math:`\epsilon \sim N(0, 1)`, is drawn once per shape, as the paper
        writes, or afresh for every matrix, as the authors' program did.
    spectra : {"paper", "published"}, default "paper"
        Eigenvalues of the third shape, the only one that differs: :math:`|\epsilon| (1, 10, 20, 30, 40, 50)` in the
        paper, :math:`\tfrac12 |\epsilon| (1, 20, 30, 40, 50, 60)` in the authors' program.

    Returns
    -------
    toy : MatrixSet
        ``3 * n_per_class`` matrices, class by class, with labels 0 (a ball), 1 (three long axes of one length) and 2
        (axes of six lengths).

    Notes
    -----
    Rotations are uniform: the orthogonal factor of a Gaussian matrix with its signs put right. A scale is kept as
    drawn, however small, unless products of eigenvalues would underflow; below that, about 1e-154, it is raised.

    Examples
    --------
    >>> make_toy_6d(0)
    <MatrixSet toy_6d: 60 matrices of 6 x 6, 3 classes>
    """
    rng = np.random.default_rng(random_state)
    check_choice(scale, "scale", get_args(_Scale))
    check_choice(spectra, "spectra", get_args(_Spectra))
    n_per_class = check_count(n_per_class, "n_per_class")
    n_scales = 1 if scale == "class" else n_per_class
    scales = np.maximum(np.abs(rng.standard_normal((3, n_scales, 1))), np.sqrt(np.finfo(np.float64).tiny))
    eigenvalues = np.broadcast_to(scales * _SPECTRA_6D[spectra][:, None, :], (3, n_per_class, 6)).reshape(-1, 6)
    return MatrixSet(rotate_spectra(rng, eigenvalues), np.repeat(np.arange(3), n_per_class), "toy_6d")


def make_toy_2d(random_state: RandomState = None, *, n_steps: int = 500) -> SequenceSet:
    """Make the paper's toy recordings: four in the plane, in which four states of two shapes follow each other.

    Parameters
    ----------
    random_state : int, Generator or None, default None
        Seed, or generator to draw on.
    n_steps : int, default 500
        Mean length of a recording; lengths are drawn from a Poisson distribution and are at least 2.

    Returns
    -------
    toy : SequenceSet
        With true `states` 0 to 3, and true `actions`: 0 for the narrow ellipses (states 0 and 3), 1 for the circles
        (states 1 and 2).

    Notes
    -----
    Each recording has two states of its own, and they stay with probability 0.986. No two recordings share both states.

    Examples
    --------
    >>> make_toy_2d(0)
    <SequenceSet toy_2d: 4 series, ... steps of 2 dimensions, 4 states, 2 actions>
    """
    rng = np.random.default_rng(random_state)
    n_steps = check_count(n_steps, "n_steps", 2)
    lengths = np.maximum(rng.poisson(n_steps, size=len(_STATES_OF_SERIES)), 2)
    states = [_draw_path(rng, pair, length) for pair, length in zip(_STATES_OF_SERIES, lengths, strict=True)]
    sequences = [_draw_points(rng, path) for path in states]
    return SequenceSet(sequences, states, [_ACTIONS[path] for path in states], channels=("y1", "y2"), name="toy_2d")


def _draw_path(rng: Generator, pair: tuple[int, int], n_steps: int) -> IntArray:
    """Draw a path that begins in either of two states and changes to the other now and then."""
    changes = rng.random(n_steps) < _MOVE / (_STAY + _MOVE)
    changes[0] = rng.random() < 0.5
    return np.array(pair)[np.cumsum(changes) % 2]


def _draw_points(rng: Generator, path: IntArray) -> FloatArray:
    """Draw a point from the Gaussian of the state at every step."""
    factors = np.linalg.cholesky(_COVARIANCES)
    noise = rng.standard_normal((len(path), _MEANS.shape[1]))
    return np.asarray(_MEANS[path] + np.einsum("tij,tj->ti", factors[path], noise))
