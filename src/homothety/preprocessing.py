"""Preparation of recordings before segmentation. It is stored, and undone in reported results.

The steps, in this order, each of them optional: signs of quaternions made continuous, smoothing, velocities,
subsampling, centring, scaling.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from itertools import chain, product
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from homothety.arrays import frozen, mean_of_known, range_of_known, variance_of_known
from homothety.decorrelation import decorrelating_stride
from homothety.errors import InputError
from homothety.sequences import ROUNDING, Sequences, check_sequences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from homothety.arrays import FloatArray


_Centring = Literal["all", "series"]
_Scaling = Literal["std", "range"]
_LEAST_SIZE = 1e-150  # of what is brought to one size: its square must not vanish
_Velocities = Literal["append", "replace"]

_POLYNOMIAL_ORDER = 3  # of the Savitzky-Golay filter: keeps the height of peaks, which a moving average lowers
_MIN_WINDOW = (
    _POLYNOMIAL_ORDER + 2
)  # such a polynomial goes through all steps of a shorter one, and nothing is smoothed


@dataclass(frozen=True, kw_only=True)
class Preprocessing:
    """Settings of the preparation of recordings. By default they are only centred, which changes no shape.

    Values may be missing, NaN, and stay so: means and sizes are those of what is known. A velocity next to a missing
    value is missing too; with `smooth`, where the window does not reach over the gap. Of a quaternion all four numbers
    are missing if one is.

    Parameters
    ----------
    centre : {"all", "series"} or None, default="all"
        Subtract the mean over all recordings, or of each recording from it (for recordings in different frames of
        reference; where a recording was is then lost).
    scale : {"std", "range"}, sequence of float or None, default=None
        Bring dimensions to comparable sizes: divide by their standard deviation or by their range, both over all
        recordings. Or multiply each dimension of the output by a number of your own.
    groups : sequence of sequences of int, optional
        Dimensions of the input that are scaled by one common factor. **Coordinates of one vector belong in one
        group**: scaling x, y and z apart changes shapes and turns rotated copies of a movement into something else.
        A quaternion is a group unless it is part of a larger one. Dimensions in no group are scaled each on its own.
        Only with a `scale` that is measured.
    subsample : int or "auto", default=1
        Keep every so many-th step, from the first on. "auto" measures how long the recordings go on in one direction
        and keeps one step of that time: neighbouring steps of a fast recording are nearly copies, and a model that
        counts them all finds too many states.
    smooth : int, optional
        Odd window, in steps of the recording, of a Savitzky-Golay filter of order three; at least 5.
    velocities : {"append", "replace"}, optional
        Add the rate of change per step of the recording as further dimensions, after all others, or put it in the
        place of what changes. Computed before subsampling.
    velocity_dims : sequence of int, optional
        Dimensions to take velocities of; by default all.
    quaternions : sequence of sequences of 4 int, optional
        Dimensions that together are a quaternion. As q and -q are the same rotation, recordings jump between them;
        signs are chosen such that there are no jumps inside a recording and all recordings lie on one side.

    Examples
    --------
    Positions in metres and forces in newtons: each vector keeps its shape, and both count alike.

    >>> rng = np.random.default_rng(0)
    >>> recordings = [rng.normal(scale=[0.1, 0.2, 0.1, 9, 9, 12], size=(100, 6)) for _ in range(2)]
    >>> fitted = Preprocessing(scale="std", groups=[(0, 1, 2), (3, 4, 5)], subsample=2).fit(recordings)
    >>> fitted.transform(recordings)
    <Sequences: 2 series, 100 steps of 6 dimensions>
    """

    centre: _Centring | None = "all"
    scale: _Scaling | tuple[float, ...] | Sequence[float] | None = None
    groups: Sequence[Sequence[int]] = ()
    subsample: int | Literal["auto"] = 1
    smooth: int | None = None
    velocities: _Velocities | None = None
    velocity_dims: Sequence[int] | None = None
    quaternions: Sequence[Sequence[int]] = ()

    def __post_init__(self) -> None:
        _check_choice(self.centre, "centre", get_args(_Centring))
        _check_choice(self.velocities, "velocities", get_args(_Velocities))
        if isinstance(self.scale, str):
            _check_choice(self.scale, "scale", get_args(_Scaling))
        elif self.scale is not None:
            self._set("scale", _check_factors(self.scale))
        if self.subsample != "auto":
            _check_steps(self.subsample, "subsample", or_else=" or 'auto'")
        if self.smooth is not None:
            _check_window(self.smooth)
        self._set("groups", _check_disjoint(self.groups, "groups"))
        self._set("quaternions", _check_disjoint(self.quaternions, "quaternions"))
        for quaternion in self.quaternions:
            if len(quaternion) != 4:
                raise InputError(
                    f"quaternions has one of {len(quaternion)} dimensions, needed four dimensions each.", "quaternions"
                )
        for quaternion, group in product(self.quaternions, self.groups):
            if set(quaternion).intersection(group) not in (set(), set(quaternion)):
                raise InputError(f"Group {group} holds a part of quaternion {quaternion}, needed all of it or none.")
        if self.velocity_dims is not None:
            self._set("velocity_dims", _check_disjoint([self.velocity_dims], "velocity_dims")[0])
        if self.velocities is None and self.velocity_dims is not None:
            raise InputError("velocity_dims means nothing without velocities. Set it to 'append' or 'replace'.")
        if self.groups and not isinstance(self.scale, str):
            raise InputError(
                "groups means nothing without scale='std' or scale='range'. Choose one, or leave out groups=.",
                "groups",
                "scale",
            )

    def fit(self, sequences: Any, *, allow_constant: bool = False) -> FittedPreprocessing:
        """Compute what depends on the data: offsets, factors and the signs of quaternions.

        Parameters
        ----------
        sequences : Sequences, or whatever `check_sequences` takes
            Recordings.
        allow_constant : bool, default=False
            Let channels pass that never change.

        Returns
        -------
        fitted : FittedPreprocessing
        """
        recordings = check_sequences(sequences, allow_constant=allow_constant, allow_missing=True)
        self._check_dims(recordings.n_dims)
        if self.subsample == "auto":
            return self._with_stride(recordings).fit(recordings, allow_constant=allow_constant)
        quaternion_sides = [_mean_rotation(recordings.steps[:, list(dims)]) for dims in self.quaternions]
        series = [self._prepare(one, quaternion_sides) for one in _named(recordings)]
        offset = mean_of_known(np.concatenate(series)) if self.centre == "all" else np.zeros(series[0].shape[1])
        centred = [self._centred(one, offset) for one in series]
        factors = self._factors(centred, recordings.n_dims, self._name_dims(recordings.called))
        return FittedPreprocessing(
            self, recordings.n_dims, frozen(offset), frozen(factors), tuple(frozen(side) for side in quaternion_sides)
        )

    def _name_dims(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return what the channels of the output are called, given the names of those of the recordings."""
        moving = self._moving_dims(len(names))
        if self.velocities == "append":
            return (*names, *(f"velocity of {names[dim]}" for dim in moving))
        return tuple(f"velocity of {name}" if dim in moving else name for dim, name in enumerate(names))

    @property
    def stride(self) -> int:
        """Steps from one that is kept to the next; 1 as long as it is to be measured."""
        return 1 if isinstance(self.subsample, str) else self.subsample

    def _with_stride(self, recordings: Sequences) -> Preprocessing:
        """Return the same settings with the stride that suits the recordings, as prepared otherwise."""
        whole = replace(self, subsample=1)
        prepared = whole.fit(recordings).transform(recordings)
        return replace(self, subsample=decorrelating_stride(list(prepared)))

    def _prepare(self, named: tuple[str, FloatArray], quaternion_sides: Sequence[FloatArray]) -> FloatArray:
        """Prepare one recording, apart from centring and scaling."""
        name, series = named
        for dims, side in zip(self.quaternions, quaternion_sides, strict=True):
            series = _with_continuous_signs(series, list(dims), side)
        if self.smooth is not None and len(series) < self.smooth:
            raise InputError(
                f"{name} has {len(series)} steps, fewer than the smoothing window of {self.smooth}. "
                "Shorten the window or drop the series."
            )
        smoothed = series if self.smooth is None else _smoothed(series, self.smooth)
        return self._with_velocities(series, smoothed)[:: self.stride]

    def _with_velocities(self, series: FloatArray, smoothed: FloatArray) -> FloatArray:
        """Append velocities to the smoothed recording, or put them in the place of its dimensions."""
        if self.velocities is None:
            return smoothed
        dims = self._moving_dims(series.shape[1])
        if self.smooth is None:
            speed = np.gradient(series[:, dims], axis=0)
        else:
            speed = _smoothed(series[:, dims], self.smooth, derivative=1)
        if self.velocities == "append":
            return np.hstack([smoothed, speed])
        replaced = smoothed.copy()
        replaced[:, dims] = speed
        return replaced

    def _moving_dims(self, n_dims: int) -> list[int]:
        """Dimensions of which velocities are taken, none if none are asked for."""
        if self.velocities is None:
            return []
        return list(range(n_dims)) if self.velocity_dims is None else list(self.velocity_dims)

    def _centred(self, series: FloatArray, offset: FloatArray) -> FloatArray:
        """Subtract the mean of this recording, or the given offset."""
        return series - (mean_of_known(series) if self.centre == "series" else offset)

    def _factors(self, centred: list[FloatArray], n_input_dims: int, names: Sequence[str]) -> FloatArray:
        """Return the factor of each channel of the output, of these names."""
        steps = np.concatenate(centred)
        factors = np.ones(steps.shape[1])
        if self.scale is None:
            return factors
        if not isinstance(self.scale, str):
            if len(self.scale) != len(factors):
                raise InputError(
                    f"scale has {len(self.scale)} factors, needed one for each of {len(factors)} dims.", "scale"
                )
            return np.array(self.scale, dtype=np.float64)
        _check_moving(centred, names)
        for group in self._output_groups(n_input_dims):
            size = _group_size(steps[:, group], self.scale)
            if not _LEAST_SIZE < size < 1 / _LEAST_SIZE:
                raise InputError(
                    f"Channels {', '.join(names[dim] for dim in group)} vary by {size:.3g}: too "
                    f"{'much' if size > 1 else 'little'} to be squared, and scale={self.scale!r} cannot bring them to "
                    "one size. Give them in another unit.",
                    "scale",
                )
            factors[group] = 1 / size
        return factors

    def _output_groups(self, n_dims: int) -> list[list[int]]:
        """Return the dimensions of the output scaled together; velocities are grouped as what they are taken of."""
        groups = [list(group) for group in self.groups]
        grouped = set(chain.from_iterable(groups))
        groups += [list(quaternion) for quaternion in self.quaternions if grouped.isdisjoint(quaternion)]
        grouped = set(chain.from_iterable(groups))
        groups += [[dim] for dim in range(n_dims) if dim not in grouped]
        if self.velocities != "append":
            return groups
        place = {dim: n_dims + i for i, dim in enumerate(self._moving_dims(n_dims))}
        appended = [[place[dim] for dim in group if dim in place] for group in groups]
        return groups + [group for group in appended if group]

    def _check_dims(self, n_dims: int) -> None:
        """Raise for dimensions the recordings do not have, and for groups of which only a part becomes velocities."""
        named = {"groups": self.groups, "quaternions": self.quaternions, "velocity_dims": [self.velocity_dims or ()]}
        for option, groups in named.items():
            highest = max(chain.from_iterable(groups), default=0)
            if highest >= n_dims:
                raise InputError(
                    f"{option} names dimension {highest}, but recordings have {n_dims}, counted from 0.", option
                )
        moving = set(self._moving_dims(n_dims)) if self.velocities == "replace" else set()
        for group in self.groups:
            if moving.intersection(group) not in (set(), set(group)):
                raise InputError(
                    f"Group {tuple(group)} would hold positions and velocities, which share no scale. "
                    "Put all or none of its dimensions in velocity_dims."
                )

    def _set(self, name: str, value: Any) -> None:
        """Store a setting in its checked form while the object is made."""
        object.__setattr__(self, name, value)


