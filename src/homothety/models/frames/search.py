"""Where chains start: expectation-maximisation over states and frames, from several references (section 3).

For some numbers of states, one recording is taken as the reference and a small model fitted to it; every other
recording is laid on it in the likeliest of its candidate frames; then states and frames are fitted together. All
recordings in one frame is among the starts too: where they share one, principal axes lead astray. Starts are compared
by their density with frames integrated out, and recordings share frames where that is denser.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety.models import ibphmm
from homothety.models.emissions.statistics import Statistics, mean_parameters
from homothety.models.frames.candidates import (
    Chain,
    frame_of,
    likely_frames,
    smooth_through,
    within_prior,
)
from homothety.models.frames.frames import Frames, aligned_steps, identity_frames, log_volumes, stacked
from homothety.models.frames.looks import expected_sums, looks_of
from homothety.models.frames.model import log_joint
from homothety.models.frames.sharing import likeliest_frames, log_frame_volume, shared_frames
from homothety.models.frames.state import ChainState
from homothety.models.hmm.stays import mend_short_stays

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.random import Generator

    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.models.frames.blocks import Blocks
    from homothety.models.frames.model import Model

N_JOINT = 10  # rounds of states and frames together after every search for frames
N_LAST = 30
N_SHORT = 6  # rounds after which the split of a state is judged
N_COMPARED = 3  # states with which models are compared
N_AFRESH = 3  # states up to which models are fitted afresh; larger ones come from splits of states
N_REFIT = 4  # numbers of states that are fitted again when weights have changed
N_SPLIT = 2  # fits whose states are split when a state is added
ENOUGH = 0.2  # nats: EM ends where a round gains less
SMALL_COUNT = 0.3  # of every change of state, besides those expected


class Start(NamedTuple):
    """Where a chain may start."""

    path: IntArray  # (n_steps,)
    frames: Frames
    score: float  # log joint density, frames integrated out
    n_states: int


@dataclass(frozen=True, eq=False)
class Fitted:
    """States and frames at some round of expectation-maximisation."""

    frames: Frames  # one label per recording in use
    probs: FloatArray  # (n_steps, n_states)
    chain: Chain
    log_likelihood: float


class Search(NamedTuple):
    """What was found so far."""

    model: Model
    starts: list[Start]
    latest: list[Fitted]  # with the largest number of states, best first

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
    n_references: int = 2,
    n_worse: int = 2,
) -> tuple[Model, list[Start]]:
    """Return starts with one state, two, and so on until more are worse, best first, and the model they are of.

    Parameters
    ----------
    rng : Generator
    model : Model
    ways : sequence of Model, optional
        Models of the same recordings whose frames act on more blocks. With few states they are fitted again from what
        was found without them, and the likeliest takes the place of `model`.
    most_states : int
    n_references : int
        Recordings that take the part of the reference, for each number of states.
    n_worse : int
        Numbers of states in a row that may be worse than the best before the search ends.
    """
    search, n_since = Search(model, [], []), 0
    others = [Search(way, [], []) for way in ways]
    for n_states in range(1, most_states + 1):
        before = search.best
        search = with_more_states(rng, search, n_states, n_references)
        if n_states <= N_COMPARED:
            others = [fitted_again(rng, other, search) for other in others]
        if n_states == min(N_COMPARED, most_states) and others:
            search, others, before = max(others, key=lambda one: one.best), [], -np.inf
        n_since = 0 if search.best > before else n_since + 1
        if not others and (not search.latest or n_since == n_worse):
            break
    return search.model, sorted(search.starts, key=lambda start: -start.score)


def fitted_again(rng: Generator, other: Search, search: Search) -> Search:
    """Return the search of another model with the latest fits of a search added, fitted to that model."""
    model, every = other.model, list(range(len(other.model.starts) - 1))
    fits = []
    for known in search.latest:
        frames, n_states = frames_of_blocks(search.model.blocks, model, known.frames), known.probs.shape[1]
        fits.append(fit(rng, model, every, frames, n_states, N_LAST, probs=known.probs))
    return with_fits(rng, other, fits)


def frames_of_blocks(old: Blocks, model: Model, frames: Frames) -> Frames:
    """Return frames that act on other blocks: what they know of a block is kept, and the others are centred."""
    new = model.blocks
    sizes, places = np.zeros((frames.n_frames, len(new.sized))), middles(model, frames.labels)
    for own, b in enumerate(new.sized):
        if b in old.sized:
            sizes[:, own] = frames.log_sizes[:, old.sized.index(b)]
    for own, b in enumerate(new.placed):
        if b in old.placed:
            places[:, own] = frames.places[:, old.placed.index(b)]
    return Frames(frames.labels, frames.turns, sizes, places)


def with_more_states(rng: Generator, search: Search, n_states: int, n_references: int) -> Search:
    """Return a search with fits of one state more: afresh if they are few, and with a state of the best fits split."""
    model = search.model
    fits = fits_of(rng, model, n_states, n_references) if n_states <= min(N_AFRESH, len(model.steps)) else []
    fits += [fitted for one in search.latest[:N_SPLIT] for fitted in with_state_split(rng, model, one)]
    return with_fits(rng, search, fits)


def with_fits(rng: Generator, search: Search, fits: list[Fitted]) -> Search:
    """Return a search with some fits, all of one number of states, added, and the best also with frames shared."""
    model = search.model
    found = [start_of(rng, model, fitted) for fitted in fits]
    if fits and model.sharing == "inferred":
        best = fits[int(np.argmax([start.score for start in found]))]
        shared = fit_with_shared_frames(rng, model, best)
        if shared is not None:
            fits, found = [*fits, shared], [*found, start_of(rng, model, shared)]
    order = np.argsort([-start.score for start in found], kind="stable")
    return Search(model, search.starts + found, [fits[place] for place in order])


def fit_with_shared_frames(rng: Generator, model: Model, fitted: Fitted) -> Fitted | None:
    """Return a fit in which recordings share frames where that is likelier; None if they share none."""
    frames = shared_frames(model, state_of(rng, model, fitted))
    if frames.n_frames == fitted.frames.n_frames:
        return None
    every, n_states = list(range(len(model.starts) - 1)), fitted.probs.shape[1]
    return fit(rng, model, every, frames, n_states, N_LAST, probs=fitted.probs)


def refit_starts(rng: Generator, model: Model, starts: list[Start]) -> list[Start]:
    """Return starts of a slightly different model: the best of each number of states fitted again, best first."""
    every, fits = list(range(len(model.starts) - 1)), []
    best_of = {start.n_states: start for start in reversed(starts)}
    for start in sorted(best_of.values(), key=lambda one: -one.score)[:N_REFIT]:
        numbered = np.unique(start.path, return_inverse=True)[1]
        probs = np.eye(start.n_states)[numbered]
        fits.append(fit(rng, model, every, start.frames, start.n_states, N_LAST, probs=probs))
    fits += with_state_split(rng, model, fits[0])
    return sorted((start_of(rng, model, fitted) for fitted in fits), key=lambda start: -start.score)


def extended_starts(rng: Generator, part: Model, starts: list[Start], model: Model) -> list[Start]:
    """Return starts of recordings from those of a part of them, best first; for recordings without frames.

    Parameters
    ----------
    rng : Generator
    part : Model
        Of stretches of the recordings.
    starts : list of Start
        Of the part, best first.
    model : Model
        Of the recordings.
    """
    frames = identity_frames(model.blocks, np.zeros(len(model.starts) - 1, dtype=np.int64))
    every, best_of = list(range(len(model.starts) - 1)), {start.n_states: start for start in reversed(starts)}
    fits = []
    for start in sorted(best_of.values(), key=lambda one: -one.score)[:N_REFIT]:
        probs = np.eye(start.n_states)[np.unique(start.path, return_inverse=True)[1]]
        known = fit(rng, part, list(range(len(part.starts) - 1)), start.frames, start.n_states, 1, probs=probs)
        probs, _, _ = smooth_through(model, model.steps, model.starts, known.chain, frames)
        fits.append(fit(rng, model, every, frames, start.n_states, N_SHORT, probs=probs))
    return sorted((start_of(rng, model, fitted) for fitted in fits), key=lambda start: -start.score)


def with_state_split(rng: Generator, model: Model, fitted: Fitted) -> list[Fitted]:
    """Return the best of the models in which one state of another becomes two, its frames kept at first."""
    every = list(range(len(model.starts) - 1))
    aligned = aligned_steps(model.blocks, fitted.frames, model.steps, model.starts)
    aligned = aligned / block_sizes(model, aligned)
    path, n_states = fitted.probs.argmax(axis=1), fitted.probs.shape[1] + 1
    tried = []
    for k in range(n_states - 1):
        own = np.flatnonzero(path == k)
        if len(own) < 2 * model.segmentation.least_stay * len(every):
            continue
        second = own[halves(rng, aligned[own])]
        split = np.column_stack([fitted.probs, np.zeros(len(path))])
        split[second, -1], split[second, k] = split[second, k], 0.0
        tried.append(fit(rng, model, every, fitted.frames, n_states, N_SHORT, probs=split))
    if not tried:
        return []
    best = max(tried, key=lambda one: one.log_likelihood)
    return [fit(rng, model, every, best.frames, n_states, N_LAST, probs=best.probs)]


def halves(rng: Generator, steps: FloatArray) -> BoolArray:
    """Return which of some steps are in the second of two clusters by k-means."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    means = KMeans(2, n_init=1, random_state=int(rng.integers(2**31)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.asarray(means.fit_predict(steps) == 1)


