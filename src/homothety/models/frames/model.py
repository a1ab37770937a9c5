"""What a chain of recordings in frames is conditioned on, its joint density, and one point of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

import numpy as np

from homothety.arrays import frozen, read_only
from homothety.errors import InputError
from homothety.models import ibphmm
from homothety.models._parts import check_array, check_finite, check_labels
from homothety.models.crp import log_partition_prior
from homothety.models.emissions.missing import drawn_steps, plain_steps
from homothety.models.frames._kernels import StateGaussians, Sums, add_expected, add_recorded, log_frame_prior
from homothety.models.frames.frames import Frames, aligned_steps, gaps_in_frames, log_determinants, recorded_steps
from homothety.sampling.codec import storable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.random import Generator

    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.models.emissions import Emission
    from homothety.models.emissions.missing import Gaps
    from homothety.models.frames._kernels import Prior
    from homothety.models.frames.frames import Blocks

Sharing = Literal["inferred", "fixed"]


@dataclass(frozen=True, eq=False)
class Model:
    """Recordings, blocks of their channels, and the priors of frames and of the segmentation. Never changes.

    Parameters
    ----------
    steps : ndarray of shape (n_steps, n_dims)
        Recorded steps, one recording after the other.
    segmentation : ibphmm.Model
        The model of the aligned steps; its own steps are replaced by them.
    blocks : Blocks
    prior : Prior
        Of a frame.
    sharing : {"inferred", "fixed"}
        Whether the recordings that share a frame are inferred, by a Chinese restaurant process, or stay as they start.
    concentration : float
        Of that process: large values favour frames of one recording each.
    n_global : int
        Frames that try a large rotation in each sweep, and recordings that try another frame.
    groups : ndarray of int, shape (n_recordings,), optional
        Which recordings share a frame, if that is fixed. If not given, all share one.
    resting : ndarray of bool, shape (n_recordings,), optional
        Recordings that do not move. Their frames cannot be inferred, so each of them shares that of another recording.
    fill : ndarray of shape (n_steps, n_dims), optional
        Recorded steps with missing values filled in, which never changes: what is proposed may depend on it. Only where
        values are missing; `segmentation` has the gaps of the recorded steps then.
    """

    steps: FloatArray
    segmentation: ibphmm.Model
    blocks: Blocks
    prior: Prior
    sharing: Sharing = "inferred"
    concentration: float = 1.0
    n_global: int = 1
    groups: IntArray | None = None
    resting: BoolArray | None = None
    fill: FloatArray | None = None

    def __post_init__(self) -> None:
        found, needed = self.steps.shape[1], self.blocks.n_dims
        if not found == needed == self.emission.n_dims:
            raise InputError(f"steps have {found} channels and states {self.emission.n_dims}, but blocks {needed}.")
        coupled = self.emission.structure_mask[:, self.emission.n_regressors :]
        for b, channels in enumerate(self.blocks.slices):
            outside = np.delete(coupled[channels], channels, axis=1)
            # Frames are judged block by block: what couples blocks, or weighs channels of one apart, would be missed.
            uneven = np.ptp(self.emission.dim_weights[channels]) > 0
            if b in self.blocks.turned + self.blocks.placed and (outside.any() or uneven):
                raise InputError(
                    f"States couple block {b}, a {self.blocks.kinds[b]}, with other channels, or weigh its channels "
                    f"differently. Use Emission.gaussian_blocks with sizes {list(self.blocks.sizes)}."
                )

    def check_state(self, state: ChainState) -> None:
        """Raise if a state does not fit the self. Parts of the segmentation that are out of date are not looked at."""
        _check_frames(self, state.frames)
        for name in ("turns", "log_sizes", "places"):
            check_finite(getattr(state.frames, name), f"{name} of frames")
        check_finite(self.steps, "steps")
        self.aligned(state.frames).check_state(state.segmentation)

    @property
    def emission(self) -> Emission:
        """How states emit in the canonical frame."""
        return self.segmentation.emission

    @property
    def starts(self) -> IntArray:
        """First step of each recording, and the end of the last."""
        return self.segmentation.starts

    def steps_of(self, series: Sequence[int] | None = None) -> tuple[FloatArray, IntArray]:
        """Return a copy of the steps of some or all recordings, and where each begins in it and the last ends.

        Where values are missing they are filled in by what never changes.
        """
        every, steps = range(len(self.starts) - 1), self.steps if self.fill is None else self.fill
        parts = [steps[self.starts[i] : self.starts[i + 1]] for i in (every if series is None else series)]
        return np.concatenate(parts), np.concatenate([[0], np.cumsum([len(part) for part in parts])])

    @property
    def block_weights(self) -> FloatArray:
        """How much of an observation a step counts as in each block, (n_blocks,)."""
        return np.asarray(self.emission.dim_weights[self.blocks.layout.starts[:-1]] * self.emission.weight)

    @property
    def start_groups(self) -> IntArray:
        """Frames that starts give recordings, (n_recordings,): those that are fixed, or one for each that moves."""
        every = np.arange(len(self.starts) - 1)
        if self.sharing == "fixed":
            return np.zeros_like(every) if self.groups is None else self.groups
        longest = int(np.where(self.moves, np.diff(self.starts), 0).argmax())
        return np.unique(np.where(self.moves, every, longest), return_inverse=True)[1]

    @property
    def moves(self) -> BoolArray:
        """Whether each recording moves, (n_recordings,)."""
        return np.ones(len(self.starts) - 1, dtype=bool) if self.resting is None else ~self.resting

    def aligned(self, frames: Frames) -> ibphmm.Model:
        """Return the segmentation model of the recordings seen through frames; that of the last call is remembered."""
        last = self._last.get("last")  # once: chains of one process may share a model
        if last is None or last[0] is not frames:
            _check_frames(self, frames)
            steps = aligned_steps(self.blocks, frames, self.steps, self.starts)
            last = (frames, replace(self.segmentation, z=frozen(self.emission.augment_steps(steps))))
            if self.fill is not None:
                last = (frames, replace(last[1], gaps=self._gaps_in(frames, self.fill)))
            self._last["last"] = last
        return last[1]

    def _gaps_in(self, frames: Frames, fill: FloatArray) -> Gaps:
        """Return the gaps of the aligned recordings."""
        aligned = self.emission.augment_steps(aligned_steps(self.blocks, frames, fill, self.starts))
        return gaps_in_frames(self.blocks, frames, self.emission, self.segmentation.gaps, aligned)

    def with_gaps(self, missing: BoolArray) -> Model:
        """Return the model in which some values, (n_steps, n_dims), are missing; they are filled in as they are now."""
        return replace(self, segmentation=self.segmentation.with_gaps(missing), fill=self.steps)

    def values(self, missing: BoolArray) -> FloatArray:
        """Return what the missing values are filled in with, (n_missing,)."""
        return np.asarray(self.steps[missing])

    def with_values(self, missing: BoolArray, values: FloatArray) -> Model:
        """Return the model with other values filled in."""
        steps = self.steps.copy()
        steps[missing] = values
        return replace(self, steps=frozen(steps))

    def draw_values(self, rng: Generator, state: ChainState, missing: BoolArray) -> FloatArray:
        """Draw the missing values given frames, paths and parameters, (n_missing,), as recorded."""
        aligned, path = self.aligned(state.frames), ibphmm.path_of(self.segmentation, state.segmentation)
        whiteners = ibphmm.whiteners_of(self.segmentation, state.segmentation)
        drawn = drawn_steps(rng, self.emission, aligned.z, path, whiteners, aligned.gaps)
        canonical = plain_steps(self.emission, drawn)
        return np.asarray(recorded_steps(self.blocks, state.frames, canonical, self.starts)[missing])

    @cached_property
    def _last(self) -> dict[str, tuple[Frames, ibphmm.Model]]:
        """Frames and model of the last call. No field: a copy with other steps has its own, and no checkpoint asks."""
        return {}


def log_joint(model: Model, state: ChainState) -> float:
    """Log density of frames, states up to their order, paths and recorded data; parameters integrated out."""
    return ibphmm.log_joint(model.aligned(state.frames), state.segmentation) + log_frames(model, state.frames)


def log_frames(model: Model, frames: Frames) -> float:
    """Log prior density of frames and of their sharing, and the volume that data take in the recordings."""
    lengths = np.bincount(frames.labels, weights=np.diff(model.starts), minlength=frames.n_frames)
    total = -float(lengths @ log_determinants(model.blocks, model.block_weights, frames))
    for log_sizes, places in zip(frames.log_sizes, frames.places, strict=True):
        total += log_frame_prior(log_sizes, places, model.prior)
    if model.sharing == "inferred":
        total += log_partition_prior(frames.labels, model.concentration)
    return total


_Info = TypeVar("_Info")
_Move: TypeAlias = Callable[["Generator", "Model", "ChainState"], tuple["ChainState", _Info]]


@storable
@dataclass(frozen=True, eq=False)
class ChainState:
    """One point of the chain.

    Parameters
    ----------
    segmentation : ibphmm.ChainState
        Of the aligned recordings.
    frames : Frames
    step : int
        Number of sweeps behind this state.
    """

    segmentation: ibphmm.ChainState
    frames: Frames
    step: int = 0


def _check_frames(model: Model, frames: Frames) -> None:
    """Raise if frames do not fit the model."""
    blocks, n, n_recordings = model.blocks, frames.n_frames, len(model.starts) - 1
    n_sizes, places = len(blocks.sized), (len(blocks.placed), blocks.dim)
    check_array(model.steps, "steps", (model.segmentation.n_steps, blocks.n_dims), np.float64)
    check_array(model.prior.place_mean, "prior.place_mean", places, np.float64)
    check_array(model.prior.place_spread, "prior.place_spread", places[:1], np.float64)
    check_labels(frames.labels, "labels of frames", n_recordings, n)
    check_array(frames.turns, "turns of frames", (n, blocks.turn_size), np.float64)
    check_array(frames.log_sizes, "log_sizes of frames", (n, n_sizes), np.float64)
    check_array(frames.places, "places of frames", (n, *places), np.float64)


def checked(move: _Move[_Info]) -> _Move[_Info]:
    """Return a move of frames that first checks the state: nothing is out of date, and all parts fit the model."""

    @wraps(move)
    def check_and_move(rng: Generator, model: Model, state: ChainState) -> tuple[ChainState, _Info]:
        _check_frames(model, state.frames)
        ibphmm.check_parts(model.segmentation, state.segmentation)
        return move(rng, model, state)

    return check_and_move


def init_state(rng: Generator, model: Model, *, frames: Frames, start: Callable[..., ibphmm.ChainState]) -> ChainState:
    """Return a first state with given frames.

    Parameters
    ----------
    rng : Generator
    model : Model
    frames : Frames
    start : callable
        From ``(rng, ibphmm.Model)``, that of the aligned recordings, to the first state of the segmentation.
    """
    return ChainState(start(rng, model.aligned(frames)), frames)


def state_gaussians(model: Model, whiteners: FloatArray) -> StateGaussians:
    """Return means and weighted precisions of states, in the canonical frame."""
    emission = model.emission
    roots = whiteners[:, :, emission.n_regressors :]
    precisions = np.swapaxes(roots, -1, -2) @ (emission.weight * emission.dim_weights[:, None] * roots)
    return StateGaussians(emission.means_of(whiteners), np.ascontiguousarray(precisions), model.block_weights)


def recorded_sums(model: Model, path: IntArray, n_states: int, frames: Frames) -> Sums:
    """Return sums over the recorded steps of every frame and state; arrays begin with an axis of frames."""
    return sums_by_state(model.blocks, model.steps, model.starts, frames.labels, path, n_states)


def sums_by_state(
    blocks: Blocks, steps: FloatArray, starts: IntArray, labels: IntArray, states: IntArray | FloatArray, n_states: int
) -> Sums:
    """Return sums over the steps of every label and state; arrays begin with an axis of labels.

    Parameters
    ----------
    blocks : Blocks
    steps : ndarray of shape (n_steps, n_dims)
    starts : ndarray of int, shape (n_stretches + 1,)
        First step of each stretch of steps, and the end of the last.
    labels : ndarray of int, shape (n_stretches,)
        Stretches with the same label are added up.
    states : ndarray of int, shape (n_steps,), or ndarray of float, shape (n_steps, n_states)
        State of every step, or the probabilities of its states.
    n_states : int
    """
    n_labels, n_dims = int(labels.max()) + 1, steps.shape[1]
    n, first = np.zeros((n_labels, n_states)), np.zeros((n_labels, n_states, n_dims))
    second = np.zeros((n_labels, n_states, n_dims, n_dims))
    add: Callable[..., None] = add_recorded if states.ndim == 1 else add_expected
    add(read_only(steps), read_only(np.asarray(states)), starts, labels, n, first, second)
    second += np.swapaxes(np.tril(second, -1), -1, -2)
    return Sums(n, first, second, centres_of(blocks, n, first))


def centres_of(blocks: Blocks, n: FloatArray, first: FloatArray) -> FloatArray:
    """Return the mean of every block with a place over the steps of all states, (n_labels, n_places, dim)."""
    return blocks.at_places(first.sum(axis=1) / n.sum(axis=1)[:, None])
