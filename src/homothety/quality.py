"""Faults that recordings often have, found before a fit: copies, dead sensors, pauses, outliers, and others.

`examine` looks for all of them and says each in one line. Its rules are in docs/model.md, section 3.19.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np

from homothety.arrays import frozen, mean_of_known
from homothety.phrases import enumerated, number_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from homothety.arrays import BoolArray, FloatArray
    from homothety.sequences import Sequences

Kind = Literal[
    "outliers", "dead sensor", "copies", "dependent channels", "stretch", "pause", "unlike", "drift", "few values"
]

UNMEASURED: tuple[Kind, ...] = ("outliers", "dead sensor")  # findings of values that are no measurements
_MIN_STEPS = 20  # of a recording that is checked on its own
_MIN_STILL = 50  # steps with the same value that are a finding
_MOST = 0.9  # of values and 0.8 of differences, of which an outlier spoils two, are no outliers
_OUTLYING = 20.0  # robust standard deviations from the values around it, beyond which a value is an outlier
_OUTSIDE = 10.0  # robust standard deviations from the median of the recording that it needs besides
_WITH_OTHERS = 5.0  # both, for a value at a step at which another channel has an outlier
_RETURNED = 0.5  # share of its distance from the median by which an outlier differs from the values around it
_AROUND = 4  # steps before and after a value that it is compared with: an outlier lasts at most so long
_REPEATED = 0.05  # share of steps that repeat the one before, above which a channel is not continuous
_FLAT = 1e-12  # share of the largest extent, squared, below which a recording does not extend in a direction
_DEPENDENT = 1e-8  # share of the variance of a channel that does not follow from the others
_FEW_VALUES = 20  # different values of a channel
_STEPS_PER_VALUE = 10
_PIECES = 6  # of a recording, in which its baseline is compared
_MIN_DRIFTING = 200  # steps of a recording that is checked for drifts
_N_CROSSINGS = 4  # of the median of a piece: a movement to and fro
_LARGEST_RATIO = 10.0  # of the size of a recording to those of the others
_FAR = 20.0  # spreads of recordings, and of where they are, between a recording and the others
_MIN_RECORDINGS = 4  # of which one may be unlike the others
_MAX_LINES = 5  # of findings of one kind


class Finding(NamedTuple):
    """A fault of recordings."""

    kind: Kind
    text: str
    """In one line: where, what was found, and what is done about it or what to do."""
    recordings: tuple[int, ...]
    """Numbers of the recordings concerned; empty for all."""
    channels: tuple[int, ...]
    """Numbers of the channels concerned; empty for all."""


@dataclass(frozen=True, eq=False)
class Quality:
    """What `examine` finds.

    Parameters
    ----------
    findings : tuple of Finding
    unmeasured : ndarray of bool, shape (n_steps, n_channels)
        Values that are no measurements and will be treated as missing: outliers, and channels of a recording whose
        sensor is dead.
    """

    findings: tuple[Finding, ...]
    unmeasured: BoolArray

    def cleaned(self, recordings: Sequences) -> Sequences:
        """Return recordings with NaN in place of outliers and values of dead sensors; the same if there are none."""
        if not self.unmeasured.any():
            return recordings
        return replace(recordings, steps=frozen(np.where(self.unmeasured, np.nan, recordings.steps)))

    @property
    def lines(self) -> tuple[str, ...]:
        """All findings as text, of each kind at most `_MAX_LINES`."""
        lines: list[str] = []
        for kind in get_args(Kind):
            texts = [one.text for one in self.findings if one.kind == kind]
            lines += texts[:_MAX_LINES]
            left = len(texts) - _MAX_LINES
            if left > 0:
                lines.append(f"{number_of(left, 'more finding')} of this kind ({kind}). `homothety check` lists all.")
        return tuple(lines)


def examine(recordings: Sequences, *, blocks: Sequence[Sequence[int]] = (), as_missing: bool = True) -> Quality:
    """Return faults of recordings, and which values are to be treated as missing.

    Parameters
    ----------
    recordings : Sequences
        Missing values, NaN, are left out of everything.
    blocks : sequence of sequences of int, optional
        Channels that are one position, vector or quaternion. They may depend on each other, as in a plane.
    as_missing : bool, default=True
        Whether values that are no measurements will be treated as missing, which the findings then say.

    Returns
    -------
    quality : Quality
        Without findings if nothing is wrong.

    Examples
    --------
    >>> from homothety.sequences import check_sequences
    >>> steps = np.random.default_rng(0).normal(size=(100, 2))
    >>> steps[40, 1] = 1000.0
    >>> quality = examine(check_sequences([steps], channels=["x", "y"]))
    >>> print(quality.findings[0].text)
    Recording 0: 1 outlier in channel y; the largest is 1000 at step 40, ... robust standard deviations from the
    median. A fit treats these values as missing, unless outliers='keep'.
    """
    typical, repeats = _Typical.of(recordings), _repeats(recordings)
    outlying = _outliers(recordings, typical)
    is_long, is_continuous = _long_stretches(recordings, repeats)
    dead = _dead_sensors(recordings, is_long, is_continuous)
    for block in blocks:
        dead[:, block] &= _is_flatter(recordings, dead, list(block))[:, None]
    unmeasured = outlying | np.repeat(dead, recordings.lengths, axis=0)
    cleaned = Quality((), unmeasured).cleaned(recordings)
    done = "A fit uses these values: correct them, or set them to NaN."
    if as_missing:
        done = "A fit treats these values as missing, unless outliers='keep'."
    findings = [
        *_told_outliers(recordings, typical, outlying, done),
        *_told_dead(recordings, dead, done),
        *_told_copies(recordings),
        *_told_dependent(cleaned, blocks),
        *_told_still(recordings, is_long & is_continuous, dead),
        *_told_unlike(recordings, typical),
        *_told_drifts(cleaned),
        *_told_few_values(cleaned),
    ]
    return Quality(tuple(findings), unmeasured & as_missing)


# What recordings and channels are called


def _title(recordings: Sequences, i: int) -> str:
    name = recordings.names[i]
    return f"Recording {i}" if name == f"series {i}" else f"Recording {i} ({name})"


def _titles(recordings: Sequences, chosen: Sequence[int]) -> str:
    return "Recordings " + enumerated([_title(recordings, i).removeprefix("Recording ") for i in chosen])


def _channel(recordings: Sequences, dim: int) -> str:
    return str(dim) if recordings.channels is None else recordings.channels[dim]


def _channels(recordings: Sequences, chosen: Sequence[int]) -> str:
    return f"channel{'s' * (len(chosen) > 1)} {enumerated([_channel(recordings, dim) for dim in chosen])}"


# Robust measures of spread


def _quantiles(values: FloatArray, *shares: float) -> FloatArray:
    """Return quantiles of each channel over the steps that are known, (n_shares, n_channels); NaN where none is."""
    ordered = np.sort(values, axis=0)  # NaN comes last
    n_known = len(values) - np.isnan(ordered).sum(axis=0)
    rows = np.multiply.outer(shares, np.maximum(n_known - 1, 0)).round().astype(np.int64)
    return np.asarray(np.take_along_axis(ordered, rows, axis=0))


def _robust_spread(sizes: FloatArray, most: float = _MOST) -> FloatArray:
    """Return the standard deviation of normal values of these sizes, by their median or a quantile, (n_channels,).

    The larger of both: a channel that rests most of the time has a small median.
    """
    normal = [NormalDist().inv_cdf((1 + share) / 2) for share in (0.5, most)]
    return np.asarray((_quantiles(sizes, 0.5, most).T / normal).max(axis=1))


class _Typical(NamedTuple):
    """Median and spread of the channels of each recording; NaN for recordings that are too short."""

    medians: FloatArray  # (n_recordings, n_channels)
    spreads: FloatArray

    @classmethod
    def of(cls, recordings: Sequences) -> _Typical:
        medians = np.full((recordings.n_recordings, recordings.n_dims), np.nan)
        spreads = medians.copy()
        for i in np.flatnonzero(recordings.lengths >= _MIN_STEPS).tolist():
            medians[i] = _quantiles(recordings[i], 0.5)[0]
            spreads[i] = _robust_spread(np.abs(recordings[i] - medians[i]))
        return cls(medians, spreads)


# Outliers


def _outliers(recordings: Sequences, typical: _Typical) -> BoolArray:
    """Return which values are outliers of their recording and channel, (n_steps, n_channels)."""
    parts = [_outliers_of(*one) for one in zip(recordings, *typical, strict=True)]
    return np.concatenate(parts)


def _outliers_of(steps: FloatArray, median: FloatArray, spread: FloatArray) -> BoolArray:
    """Return which values of one recording are far from its median, and from the values around them.

    Distances are in robust standard deviations: of the values, and of differences between neighbours.
    """
    away, outlying = np.abs(steps - median), np.zeros(steps.shape, dtype=bool)
    rows, dims = np.nonzero((away > _WITH_OTHERS * spread) & (spread > 0))
    if not len(rows):
        return outlying
    moves = _robust_spread(np.abs(np.diff(steps, axis=0)), 2 * _MOST - 1) / np.sqrt(2.0)
    middles = np.clip(rows, _AROUND, len(steps) - 1 - _AROUND)
    around = steps[middles[:, None] + np.arange(-_AROUND, _AROUND + 1), dims[:, None]]
    aside, distance = np.abs(steps[rows, dims] - np.nanmedian(around, axis=1)), away[rows, dims]
    returned = aside > _RETURNED * distance
    is_gross = returned & (distance > _OUTSIDE * spread[dims]) & (aside > _OUTLYING * moves[dims])
    # A fault of the recorder seldom changes one channel only, and may change some of them less.
    is_beside = returned & (aside > _WITH_OTHERS * moves[dims]) & np.isin(rows, rows[is_gross])
    outlying[rows, dims] = is_gross | is_beside
    return outlying


def _told_outliers(recordings: Sequences, typical: _Typical, outlying: BoolArray, done: str) -> Iterator[Finding]:
    for i, chosen in enumerate(recordings.split(outlying)):
        if not chosen.any():
            continue
        steps = recordings[i]
        spreads = np.zeros(steps.shape)
        np.divide(np.abs(steps - typical.medians[i]), typical.spreads[i], out=spreads, where=chosen)
        step, dim = np.unravel_index(spreads.argmax(), steps.shape)
        dims = np.flatnonzero(chosen.any(axis=0)).tolist()
        yield Finding(
            "outliers",
            f"{_title(recordings, i)}: {number_of(int(chosen.sum()), 'outlier')} in {_channels(recordings, dims)}; the "
            f"largest is {steps[step, dim]:.4g} at step {step}, {spreads[step, dim]:.0f} robust standard deviations "
            f"from the median. {done}",
            (i,),
            tuple(dims),
        )


# Channels that stand still


def _repeats(recordings: Sequences) -> BoolArray:
    """Return which values are exactly those of the step before in the same recording, (n_steps, n_channels)."""
    repeats = np.zeros(recordings.steps.shape, dtype=bool)
    np.equal(recordings.steps[1:], recordings.steps[:-1], out=repeats[1:])
    repeats[recordings.starts[:-1]] = False
    return repeats


def _stretches(flags: BoolArray, least: int) -> list[tuple[int, int]]:
    """Return first and last step (not included) of stretches of at least a given number of set flags."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8))).reshape(-1, 2)
    return [(first, end) for first, end in edges[edges[:, 1] - edges[:, 0] >= least].tolist()]


