"""Unsupervised spectral embedding of a similarity matrix (Algorithm 1), with rules for its dimension.

The eigenvectors of the normalised similarity are coordinates in which alike items lie close together. How many of them
to keep is the weak point of spectral methods. Three rules are here. The first two cut the spectrum at a threshold and
treat every column before it alike:

- ``"paper"``: Algorithm 1 as printed, by softmax weights;
- ``"published"``: the rule behind the published tables, which moves that threshold when eigenvalues lie close to it.

The default, ``"damped"``, takes the paper's count where the spectrum leaves no doubt about it, because the eigenvalues
before the cut are far from those behind it. Elsewhere it does not depend on getting one number right: columns are kept
generously, and scaled by a power of the structure they carry, such that the last one counts half as much as the first.
The power follows from that, so raising all strengths to a power (letting the diffusion on the graph run longer) changes
nothing.

Of very many matrices a sample is embedded, the landmarks, and all others are placed by their similarity to these.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from homothety.arrays import check_similarity, check_whole
from homothety.covariance.similarity import spcm_of_spectra
from homothety.errors import EmbeddingWarning, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike

    from homothety.arrays import FloatArray
    from homothety.covariance.measures import SPCMVariant

DimensionRule = Literal["damped", "paper", "published"]

_DAMPING = 0.5  # scale of the last column under the default rule, that of the first non-trivial one being 1
_MAX_COMPONENTS = 8  # under the default rule
_CLEAR_GAP = 4.0  # factor between the strengths before and behind the paper's cut that leaves no doubt about it
_LEAST_SHARE = 0.01  # of the leading non-trivial eigenvalue, below which a column is noise
_NEAR_THRESHOLD = 0.2  # the published rule looks again at weights this close to its threshold
_UNIT_ROUNDING = 1e-8  # difference from one, on the diagonal of a similarity, that is forgiven
_NO_SPREAD = 1e-10  # eigenvalues this close together are all the same
BLOCK = 2**14  # matrices worked on at a time, at most
BLOCK_ENTRIES = 2**22  # numbers of what they are compared with


@dataclass(frozen=True, eq=False)
class Embedding:
    """Spectral coordinates of items, and what is needed to place new ones.

    Parameters
    ----------
    points : ndarray of shape (n_items, n_components)
        Rows of unit length (or zero).
    eigenvalues : ndarray of shape (n_items,)
        All eigenvalues of the normalised Laplacian, ascending.
    vectors : ndarray of shape (n_items, n_components)
        The eigenvectors kept.
    scales : ndarray of shape (n_components,)
        Factor of each column before rows are brought to unit length.
    degrees : ndarray of shape (n_items,)
        Sums of the rows of the similarity.
    """

    points: FloatArray
    eigenvalues: FloatArray
    vectors: FloatArray
    scales: FloatArray
    degrees: FloatArray

    @property
    def n_components(self) -> int:
        """Number of columns kept."""
        return int(self.points.shape[1])

    def place(self, similarity: FloatArray) -> FloatArray:
        """Return the coordinates of new items by Nystroem's extension.

        Parameters
        ----------
        similarity : ndarray of shape (n_new, n_items)
            Similarity of the new items to the embedded ones.

        Returns
        -------
        points : ndarray of shape (n_new, n_components)
            For an item that was embedded itself, its own coordinates.
        """
        strength = 1 - self.eigenvalues[: self.n_components]
        # A column without structure has nothing to extend: new items sit at zero there.
        inverse = np.divide(1.0, strength, out=np.zeros_like(strength), where=np.abs(strength) > _NO_SPREAD)
        degrees = np.maximum(similarity.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        weights = similarity / np.sqrt(degrees * self.degrees)
        return unit_rows(weights @ self.vectors * inverse * self.scales)


def spectral_embedding(
    similarity: ArrayLike, *, n_components: int | DimensionRule = "damped", damping: float | None = None
) -> Embedding:
    """Return the spectral embedding of a similarity matrix.

    Parameters
    ----------
    similarity : array-like of shape (n_items, n_items)
        Symmetric, values in [0, 1], unit diagonal. It need not be positive definite.
    n_components : int or {"damped", "paper", "published"}, default="damped"
        How many columns to keep, or the rule that decides it.
    damping : float, optional
        Scale of the last column, in (0, 1], before rows are brought to unit length; that of the trivial and the first
        non-trivial one is 1, and those between fall as a power of their strength, one less the eigenvalue. Default: 0.5
        under the rule "damped", otherwise 1, which is Algorithm 1.

    Returns
    -------
    embedding : Embedding

    Warns
    -----
    EmbeddingWarning
        If all items are unconnected, or nearly so: then every item is a component of its own and coordinates say
        nothing.

    Notes
    -----
    Eigenvectors are determined up to sign, and up to rotation for equal eigenvalues. The sign is fixed by making the
    largest entry of each positive; the mixture's default prior does not see rotations.
    """
    matrix = check_similarity(similarity)
    _check_unit_diagonal(matrix)
    if not (isinstance(n_components, str) or 1 <= check_whole(n_components, "n_components") <= len(matrix)):
        raise InputError(
            f"n_components is {n_components}, needed 1 to {len(matrix)}, the number of items.", "n_components"
        )
    degrees = matrix.sum(axis=1)
    eigenvalues, vectors = np.linalg.eigh(normalised_laplacian(matrix))
    if isinstance(n_components, str) and eigenvalues[-1] - eigenvalues[0] < _NO_SPREAD:
        warnings.warn(_unconnected_message(len(matrix)), EmbeddingWarning, stacklevel=2)
        return Embedding(np.eye(len(matrix)), eigenvalues, np.eye(len(matrix)), np.ones(len(matrix)), degrees)
    if eigenvalues[-1] < 0.1 and len(matrix) > 1:
        message = (
            f"All similarities are next to zero (largest Laplacian eigenvalue {eigenvalues[-1]:.3g}, usually about 1)"
        )
        warnings.warn(f"{message}: the embedding carries almost nothing. Check scale and measure.", EmbeddingWarning, 2)
    n_columns = count_columns(eigenvalues, n_components)
    last = damping if damping is not None else (_DAMPING if n_components == "damped" else 1.0)
    scales = _damped_scales(1 - eigenvalues[:n_columns], last)
    vectors = _fix_signs(vectors[:, :n_columns])
    return Embedding(unit_rows(vectors * scales), eigenvalues, vectors, scales, degrees)


def _check_unit_diagonal(similarity: FloatArray) -> None:
    """Raise unless every item is perfectly similar to itself: degrees count that, and one of zero has no root."""
    off = np.abs(np.diagonal(similarity) - 1) > _UNIT_ROUNDING
    if off.any():
        i = int(off.argmax())
        raise InputError(
            f"similarity[{i}, {i}] is {similarity[i, i]:.6g}, needed 1, what every item is to itself. "
            "np.fill_diagonal(similarity, 1.0) sets it."
        )


def _unconnected_message(n_items: int) -> str:
    if n_items == 1:
        return "There is one item only, and nothing to embed it by."
    return f"No two of the {n_items} items have any similarity: each is a component of its own."


def normalised_laplacian(similarity: FloatArray) -> FloatArray:
    """Return ``I - D^(-1/2) S D^(-1/2)``, exactly symmetric; its eigenvalues lie in [0, 2] (Algorithm 1, lines 1-3)."""
    roots = np.sqrt(similarity.sum(axis=1))
    laplacian = np.eye(len(similarity)) - similarity / np.outer(roots, roots)
    return np.asarray((laplacian + laplacian.T) / 2)


def count_columns(eigenvalues: FloatArray, n_components: int | str) -> int:
    """Return how many columns a rule keeps; at least two of several items, since one says nothing."""
    if not isinstance(n_components, str):
        return int(n_components)
    rules = {"damped": _count_structured, "paper": count_primary, "published": _count_primary_adapted}
    if n_components not in rules:
        raise InputError(
            f"n_components is {n_components!r}, needed a number or one of {', '.join(sorted(rules))}.", "n_components"
        )
    # The leading eigenvector of a connected graph, brought to unit rows, is the same number for every item.
    return min(max(rules[n_components](eigenvalues), 2), len(eigenvalues))


def count_primary(eigenvalues: FloatArray) -> int:
    """Count the primary eigenvalues, ascending Laplacian eigenvalues given (Algorithm 1, lines 6-8).

    A weight is negative after softmax and scaling to [-1, 1] exactly when its eigenvalue is below this threshold.
    """
    threshold = np.log((np.exp(eigenvalues[0]) + np.exp(eigenvalues[-1])) / 2)
    return int((eigenvalues < threshold).sum())


def scaled_softmax(eigenvalues: FloatArray) -> FloatArray:
    """Return the softmax weights of the eigenvalues (Eq. 11), scaled to [-1, 1]."""
    weights = np.exp(eigenvalues - eigenvalues.max())
    return np.asarray(2 * (weights - weights.min()) / (weights.max() - weights.min()) - 1)


def _count_primary_adapted(eigenvalues: FloatArray) -> int:
    """Count the primary eigenvalues with the adapted threshold behind the published tables."""
    weights = scaled_softmax(eigenvalues)

    def weight(position: int) -> float:
        return float(weights[np.clip(position, 1, len(weights)) - 1])  # positions count from one

    n_primary, threshold = int((weights < 0).sum()), 0.0
    if abs(weight(n_primary)) < _NEAR_THRESHOLD or abs(weight(n_primary + 1)) < _NEAR_THRESHOLD:
        around = (-2, -1, 0, 1) if n_primary > 2 else (0, 1, 1, 2)
        threshold = float(np.mean([weight(n_primary + offset) for offset in around]))
        n_primary = int((weights < threshold).sum())
    if abs(weight(n_primary + 1) - threshold) < _NEAR_THRESHOLD:
        n_primary += 1
    return n_primary


def _count_structured(eigenvalues: FloatArray) -> int:
    """Count the columns that carry structure (the default rule; columns must be damped).

    The paper's count, if the strength, one less the eigenvalue, of its last column is several times that of the next.
    Otherwise the trivial column and all whose strength is at least a hundredth of the strongest non-trivial one; but no
    more than eight, nor more than the square root of the number of items, since a covariance over more columns than
    that cannot be told from so few points.
    """
    strengths, n_primary = 1 - eigenvalues, count_primary(eigenvalues)
    if 2 <= n_primary < len(strengths) and strengths[n_primary - 1] >= _CLEAR_GAP * strengths[n_primary]:
        return n_primary
    n_structured = 1 + int((strengths[1:] >= _LEAST_SHARE * strengths[1:2]).sum())
    return min(n_structured, _MAX_COMPONENTS, int(np.sqrt(len(eigenvalues))))


def _damped_scales(strengths: FloatArray, last: float) -> FloatArray:
    """Return scales of columns that fall from one to `last` as a power of their strengths (n_columns,).

    A column of no strength is an arbitrary direction, nothing but rounding: its scale is zero.
    """
    if not 0 < last <= 1:
        raise InputError(f"damping is {last}, needed more than 0 and at most 1.")
    scales = np.ones(len(strengths))
    if len(strengths) > 2 and last < 1 and strengths[1] > _NO_SPREAD:
        relative = np.clip(strengths[1:] / strengths[1], np.finfo(float).tiny, 1.0)
        decay = np.log(relative) / np.log(relative[-1]) if relative[-1] < 1 else np.linspace(0, 1, len(relative))
        scales[1:] = last**decay
    scales[1:][strengths[1:] < _NO_SPREAD] = 0.0
    return scales


def _fix_signs(vectors: FloatArray) -> FloatArray:
    """Return columns with the sign that makes the entry of largest magnitude positive."""
    largest = np.abs(vectors).argmax(axis=0)
    signs = np.sign(vectors[largest, np.arange(vectors.shape[1])])
    return np.asarray(vectors * np.where(signs == 0, 1.0, signs))


def unit_rows(rows: FloatArray) -> FloatArray:
    """Return rows divided by their length; a row of zeros stays as it is (Algorithm 1, line 10)."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0))


