"""What the paper compares with: mixtures on points that see no similarity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from scipy.special import softmax
from scipy.stats import multivariate_normal
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from homothety.errors import InputError
from homothety.estimators._fitted import Fitted, part
from homothety.estimators.sampled import SampledPartition, seed_sequence
from homothety.models import crp
from homothety.models.base_measure import base_measure
from homothety.models.crp.recording import RECORDING
from homothety.models.gmm import select_gmm
from homothety.summaries.partitions import relabel_by_size
from homothety.summaries.result import Partition

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from homothety.arrays import FloatArray, IntArray
    from homothety.distributions import NIW, NormalGamma
    from homothety.estimators.sampled import RandomState
    from homothety.models.gmm import Criterion


@dataclass(kw_only=True, eq=False, repr=False)
class CRPMixture(SampledPartition):
    """Chinese restaurant process mixture of Gaussians, number of clusters inferred (Neal 2000, algorithm 3).

    Parameters
    ----------
    concentration : float, default=1.0
        Weight of a new cluster: larger values favour more clusters.
    sample_concentration : bool, default=False
        Whether to sample the concentration under a Gamma(1, 1) prior; `concentration` is then the start.
    start : {"singletons", "one"}, default="singletons"
        Where chains start: every point alone, or all in one cluster, as in the paper's evaluation. Single points rarely
        leave one large cluster for a cluster of their own, so that chains from one cluster may stay there.
    mean_strength, dof, scale, prior_share, diagonal
        Prior of a cluster, as in `SimilarityMixture`.
    n_chains, n_sweeps, n_burn, point_estimate, random_state, n_jobs, progress, checkpoint
        How to sample and what to report, as in `SimilarityMixture`.

    Attributes
    ----------
    labels_ : ndarray of shape (n_items,)
        Cluster of each item, numbered by decreasing size.
    n_clusters_ : int
    coclustering_ : ndarray of shape (n_items, n_items)
    trace_, n_sweeps_, chain_weights_
        As in `SimilarityMixture`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> points = np.concatenate([rng.normal(0, 0.1, (20, 2)), rng.normal(3, 0.1, (20, 2))])
    >>> CRPMixture(random_state=0).fit(points).n_clusters_
    2
    """

    start: Literal["singletons", "one"] = "singletons"

    def fit(self, X: ArrayLike, y: Any = None) -> Self:  # noqa: ARG002
        """Cluster points `X` of shape (n_items, n_dims)."""
        if self.start not in ("singletons", "one"):
            raise InputError(f"start is {self.start!r}, needed 'singletons' or 'one'.")
        self._begin_fit()
        points = validate_data(self, X, dtype=np.float64)
        self.base_: NIW | NormalGamma = base_measure(
            points,
            mean_strength=self.mean_strength,
            dof=self.dof,
            scale=self.scale,
            share=self.prior_share,
            diagonal=self.diagonal,
        )
        model = crp.Model(points, self.base_)
        sweep = crp.default_sweep(sample_concentration=self.sample_concentration)
        state = crp.init_state(model, self.concentration, singletons=self.start == "singletons")
        self._sample(model, state, sweep, RECORDING, points)
        return self

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the probability of each cluster for new points (n_new, n_dims): its size times its predictive."""
        check_is_fitted(self)
        points = validate_data(self, X, dtype=np.float64, reset=False)
        log_weights = np.column_stack(
            [np.log(len(members)) + self.base_.posterior(members).log_predictive(points) for members in self._members()]
        )
        weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def predict(self, X: ArrayLike) -> IntArray:
        """Return the most probable cluster of new points, (n_new,)."""
        return np.asarray(self.predict_proba(X).argmax(axis=1))

    def _members(self) -> list[FloatArray]:
        """Return the points of each cluster."""
        return [self.embedding_[self.labels_ == k] for k in range(self.n_clusters_)]


@dataclass(kw_only=True, eq=False, repr=False)
class GMMSelection(ClusterMixin, Fitted, BaseEstimator):
    """Mixture of Gaussians by EM, number of clusters by an information criterion.

    Parameters
    ----------
    max_components : int, default=10
        Largest number of clusters tried.
    criterion : {"bic", "aic"}, default="bic"
        What is minimised.
    n_init : int, default=5
        EM starts for each number of clusters.
    random_state : int, Generator or None, default=None

    Attributes
    ----------
    labels_ : ndarray of shape (n_items,)
    n_clusters_ : int
        Number of clusters that hold at least one point.
    criteria_ : ndarray of shape (max_components,)
        The criterion for 1, 2, ... clusters; infinite where EM failed.
    weights_, means_, covariances_ : ndarray
        Parameters of the chosen mixture, in the order of the clusters; Gaussians that are the best of no point come
        last.
    """

    max_components: int = 10
    criterion: Criterion = "bic"
    n_init: int = 5
    random_state: RandomState = None

    labels_ = part("labels")
    n_clusters_ = part("n_clusters")

    def fit(self, X: ArrayLike, y: Any = None) -> Self:  # noqa: ARG002
        """Fit mixtures to points `X` of shape (n_items, n_dims) and keep the best."""
        self._begin_fit()
        points = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        rng = np.random.default_rng(seed_sequence(self.random_state))
        fitted = select_gmm(
            rng, points, max_components=self.max_components, criterion=self.criterion, n_init=self.n_init
        )
        self.criteria_ = fitted.criteria
        labels = relabel_by_size(fitted.labels)
        self.result_ = Partition(provenance=self._provenance(), labels=labels, basis="points", embedding=points)
        order = self._order(fitted.labels, fitted.n_components)
        self.weights_, self.means_ = fitted.weights[order], fitted.means[order]
        self.covariances_ = fitted.covariances[order]
        return self

    def _order(self, components: IntArray, n_components: int) -> IntArray:
        """Return the components in the order of the clusters they are, those of no point last."""
        chosen = components[np.unique(self.labels_, return_index=True)[1]]
        return np.concatenate([chosen, np.setdiff1d(np.arange(n_components), chosen)])

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the probability of each Gaussian for new points (n_new, n_dims), those that are clusters first."""
        check_is_fitted(self)
        points = validate_data(self, X, dtype=np.float64, reset=False)
        gaussians = zip(self.weights_, self.means_, self.covariances_, strict=True)
        log_weights = [
            np.log(weight) + np.atleast_1d(multivariate_normal(mean, covariance).logpdf(points))
            for weight, mean, covariance in gaussians
        ]
        return np.asarray(softmax(np.column_stack(log_weights), axis=1))

    def predict(self, X: ArrayLike) -> IntArray:
        """Return the most probable Gaussian of new points, (n_new,)."""
        return np.asarray(self.predict_proba(X).argmax(axis=1))
