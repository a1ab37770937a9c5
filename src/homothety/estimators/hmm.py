"""Segmentation of recordings into states, and into actions: IBP-HMM, ICSC-HMM, and the baselines of the paper."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from joblib import Parallel, delayed
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from homothety.arrays import FloatArray, IntArray, check_count, check_positive, mean_of_known, variance_of_known
from homothety.distributions import NIW
from homothety.errors import InputError
from homothety.estimators._known_labels import over_all_steps
from homothety.estimators.sampled import ResultPart, seed_sequence
from homothety.estimators.segmentation import Missing, Outliers, SampledSegmenter, Segmenter
from homothety.models import hdphmm, ibphmm, icsc, missing
from homothety.models.emissions import Emission
from homothety.models.emissions.missing import completed_series
from homothety.models.hmm.em import select_hmm
from homothety.models.hmm.messages import mend_short_stays
from homothety.models.hmm.states import StateModel
from homothety.models.icsc.model import Coupling, Covariances
from homothety.sequences import interpolated, stretches
from homothety.summaries.partitions import relabel_by_size
from homothety.summaries.paths import BoundaryInterval, PathDraws, Segment, colabelling, minimise_expected_vi_paths
from homothety.summaries.transforms import StateTransform, transform_table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.random import Generator
    from numpy.typing import ArrayLike

    from homothety.arrays import BoolArray
    from homothety.datasets import SequenceSet
    from homothety.estimators.sampled import RandomState
    from homothety.preprocessing import Preprocessing
    from homothety.sampling.trace import Trace
    from homothety.sequences import Sequences


_EmissionName = Literal["gaussian", "diagonal", "autoregressive"]
_Start = Literal["annealed", "clusters", "private", "shared"]
_MAX_STATES = 1000  # of models whose states all have transitions to each other
_N_PILOTS = 2  # measurements of how much a step counts
_N_STRETCHES, _STRETCH = 16, 500  # of long recordings, that these runs use


@dataclass(kw_only=True, eq=False, repr=False)
class IBPHMM(SampledSegmenter):
    """Segment recordings into states that some of them share; the number of states is inferred.

    Every recording has its own selection from a common set of states, and its own transition probabilities. Selections,
    states and segments are inferred together.

    Parameters
    ----------
    emission : {"gaussian", "diagonal", "autoregressive"}, default="gaussian"
        Distribution of the steps of a state: a Gaussian with full or diagonal covariance, or a linear prediction from
        past steps.
    order : int, default=1
        Number of past steps from which an autoregressive state predicts a step.
    preprocessing : Preprocessing, optional
        Preparation of the recordings. If not given, they are centred, and only every n-th step is used where
        neighbouring steps are strongly correlated: ``preprocessing_.settings.stride`` is n.
    mean_strength : float, default=1.0
        How many steps the prior mean of a state is worth. Autoregressive states have none.
    dof : float, optional
        Degrees of freedom of the prior of a covariance; two more than there are dimensions if not given.
    scale : float, default=0.1
        Prior expectation of the covariance of a state, as a multiple of the variances of all data together; of the
        noise of an autoregressive state, as a multiple of half the variances of the moves from step to step.
    step_weight : float or "auto", default="auto"
        Weight of a used step, as a fraction of an independent observation. "auto" measures the correlation of
        neighbouring steps inside the states of short runs, see `homothety.decorrelation.independent_share`.
    gamma : float, optional
        Mass of the Indian buffet process, the rate of new states, at the start; the number of recordings if not given.
        Sampled.
    alpha : float, default=1.0
        Weight of a transition at the start. Sampled.
    kappa : float, default=10.0
        Extra weight of a self-transition (stickiness), at the start. Sampled.
    sample_mass : bool, default=False
        Whether to sample the second parameter of the Indian buffet process, its concentration, too; else it is one.
    start : {"annealed", "clusters", "private", "shared"} or list of array-like of int, default="annealed"
        States at the start: clusters of steps by k-means; these after a short run in which steps count little at
        first; states of each recording's own, or states that all share, both in blocks of equal length; or those of
        given paths, one for each recording, such as the `paths_` of another model.
    n_start : int, optional
        How many. If not given, each chain draws a number of clusters, from 1 to 20, or has two private or shared
        states.
    n_split_merge : int, default=5
        Splits or merges tried per sweep.
    least_stay : int, default=1
        Fewest steps of the recording that a state lasts once it is entered. The first and the last stay of a recording
        may be shorter, since the recording may cut them off. Set it to the shortest duration that you would call an
        action, so that a fast periodic motion is not cut into the phases of its period. Where the recordings are
        subsampled it is rounded up to whole strides.
    missing : {"random", "error"}, default="random"
        What NaN in recordings means: a value that is missing at random, for reasons that do not depend on the value
        itself. Missing values are sampled with all other unknowns, and not interpolated. A channel may be missing in
        whole recordings. "error" refuses recordings with NaN, as autoregressive states always do.
    outliers : {"missing", "keep"}, default="missing"
        Treatment of values that are not measurements: single steps far outside the range of their recording, and
        channels of a recording whose sensor is dead. They are treated as missing, or used as they are. They are always
        used with ``missing="error"`` and by autoregressive states. In either case a `DataWarning` names them.
    n_chains : int, default=4
        Independent chains; their kept sweeps are pooled.
    n_sweeps : int or "auto", default="auto"
        Sweeps per chain. "auto" makes 200 and compares the last half of all chains; while these differ, it doubles the
        number, up to 1,600. A single chain makes 500.
    n_burn : int, optional
        Sweeps of each chain that are thrown away first; half of them if not given.
    point_estimate : {"vi", "map"}, default="vi"
        The segmentation nearest to all kept sweeps, by variation of information, or the most probable one visited.
    random_state : int, Generator, SeedSequence or None, default=None
        Seed. Equal seeds give equal results, whatever `n_jobs`.
    n_jobs : int, optional
        Chains that run side by side.
    progress : bool, default=False
        Whether to show a progress bar.
    checkpoint : str or Path, optional
        Folder in which the chains are written while they run; a run found there goes on where it was.

    Attributes
    ----------
    paths_ : list of ndarray of int, shape (n_steps_i,)
        State of every step of each recording, numbered by decreasing number of steps.
    n_states_ : int
        Number of states.
    findings_ : tuple of str
        Faults of the recordings, such as outliers, copies and pauses, in one line each; `homothety.quality` looks for
        them.
    active_ : ndarray of bool, shape (n_recordings, n_states)
        Which recording visits which state.
    means_ : ndarray of shape (n_states, n_dims)
        Means of the states, in the units of the recordings.
    covariances_ : ndarray of shape (n_states, n_dims, n_dims)
        Covariances of the states, in the units of the recordings.
    transition_probs_ : ndarray of shape (n_states, n_states)
        Over all recordings.
    segments_ : list of Segment
        Recording, start, end, state and probability of every segment.
    state_probability_ : list of ndarray, shape (n_steps_i,)
        Posterior probability of the reported state of every step. It assumes that the model is true, and is not the
        probability that a person would set the change at the same step.
    change_probability_ : list of ndarray, shape (n_steps_i,)
        Posterior probability of a change of state between two neighbouring used steps, given at the step midway between
        them, zero at all others. With a stride of 1, of a change at exactly that step.
    boundaries_ : list of BoundaryInterval
        Every reported change, with the shortest interval that contains it with a probability of 90 %. No interval is
        shorter than the stride.
    trace_ : dict of str to ndarray of shape (n_chains, n_sweeps)
        "log_joint", "n_states", "n_segments", "occupancy_entropy", hyper-parameters and acceptance of every move.
    n_sweeps_ : int
        Number of sweeps that each chain made.
    chain_weights_ : ndarray of shape (n_chains,)
        Weights of the draws of each chain: equal unless chains differ more from each other than each of them varies;
        then by how well each chain predicts left-out steps. `draws_` has draws in proportion.
    step_weight_ : float
        How much of an independent observation a step counted as.
    draws_ : PathDraws
        The kept paths that count, by numbers that are the same for a state through all sweeps of a chain.

    Examples
    --------
    >>> from homothety import IBPHMM
    >>> from homothety.datasets import make_toy_2d
    >>> toy = make_toy_2d(random_state=0, n_steps=100)
    >>> model = IBPHMM(n_chains=1, n_sweeps=100, random_state=0).fit(toy.sequences)
    >>> model.n_states_
    4
    """

    emission: _EmissionName = "gaussian"
    order: int = 1
    preprocessing: Preprocessing | None = None
    mean_strength: float = 1.0
    dof: float | None = None
    scale: float = 0.1
    step_weight: float | Literal["auto"] = "auto"
    gamma: float | None = None
    alpha: float = 1.0
    kappa: float = 10.0
    sample_mass: bool = False
    start: _Start | list[Any] = "annealed"
    n_start: int | None = None
    n_split_merge: int = 5
    least_stay: int = 1
    missing: Missing = "random"
    outliers: Outliers = "missing"

    def _takes_outliers_out(self) -> bool:
        return super()._takes_outliers_out() and self.emission != "autoregressive"

    def _segment(self, prepared: Sequences) -> None:
        model = self._segmentation_model(prepared)
        self._sample(
            prepared, model, self._start(prepared.missing), ibphmm.default_sweep(), ibphmm.RECORDING, model.emission
        )

    def _segmentation_model(self, prepared: Sequences) -> ibphmm.Model:
        """Return what the chains are conditioned on."""
        self._check_parameters()
        emission = make_emission(
            prepared, self.emission, self.order, self.mean_strength, self.dof, self.scale, self._spread(prepared)
        )
        hyperpriors = ibphmm.Hyperpriors(concentration=ibphmm.GammaPrior(1.0, 1.0) if self.sample_mass else None)
        proposals = ibphmm.Proposals(n_split_merge=self.n_split_merge)
        given = (emission, hyperpriors, proposals, self._least_stay_in_looks())
        self.step_weight_ = self._measured_weight(prepared, given) if self.step_weight == "auto" else self.step_weight
        self._amend(step_weights={"": float(self.step_weight_)})
        model = ibphmm.Model.from_sequences(interpolated(prepared), *given).at_weight(float(self.step_weight_))
        return replace(model, known=self._known(prepared, emission.order))

    def _measured_weight(self, prepared: Sequences, given: tuple[Any, ...]) -> float:
        """Return the weight of a step: the geometric mean over several short runs."""
        if prepared.n_steps > 2 * _N_STRETCHES * _STRETCH:
            prepared = stretches(prepared, _N_STRETCHES, _STRETCH)
        model: Any = ibphmm.Model.from_sequences(interpolated(prepared), *given)
        measured_weight: Any = ibphmm.measured_weight
        if prepared.missing is not None:
            model, measured_weight = missing.Model.of(model, prepared.missing), missing.measured_weight
        rngs = self._search_rng().spawn(_N_PILOTS)
        run = Parallel(n_jobs=self.n_jobs, require="sharedmem")
        weights = run(delayed(measured_weight)(rng, model, self._n_annealing()) for rng in rngs)
        return float(np.exp(np.mean(np.log(weights))))

    def _n_annealing(self) -> int:
        """Return the length of short runs, which is at most the burn-in."""
        return min(ibphmm.N_ANNEALING, self.least_burn())

    def _spread(self, prepared: Sequences) -> FloatArray | None:  # noqa: ARG002
        """Return the variance of each dimension that the prior of states is set to; None for that of all steps."""
        return None

    def _check_parameters(self) -> None:
        """Raise for parameters no chain can start from."""
        for name in ("alpha", "kappa") if self.gamma is None else ("alpha", "kappa", "gamma"):
            check_positive(getattr(self, name), name)
        check_count(self.n_split_merge, "n_split_merge", minimum=0)
        if self.n_start is not None:
            check_count(self.n_start, "n_start")
        if self.step_weight != "auto" and check_positive(self.step_weight, "step_weight") > 1:
            raise InputError(f"step_weight is {self.step_weight}, needed at most 1, or 'auto'.", "step_weight")

    def _start(self, lacking: BoolArray | None) -> Any:
        """Return the function that makes the first state of a chain, given which values are missing."""
        options: dict[str, Any] = {"alpha": self.alpha, "kappa": self.kappa, "mass": self.gamma}
        if not isinstance(self.start, str):
            return partial(ibphmm.init_state, path=self._given_path(self.start), **options)
        if self.start == "annealed":
            options |= {"n_clusters": self.n_start, "n_sweeps": self._n_annealing()}
            if lacking is not None:
                return partial(missing.init_annealed, lacking, **options)
            return partial(ibphmm.init_annealed, **options)
        if self.start == "clusters":
            return partial(ibphmm.init_from_clusters, n_clusters=self.n_start, **options)
        if self.start not in ("private", "shared"):
            raise InputError(
                f"start is {self.start!r}, needed 'annealed', 'clusters', 'private', 'shared', or a list of paths."
            )
        number = 2 if self.n_start is None else self.n_start
        n_shared, n_unique = (number, 0) if self.start == "shared" else (0, number)
        return partial(ibphmm.init_state, n_shared=n_shared, n_unique=n_unique, **options)

    def _given_path(self, paths: list[Any]) -> IntArray:
        """Return the given paths at the used steps."""
        stride, order = self.preprocessing_.settings.stride, self.order if self.emission == "autoregressive" else 0
        labels = [np.asarray(path) for path in paths]
        recorded = np.diff(self.starts_)
        if len(labels) != len(recorded):
            raise InputError(f"start has {len(labels)} paths, needed one for each of the {len(recorded)} series.")
        for i, (path, n_steps) in enumerate(zip(labels, recorded.tolist(), strict=True)):
            n_looks = -(-n_steps // stride) - order
            if path.dtype.kind not in "iub" or path.shape not in ((n_steps,), (n_looks,)):
                raise InputError(
                    f"start[{i}] has shape {path.shape} and dtype {path.dtype}, needed {n_steps} whole numbers, "
                    f"one per step of the series, or {n_looks}, one per step looked at."
                )
            labels[i] = path[::stride][order:] if len(path) == n_steps else path
        return np.concatenate(labels)


def _check_max_states(max_states: int) -> None:
    """Raise unless this is a number of states that transitions between all of them fit into memory."""
    if check_count(max_states, "max_states") > _MAX_STATES:
        raise InputError(
            f"max_states is {max_states}, needed at most {_MAX_STATES}: memory and time grow with its square. A few "
            "more than the states you expect are enough.",
            "max_states",
        )


@dataclass(kw_only=True, eq=False, repr=False)
class StickyHDPHMM(SampledSegmenter):
    """Segment recordings into states that all of them share, by a sticky hierarchical Dirichlet process.

    The baseline of the paper: one transition matrix for all recordings, and at most `max_states` states.

    Parameters
    ----------
    max_states : int, default=20
        Number of states there are, used or not. It should be well above the number in use.
    preprocessing : Preprocessing, optional
        What to do with the recordings first. If not given, they are centred, and of steps that are nearly copies of
        each other only some are used: ``preprocessing_.settings.stride`` is the distance between used steps.
    mean_strength : float, default=0.5
        How many steps the prior mean of a state is worth.
    dof : float, optional
        Degrees of freedom of the prior of a covariance; two more than there are dimensions if not given.
    scale : float, default=0.1
        Prior expectation of the covariance of a state, as a multiple of the variances of all data together.
    least_stay : int, default=1
        Fewest steps of the recording that a state lasts once it is entered. The first and the last stay of a recording
        may be shorter. Where the recordings are subsampled it is rounded up to whole strides.
    missing : {"random", "error"}, default="random"
        What NaN in recordings means: a value that is missing at random, which is drawn along with all else that is
        unknown. A channel may be missing in whole recordings. "error" refuses recordings with NaN.
    outliers : {"missing", "keep"}, default="missing"
        What is done with values that no movement gives: single steps far outside the range of their recording, and
        channels of a recording whose sensor is dead. They are treated as missing, or used as they are. They are always
        used with ``missing="error"``. In either case a `DataWarning` names them.
    n_chains : int, default=4
        Independent chains; their kept sweeps are pooled.
    n_sweeps : int or "auto", default="auto"
        Sweeps per chain. "auto" makes 200 and compares the last half of all chains; while these differ, it doubles the
        number, up to 1,600. A single chain makes 500.
    n_burn : int, optional
        Sweeps of each chain that are thrown away first; half of them if not given.
    point_estimate : {"vi", "map"}, default="vi"
        The segmentation nearest to all kept sweeps, by variation of information, or the draw of largest density given
        its weights and concentrations.
    random_state : int, Generator, SeedSequence or None, default=None
        Seed. Equal seeds give equal results, whatever `n_jobs`.
    n_jobs : int, optional
        Chains that run side by side.
    progress : bool, default=False
        Whether to show a progress bar.
    checkpoint : str or Path, optional
        Folder in which the chains are written while they run; a run found there goes on where it was.

    Attributes
    ----------
    paths_ : list of ndarray of int, shape (n_steps_i,)
        State of every step of each recording, numbered by decreasing number of steps.
    n_states_ : int
        Number of states.
    means_ : ndarray of shape (n_states, n_dims)
        Means of the states, in the units of the recordings.
    covariances_ : ndarray of shape (n_states, n_dims, n_dims)
        Covariances of the states, in the units of the recordings.
    transition_probs_ : ndarray of shape (n_states, n_states)
        Transition probabilities over all recordings.
    segments_ : list of Segment
        Recording, start, end, state and probability of every segment.
    state_probability_ : list of ndarray, shape (n_steps_i,)
        Posterior probability of the reported state of every step.
    change_probability_ : list of ndarray, shape (n_steps_i,)
        Posterior probability of a change of state between the used step before and the one after a step, given at the
        step midway between these, zero at all others.
    boundaries_ : list of BoundaryInterval
        Every change of state with the shortest interval that holds it with a probability of 90 %.
    findings_ : tuple of str
        Faults of the recordings, such as outliers, copies and pauses, in one line each.
    trace_ : dict of str to ndarray of shape (n_chains, n_sweeps)
        "log_joint", "n_states", "n_segments", "occupancy_entropy", and hyper-parameters.
    draws_ : PathDraws
        The kept paths that count, by numbers that are the same for a state through all sweeps of a chain.
    n_sweeps_ : int
        Number of sweeps that each chain made.
    chain_weights_ : ndarray of shape (n_chains,)
        How much the draws of each chain count: equal unless chains differ more from each other than each of them
        varies; then by how well each chain predicts left-out steps.

    Examples
    --------
    >>> from homothety import StickyHDPHMM
    >>> from homothety.datasets import make_toy_2d
    >>> toy = make_toy_2d(random_state=0)
    >>> StickyHDPHMM(n_chains=1, n_sweeps=60, random_state=0).fit(toy.sequences).n_states_
    4
    """

    max_states: int = 20
    preprocessing: Preprocessing | None = None
    mean_strength: float = 0.5
    dof: float | None = None
    scale: float = 0.1
    least_stay: int = 1
    missing: Missing = "random"
    outliers: Outliers = "missing"

    def _segment(self, prepared: Sequences) -> None:
        _check_max_states(self.max_states)
        emission = make_emission(prepared, "gaussian", 0, self.mean_strength, self.dof, self.scale)
        base = NIW(emission.coefficients[:, 0], self.mean_strength, emission.scale, emission.dof)
        least_stay = self._least_stay_in_looks()
        known = self._known(prepared)
        model = hdphmm.Model(interpolated(prepared), base, self.max_states, least_stay=least_stay, known=known)
        self._sample(prepared, model, hdphmm.init_state, hdphmm.default_sweep(), hdphmm.RECORDING, emission)


@dataclass(kw_only=True, eq=False, repr=False)
class HMMSelection(Segmenter):
    """Segment recordings by a Gaussian hidden Markov model, fitted by EM, whose number of states a criterion chooses.

    Parameters
    ----------
    max_states : int, default=15
        Numbers of states to try, from one.
    criterion : {"bic", "aic"}, default="bic"
        What chooses the number of states: the Bayesian or Akaike's information criterion.
    n_init : int, default=5
        Starts for each number of states.
    preprocessing : Preprocessing, optional
        What to do with the recordings first. If not given, they are centred, and of steps that are nearly copies of
        each other only some are used: ``preprocessing_.settings.stride`` is the distance between used steps.
    random_state : int, Generator, SeedSequence or None, default=None
        Seed. Equal seeds give equal results.

    Attributes
    ----------
    paths_ : list of ndarray of int, shape (n_steps_i,)
        Most probable state of every step, numbered by decreasing number of steps.
    n_states_ : int
        Number of states.
    means_ : ndarray of shape (n_states, n_dims)
        Means of the states, in the units of the recordings.
    covariances_ : ndarray of shape (n_states, n_dims, n_dims)
        Covariances of the states, in the units of the recordings.
    transition_probs_ : ndarray of shape (n_states, n_states)
        Transition probabilities over all recordings.
    segments_ : list of Segment
        Recording, start, end and state of every segment; one fit does not tell how sure they are.
    findings_ : tuple of str
        Faults of the recordings, such as outliers, copies and pauses, in one line each.
    criteria_ : dict of int to float
        The criterion by number of states.

    Examples
    --------
    >>> from homothety import HMMSelection
    >>> from homothety.datasets import make_toy_2d
    >>> toy = make_toy_2d(random_state=0)
    >>> HMMSelection(max_states=6, random_state=0).fit(toy.sequences).n_states_
    4
    """

    max_states: int = 15
    criterion: Literal["bic", "aic"] = "bic"
    n_init: int = 5
    preprocessing: Preprocessing | None = None
    random_state: RandomState = None

    def _segment(self, prepared: Sequences) -> None:
        _check_max_states(self.max_states)
        rng = np.random.default_rng(seed_sequence(self.random_state))
        chosen = select_hmm(
            rng,
            prepared.steps,
            prepared.starts,
            range(1, self.max_states + 1),
            criterion=self.criterion,
            n_init=self.n_init,
        )
        self.criteria_ = {number: float(value) for number, value in chosen.criteria.items()}
        labels, fit = relabel_by_size(chosen.paths), chosen.best
        visited = chosen.paths[np.unique(labels, return_index=True)[1]]
        transition = fit.transition[np.ix_(visited, visited)]
        states = StateModel(
            fit.initial[visited] / fit.initial[visited].sum(),
            transition / transition.sum(axis=1, keepdims=True),
            fit.means[visited][:, :, None],
            fit.covariances[visited],
        )
        path = labels[self._steps_of_recordings(prepared, 0)]
        self._amend(parameters=states, states=replace(self.result_.states, flat=path))


def make_emission(
    prepared: Sequences,
    name: _EmissionName,
    order: int,
    mean_strength: float,
    dof: float | None,
    scale: float,
    variances: FloatArray | None = None,
) -> Emission:
    """Return emissions whose prior is set to the size of the data, dimension by dimension, or to given variances.

    So the answer does not depend on the units of a dimension, and nothing has to be scaled.
    """
    if name not in ("gaussian", "diagonal", "autoregressive"):
        raise InputError(f"emission is {name!r}, needed 'gaussian', 'diagonal' or 'autoregressive'.", "emission")
    dof = prepared.n_dims + 2.0 if dof is None else check_positive(dof, "dof")
    _check_prior(mean_strength, dof, scale, least_dof=2 if name == "diagonal" else prepared.n_dims + 1)
    if name == "autoregressive":
        if prepared.missing is not None:
            raise InputError(
                "Values are missing, NaN, and autoregressive states need the steps before each one. Interpolate them, "
                "or use emission='gaussian'.",
                "emission",
            )
        moves = np.concatenate([np.diff(series, axis=0) for series in prepared])
        return _autoregressive_emission(prepared, order, moves, dof, scale)
    variances = variance_of_known(prepared.steps) if variances is None else variances
    weight = dof - (2 if name == "diagonal" else prepared.n_dims + 1)
    mean = mean_of_known(prepared.steps)
    return Emission.gaussian(mean, mean_strength, weight * scale * np.diag(variances), dof, diagonal=name == "diagonal")


def _autoregressive_emission(prepared: Sequences, order: int, moves: FloatArray, dof: float, scale: float) -> Emission:
    """Return autoregressive emissions that expect noise of variance `scale` times half that of moves between steps."""
    _check_order(prepared, order)
    variances = prepared.steps.var(axis=0)
    weight = dof - prepared.n_dims - 1
    noise = weight * (0.5 * scale * np.atleast_2d(np.cov(moves.T)) + 1e-12 * np.diag(variances))
    # A coefficient has the unit of one dimension over that of another, and so has the width of its prior.
    precision = 0.5 * np.diag(np.tile(variances, order))
    return Emission(np.zeros((prepared.n_dims, order * prepared.n_dims)), precision, noise, dof, order)


def _check_prior(mean_strength: float, dof: float, scale: float, *, least_dof: int) -> None:
    """Raise for parameters of which no prior can be made, by the names they have here."""
    check_positive(mean_strength, "mean_strength")
    check_positive(scale, "scale")
    if not dof > least_dof:
        raise InputError(f"dof is {dof}, needed more than {least_dof}, so that a covariance has a prior mean.")


def _check_order(prepared: Sequences, order: int) -> None:
    """Raise unless every recording has a step with `order` others before it."""
    check_count(order, "order")
    shortest = int(prepared.lengths.argmin())
    if prepared.lengths[shortest] <= order:
        raise InputError(
            f"Recording {shortest} ({prepared.names[shortest]}) has {prepared.lengths[shortest]} steps to look at, "
            f"needed at least {order + 1} for autoregressive states of order {order}. Drop it, or subsample less."
        )


# States and actions together


_STILL = 1e-9  # share of the variance over all recordings, below which a dimension does not vary inside them

GroupingName = Literal["shapes", "links"]


def _typical_variances(prepared: Sequences) -> FloatArray:
    """Return the variance of each dimension inside a recording of typical size.

    Where recordings are does not count, and one that is much larger or smaller than the others does not set the prior.
    """
    centred = [one - mean_of_known(one) for one in prepared]
    inside, overall = mean_of_known(np.concatenate(centred) ** 2), variance_of_known(prepared.steps)
    moves = inside > _STILL * overall
    spread = np.where(moves, inside, overall)  # a dimension may differ between recordings only
    if not moves.any():
        return spread
    return spread * np.median([mean_of_known(one[:, moves] ** 2 / spread[moves], axis=None) for one in centred])


class ReportsActions(SampledSegmenter):
    """Base of the segmenters whose states are grouped into actions; `action_draws_` has the actions of all draws."""

    actions_ = ResultPart[list[IntArray]]("actions.paths")
    n_actions_ = ResultPart[int]("actions.number")
    action_probability_ = ResultPart[list[FloatArray]]("actions.probability")
    action_change_probability_ = ResultPart[list[FloatArray]]("actions.change_probability")
    action_segments_ = ResultPart[list[Segment]]("actions.segments")
    action_boundaries_ = ResultPart[list[BoundaryInterval]]("actions.boundaries")
    action_draws_ = ResultPart[PathDraws]("actions.draws")
    state_actions_ = ResultPart[IntArray]("state_actions")
    coaction_ = ResultPart[FloatArray]("coaction")

    def _report_actions(self, point: IntArray, draws: Iterable[IntArray]) -> None:
        """Set actions of all steps of the recordings, and their probabilities from a selection of draws."""
        states, n_states = self.result_.states.flat, self.result_.states.number
        actions = self._labels(point, draws)
        shares = [_shares_of_actions(states, draw, n_states) for draw in actions.draws or ()]
        self._amend(
            actions=actions,
            state_actions=_shares_of_actions(states, point, n_states).argmax(axis=1),
            coaction=np.mean([share @ share.T for share in shares], axis=0),
        )

    def action_colabelling(self, rows: ArrayLike, columns: ArrayLike) -> FloatArray:
        """Return the probability that two steps have the same action, for chosen steps only.

        Parameters
        ----------
        rows, columns : array-like of int
            Steps, counted over all recordings one after the other.

        Returns
        -------
        probability : ndarray of shape (n_rows, n_columns)
        """
        check_is_fitted(self)
        result = self.result_
        return colabelling(list(self.action_draws_), rows, columns, result.states.starts, result.stride)


def _shares_of_actions(states: IntArray, actions: IntArray, n_states: int) -> FloatArray:
    """Return the share of the steps of each state that has each action, (n_states, n_actions)."""
    labels, numbered = np.unique(actions, return_inverse=True)
    counts = np.zeros((n_states, len(labels)))
    np.add.at(counts, (states, numbered), 1.0)
    return counts / counts.sum(axis=1, keepdims=True)


@dataclass(kw_only=True, eq=False, repr=False)
class ICSCHMM(IBPHMM, ReportsActions):
    """Segment recordings and find which states are one action, turned, moved or resized.

    The states are those of `IBPHMM`. In every sweep they are grouped into actions by the shape of their covariances,
    and the answer is what the sweeps of all chains agree on.

    Parameters
    ----------
    grouping : {"shapes", "links"} or Grouping, default="shapes"
        How states are grouped. "shapes": by shape coordinates with the noise they have, by their order, and
        one version of an action per recording. "links": as the paper has it, by a spectral embedding of their
        similarity.
    coupling : {"burnin", "paper"} or None, default=None
        Whether the number of actions sets the hyper-priors of the segmentation: until the end of burn-in; always, as
        the paper has it, though no posterior is sampled then; or never. Coupled, the prior mean of the weight of
        staying in a state is one, whatever is found.
    covariances : {"sample", "mean", "draw"}, default="sample"
        What stands for the covariance of a state when it is grouped: that of its steps, its posterior mean, which is
        rounder, or the draw of the sweep (the paper's).
    include_unused : bool, default=False
        Whether states without any step are grouped too (the paper's).
    scale : float, default=0.5
        Prior variance of a state, as a multiple of that inside a recording of typical size. Larger than in `IBPHMM`: an
        action is a larger piece of a motion than a state.
    mean_strength : float, default=0.1
        How many steps the prior mean of a state is worth. Smaller than in `IBPHMM`: a strong prior of the mean
        stretches every state that is far from the middle towards it.
    dof : float, optional
        Degrees of freedom of the prior of a covariance; two more than there are dimensions if not given.
    emission : {"gaussian", "diagonal", "autoregressive"}, default="gaussian"
        What a state looks like: a Gaussian with full or diagonal covariance, or a linear motion.
    order : int, default=1
        Past steps an autoregressive state looks back.
    preprocessing : Preprocessing, optional
        What to do with the recordings first. If not given, they are centred, and of steps that are nearly copies of
        each other only some are used: ``preprocessing_.settings.stride`` is the distance between used steps.
    step_weight : float or "auto", default="auto"
        How much of an independent observation a used step counts as. "auto" measures how much one step tells of the
        next inside the states of short runs, see `homothety.decorrelation.independent_share`.
    gamma : float, optional
        Mass of the Indian buffet process, the rate of new states, at the start; the number of recordings if not given.
        Sampled.
    alpha : float, default=1.0
        Weight of a transition at the start. Sampled.
    kappa : float, default=10.0
        Extra weight of a self-transition (stickiness), at the start. Sampled.
    sample_mass : bool, default=False
        Whether to sample the second parameter of the Indian buffet process too; it is one otherwise.
    start : {"annealed", "clusters", "private", "shared"} or list of array-like of int, default="annealed"
        States at the start: clusters of steps by k-means ("clusters"); these after a short run in which steps count
        little at first ("annealed"); states of each recording's own ("private"), or states that all share ("shared"),
        both in blocks of equal length; or those of given paths, one for each recording, such as the `paths_` of another
        model.
    n_start : int, optional
        Number of states at the start. If not given, each chain draws a number of clusters, from 1 to 20, or has two
        private or shared states.
    n_split_merge : int, default=5
        Splits or merges tried per sweep.
    least_stay : int, default=1
        Fewest steps of the recording that a state lasts once it is entered. The first and the last stay of a recording
        may be shorter. Where the recordings are subsampled it is rounded up to whole strides.
    missing : {"random", "error"}, default="random"
        What NaN in recordings means: a value that is missing at random, which is drawn along with all else that is
        unknown. A channel may be missing in whole recordings. "error" refuses recordings with NaN, as
        autoregressive states always do.
    outliers : {"missing", "keep"}, default="missing"
        What is done with values that no movement gives: single steps far outside the range of their recording, and
        channels of a recording whose sensor is dead. They are treated as missing, or used as they are. They are always
        used with ``missing="error"`` and by autoregressive states. In either case a `DataWarning` names them.
    n_chains : int, default=4
        Independent chains; their kept sweeps are pooled.
    n_sweeps : int or "auto", default="auto"
        Sweeps per chain. "auto" makes 200 and compares the last half of all chains; while these differ, it doubles the
        number, up to 1,600. A single chain makes 500.
    n_burn : int, optional
        Sweeps of each chain that are thrown away first; half of them if not given.
    point_estimate : {"vi", "map"}, default="vi"
        The segmentation nearest to all kept sweeps, by variation of information, or the most probable one visited.
    random_state : int, Generator, SeedSequence or None, default=None
        Seed. Equal seeds give equal results, whatever `n_jobs`.
    n_jobs : int, optional
        Chains that run side by side.
    progress : bool, default=False
        Whether to show a progress bar.
    checkpoint : str or Path, optional
        Folder in which the chains are written while they run; a run found there goes on where it was.

    Attributes
    ----------
    actions_ : list of ndarray of int, shape (n_steps_i,)
        Action of every step of each recording, numbered by decreasing number of steps.
    n_actions_ : int
        Number of actions.
    state_actions_ : ndarray of int, shape (n_states,)
        Action that most of the steps of a state have.
    action_segments_ : list of Segment
        Recording, start, end, action and probability of every segment of one action.
    action_probability_ : list of ndarray, shape (n_steps_i,)
        Posterior probability of the reported action of every step.
    action_change_probability_ : list of ndarray, shape (n_steps_i,)
        Posterior probability of a change of action between the used step before and the one after a step.
    action_boundaries_ : list of BoundaryInterval
        Every change of action with a 90 % interval.
    coaction_ : ndarray of shape (n_states, n_states)
        Agreement: the share of kept sweeps in which two states are one action.
    transforms_ : list of StateTransform
        For every state its rotation, scale and translation from the state with most steps of its action, with
        intervals. In the units of the recordings if the preparation multiplied all dimensions by the same number, else
        in those of the prepared recordings, in which shapes were compared. Where each recording was centred on its own,
        means and translations are relative to the centres of recordings.
    paths_ : list of ndarray of int, shape (n_steps_i,)
        State of every step of each recording, numbered by decreasing number of steps.
    n_states_ : int
        Number of states.
    means_ : ndarray of shape (n_states, n_dims)
        Means of the states, in the units of the recordings.
    covariances_ : ndarray of shape (n_states, n_dims, n_dims)
        Covariances of the states, in the units of the recordings.
    transition_probs_ : ndarray of shape (n_states, n_states)
        Transition probabilities over all recordings.
    segments_ : list of Segment
        Recording, start, end, state and probability of every segment.
    state_probability_ : list of ndarray, shape (n_steps_i,)
        Posterior probability of the reported state of every step.
    change_probability_ : list of ndarray, shape (n_steps_i,)
        Posterior probability of a change of state between the used step before and the one after a step, given at the
        step midway between these, zero at all others.
    boundaries_ : list of BoundaryInterval
        Every change of state with the shortest interval that holds it with a probability of 90 %.
    findings_ : tuple of str
        Faults of the recordings, such as outliers, copies and pauses, in one line each.
    active_ : ndarray of bool, shape (n_recordings, n_states)
        Which recording visits which state.
    step_weight_ : float
        How much of an independent observation a step counted as.
    trace_ : dict of str to ndarray of shape (n_chains, n_sweeps)
        "log_joint" of the states, "log_clusters" of the actions, "n_states", "n_actions", "n_segments",
        "occupancy_entropy", hyper-parameters and acceptance of every move.
    draws_ : PathDraws
        The kept paths that count, by numbers that are the same for a state through all sweeps of a chain.
    n_sweeps_ : int
        Number of sweeps that each chain made.
    chain_weights_ : ndarray of shape (n_chains,)
        How much the draws of each chain count: equal unless chains differ more from each other than each of them
        varies; then by how well each chain predicts left-out steps.
    action_draws_ : PathDraws
        Actions of the kept sweeps, numbered anew in each.

    Examples
    --------
    >>> from homothety import ICSCHMM
    >>> from homothety.datasets import make_toy_2d
    >>> toy = make_toy_2d(random_state=0, n_steps=200)
    >>> model = ICSCHMM(n_chains=2, n_sweeps=100, random_state=0).fit(toy.sequences)
    >>> model.n_states_, model.n_actions_
    (4, 2)
    """

    grouping: GroupingName | icsc.Grouping = "shapes"
    coupling: Coupling | None = None
    covariances: Covariances = "sample"
    include_unused: bool = False
    mean_strength: float = 0.1
    scale: float = 0.5

    labels_are_states = False

    transforms_ = ResultPart[list[StateTransform]]("transforms")

    def _spread(self, prepared: Sequences) -> FloatArray:
        return _typical_variances(prepared)  # recordings may be in different places and sizes

    def _segment(self, prepared: Sequences) -> None:
        segmentation = self._segmentation_model(prepared)
        model = icsc.Model(
            segmentation,
            make_grouping(self.grouping),
            self.covariances,
            self.include_unused,
            self.coupling,
            n_adapt=self.least_burn() if self.coupling == "burnin" else 0,
        )
        start = partial(icsc.init_state, start=self._start(prepared.missing))
        self._sample(prepared, model, start, icsc.default_sweep(), icsc.RECORDING, segmentation.emission)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.coupling is not None and self.coupling not in get_args(Coupling):
            raise InputError(f"coupling is {self.coupling!r}, needed 'burnin', 'paper' or None.")
        if self.covariances not in get_args(Covariances):
            raise InputError(f"covariances is {self.covariances!r}, needed 'sample', 'mean' or 'draw'.")
        if self._step_labels is not None and not isinstance(make_grouping(self.grouping), icsc.ShapeGrouping):
            raise InputError(f"Labels of steps, y, are given, and grouping is {self.grouping!r}: needed 'shapes'.")

    def _answer(self, prepared: Sequences, emission: Emission, traces: list[Trace]) -> IntArray:
        kept = [draw for trace in traces for draw in trace.kept]
        states = [replace(trace, kept=[draw.path for draw in trace.kept]) for trace in traces]
        point = super()._answer(prepared, emission, states)
        where = self._steps_of_recordings(prepared, emission.order)
        actions = [draw.actions().expand() for draw in kept]
        starts = emission.augment(prepared)[1]
        agreed = self._held(self._agreed_actions(actions, starts), starts)
        labelled = over_all_steps(agreed, where, self._step_labels, self._known_labels.steps)
        self._report_actions(labelled, (path[where] for path in actions))
        self._report_transforms(prepared, emission, point, PathDraws.of([path for one in states for path in one.kept]))
        return point

    def _agreed_actions(self, actions: list[IntArray], starts: IntArray) -> IntArray:
        """Return the point estimate of actions over all draws, at used steps, without stays that are too short."""
        point, least_stay = minimise_expected_vi_paths(actions), self._least_stay_in_looks()
        return point if least_stay == 1 else relabel_by_size(mend_short_stays(point, starts, least_stay))

    def _report_transforms(self, prepared: Sequences, emission: Emission, point: IntArray, draws: PathDraws) -> None:
        """Set how the states of an action differ from the one that has most of its steps."""
        rng = np.random.default_rng(seed_sequence(self.random_state))
        with threadpool_limits(1):  # thousands of small matrices: threads would wait for each other most of the time
            # Where values are missing, intervals do not include what is not known of them.
            prepared = completed_series(rng, emission, prepared, point)
            table = transform_table(rng, emission, prepared, point, draws, self.state_actions_)
        factors = self.preprocessing_.factors
        if (factors == factors[0]).all():
            table = table.rescaled(float(factors[0]), self.preprocessing_.offset)
        self._amend(transform_table=table)

    def predict_actions(self, X: Any, *, lengths: ArrayLike | None = None) -> list[IntArray]:
        """Return the action of every step of new recordings, in the frames of those of the fit.

        `ActionHMM.predict_actions` finds actions in frames that were not there at fit.

        Parameters
        ----------
        X : recordings
            New recordings, as `fit` takes them.
        lengths : array-like of shape (n_recordings,), optional
            Steps of each recording if `X` is one array.

        Returns
        -------
        actions : list of ndarray of int, shape (n_steps_i,)
        """
        new = self._prepare_new(X, lengths)
        return [self._expand(self.state_actions_[states.path(series)], n) for states, series, n in new]

    def _sampled(self, rng: Generator, paths: list[IntArray], steps: list[FloatArray]) -> SequenceSet:
        return replace(super()._sampled(rng, paths, steps), actions=[self.state_actions_[path] for path in paths])


def make_grouping(grouping: GroupingName | icsc.Grouping) -> icsc.Grouping:
    """Return a way to group states by its name, or the given one."""
    known: dict[str, icsc.Grouping] = {"shapes": icsc.ShapeGrouping(), "links": icsc.LinkGrouping()}
    if isinstance(grouping, str):
        if grouping not in known:
            raise InputError(f"grouping is {grouping!r}, needed 'shapes', 'links' or a grouping.", "grouping")
        return known[grouping]
    return grouping