@dataclass(frozen=True, eq=False)
class Landmarks:
    """A sample of matrices, embedded, by whom others are placed.

    Parameters
    ----------
    spectra : ndarray of shape (n_landmarks, n_dims)
        Their eigenvalues.
    embedding : Embedding
        Of them.
    variant : SPCMVariant
    tolerance : float
    """

    spectra: FloatArray
    embedding: Embedding
    variant: SPCMVariant
    tolerance: float

    @classmethod
    def of_spectra(
        cls,
        spectra: FloatArray,
        variant: SPCMVariant,
        tolerance: float,
        n_components: int | DimensionRule = "damped",
        damping: float | None = None,
    ) -> Landmarks:
        """Return landmarks with the given eigenvalues, embedded."""
        similarity = spcm_of_spectra(spectra, None, variant, tolerance)
        embedding = spectral_embedding(similarity, n_components=n_components, damping=damping)
        return cls(spectra, embedding, variant, tolerance)

    def place(self, spectra: FloatArray) -> FloatArray:
        """Return the coordinates of matrices with given eigenvalues, (n_matrices, n_components), block by block."""
        n_columns, n_landmarks = self.embedding.n_components, len(self.spectra)
        return in_blocks(lambda block: self.embedding.place(self.similarity_to(block)), spectra, n_columns, n_landmarks)

    def similarity_to(self, spectra: FloatArray) -> FloatArray:
        """Return the similarity of matrices to the landmarks, (n_matrices, n_landmarks)."""
        return spcm_of_spectra(spectra, self.spectra, self.variant, self.tolerance)


def in_blocks(
    function: Callable[[FloatArray], FloatArray], values: FloatArray, n_columns: int, n_compared: int = 1
) -> FloatArray:
    """Return what a function makes of rows, block by block.

    Parameters
    ----------
    function : callable
        From rows to as many rows of `n_columns` numbers.
    values : ndarray of shape (n, ...)
    n_columns : int
    n_compared : int, default=1
        How many numbers the function works out for each row on the way: the more, the smaller are the blocks.

    Returns
    -------
    out : ndarray of shape (n, n_columns)
    """
    out = np.empty((len(values), n_columns))
    for rows in blocks_of(len(values), n_compared):
        out[rows] = function(values[rows])
    return out


def blocks_of(n: int, n_compared: int = 1) -> Iterator[slice]:
    """Yield slices that together are `n` rows; the more numbers are worked out for each row, the shorter they are."""
    n_rows = max(1, min(BLOCK, BLOCK_ENTRIES // n_compared))
    for start in range(0, n, n_rows):
        yield slice(start, min(start + n_rows, n))
