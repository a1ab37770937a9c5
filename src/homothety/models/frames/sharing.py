"""Which recordings share a frame, and how much of the space of frames is likely: what starts are judged by."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import gammaln

from homothety.models.frames.frames import Frames
from homothety.models.frames.looks import centres_of, looks_of, recorded_sums

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homothety.arrays import FloatArray
    from homothety.models.frames._kernels import Frame, Looks
    from homothety.models.frames.model import Model
    from homothety.models.frames.state import ChainState


class Likeliest(NamedTuple):
    """The likeliest frame of some recordings, given the states of their steps."""

    frame: Frame
    log_target: float
    log_width: float
    """Log of the share of frames that are about as likely, by Laplace."""

    @property
    def log_evidence(self) -> float:
        """Log density of the recordings, their frame integrated out."""
        return self.log_target + self.log_width


def likeliest_frames(model: Model, state: ChainState) -> list[Likeliest]:
    """Return the likeliest frame for the recordings of each frame."""
    sums = recorded_sums(model, state.segmentation.path, state.segmentation.n_features, state.frames)
    looks = looks_of(model, state.segmentation.whiteners)
    return [likeliest_frame(model, looks, sums, [f], state.frames) for f in range(state.frames.n_frames)]


def likeliest_frame(model: Model, looks: Looks, sums: Sequence[FloatArray], of: list[int], frames: Frames) -> Likeliest:
    """Return the likeliest frame for the recordings of some frames, found from the first of these."""
    from homothety.models.frames._kernels import Frame, Sums, Target, log_width

    n, first, second = (part[of].sum(axis=0) for part in sums[:3])
    own = Sums(n, first, second, centres_of(model, n[None], first[None])[0])
    frame = Frame(*(part[of[0]].copy() for part in (frames.turns, frames.log_sizes, frames.places)))
    return Likeliest(frame, *log_width(frame, Target(own, looks, model.prior, model.blocks.layout)))


def log_frame_volume(model: Model, likeliest: Sequence[Likeliest]) -> float:
    """Log of what the joint density is multiplied by when frames are integrated out.

    Without it, a start would be the better the more frames it has, and the tighter their prior. All frames together may
    be turned, moved and resized at will if the states are too, so one of them counts with the whole of its prior.
    """
    from homothety.models.frames._kernels import log_frame_prior

    whole = -np.mean([log_frame_prior(one.frame.log_sizes, one.frame.places, model.prior) for one in likeliest])
    widths = [one.log_width for one in likeliest]
    return float(sum(widths) - np.mean(widths) + whole)


def shared_frames(model: Model, state: ChainState) -> Frames:
    """Return frames of which two at a time became one, as long as that made recordings likelier, states as they are."""
    frames = state.frames
    sums = recorded_sums(model, state.segmentation.path, state.segmentation.n_features, frames)
    looks, n_recordings = looks_of(model, state.segmentation.whiteners), np.bincount(frames.labels)

    def evidence(group: tuple[int, ...]) -> float:
        own = likeliest_frame(model, looks, sums, list(group), frames)
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
    found = [likeliest_frame(model, looks, sums, list(group), frames).frame for group in groups]
    return Frames(labels, *(np.stack(parts) for parts in zip(*found, strict=True)))