@dataclass(frozen=True, eq=False)
class FittedPreprocessing:
    """Preprocessing with all that was learnt from recordings. Made by `Preprocessing.fit`; arrays are read-only.

    Attributes
    ----------
    settings : Preprocessing
    n_input_dims : int
        Dimensions of the recordings.
    offset : ndarray of shape (n_dims,)
        Subtracted from each dimension of the output; zero where each recording is centred on its own.
    factors : ndarray of shape (n_dims,)
        What each dimension is multiplied by then.
    quaternion_sides : tuple of ndarray of shape (4,)
        For each quaternion the direction all recordings are turned towards.
    """

    settings: Preprocessing
    n_input_dims: int
    offset: FloatArray
    factors: FloatArray
    quaternion_sides: tuple[FloatArray, ...] = ()

    @property
    def n_dims(self) -> int:
        """Dimensions of the output."""
        return len(self.factors)

    @property
    def means_are_relative(self) -> bool:
        """Whether restored means are relative to the centre of each recording: such centring cannot be undone."""
        return self.settings.centre == "series"

    def transform(self, sequences: Any, *, min_steps: int = 2) -> Sequences:
        """Return prepared recordings.

        Parameters
        ----------
        sequences : Sequences, or whatever `check_sequences` takes
            Recordings, those of the fit or new ones, of the same dimensions.
        min_steps : int, default=2
            The least number of steps that must be left of a recording.

        Returns
        -------
        prepared : Sequences
            Of the same names, with the names of channels by `name_dims`.
        """
        # A velocity takes two steps, whatever is left of them.
        least = 1 if self.settings.velocities is None else 2
        recordings = check_sequences(sequences, min_steps=least, allow_constant=True, allow_missing=True)
        if recordings.n_dims != self.n_input_dims:
            raise InputError(f"Recordings have {recordings.n_dims} dimensions, needed {self.n_input_dims} as fitted.")
        series = [self._transform_one(one) for one in _named(recordings)]
        channels = None if recordings.channels is None else self.name_dims(recordings.channels)
        return check_sequences(
            series,
            names=recordings.names,
            channels=channels,
            min_steps=min_steps,
            allow_constant=True,
            allow_missing=True,
        )

    def _transform_one(self, named: tuple[str, FloatArray]) -> FloatArray:
        """Prepare one recording."""
        prepared = self.settings._prepare(named, self.quaternion_sides)
        return self.settings._centred(prepared, self.offset) * self.factors

    def restore_mean(self, mean: ArrayLike) -> FloatArray:
        """Undo scaling and centring in means, shape (..., n_dims).

        Smoothing is not undone and velocities stay velocities. If each recording was centred on its own
        (`means_are_relative`), the means stay relative to the centre of a recording: a mean shared by several
        recordings has no one place in the recordings.

        Examples
        --------
        >>> fitted = Preprocessing(scale=[10]).fit([[[1.0], [3.0]]])
        >>> fitted.transform([[[1.0], [3.0]]]).steps.ravel()
        array([-10.,  10.])
        >>> fitted.restore_mean([10.0])
        array([3.])
        """
        return self._check_last_axis(mean, "mean") / self.factors + self.offset

    def restore_covariance(self, covariance: ArrayLike) -> FloatArray:
        """Undo scaling in covariances, shape (..., n_dims, n_dims); centring leaves them as they are."""
        array = self._check_last_axis(covariance, "covariance")
        if array.ndim < 2 or array.shape[-2] != self.n_dims:
            raise InputError(f"covariance has shape {array.shape}, needed (..., {self.n_dims}, {self.n_dims}).")
        return array / (self.factors[:, None] * self.factors)

    def expand(self, labels: ArrayLike, n_steps: int) -> NDArray[Any]:
        """Expand the labels of a subsampled recording to all steps of the recording.

        Parameters
        ----------
        labels : array_like of shape (n_kept, ...)
            One entry per step of the transformed recordings.
        n_steps : int
            Steps of the recording.

        Returns
        -------
        expanded : ndarray of shape (n_steps, ...)
            Each step has the label of the nearest step that was kept.

        Examples
        --------
        >>> Preprocessing(subsample=3).fit([[[1.0], [3.0]]]).expand([7, 8, 9], 8)
        array([7, 7, 8, 8, 8, 9, 9, 9])
        """
        array, every = np.asarray(labels), self.settings.stride
        n_kept = -(-n_steps // every)
        if array.ndim == 0 or len(array) != n_kept:
            raise InputError(
                f"labels has shape {array.shape}, needed {n_kept} entries, "
                f"as one step in {every} of {n_steps} was kept.",
                "labels",
            )
        nearest = (np.arange(n_steps) + every // 2) // every
        return array[np.minimum(nearest, n_kept - 1)]

    def name_dims(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the names of the dimensions of the output, given those of the recordings.

        Examples
        --------
        >>> Preprocessing(velocities="append").fit([[[1.0], [3.0]]]).name_dims(["x"])
        ('x', 'velocity of x')
        """
        if len(names) != self.n_input_dims:
            raise InputError(f"names has {len(names)} entries, needed one for each of {self.n_input_dims} dimensions.")
        return self.settings._name_dims(names)

    def to_record(self) -> dict[str, Any]:
        """Return everything as plain numbers, texts and lists, ready for JSON."""
        return {
            "settings": asdict(self.settings),
            "n_input_dims": self.n_input_dims,
            "offset": self.offset.tolist(),
            "factors": self.factors.tolist(),
            "quaternion_sides": [side.tolist() for side in self.quaternion_sides],
        }

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> FittedPreprocessing:
        """Return the object from the record that `to_record` returned."""
        return cls(
            Preprocessing(**record["settings"]),
            record["n_input_dims"],
            frozen(np.array(record["offset"], dtype=np.float64)),
            frozen(np.array(record["factors"], dtype=np.float64)),
            tuple(frozen(np.array(side, dtype=np.float64)) for side in record["quaternion_sides"]),
        )

    def _check_last_axis(self, values: ArrayLike, item: str) -> FloatArray:
        """Return an array whose last axis is that of the output's dimensions, or raise."""
        array = np.asarray(values, dtype=np.float64)
        if array.ndim == 0 or array.shape[-1] != self.n_dims:
            raise InputError(f"{item} has shape {array.shape}, needed {self.n_dims} dimensions along the last axis.")
        return array


def _named(sequences: Sequences) -> list[tuple[str, FloatArray]]:
    return list(zip(sequences.names, sequences, strict=True))


def _mean_rotation(quaternions: FloatArray) -> FloatArray:
    """Return the mean direction of quaternions (n_steps, 4) whatever their signs, its largest entry positive."""
    mean = middle_orientation(quaternions[~np.isnan(quaternions).any(axis=1)])
    return np.asarray(mean * np.sign(mean[np.abs(mean).argmax()]))


def _with_continuous_signs(series: FloatArray, dims: list[int], side: FloatArray) -> FloatArray:
    """Flip quaternions such that each points along the one before, and all together along `side`."""
    quaternions = series[:, dims]
    known = ~np.isnan(quaternions).any(axis=1)
    if not known.all():
        continuous = series.copy()
        continuous[:, dims] = np.nan  # three numbers of a quaternion leave the sign of the fourth open
        if known.any():
            continuous[np.ix_(np.flatnonzero(known), np.array(dims))] = _with_continuous_signs(
                quaternions[known], [0, 1, 2, 3], side
            )
        return continuous
    flips = np.where((quaternions[1:] * quaternions[:-1]).sum(axis=1) < 0, -1.0, 1.0)
    quaternions = quaternions * np.concatenate([[1.0], np.cumprod(flips)])[:, None]
    if (quaternions @ side).sum() < 0:
        quaternions = -quaternions
    continuous = series.copy()
    continuous[:, dims] = quaternions
    return continuous


def _savitzky_golay(series: FloatArray, window: int, derivative: int = 0) -> FloatArray:
    """Return the recording smoothed by local polynomials, or their derivative per step."""
    from scipy.signal import savgol_filter

    return np.asarray(savgol_filter(series, window, _POLYNOMIAL_ORDER, deriv=derivative, axis=0))


def _smoothed(series: FloatArray, window: int, derivative: int = 0) -> FloatArray:
    """Return smoothed recordings, or their derivatives, where values may be missing (NaN).

    The polynomial goes through the steps of the window that are known. There is no value where the step itself is
    missing, where fewer than five steps are known, or where none is known on one side of the step: next to a gap that
    is longer than half a window.
    """
    if not np.isnan(series).any():
        return _savitzky_golay(series, window, derivative)
    columns = [_smoothed_column(column, window, derivative) for column in series.T]
    return np.ascontiguousarray(np.column_stack(columns))


def _smoothed_column(column: FloatArray, window: int, derivative: int) -> FloatArray:
    """Return one dimension smoothed."""
    known, half, n = ~np.isnan(column), window // 2, len(column)
    smoothed = np.full(n, np.nan)
    middles = np.clip(np.arange(n), half, n - 1 - half)  # windows at the ends of a recording are not centred
    windows = middles[:, None] + np.arange(-half, half + 1)
    n_known = known[windows].sum(axis=1)
    if (n_known == window).any():
        filled = np.interp(np.arange(n), np.flatnonzero(known), column[known])
        whole = n_known == window
        smoothed[whole] = _savitzky_golay(filled[:, None], window, derivative)[whole, 0]
    later = windows - np.arange(n)[:, None]
    is_between = (known[windows] & (later < 0)).any(axis=1) | (np.arange(n) == 0)
    is_between &= (known[windows] & (later > 0)).any(axis=1) | (np.arange(n) == n - 1)
    steps = np.flatnonzero(known & (n_known < window) & (n_known >= _MIN_WINDOW) & is_between)
    # Powers of the distance from the step: the value there is the first coefficient, the slope the second.
    powers = (later[steps, :, None] / half) ** np.arange(_POLYNOMIAL_ORDER + 1)
    weighted = powers * known[windows[steps]][:, :, None]
    values = np.where(known, column, 0.0)[windows[steps]]
    normal, mixed = np.swapaxes(weighted, 1, 2) @ powers, np.einsum("twp,tw->tp", weighted, values)
    smoothed[steps] = np.linalg.solve(normal, mixed[:, :, None])[:, derivative, 0] / half**derivative
    return smoothed


def _group_size(steps: FloatArray, scale: str) -> float:
    """Return the size dimensions have together: root mean variance over them, or the widest range."""
    return float(np.sqrt(variance_of_known(steps).mean()) if scale == "std" else range_of_known(steps).max())


def _check_moving(centred: list[FloatArray], names: Sequence[str]) -> None:
    """Raise naming a channel that differs at most between recordings, of which centring leaves only rounding."""
    levels = np.stack([np.fmin.reduce(one) for one in centred])
    still = np.all([range_of_known(one) == 0 for one in centred], axis=0)
    still &= range_of_known(levels) <= ROUNDING * np.nanmax(np.abs(np.concatenate(centred)))
    if still.any():
        raise InputError(
            f"After centring, channel {names[int(still.argmax())]} is constant in every recording, so it cannot be "
            "scaled. Leave it out, or centre over all recordings."
        )


def _check_choice(value: str | None, name: str, choices: tuple[str, ...]) -> None:
    """Raise unless the value is None or one of the choices."""
    if value is not None and value not in choices:
        raise InputError(f"{name} is {value!r}, needed one of {', '.join(map(repr, choices))}, or None.", name)


def _check_steps(value: Any, name: str, minimum: int = 1, or_else: str = "") -> int:
    """Return a number of steps, or raise unless it is an integer and large enough; `or_else` names alternatives."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < minimum:
        raise InputError(f"{name} is {value!r}, needed a whole number of at least {minimum}{or_else}.", name)
    return int(value)


def _check_window(value: Any) -> None:
    """Raise unless a window has a middle, and more steps than a polynomial goes through."""
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_whole or value < _MIN_WINDOW or value % 2 == 0:
        raise InputError(
            f"smooth is {value!r}, needed an odd number of steps, at least {_MIN_WINDOW}: a shorter window smooths "
            "nothing, and an even one has no middle.",
            "smooth",
        )


def _check_factors(factors: Sequence[float]) -> tuple[float, ...]:
    """Return factors as a tuple, or raise unless all can be divided by."""
    values = np.asarray(factors, dtype=np.float64)
    if values.ndim != 1 or not np.isfinite(values).all() or (values == 0).any():
        raise InputError(
            f"scale is {factors!r}, needed one finite number other than zero per dimension of the output.", "scale"
        )
    return tuple(values.tolist())


def _check_disjoint(groups: Sequence[Sequence[int]], name: str) -> tuple[tuple[int, ...], ...]:
    """Return groups of dimensions as tuples, or raise if one is empty or a dimension comes twice or is negative."""
    checked = tuple(tuple(_check_steps(dim, f"A dimension in {name}", 0) for dim in group) for group in groups)
    if not all(checked):
        raise InputError(f"{name} has an empty group, needed at least one dimension in each. Leave it out.", name)
    dims = list(chain.from_iterable(checked))
    for place, dim in enumerate(dims):
        if dim in dims[:place]:
            raise InputError(f"{name} names dimension {dim} twice, needed each dimension once at most.", name)
    return checked


# Orientations as rotation vectors from the middle of their recording


_SMALL = 1e-12


def rotation_vectors(quaternions: FloatArray, middle: FloatArray) -> FloatArray:
    """Return the rotation of each orientation from a middle one, as its axis times its angle in radians.

    Parameters
    ----------
    quaternions : ndarray of shape (n_steps, 4)
        Unit quaternions, w first, in the order of time: signs are chosen such that they do not jump, so that a turn
        may go on beyond 180 degrees. After 360 degrees from the middle it begins anew.
    middle : ndarray of shape (4,)

    Returns
    -------
    vectors : ndarray of shape (n_steps, 3)

    Examples
    --------
    A quarter turn about the third axis, and then minus the same quaternion, which is the same orientation:

    >>> half = np.sqrt(0.5)
    >>> turning = np.array([[1, 0, 0, 0], [half, 0, 0, half], [-half, 0, 0, -half]])
    >>> rotation_vectors(turning, np.array([1.0, 0, 0, 0]))[:, 2].round(4)
    array([0.    , 1.5708, 1.5708])
    """
    relative = _quaternion_product(
        quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True), _quaternion_inverse(middle)
    )
    jumps = np.where((relative[1:] * relative[:-1]).sum(axis=1) < 0, -1.0, 1.0)
    relative = relative * np.concatenate([[1.0], np.cumprod(jumps)])[:, None]
    relative = relative if np.median(relative[:, 0]) >= 0 else -relative
    lengths = np.linalg.norm(relative[:, 1:], axis=1)
    angles = 2 * np.arctan2(lengths, relative[:, 0])
    factors = np.where(lengths > _SMALL, angles / np.maximum(lengths, _SMALL), 2.0)
    return np.asarray(factors[:, None] * relative[:, 1:])


def orientations(vectors: FloatArray, middle: FloatArray) -> FloatArray:
    """Return unit quaternions, w first, from rotation vectors and the middle they are counted from."""
    angles = np.linalg.norm(vectors, axis=1, keepdims=True)
    axes = np.where(angles > _SMALL, np.sin(angles / 2) / np.maximum(angles, _SMALL), 0.5) * vectors
    return _quaternion_product(np.hstack([np.cos(angles / 2), axes]), middle)


def middle_orientation(quaternions: FloatArray) -> FloatArray:
    """Return the mean of orientations, (n_steps, 4): a unit quaternion, of either sign."""
    # The leading eigenvector of the sum of q q' does not change when a sign does (Markley et al. 2007).
    return np.asarray(np.linalg.eigh(quaternions.T @ quaternions)[1][:, -1])


def _quaternion_product(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return products of quaternions, w first, (..., 4)."""
    a, b, c, d = np.moveaxis(left, -1, 0)
    w, x, y, z = np.moveaxis(right, -1, 0)
    return np.stack(
        [
            a * w - b * x - c * y - d * z,
            a * x + b * w + c * z - d * y,
            a * y - b * z + c * w + d * x,
            a * z + b * y - c * x + d * w,
        ],
        axis=-1,
    )


def _quaternion_inverse(quaternion: FloatArray) -> FloatArray:
    """Return the inverse of a unit quaternion."""
    return quaternion * np.array([1.0, -1.0, -1.0, -1.0])
