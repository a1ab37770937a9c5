"""Results of fits: a `Segmentation` of recordings, or a `Partition` of matrices or points.

Both are frozen. Everything that shows a result reads it from here: reports, tables, figures, files and the fitted
attributes of estimators. A part that a model does not have is None.
"""

from __future__ import annotations

import platform
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from homothety._version import __version__
from homothety.arrays import check_count
from homothety.datasets.readers.checks import require
from homothety.errors import InputError
from homothety.models.frames.grouping import MergeTree
from homothety.persistence import write_value
from homothety.phrases import html_table, number_of
from homothety.summaries.partitions import coclustering, membership, relabel_by_size
from homothety.summaries.paths import segments_table
from homothety.summaries.tables import partition_rows, segmentation_tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from homothety.arrays import BoolArray, FloatArray, IntArray
    from homothety.channels import ChannelBlocks
    from homothety.models.hmm.states import StateModel
    from homothety.preprocessing import FittedPreprocessing
    from homothety.summaries.chains import Chains
    from homothety.summaries.frames import FrameTable
    from homothety.summaries.paths import BoundaryInterval, PathDraws, Segment
    from homothety.summaries.tables import Row
    from homothety.summaries.transforms import StateTransform, TransformTable

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")
_N_SHOWN = 10  # rows of a table in a notebook
_NO_SETTINGS = ("progress", "checkpoint")  # parameters on which no number depends
_FrameLibrary = Literal["pandas", "polars", "arrow"]


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Model, parameters, data, versions and time of a fit.

    Parameters
    ----------
    model : str
        Name of the estimator.
    call : str
        Python code that makes the estimator with its settings.
    settings : dict of str to object
        All parameters of the estimator, as numbers, texts and lists.
    versions : dict of str to str
        Versions of the library and of those it stands on.
    seconds : float, optional
        Duration of the fit.
    source : str
        Where the data came from; empty if that is not known.
    applied : bool
        Whether a model that was fitted to other data was applied to these.
    """

    model: str
    call: str
    settings: dict[str, Any]
    versions: dict[str, str]
    seconds: float | None = None
    source: str = ""
    applied: bool = False

    @classmethod
    def of(cls, model: Any, seconds: float | None = None) -> Provenance:
        """Return the provenance of a fit of an estimator."""
        parameters = {name: value for name, value in model.get_params(deep=False).items() if name not in _NO_SETTINGS}
        return cls(
            model=type(model).__name__,
            call=type(model)(**parameters).__repr__(N_CHAR_MAX=10**6),
            settings={name: _plain(value) for name, value in parameters.items()},
            versions=_versions(),
            seconds=seconds,
        )

    @property
    def seed(self) -> Any:
        """The parameter `random_state`."""
        return self.settings.get("random_state")


def _versions() -> dict[str, str]:
    """Return the versions of Python and of all libraries that results may depend on."""
    return {"homothety": __version__, "python": platform.python_version()} | {
        name: version(name) for name in _LIBRARIES
    }


def _plain(value: Any) -> Any:
    """Return a parameter as numbers, texts and lists; any other object as its representation."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, str | int | float | bool) else repr(value)


