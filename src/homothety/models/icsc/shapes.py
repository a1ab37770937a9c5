r"""States grouped by shape, with the noise their shapes have, by recording, and by the order they come in.

A state is the point :math:`y_k` of its shape coordinates, free of rotation and scale. About the shape :math:`m_z` of
its action it scatters by what the same action may differ, and by the noise of a covariance from :math:`n_k`
observations, whose logarithmic axis lengths have variance :math:`1 / 2 n_k`:

.. math::

    y_k \mid m_z \sim \mathcal N\Big(m_z, \big(\sigma^2 + \tfrac{1}{2 n_k}\big) I\Big), \qquad
    m_z \sim \mathcal N(0, \tau^2 I), \qquad
    Z \sim \mathrm{CRP}(\alpha).

Shape alone cannot tell a reach from a return. Two things can. A task has an order: which action follows action
:math:`z`, or that the recording ends, has unknown, fixed probabilities. And a recording is made in one frame: which of
the :math:`s_z` states of action :math:`z` stands for it in series :math:`i` has probabilities that may favour one. Both
are Dirichlet distributed, and integrated out. With :math:`c_z` the counts of what follows action :math:`z`, or the
beginning, and :math:`v_{iz}` those of how often series :math:`i` stays in each of the states of action :math:`z`,

.. math::

    p(\text{stays} \mid Z) = \prod_z \mathrm{DirMult}(c_z; \beta)
    \cdot \frac{1}{|H|} \sum_{\eta \in H} \prod_{i, z} s_z \, \mathrm{DirMult}(v_{iz}; \eta) .

The factor :math:`s_z` leaves the first version of an action in a series out of account: it is where the recording was
made, which nobody has to predict. How loyal series are to a version afterwards, :math:`\eta`, is the same for all and
unknown. Were it fixed, every further series would add to the cost of a second frame, and with many of them no two
frames would ever share an action.

A reach in one frame grouped with a return in another would leave nobody able to say what comes next; a reach grouped
with a return of the same recording would be one action in two versions, in every series.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from homothety.covariance.shape import coordinates_of_spectra
from homothety.covariance.spectra import DEFAULT_FLOOR
from homothety.errors import InputError
from homothety.models.icsc.clusters import Clusters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray
    from homothety.models.icsc._kernels import Shapes
    from homothety.models.icsc.clusters import States

TINY = np.finfo(float).tiny
DEGREES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)  # from loyal to a version to fickle
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
    versions : sequence of float, float or None
        :math:`H`, what :math:`\eta` may be: the smaller, the rarer an action is shown in two versions by one series.
        None leaves it out which series shows which states.
    n_warm, n_reset : int
        Sweeps if the states are those of the sweep before, and, from either end, if they are not.
    """

    within: float = 0.2
    between: float = 1.0
    concentration: float = 1.0
    followers: float | None = 0.5
    versions: Sequence[float] | float | None = DEGREES
    n_warm: int = 2
    n_reset: int = 10

    def draw(self, rng: Generator, states: States, before: Clusters) -> Clusters:
        """Draw actions of states, beginning from those of the sweep before if the states are the same."""
        shapes = self.shapes_of(states)
        if not before.is_of(states.ids):
            return Clusters.from_labels(states.ids, *self.draw_anew(rng, shapes))
        labels = redrawn(rng, before.label_of(states.ids), shapes, np.ones(self.n_warm))
        return Clusters.from_labels(states.ids, labels, log_density(labels, shapes))

    def draw_anew(self, rng: Generator, shapes: Shapes) -> tuple[IntArray, float]:
        """Draw actions from both ends, and one of the two outcomes by its density; return it and the logarithm of that.

        Order holds actions together: a stroke in two frames cannot become one while the return that follows it is
        still two. So states are also grouped by shape first, and order and recordings come in little by little.
        """
        apart = np.arange(len(shapes.points))
        # Cubes: with hundreds of series, even a tenth of what their stays say would outweigh all shapes.
        ends = np.ones(self.n_reset), np.linspace(0.0, 1.0, self.n_reset) ** 3
        drawn = [redrawn(rng, apart, shapes, powers) for powers in ends]
        one, other = ((labels, log_density(labels, shapes)) for labels in drawn)
        return other if rng.random() < expit(other[1] - one[1]) else one

    def shapes_of(self, states: States) -> Shapes:
        """Return states as points with noise."""
        from homothety.models.icsc._kernels import Shapes

        check_states(states)
        points = coordinates_of_spectra(spectra_of(states.covariances))
        precisions = 1.0 / (self.within**2 + 0.5 / np.maximum(states.sizes, LEAST_SIZE))
        prior = self.between**-2, self.concentration
        most_in_series, most_in_all = int(states.visits.sum(axis=1).max(initial=0.0)), int(states.succession.sum())
        followers = log_rising_factorials(weights_of(self.followers), len(points) + 2, most_in_all)
        versions = log_rising_factorials(weights_of(self.versions), len(points), most_in_series)
        followers = followers[0] if len(followers) else np.empty((0, 0))
        return Shapes(points, precisions, states.visits, states.succession, *prior, followers, versions)


def check_states(states: States) -> None:
    """Raise unless there is something of every state, and counts of stays are counts."""
    n = len(states.ids)
    shapes = {"sizes": (n,), "visits": (len(states.visits), n), "succession": (n + 1, n + 1)}
    for name, shape in shapes.items():
        counts = np.asarray(getattr(states, name))
        if counts.shape != shape or not ((counts >= 0) & np.isfinite(counts)).all():
            raise InputError(f"{name} has shape {counts.shape}, needed {shape}, all finite and not negative.")
    if len(states.covariances) != n:
        raise InputError(f"There are {len(states.covariances)} covariances, needed one for each of {n} states.")


def weights_of(setting: Sequence[float] | float | None) -> FloatArray:
    """Return prior weights as an array, without any for None."""
    return np.atleast_1d(np.array([] if setting is None else setting, dtype=np.float64))


def log_rising_factorials(weights: FloatArray, most_at_once: int, most_steps: int) -> FloatArray:
    """Return ``log(x (x + 1) ... (x + n - 1))`` for multiples x of weights, (n_weights, most_at_once + 1, n + 1).

    Examples
    --------
    >>> np.exp(log_rising_factorials(np.array([0.5]), 2, 3))[0, 1].round(3)
    array([1.   , 0.5  , 0.75 , 1.875])
    """
    multiples = np.maximum(weights[:, None] * np.arange(most_at_once + 1), TINY)[:, :, None]
    out = np.zeros((len(weights), most_at_once + 1, most_steps + 1))
    np.cumsum(np.log(multiples + np.arange(most_steps)), axis=2, out=out[:, :, 1:])
    return out


def redrawn(rng: Generator, labels: IntArray, shapes: Shapes, powers: FloatArray) -> IntArray:
    """Return actions after a sweep over states for each power to which the probability of stays is raised."""
    from homothety.models.icsc._kernels import redraw_groups

    labels = labels.copy()
    redraw_groups(rng, labels, shapes, powers)
    return labels


def spectra_of(covariances: FloatArray) -> FloatArray:
    """Return eigenvalues, none of them smaller than rounding leaves them."""
    spectra = np.asarray(np.linalg.eigvalsh(covariances), dtype=np.float64)
    return np.maximum(spectra, DEFAULT_FLOOR * spectra[:, -1:])


def log_density(labels: IntArray, shapes: Shapes) -> float:
    """Log density of a partition, up to the constant of its prior, and of the points."""
    from homothety.models.icsc._kernels import log_partition

    return float(log_partition(np.asarray(labels), shapes, 1.0))
