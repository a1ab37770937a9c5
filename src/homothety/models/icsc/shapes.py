r"""States grouped by shape, with the noise their shapes have, each action in one version per series.

A state is the point :math:`y_k` of its shape coordinates, free of rotation and scale. About the shape :math:`m_z` of
its action it scatters by what the same action may differ, and by the noise of a covariance from :math:`n_k`
observations, whose logarithmic axis lengths have variance :math:`1 / 2 n_k`:

.. math::

    y_k \mid m_z \sim \mathcal N\Big(m_z, \big(\sigma^2 + \tfrac{1}{2 n_k}\big) I\Big), \qquad
    m_z \sim \mathcal N(0, \tau^2 I), \qquad
    p(Z) \propto \mathrm{CRP}(Z; \alpha) \exp\Big(-\lambda \sum_{k < l,\, z_k = z_l} o_{kl}\Big).

Shape alone cannot tell a reach from a return. What can is that a recording is made in one frame: a series has an action
in one version, and two states that it visits both are two actions, unless they are as good as equal in shape. The
overlap :math:`o_{kl}` is the cosine between the numbers of steps that series spend in two states: zero for states of
different series, one for states that the same series visit in the same proportion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln

from homothety.covariance.shape import shape_coordinates
from homothety.models.icsc.clusters import Clusters

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray
    from homothety.models.icsc._kernels import Shapes
    from homothety.models.icsc.clusters import States


@dataclass(frozen=True)
class ShapeGrouping:
    r"""Group states by shape.

    Parameters
    ----------
    within : float
        :math:`\sigma`: how much the logarithms of the axis lengths of one action may differ, beyond noise.
    between : float
        :math:`\tau`: how much those of different actions do.
    one_version : float
        :math:`\lambda`: what it costs, in nats, that two states which all series visit alike are one action.
    concentration : float
        :math:`\alpha`: the larger, the more actions.
    n_warm, n_reset : int
        Sweeps if the states are those of the sweep before, and if they are not.
    """

    within: float = 0.1
    between: float = 1.0
    one_version: float = 20.0
    concentration: float = 1.0
    n_warm: int = 5
    n_reset: int = 20

    def draw(self, rng: Generator, states: States, before: Clusters) -> Clusters:
        """Draw actions of states, beginning from those of the sweep before if the states are the same."""
        from homothety.models.icsc._kernels import redraw_groups

        n, warm = len(states.ids), before.is_of(states.ids)
        labels = before.label_of(states.ids).copy() if warm else np.arange(n)
        shapes, log_weights = self.shapes_of(states), np.empty(n)
        for _ in range(self.n_warm if warm else self.n_reset):
            redraw_groups(rng, rng.permutation(n), labels, shapes, log_weights)
        return Clusters.from_labels(states.ids, labels, log_density(labels, shapes))

    def shapes_of(self, states: States) -> Shapes:
        """Return states as points with noise."""
        from homothety.models.icsc._kernels import Shapes

        points = shape_coordinates(states.covariances)
        precisions = 1.0 / (self.within**2 + 0.5 / states.sizes)
        return Shapes(
            points, precisions, self.one_version * overlap(states.usage), self.between**-2, self.concentration
        )


def overlap(usage: FloatArray) -> FloatArray:
    """Return how much the same series use two states, (n_states, n_states), from 0 to 1, zero on the diagonal."""
    lengths = np.sqrt((usage**2).sum(axis=1, keepdims=True))
    directions = usage / np.maximum(lengths, 1.0)  # a state without steps overlaps with none
    cosines = np.minimum(directions @ directions.T, 1.0)
    np.fill_diagonal(cosines, 0.0)
    return cosines


def log_density(labels: IntArray, shapes: Shapes) -> float:
    """Log density of a partition, up to the constant of its prior, and of the points."""
    groups = [np.flatnonzero(labels == z) for z in np.unique(labels)]
    log_prior = sum(np.log(shapes.concentration) + gammaln(len(members)) for members in groups)
    aversion = sum(shapes.aversion[np.ix_(members, members)].sum() / 2 for members in groups)
    return float(log_prior - aversion + sum(log_group_density(members, shapes) for members in groups))


def log_group_density(members: IntArray, shapes: Shapes) -> float:
    """Log density of the points of one action, its shape integrated out."""
    points, precisions, prior = shapes.points[members], shapes.precisions[members], shapes.centre_precision
    n, known = points.shape[1], precisions.sum() + prior
    weighted = precisions @ points
    squares = (precisions * (points**2).sum(axis=1)).sum() - weighted @ weighted / known
    log_scale = np.log(precisions / (2 * np.pi)).sum() + np.log(prior / known)
    return float(0.5 * (n * log_scale - squares))
