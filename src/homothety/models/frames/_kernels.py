"""Compiled: steps seen through frames, and the density of a frame given sums over the steps of each state.

A frame is a unit vector `turn` (a quaternion, w first, in three dimensions; cosine and sine in two), a log size per
point and vector block, and a place per point block. It makes recorded channels from canonical ones:
``x = exp(l) R y + b`` for points, ``exp(l) R y`` for vectors, the product of quaternions ``q y`` for quaternions.

Given the states of all steps, all that a frame is judged by are the number, the sum and the sum of outer products of
the recorded steps of each state: a few microseconds per evaluation, whatever the number of steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety._jit import inlined, jit

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray

POINT, VECTOR, QUATERNION, PLAIN = 0, 1, 2, 3
SLICE_WIDTH = 0.3  # of the first interval when a log size is drawn
MAX_SLICE_STEPS = 50
STEP_SIZES = (0.01, 0.03, 0.1, 0.3)  # radians: a random walk over rotations draws one of them
DERIVATIVE_STEP = 1e-3
MAX_SHIFT = 0.5  # of one Newton step: radians, log sizes, or spreads of the data
LEAST_GAIN = 1e-3  # nats: climbing ends below


class Layout(NamedTuple):
    """Blocks of channels, as arrays."""

    kinds: IntArray  # (n_blocks,)
    starts: IntArray  # (n_blocks + 1,) first channel of each
    sizes: IntArray  # (n_blocks,) which log size a block has, or -1
    places: IntArray  # (n_blocks,) which place it has, or -1
    dim: int
    n_angles: int


class Sums(NamedTuple):
    """What is known of the recorded steps of each state."""

    n: FloatArray  # (n_states,)
    first: FloatArray  # (n_states, n_dims)
    second: FloatArray  # (n_states, n_dims, n_dims)
    centre: FloatArray  # (n_places, dim) mean of each point block over all of the steps


class Looks(NamedTuple):
    """What states look like, and how much each block counts."""

    means: FloatArray  # (n_states, n_dims)
    precisions: FloatArray  # (n_states, n_dims, n_dims) times the weight of the block
    weights: FloatArray  # (n_blocks,)


class Prior(NamedTuple):
    """Prior of one frame; rotations are uniform."""

    size_spread: float
    place_mean: FloatArray  # (n_places, dim)
    place_spread: FloatArray  # (n_places,)


@inlined
def write_rotation(turn: FloatArray, rotation: FloatArray) -> None:
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
def write_left_product(turn: FloatArray, matrix: FloatArray) -> None:
    """Write the matrix of the product with a quaternion from the left."""
    w, x, y, z = turn[0], turn[1], turn[2], turn[3]
    matrix[0, 0], matrix[0, 1], matrix[0, 2], matrix[0, 3] = w, -x, -y, -z
    matrix[1, 0], matrix[1, 1], matrix[1, 2], matrix[1, 3] = x, w, -z, y
    matrix[2, 0], matrix[2, 1], matrix[2, 2], matrix[2, 3] = y, z, w, -x
    matrix[3, 0], matrix[3, 1], matrix[3, 2], matrix[3, 3] = z, -y, x, w


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
    out /= np.sqrt((out * out).sum())


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


@inlined
def write_matrix(turn: FloatArray, kind: int, matrix: FloatArray) -> None:
    """Write the orthogonal matrix by which a frame turns a block of a kind."""
    if kind == QUATERNION:
        write_left_product(turn, matrix)
    else:
        write_rotation(turn, matrix)


@jit
def align_steps(
    steps: FloatArray,
    start: int,
    stop: int,
    turn: FloatArray,
    log_sizes: FloatArray,
    places: FloatArray,
    layout: Layout,
    aligned: FloatArray,
) -> None:
    """Write recorded steps, a stretch of them, as they are in the canonical frame."""
    matrix = np.empty((4, 4))
    for block in range(layout.kinds.shape[0]):
        first, p = layout.starts[block], layout.starts[block + 1] - layout.starts[block]
        if layout.kinds[block] == PLAIN:
            for t in range(start, stop):
                for a in range(p):
                    aligned[t, first + a] = steps[t, first + a]
            continue
        write_matrix(turn, layout.kinds[block], matrix)
        factor = np.exp(-log_sizes[layout.sizes[block]]) if layout.sizes[block] >= 0 else 1.0
        moved = layout.places[block] >= 0
        for t in range(start, stop):
            for a in range(p):
                value = 0.0
                for c in range(p):
                    offset = places[layout.places[block], c] if moved else 0.0
                    value += matrix[c, a] * (steps[t, first + c] - offset)
                aligned[t, first + a] = factor * value


@jit
def log_fit(
    turn: FloatArray, log_sizes: FloatArray, places: FloatArray, sums: Sums, looks: Looks, layout: Layout
) -> float:
    """Log density of the recorded steps given their states and the frame, up to what the frame does not change."""
    total, n_steps = 0.0, sums.n.sum()
    matrix, turned, mean = np.empty((4, 4)), np.empty((4, 4)), np.empty(4)
    for block in range(layout.kinds.shape[0]):
        kind, first = layout.kinds[block], layout.starts[block]
        if kind == PLAIN:
            continue
        p = layout.starts[block + 1] - first
        write_matrix(turn, kind, matrix)
        log_size = log_sizes[layout.sizes[block]] if layout.sizes[block] >= 0 else 0.0
        size = np.exp(log_size)
        for k in range(sums.n.shape[0]):
            n = sums.n[k]
            if n == 0.0:
                continue
            # In canonical directions: O' S O against the precision, O the orthogonal matrix of the block.
            for a in range(p):
                mean[a] = 0.0
                for c in range(p):
                    place = places[layout.places[block], c] if layout.places[block] >= 0 else 0.0
                    mean[a] += matrix[c, a] * (sums.first[k, first + c] / n - place)
                mean[a] = mean[a] / size - looks.means[k, first + a]
            for a in range(p):
                for c in range(p):
                    turned[a, c] = 0.0
                    for e in range(p):
                        turned[a, c] += matrix[e, a] * (
                            sums.second[k, first + e, first + c]
                            - sums.first[k, first + e] * sums.first[k, first + c] / n
                        )
            quadratic = 0.0
            for a in range(p):
                for c in range(p):
                    value = 0.0
                    for e in range(p):
                        value += turned[a, e] * matrix[e, c]
                    value = value / (size * size) + n * mean[a] * mean[c]
                    quadratic += looks.precisions[k, first + a, first + c] * value
            total -= 0.5 * quadratic
        if layout.sizes[block] >= 0:
            total -= looks.weights[block] * n_steps * p * log_size
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
def log_target(
    turn: FloatArray, log_sizes: FloatArray, places: FloatArray, sums: Sums, looks: Looks, prior: Prior, layout: Layout
) -> float:
    """Log density of a frame given the states of its steps, up to a constant."""
    return log_fit(turn, log_sizes, places, sums, looks, layout) + log_frame_prior(log_sizes, places, prior)


@jit
def draw_places(
    rng: Generator,
    turn: FloatArray,
    log_sizes: FloatArray,
    places: FloatArray,
    sums: Sums,
    looks: Looks,
    prior: Prior,
    layout: Layout,
) -> None:
    """Draw the place of every point block from its Gaussian conditional, in place."""
    d = layout.dim
    matrix, precision, linear = np.empty((4, 4)), np.empty((d, d)), np.empty(d)
    for block in range(layout.kinds.shape[0]):
        place = layout.places[block]
        if place < 0:
            continue
        first, size = layout.starts[block], np.exp(log_sizes[layout.sizes[block]])
        write_rotation(turn, matrix)
        for a in range(d):
            for c in range(d):
                precision[a, c] = 1.0 / prior.place_spread[place] ** 2 if a == c else 0.0
            linear[a] = prior.place_mean[place, a] / prior.place_spread[place] ** 2
        for k in range(sums.n.shape[0]):
            if sums.n[k] == 0.0:
                continue
            for a in range(d):
                for c in range(d):
                    value = 0.0
                    for e in range(d):
                        for g in range(d):
                            value += matrix[a, e] * looks.precisions[k, first + e, first + g] * matrix[c, g]
                    value /= size * size
                    precision[a, c] += sums.n[k] * value
                    moved = sums.first[k, first + c]
                    for e in range(d):
                        moved -= sums.n[k] * size * matrix[c, e] * looks.means[k, first + e]
                    linear[a] += value * moved
        factor = np.linalg.cholesky(precision)
        # Solve precision * mean = linear, and add factor'^-1 times standard normals.
        for a in range(d):
            for c in range(a):
                linear[a] -= factor[a, c] * linear[c]
            linear[a] /= factor[a, a]
        for a in range(d):
            linear[a] += rng.standard_normal()
        for a in range(d - 1, -1, -1):
            for c in range(a + 1, d):
                linear[a] -= factor[c, a] * linear[c]
            linear[a] /= factor[a, a]
        for a in range(d):
            places[place, a] = linear[a]


@jit
def carry_places(
    old_turn: FloatArray,
    old_log_sizes: FloatArray,
    old_places: FloatArray,
    turn: FloatArray,
    log_sizes: FloatArray,
    centre: FloatArray,
    layout: Layout,
    places: FloatArray,
) -> None:
    """Write the places under which the middle of the steps stays where it is, in the canonical frame."""
    before, after = np.empty((4, 4)), np.empty((4, 4))
    write_rotation(old_turn, before)
    write_rotation(turn, after)
    for block in range(layout.kinds.shape[0]):
        place = layout.places[block]
        if place < 0:
            continue
        growth = np.exp(log_sizes[layout.sizes[block]] - old_log_sizes[layout.sizes[block]])
        for a in range(layout.dim):
            value = 0.0
            for c in range(layout.dim):
                turned = 0.0
                for e in range(layout.dim):
                    turned += after[a, e] * before[c, e]
                value += turned * (centre[place, c] - old_places[place, c])
            places[place, a] = centre[place, a] - growth * value


@jit
def draw_sizes(
    rng: Generator,
    turn: FloatArray,
    log_sizes: FloatArray,
    places: FloatArray,
    sums: Sums,
    looks: Looks,
    prior: Prior,
    layout: Layout,
) -> None:
    """Draw every log size by slice sampling, the middle of the steps held where it is in the canonical frame.

    A point block of `dim` channels is resized about its middle, so a log size l counts ``exp(dim l)``: the volume that
    places take.
    """
    trial_sizes, trial_places = log_sizes.copy(), places.copy()
    for block in range(layout.kinds.shape[0]):
        s = layout.sizes[block]
        if s < 0:
            continue
        volume = float(layout.dim) if layout.places[block] >= 0 else 0.0
        here = log_sizes[s]
        level = log_target(turn, log_sizes, places, sums, looks, prior, layout) + volume * here
        level += np.log(rng.random())
        low = here - SLICE_WIDTH * rng.random()
        high = low + SLICE_WIDTH
        for side in range(2):
            for _ in range(MAX_SLICE_STEPS):
                end = low if side == 0 else high
                trial_sizes[s] = end
                carry_places(turn, log_sizes, places, turn, trial_sizes, sums.centre, layout, trial_places)
                value = log_target(turn, trial_sizes, trial_places, sums, looks, prior, layout) + volume * end
                if value < level:
                    break
                if side == 0:
                    low -= SLICE_WIDTH
                else:
                    high += SLICE_WIDTH
        for _ in range(200):
            proposed = low + (high - low) * rng.random()
            trial_sizes[s] = proposed
            carry_places(turn, log_sizes, places, turn, trial_sizes, sums.centre, layout, trial_places)
            value = log_target(turn, trial_sizes, trial_places, sums, looks, prior, layout) + volume * proposed
            if value >= level:
                break
            if proposed < here:
                low = proposed
            else:
                high = proposed
            trial_sizes[s] = here
            trial_places[:] = places
        log_sizes[s] = trial_sizes[s]
        places[:] = trial_places


@jit
def turn_locally(
    rng: Generator,
    turn: FloatArray,
    log_sizes: FloatArray,
    places: FloatArray,
    sums: Sums,
    looks: Looks,
    prior: Prior,
    layout: Layout,
) -> int:
    """Take a random walk over rotations, the middle of the steps held; return how many steps were accepted."""
    n_accepted = 0
    if layout.n_angles == 0:
        return n_accepted
    angles, small, trial = np.empty(3), np.empty(turn.shape[0]), np.empty(turn.shape[0])
    trial_places = places.copy()
    here = log_target(turn, log_sizes, places, sums, looks, prior, layout)
    for number in range(len(STEP_SIZES)):
        for a in range(layout.n_angles):
            angles[a] = STEP_SIZES[number] * rng.standard_normal()
        write_small_turn(angles, layout.n_angles, small)
        write_product(turn, small, trial)
        carry_places(turn, log_sizes, places, trial, log_sizes, sums.centre, layout, trial_places)
        there = log_target(trial, log_sizes, trial_places, sums, looks, prior, layout)
        if np.log(rng.random()) < there - here:
            turn[:] = trial
            places[:] = trial_places
            here = there
            n_accepted += 1
    return n_accepted


@jit
def move_frames(
    rng: Generator,
    turns: FloatArray,
    log_sizes: FloatArray,
    places: FloatArray,
    n: FloatArray,
    first: FloatArray,
    second: FloatArray,
    centres: FloatArray,
    looks: Looks,
    prior: Prior,
    layout: Layout,
) -> int:
    """Redraw place, sizes and rotation of every frame given the states of its steps; return accepted rotations."""
    n_accepted = 0
    for f in range(turns.shape[0]):
        sums = Sums(n[f], first[f], second[f], centres[f])
        draw_places(rng, turns[f], log_sizes[f], places[f], sums, looks, prior, layout)
        draw_sizes(rng, turns[f], log_sizes[f], places[f], sums, looks, prior, layout)
        n_accepted += turn_locally(rng, turns[f], log_sizes[f], places[f], sums, looks, prior, layout)
    return n_accepted


@jit
def add_recorded(
    steps: FloatArray,
    path: IntArray,
    start: int,
    stop: int,
    n: FloatArray,
    first: FloatArray,
    second: FloatArray,
) -> None:
    """Add a stretch of recorded steps to the sums of their states."""
    for t in range(start, stop):
        k = path[t]
        n[k] += 1.0
        for a in range(steps.shape[1]):
            first[k, a] += steps[t, a]
            for c in range(a + 1):
                second[k, a, c] += steps[t, a] * steps[t, c]


@jit
def write_derivatives(
    here: float,
    turn: FloatArray,
    log_sizes: FloatArray,
    places: FloatArray,
    sums: Sums,
    looks: Looks,
    prior: Prior,
    layout: Layout,
    gradient: FloatArray,
    hessian: FloatArray,
) -> None:
    """Write first and second derivatives of the log target along `apply_shift`, by differences."""
    n_parameters, step = gradient.shape[0], DERIVATIVE_STEP
    shift, plus = np.zeros(n_parameters), np.empty(n_parameters)
    trial = (np.empty_like(turn), np.empty_like(log_sizes), np.empty_like(places))
    for i in range(n_parameters):
        shift[i] = step
        apply_shift(shift, turn, log_sizes, places, sums.centre, layout, *trial)
        plus[i] = log_target(*trial, sums, looks, prior, layout)
        shift[i] = -step
        apply_shift(shift, turn, log_sizes, places, sums.centre, layout, *trial)
        minus = log_target(*trial, sums, looks, prior, layout)
        gradient[i] = (plus[i] - minus) / (2 * step)
        hessian[i, i] = (plus[i] - 2 * here + minus) / (step * step)
        for j in range(i):
            shift[i], shift[j] = step, step
            apply_shift(shift, turn, log_sizes, places, sums.centre, layout, *trial)
            both = log_target(*trial, sums, looks, prior, layout)
            hessian[i, j] = (both - plus[i] - plus[j] + here) / (step * step)
            hessian[j, i] = hessian[i, j]
            shift[j] = 0.0
        shift[i] = 0.0


@jit
def climb(
    turn: FloatArray,
    log_sizes: FloatArray,
    places: FloatArray,
    sums: Sums,
    looks: Looks,
    prior: Prior,
    layout: Layout,
    n_steps: int,
) -> float:
    """Move a frame, in place, towards the likeliest one given expected states; return the log target it reaches.

    Newton steps with derivatives from differences, damped until they lead upwards.
    """
    n_parameters = layout.n_angles + log_sizes.shape[0] + places.size
    gradient, hessian = np.empty(n_parameters), np.empty((n_parameters, n_parameters))
    trial_turn, trial_sizes, trial_places = np.empty_like(turn), np.empty_like(log_sizes), np.empty_like(places)
    here = log_target(turn, log_sizes, places, sums, looks, prior, layout)
    for _ in range(n_steps if n_parameters > 0 else 0):
        write_derivatives(here, turn, log_sizes, places, sums, looks, prior, layout, gradient, hessian)
        largest, damping, value = 1e-12, 1e-6, -np.inf
        for i in range(n_parameters):
            largest = max(largest, abs(hessian[i, i]))
        while damping < 1e4:
            matrix = -hessian
            for i in range(n_parameters):
                matrix[i, i] += damping * largest
            shift = np.linalg.solve(matrix, gradient)
            longest = np.abs(shift).max()
            if longest > MAX_SHIFT:
                shift *= MAX_SHIFT / longest
            apply_shift(shift, turn, log_sizes, places, sums.centre, layout, trial_turn, trial_sizes, trial_places)
            value = log_target(trial_turn, trial_sizes, trial_places, sums, looks, prior, layout)
            if value > here:
                break
            damping *= 30.0
        if not value > here:
            return here
        gain = value - here
        turn[:], log_sizes[:], places[:], here = trial_turn, trial_sizes, trial_places, value
        if gain < LEAST_GAIN:
            return here
    return here


@jit
def apply_shift(
    shift: FloatArray,
    turn: FloatArray,
    log_sizes: FloatArray,
    places: FloatArray,
    centre: FloatArray,
    layout: Layout,
    new_turn: FloatArray,
    new_sizes: FloatArray,
    new_places: FloatArray,
) -> None:
    """Write a frame that is turned and resized about the middle of the steps, and then moved."""
    n_angles = layout.n_angles
    new_turn[:] = turn
    if n_angles > 0:
        small = np.empty_like(turn)
        write_small_turn(shift[:n_angles], n_angles, small)
        write_product(turn, small, new_turn)
    for s in range(log_sizes.shape[0]):
        new_sizes[s] = log_sizes[s] + shift[n_angles + s]
    carry_places(turn, log_sizes, places, new_turn, new_sizes, centre, layout, new_places)
    at = n_angles + log_sizes.shape[0]
    for place in range(places.shape[0]):
        for a in range(layout.dim):
            new_places[place, a] += shift[at + place * layout.dim + a]
