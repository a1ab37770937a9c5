"""States of new series compared with states whose actions are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import block_diag

from homothety.models.emissions.statistics import residual_scatters, statistics_of
from homothety.models.icsc.clusters import States, count_stays
from homothety.models.icsc.moves import sample_covariances
from homothety.models.icsc.shapes import log_density, redrawn

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray
    from homothety.models.emissions import Emission
    from homothety.models.icsc.shapes import ShapeGrouping

N_STARTS, N_SWEEPS = 10, 10  # single states change one at a time, so that a wrong order may hold itself in place


@dataclass(frozen=True, eq=False)
class KnownActions:
    """States, and the action of each.

    Parameters
    ----------
    covariances, sizes, visits, succession
        Those of the states, as in `States`.
    actions : ndarray of int, shape (n_states,)
    """

    covariances: FloatArray
    sizes: FloatArray
    visits: FloatArray
    succession: FloatArray
    actions: IntArray

    @classmethod
    def of(cls, states: States, actions: IntArray) -> KnownActions:
        """Return states with their actions."""
        return cls(states.covariances, states.sizes, states.visits, states.succession, np.array(actions))

    def match(self, rng: Generator, grouping: ShapeGrouping, new: States) -> IntArray:
        """Return the known actions that new states most probably are, (n_new,), looked for from several starts."""
        names, known = np.unique(self.actions, return_inverse=True)
        shapes = grouping.shapes_of(self._with(new))._replace(concentration=0.0)  # no action but the known ones
        starts = [np.concatenate([known, rng.integers(len(names), size=len(new.ids))]) for _ in range(N_STARTS)]
        found = [redrawn(rng, labels, shapes, np.ones(N_SWEEPS), n_fixed=len(known)) for labels in starts]
        return np.asarray(names[max(found, key=lambda labels: log_density(labels, shapes))[len(known) :]])

    def _with(self, new: States) -> States:
        """Return known and new states as one: of other series, with one begin and end."""
        n_known = len(self.actions)
        succession = block_diag(self.succession[:-1, :-1], new.succession)
        succession[:n_known, -1] += self.succession[:-1, -1]
        succession[-1, :n_known] += self.succession[-1, :-1]
        return States(
            np.arange(n_known + len(new.ids)),
            np.concatenate([self.covariances, new.covariances]),
            np.concatenate([self.sizes, new.sizes]),
            block_diag(self.visits, new.visits),
            succession,
        )


def states_of_path(emission: Emission, z: FloatArray, starts: IntArray, path: IntArray) -> States:
    """Return what is known of the states of a path through augmented steps, from the steps alone.

    Parameters
    ----------
    emission : Emission
    z, starts : ndarray
        Augmented steps and where series begin, from `Emission.augment`.
    path : ndarray of int, shape (n_steps,)
        Numbers of states, of which each must have a step.
    """
    ids, numbered = np.unique(path, return_inverse=True)
    statistics = statistics_of(emission, z, numbered, len(ids))
    covariances = sample_covariances(residual_scatters(emission, statistics), statistics.sizes)
    return States(ids, covariances, statistics.sizes, *count_stays(numbered, starts, len(ids)))
