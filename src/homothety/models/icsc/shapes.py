r"""States grouped by shape, with the noise their shapes have, by recording, and by the order they come in.

A state is the point :math:`y_k` of its shape coordinates, free of rotation and scale. About the shape :math:`m_z` of
its action it scatters by what the same action may differ, and by the noise of a covariance from :math:`n_k`
observations, whose logarithmic axis lengths have variance :math:`1 / 2 n_k`:

.. math::

    y_k \mid m_z \sim \mathcal N\Big(m_z, \big(\sigma^2 + \tfrac{1}{2 n_k}\big) I\Big), \qquad
    m_z \sim \mathcal N(0, \tau^2 I), \qquad
    Z \sim \mathrm{CRP}(\alpha).

Shape alone cannot tell a reach from a return. Two things can. A task has an order: which action follows action
:math:`z`, or that the recording ends, has unknown, fixed probabilities. And a recording is made in one frame: which
state stands for action :math:`z` in series :math:`i` has probabilities that nearly always favour one. Both are
Dirichlet distributed, and integrated out. With :math:`c_z` the counts of what follows action :math:`z`, or the
beginning, and :math:`v_{iz}` those of how often series :math:`i` stays in each of the states of action :math:`z`,

.. math::

    p(\text{stays} \mid Z) = \prod_z \mathrm{DirMult}(c_z; \beta) \prod_{i, z} \mathrm{DirMult}(v_{iz}; \eta) .

A reach in one frame grouped with a return in another would leave nobody able to say what comes next; a reach grouped
with a return of the same recording would be one action in two versions, which is rare if :math:`\eta` is small.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln

from homothety.covariance.shape import coordinates_of_spectra
from homothety.covariance.spectra import DEFAULT_FLOOR
from homothety.models.icsc.clusters import Clusters

if TYPE_CHECKING:
    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray
    from homothety.models.icsc._kernels import Shapes
    from homothety.models.icsc.clusters import States

LEAST_SIZE = 1e-2  # of a state, in observations: one without any has a shape that nothing is known of


@dataclass(frozen=True)
class ShapeGrouping:
    r"""Group states by shape.

    Parameters
    ----------
    within : float
        :math:`\sigma`: how much the logarithms of the axis lengths of one action may differ, beyond noise.
    between : float
        :math:`\tau`: how much those of different actions do.
    concentration : float
        :math:`\alpha`: the larger, the more actions.
    followers : float or None
        :math:`\beta`: the smaller, the more regular the order of actions is expected to be. None leaves the order out.
    versions : float or None
        :math:`\eta`: the smaller, the rarer an action is shown in two versions by one series. None leaves it out which
        series shows which states.
    n_warm, n_reset : int
        Sweeps if the states are those of the sweep before, and if they are not.
    """

    within: float = 0.2
    between: float = 1.0
    concentration: float = 1.0
    followers: float | None = 0.5
    versions: float | None = 0.5
    n_warm: int = 2
    n_reset: int = 10

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

        points = coordinates_of_spectra(spectra_of(states.covariances))
        precisions = 1.0 / (self.within**2 + 0.5 / np.maximum(states.sizes, LEAST_SIZE))
        prior = self.between**-2, self.concentration, self.followers or 0.0, self.versions or 0.0
        return Shapes(points, precisions, states.visits, states.succession, *prior)


def spectra_of(covariances: FloatArray) -> FloatArray:
    """Return eigenvalues, none of them smaller than rounding leaves them."""
    spectra = np.asarray(np.linalg.eigvalsh(covariances), dtype=np.float64)
    return np.maximum(spectra, DEFAULT_FLOOR * spectra[:, -1:])


def log_density(labels: IntArray, shapes: Shapes) -> float:
    """Log density of a partition, up to the constant of its prior, and of the points."""
    from homothety.models.icsc._kernels import log_order, log_versions

    sizes = np.unique(labels, return_counts=True)[1]
    log_prior = gammaln(sizes).sum() + (len(sizes) * np.log(shapes.concentration) if shapes.concentration else 0.0)
    log_prior += log_order(labels, shapes.succession, shapes.followers) if shapes.followers else 0.0
    log_prior += log_versions(labels, shapes.visits, shapes.versions) if shapes.versions else 0.0
    return float(log_prior + log_point_density(labels, shapes))


def log_point_density(labels: IntArray, shapes: Shapes) -> float:
    """Log density of all points given their actions, whose shapes are integrated out."""
    points, precisions, prior = shapes.points, shapes.precisions, shapes.centre_precision
    members = (labels[:, None] == np.unique(labels)).astype(np.float64)  # (n_states, n_actions)
    known, weighted = precisions @ members + prior, (members * precisions[:, None]).T @ points
    squares = (precisions * (points**2).sum(axis=1)).sum() - ((weighted**2).sum(axis=1) / known).sum()
    log_scale = np.log(precisions / (2 * np.pi)).sum() + np.log(prior / known).sum()
    return float(0.5 * (points.shape[1] * log_scale - squares))