def _long_stretches(recordings: Sequences, repeats: BoolArray) -> tuple[BoolArray, BoolArray]:
    """Return which values belong to at least `_MIN_STEPS` equal ones, and which channels are continuous.

    A continuous channel seldom repeats a value in all other places, which are at least half of its steps.
    """
    is_long = np.zeros(repeats.shape, dtype=bool)
    for dim, column in enumerate(repeats.T):
        for first, end in _stretches(column, _MIN_STEPS - 1):
            is_long[first - 1 : end, dim] = True
    n_other = (~is_long).sum(axis=0) - recordings.n_recordings
    changes = (repeats & ~is_long).sum(axis=0) < _REPEATED * n_other
    return is_long, changes & (2 * n_other > recordings.n_steps)


def _dead_sensors(recordings: Sequences, is_long: BoolArray, is_continuous: BoolArray) -> BoolArray:
    """Return which channels are the same at every step of a recording that moves, (n_recordings, n_channels).

    Only channels that change at nearly every step elsewhere, and are dead in less than half of the recordings.
    """
    still = np.logical_and.reduceat(is_long, recordings.starts[:-1], axis=0)
    still &= _range_of(recordings) == 0
    moves = ~still.all(axis=1, keepdims=True)
    return np.asarray(still & moves & is_continuous & (2 * still.sum(axis=0) < recordings.n_recordings))


