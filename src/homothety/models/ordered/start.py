"""Where chains start: with clusters found in a sample, which all other items join."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from homothety.arrays import check_positive
from homothety.models.ddcrp.model import compiled_prior
from homothety.models.ddcrp.state import ChainState
from homothety.models.ordered.moves import resample_links, visit_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator

    from homothety.arrays import FloatArray, IntArray
    from homothety.distributions import NIW, NormalGamma
    from homothety.models.ordered.model import Model

N_SAMPLE, N_SWEEPS = 2000, 50
# To start with in the sample, at most: too many are merged in a few sweeps, one too few is hard to split.
N_CLUSTERS = 30


def grow_state(
    rng: Generator, model: Model, base_of: Callable[[FloatArray], NIW | NormalGamma], concentration: float = 1.0
) -> ChainState:
    """Return a state to start from: clusters of a sample, which all others have joined.

    A chain over the first items begins with many small clusters of points that lie close together; then the others
    join, one after the other.

    Parameters
    ----------
    rng : Generator
    model : Model
    base_of : callable
        From points to the prior of a cluster of them. The prior of a sample: one that counts as much as a share of a
        million items would let nobody be told apart before thousands are seated.
    concentration : float, default=1.0
    """
    from homothety.models.ddcrp._kernels import NOBODY, TARGET, attach_all
    from homothety.models.ordered._kernels import seat_links

    concentration = check_positive(concentration, "concentration")
    sample = model.first(N_SAMPLE, base_of(model.points[:N_SAMPLE]))
    state = ChainState(star_links(nearby(rng, sample.points)), concentration)
    for _ in range(N_SWEEPS):
        state, _ = resample_links(rng, sample, state)
    links = np.full((model.n_items, 4), NOBODY)
    attach_all(state.links, links)
    alike = replace(model, base=sample.base)
    # Without any concentration: who fits nowhere would open a table, thousands would, and every item looks at all.
    visit_all(rng, seat_links, alike, 0.0, links, compiled_prior(sample.base, model.n_items), sample.n_items)
    return ChainState(links[:, TARGET].copy(), concentration)


def nearby(rng: Generator, points: FloatArray) -> IntArray:
    """Return many small clusters of points that lie close together."""
    from sklearn.cluster import KMeans

    n_clusters = min(N_CLUSTERS, len(np.unique(points, axis=0)))
    means = KMeans(n_clusters, n_init=1, random_state=int(rng.integers(2**31)))
    return np.asarray(means.fit_predict(points), dtype=np.int64)


def star_links(labels: IntArray) -> IntArray:
    """Return links of all members of a cluster to its first one.

    Examples
    --------
    >>> star_links(np.array([2, 0, 2, 0]))
    array([0, 1, 0, 1])
    """
    _, first, numbered = np.unique(labels, return_index=True, return_inverse=True)
    return first[numbered]
