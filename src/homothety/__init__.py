"""Clustering of covariance matrices by shape, whatever their rotation and scale.

Public names are loaded when first used, so that importing the package is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from homothety._version import __version__

if TYPE_CHECKING:
    from homothety import covariance, datasets, metrics, viz
    from homothety.covariance import pairwise_distance, pairwise_similarity
    from homothety.estimators.action_hmm import ActionHMM
    from homothety.estimators.baselines import CRPMixture, GMMSelection, TwoStageHMM
    from homothety.estimators.hmm import IBPHMM, ICSCHMM, HMMSelection, StickyHDPHMM
    from homothety.estimators.similarity import SimilarityMixture, SpectralEmbedding
    from homothety.estimators.spcm import SPCMMixture
    from homothety.persistence import load

__all__ = [
    "IBPHMM",
    "ICSCHMM",
    "ActionHMM",
    "CRPMixture",
    "GMMSelection",
    "HMMSelection",
    "SPCMMixture",
    "SimilarityMixture",
    "SpectralEmbedding",
    "StickyHDPHMM",
    "TwoStageHMM",
    "__version__",
    "covariance",
    "datasets",
    "load",
    "metrics",
    "pairwise_distance",
    "pairwise_similarity",
    "viz",
]

_HOMES = {
    "ActionHMM": "homothety.estimators.action_hmm",
    "CRPMixture": "homothety.estimators.baselines",
    "GMMSelection": "homothety.estimators.baselines",
    "HMMSelection": "homothety.estimators.hmm",
    "IBPHMM": "homothety.estimators.hmm",
    "ICSCHMM": "homothety.estimators.hmm",
    "StickyHDPHMM": "homothety.estimators.hmm",
    "TwoStageHMM": "homothety.estimators.baselines",
    "SPCMMixture": "homothety.estimators.spcm",
    "SimilarityMixture": "homothety.estimators.similarity",
    "SpectralEmbedding": "homothety.estimators.similarity",
    "load": "homothety.persistence",
    "pairwise_distance": "homothety.covariance",
    "pairwise_similarity": "homothety.covariance",
}
_MODULES = ("covariance", "datasets", "metrics", "viz")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"homothety.{name}")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'homothety' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
