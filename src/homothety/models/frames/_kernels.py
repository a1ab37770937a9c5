"""Compiled: steps seen through frames, and the density of a frame given sums over the steps of each state.

A frame is a unit vector `turn` (a quaternion, w first, in three dimensions; cosine and sine in two), some log sizes,
and some places. It makes the recorded channels x of a block from canonical ones y: ``x = exp(l) R y + b``, where a
block without a size has ``l = 0``, one without a place ``b = 0``, and one that does not turn ``R = 1``.

Given the states of all steps, all that a frame is judged by are the number, the sum and the sum of outer products of
the recorded steps of each state: a few microseconds per evaluation, whatever the number of steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety._jit import inlined, jit

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import BoolArray, FloatArray, IntArray

_SLICE_WIDTH = 0.3  # of the first interval when a log size is drawn
_MAX_SLICE_STEPS = 50
STEP_SIZES = (0.01, 0.03, 0.1, 0.3)  # radians: a random walk over rotations draws one of them
DERIVATIVE_STEP = 1e-3
_MAX_SHIFT = 0.5  # of one Newton step: radians or log sizes
NEGLIGIBLE = 1e-12  # probability of a state below which a step is left out of the sums of that state
_FLATTEST = 0.3  # least curvature of the log target: an angle without information is known to within half a turn
_LEAST_GAIN = 1e-3  # nats: climbing ends when a step gains less


class Layout(NamedTuple):
    """Blocks of channels, as arrays."""

    starts: IntArray  # (n_blocks + 1,) first channel of each block, and the number of channels
    turned: BoolArray  # (n_blocks,) whether frames turn the block
    size_index: IntArray  # (n_blocks,) row of the block in `Frame.log_sizes`, or -1
    place_index: IntArray  # (n_blocks,) row of the block in `Frame.places`, or -1
    dim: int
    n_angles: int


class Frame(NamedTuple):
    """One frame."""

    turn: FloatArray  # (4,) or (2,)
    log_sizes: FloatArray  # (n_sizes,)
    places: FloatArray  # (n_places, dim)


class Sums(NamedTuple):
    """Sums over the recorded steps of each state in one frame; with another axis before, of several frames."""

    n: FloatArray  # (n_states,) number of steps
    first: FloatArray  # (n_states, n_dims) sum
    second: FloatArray  # (n_states, n_dims, n_dims) sum of outer products
    centre: FloatArray  # (n_places, dim) mean of each block with a place over the steps of all states


class StateGaussians(NamedTuple):
    """Means and precisions of states in the canonical frame, and weights of blocks."""

    means: FloatArray  # (n_states, n_dims)
    precisions: FloatArray  # (n_states, n_dims, n_dims) times the weight of the block
    block_weights: FloatArray  # (n_blocks,)


class Prior(NamedTuple):
    """Prior of one frame; rotations are uniform."""

    size_spread: float
    place_mean: FloatArray  # (n_places, dim)
    place_spread: FloatArray  # (n_places,)


class Target(NamedTuple):
    """All that the density of a frame depends on."""

    sums: Sums
    gaussians: StateGaussians
    prior: Prior
    layout: Layout


@inlined
def _copy_vector(source: FloatArray, copy: FloatArray) -> None:
    """Copy an array of one axis: a slice that is assigned to brings an error message along, which takes a second."""
    for a in range(source.shape[0]):
        copy[a] = source[a]


@inlined
def _copy_rows(source: FloatArray, copy: FloatArray) -> None:
    """Copy an array of two axes, likewise."""
    for a in range(source.shape[0]):
        for c in range(source.shape[1]):
            copy[a, c] = source[a, c]


@inlined
def _write_rotation(turn: FloatArray, rotation: FloatArray) -> None:
    """Write the rotation matrix of a unit quaternion, or of a cosine and sine."""
    if turn.shape[0] == 2:
        c, s = turn[0], turn[1]
        rotation[0, 0], rotation[0, 1], rotation[1, 0], rotation[1, 1] = c, -s, s, c
        return
    w, x, y, z = turn[0], turn[1], turn[2], turn[3]
    rotation[0, 0], rotation[0, 1], rotation[0, 2] = 1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)
    rotation[1, 0], rotation[1, 1], rotation[1, 2] = 2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)
    rotation[2, 0], rotation[2, 1], rotation[2, 2] = 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)


@inlined
def _write_matrix(turn: FloatArray, is_turned: bool, matrix: FloatArray) -> None:
    """Write the matrix by which a frame turns a block: a rotation, or the identity if the block is not turned."""
    if is_turned:
        _write_rotation(turn, matrix)
    else:
        for a in range(matrix.shape[0]):
            for c in range(matrix.shape[0]):
                matrix[a, c] = 1.0 if a == c else 0.0


@inlined
def _is_framed(layout: Layout, block: int) -> bool:
    """Whether a frame does anything to a block."""
    return bool(layout.turned[block] or layout.size_index[block] >= 0 or layout.place_index[block] >= 0)


@inlined
def _log_size_of(frame: Frame, layout: Layout, block: int) -> float:
    """Return the log size of a block, zero if it has none."""
    return float(frame.log_sizes[layout.size_index[block]]) if layout.size_index[block] >= 0 else 0.0


@jit
def write_product(left: FloatArray, right: FloatArray, out: FloatArray) -> None:
    """Write the product of two rotations, each a unit quaternion or a cosine and sine; `out` is neither."""
    if left.shape[0] == 2:
        out[0], out[1] = left[0] * right[0] - left[1] * right[1], left[0] * right[1] + left[1] * right[0]
    else:
        a, b = left, right
        out[0] = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3]
        out[1] = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2]
        out[2] = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1]
        out[3] = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]
    total = 0.0
    for e in range(out.shape[0]):
        total += out[e] * out[e]
    length = np.sqrt(total)
    for e in range(out.shape[0]):
        out[e] /= length


@jit
def write_small_turn(angles: FloatArray, n_angles: int, turn: FloatArray) -> None:
    """Write the rotation by a vector of angles; a single angle is one about the third axis, or in the plane."""
    if turn.shape[0] == 2:
        turn[0], turn[1] = np.cos(angles[0]), np.sin(angles[0])
        return
    x, y, z = 0.0, 0.0, angles[0]
    if n_angles == 3:
        x, y, z = angles[0], angles[1], angles[2]
    angle = np.sqrt(x * x + y * y + z * z)
    factor = 0.5 if angle < 1e-8 else np.sin(angle / 2) / angle
    turn[0], turn[1], turn[2], turn[3] = np.cos(angle / 2), factor * x, factor * y, factor * z


@jit
def align_steps(
    steps: FloatArray,
    starts: IntArray,
    labels: IntArray,
    turns: FloatArray,
    log_sizes: FloatArray,
    places: FloatArray,
    layout: Layout,
    aligned: FloatArray,
) -> None:
    """Write the recorded steps of all recordings as they are in the canonical frame, each seen through its frame."""
    d = layout.dim
    matrix = np.empty((d, d))
    for i in range(labels.shape[0]):
        f, start, stop = labels[i], starts[i], starts[i + 1]
        frame = Frame(turns[f], log_sizes[f], places[f])
        for block in range(layout.turned.shape[0]):
            first, end, place = layout.starts[block], layout.starts[block + 1], layout.place_index[block]
            if not _is_framed(layout, block):
                for t in range(start, stop):
                    for channel in range(first, end):
                        aligned[t, channel] = steps[t, channel]
                continue
            _write_matrix(frame.turn, layout.turned[block], matrix)
            factor = np.exp(-_log_size_of(frame, layout, block))
            for t in range(start, stop):
                for a in range(d):
                    value = 0.0
                    for c in range(d):
                        offset = frame.places[place, c] if place >= 0 else 0.0
                        value += matrix[c, a] * (steps[t, first + c] - offset)
                    aligned[t, first + a] = factor * value


@jit
def add_recorded(
    steps: FloatArray,
    path: IntArray,
    starts: IntArray,
    labels: IntArray,
    n: FloatArray,
    first: FloatArray,
    second: FloatArray,
) -> None:
    """Add recorded steps, stretch by stretch, to the sums of the label of the stretch and of their states."""
    for i in range(labels.shape[0]):
        f = labels[i]
        for t in range(starts[i], starts[i + 1]):
            k = path[t]
            n[f, k] += 1.0
            for a in range(steps.shape[1]):
                first[f, k, a] += steps[t, a]
                for c in range(a + 1):
                    second[f, k, a, c] += steps[t, a] * steps[t, c]


@jit
def add_expected(
    steps: FloatArray,
    probs: FloatArray,
    starts: IntArray,
    labels: IntArray,
    n: FloatArray,
    first: FloatArray,
    second: FloatArray,
) -> None:
    """Add recorded steps as `add_recorded` does, to the sums of all states by the probabilities of these."""
    for i in range(labels.shape[0]):
        f = labels[i]
        for t in range(starts[i], starts[i + 1]):
            for k in range(probs.shape[1]):
                share = probs[t, k]
                if share < NEGLIGIBLE:
                    continue
                n[f, k] += share
                for a in range(steps.shape[1]):
                    weighted = share * steps[t, a]
                    first[f, k, a] += weighted
                    for c in range(a + 1):
                        second[f, k, a, c] += weighted * steps[t, c]


@inlined
def _write_recorded_precision(
    canonical: FloatArray, first: int, matrix: FloatArray, size: float, recorded: FloatArray, row: FloatArray
) -> None:
    """Write the precision of a block of a state as recordings of a frame show it; `row` is room to work in."""
    d = matrix.shape[0]
    for a in range(d):
        for c in range(d):
            row[c] = 0.0
            for e in range(d):
                row[c] += matrix[a, e] * canonical[first + e, first + c]
        for c in range(d):
            value = 0.0
            for e in range(d):
                value += row[e] * matrix[c, e]
            recorded[a, c] = value / (size * size)


@jit
def log_fit(frame: Frame, sums: Sums, gaussians: StateGaussians, layout: Layout) -> float:
    """Log density of the recorded steps given their states and the frame, up to what the frame does not change."""
    total, n_steps, d = 0.0, sums.n.sum(), layout.dim
    matrix, precision, residual, row = np.empty((d, d)), np.empty((d, d)), np.empty(d), np.empty(d)
    for block in range(layout.turned.shape[0]):
        if not _is_framed(layout, block):
            continue
        first, at = layout.starts[block], layout.place_index[block]
        _write_matrix(frame.turn, layout.turned[block], matrix)
        log_size = _log_size_of(frame, layout, block)
        size = np.exp(log_size)
        for k in range(sums.n.shape[0]):
            n = sums.n[k]
            if n == 0.0:
                continue
            _write_recorded_precision(gaussians.precisions[k], first, matrix, size, precision, row)
            for a in range(d):
                residual[a] = sums.first[k, first + a] / n - (frame.places[at, a] if at >= 0 else 0.0)
                for c in range(d):
                    residual[a] -= size * matrix[a, c] * gaussians.means[k, first + c]
            quadratic = 0.0
            for a in range(d):
                mean = sums.first[k, first + a] / n
                for c in range(d):
                    scatter = sums.second[k, first + a, first + c] - mean * sums.first[k, first + c]
                    quadratic += precision[a, c] * (scatter + n * residual[a] * residual[c])
            total -= 0.5 * quadratic
        total -= gaussians.block_weights[block] * n_steps * d * log_size
    return total


@jit
def log_frame_prior(log_sizes: FloatArray, places: FloatArray, prior: Prior) -> float:
    """Log prior density of sizes and places; that of rotations is one everywhere."""
    total = 0.0
    for s in range(log_sizes.shape[0]):
        total -= 0.5 * (log_sizes[s] / prior.size_spread) ** 2 + np.log(prior.size_spread) + 0.5 * np.log(2 * np.pi)
    for place in range(places.shape[0]):
        spread = prior.place_spread[place]
        for a in range(places.shape[1]):
            residual = (places[place, a] - prior.place_mean[place, a]) / spread
            total -= 0.5 * residual * residual + np.log(spread) + 0.5 * np.log(2 * np.pi)
    return total


@jit
def log_target(frame: Frame, target: Target) -> float:
    """Log density of a frame given the states of its steps, up to a constant."""
    fit = log_fit(frame, target.sums, target.gaussians, target.layout)
    return fit + log_frame_prior(frame.log_sizes, frame.places, target.prior)


@jit
def move_frames(
    rng: Generator,
    turns: FloatArray,
    log_sizes: FloatArray,
    places: FloatArray,
    sums: Sums,
    gaussians: StateGaussians,
    prior: Prior,
    layout: Layout,
) -> int:
    """Redraw places, sizes and rotation of every frame given the states of its steps; return accepted rotations."""
    n_accepted = 0
    for f in range(turns.shape[0]):
        frame = Frame(turns[f], log_sizes[f], places[f])
        own = Sums(sums.n[f], sums.first[f], sums.second[f], sums.centre[f])
        target = Target(own, gaussians, prior, layout)
        _draw_places(rng, frame, target)
        _draw_sizes(rng, frame, target)
        n_accepted += _turn_locally(rng, frame, target)
    return n_accepted


@inlined
def _draw_places(rng: Generator, frame: Frame, target: Target) -> None:
    """Draw the place of every block that has one from its Gaussian conditional, in place."""
    _write_places(rng.standard_normal(frame.places.shape), frame, target)


@jit
def _write_places(normals: FloatArray, frame: Frame, target: Target) -> float:
    """Write places with their conditional mean and covariance from standard normals; zeros give the mean.

    Returns the log determinant of the precision of all places.
    """
    sums, gaussians, prior, layout = target.sums, target.gaussians, target.prior, target.layout
    d, log_precision = layout.dim, 0.0
    matrix, precision, own = np.empty((d, d)), np.empty((d, d)), np.empty((d, d))
    linear, row = np.empty(d), np.empty(d)
    for block in range(layout.turned.shape[0]):
        place = layout.place_index[block]
        if place < 0:
            continue
        first, size = layout.starts[block], np.exp(_log_size_of(frame, layout, block))
        _write_matrix(frame.turn, layout.turned[block], matrix)
        for a in range(d):
            for c in range(d):
                precision[a, c] = 1.0 / prior.place_spread[place] ** 2 if a == c else 0.0
            linear[a] = prior.place_mean[place, a] / prior.place_spread[place] ** 2
        for k in range(sums.n.shape[0]):
            if sums.n[k] == 0.0:
                continue
            _write_recorded_precision(gaussians.precisions[k], first, matrix, size, own, row)
            for c in range(d):
                moved = sums.first[k, first + c]
                for e in range(d):
                    moved -= sums.n[k] * size * matrix[c, e] * gaussians.means[k, first + e]
                for a in range(d):
                    precision[a, c] += sums.n[k] * own[a, c]
                    linear[a] += own[a, c] * moved
        # Cholesky's factor of such a small matrix takes longer to ask a library for than to work out.
        for a in range(d):
            for c in range(a + 1):
                for e in range(c):
                    precision[a, c] -= precision[a, e] * precision[c, e]
                precision[a, c] = np.sqrt(precision[a, a]) if a == c else precision[a, c] / precision[c, c]
        # Solve precision * mean = linear, and add factor'^-1 times standard normals.
        for a in range(d):
            for c in range(a):
                linear[a] -= precision[a, c] * linear[c]
            linear[a] /= precision[a, a]
            log_precision += 2.0 * np.log(precision[a, a])
        for a in range(d):
            linear[a] += normals[place, a]
        for a in range(d - 1, -1, -1):
            for c in range(a + 1, d):
                linear[a] -= precision[c, a] * linear[c]
            linear[a] /= precision[a, a]
        _copy_vector(linear, frame.places[place])
    return log_precision


@jit
def _draw_sizes(rng: Generator, frame: Frame, target: Target) -> None:
    """Draw every log size by slice sampling, the middle of the steps held where it is in the canonical frame.

    A block of `dim` channels with a place is resized about its middle, so a log size l counts ``exp(dim l)``: the
    volume that places take.
    """
    layout, centre = target.layout, target.sums.centre
    trial = Frame(frame.turn, frame.log_sizes.copy(), frame.places.copy())
    for block in range(layout.turned.shape[0]):
        s = layout.size_index[block]
        if s < 0:
            continue
        volume = float(layout.dim) if layout.place_index[block] >= 0 else 0.0
        here = frame.log_sizes[s]
        level = log_target(frame, target) + volume * here + np.log(rng.random())
        low = here - _SLICE_WIDTH * rng.random()
        high = low + _SLICE_WIDTH
        for side in range(2):
            for _ in range(_MAX_SLICE_STEPS):
                end = low if side == 0 else high
                trial.log_sizes[s] = end
                carry_places(frame, frame.turn, trial.log_sizes, centre, layout, trial.places)
                if log_target(trial, target) + volume * end < level:
                    break
                if side == 0:
                    low -= _SLICE_WIDTH
                else:
                    high += _SLICE_WIDTH
        for _ in range(200):
            proposed = low + (high - low) * rng.random()
            trial.log_sizes[s] = proposed
            carry_places(frame, frame.turn, trial.log_sizes, centre, layout, trial.places)
            if log_target(trial, target) + volume * proposed >= level:
                break
            if proposed < here:
                low = proposed
            else:
                high = proposed
            trial.log_sizes[s] = here
            _copy_rows(frame.places, trial.places)
        frame.log_sizes[s] = trial.log_sizes[s]
        _copy_rows(trial.places, frame.places)


@inlined
def _turn_locally(rng: Generator, frame: Frame, target: Target) -> int:
    """Take a random walk over rotations, the middle of the steps held; return how many steps were accepted."""
    n_accepted, layout = 0, target.layout
    if layout.n_angles == 0:
        return n_accepted
    angles, small = np.empty(3), np.empty_like(frame.turn)
    trial = Frame(np.empty_like(frame.turn), frame.log_sizes, frame.places.copy())
    here = log_target(frame, target)
    for number in range(len(STEP_SIZES)):
        for a in range(layout.n_angles):
            angles[a] = STEP_SIZES[number] * rng.standard_normal()
        write_small_turn(angles, layout.n_angles, small)
        write_product(frame.turn, small, trial.turn)
        carry_places(frame, trial.turn, frame.log_sizes, target.sums.centre, layout, trial.places)
        there = log_target(trial, target)
        if np.log(rng.random()) < there - here:
            _copy_vector(trial.turn, frame.turn)
            _copy_rows(trial.places, frame.places)
            here = there
            n_accepted += 1
    return n_accepted


@jit
def carry_places(
    old: Frame, turn: FloatArray, log_sizes: FloatArray, centre: FloatArray, layout: Layout, places: FloatArray
) -> None:
    """Write the places under which the middle of the steps stays where it is, in the canonical frame."""
    d = layout.dim
    before, after = np.empty((d, d)), np.empty((d, d))
    for block in range(layout.turned.shape[0]):
        place, s = layout.place_index[block], layout.size_index[block]
        if place < 0:
            continue
        _write_matrix(old.turn, layout.turned[block], before)
        _write_matrix(turn, layout.turned[block], after)
        growth = np.exp(log_sizes[s] - old.log_sizes[s]) if s >= 0 else 1.0
        for a in range(d):
            value = 0.0
            for c in range(d):
                turned = 0.0
                for e in range(d):
                    turned += after[a, e] * before[c, e]
                value += turned * (centre[place, c] - old.places[place, c])
            places[place, a] = centre[place, a] - growth * value


@jit
def log_width(here: float, frame: Frame, target: Target) -> float:
    """Return the log volume of frames about as likely as the likeliest one, whose log target is given.

    The sum of both is the log of the integral of the target over frames by Laplace's method, with uniform rotations.
    """
    log_precision = _write_places(np.zeros_like(frame.places), frame, target)
    n_angles = target.layout.n_angles
    n_parameters = n_angles + frame.log_sizes.shape[0]
    gradient, hessian = np.empty(n_parameters), np.empty((n_parameters, n_parameters))
    _write_derivatives(here, frame, target, gradient, hessian)
    width = 0.5 * np.log(2 * np.pi) * (n_parameters + frame.places.size) - 0.5 * log_precision
    for curvature in np.linalg.eigvalsh(-hessian):
        width -= 0.5 * np.log(max(curvature, _FLATTEST))
    if n_angles > 0:
        width -= np.log(8 * np.pi**2 if n_angles == 3 else 2 * np.pi)
    return width


@jit
def climb_frames(
    turns: FloatArray,
    log_sizes: FloatArray,
    places: FloatArray,
    sums: Sums,
    gaussians: StateGaussians,
    prior: Prior,
    layout: Layout,
    n_steps: int,
) -> None:
    """Move every frame towards the likeliest one given the states of its steps, by `climb`."""
    for f in range(turns.shape[0]):
        own = Sums(sums.n[f], sums.first[f], sums.second[f], sums.centre[f])
        climb(Frame(turns[f], log_sizes[f], places[f]), Target(own, gaussians, prior, layout), n_steps)


@jit
def climb(frame: Frame, target: Target, n_steps: int) -> float:
    """Move a frame, in place, towards the likeliest one; return its log target.

    Newton steps over rotation and sizes, damped until the target increases; derivatives are finite differences. Places
    are the likeliest given rotation and sizes, in closed form.
    """
    n_parameters = target.layout.n_angles + frame.log_sizes.shape[0]
    _write_places(np.zeros_like(frame.places), frame, target)
    gradient, hessian = np.empty(n_parameters), np.empty((n_parameters, n_parameters))
    trial = Frame(np.empty_like(frame.turn), np.empty_like(frame.log_sizes), np.empty_like(frame.places))
    here = log_target(frame, target)
    for _ in range(n_steps if n_parameters > 0 else 0):
        _write_derivatives(here, frame, target, gradient, hessian)
        largest, damping, value = 1e-12, 1e-6, -np.inf
        for i in range(n_parameters):
            largest = max(largest, abs(hessian[i, i]))
        while damping < 1e4:
            matrix = -hessian
            for i in range(n_parameters):
                matrix[i, i] += damping * largest
            shift = np.linalg.solve(matrix, gradient)
            longest = np.abs(shift).max()
            if longest > _MAX_SHIFT:
                shift *= _MAX_SHIFT / longest
            value = _shifted_target(shift, frame, target, trial)
            if value > here:
                break
            damping *= 30.0
        if not value > here:
            return here
        gain = value - here
        _copy_vector(trial.turn, frame.turn)
        _copy_vector(trial.log_sizes, frame.log_sizes)
        _copy_rows(trial.places, frame.places)
        here = value
        if gain < _LEAST_GAIN:
            return here
    return here


@inlined
def _write_derivatives(here: float, frame: Frame, target: Target, gradient: FloatArray, hessian: FloatArray) -> None:
    """Write first and second derivatives of `_shifted_target`, by finite differences."""
    n_parameters, step = gradient.shape[0], DERIVATIVE_STEP
    shift, plus = np.zeros(n_parameters), np.empty(n_parameters)
    trial = Frame(np.empty_like(frame.turn), np.empty_like(frame.log_sizes), np.empty_like(frame.places))
    for i in range(n_parameters):
        shift[i] = step
        plus[i] = _shifted_target(shift, frame, target, trial)
        shift[i] = -step
        minus = _shifted_target(shift, frame, target, trial)
        gradient[i] = (plus[i] - minus) / (2 * step)
        hessian[i, i] = (plus[i] - 2 * here + minus) / (step * step)
        for j in range(i):
            shift[i], shift[j] = step, step
            both = _shifted_target(shift, frame, target, trial)
            hessian[i, j] = (both - plus[i] - plus[j] + here) / (step * step)
            hessian[j, i] = hessian[i, j]
            shift[j] = 0.0
        shift[i] = 0.0


@jit
def _shifted_target(shift: FloatArray, frame: Frame, target: Target, shifted: Frame) -> float:
    """Write a frame turned and resized, with the likeliest places, and return its log target."""
    apply_shift(shift, frame, target.sums.centre, target.layout, shifted)
    _write_places(np.zeros_like(frame.places), shifted, target)
    return float(log_target(shifted, target))


@jit
def apply_shift(shift: FloatArray, frame: Frame, centre: FloatArray, layout: Layout, shifted: Frame) -> None:
    """Write a frame turned and resized about the middle of the steps, by angles and then log sizes."""
    n_angles = layout.n_angles
    _copy_vector(frame.turn, shifted.turn)
    if n_angles > 0:
        small = np.empty_like(frame.turn)
        write_small_turn(shift[:n_angles], n_angles, small)
        write_product(frame.turn, small, shifted.turn)
    for s in range(frame.log_sizes.shape[0]):
        shifted.log_sizes[s] = frame.log_sizes[s] + shift[n_angles + s]
    carry_places(frame, shifted.turn, shifted.log_sizes, centre, layout, shifted.places)
