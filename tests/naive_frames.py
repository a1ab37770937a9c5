"""Recordings in frames, drawn forwards, and slow twins of what their moves are made of: one step at a time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy import stats
from scipy.spatial.transform import Rotation

import naive_ibphmm
from homothety.models.emissions import Emission
from homothety.models.frames import Blocks, ChainState, Frames, Model, Prior

# --- how a frame acts ------------------------------------------------------------------------------------------------


def rotation_of(turn):
    """Rotation matrix of a unit quaternion, w first, or of cosine and sine."""
    if len(turn) == 2:
        angle = np.arctan2(turn[1], turn[0])
        return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return Rotation.from_quat([*turn[1:], turn[0]]).as_matrix()


def quaternion_product(left, right):
    """Hamilton's product, w first."""
    vector = left[0] * right[1:] + right[0] * left[1:] + np.cross(left[1:], right[1:])
    return np.array([left[0] * right[0] - left[1:] @ right[1:], *vector])


def conjugate(turn):
    return np.array([turn[0], *-turn[1:]])


def parameters_of(frames, f, blocks, b):
    """Size and place that frame `f` has for block `b`."""
    size = np.exp(frames.log_sizes[f, blocks.sized.index(b)]) if b in blocks.sized else 1.0
    place = frames.places[f, blocks.placed.index(b)] if b in blocks.placed else np.zeros(blocks.sizes[b])
    return size, place


def recorded_step(blocks, frames, f, canonical):
    """A step as frame `f` shows it: exp(l) R y + b, as far as a block has a size, turns, and has a place."""
    recorded, rotation = canonical.copy(), rotation_of(frames.turns[f])
    for b, (kind, channels) in enumerate(zip(blocks.kinds, blocks.slices, strict=True)):
        value, (size, place) = canonical[channels], parameters_of(frames, f, blocks, b)
        turned = value if b in blocks.still or kind == "plain" else rotation @ value
        recorded[channels] = size * turned + place
    return recorded


def recorded_steps(blocks, frames, canonical, starts):
    """All steps as they are recorded."""
    parts = []
    for f, start, stop in zip(frames.labels, starts[:-1], starts[1:], strict=True):
        matrix, shift = transform_of(blocks, frames, f)
        parts.append(canonical[start:stop] @ matrix.T + shift)
    return np.concatenate(parts)


def transform_of(blocks, frames, f):
    """The same as a matrix and a shift."""
    n = blocks.n_dims
    shift = recorded_step(blocks, frames, f, np.zeros(n))
    return np.column_stack([recorded_step(blocks, frames, f, unit) - shift for unit in np.eye(n)]), shift


def aligned_step(blocks, frames, f, recorded):
    """The canonical step that a frame shows as a given one."""
    matrix, shift = transform_of(blocks, frames, f)
    return np.linalg.solve(matrix, recorded - shift)


def log_step_density(blocks, frames, f, recorded, mean, covariance, weights):
    """Log density of one recorded step of a state, each block to the power of its weight."""
    matrix, shift = transform_of(blocks, frames, f)
    mean, covariance, total = matrix @ mean + shift, matrix @ covariance @ matrix.T, 0.0
    for channels, weight in zip(blocks.slices, weights, strict=True):
        one = stats.multivariate_normal(mean[channels], covariance[channels, channels])
        total += weight * one.logpdf(recorded[channels])
    return total


def log_frame_prior(prior, frames, f):
    total = stats.norm.logpdf(frames.log_sizes[f], 0, prior.size_spread).sum()
    return total + stats.norm.logpdf(frames.places[f], prior.place_mean, prior.place_spread[:, None]).sum()


def log_sharing(labels, concentration):
    """Log probability of who shares a frame, one recording after the other."""
    total = 0.0
    for i, label in enumerate(labels):
        n_same = np.sum(labels[:i] == label)
        total += np.log((n_same or concentration) / (i + concentration))
    return total


