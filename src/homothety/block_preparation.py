"""Preparation of recordings in blocks of channels for frames: subsampling, velocities and scaling.

All channels of a block are measured together, so none of these numbers depends on how a recording is turned or moved.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from homothety.decorrelation import decorrelating_stride
from homothety.errors import InputError
from homothety.models.frames.frames import Blocks
from homothety.models.frames.measurements import FLAT, TINY, scatter_of, typical_size
from homothety.preprocessing import FittedPreprocessing, Preprocessing
from homothety.sequences import check_sequences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homothety.arrays import FloatArray
    from homothety.models.frames.frames import Rotations
    from homothety.sequences import Sequences

_LAG_GROWTH = 1.1  # from one lag tried to the next
_DIRECTED = 0.7  # correlation of two displacements in succession, below which a motion has turned
_MOVED = 0.02  # least mean squared displacement of a motion, as a share of that between independent steps
_INDEPENDENT = 0.1  # largest mean squared noise of steps that follow a path, as a share of the same
_MIN_LOOKS = 80  # steps of the median recording that are used, at least: room for twenty stays
_MOST_LOOKS = 500  # of the same where there are no points, at most: with more, one activity is cut into its phases
_WINDOW = 4  # strides that velocities are smoothed over
_FILL = 0.3  # spread of noise across planes and lines, as a share of the size of a recording: as expected of a state


def prepare_blocks(
    recordings: Sequences,
    kinds: Sequence[str],
    dim: int,
    *,
    rotations: Rotations = "all",
    velocities: bool | None = None,
    subsample: int | None = None,
) -> tuple[FittedPreprocessing, Blocks]:
    """Return how recordings are prepared, and the blocks of the prepared channels.

    Parameters
    ----------
    recordings : Sequences
        Channels in the order of the blocks.
    kinds : sequence of {"point", "vector", "orientation", "plain"}
    dim : {2, 3}
    rotations : {"all", "yaw", "none"}
    velocities : bool, optional
        Whether velocities of points are appended, as vectors. If not given, they are where points move: steps that are
        independent of each other have none.
    subsample : int, optional
        Every `subsample`-th step is used; measured if not given.

    Returns
    -------
    preparation : FittedPreprocessing
    blocks : Blocks
        Plain channels next to each other are one block. Velocities come last.
    """
    recorded = Blocks(tuple(kinds), dim, rotations)  # type: ignore[arg-type]
    points = [[one[:, recorded.slices[b]] for one in recordings] for b in recorded.points]
    strides = [motion_stride(block) for block in points]
    moving = any(stride is not None for stride in strides)
    if subsample is None:
        found = [stride for stride in strides if stride is not None]
        n_steps = int(np.median(recordings.lengths))
        subsample = 1 if points else max(decorrelating_stride(list(recordings)), n_steps // _MOST_LOOKS)
        subsample = max(1, min([*(found or [subsample]), n_steps // _MIN_LOOKS]))
    with_velocities = bool(points) and (moving if velocities is None else velocities)
    window = max(_WINDOW * subsample + 1 - _WINDOW * subsample % 2, 5)
    settings = Preprocessing(
        subsample=subsample,
        smooth=window if with_velocities else None,
        velocities="append" if with_velocities else None,
        velocity_dims=np.r_[tuple(recorded.slices[b] for b in recorded.points)].tolist() if with_velocities else None,
    )
    appended = ("vector",) * len(points) if with_velocities else ()
    runs = [(kind, len(list(run))) for kind, run in groupby(recorded.kinds)]
    joined = [name for kind, n in runs for name in ([kind] if kind == "plain" else [kind] * n)]
    n_plain = tuple(n for kind, n in runs if kind == "plain")
    shifted = tuple(b for b, kind in enumerate(joined) if kind in ("vector", "orientation"))
    blocks = Blocks((*joined, *appended), dim, rotations, (), n_plain, shifted)  # type: ignore[arg-type]
    check_lengths(recordings, blocks, subsample)
    fitted = _in_block_units(settings.fit(recordings, allow_constant=True), blocks, recordings)
    return fitted, blocks


def check_lengths(recordings: Sequences, blocks: Blocks, stride: int) -> None:
    """Raise naming the first recording that is too short for its frame to be inferred."""
    needed = _WINDOW * stride + 1 if blocks.turned else stride + 1
    short = np.flatnonzero(recordings.lengths < needed)
    if len(short):
        used = "all steps are used" if stride == 1 else f"one of {stride} steps is used"
        raise InputError(
            f"Recording {short[0]} ({recordings.names[short[0]]}) has {recordings.lengths[short[0]]} steps, needed at "
            f"least {needed}: {used}, and a shorter recording does not show in which frame it is. Leave it out."
        )


def filled(blocks: Blocks, spans: Sequence[int], prepared: Sequences) -> Sequences:
    """Return recordings with noise across the planes or lines in which all of them lie.

    Without it, densities across a plane or line are infinite, and sizes and states cannot be compared. The noise is
    white, the same in every run, turned and resized with its recording, and as large as the prior expects of states, so
    that it holds no information on frames and states.

    Parameters
    ----------
    blocks : Blocks
    spans : sequence of int
        Dimensions in which each block extends in the recordings of the fit.
    prepared : Sequences
    """
    flat = [b for b, n in enumerate(blocks.sizes) if spans[b] < n]
    if not flat:
        return prepared
    parts = [one.copy() for one in prepared]
    for one in parts:
        rng = np.random.default_rng(0)  # the same for all: no recording depends on those before it
        for b in flat:
            extents, axes = np.linalg.eigh(scatter_of(blocks, [b], one))
            across = axes[:, : blocks.dim - spans[b]][:, extents[: blocks.dim - spans[b]] <= FLAT**2 * extents[-1]]
            noise = rng.standard_normal((len(one), across.shape[1])) * _FILL * np.sqrt(max(extents.mean(), 0.0))
            one[:, blocks.slices[b]] += (noise - noise.mean(axis=0)) @ across.T
    return check_sequences(parts, names=prepared.names, allow_constant=True, min_steps=1)


def _in_block_units(fitted: FittedPreprocessing, blocks: Blocks, recordings: Sequences) -> FittedPreprocessing:
    """Return the preparation with every block in units of its typical size; only points and plain channels are centred.

    Vectors and orientations turn about zero, so nothing may be subtracted from them.
    """
    offset, factors = fitted.offset.copy(), np.ones(fitted.n_dims)
    for kind, block in zip(blocks.kinds, blocks.slices, strict=True):
        if kind in ("vector", "orientation"):
            offset[block] = 0.0
    prepared = list(replace(fitted, offset=offset, factors=factors).transform(recordings))
    for b, (block, kind) in enumerate(zip(blocks.slices, blocks.kinds, strict=True)):
        parts = [one[:, block] for one in prepared]
        # Plain channels have units of their own; the channels of all other blocks keep their proportions.
        columns = [[part[:, [c]] for part in parts] for c in range(parts[0].shape[1])] if kind == "plain" else [parts]
        about_zero = kind == "vector" and b not in blocks.shifted
        sizes = [max(typical_size(column, about_zero=about_zero), TINY) for column in columns]
        factors[block] = 1.0 / np.array(sizes)
    return replace(fitted, offset=offset, factors=factors)


def motion_stride(parts: Sequence[FloatArray]) -> int | None:
    """Return the number of steps for which points keep their direction; None if steps are independent.

    Two successive displacements over a lag have correlation 1 on a straight path; on a swing it is the cosine of the
    phase between them. The shortest lag with a correlation below `_DIRECTED` is returned: an eighth of the period of a
    swing. Noise of the recording is subtracted: it is the limit of the squared displacement as the lag goes to zero.

    Examples
    --------
    >>> swing = np.sin(2 * np.pi * np.arange(2000) / 80)[:, None]
    >>> motion_stride([swing])
    11
    >>> motion_stride([swing + np.random.default_rng(0).normal(scale=0.07, size=swing.shape)])
    11
    >>> motion_stride([np.random.default_rng(0).normal(size=(1000, 2))]) is None
    True
    """
    sized = [one / max(np.sqrt(one.var(axis=0).mean()), TINY) for one in parts if np.ptp(one, axis=0).any()]
    sized = [one for one in sized if len(one) > 4]
    if not sized:
        return None
    noise = max(_displacement(sized, 1) - (_displacement(sized, 2) - _displacement(sized, 1)) / 3.0, 0.0)
    far = 2.0 * sized[0].shape[1]
    if noise > _INDEPENDENT * far:
        return None
    longest = max(1, int(np.median([len(one) for one in sized])) // 4)
    lag = 1
    while lag <= longest:
        moved, doubled = _displacement(sized, lag) - noise, _displacement(sized, 2 * lag) - noise
        if moved > _MOVED * far and doubled / (2 * moved) - 1.0 < _DIRECTED:
            return lag
        lag = max(lag + 1, int(lag * _LAG_GROWTH))
    return longest


def _displacement(series: Sequence[FloatArray], lag: int) -> float:
    """Return the mean squared displacement of points in `lag` steps."""
    squares = [((one[lag:] - one[:-lag]) ** 2).sum(axis=1) for one in series if len(one) > lag]
    return float(np.concatenate(squares).mean()) if squares else 0.0
