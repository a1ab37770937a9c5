"""Baselines of the paper: mixtures that use no similarity, and segmentation followed by clustering."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from scipy.special import softmax
from scipy.stats import multivariate_normal
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from homothety.arrays import IntArray, check_count
from homothety.errors import InputError
from homothety.estimators.hmm import IBPHMM, make_grouping
from homothety.estimators.sampled import Fitted, ResultPart, SampledPartition, seed_sequence
from homothety.models import crp, icsc
from homothety.models.crp import RECORDING
from homothety.models.gmm import select_gmm
from homothety.models.partitions import base_measure
from homothety.summaries.partitions import relabel_by_size
from homothety.summaries.result import Labels, Partition, Segmentation

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import ArrayLike

    from homothety.arrays import FloatArray
    from homothety.distributions import NIW, NormalGamma
    from homothety.estimators.hmm import GroupingName
    from homothety.estimators.sampled import RandomState
    from homothety.estimators.segmentation import Segmenter
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
        Number of clusters.
    coclustering_ : ndarray of shape (n_items, n_items)
        Share of the kept sweeps in which two items are in one cluster.
    trace_ : dict of str to ndarray of shape (n_chains, n_sweeps)
        "log_joint", "log_likelihood", "n_clusters", "concentration" and "seconds" of every sweep; "size_entropy", the
        entropy of the cluster sizes in bits, of every kept sweep.
    n_sweeps_ : int
        Number of sweeps that each chain made.
    chain_weights_ : ndarray of shape (n_chains,)
        How much each chain counts: always equal in mixtures, whether chains agree or not.

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
        clusters = [self.embedding_[self.labels_ == k] for k in range(self.n_clusters_)]
        log_weights = np.column_stack(
            [np.log(len(members)) + self.base_.posterior(members).log_predictive(points) for members in clusters]
        )
        weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def predict(self, X: ArrayLike) -> IntArray:
        """Return the most probable cluster of new points, (n_new,)."""
        return np.asarray(self.predict_proba(X).argmax(axis=1))


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
        Seed. Equal seeds give equal results.

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

    labels_ = ResultPart[IntArray]("labels")
    n_clusters_ = ResultPart[int]("n_clusters")

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


_DRAWS_PER_START = 10


@dataclass(kw_only=True, eq=False, repr=False)
class TwoStageHMM(Fitted, BaseEstimator):
    """Segment recordings by any model, then group its states into actions: the decoupled variant of `ICSCHMM`.

    Parameters
    ----------
    segmenter : IBPHMM, StickyHDPHMM or HMMSelection, optional
        What finds the states; `IBPHMM` with its defaults if not given, which is the paper's.
    grouping : {"links", "shapes"} or Grouping, default="links"
        How states are grouped. "links": as the paper has it, by a spectral embedding of their similarity. "shapes": by
        shape coordinates with the noise they have, by their order, and one version of an action per recording.
    n_draws : int, default=100
        Partitions of the states to draw, each after some sweeps more; the most probable one counts.
    least_stay : int, default=1
        Fewest steps of the recording that a state lasts, where no segmenter is given; a segmenter that is given has
        its own.
    random_state : int, Generator, SeedSequence or None
        Of the grouping; the segmenter has its own.

    Attributes
    ----------
    segmenter_ : estimator
        The fitted segmenter: all that is known of the states.
    paths_, n_states_ : list of ndarray of int, int
        Those of the segmenter.
    actions_ : list of ndarray of int, shape (n_steps_i,)
        Action of every step of each recording, numbered by decreasing number of steps.
    state_actions_ : ndarray of int, shape (n_states,)
    n_actions_ : int

    Examples
    --------
    >>> from homothety import HMMSelection, TwoStageHMM
    >>> from homothety.datasets import make_toy_2d
    >>> toy = make_toy_2d(random_state=0, n_steps=100)
    >>> segmenter = HMMSelection(max_states=5, random_state=0)
    >>> model = TwoStageHMM(segmenter=segmenter, grouping="shapes", random_state=0).fit(toy.sequences)
    >>> model.n_states_, model.n_actions_
    (4, 2)
    """

    segmenter: Segmenter | None = None
    grouping: GroupingName | icsc.Grouping = "links"
    n_draws: int = 100
    least_stay: int = 1
    random_state: RandomState = None

    paths_ = ResultPart[list[IntArray]]("states.paths")
    n_states_ = ResultPart[int]("states.number")
    actions_ = ResultPart[list[IntArray]]("actions.paths")
    n_actions_ = ResultPart[int]("actions.number")
    state_actions_ = ResultPart[IntArray]("state_actions")

    def fit(self, X: Any, y: Any = None, *, lengths: ArrayLike | None = None) -> Self:
        """Segment recordings, and group the states.

        Parameters
        ----------
        X : list of array-like of shape (n_steps_i, n_dims), or array-like of shape (n_steps, n_dims)
            Recordings of any lengths; or all of them one after the other, with `lengths`.
        y : ignored
        lengths : array-like of shape (n_series,), optional
            Steps of each recording if `X` is one array.
        """
        self._begin_fit()
        grouping = make_grouping(self.grouping)
        check_count(self.n_draws, "n_draws")
        segmenter = self._unfitted_segmenter()
        self.segmenter_ = segmenter.fit(X, y, lengths=lengths)
        rng = np.random.default_rng(seed_sequence(self.random_state))
        labels = _most_probable_groups(rng, grouping, _states_of(segmenter), self.n_draws)
        self._report(labels)
        return self

    def _unfitted_segmenter(self) -> Segmenter:
        """Return a copy of the segmenter that was given, or the default one."""
        least_stay = check_count(self.least_stay, "least_stay")
        if self.segmenter is None:
            return IBPHMM(least_stay=least_stay, random_state=self.random_state)
        if least_stay > 1:
            raise InputError(
                f"least_stay is {least_stay}, and a segmenter is given, which has its own. Set it there: "
                f"segmenter={type(self.segmenter).__name__}(least_stay={least_stay}, ...).",
                "least_stay",
            )
        return clone(self.segmenter)

    def _report(self, labels: IntArray) -> None:
        """Set the result: that of the segmenter, with actions numbered by their steps."""
        found: Segmentation = self.segmenter_.result_
        states = found.states.flat
        actions = relabel_by_size(labels[states])
        self.result_ = replace(
            found,
            provenance=self._provenance(),
            actions=Labels(flat=actions, starts=found.states.starts),
            state_actions=actions[np.unique(states, return_index=True)[1]],
        )

    def predict(self, X: Any, *, lengths: ArrayLike | None = None) -> list[IntArray]:
        """Return the most probable path of each new recording, given the states of the fit."""
        check_is_fitted(self)
        return self.segmenter_.predict(X, lengths=lengths)

    def predict_actions(self, X: Any, *, lengths: ArrayLike | None = None) -> list[IntArray]:
        """Return the action of every step of new recordings, which must be in a frame of the fit."""
        return [self.state_actions_[path] for path in self.predict(X, lengths=lengths)]

    def score(self, X: Any, y: Any = None, *, lengths: ArrayLike | None = None) -> float:
        """Return the log-likelihood per used step of recordings, given the states of the fit."""
        check_is_fitted(self)
        return self.segmenter_.score(X, y, lengths=lengths)


def _states_of(segmenter: Segmenter) -> icsc.States:
    """Return the states of a fitted segmenter as the input of a grouping."""
    n_states, model, path = segmenter.n_states_, segmenter.states_, np.concatenate(segmenter.paths_)
    looks = model.weight * np.bincount(path, minlength=n_states) / segmenter.preprocessing_.settings.stride
    stays = icsc.count_stays(path, segmenter.starts_, n_states)
    return icsc.States(np.arange(n_states), model.covariances, looks + 1.0, *stays)


def _most_probable_groups(rng: Generator, grouping: icsc.Grouping, states: icsc.States, n_draws: int) -> IntArray:
    """Draw partitions of states, from scratch now and then, and return the most probable one, (n_states,)."""
    drawn, clusters = [], icsc.Clusters.none()
    for draw in range(n_draws):
        clusters = grouping.draw(rng, states, icsc.Clusters.none() if draw % _DRAWS_PER_START == 0 else clusters)
        drawn.append(clusters)
    return max(drawn, key=lambda one: one.log_density).labels
