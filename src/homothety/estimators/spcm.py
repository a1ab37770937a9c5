"""SPCM-CRP: clustering covariance matrices by shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from homothety.covariance.embedding import Embedding, spectral_embedding
from homothety.covariance.shape import log_euclidean_coordinates, shape_coordinates
from homothety.errors import InputError
from homothety.estimators._matrices import matrix_tags, similarity_between, similarity_within
from homothety.estimators._sampled import forget_fit
from homothety.estimators.similarity import LinkMixture

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import ArrayLike

    from homothety.arrays import FloatArray, IntArray
    from homothety.covariance.embedding import DimensionRule
    from homothety.covariance.variants import SPCMVariant
    from homothety.estimators._sampled import PointEstimate, RandomState

Points = Literal["spectral", "shape", "log-euclidean"]
MAX_FULL_DIMS = 100  # every seat changed costs the cube of it


class SPCMMixture(LinkMixture):
    """Cluster covariance matrices by shape, whatever their rotation and scale, number of clusters inferred.

    The SPCM-CRP mixture (Algorithm 2): similarities of all pairs, their spectral embedding, and a mixture of Gaussians
    on it whose prior lets similar matrices link. Sampled by collapsed Gibbs in several chains.

    Parameters
    ----------
    measure : {"bspcm", "airm", "lerm", "kldm", "jbld", "precomputed"} or callable, default="bspcm"
        Similarity of two matrices. With "precomputed", `X` is the similarity matrix itself.
    variant : str or SPCMVariant, default="published"
        Reading of the SPCM measure, see `homothety.covariance.SPCM_VARIANTS`.
    tolerance : float, default=1.0
        The paper's tau: larger values lower all similarities.
    points : {"spectral", "shape", "log-euclidean"}, default="spectral"
        Coordinates the Gaussians live in: the spectral embedding of the similarities, the shape coordinates of the
        matrices (half-logarithms of their sorted eigenvalues, free of scale), or their log-Euclidean coordinates.
    n_components : int or {"damped", "paper", "published"}, default="damped"
        Number of columns of the spectral embedding, or the rule that finds it.
    damping : float, optional
        How much the last of these columns counts against the first, in (0, 1]. Default: 0.5 under the rule "damped",
        otherwise 1.
    concentration : float, default=1.0
        Weight of linking to oneself, the paper's alpha: larger values favour more clusters.
    sample_concentration : bool, default=False
        Whether to sample the concentration under a Gamma(1, 1) prior; `concentration` is then the start.
    mean_strength, dof, scale, prior_share, diagonal
        Prior of a cluster, as in `SimilarityMixture`.
    n_chains, n_sweeps, n_burn, point_estimate, random_state, n_jobs, progress, checkpoint
        How to sample and what to report, as in `SimilarityMixture`.

    Attributes
    ----------
    labels_ : ndarray of shape (n_matrices,)
        Cluster of each matrix, numbered by decreasing size.
    n_clusters_ : int
    similarity_ : ndarray of shape (n_matrices, n_matrices)
    embedding_ : ndarray of shape (n_matrices, n_components)
        Coordinates that were clustered.
    coclustering_ : ndarray of shape (n_matrices, n_matrices)
        Share of the kept sweeps in which two matrices are in one cluster.
    trace_ : dict of str to ndarray of shape (n_chains, n_sweeps)
        "log_joint", "log_likelihood", "n_clusters", "concentration" and "seconds" of every sweep.
    draws_ : ndarray of shape (n_kept, n_matrices)
        Kept partitions of all chains.
    map_labels_ : ndarray of shape (n_matrices,)
        Most probable visited partition.

    Notes
    -----
    The default reading of SPCM is the published one: it compares eigenvalues and is invariant to rotation; for matrices
    of *different* shape its value still depends on their relative scale. ``variant="log"`` is exactly free of scale.

    Examples
    --------
    Sixty 6 x 6 matrices of three shapes, each turned at random:

    >>> from homothety import SPCMMixture
    >>> from homothety.datasets import make_toy_6d
    >>> toy = make_toy_6d(random_state=0)
    >>> model = SPCMMixture(random_state=0).fit(toy.matrices)
    >>> model.n_clusters_
    3
    """

    def __init__(
        self,
        *,
        measure: str | Callable[[FloatArray, FloatArray], float] = "bspcm",
        variant: str | SPCMVariant = "published",
        tolerance: float = 1.0,
        points: Points = "spectral",
        n_components: int | DimensionRule = "damped",
        damping: float | None = None,
        concentration: float = 1.0,
        sample_concentration: bool = False,
        mean_strength: float = 1.0,
        dof: float | None = None,
        scale: float | None = None,
        prior_share: float = 0.003,
        diagonal: bool = False,
        n_chains: int = 4,
        n_sweeps: int = 200,
        n_burn: int | None = None,
        point_estimate: PointEstimate = "vi",
        random_state: RandomState = None,
        n_jobs: int | None = None,
        progress: bool = False,
        checkpoint: str | Path | None = None,
    ) -> None:
        self.measure = measure
        self.variant = variant
        self.tolerance = tolerance
        self.points = points
        self.n_components = n_components
        self.damping = damping
        self.concentration = concentration
        self.sample_concentration = sample_concentration
        self.mean_strength = mean_strength
        self.dof = dof
        self.scale = scale
        self.prior_share = prior_share
        self.diagonal = diagonal
        self.n_chains = n_chains
        self.n_sweeps = n_sweeps
        self.n_burn = n_burn
        self.point_estimate = point_estimate
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress
        self.checkpoint = checkpoint

    def fit(self, X: ArrayLike, y: Any = None) -> Self:  # noqa: ARG002
        """Cluster matrices.

        Parameters
        ----------
        X : array-like of shape (n_matrices, n_dims, n_dims)
            Symmetric positive definite matrices; or their similarity, (n_matrices, n_matrices), if precomputed.
        y : ignored

        Returns
        -------
        self
        """
        forget_fit(self)
        self.matrices_, self.bandwidth_, similarity = similarity_within(X, self.measure, self.variant, self.tolerance)
        self.spectral_: Embedding | None = None
        if self.points == "spectral":
            self.spectral_ = spectral_embedding(similarity, n_components=self.n_components, damping=self.damping)
            return self._fit_points(self.spectral_.points, similarity)
        return self._fit_points(self._coordinates(self.matrices_), similarity)

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the probability of each cluster for new matrices.

        Parameters
        ----------
        X : array-like of shape (n_new, n_dims, n_dims)
            New matrices; or their similarities to the fitted ones, (n_new, n_matrices), if precomputed.

        Returns
        -------
        probability : ndarray of shape (n_new, n_clusters_)
            Over the clusters found; no new cluster is opened.
        """
        check_is_fitted(self)
        similarity = similarity_between(
            X, self.matrices_, self.measure, self.variant, self.tolerance, self.bandwidth_, len(self.labels_)
        )
        points = self.spectral_.place(similarity) if self.spectral_ else self._coordinates(np.asarray(X))
        return self._membership(points, similarity)

    def predict(self, X: ArrayLike) -> IntArray:
        """Return the most probable cluster of new matrices, (n_new,)."""
        return np.asarray(self.predict_proba(X).argmax(axis=1))

    def _coordinates(self, matrices: FloatArray | None) -> FloatArray:
        """Return coordinates of matrices that need no embedding."""
        coordinates = {"shape": shape_coordinates, "log-euclidean": log_euclidean_coordinates}
        if self.points not in coordinates:
            raise InputError(f"points is {self.points!r}, needed 'spectral', 'shape' or 'log-euclidean'.")
        if matrices is None:
            raise InputError(f"points={self.points!r} needs the matrices themselves, not a precomputed similarity.")
        points = coordinates[self.points](matrices)
        if points.shape[1] > MAX_FULL_DIMS and not self.diagonal:
            raise InputError(
                f"points={self.points!r} gives {points.shape[1]} coordinates per matrix, and covariances of more than "
                f"{MAX_FULL_DIMS} cannot be sampled in reasonable time. Use points='spectral', or diagonal=True."
            )
        return points

    def __sklearn_tags__(self) -> Any:
        return matrix_tags(super().__sklearn_tags__(), self.measure)