def fits_of(rng: Generator, model: Model, n_states: int, n_references: int) -> list[Fitted]:
    """Return models with some number of states: recordings as they are, moved, and in frames found from references."""
    every, groups = list(range(len(model.starts) - 1)), model.start_groups
    together = np.zeros_like(groups) if model.sharing == "inferred" else groups
    shared = fit(rng, model, every, unturned_frames(model, together), n_states, N_LAST)
    n_groups = int(groups.max()) + 1
    if n_groups == 1 or not (model.blocks.turned or model.blocks.placed):
        return [shared]
    moved = fit(rng, model, every, centred_frames(model), n_states, N_LAST)
    references = rng.permutation(n_groups)[:n_references].tolist()
    return [shared, moved, *(fit_from(rng, model, reference, n_states) for reference in references)]


def unturned_frames(model: Model, labels: IntArray) -> Frames:
    """Return frames that leave everything as it was recorded but for what the prior says of places."""
    frames = identity_frames(model.blocks, labels)
    return replace(frames, places=np.tile(model.prior.place_mean, (frames.n_frames, 1, 1)))


def centred_frames(model: Model) -> Frames:
    """Return frames of all groups of recordings that move their middles to the origin, and nothing else."""
    return replace(identity_frames(model.blocks, model.start_groups), places=middles(model, model.start_groups))


