"""Where chains start: expectation-maximisation over states and frames, from several references.

See docs/model.md, section 5.10.

For some numbers of states, one recording is taken as the reference and a small model fitted to it; every other
recording is laid on it in the likeliest of its candidate frames; then states and frames are fitted together. Another
start has all recordings in one frame: if they do share a frame, principal axes give wrong rotations. Starts are
compared by their density with frames integrated out, and recordings share frames where that increases the density.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.ndimage import uniform_filter1d
from scipy.special import gammaln

from homothety.models import ibphmm
from homothety.models.emissions.regression import Statistics, mean_parameters
from homothety.models.frames import _kernels
from homothety.models.frames._kernels import Frame, Sums, Target
from homothety.models.frames.candidates import (
    Chain,
    angles_between,
    climbed,
    clip_to_prior,
    likely_frames,
    smooth_through,
)
from homothety.models.frames.frames import Frames, aligned_steps, identity_frames, log_determinants, stacked
from homothety.models.frames.model import ChainState, centres_of, log_joint, recorded_sums, state_gaussians
from homothety.models.hmm.messages import mend_short_stays

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray
    from homothety.models.frames._kernels import StateGaussians
    from homothety.models.frames.frames import Blocks
    from homothety.models.frames.model import Model

_N_JOINT = 10  # rounds of EM after every search for frames
N_LAST = 30  # rounds of the last EM of a fit
_N_SHORT = 6  # rounds of EM after which splits of states are compared
_N_COMPARED = 3  # states with which models are compared
_N_AFRESH = 3  # states up to which models are fitted afresh; larger ones come from splits of states
_N_REFIT = 4  # numbers of states that are fitted again when weights have changed
_N_SPLIT = 2  # fits whose states are split when a state is added
_N_REFERENCES = 2  # recordings that are the reference in turn, for each number of states
_LEAST_TURN = 0.5  # radians: recordings that turn less were in the same frame before
_N_WORSE = 2  # numbers of states in a row that may be worse than the best before the search ends
_N_NEWTON = 10  # steps to the likeliest frame
_ENOUGH = 0.2  # nats: EM ends where a round gains less
_SMALL_COUNT = 0.3  # added to the expected number of every transition


class Start(NamedTuple):
    """Where a chain may start."""

    path: IntArray  # (n_steps,)
    frames: Frames
    score: float  # log joint density, frames integrated out
    n_states: int


class _Search(NamedTuple):
    """What was found so far."""

    model: Model
    starts: list[Start]
    latest: list[_Fitted]  # with the largest number of states, best first

    @property
    def best(self) -> float:
        """Score of the best start."""
        return max((start.score for start in self.starts), default=-np.inf)


def search_starts(
    rng: Generator,
    model: Model,
    ways: Sequence[Model] = (),
    *,
    most_states: int = 12,
) -> tuple[Model, list[Start]]:
    """Return the likeliest model and its starts, best first, with one state, two, and so on until more are worse.

    Parameters
    ----------
    rng : Generator
    model : Model
    ways : sequence of Model, optional
        Models of the same recordings whose frames act on other blocks. With up to `_N_COMPARED` states they are fitted
        too, beginning with the fits of `model`; then the likeliest of them takes its place.
    most_states : int
    """
    search, n_since = _Search(model, [], []), 0
    others = [_Search(way, [], []) for way in ways]
    for n_states in range(1, most_states + 1):
        before = search.best
        search = _with_more_states(rng, search, n_states)
        if n_states <= _N_COMPARED:
            others = [_fitted_again(rng, other, search) for other in others]
        if n_states == min(_N_COMPARED, most_states) and others:
            search, others, before = max(others, key=lambda one: one.best), [], -np.inf
        n_since = 0 if search.best > before else n_since + 1
        if not others and (not search.latest or n_since == _N_WORSE):
            break
    return search.model, _best_first(search.starts)


def _best_first(starts: list[Start]) -> list[Start]:
    """Return starts sorted by their scores."""
    return sorted(starts, key=lambda start: -start.score)


# --- one number of states ---------------------------------------------------------------------------------------------


def _with_more_states(rng: Generator, search: _Search, n_states: int) -> _Search:
    """Return a search with fits of one state more: afresh if they are few, and with a state of the best fits split."""
    model = search.model
    fits = _fits_afresh(rng, model, n_states) if n_states <= min(_N_AFRESH, len(model.steps)) else []
    fits += [fitted for one in search.latest[:_N_SPLIT] for fitted in _with_state_split(rng, model, one)]
    if fits and n_states > 1:
        fits += laid_anew(model, max(fits, key=lambda one: one.log_likelihood))
    return _with_fits(rng, search, fits)


def _fitted_again(rng: Generator, other: _Search, search: _Search) -> _Search:
    """Return the search of another model with the latest fits of a search added, fitted to that model."""
    model, old = other.model, search.model.blocks
    fits = [fit(model, _frames_of_blocks(old, model, one.frames), one.probs, N_LAST) for one in search.latest]
    return _with_fits(rng, other, fits)


def _with_fits(rng: Generator, search: _Search, fits: list[_Fitted]) -> _Search:
    """Return a search with some fits, all of one number of states, added, and the best also with frames shared."""
    model = search.model
    found = [_start_of(rng, model, fitted) for fitted in fits]
    if fits and model.sharing == "inferred":
        best = fits[int(np.argmax([start.score for start in found]))]
        frames = shared_frames(model, _state_of(rng, model, best))
        if frames.n_frames < best.frames.n_frames:
            shared = fit(model, frames, best.probs, N_LAST)
            fits, found = [*fits, shared], [*found, _start_of(rng, model, shared)]
    order = np.argsort([-start.score for start in found], kind="stable")
    return _Search(model, search.starts + found, [fits[place] for place in order])


def _fits_afresh(rng: Generator, model: Model, n_states: int) -> list[_Fitted]:
    """Return fits with a number of states: recordings as they are, centred, and in frames found from references."""
    groups = model.start_groups
    together = np.zeros_like(groups) if model.sharing == "inferred" else groups
    shared = _fit_clusters(rng, model, _unturned_frames(model, together), n_states, N_LAST)
    n_groups = int(groups.max()) + 1
    if n_groups == 1 or not (model.blocks.turned or model.blocks.placed):
        return [shared]
    centred = _fit_clusters(rng, model, _centred_frames(model), n_states, N_LAST)
    # A single state is much the same whichever recording it is fitted to.
    references = rng.permutation(n_groups)[: 1 if n_states == 1 else _N_REFERENCES].tolist()
    return [shared, centred, *(_fit_from_reference(rng, model, reference, n_states) for reference in references)]


def _fit_from_reference(rng: Generator, model: Model, reference: int, n_states: int) -> _Fitted:
    """Fit states to the longest recording of one group, lay that of every other group on it, and fit all together."""
    longest = _longest_recordings(model)
    alone = Frames.single(_centred_frames(model)[reference])
    fitted = _fit_clusters(rng, model, alone, n_states, _N_JOINT, [longest[reference]])
    known: list[Frames | None] = [alone if g == reference else None for g in range(len(longest))]
    for _ in range(2):
        fitted = _fit_clusters(rng, model, _laid_on_states(model, fitted.chain, known), n_states, _N_JOINT)
        known = [Frames.single(fitted.frames[g]) for g in range(len(longest))]
    return fit(model, fitted.frames, fitted.probs, N_LAST)


def _longest_recordings(model: Model) -> list[int]:
    """Return the longest recording of every group of recordings that share a frame."""
    groups, lengths = model.start_groups, np.diff(model.starts)
    return [int(np.where(groups == g, lengths, 0).argmax()) for g in range(int(groups.max()) + 1)]


def _laid_on_states(model: Model, chain: Chain, known: Sequence[Frames | None]) -> Frames:
    """Return the likeliest frame of every group of recordings given the states, a known frame being among those tried.

    Judged by the longest recording of the group.
    """
    found = [
        likely_frames(model, model.steps_of([i])[0], chain, own, n_kept=1)[0]
        for i, own in zip(_longest_recordings(model), known, strict=True)
    ]
    return stacked(model.start_groups, found)


def laid_anew(model: Model, fitted: _Fitted) -> list[_Fitted]:
    """Return a fit with every recording laid on the states of a fit anew; none if all stay in their frames.

    With few states, frames that are wrong by half a turn are nearly as likely as the right ones. More states tell them
    apart, but the small steps of expectation-maximisation hardly ever turn a recording that far.
    """
    if not model.blocks.n_angles or int(model.start_groups.max()) == 0:
        return []
    known = [Frames.single(fitted.frames[fitted.frames.labels[i]]) for i in _longest_recordings(model)]
    frames = _laid_on_states(model, fitted.chain, known)
    angles = [angles_between(model.blocks, old.turns[0], new) for old, new in zip(known, frames.turns, strict=True)]
    if np.linalg.norm(angles, axis=1).max() < _LEAST_TURN:
        return []
    probs, _, _ = smooth_through(model, model.steps, model.starts, fitted.chain, frames)
    return [fit(model, frames, probs, N_LAST)]


def _with_state_split(rng: Generator, model: Model, fitted: _Fitted) -> list[_Fitted]:
    """Return the best fit in which one state of another fit becomes two; none if all states are too short to split."""
    aligned = aligned_steps(model.blocks, fitted.frames, model.steps, model.starts)
    scaled = aligned / _block_spreads(model, aligned)
    path, tried = fitted.probs.argmax(axis=1), []
    for k in range(fitted.n_states):
        own = np.flatnonzero(path == k)
        if len(own) < 2 * model.segmentation.least_stay * (len(model.starts) - 1):
            continue
        for values in (scaled[own], local_products(model, scaled[own])):
            second = own[k_means(rng, values, 2) == 1]
            split = np.column_stack([fitted.probs, np.zeros(len(path))])
            split[second, -1], split[second, k] = split[second, k], 0.0
            tried.append(fit(model, fitted.frames, split, _N_SHORT))
    if not tried:
        return []
    best = max(tried, key=lambda one: one.log_likelihood)
    return [fit(model, best.frames, best.probs, N_LAST)]


def local_products(model: Model, steps: FloatArray) -> FloatArray:
    """Return mean products of deviations of channels of a block over a few steps around each, (n_steps, n_products).

    A swing along a line and one around a circle have the same mean place and velocity; these products differ.
    """
    centred, window = steps - steps.mean(axis=0), 2 * model.segmentation.least_stay
    parts = []
    for block in model.blocks.slices:
        one, other = np.triu_indices(block.stop - block.start)
        parts.append(centred[:, block][:, one] * centred[:, block][:, other])
    return np.asarray(uniform_filter1d(np.hstack(parts), min(window, len(steps)), axis=0))


def _start_of(rng: Generator, model: Model, fitted: _Fitted) -> Start:
    """Return the likeliest path of a fit, short stays mended, with its frames and their score."""
    state = _state_of(rng, model, fitted)
    volume = log_frame_volume(model, likeliest_frames(model, state))
    return Start(state.segmentation.path, state.frames, log_joint(model, state) + volume, state.segmentation.n_states)


def _state_of(rng: Generator, model: Model, fitted: _Fitted) -> ChainState:
    """Return the likeliest path of a fit, short stays mended, and its frames as the state of a chain."""
    path = mend_short_stays(fitted.probs.argmax(axis=1), model.starts, model.segmentation.least_stay)
    aligned = model.aligned(fitted.frames)
    segmentation, _ = ibphmm.resample_leaving(rng, aligned, ibphmm.init_state(rng, aligned, path=path))
    return ChainState(segmentation, fitted.frames)


# --- frames that fits begin with --------------------------------------------------------------------------------------


def _unturned_frames(model: Model, labels: IntArray) -> Frames:
    """Return frames that neither turn nor resize, with places at their prior means."""
    frames = identity_frames(model.blocks, labels)
    return replace(frames, places=np.tile(model.prior.place_mean, (frames.n_frames, 1, 1)))


def _centred_frames(model: Model) -> Frames:
    """Return frames of all groups of recordings that neither turn nor resize, with places at the middles."""
    return replace(identity_frames(model.blocks, model.start_groups), places=_middles(model, model.start_groups))


def _frames_of_blocks(old: Blocks, model: Model, frames: Frames) -> Frames:
    """Return frames for the blocks of a model: sizes and places of old blocks are kept, other blocks are centred."""
    new = model.blocks
    sizes, places = np.zeros((frames.n_frames, len(new.sized))), _middles(model, frames.labels)
    for own, b in enumerate(new.sized):
        if b in old.sized:
            sizes[:, own] = frames.log_sizes[:, old.sized.index(b)]
    for own, b in enumerate(new.placed):
        if b in old.placed:
            places[:, own] = frames.places[:, old.placed.index(b)]
    return Frames(frames.labels, frames.turns, sizes, places)


def _middles(model: Model, labels: IntArray) -> FloatArray:
    """Return the middle of each block with a place over the recordings of each frame, (n_frames, n_places, dim).

    The middle of a point is its mean, that of other blocks their median: a force sensor shows its zero most of the
    time.
    """
    blocks = model.blocks
    places = np.empty((int(labels.max()) + 1, len(blocks.placed), blocks.dim))
    for f in range(len(places)):
        steps, _ = model.steps_of(np.flatnonzero(labels == f).tolist())
        for place, b in enumerate(blocks.placed):
            middle = np.mean if blocks.kinds[b] == "point" else np.median
            places[f, place] = middle(steps[:, blocks.slices[b]], axis=0)
    return clip_to_prior(model, places)


# --- starts of another model ------------------------------------------------------------------------------------------


def refit_starts(rng: Generator, model: Model, starts: list[Start]) -> list[Start]:
    """Return starts of a model with other weights of blocks, best first: the best starts fitted again.

    Where steps count more than before, more states may be told apart: a state of the best fit is split, and so on while
    that makes it better.
    """
    fits = [fit(model, start.frames, _probs_of(start), N_LAST) for start in _best_of_each_number(starts)]
    found = [_start_of(rng, model, fitted) for fitted in fits]
    best = int(np.argmax([start.score for start in found]))
    while True:
        split = _with_state_split(rng, model, fits[best])
        if not split:
            break
        split += laid_anew(model, split[0])
        fits, found = [*fits, *split], [*found, *(_start_of(rng, model, fitted) for fitted in split)]
        before, best = best, int(np.argmax([start.score for start in found]))
        if best == before:
            break
    return _best_first(found)


def extended_starts(rng: Generator, part: Model, starts: list[Start], model: Model) -> list[Start]:
    """Return starts of recordings from those of a part of them, best first; for recordings that share one frame.

    Parameters
    ----------
    rng : Generator
    part : Model
        Of stretches of the recordings.
    starts : list of Start
        Of the part.
    model : Model
        Of the recordings.
    """
    frames = identity_frames(model.blocks, np.zeros(len(model.starts) - 1, dtype=np.int64))
    fits = []
    for start in _best_of_each_number(starts):
        known = fit(part, start.frames, _probs_of(start), 1)
        probs, _, _ = smooth_through(model, model.steps, model.starts, known.chain, frames)
        fits.append(fit(model, frames, probs, _N_SHORT))
    return _best_first([_start_of(rng, model, fitted) for fitted in fits])


def _best_of_each_number(starts: list[Start]) -> list[Start]:
    """Return the best start of each number of states, the best `_N_REFIT` of these, best first."""
    return _best_first(list({start.n_states: start for start in reversed(starts)}.values()))[:_N_REFIT]


def _probs_of(start: Start) -> FloatArray:
    """Return the path of a start as probabilities of states, (n_steps, n_states)."""
    return np.eye(start.n_states)[np.unique(start.path, return_inverse=True)[1]]


class _Likeliest(NamedTuple):
    """The likeliest frame of some recordings, given the states of their steps."""

    frame: Frame
    log_target: float
    log_width: float
    """Log volume of frames that are about as likely, by Laplace's method."""

    @property
    def log_evidence(self) -> float:
        """Log density of the recordings, their frame integrated out."""
        return self.log_target + self.log_width