def _is_flatter(recordings: Sequences, dead: BoolArray, block: list[int]) -> BoolArray:
    """Return which recordings extend in fewer dimensions of a block than most do, (n_recordings,).

    Recordings in planes or on lines have constant coordinates in some frames, and no sensor need be dead.
    """
    if len(block) == 1 or not dead[:, block].any():
        return np.ones(recordings.n_recordings, dtype=bool)
    steps = (one[:, block] - mean_of_known(one[:, block]) for one in recordings)
    extents = np.stack([np.linalg.eigvalsh(known.T @ known) for known in map(np.nan_to_num, steps)])
    n_dims = (extents > _FLAT * np.maximum(extents[:, -1:], np.finfo(float).tiny)).sum(axis=1)
    return np.asarray(n_dims < np.median(n_dims))


def _range_of(recordings: Sequences) -> FloatArray:
    """Return the range of each channel in each recording, (n_recordings, n_channels); NaN where values are missing."""
    first = recordings.starts[:-1]
    return np.asarray(np.maximum.reduceat(recordings.steps, first) - np.minimum.reduceat(recordings.steps, first))


def _told_dead(recordings: Sequences, dead: BoolArray, done: str) -> Iterator[Finding]:
    for i, dim in np.argwhere(dead).tolist():
        yield Finding(
            "dead sensor",
            f"{_title(recordings, i)}: {_channels(recordings, [dim])} is {recordings[i][0, dim]:.4g} at all "
            f"{len(recordings[i])} steps, but changes in other recordings, as if its sensor were dead. {done}",
            (i,),
            (dim,),
        )


