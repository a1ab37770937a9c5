"""Which values of steps are missing, as kernels want it, and what follows from it for Gaussian emissions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety.arrays import frozen, read_only
from homothety.errors import InputError
from homothety.models.emissions.regression import Statistics, draw_parameters, mean_parameters, statistics_of
from homothety.sequences import interpolated

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import ArrayLike

    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.models.emissions.regression import Emission
    from homothety.sequences import Sequences

_N_ROUNDS = 20  # of drawing values and parameters in turn, given a path; the second half counts


class Gaps(NamedTuple):
    """Missing values. Steps of a recording that lack the same dimensions of a block are a group.

    `fill` has all steps with some filling that never changes. What is proposed may depend on it, but not on the values
    of the chain: these are integrated out where it is decided.
    """

    groups: IntArray  # (n_recordings + 1,) first group of each recording
    starts: IntArray  # (n_groups + 1,) where the steps of each group begin in `steps`
    steps: IntArray
    blocks: IntArray  # (n_groups,) block of dimensions
    counts: IntArray  # (n_groups,) number of missing dimensions
    dims: IntArray  # (n_groups, widest) which of the block they are; -1 where a frame turns their directions
    bases: FloatArray  # (n_groups, widest, widest) these directions in the first columns, one row for each dimension
    fill: FloatArray  # (n_steps, n) augmented steps


def _whole_numbers(values: ArrayLike) -> IntArray:
    """Return whole numbers as kernels want them."""
    return read_only(np.array(values, dtype=np.int64))


NO_GAPS = Gaps(
    _whole_numbers([0]),
    _whole_numbers([0]),
    _whole_numbers([]),
    _whole_numbers([]),
    _whole_numbers([]),
    read_only(np.zeros((0, 0), dtype=np.int64)),
    read_only(np.zeros((0, 0, 0))),
    read_only(np.zeros((0, 0))),
)


def find_gaps(emission: Emission, missing: BoolArray, starts: IntArray, fill: FloatArray) -> Gaps:
    """Return the gaps of recordings.

    Parameters
    ----------
    emission : Emission
    missing : ndarray of bool, shape (n_steps, n_dims)
    starts : ndarray of shape (n_recordings + 1,)
    fill : ndarray of shape (n_steps, n)
        Augmented steps, filled in some way.
    """
    if emission.order:
        raise InputError(
            "Values are missing, and autoregressive states need all of them. Use emission='gaussian', or interpolate.",
            "emission",
        )
    structure = emission.structure
    edges = structure.starts - emission.n_regressors
    widths, series = np.diff(edges), np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    found = []  # recording, block, steps and missing dimensions of every group
    for b, (first, last) in enumerate(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)):
        steps = np.flatnonzero(missing[:, first:last].any(axis=1))
        keys = np.column_stack([series[steps], missing[steps, first:last]])
        kinds, numbers = np.unique(keys, axis=0, return_inverse=True)
        order = np.argsort(numbers.ravel(), kind="stable")
        parts = np.split(steps[order], np.cumsum(np.bincount(numbers.ravel(), minlength=len(kinds)))[:-1])
        found += [(int(kind[0]), b, part, np.flatnonzero(kind[1:])) for kind, part in zip(kinds, parts, strict=True)]
    found.sort(key=lambda group: group[:2])
    n_each = np.bincount([group[0] for group in found], minlength=len(starts) - 1)
    widest = int(widths.max())
    bases, places = np.zeros((len(found), widest, widest)), np.zeros((len(found), widest), dtype=np.int64)
    for g, (_, _, _, dims) in enumerate(found):
        bases[g, dims, np.arange(len(dims))], places[g, : len(dims)] = 1.0, dims
    return Gaps(
        _whole_numbers([0, *np.cumsum(n_each)]),
        _whole_numbers([0, *np.cumsum([len(group[2]) for group in found])]),
        _whole_numbers(np.concatenate([group[2] for group in found])),
        _whole_numbers([group[1] for group in found]),
        _whole_numbers([len(group[3]) for group in found]),
        read_only(places),
        read_only(bases),
        read_only(fill),
    )


def augmented(emission: Emission, sequences: Sequences) -> tuple[FloatArray, IntArray, Gaps]:
    """Return augmented steps with missing values filled in by straight lines, where recordings start, and the gaps."""
    z, starts = emission.augment(interpolated(sequences))
    missing = sequences.missing
    return z, starts, NO_GAPS if missing is None else find_gaps(emission, missing, starts, z)


def observed_evidence(emission: Emission, z: FloatArray, whiteners: FloatArray, gaps: Gaps) -> FloatArray:
    """Return the weighted log densities of what is observed of filled steps, (n_steps, n_states)."""
    from homothety.models.emissions._kernels import leave_out_all_missing

    evidence = emission.log_evidence(z, whiteners)
    if len(gaps.steps):
        leave_out_all_missing(z, whiteners, emission.weight, emission.structure, gaps, evidence)
    return evidence


def drawn_steps(
    rng: Generator, emission: Emission, z: FloatArray, path: IntArray, whiteners: FloatArray, gaps: Gaps
) -> FloatArray:
    """Return steps with what is missing of them drawn given the rest and their states."""
    from homothety.models.emissions._kernels import draw_missing

    drawn = z.copy()
    draw_missing(rng, drawn, read_only(path), read_only(whiteners), emission.structure, gaps)
    return drawn


def plain_steps(emission: Emission, z: FloatArray) -> FloatArray:
    """Return the steps of which augmented ones were made, (n_steps, n_dims)."""
    return np.ascontiguousarray(z[:, emission.n_regressors :] / np.sqrt(emission.dim_weights))


def values_in(emission: Emission, z: FloatArray, missing: BoolArray) -> FloatArray:
    """Return the missing values as augmented steps have them, (n_missing,), one step after the other."""
    return np.asarray(plain_steps(emission, z)[missing])


def steps_with(emission: Emission, z: FloatArray, missing: BoolArray, values: FloatArray) -> FloatArray:
    """Return augmented steps with other values for what is missing."""
    filled = z.copy()
    rows, dims = np.nonzero(missing)
    filled[rows, emission.n_regressors + dims] = values * np.sqrt(emission.dim_weights[dims])
    return filled


def completed_steps(
    rng: Generator, emission: Emission, z: FloatArray, path: IntArray, gaps: Gaps, n_rounds: int = _N_ROUNDS
) -> FloatArray:
    """Return steps with what is missing drawn given a path: parameters and values in turn, a few times."""
    n_states = int(path.max()) + 1
    for _ in range(n_rounds):
        whiteners = draw_parameters(rng, emission, statistics_of(emission, z, path, n_states))
        z = drawn_steps(rng, emission, z, path, whiteners, gaps)
    return z


def completed_series(rng: Generator, emission: Emission, sequences: Sequences, path: IntArray) -> Sequences:
    """Return recordings with what is missing drawn given a path; the same recordings if nothing is."""
    missing = sequences.missing
    if missing is None:
        return sequences
    z, _, gaps = augmented(emission, sequences)
    z, steps = completed_steps(rng, emission, z, path, gaps), sequences.steps.copy()
    steps[missing] = values_in(emission, z, missing)
    return replace(sequences, steps=frozen(steps))


def expected_statistics(emission: Emission, z: FloatArray, path: IntArray, gaps: Gaps, n_states: int) -> Statistics:
    """Return the statistics of the states of a path, averaged over draws of what is missing.

    Parameters are at their means in between. The same steps have the same statistics in every call.
    """
    statistics = statistics_of(emission, z, path, n_states)
    if not len(gaps.steps):
        return statistics
    rng, scales = np.random.default_rng(0), np.zeros_like(statistics.scales)
    n_kept = _N_ROUNDS - _N_ROUNDS // 2
    for number in range(_N_ROUNDS):
        z = drawn_steps(rng, emission, z, path, mean_parameters(emission, statistics), gaps)
        statistics = statistics_of(emission, z, path, n_states)
        if number >= _N_ROUNDS - n_kept:
            scales += statistics.scales / n_kept
    return Statistics(statistics.sizes, scales)
