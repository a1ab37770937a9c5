"""Spectral embedding of covariance matrices as an estimator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from homothety.covariance.embedding import Embedding, spectral_embedding
from homothety.estimators._matrices import matrix_tags, similarity_between, similarity_within
from homothety.persistence import Saveable

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from homothety.arrays import FloatArray
    from homothety.covariance.embedding import DimensionRule
    from homothety.covariance.measures import SPCMVariant


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
