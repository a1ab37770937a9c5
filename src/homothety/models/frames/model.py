"""What a chain of recordings in frames is conditioned on, and its joint density."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.special import gammaln

from homothety.arrays import frozen
from homothety.errors import InputError
from homothety.models import ibphmm
from homothety.models.emissions.missing import drawn_steps, plain_steps
from homothety.models.frames._kernels import log_frame_prior
from homothety.models.frames.frames import (
    Frames,
    aligned_steps,
    gaps_in_frames,
    log_determinants,
    recorded_steps,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.random import Generator

    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.models.emissions import Emission
    from homothety.models.emissions.missing import Gaps
    from homothety.models.frames._kernels import Prior
    from homothety.models.frames.blocks import Blocks
    from homothety.models.frames.state import ChainState

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
    groups : ndarray of int, shape (n_series,), optional
        Which recordings share a frame, if that is fixed. If not given, all share one.
    resting : ndarray of bool, shape (n_series,), optional
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
        """Raise if a state does not fit this model."""
        from homothety.models.frames.state import check_state

        check_state(self, state)

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
        """Frames that starts give recordings, (n_series,): those that are fixed, or one for each that moves."""
        every = np.arange(len(self.starts) - 1)
        if self.sharing == "fixed":
            return np.zeros_like(every) if self.groups is None else self.groups
        longest = int(np.where(self.moves, np.diff(self.starts), 0).argmax())
        return np.unique(np.where(self.moves, every, longest), return_inverse=True)[1]

    @property
    def moves(self) -> BoolArray:
        """Whether each recording moves, (n_series,)."""
        return np.ones(len(self.starts) - 1, dtype=bool) if self.resting is None else ~self.resting

    def aligned(self, frames: Frames) -> ibphmm.Model:
        """Return the segmentation model of the recordings seen through frames; that of the last call is remembered."""
        from homothety.models.frames.state import check_frames

        last = self._last.get("last")  # once: chains of one process may share a model
        if last is None or last[0] is not frames:
            check_frames(self, frames)
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
    """Log density of frames, features up to their order, paths and recorded data; parameters integrated out."""
    return ibphmm.log_joint(model.aligned(state.frames), state.segmentation) + log_frames(model, state.frames)


def log_frames(model: Model, frames: Frames) -> float:
    """Log prior density of frames and of their sharing, and the volume that data take in the recordings."""
    lengths = np.bincount(frames.labels, weights=np.diff(model.starts), minlength=frames.n_frames)
    total = -float(lengths @ log_determinants(model.blocks, model.block_weights, frames))
    for log_sizes, places in zip(frames.log_sizes, frames.places, strict=True):
        total += log_frame_prior(log_sizes, places, model.prior)
    return total + (log_sharing(frames.labels, model.concentration) if model.sharing == "inferred" else 0.0)


def log_sharing(labels: IntArray, concentration: float) -> float:
    """Log probability of a partition of recordings under the Chinese restaurant process.

    Examples
    --------
    >>> round(float(np.exp(log_sharing(np.array([0, 0, 1]), 1.0))), 12)
    0.166666666667
    """
    counts = np.bincount(labels)
    counts = counts[counts > 0]
    total = len(counts) * np.log(concentration) + gammaln(counts).sum()
    return float(total + gammaln(concentration) - gammaln(concentration + len(labels)))