def log_joint(model, state):
    """Log density of frames, features told apart, paths and recorded data; parameters integrated out."""
    frames, segmentation, blocks = state.frames, state.segmentation, model.blocks
    labels = np.repeat(frames.labels, np.diff(model.starts))
    aligned = np.array([aligned_step(blocks, frames, f, step) for f, step in zip(labels, model.steps, strict=True)])
    plain = replace(model.segmentation, z=model.emission.augment_steps(aligned))
    at = (segmentation.mass, segmentation.concentration, segmentation.alpha, segmentation.kappa)
    total = naive_ibphmm.log_density(plain, segmentation.active, segmentation.path, *at)
    weights = model.emission.blocks.weights
    for f in labels:
        matrix, _ = transform_of(blocks, frames, f)
        dets = [np.linalg.slogdet(matrix[channels, channels])[1] for channels in blocks.slices]
        total -= np.dot(weights, dets)
    total += sum(log_frame_prior(model.prior, frames, f) for f in range(frames.n_frames))
    return total + (log_sharing(frames.labels, model.concentration) if model.sharing == "inferred" else 0.0)


# --- made-up frames and recordings -----------------------------------------------------------------------------------


def draw_turn(rng, blocks):
    """Draw a rotation uniformly, with scipy."""
    if blocks.n_angles == 3:
        x, y, z, w = Rotation.random(random_state=rng).as_quat() * rng.choice([-1, 1])
        return np.array([w, x, y, z])
    angle = rng.uniform(-2, 2) * np.pi if blocks.n_angles else 0.0
    if blocks.dim == 2:
        return np.array([np.cos(angle), np.sin(angle)])
    return np.array([np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2)])


def draw_frames(rng, blocks, prior, labels):
    """Draw the frames of given labels from their prior."""
    n_frames = int(max(labels)) + 1
    turns = np.array([draw_turn(rng, blocks) for _ in range(n_frames)])
    sizes = rng.normal(0, prior.size_spread, (n_frames, len(blocks.sized)))
    places = rng.normal(prior.place_mean, prior.place_spread[:, None], (n_frames, *prior.place_mean.shape))
    return Frames(np.array(labels, dtype=np.int64), turns, sizes, places)


def draw_labels(rng, n_recordings, concentration):
    """Seat recordings one after the other at frames of others, or at a new one."""
    labels = []
    for i in range(n_recordings):
        counts = np.append(np.bincount(labels) if labels else [], concentration)
        labels.append(int(rng.choice(len(counts), p=counts / (i + concentration))))
    return np.array(labels)


def make_prior(blocks, size_spread=0.5, place_spread=1.0):
    """A prior of frames with places about an off-centre mean."""
    n_places = len(blocks.placed)
    mean = 0.3 + np.arange(n_places * blocks.dim, dtype=float).reshape(n_places, blocks.dim)
    return Prior(size_spread, mean, np.full(n_places, place_spread))


# --- the model, drawn forwards ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FrameWorld(naive_ibphmm.World):
    """An IBP-HMM whose recordings are seen through frames; blocks of steps have a weight of one unless told."""

    blocks: Blocks = field(default_factory=lambda: Blocks(("point", "vector", "plain"), dim=2))
    weights: tuple[float, ...] | None = None
    concentration: float = 1.0
    size_spread: float = 0.5
    place_spread: float = 1.0
    sharing: str = "inferred"

    @cached_property
    def prior(self):
        return make_prior(self.blocks, self.size_spread, self.place_spread)

    @cached_property
    def emission(self):
        sizes = self.blocks.sizes
        # Means off the origin and scales that know no direction.
        means = [np.full(n, 0.2) for n in sizes]
        scales = [3.0 * np.eye(n) for n in sizes]
        return Emission.gaussian_blocks(
            sizes, means, [0.3] * len(sizes), scales, [n + 3.0 for n in sizes], self.weights
        )


