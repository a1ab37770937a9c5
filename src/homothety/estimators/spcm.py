"""Clustering of covariance matrices by shape: the mixture of shapes, and the SPCM-CRP mixture of the paper."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Sized
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from homothety.arrays import FloatArray, IntArray, check_count, check_option, check_positive, frozen
from homothety.covariance.embedding import Embedding, Landmarks, in_blocks, spectral_embedding
from homothety.covariance.measures import resolve_variant
from homothety.covariance.shape import log_euclidean_coordinates, shape_coordinates, shape_points, span_of
from homothety.covariance.similarity import spcm_of_spectra
from homothety.covariance.spectra import DEFAULT_FLOOR, eigenvalues, spectra_in_blocks, without_missing
from homothety.errors import InputError, NearlySingularWarning
from homothety.estimators.sampled import ResultPart, depth_in_library, seed_sequence
from homothety.estimators.similarity import LinkMixture, is_spcm, matrix_tags, similarity_between, similarity_within
from homothety.models import ordered, shapes
from homothety.summaries.partitions import agreed_partition, relabel_by_size

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from numpy.random import Generator
    from numpy.typing import ArrayLike

    from homothety.arrays import BoolArray
    from homothety.covariance.embedding import DimensionRule
    from homothety.covariance.measures import SPCMVariant
    from homothety.summaries.result import Partition

Points = Literal["spectral", "shape", "log-euclidean"]
_Solver = Literal["auto", "exact", "ordered", "sample"]
_ModelName = Literal["auto", "shapes", "links"]
_Size = Literal["ignore", "use"]
MAX_EXACT = 4000  # matrices that are clustered from the similarities of all pairs, unless asked otherwise
_N_REPRESENTATIVES = 200  # members by whom new matrices are compared with a cluster of many
# Settings of the SPCM-CRP mixture: who gives one of them means that model.
_LINK_SETTINGS = (
    "measure",
    "variant",
    "tolerance",
    "points",
    "n_components",
    "damping",
    "concentration",
    "sample_concentration",
    "mean_strength",
    "dof",
    "scale",
    "prior_share",
    "diagonal",
)
# Settings of the mixture of shapes, which the SPCM-CRP mixture does not use.
_SHAPE_SETTINGS = ("size", "n_samples", "resolution", "min_eigenvalue")
_LEAST_RESOLUTION = 1e-6  # narrower clusters would lie below the rounding of their statistics
_SHAPE_MEASURES = ("spcm", "bspcm")  # the others see where axes point and how long they are, too
_MAX_FULL_DIMS = 100  # every seat changed costs the cube of it
_NEARLY_SINGULAR = 1e-5  # of eigenvalues: the shortest axis is less than a 300th of the longest
_ROUNDING = 1e-9  # of eigenvalues raised to the least one
_N_NAMED = 5  # matrices named in a warning


@dataclass(kw_only=True, eq=False, repr=False)
class SPCMMixture(LinkMixture):
    """Cluster covariance matrices by shape, whatever their rotation and size, number of clusters inferred.

    By default a mixture of shapes: logarithms of axis lengths, without rotation and size, in clusters of any width. It
    is invariant up to rounding, and it says so if there is only one cluster. The SPCM-CRP mixture of the paper
    (Algorithm 2) is used if one of its settings is given, for example ``variant="published"``.

    Parameters
    ----------
    model : {"auto", "shapes", "links"}, default="auto"
        "shapes" is the mixture of shapes, "links" the SPCM-CRP mixture. "auto" is "links" if positions are given, with
        ``solver="ordered"``, and if one of `measure`, `variant`, `tolerance`, `points`, `n_components`, `damping`,
        `concentration`, `sample_concentration`, `mean_strength`, `dof`, `scale`, `prior_share` and `diagonal` has
        another value than its default.
    size : {"ignore", "use"}, default="ignore"
        Whether the size of a matrix (geometric mean of its axis lengths) is one more coordinate. Mixture of shapes.
    n_samples : int or array-like of shape (n_matrices,), optional
        Number of independent samples each matrix was estimated from. Clusters are then not expected to be narrower
        than the sampling noise; if numbers differ, than the median of it. All matrices count alike. Mixture of shapes.
    resolution : float, default=0.01
        Standard deviation of the Gaussian noise added to log axis lengths, at least 0.000001: differences far below
        1 % are ignored. Copies of one matrix can still be a cluster of their own, from five to ten on. Mixture of
        shapes.
    min_eigenvalue : float, default=1e-12
        Eigenvalues below this share of the largest one of their matrix are raised to it, with a warning. Mixture of
        shapes. By default `fit` only warns of matrices that are nearly singular, see `nearly_singular_`.
    measure : {"bspcm", "airm", "lerm", "kldm", "jbld", "precomputed"} or callable, default="bspcm"
        Similarity of two matrices. With "precomputed", `X` is the similarity matrix itself.
    variant : str or SPCMVariant, optional
        Reading of the SPCM measure, see `homothety.covariance.SPCM_VARIANTS`. Default: "published" for the SPCM-CRP
        mixture, "log" for `similarity_` of the mixture of shapes.
    tolerance : float, default=1.0
        The paper's tau: larger values lower all similarities.
    points : {"spectral", "shape", "log-euclidean"}, optional
        Coordinates the Gaussians live in: the spectral embedding of the similarities, the shape coordinates of the
        matrices (half-logarithms of their sorted eigenvalues, free of scale), or their log-Euclidean coordinates.
        Default: "spectral".
    n_components : int or {"damped", "paper", "published"}, default="damped"
        Number of columns of the spectral embedding, or the rule that finds it.
    damping : float, optional
        How much the last of these columns counts against the first, in (0, 1]. Default: 0.5 under the rule "damped",
        otherwise 1.
    concentration : float, default=1.0
        Weight of linking to oneself, the paper's alpha: larger values favour more clusters.
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
    solver : {"auto", "exact", "sample", "ordered"}, default="auto"
        Mixture of shapes: "exact" samples the clusters of all matrices; "sample" those of 4,000 matrices drawn at
        random, and gives each of the others its most probable cluster. Links: "exact" keeps the similarities of all
        pairs; "ordered" keeps none and lets a matrix link to those before it in a random order; SPCM only. "auto" is
        exact up to 4,000 matrices.
    n_landmarks : int, default=1000
        Matrices that the spectral embedding is made from by "ordered"; the others are placed by them.
    neighbor_share : float, default=10.0
        How much neighbours count where `fit` is given positions: the weight of all links of a matrix to its neighbours
        together, as a share of what the links to all others would weigh if they were alike.
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
    labels_ : ndarray of shape (n_matrices,)
        Cluster of each matrix, numbered by decreasing size.
    n_clusters_ : int
        Number of clusters.
    model_ : {"shapes", "links"}
        Which one was used.
    solver_ : {"exact", "sample", "ordered"}
        Which one was used.
    one_cluster_probability_ : float
        Posterior probability that all matrices are one cluster: the share of kept sweeps with one cluster.
    nearly_singular_ : ndarray of shape (n_nearly_singular,)
        Which matrices have an eigenvalue below 0.00001 of their largest, or below `min_eigenvalue`: often one that was
        clipped. If others have not, such matrices may form clusters of their own. Mixture of shapes.
    similarity_ : ndarray of shape (n_matrices, n_matrices)
        If exact.
    embedding_ : ndarray of shape (n_matrices, n_components)
        Coordinates that were clustered.
    coclustering_ : ndarray of shape (n_matrices, n_matrices)
        Share of the kept sweeps in which two matrices are in one cluster. If exact. The mixture of shapes takes
        families that overlap for one cluster: shares are then too high (see the page on clusters). With
        ``points="spectral"`` they are too close to 0 and 1.
    sample_ : ndarray of shape (n_sampled,)
        The matrices whose clusters were sampled, in the order of the columns of `draws_`. Mixture of shapes.
    probability_ : ndarray of shape (n_matrices,)
        Agreement on the cluster of each matrix: if exact, the mean share of kept sweeps in which it is in one cluster
        with each of the other members.
    trace_ : dict of str to ndarray of shape (n_chains, n_sweeps)
        "log_joint", "log_likelihood", "n_clusters", "concentration" and "seconds" of every sweep; "size_entropy", the
        entropy of the cluster sizes in bits, of every kept sweep.
    n_sweeps_ : int
        Number of sweeps that each chain made.
    chain_weights_ : ndarray of shape (n_chains,)
        How much each chain counts: always equal in mixtures, whether chains agree or not.
    draws_ : ndarray of shape (n_kept, n_sampled)
        Kept partitions of all chains: of all matrices, or of those in `sample_` with ``solver="sample"``.
    map_labels_ : ndarray of shape (n_sampled,)
        Most probable visited partition, of the same matrices; clusters are numbered by decreasing size in it.

    Notes
    -----
    The published reading of SPCM compares eigenvalues and is invariant to rotation; for matrices of *different* shape
    its value still depends on their relative size. ``variant="log"`` is exactly free of size, as is the default.

    Sets with fewer matrices than axes are clustered in the principal directions of their shapes. If several directions
    have the same variance, rounding decides between them: a turned copy of the set can then have other draws.

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

    model: _ModelName = "auto"
    size: _Size = "ignore"
    n_samples: ArrayLike | None = None
    resolution: float = 0.01
    min_eigenvalue: float = DEFAULT_FLOOR
    measure: str | Callable[[FloatArray, FloatArray], float] = "bspcm"
    variant: str | SPCMVariant | None = None
    tolerance: float = 1.0
    points: Points | None = None
    n_components: int | DimensionRule = "damped"
    damping: float | None = None
    solver: _Solver = "auto"
    n_landmarks: int = 1000
    neighbor_share: float = 10.0

    matrices_ = ResultPart[FloatArray]("matrices")
    nearly_singular_ = ResultPart[IntArray]("nearly_singular")
    one_cluster_probability_ = ResultPart[float]("one_cluster_probability")

    def fit(self, X: ArrayLike, y: Any = None, *, positions: ArrayLike | None = None) -> Self:  # noqa: ARG002
        """Cluster matrices.

        Parameters
        ----------
        X : array-like of shape (n_matrices, n_dims, n_dims)
            Symmetric positive definite matrices; or their similarity, (n_matrices, n_matrices), if precomputed. The
            mixture of shapes takes up to 4,000 matrices of which some lack dimensions: NaN in all of the rows and
            columns of these. Similarities are not defined then, and there is no `similarity_`.
        y : ignored
        positions : array-like of int, shape (n_matrices, n_axes), optional
            Voxel of each matrix in an image, of two or three axes or any number. If given, a matrix may link besides to
            those one step away along each axis, and neighbours tend to be in one cluster; needs the solver "ordered",
            which "auto" then is. Helps most with ``points="shape"``.

        Returns
        -------
        self
        """
        self._begin_fit()
        self.model_ = self._choose_model(has_positions=positions is not None)
        if self.model_ == "shapes":
            self._fit_shapes(X)
        else:
            n_matrices = len(X) if isinstance(X, Sized) and getattr(X, "ndim", None) != 0 else 0
            self.solver_ = self._choose_solver(n_matrices, has_positions=positions is not None)
            if self.solver_ == "ordered":
                self._fit_ordered(X, positions)
            else:
                self._fit_exact_links(X)
        draws = self.draws_
        self._amend(
            one_cluster_probability=float((draws == draws[:, :1]).all(axis=1).mean()),
            spatial=positions is not None,
            provenance=self._provenance(),
        )
        return self

    def _fit_exact_links(self, X: ArrayLike) -> None:
        """Cluster matrices by the SPCM-CRP mixture, with the similarities of all pairs."""
        matrices, self.bandwidth_, similarity = similarity_within(X, self.measure, self._variant, self.tolerance)
        self.spectral_: Embedding | None = None
        if self._points == "spectral":
            self.spectral_ = spectral_embedding(similarity, n_components=self.n_components, damping=self.damping)
            points = self.spectral_.points
        else:
            points = self._coordinates(matrices)
        self._fit_points(points, similarity, self._basis())
        n_dims = None if matrices is None else matrices.shape[1]
        self._amend(matrices=matrices, n_dims=n_dims)

    def _basis(self) -> str:
        """Return what of the matrices clusters rest on."""
        if callable(self.measure):
            return "the measure that was given"
        if self.model_ == "shapes":
            return "shape and size" if self.size == "use" else "shape"
        sees_shape_alone = self._points == "shape" or (self._points == "spectral" and self.measure in _SHAPE_MEASURES)
        return "shape" if sees_shape_alone else "matrices as a whole: shape, size and direction"

    @property
    def _variant(self) -> str | SPCMVariant:
        """Reading of SPCM that the SPCM-CRP mixture uses."""
        return "published" if self.variant is None else self.variant

    @property
    def _points(self) -> Points:
        """Coordinates that the SPCM-CRP mixture uses."""
        return "spectral" if self.points is None else self.points

    def _choose_model(self, *, has_positions: bool) -> _ModelName:
        """Return "shapes" or "links"."""
        check_option(self.model, "model", get_args(_ModelName))
        check_option(self.solver, "solver", get_args(_Solver))
        check_option(self.size, "size", get_args(_Size))
        given = self._changed(_LINK_SETTINGS)
        given += ["positions="] * has_positions + ["solver='ordered'"] * (self.solver == "ordered")
        if self.model == "shapes" and given:
            raise InputError(
                f"model='shapes' has no {', '.join(given)}: these are settings of the SPCM-CRP mixture. Leave them "
                "out, or use model='links'.",
                *("model", *(word.partition("=")[0] for word in given)),
            )
        if self.model == "shapes" or (self.model == "auto" and not given):
            return "shapes"
        if unused := self._changed(_SHAPE_SETTINGS):
            reason = "model='links'" if self.model == "links" else ", ".join(given)
            raise InputError(
                f"The SPCM-CRP mixture, chosen by {reason}, has no {', '.join(unused)}: these are settings of the "
                "mixture of shapes. Leave out the ones or the others.",
                *("model", *(word.partition("=")[0] for word in (*given, *unused))),
            )
        return "links"

    def _changed(self, names: Collection[str]) -> list[str]:
        """Return those of some settings that have another value than their default, each with an equals sign."""
        defaults = inspect.signature(SPCMMixture).parameters
        return [f"{name}=" for name in names if _is_other(getattr(self, name), defaults[name].default)]

    def _fit_shapes(self, X: ArrayLike) -> None:
        """Cluster matrices by the mixture of shapes."""
        noise = check_positive(self.resolution, "resolution")
        if noise < _LEAST_RESOLUTION:
            raise InputError(f"resolution is {noise:g}, needed at least {_LEAST_RESOLUTION:g}.", "resolution")
        if not check_positive(self.min_eigenvalue, "min_eigenvalue") < 1:
            raise InputError(
                f"min_eigenvalue is {self.min_eigenvalue!r}, needed a share of the largest eigenvalue, below 1.",
                "min_eigenvalue",
            )
        X, missing = self._without_missing(X)
        spectra = spectra_in_blocks(X, floor=self.min_eigenvalue)
        nearly_singular = self._find_nearly_singular(spectra)
        n_matrices = len(spectra)
        narrowest = self._narrowest(n_matrices)
        is_large = self.solver == "sample" or (self.solver == "auto" and n_matrices > MAX_EXACT)
        self.solver_ = "sample" if is_large and n_matrices > MAX_EXACT else "exact"
        points = shape_points(spectra, use_size=self.size == "use")
        self.basis_, self.origin_ = span_of(points, noise)
        embedding = (points - self.origin_) @ self.basis_
        # A run without a seed that is resumed from its checkpoint has to find the same noise again.
        rng = np.random.default_rng(seed_sequence(0 if self.random_state is None else self.random_state))
        self.sample_ = np.arange(n_matrices)
        if self.solver_ == "sample":
            self.sample_ = np.sort(rng.permutation(n_matrices)[:MAX_EXACT])
        sampled = embedding[self.sample_]
        sampled = sampled + noise * rng.standard_normal(sampled.shape)
        if missing is not None:
            self._fit_incomplete(rng, X, missing, sampled, narrowest)
            self._amend(n_dims=spectra.shape[1], nearly_singular=nearly_singular)
            return
        model = shapes.Model(sampled, shapes.ClusterKinds.of_points(sampled, narrowest))
        self._sample(model, shapes.grow_state, shapes.default_sweep(), shapes.RECORDING, embedding, self._basis())
        self.clusters_ = [shapes.cluster_posterior(model, self.labels_ == k) for k in range(self.n_clusters_)]
        self.cluster_sizes_ = np.bincount(self.labels_)
        if self.solver_ == "exact":
            similarity = spcm_of_spectra(spectra, None, resolve_variant("log"), self.tolerance)
            self._amend(matrices=np.asarray(X, dtype=np.float64), similarity=similarity)
        else:
            self._place_all()
        self._amend(n_dims=spectra.shape[1], nearly_singular=nearly_singular)

    def _without_missing(self, X: ArrayLike) -> tuple[ArrayLike, BoolArray | None]:
        """Return matrices with missing dimensions filled in, and which these are; as they are if none is missing."""
        n_matrices = len(X) if isinstance(X, Sized) and getattr(X, "ndim", None) != 0 else 0
        if n_matrices > MAX_EXACT:
            return X, None
        try:
            is_whole = not np.isnan(np.asarray(X, dtype=np.float64)).any()
        except (TypeError, ValueError):  # no numbers, or of several sizes: refused with all other faults
            return X, None
        return (X, None) if is_whole else without_missing(X)

    def _fit_incomplete(
        self, rng: Generator, matrices: ArrayLike, missing: BoolArray, points: FloatArray, narrowest: float
    ) -> None:
        """Cluster matrices of which some lack dimensions, whose spectra are drawn along with the clusters.

        Parameters
        ----------
        rng : Generator
        matrices : array-like of shape (n_matrices, n_dims, n_dims)
            Filled in.
        missing : ndarray of bool, shape (n_matrices, n_dims)
        points : ndarray of shape (n_matrices, n_coordinates)
            Of the filled matrices, with noise.
        narrowest : float
        """
        filled, n_lacking = np.asarray(matrices), missing.sum(axis=1)
        whole, n_dims = points[n_lacking == 0], missing.shape[1]
        if len(whole) < n_dims:
            raise InputError(
                f"{len(whole)} of {len(missing)} matrices lack no dimension, needed {n_dims} or more: as many as there "
                "are dimensions. Leave out a dimension that most of them lack."
            )
        corners = []
        for n_missing in np.unique(n_lacking[n_lacking > 0]).tolist():
            items = np.flatnonzero(n_lacking == n_missing)
            known = [eigenvalues(filled[i][np.ix_(~missing[i], ~missing[i])][None])[0] for i in items]
            # Equal eigenvalues leave those between them no room; lengths are known up to the resolution anyway.
            jitter = 2 * self.resolution * rng.standard_normal((len(items), n_dims - n_missing))
            corners.append(shapes.completion.Corners(items, np.sort(np.log(known) + jitter, axis=1), int(n_missing)))
        noise = self.resolution * rng.standard_normal(points.shape)
        inner = shapes.Model(points, shapes.ClusterKinds.of_points(whole, narrowest))
        model = shapes.completion.Model(inner, tuple(corners), noise, self.size == "use")
        self._sample(
            model,
            shapes.completion.init_state,
            shapes.completion.lifted_sweep(),
            shapes.completion.RECORDING,
            points,
            self._basis(),
        )
        expected = shapes.completion.expected_points(rng, model, self.labels_)
        found = replace(inner, points=expected)
        self.clusters_ = [shapes.cluster_posterior(found, self.labels_ == k) for k in range(self.n_clusters_)]
        self.cluster_sizes_ = np.bincount(self.labels_)
        self._amend(embedding=expected - np.where(n_lacking[:, None] > 0, noise, 0.0))

    def _find_nearly_singular(self, spectra: FloatArray) -> IntArray:
        """Return which matrices are nearly singular; warn if most are not."""
        least = max(_NEARLY_SINGULAR, self.min_eigenvalue * (1 + _ROUNDING))
        found = np.flatnonzero(spectra[:, 0] < least * spectra[:, -1])
        n_found, n_matrices = len(found), len(spectra)
        if self.min_eigenvalue < _NEARLY_SINGULAR and 0 < n_found <= n_matrices / 2:
            some = ", ".join(map(str, found[:_N_NAMED])) + ", ..." * (n_found > _N_NAMED)
            warnings.warn(
                NearlySingularWarning(
                    f"{n_found} of {n_matrices} matrices (numbers {some}) have an eigenvalue below "
                    f"{_NEARLY_SINGULAR:g} of their largest, as if it had been clipped: they may form clusters of "
                    "their own. Leave them out, or pass min_eigenvalue=, for example 0.001, to which such eigenvalues "
                    "are raised.",
                    "min_eigenvalue",
                ),
                stacklevel=depth_in_library(),
            )
        return found

    def _narrowest(self, n_matrices: int) -> float:
        """Return the width of the narrowest kind of cluster."""
        if self.n_samples is None:
            return self.resolution
        n_samples = np.broadcast_to(_check_n_samples(self.n_samples, n_matrices), n_matrices)
        # The log length of an axis, estimated from n samples, has a variance of about 1 / 2n.
        variance = 1 / (2 * n_samples) + self.resolution**2
        # Not the variance of each matrix: clusters have a width of their own, which does not shrink with more samples.
        return float(np.sqrt(np.median(variance)))

    def _place_all(self) -> None:
        """Give all matrices a cluster, only some were sampled; clusters get new numbers, by their sizes among all."""
        probability = self._membership_in_shapes(self.embedding_)
        labels = probability.argmax(axis=1)
        labels[self.sample_] = self.labels_
        renumbered = relabel_by_size(labels)
        self._amend(labels=renumbered, placed_probability=probability[np.arange(len(labels)), labels])
        before = np.empty(self.n_clusters_, dtype=np.int64)
        before[self.labels_] = labels
        self.clusters_ = [self.clusters_[k] for k in before]
        self.cluster_sizes_ = self.cluster_sizes_[before]

    def _membership_in_shapes(self, points: FloatArray) -> FloatArray:
        """Return the probability of each cluster for points of the mixture of shapes."""
        log_weights = np.column_stack([posterior.log_predictive(points) for posterior in self.clusters_])
        return np.asarray(softmax(log_weights + shapes.ATTRACTION * np.log(self.cluster_sizes_), axis=1))

    def _choose_solver(self, n_matrices: int, *, has_positions: bool) -> _Solver:
        """Return "exact" or "ordered"."""
        if self.solver == "sample":
            raise InputError(
                "solver='sample' is of the mixture of shapes; links need 'auto', 'exact' or 'ordered'.", "solver"
            )
        if self.solver == "exact":
            if has_positions:
                raise InputError(
                    "solver='exact' knows no neighbours: use solver='ordered', or leave positions= out.",
                    "positions",
                    "solver",
                )
            return "exact"
        if self.solver == "auto" and not has_positions and not (n_matrices > MAX_EXACT and is_spcm(self.measure)):
            return "exact"
        if not is_spcm(self.measure):
            raise InputError(
                f"solver='ordered' works out similarities one by one, from eigenvalues alone, which measure="
                f"{self.measure!r} does not allow. Use measure='bspcm', or solver='exact' with fewer matrices and "
                "without positions.",
                "solver",
                "measure",
            )
        return "ordered"

    def _fit_ordered(self, X: ArrayLike, positions: ArrayLike | None) -> None:
        """Cluster many matrices without the similarities of all pairs."""
        if self.sample_concentration:
            raise InputError(
                "sample_concentration needs all similarities: use solver='exact', or leave it out.", "solver"
            )
        check_positive(self.concentration, "concentration")
        variant, spectra = resolve_variant(self._variant), spectra_in_blocks(X)
        # A run without a seed that is resumed from its checkpoint has to find the same order again.
        seed = seed_sequence(0 if self.random_state is None else self.random_state)
        self.order_ = np.random.default_rng(seed).permutation(len(spectra))
        neighbors, share = self._neighbors_of(positions)
        sample = spectra[self.order_[: check_count(self.n_landmarks, "n_landmarks", minimum=2)]]
        self.landmarks_ = Landmarks.of_spectra(sample, variant, self.tolerance, self.n_components, self.damping)
        points = self._points_of(X, spectra)
        self.base_ = self._base_of(points)
        similarity = ordered.PairSimilarity.of_spectra(spectra[self.order_], variant, self.tolerance)
        model = ordered.Model(frozen(points[self.order_]), similarity, self.base_, neighbors, share)
        start = partial(ordered.grow_state, base_of=self._base_of, concentration=self.concentration)
        self._sample(model, start, ordered.default_sweep(), ordered.RECORDING, points, self._basis())
        self._amend(n_dims=spectra.shape[1])
        self._choose_representatives(spectra)

    def _neighbors_of(self, positions: ArrayLike | None) -> tuple[IntArray | None, float]:
        """Return who is whose neighbour, both by their places in the random order, and how much that counts."""
        if positions is None:
            return None, 0.0
        neighbors = ordered.grid_neighbors(positions)
        if len(neighbors) != len(self.order_):
            raise InputError(
                f"positions has {len(neighbors)} rows for {len(self.order_)} matrices, needed one for each.",
                "positions",
            )
        places = np.append(np.argsort(self.order_), -1)  # nobody stays nobody
        return places[neighbors[self.order_]], check_positive(self.neighbor_share, "neighbor_share")

    def _points_of(self, X: ArrayLike, spectra: FloatArray) -> FloatArray:
        """Return the coordinates of many matrices, block by block."""
        if self._points == "spectral":
            return self.landmarks_.place(spectra)
        array = np.asanyarray(X)
        n_columns = self._coordinates(array[:1]).shape[1]
        return in_blocks(self._coordinates, array, n_columns)

    def _of_items(self, draws: IntArray) -> IntArray:
        if self.solver_ != "ordered":
            return draws
        return draws[:, np.argsort(self.order_)]

    def _agreed(self, draws: IntArray) -> tuple[IntArray, FloatArray | None]:
        return agreed_partition(draws) if self.solver_ == "ordered" else super()._agreed(draws)

    def _choose_representatives(self, spectra: FloatArray) -> None:
        """Keep the eigenvalues of some members of each cluster, the first ones in the random order."""
        of_clusters = [self.order_[self.labels_[self.order_] == k] for k in range(self.n_clusters_)]
        chosen = [members[:_N_REPRESENTATIVES] for members in of_clusters]
        self.representatives_ = spectra[np.concatenate(chosen)]
        self.represented_ = np.repeat(np.arange(self.n_clusters_), [len(members) for members in chosen])

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
        if self.model_ == "shapes":
            spectra = spectra_in_blocks(X, floor=self.min_eigenvalue)
            n_dims = self.origin_.shape[0] + (self.size != "use")
            if spectra.shape[1] != n_dims:
                raise InputError(
                    f"X holds {spectra.shape[1]} x {spectra.shape[1]} matrices, the model was fitted on {n_dims} x "
                    f"{n_dims} ones."
                )
            points = shape_points(spectra, use_size=self.size == "use")
            return self._membership_in_shapes((points - self.origin_) @ self.basis_)
        if self.solver_ == "ordered":
            return self._predict_ordered(X)
        similarity = similarity_between(
            X, self.result_.matrices, self.measure, self._variant, self.tolerance, self.bandwidth_, len(self.labels_)
        )
        points = self.spectral_.place(similarity) if self.spectral_ else self._coordinates(np.asarray(X))
        return self._membership(points, similarity)

    def predict(self, X: ArrayLike) -> IntArray:
        """Return the most probable cluster of new matrices, (n_new,)."""
        return np.asarray(self.predict_proba(X).argmax(axis=1))

    def apply(self, X: ArrayLike) -> Partition:
        """Return the most probable cluster of each new matrix, and its probability.

        Parameters
        ----------
        X : array-like of shape (n_new, n_dims, n_dims)
        """
        probability = self.predict_proba(X)
        labels = probability.argmax(axis=1)
        found: Partition = self.result_
        names = ("draws", "map_labels", "embedding", "similarity", "matrices", "nearly_singular", "numbers", "chains")
        left_out: dict[str, Any] = dict.fromkeys(names)
        return replace(
            found,
            provenance=replace(found.provenance, applied=True, source="", seconds=None),
            labels=labels,
            placed_probability=probability[np.arange(len(labels)), labels],
            n_labels=found.n_clusters,
            one_cluster_probability=None,
            spatial=False,
            **left_out,
        )

    def _predict_ordered(self, X: ArrayLike) -> FloatArray:
        """Return the probability of each cluster for new matrices, block by block."""
        posteriors, sizes = self._posteriors(), np.bincount(self.labels_)
        shares = np.eye(self.n_clusters_)[self.represented_] * (sizes / np.bincount(self.represented_))
        variant, array = resolve_variant(self._variant), np.asanyarray(X)

        def membership(block: FloatArray) -> FloatArray:
            spectra = eigenvalues(block)
            similarity = spcm_of_spectra(spectra, self.representatives_, variant, self.tolerance)
            return self._membership_of(self._points_of(block, spectra), similarity @ shares, posteriors)

        self._check_n_dims(array)
        return in_blocks(membership, array, self.n_clusters_, len(self.representatives_))

    def _check_n_dims(self, array: FloatArray) -> None:
        """Raise unless new matrices have as many dimensions as those of the fit."""
        n_dims = self.representatives_.shape[1]
        if array.ndim != 3 or array.shape[1:] != (n_dims, n_dims):
            raise InputError(f"X has shape {array.shape}, the model was fitted on {n_dims} x {n_dims} matrices.")

    def _coordinates(self, matrices: FloatArray | None) -> FloatArray:
        """Return coordinates of matrices that need no embedding."""
        coordinates = {"shape": shape_coordinates, "log-euclidean": log_euclidean_coordinates}
        if self._points not in coordinates:
            raise InputError(f"points is {self._points!r}, needed 'spectral', 'shape' or 'log-euclidean'.", "points")
        if matrices is None:
            raise InputError(
                f"points={self._points!r} needs the matrices themselves, not a precomputed similarity.", "points"
            )
        points = coordinates[self._points](matrices)
        if points.shape[1] > _MAX_FULL_DIMS and not self.diagonal:
            raise InputError(
                f"points={self._points!r} gives {points.shape[1]} coordinates per matrix, and covariances of more than "
                f"{_MAX_FULL_DIMS} cannot be sampled in reasonable time. Use points='spectral'.",
                "points",
            )
        return points

    def __sklearn_tags__(self) -> Any:
        return matrix_tags(super().__sklearn_tags__(), self.measure)


def _is_other(value: Any, default: Any) -> bool:
    """Say whether a setting has another value than its default, whatever the type of the number."""
    return value is not None if default is None else not np.array_equal(value, default)


def _check_n_samples(n_samples: ArrayLike, n_matrices: int) -> FloatArray:
    """Return numbers of samples as an array of shape () or (n_matrices,), or raise saying what is wrong with them."""
    needed = f"needed one number of at least 1, or {n_matrices} such numbers, one for each matrix"
    try:
        given = np.asarray(n_samples)
    except ValueError as error:
        raise InputError(f"n_samples has rows of different lengths, {needed}.", "n_samples") from error
    if given.dtype.kind not in "iuf":
        raise InputError(f"n_samples has dtype {given.dtype}, {needed}.", "n_samples")
    if given.shape not in ((), (n_matrices,)):
        raise InputError(f"n_samples has shape {given.shape}, {needed}.", "n_samples")
    numbers = given.astype(np.float64)
    if not (np.isfinite(numbers) & (numbers >= 1)).all():
        raise InputError(f"n_samples has values from {numbers.min()} to {numbers.max()}, {needed}.", "n_samples")
    return numbers
