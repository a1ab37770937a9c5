"""The similarity-dependent mixture for any points and any similarity, and spectral embeddings of similarities."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from homothety.arrays import FloatArray, check_similarity, check_similarity_to
from homothety.covariance.embedding import Embedding, spectral_embedding
from homothety.covariance.similarity import gaussian_similarity, pairwise_similarity, similarity_bandwidth
from homothety.covariance.spectra import check_covariances
from homothety.errors import InputError
from homothety.estimators.sampled import ResultPart, SampledPartition
from homothety.models import ddcrp
from homothety.models.ddcrp import RECORDING
from homothety.models.partitions import base_measure
from homothety.persistence import Saveable

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from homothety.arrays import IntArray
    from homothety.covariance.embedding import DimensionRule
    from homothety.covariance.measures import SPCMVariant
    from homothety.distributions import NIW, NormalGamma

    _Measure = str | Callable[[FloatArray, FloatArray], float]


def is_spcm(measure: _Measure) -> bool:
    """Whether a measure is SPCM, which has a tolerance instead of a bandwidth."""
    return measure in ("bspcm", "spcm")


def similarity_within(
    X: ArrayLike, measure: _Measure, variant: str | SPCMVariant, tolerance: float
) -> tuple[FloatArray | None, float | None, FloatArray]:
    """Return the checked matrices, the bandwidth and the similarity of all pairs.

    There are no matrices for a precomputed similarity, and no bandwidth for it or for SPCM.
    """
    if measure == "precomputed":
        return None, None, check_similarity(X, "X")
    matrices = check_covariances(X)
    if is_spcm(measure):
        return matrices, None, pairwise_similarity(matrices, variant=variant, tolerance=tolerance)
    # One matrix has no distance to take a bandwidth from, and no use for one.
    bandwidth = similarity_bandwidth(matrices, measure=measure) if len(matrices) > 1 else 1.0
    return matrices, bandwidth, pairwise_similarity(matrices, measure=measure, bandwidth=bandwidth)


def similarity_between(
    X: ArrayLike,
    fitted: FloatArray | None,
    measure: _Measure,
    variant: str | SPCMVariant,
    tolerance: float,
    bandwidth: float | None,
    n_fitted: int,
) -> FloatArray:
    """Return the similarity of new matrices to the fitted ones, (n_new, n_fitted)."""
    if fitted is None:
        return check_similarity_to(X, n_fitted, "X")
    matrices = check_covariances(X)
    if matrices.shape[1] != fitted.shape[1]:
        raise InputError(
            f"X holds {matrices.shape[1]} x {matrices.shape[1]} matrices, the model was fitted on "
            f"{fitted.shape[1]} x {fitted.shape[1]} ones."
        )
    if is_spcm(measure):
        return pairwise_similarity(matrices, fitted, variant=variant, tolerance=tolerance)
    return pairwise_similarity(matrices, fitted, measure=measure, bandwidth=bandwidth)


def matrix_tags(tags: Any, measure: _Measure) -> Any:
    """Tell scikit-learn that the input is a stack of matrices, or a matrix of pairs if precomputed."""
    tags.input_tags.pairwise = measure == "precomputed"
    tags.input_tags.two_d_array = measure == "precomputed"
    tags.input_tags.three_d_array = measure != "precomputed"
    return tags


# The similarity-dependent mixture


class LinkMixture(SampledPartition):
    """Base of the estimators that cluster points under a similarity-dependent prior."""

    base_: NIW | NormalGamma
    similarity_ = ResultPart[FloatArray]("similarity")

    def _fit_points(self, points: FloatArray, similarity: FloatArray, basis: str = "points") -> Self:
        """Sample partitions of `points` whose links follow `similarity`."""
        self.base_ = self._base_of(points)
        model = ddcrp.Model.from_similarity(points, similarity, self.base_)
        sweep = ddcrp.default_sweep(sample_concentration=self.sample_concentration)
        self._sample(model, ddcrp.init_state(model, self.concentration), sweep, RECORDING, points, basis)
        self._amend(similarity=similarity)
        return self

    @property
    def _base_of(self) -> Callable[[FloatArray], NIW | NormalGamma]:
        """Function from points to the prior of a cluster of them; it travels light, without the rest of the model."""
        return partial(
            base_measure,
            mean_strength=self.mean_strength,
            dof=self.dof,
            scale=self.scale,
            share=self.prior_share,
            diagonal=self.diagonal,
        )

    def _membership(self, points: FloatArray, similarity: FloatArray) -> FloatArray:
        """Return the probability of each cluster for new points, given their similarity to the fitted items."""
        in_clusters = np.eye(self.n_clusters_)[self.labels_]
        return self._membership_of(points, similarity @ in_clusters, self._posteriors())

    def _posteriors(self) -> list[NIW | NormalGamma]:
        """Return what is known of each cluster."""
        return [self.base_.posterior(self.embedding_[self.labels_ == k]) for k in range(self.n_clusters_)]

    @staticmethod
    def _membership_of(points: FloatArray, masses: FloatArray, posteriors: list[NIW | NormalGamma]) -> FloatArray:
        """Return the probability of each cluster for new points, given their similarity to all members together.

        What the chain itself would use for a new item that nobody links to: the similarity to the members of a cluster,
        (n_new, n_clusters), times the predictive density of the cluster.
        """
        predictive = np.column_stack([posterior.log_predictive(points) for posterior in posteriors])
        with np.errstate(divide="ignore"):
            log_weights = np.log(masses) + predictive
        # An item similar to nothing at all could have linked to nobody: every cluster is as good as another.
        log_weights[~np.isfinite(log_weights).any(axis=1)] = 0.0
        log_weights -= log_weights.max(axis=1, keepdims=True)
        weights = np.exp(log_weights)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))


@dataclass(kw_only=True, eq=False, repr=False)
class SimilarityMixture(LinkMixture):
    """Cluster points under a similarity-dependent Chinese restaurant process prior, number of clusters inferred.

    The mixture behind `SPCMMixture`, for any points and any similarity between them: the two may speak of different
    things, such as positions of voxels for the links and features for the points.

    Parameters
    ----------
    concentration : float, default=1.0
        Weight of linking to oneself: larger values favour more clusters.
    sample_concentration : bool, default=False
        Whether to sample the concentration under a Gamma(1, 1) prior; `concentration` is then the start.
    mean_strength : float, default=1.0
        How many points the prior mean of a cluster is worth.
    dof : float, optional
        Degrees of freedom of the prior covariance, more than ``n_dims - 1``. Default: ``n_dims + 2`` plus
        `prior_share` times the number of points.
    scale : float, optional
        Prior scale matrix, as a multiple of the mean variance of the points. Default: such that the prior expects a
        cluster as wide as all points together.
    prior_share : float, default=0.003
        How much the default prior of a covariance counts, as a share of the number of points; not with `diagonal`.
    diagonal : bool, default=False
        Whether clusters have diagonal covariances: fewer parameters, but not invariant to rotation.
    n_chains : int, default=4
        Independent chains; their kept sweeps are pooled.
    n_sweeps : int or "auto", default="auto"
        Sweeps per chain. "auto" makes 200 and compares the last half of all chains; while these differ, it doubles the
        number, up to 800. A single chain makes 200.
    n_burn : int, optional
        Sweeps thrown away at the start of each chain. Default: half of them.
    point_estimate : {"vi", "map"}, default="vi"
        Which partition to report: the one of least expected variation of information to all kept sweeps, or the most
        probable visited one.
    random_state : int, Generator or None, default=None
        Seed. Equal seeds give equal results, whatever `n_jobs`.
    n_jobs : int, optional
        Chains run side by side.
    progress : bool, default=False
        Whether to show a progress bar.
    checkpoint : str or Path, optional
        Folder in which chains are written while they run; a run that is found there goes on where it was.

    Attributes
    ----------
    labels_ : ndarray of shape (n_items,)
        Cluster of each item, numbered by decreasing size.
    n_clusters_ : int
    coclustering_ : ndarray of shape (n_items, n_items)
        Share of the kept sweeps in which two items are in one cluster.
    trace_ : dict of str to ndarray of shape (n_chains, n_sweeps)
        "log_joint", "log_likelihood", "n_clusters", "concentration" and "seconds" of every sweep; "size_entropy", the
        entropy of the cluster sizes in bits, of every kept sweep.
    n_sweeps_ : int
        Number of sweeps that each chain made.
    chain_weights_ : ndarray of shape (n_chains,)
        How much each chain counts: always equal in mixtures, whether chains agree or not.
    draws_ : ndarray of shape (n_kept, n_items)
        Kept partitions of all chains.
    map_labels_ : ndarray of shape (n_items,)
        Most probable visited partition.
    similarity_, embedding_ : ndarray
        What was clustered.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> points = np.concatenate([rng.normal(0, 0.1, (20, 2)), rng.normal(3, 0.1, (20, 2))])
    >>> SimilarityMixture(random_state=0).fit(points).n_clusters_
    2
    """

    def fit(self, X: ArrayLike, y: Any = None, *, similarity: ArrayLike | None = None) -> Self:  # noqa: ARG002
        """Cluster points.

        Parameters
        ----------
        X : array-like of shape (n_items, n_dims)
            Points.
        y : ignored
        similarity : array-like of shape (n_items, n_items), optional
            Symmetric, in [0, 1]. Default: a Gaussian of the distance between points, its width the median distance.

        Returns
        -------
        self
        """
        self._begin_fit()
        points = validate_data(self, X, dtype=np.float64)
        self.bandwidth_: float | None = None
        if similarity is None:
            self.bandwidth_ = _median_distance(points)
            similarity = gaussian_similarity(cdist(points, points), self.bandwidth_)
        return self._fit_points(points, check_similarity(similarity))

    def predict_proba(self, X: ArrayLike, *, similarity: ArrayLike | None = None) -> FloatArray:
        """Return the probability of each cluster for new points.

        Parameters
        ----------
        X : array-like of shape (n_new, n_dims)
        similarity : array-like of shape (n_new, n_items), optional
            Similarity of the new points to the fitted ones; needed if it was given at fit.

        Returns
        -------
        probability : ndarray of shape (n_new, n_clusters_)
        """
        check_is_fitted(self)
        points = validate_data(self, X, dtype=np.float64, reset=False)
        if similarity is None:
            if self.bandwidth_ is None:
                raise InputError(
                    "The model was fitted with a similarity: give similarity= of the new points to the fitted."
                )
            similarity = gaussian_similarity(cdist(points, self.embedding_), self.bandwidth_)
        similarity = check_similarity_to(similarity, len(self.labels_))
        if len(similarity) != len(points):
            raise InputError(f"similarity has {len(similarity)} rows for {len(points)} points, needed one for each.")
        return self._membership(points, similarity)

    def predict(self, X: ArrayLike, *, similarity: ArrayLike | None = None) -> IntArray:
        """Return the most probable cluster of new points, (n_new,)."""
        return np.asarray(self.predict_proba(X, similarity=similarity).argmax(axis=1))


def _median_distance(points: FloatArray) -> float:
    """Return the median distance between different points, or one if they all coincide."""
    if len(points) < 2:
        return 1.0
    distances = cdist(points, points)[np.triu_indices(len(points), 1)]
    median = float(np.median(distances))
    return median or float(np.median(distances[distances > 0])) if distances.any() else 1.0


# Spectral embedding


@dataclass(kw_only=True, eq=False, repr=False)
class SpectralEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Saveable, BaseEstimator):
    """Coordinates in which covariance matrices of similar shape lie close together (Algorithm 1).

    Parameters
    ----------
    measure : {"bspcm", "airm", "lerm", "kldm", "jbld", "precomputed"} or callable, default="bspcm"
        Similarity of two matrices. With "precomputed", `X` is the similarity matrix itself.
    variant : str or SPCMVariant, default="published"
        Reading of the SPCM measure, see `homothety.covariance.SPCM_VARIANTS`.
    tolerance : float, default=1.0
        The paper's tau: larger values lower all similarities.
    n_components : int or {"damped", "paper", "published"}, default="damped"
        Number of columns, or the rule that finds it.
    damping : float, optional
        How much the last column counts against the first, in (0, 1]. Default: 0.5 under the rule "damped", otherwise 1.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_matrices, n_components_)
    n_components_ : int
    eigenvalues_ : ndarray of shape (n_matrices,)
        Of the normalised Laplacian, ascending.
    similarity_ : ndarray of shape (n_matrices, n_matrices)

    Examples
    --------
    >>> from homothety import SpectralEmbedding
    >>> from homothety.datasets import make_toy_6d
    >>> SpectralEmbedding(n_components="paper").fit_transform(make_toy_6d(random_state=0).matrices).shape
    (60, 3)
    """

    measure: str | Callable[[FloatArray, FloatArray], float] = "bspcm"
    variant: str | SPCMVariant = "published"
    tolerance: float = 1.0
    n_components: int | DimensionRule = "damped"
    damping: float | None = None

    def fit(self, X: ArrayLike, y: Any = None) -> Self:  # noqa: ARG002
        """Embed the matrices `X` of shape (n_matrices, n_dims, n_dims), or a precomputed similarity."""
        self.matrices_, self.bandwidth_, self.similarity_ = similarity_within(
            X, self.measure, self.variant, self.tolerance
        )
        self.spectral_: Embedding = spectral_embedding(
            self.similarity_, n_components=self.n_components, damping=self.damping
        )
        self.embedding_ = self.spectral_.points
        self.n_components_ = self.spectral_.n_components
        self.eigenvalues_ = self.spectral_.eigenvalues
        return self

    def fit_transform(self, X: ArrayLike, y: Any = None) -> FloatArray:
        """Embed `X` and return the coordinates, (n_matrices, n_components_)."""
        return self.fit(X, y).embedding_

    def transform(self, X: ArrayLike) -> FloatArray:
        """Return coordinates of new matrices (n_new, n_dims, n_dims) by Nystroem's extension.

        With a precomputed measure, `X` holds their similarities to the fitted ones, (n_new, n_matrices).
        """
        check_is_fitted(self)
        similarity = similarity_between(
            X, self.matrices_, self.measure, self.variant, self.tolerance, self.bandwidth_, len(self.embedding_)
        )
        return self.spectral_.place(similarity)

    @property
    def _n_features_out(self) -> int:
        """Number of columns to find names for, as `set_output` wants them."""
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        return matrix_tags(super().__sklearn_tags__(), self.measure)