def likeliest_frames(model: Model, state: ChainState) -> list[_Likeliest]:
    """Return the likeliest frame for the recordings of each frame."""
    sums = recorded_sums(model, state.segmentation.path, state.segmentation.n_states, state.frames)
    gaussians = state_gaussians(model, state.segmentation.whiteners)
    return [_likeliest_frame(model, gaussians, sums, [f], state.frames) for f in range(state.frames.n_frames)]


def _likeliest_frame(
    model: Model, gaussians: StateGaussians, sums: Sums, chosen: list[int], frames: Frames
) -> _Likeliest:
    """Return the likeliest common frame for the recordings of some frames, searched from the first of these."""
    n, first, second = (part[chosen].sum(axis=0) for part in sums[:3])
    own = Sums(n, first, second, centres_of(model.blocks, n[None], first[None])[0])
    frame = frames[chosen[0]]
    target = Target(own, gaussians, model.prior, model.blocks.layout)
    log_target = _kernels.climb(frame, target, _N_NEWTON)
    return _Likeliest(frame, log_target, _kernels.log_width(log_target, frame, target))


def log_frame_volume(model: Model, likeliest: Sequence[_Likeliest]) -> float:
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
    sums = recorded_sums(model, state.segmentation.path, state.segmentation.n_states, frames)
    gaussians, n_recordings = state_gaussians(model, state.segmentation.whiteners), np.bincount(frames.labels)

    def evidence(group: tuple[int, ...]) -> float:
        own = _likeliest_frame(model, gaussians, sums, list(group), frames)
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
    found = [_likeliest_frame(model, gaussians, sums, list(group), frames).frame for group in groups]
    return Frames(labels, *(np.stack(parts) for parts in zip(*found, strict=True)))