def middles(model: Model, labels: IntArray) -> FloatArray:
    """Return the middle of each block with a place over the recordings of each frame, (n_frames, n_places, dim).

    The middle of anything but a point is its median: a force sensor measures nothing most of the time.
    """
    blocks = model.blocks
    places = np.empty((int(labels.max()) + 1, len(blocks.placed), blocks.dim))
    for f in range(len(places)):
        steps = np.concatenate([steps_of(model, int(i)) for i in np.flatnonzero(labels == f)])
        for place, b in enumerate(blocks.placed):
            middle = np.mean if blocks.kinds[b] == "point" else np.median
            places[f, place] = middle(steps[:, blocks.slices[b]], axis=0)
    return np.stack([within_prior(model, one) for one in places])


def fit_from(rng: Generator, model: Model, reference: int, n_states: int) -> Fitted:
    """Fit states to the longest recording of one group, lay that of every other group on it, and fit all together."""
    every, groups = list(range(len(model.starts) - 1)), model.start_groups
    lengths = np.diff(model.starts)
    longest = [int(np.where(groups == g, lengths, 0).argmax()) for g in range(int(groups.max()) + 1)]
    alone = frame_of(centred_frames(model), reference)
    fitted = fit(rng, model, [longest[reference]], alone, n_states, N_JOINT, move=False)
    known: list[Frames | None] = [alone if g == reference else None for g in range(len(longest))]
    for _ in range(2):
        found = [
            likely_frames(model, steps_of(model, i), fitted.chain, own, n_kept=1)[0]
            for i, own in zip(longest, known, strict=True)
        ]
        fitted = fit(rng, model, every, stacked(groups, found), n_states, N_JOINT)
        known = [frame_of(fitted.frames, g) for g in range(len(longest))]
    return fit(rng, model, every, fitted.frames, n_states, N_LAST, probs=fitted.probs)


def fit(
    rng: Generator,
    model: Model,
    series: list[int],
    frames: Frames,
    n_states: int,
    n_rounds: int,
    *,
    probs: FloatArray | None = None,
    move: bool = True,
) -> Fitted:
    """Fit states, and frames if they may move, to some recordings by expectation-maximisation.

    It begins with the given probabilities of states, or with clusters of the aligned steps.
    """
    steps = np.concatenate([steps_of(model, i) for i in series])
    lengths = np.diff(model.starts)[series]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    initial, transition = np.full(n_states, 1 / n_states), between(model, np.zeros((n_states, n_states)))
    aligned = aligned_steps(model.blocks, frames, steps, starts)
    probs = clusters(rng, model, aligned, n_states) if probs is None else probs
    before = -np.inf
    for number in range(n_rounds):
        chain = Chain(parameters(model, aligned, probs), initial, transition, probs.sum(axis=0))
        if move and number > 0 and frames.n_frames > 1:
            frames = climbed_frames(model, steps, starts, probs, chain, frames)
            aligned = aligned_steps(model.blocks, frames, steps, starts)
            chain = chain._replace(whiteners=parameters(model, aligned, probs))
        probs, n_transitions, total = smooth_through(model, steps, starts, chain, frames)
        total -= float(lengths @ log_volumes(model.blocks, model.block_weights, frames)[frames.labels])
        transition = between(model, n_transitions)
        initial = 0.5 + probs[starts[:-1]].sum(axis=0)
        initial /= initial.sum()
        if abs(total - before) < ENOUGH:
            break
        before = total
    return Fitted(frames, probs, chain, total)