class _Base(ABC):
    """Base of both kinds of results."""

    provenance: Provenance
    chains: Chains | None

    @property
    @abstractmethod
    def headline(self) -> str:
        """The outcome in one sentence."""

    @abstractmethod
    def tables(self) -> dict[str, Iterable[Row]]:
        """Return all tables by name, each as rows with the same keys."""

    def to_frame(self, table: str | None = None, *, library: _FrameLibrary = "pandas") -> Any:
        """Return a table as a data frame.

        Parameters
        ----------
        table : str, optional
            A key of `tables`. Default: the first one, segments or labels.
        library : {"pandas", "polars", "arrow"}, default="pandas"
            Library of the data frame, which has to be installed. "arrow" is `pyarrow.Table`.
        """
        known = self.tables()
        name = next(iter(known)) if table is None else table
        if name not in known:
            raise InputError(f"table is {table!r}, needed one of {', '.join(known)}.")
        rows = [dict(row) for row in known[name]]
        if library == "pandas":
            return require("pandas", None, "to_frame()").DataFrame(rows)
        if library == "polars":
            return require("polars", None, "to_frame(library='polars')").DataFrame(rows)
        if library == "arrow":
            return require("pyarrow", "parquet", "to_frame(library='arrow')").Table.from_pylist(rows)
        raise InputError(f"library is {library!r}, needed 'pandas', 'polars' or 'arrow'.")

    @property
    def interrupted(self) -> bool:
        """Whether the run was interrupted, so that there are fewer sweeps than asked for."""
        return self.chains is not None and self.chains.interrupted

    def __repr__(self) -> str:
        return f"<{type(self).__name__} by {self.provenance.model}: {self.headline}>"

    def _repr_html_(self) -> str:
        """Return the outcome and the first rows of the first table, for notebooks."""
        name, table = next(iter(self.tables().items()))
        rows = list(islice(table, _N_SHOWN))
        shown = html_table(list(rows[0]), [list(row.values()) for row in rows]) if rows else ""
        return f"<p>{escape(self.headline)}.</p>{shown}<p>All rows: <code>to_frame({name!r})</code>.</p>"

    def save(self, path: str | Path) -> None:
        """Write the result to one file without pickle; `homothety.load` reads it."""
        write_value(self, Path(path))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Labels:
    """Labels of all steps of all recordings, with their probabilities.

    Parameters
    ----------
    flat : ndarray of int, shape (n_steps,)
        Labels of all recordings, one after the other, numbered by decreasing number of steps.
    starts : ndarray of int, shape (n_recordings + 1,)
        Where recordings begin and end in `flat`.
    sure, changes : ndarray of shape (n_steps,), optional
        Probability of each label, and of a change at each step.
    boundaries : list of BoundaryInterval, optional
        Changes with their 90 % intervals.
    draws : PathDraws, optional
        The draws that count.
    n_labels : int, optional
        Number of labels that there could be. Default: those that steps have.
    """

    flat: IntArray
    starts: IntArray
    sure: FloatArray | None = None
    changes: FloatArray | None = None
    boundaries: list[BoundaryInterval] | None = None
    draws: PathDraws | None = None
    n_labels: int | None = None

    def split(self, flat: Any) -> list[Any]:
        """Return values of all steps as one array for each recording."""
        return [flat[start:stop] for start, stop in zip(self.starts[:-1], self.starts[1:], strict=True)]

    @cached_property
    def paths(self) -> list[IntArray]:
        """Label of every step of each recording."""
        return self.split(self.flat)

    @cached_property
    def probability(self) -> list[FloatArray] | None:
        """Probability of the label of every step of each recording."""
        return None if self.sure is None else self.split(self.sure)

    @cached_property
    def change_probability(self) -> list[FloatArray] | None:
        """Probability of a change at every step of each recording."""
        return None if self.changes is None else self.split(self.changes)

    @cached_property
    def segments(self) -> list[Segment]:
        """Segments: recording, start, end (not included), label and probability."""
        return segments_table(self.flat, self.starts, self.sure)

    @property
    def number(self) -> int:
        """Number of labels."""
        return int(self.flat.max()) + 1 if self.n_labels is None else self.n_labels

    @cached_property
    def counts(self) -> IntArray:
        """Steps of each label, (n_labels,)."""
        return np.bincount(self.flat, minlength=self.number)

    @cached_property
    def active(self) -> BoolArray:
        """Which recording has which label, (n_recordings, n_labels)."""
        return np.stack([np.bincount(path, minlength=self.number) > 0 for path in self.paths])


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Segmentation(_Base):
    """States of all steps of recordings and, where the model knows them, actions and frames.

    Parameters
    ----------
    provenance : Provenance
    names : tuple of str
        Of the recordings.
    channels : tuple of str
        Of the recordings; empty if they have no names.
    rate : float or None
        Steps per second.
    preparation : FittedPreprocessing
        What was done to the recordings first.
    stride_is_measured : bool
        Whether the stride follows from the autocorrelation of the recordings; otherwise it was asked for.
    states : Labels
    parameters : StateModel
        Parameters of the states, in units of the prepared recordings.
    actions : Labels, optional
    action_names : tuple of str
        What users call the actions; empty if they have no names.
    state_actions : ndarray of int, shape (n_states,), optional
        Action that most steps of each state have.
    coaction : ndarray of shape (n_states, n_states), optional
        Agreement: share of kept sweeps in which two states are one action.
    transform_table : TransformTable, optional
        How the states of each action differ.
    frame_table : FrameTable, optional
        How each recording is turned, resized and moved.
    blocks : ChannelBlocks, optional
        What the channels were taken for.
    step_weights : dict of str to float, optional
        How much of an independent observation a step counts as, by kind of channel; one entry without a name if that is
        the same for all channels.
    least_stay : int, optional
        Fewest steps that a state lasts.
    merges, merge_gains : ndarray of shape (n_states - 1, 2) and (n_states - 1,), optional
        In which order states would be merged to fewer actions, and the evidence for each merge in nats.
    scores, fits : ndarray of shape (n_recordings,), optional
        Of recordings that a model was applied to: log density per used step, in standard deviations from the mean of
        the recordings of the fit, and whether each recording is like those.
    chains : Chains, optional
    findings : tuple of str
        Faults of the recordings, see `homothety.quality`.
    """

    provenance: Provenance
    names: tuple[str, ...]
    channels: tuple[str, ...]
    rate: float | None
    preparation: FittedPreprocessing
    stride_is_measured: bool
    states: Labels
    parameters: StateModel
    actions: Labels | None = None
    action_names: tuple[str, ...] = ()
    state_actions: IntArray | None = None
    coaction: FloatArray | None = None
    transform_table: TransformTable | None = None
    frame_table: FrameTable | None = None
    blocks: ChannelBlocks | None = None
    step_weights: dict[str, float] | None = None
    least_stay: int | None = None
    merges: IntArray | None = None
    merge_gains: FloatArray | None = None
    scores: FloatArray | None = None
    fits: BoolArray | None = None
    chains: Chains | None = None
    findings: tuple[str, ...] = ()

    @property
    def labels(self) -> Labels:
        """Actions, or states if the model has no actions."""
        return self.states if self.actions is None else self.actions

    @property
    def called(self) -> Literal["state", "action"]:
        """What that is called."""
        return "state" if self.actions is None else "action"

    def label_name(self, label: int) -> str:
        """Return the name of an action (or of a state if there are no actions), or its number if it has no name."""
        return self.action_names[label] if self.called == "action" and self.action_names else str(label)

    def with_names(self, names: Sequence[str]) -> Segmentation:
        """Return the result with names of its actions, in the order of their numbers."""
        if self.actions is None:
            raise InputError(f"names cannot be given: {self.provenance.model} knows no actions.")
        checked = tuple(str(name).strip() for name in names)
        if len(checked) != self.actions.number or len(set(checked)) < len(checked) or not all(checked):
            raise InputError(
                f"names is {', '.join(checked)}, needed {number_of(self.actions.number, 'different name')}: one for "
                "each action, in the order of their numbers."
            )
        return replace(self, action_names=checked)

    @property
    def stride(self) -> int:
        """Every `stride`-th step of the recordings was used."""
        return self.preparation.settings.stride

    @property
    def means(self) -> FloatArray | None:
        """Mean of every state in the units of the recordings, (n_states, n_dims); None for autoregressive states."""
        if self.parameters.order:
            return None
        return self.preparation.restore_mean(self.parameters.coefficients[:, :, 0])

    @property
    def covariances(self) -> FloatArray:
        """Covariance of every state in the units of the recordings, (n_states, n_dims, n_dims)."""
        return self.preparation.restore_covariance(self.parameters.covariances)

    @property
    def n_channels(self) -> int:
        """Number of channels of the recordings."""
        return self.preparation.n_input_dims if self.blocks is None else len(self.blocks.order)

    def channel_names(self, unnamed: str = "dimension {}") -> list[str]:
        """Return the names of the channels of the recordings; `unnamed` is filled in where they have none."""
        return list(self.channels) or [unnamed.format(dim) for dim in range(self.n_channels)]

    def dims(self, unnamed: str = "dimension {}") -> tuple[str, ...]:
        """Return the names of the dimensions of states; `unnamed` is filled in where channels have no names.

        A quaternion has three dimensions in states: its rotation from the middle orientation of the recording.
        """
        names = self.channel_names(unnamed)
        if self.blocks is None:
            return self.preparation.name_dims(names)
        ordered, n_before = [], 0
        for kind, channels in zip(self.blocks.kinds, self.blocks.channels, strict=True):
            if kind == "quaternion":
                n_before += 1
                which = f" {n_before}" if self.blocks.kinds.count("quaternion") > 1 else ""
                ordered += [f"orientation{which} {axis}" for axis in "xyz"]
            else:
                ordered += [names[channel] for channel in channels]
        return self.preparation.name_dims(ordered)

    @cached_property
    def transforms(self) -> list[StateTransform] | None:
        """How each state differs from the one with most steps of its action."""
        if self.transform_table is None or self.state_actions is None or self.coaction is None:
            return None
        return self.transform_table.rows(self.state_actions, self.coaction)

    @cached_property
    def steps_by_action(self) -> IntArray | None:
        """Steps of each state in each action, (n_states, n_actions)."""
        if self.actions is None:
            return None
        counts = np.zeros((self.states.number, self.actions.number), dtype=np.int64)
        np.add.at(counts, (self.states.flat, self.actions.flat), 1)
        return counts

    def state_groups(self, n_actions: int) -> IntArray:
        """Return the action of every state if states are merged to a number of actions, by the order of `merges`."""
        if self.merges is None or self.merge_gains is None:
            raise InputError(f"{self.provenance.model} has no order in which states are merged: use ActionHMM.")
        n_states = len(self.merges) + 1
        if check_count(n_actions, "n_actions") > n_states:
            raise InputError(
                f"n_actions is {n_actions}, but only {n_states} states were found, which are not split further. "
                "Make least_stay= smaller to find finer states.",
                "n_actions",
                "least_stay",
            )
        merged = [(first, second) for first, second in self.merges.tolist()]
        return MergeTree(merged, self.merge_gains.tolist()).labels(n_states, n_actions)

    def actions_at(self, n_actions: int) -> list[IntArray]:
        """Return the action of every step with another number of actions, without sampling again.

        States are merged in the order of least loss; `merge_gains` has what each merge gains, in nats.

        Parameters
        ----------
        n_actions : int
            From 1 to the number of states.

        Returns
        -------
        actions : list of ndarray of int, shape (n_steps_i,)
        """
        return self.states.split(relabel_by_size(self.state_groups(n_actions)[self.states.flat]))

    @property
    def headline(self) -> str:
        """The outcome in one sentence."""
        labels, states = self.labels, number_of(self.states.number, "state")
        found = states if self.actions is None else f"{number_of(labels.number, 'action')} ({states})"
        n_segments = number_of(len(labels.segments), "segment")
        return f"{number_of(len(self.names), 'recording')} in {n_segments} of {found}"

    def tables(self) -> dict[str, Iterable[Row]]:
        """Return segments, changes, labels and, where they are known, those of actions, transformations and frames."""
        return segmentation_tables(self)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Partition(_Base):
    """Clusters of matrices or points.

    Parameters
    ----------
    provenance : Provenance
    labels : ndarray of int, shape (n_items,)
        Cluster of each item, numbered from 0 by decreasing size.
    basis : str
        What clusters rest on, in words: "shape", "points" and so on.
    draws : ndarray of int, shape (n_draws, n_sampled), optional
        Draws that count, of all items or of a sample.
    map_labels : ndarray of int, shape (n_sampled,), optional
        Most probable draw.
    placed_probability : ndarray of shape (n_items,), optional
        Probability of each label where draws are not of all items, or there are too many for all pairs.
    embedding : ndarray of shape (n_items, n_dims), optional
        Coordinates that were clustered.
    similarity : ndarray of shape (n_items, n_items), optional
    matrices : ndarray of shape (n_items, n_dims, n_dims), optional
        What was clustered, where the model keeps it.
    n_dims : int, optional
        Rows of each matrix; None if points were clustered.
    one_cluster_probability : float, optional
        Probability that all items are one cluster.
    nearly_singular : ndarray of int, optional
        Matrices with a nearly vanishing eigenvalue.
    numbers : ndarray of int, shape (n_items,), optional
        Number of each item in the file it came from.
    spatial : bool
        Whether matrices could link to their neighbours in an image.
    n_labels : int, optional
        Number of clusters that there could be. Default: those that items are in.
    chains : Chains, optional
    """

    provenance: Provenance
    labels: IntArray
    basis: str
    draws: IntArray | None = None
    map_labels: IntArray | None = None
    placed_probability: FloatArray | None = None
    embedding: FloatArray | None = None
    similarity: FloatArray | None = None
    matrices: FloatArray | None = None
    n_dims: int | None = None
    one_cluster_probability: float | None = None
    nearly_singular: IntArray | None = None
    numbers: IntArray | None = None
    spatial: bool = False
    n_labels: int | None = None
    chains: Chains | None = None

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.labels.max()) + 1 if self.n_labels is None else self.n_labels

    @cached_property
    def coclustering(self) -> FloatArray | None:
        """Share of the draws in which two items are in one cluster; None where draws are not of all pairs."""
        if self.draws is None or self.placed_probability is not None:
            return None
        return coclustering(self.draws)

    @cached_property
    def probability(self) -> FloatArray | None:
        """Probability that each item belongs to its cluster, (n_items,)."""
        if self.placed_probability is not None or self.coclustering is None:
            return self.placed_probability
        return membership(self.coclustering, self.labels)

    @property
    def item(self) -> Literal["item", "matrix"]:
        """What was clustered."""
        return "item" if self.n_dims is None else "matrix"

    @property
    def items(self) -> Literal["items", "matrices"]:
        """Plural of `item`."""
        return "items" if self.n_dims is None else "matrices"

    @property
    def headline(self) -> str:
        """The outcome in one sentence."""
        size = "" if self.n_dims is None else f" of {self.n_dims} x {self.n_dims}"
        items = f"{len(self.labels)} {self.item if len(self.labels) == 1 else self.items}{size}"
        return f"{items} in {number_of(self.n_clusters, 'cluster')}"

    def tables(self) -> dict[str, Iterable[Row]]:
        """Return the table of labels: the cluster of every item."""
        return {"labels": partition_rows(self)}


Result: TypeAlias = Segmentation | Partition