@dataclass(frozen=True, eq=False)
class _Fitted:
    """States and frames after some rounds of expectation-maximisation."""

    frames: Frames
    probs: FloatArray  # (n_steps, n_states)
    chain: Chain
    log_likelihood: float

    @property
    def n_states(self) -> int:
        """Number of states."""
        return self.probs.shape[1]


def fit(model: Model, frames: Frames, probs: FloatArray, n_rounds: int, series: list[int] | None = None) -> _Fitted:
    """Fit states, and frames if there are several, to recordings, beginning with probabilities of states.

    Parameters
    ----------
    model : Model
    frames : Frames
        With one label per recording.
    probs : ndarray of shape (n_steps, n_states)
    n_rounds : int
        At most.
    series : list of int, optional
        Recordings to fit to; all of them if not given.
    """
    steps, starts = model.steps_of(series)
    n_states = probs.shape[1]
    initial, transition = np.full(n_states, 1 / n_states), _transition_probs(model, np.zeros((n_states, n_states)))
    aligned = aligned_steps(model.blocks, frames, steps, starts)
    before = -np.inf
    for number in range(n_rounds):
        chain = Chain(parameters(model, aligned, probs), initial, transition, probs.sum(axis=0))
        if number > 0 and frames.n_frames > 1:
            frames = climbed(model, steps, starts, probs, state_gaussians(model, chain.whiteners), frames, 1)
            aligned = aligned_steps(model.blocks, frames, steps, starts)
            chain = chain._replace(whiteners=parameters(model, aligned, probs))
        probs, n_transitions, totals = smooth_through(model, steps, starts, chain, frames)
        total = float(
            totals.sum() - np.diff(starts) @ log_determinants(model.blocks, model.block_weights, frames)[frames.labels]
        )
        transition = _transition_probs(model, n_transitions)
        initial = 0.5 + probs[starts[:-1]].sum(axis=0)
        initial /= initial.sum()
        if abs(total - before) < _ENOUGH:
            break
        before = total
    return _Fitted(frames, probs, chain, total)