def _told_still(recordings: Sequences, is_long: BoolArray, dead: BoolArray) -> Iterator[Finding]:
    """Yield pauses, in which all channels stand still, and stretches in which only some do."""
    for i in np.flatnonzero(np.logical_or.reduceat(is_long.any(axis=1), recordings.starts[:-1])).tolist():
        steps, others = recordings[i], ~dead[i]
        stretch = is_long[recordings.starts[i] : recordings.starts[i + 1]]
        rests = np.asarray(stretch[:, others].all(axis=1))
        for first, end in _stretches(rests, _MIN_STILL):
            where, cut = f"from step {first} to {end - 1} ({end - first} steps)", "Cut it out"
            if end - first == len(steps):
                where, cut = f"at all {len(steps)} steps", "Leave the recording out"
            yield Finding(
                "pause",
                f"{_title(recordings, i)} rests {where}. This is a state of its own, or is added to an action. {cut} "
                "if it is not part of the task.",
                (i,),
                (),
            )
        for dim in np.flatnonzero(others):
            if stretch[:, dim].all():  # as it may be for a movement along another axis
                continue
            for first, end in _stretches(stretch[:, dim] & ~rests, _MIN_STILL):
                yield Finding(
                    "stretch",
                    f"{_title(recordings, i)}: {_channels(recordings, [int(dim)])} is {steps[first, dim]:.4g} from "
                    f"step {first} to {end - 1}, but changes at nearly every step else. If its sensor had stopped, set "
                    "these values to NaN.",
                    (i,),
                    (int(dim),),
                )


# Copies


def _told_copies(recordings: Sequences) -> Iterator[Finding]:
    alike: dict[bytes, list[int]] = {}
    for i, one in enumerate(recordings):
        alike.setdefault(sha256(one.tobytes()).digest(), []).append(i)
    for chosen in alike.values():
        if len(chosen) > 1 and len(recordings[chosen[0]]) >= _MIN_STEPS:
            yield Finding(
                "copies",
                f"{_titles(recordings, chosen)} are exact copies: the same evidence counts {len(chosen)} times. Leave "
                "out all but one.",
                tuple(chosen),
                (),
            )


def _told_dependent(recordings: Sequences, blocks: Sequence[Sequence[int]]) -> Iterator[Finding]:
    """Yield channels that are linear functions of channels before them."""
    steps = recordings.steps[~np.isnan(recordings.steps).any(axis=1)]
    if len(steps) < _MIN_STEPS * recordings.n_dims:
        return
    centred = steps - steps.mean(axis=0)
    sizes = np.sqrt((centred**2).mean(axis=0))
    varying = np.flatnonzero(sizes > 0)
    units = centred[:, varying] / sizes[varying]
    correlations, used = units.T @ units / len(units), np.zeros(0, dtype=np.int64)
    for place, dim in enumerate(varying.tolist()):
        factors = np.linalg.solve(correlations[np.ix_(used, used)], correlations[used, place])
        if correlations[place, place] - factors @ correlations[used, place] > _DEPENDENT:
            used = np.append(used, place)
            continue
        sources = used[np.abs(factors) > np.sqrt(_DEPENDENT)]
        named = varying[sources].tolist()
        if any({dim, *named} <= set(block) for block in blocks):
            continue
        what = "is a copy of" if np.array_equal(steps[:, dim], steps[:, named[0]]) else "follows linearly from"
        yield Finding(
            "dependent channels",
            f"Channel {_channel(recordings, dim)} {what} {_channels(recordings, named)}: it adds nothing, but counts "
            "as evidence. Leave it out.",
            (),
            (dim, *named),
        )


