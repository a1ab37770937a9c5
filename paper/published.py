"""The settings behind the published tables."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from homothety.estimators.similarity import SpectralEmbedding

if TYPE_CHECKING:
    from paper.sets import PaperSet


@lru_cache(maxsize=1)  # tasks of one set follow each other
def published_embedding(paper_set: PaperSet) -> SpectralEmbedding:
    """Return the embedding of a set by the rule behind the published table."""
    return SpectralEmbedding(
        measure=paper_set.measure, variant="published", tolerance=paper_set.tolerance, n_components="published"
    ).fit(paper_set.items)


def published_settings(paper_set: PaperSet, n_sweeps: int, seed: int) -> dict[str, Any]:
    """Return prior and schedule of the samplers behind the published table."""
    return {
        "dof": published_embedding(paper_set).n_components_,
        "scale": 1.0,
        "n_chains": 1,
        "n_sweeps": n_sweeps,
        "n_burn": 0,
        "point_estimate": "map",
        "random_state": seed,
    }