def steps_of(model: Model, i: int) -> FloatArray:
    """Return the recorded steps of a recording."""
    return model.steps[model.starts[i] : model.starts[i + 1]]


def between(model: Model, n_transitions: FloatArray) -> FloatArray:
    """Return transition probabilities from expected numbers of transitions."""
    n, segmentation = len(n_transitions), model.segmentation
    counts = n_transitions + SMALL_COUNT + (0.0 if segmentation.leaving else 10.0) * np.eye(n)
    leaving = segmentation.leaving
    if segmentation.leaving_range is not None and n_transitions.any():
        n_left = n_transitions.sum() - np.trace(n_transitions)
        leaving = float(np.clip(n_left / n_transitions.sum(), *segmentation.leaving_range))
    return segmentation.chain_between(counts, leaving)[1]


def clusters(rng: Generator, model: Model, aligned: FloatArray, n_states: int) -> FloatArray:
    """Return clusters of aligned steps by k-means as probabilities of states, blocks brought to one size."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    means = KMeans(n_states, n_init=1, random_state=int(rng.integers(2**31)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # steps of a recording that rests are all the same
        return np.eye(n_states)[means.fit_predict(aligned / block_sizes(model, aligned))]


def block_sizes(model: Model, steps: FloatArray) -> FloatArray:
    """Return the spread of the block of every channel, (n_dims,)."""
    blocks = zip(model.blocks.slices, model.blocks.sizes, strict=True)
    return np.concatenate([np.full(n, spread_of(steps[:, block])) for block, n in blocks])


def spread_of(values: FloatArray) -> float:
    """Return the root mean variance of the channels of a block."""
    return float(np.sqrt(values.var(axis=0).mean() + np.finfo(float).tiny))


def parameters(model: Model, aligned: FloatArray, probs: FloatArray) -> FloatArray:
    """Return the parameters of states at their posterior means, given probabilities of states."""
    emission = model.emission
    z = emission.augment_steps(aligned)
    scales = emission.prior_scale + emission.weight * ((probs.T[:, None, :] * z.T) @ z)
    return mean_parameters(emission, Statistics(emission.weight * probs.sum(axis=0), np.ascontiguousarray(scales)))


def climbed_frames(
    model: Model, steps: FloatArray, starts: IntArray, probs: FloatArray, chain: Chain, frames: Frames
) -> Frames:
    """Return all frames moved to where recordings are likelier."""
    from homothety.models.frames._kernels import Frame, Sums, Target, climb

    looks = looks_of(model, chain.whiteners)
    sums = expected_sums(model, steps, starts, probs, frames)
    moved = (frames.turns.copy(), frames.log_sizes.copy(), frames.places.copy())
    for f in range(frames.n_frames):
        frame, own = Frame(*(part[f] for part in moved)), Sums(*(part[f] for part in sums))
        climb(frame, Target(own, looks, model.prior, model.blocks.layout), 1)
    return Frames(frames.labels, *moved)


def start_of(rng: Generator, model: Model, fitted: Fitted) -> Start:
    """Return the likeliest path of a fit, short stays mended, with its frames and their score."""
    state = state_of(rng, model, fitted)
    volume = log_frame_volume(model, likeliest_frames(model, state))
    return Start(state.segmentation.path, state.frames, log_joint(model, state) + volume, state.segmentation.n_features)


def state_of(rng: Generator, model: Model, fitted: Fitted) -> ChainState:
    """Return the likeliest path of a fit, short stays mended, and its frames as the state of a chain."""
    path = mend_short_stays(fitted.probs.argmax(axis=1), model.starts, model.segmentation.least_stay)
    aligned = model.aligned(fitted.frames)
    segmentation, _ = ibphmm.resample_leaving(rng, aligned, ibphmm.init_state(rng, aligned, path=path))
    return ChainState(segmentation, fitted.frames)