# Recordings and channels that are strange


def _told_unlike(recordings: Sequences, typical: _Typical) -> Iterator[Finding]:
    chosen = np.flatnonzero(recordings.lengths >= _MIN_STEPS)
    if len(chosen) < _MIN_RECORDINGS:
        return
    middles, spreads = typical.medians[chosen], typical.spreads[chosen]
    away = np.abs(middles - _quantiles(middles, 0.5))
    with np.errstate(invalid="ignore", divide="ignore"):
        sizes = np.sqrt(mean_of_known((spreads / mean_of_known(spreads)) ** 2, axis=1))
        distances = away / np.maximum(_quantiles(spreads, 0.5), _robust_spread(away, most=0.5))
    ratios = sizes / np.median(sizes)
    odd = [k for k, ratio in enumerate(ratios) if ratio > 0 and not 1 / _LARGEST_RATIO < ratio < _LARGEST_RATIO]
    for k in odd if len(odd) == 1 else []:
        yield Finding(
            "unlike",
            f"{_title(recordings, int(chosen[k]))} is {ratios[k]:.3g} times as large as the others. Check its units.",
            (int(chosen[k]),),
            (),
        )
    far = np.flatnonzero((np.nan_to_num(distances) > _FAR).any(axis=1)).tolist()
    for k in far if len(far) == 1 and far != odd else []:
        dim = int(np.nanargmax(distances[k]))
        yield Finding(
            "unlike",
            f"{_title(recordings, int(chosen[k]))} is about {middles[k, dim]:.4g} in {_channels(recordings, [dim])}, "
            f"{distances[k, dim]:.0f} spreads from the others. Check its units and its zero.",
            (int(chosen[k]),),
            (dim,),
        )


def _told_drifts(recordings: Sequences) -> Iterator[Finding]:
    """Yield channels that oscillate about a level that moves in one direction."""
    for i, one in enumerate(recordings):
        if len(one) < _MIN_DRIFTING:
            continue
        pieces = np.array_split(one, _PIECES)
        low, middle, high = np.stack([_quantiles(piece, 0.1, 0.5, 0.9) for piece in pieces], axis=1)
        to_and_fro = np.all([_crossings(*both) >= _N_CROSSINGS for both in zip(pieces, middle, strict=True)], axis=0)
        with np.errstate(invalid="ignore"):
            rises = [(np.diff(edge, axis=0) > 0).all(axis=0) for edge in (low, high)]
            falls = [(np.diff(edge, axis=0) < 0).all(axis=0) for edge in (low, high)]
        one_way = (rises[0] & rises[1]) | (falls[0] & falls[1])
        drift, width = middle[-1] - middle[0], np.median(high - low, axis=0)
        for dim in np.flatnonzero(to_and_fro & one_way & (np.abs(drift) > width)).tolist():
            yield Finding(
                "drift",
                f"{_title(recordings, i)}: the baseline of {_channels(recordings, [dim])} drifts by {drift[dim]:.3g}, "
                f"{abs(drift[dim]) / width[dim]:.1f} times the range of its movements. Subtract the drift, or use the "
                "velocity of this channel.",
                (i,),
                (dim,),
            )


def _crossings(steps: FloatArray, middle: FloatArray) -> FloatArray:
    """Return how often each channel crosses a level, (n_channels,)."""
    return np.asarray((np.diff((steps > middle).astype(np.int8), axis=0) != 0).sum(axis=0))


def _told_few_values(recordings: Sequences) -> Iterator[Finding]:
    for dim, column in enumerate(recordings.steps.T):
        if len(np.unique(column[: _FEW_VALUES * _STEPS_PER_VALUE])) > _FEW_VALUES:
            continue
        values = np.unique(column)
        n_values, n_known = int((~np.isnan(values)).sum()), int((~np.isnan(column)).sum())
        if 1 < n_values <= _FEW_VALUES and n_known >= _STEPS_PER_VALUE * n_values:
            yield Finding(
                "few values",
                f"Channel {_channel(recordings, dim)} has only {n_values} different values, which Gaussian "
                "states describe poorly. Use a finer measurement, or leave it out.",
                (),
                (dim,),
            )