def frame_model(world, segmentation, steps, **settings):
    """The model of recorded steps; the segmentation model may be of any steps of that number."""
    chosen = {"sharing": world.sharing, "concentration": world.concentration} | settings
    return Model(np.ascontiguousarray(steps), segmentation, world.blocks, world.prior, **chosen)


def draw_world(rng, world, proposals=None, labels=None, **settings):
    """Draw everything from the prior: a model and a state."""
    segmentation, state = naive_ibphmm.draw_world(rng, world, proposals)
    if labels is None:
        labels = draw_labels(rng, world.n_recordings, world.concentration)
    frames = draw_frames(rng, world.blocks, world.prior, labels)
    canonical = segmentation.z[:, segmentation.emission.n_regressors :]
    steps = recorded_steps(world.blocks, frames, canonical, segmentation.starts)
    return frame_model(world, segmentation, steps, **settings), ChainState(state, frames)


def redraw_steps(rng, world, model, state):
    """Return the model with data drawn anew given paths, parameters and frames."""
    segmentation = state.segmentation
    canonical = naive_ibphmm.draw_steps(rng, world, segmentation.path, segmentation.whiteners).steps
    return replace(model, steps=recorded_steps(world.blocks, state.frames, canonical, model.starts))


# --- numbers that do not depend on the order of features or frames ---------------------------------------------------


def frame_statistics(model, state):
    """Rotations, sizes, places and sharing, alone and together with the recorded steps."""
    frames, blocks, starts = state.frames, model.blocks, model.starts
    first, last = frames.labels[0], frames.labels[-1]
    rotations = frames.rotations
    together = float(first == last)
    relative = np.trace(rotations[first].T @ rotations[last])
    counts = np.bincount(frames.labels)
    values = [frames.n_frames, frames.n_frames**2, together, counts.max(), relative, np.trace(rotations[first])]
    values += [relative**2, *rotations[first].ravel(), *frames.turns[first]]
    steps = model.steps[starts[0] : starts[1]]
    for b, channels in enumerate(blocks.slices):
        size, place = parameters_of(frames, first, blocks, b)
        mean, spread = steps[:, channels].mean(axis=0), np.tanh(np.abs(np.diff(steps[:, channels], axis=0)).mean())
        if b in blocks.sized:
            log_size = np.log(size)
            values += [log_size, log_size**2, log_size * spread, log_size * frames.n_frames, log_size * relative]
            pointing = rotations[first].T @ np.tanh(mean)
            values += [*pointing, pointing[0] * log_size, together * log_size]
        if b in blocks.placed:
            away = place - model.prior.place_mean[blocks.placed.index(b)]
            values += [*away, *away**2, *(away * np.tanh(mean)), away[0] * log_size, together * away[0]]
            values += [*(rotations[first].T @ np.tanh(mean - place))]
    return values


def statistics(model, state):
    """Those of frames, and those of the segmentation of the aligned recordings."""
    aligned = model.aligned(state.frames)
    segmentation = state.segmentation
    known = naive_ibphmm.statistics(aligned, segmentation)
    own = [*fit_statistics(aligned, segmentation), *leaving_statistics(aligned, segmentation)]
    return np.concatenate([frame_statistics(model, state), known, own])


def leaving_statistics(aligned, segmentation):
    """The probability of leaving, alone and together with paths, features and parameters of the prior of paths."""
    leaving, path = segmentation.leaving, segmentation.path.reshape(aligned.n_recordings, -1)
    several = segmentation.active.sum(axis=1) > 1
    switched = (path[:, 1:] != path[:, :-1]).sum(axis=1)
    values = [1.0, leaving, segmentation.n_states, several.sum(), switched.sum(), (several & (switched == 0)).sum()]
    return [leaving * value for value in [*values, np.log(segmentation.kappa)]]


def fit_statistics(aligned, segmentation):
    """Whitened residuals of every block."""
    residuals = np.einsum("tdn,tn->td", segmentation.whiteners[segmentation.path], aligned.z)
    return [*np.tanh(residuals).mean(axis=0), *np.tanh(residuals**2).mean(axis=0)]