def _fit_clusters(
    rng: Generator, model: Model, frames: Frames, n_states: int, n_rounds: int, series: list[int] | None = None
) -> _Fitted:
    """Fit states and frames, beginning with clusters of the aligned steps by k-means."""
    aligned = aligned_steps(model.blocks, frames, *model.steps_of(series))
    probs = np.eye(n_states)[k_means(rng, aligned / _block_spreads(model, aligned), n_states)]
    return fit(model, frames, probs, n_rounds, series)


def k_means(rng: Generator, steps: FloatArray, n_clusters: int) -> IntArray:
    """Return the cluster of every step."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    means = KMeans(n_clusters, n_init=1, random_state=int(rng.integers(2**31)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # all steps of a resting recording are the same
        return np.asarray(means.fit_predict(steps))


def _block_spreads(model: Model, steps: FloatArray) -> FloatArray:
    """Return the root mean variance of its block for every channel, (n_dims,)."""
    blocks, tiny = model.blocks, np.finfo(float).tiny
    return np.repeat([np.sqrt(steps[:, block].var(axis=0).mean() + tiny) for block in blocks.slices], blocks.sizes)


def _transition_probs(model: Model, n_transitions: FloatArray) -> FloatArray:
    """Return transition probabilities from expected numbers of transitions."""
    n, segmentation = len(n_transitions), model.segmentation
    counts = n_transitions + _SMALL_COUNT + (0.0 if segmentation.leaving else 10.0) * np.eye(n)
    leaving = segmentation.leaving
    if segmentation.leaving_range is not None and n_transitions.any():
        n_left = n_transitions.sum() - np.trace(n_transitions)
        leaving = float(np.clip(n_left / n_transitions.sum(), *segmentation.leaving_range))
    return segmentation.chain_between(counts, leaving)[1]


def parameters(model: Model, aligned: FloatArray, probs: FloatArray) -> FloatArray:
    """Return the parameters of states at their posterior means, given probabilities of states."""
    emission = model.emission
    z = emission.augment_steps(aligned)
    scales = emission.prior_scale + emission.weight * ((probs.T[:, None, :] * z.T) @ z)
    return mean_parameters(emission, Statistics(emission.weight * probs.sum(axis=0), np.ascontiguousarray(scales)))
