"""Densities of starts with frames integrated out, and which recordings share a frame."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import gammaln

from homothety.models.frames import _kernels
from homothety.models.frames._kernels import Frame, Sums, Target
from homothety.models.frames.frames import Frames
from homothety.models.frames.statistics import centres_of, recorded_sums, state_gaussians

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homothety.models.frames._kernels import StateGaussians
    from homothety.models.frames.model import Model
    from homothety.models.frames.state import ChainState

N_NEWTON = 10  # steps to the likeliest frame


class Likeliest(NamedTuple):
    """The likeliest frame of some recordings, given the states of their steps."""

    frame: Frame
    log_target: float
    log_width: float
    """Log volume of frames that are about as likely, by Laplace's method."""

    @property
    def log_evidence(self) -> float:
        """Log density of the recordings, their frame integrated out."""
        return self.log_target + self.log_width


def likeliest_frames(model: Model, state: ChainState) -> list[Likeliest]:
    """Return the likeliest frame for the recordings of each frame."""
    sums = recorded_sums(model, state.segmentation.path, state.segmentation.n_features, state.frames)
    gaussians = state_gaussians(model, state.segmentation.whiteners)
    return [likeliest_frame(model, gaussians, sums, [f], state.frames) for f in range(state.frames.n_frames)]


def likeliest_frame(
    model: Model, gaussians: StateGaussians, sums: Sums, chosen: list[int], frames: Frames
) -> Likeliest:
    """Return the likeliest common frame for the recordings of some frames, searched from the first of these."""
    n, first, second = (part[chosen].sum(axis=0) for part in sums[:3])
    own = Sums(n, first, second, centres_of(model.blocks, n[None], first[None])[0])
    frame = frames[chosen[0]]
    target = Target(own, gaussians, model.prior, model.blocks.layout)
    log_target = _kernels.climb(frame, target, N_NEWTON)
    return Likeliest(frame, log_target, _kernels.log_width(log_target, frame, target))


def log_frame_volume(model: Model, likeliest: Sequence[Likeliest]) -> float:
    """Log of the factor between the joint density and that with frames integrated out.

    Without it, a start would score higher the more frames it has and the tighter their prior is. If states and all
    frames are turned, moved and resized together, the density does not change, so one frame is integrated over its
    whole prior.
    """
    frames = [one.frame for one in likeliest]
    whole = -np.mean([_kernels.log_frame_prior(one.log_sizes, one.places, model.prior) for one in frames])
    widths = [one.log_width for one in likeliest]
    return float(sum(widths) - np.mean(widths) + whole)


def shared_frames(model: Model, state: ChainState) -> Frames:
    """Return frames merged in pairs while that makes recordings likelier, given the states of their steps."""
    frames = state.frames
    sums = recorded_sums(model, state.segmentation.path, state.segmentation.n_features, frames)
    gaussians, n_recordings = state_gaussians(model, state.segmentation.whiteners), np.bincount(frames.labels)

    def evidence(group: tuple[int, ...]) -> float:
        own = likeliest_frame(model, gaussians, sums, list(group), frames)
        prior = np.log(model.concentration) + gammaln(n_recordings[list(group)].sum())
        return own.log_evidence + float(prior)

    groups: dict[tuple[int, ...], float] = {(f,): evidence((f,)) for f in range(frames.n_frames)}
    pairs = {(a, b): evidence(a + b) for a, b in combinations(groups, 2)}
    while pairs:
        a, b = max(pairs, key=lambda pair: pairs[pair] - groups[pair[0]] - groups[pair[1]])
        if pairs[a, b] < groups[a] + groups[b]:
            break
        one, value = a + b, pairs[a, b]
        groups = {group: own for group, own in groups.items() if group not in (a, b)}
        pairs = {pair: own for pair, own in pairs.items() if not {a, b} & set(pair)}
        pairs |= {(one, group): evidence(one + group) for group in groups}
        groups[one] = value
    labels = np.empty_like(frames.labels)
    for number, group in enumerate(groups):
        labels[np.isin(frames.labels, group)] = number
    found = [likeliest_frame(model, gaussians, sums, list(group), frames).frame for group in groups]
    return Frames(labels, *(np.stack(parts) for parts in zip(*found, strict=True)))
