"""A run to report on: the fitted model, what it was fitted to, and what it takes to repeat it."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from homothety._version import __version__
from homothety.datasets import MatrixSet, SequenceSet
from homothety.errors import InputError
from homothety.sequences import check_sequences
from homothety.words import number_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from homothety.arrays import IntArray

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")


def versions() -> dict[str, str]:
    """Return the versions of everything that numbers may depend on."""
    return {"homothety": __version__, "python": platform.python_version()} | {name: version(name) for name in LIBRARIES}


@dataclass(frozen=True, eq=False)
class Run:
    """A fitted model and what is known of how it came about.

    Parameters
    ----------
    model : estimator
        Fitted.
    items : SequenceSet or MatrixSet, optional
        What it was fitted to, where that is at hand.
    source : str
        Where that came from; empty if nobody knows.
    seconds : float, optional
        How long the fit took.
    index : ndarray of shape (n_matrices,), optional
        Number of each matrix in the file it came from.
    versions : mapping of str to str
        Of the library and what it stands on, at the time of the fit.
    """

    model: Any
    items: SequenceSet | MatrixSet | None = None
    source: str = ""
    seconds: float | None = None
    index: IntArray | None = None
    versions: Mapping[str, str] = field(default_factory=versions)

    @property
    def segments_series(self) -> bool:
        """Whether series were segmented; otherwise items were clustered."""
        return hasattr(self.model, "paths_")


def run_of(result: Any, data: Any = None) -> Run:
    """Return the run that a result of a command, or a fitted model with its data, is of."""
    if isinstance(result, Run):
        return result
    if hasattr(result, "model") and hasattr(result, "items"):
        return Run(result.model, result.items, result.source, result.seconds, getattr(result, "index", None))
    if not (hasattr(result, "fit") and hasattr(result, "get_params")):
        raise InputError(f"result is a {type(result).__name__}, needed a fitted model or the result of a command.")
    check_is_fitted(result)
    if not (hasattr(result, "paths_") or hasattr(result, "labels_")):
        raise InputError(
            f"result is a {type(result).__name__}, which neither segments nor clusters: nothing to report."
        )
    return Run(result, _items_of(result, data))


def _items_of(model: Any, data: Any) -> SequenceSet | MatrixSet | None:
    if data is None or isinstance(data, SequenceSet | MatrixSet):
        items = data
    elif hasattr(model, "paths_"):
        checked = check_sequences(data, allow_constant=True, min_steps=1)
        lengths = [len(path) for path in model.paths_]
        if len(checked) == 1 < len(lengths) and checked.lengths[0] == sum(lengths):
            # One array of all steps, as `fit` takes it with the lengths of the series in it.
            checked = check_sequences(checked[0], lengths=lengths, allow_constant=True, min_steps=1)
        items = SequenceSet([checked[i] for i in range(len(checked.lengths))], names=checked.names)
    else:
        items = None  # what clusterings need of their items they keep
    return _fitting(model, items)


def _fitting(model: Any, items: SequenceSet | MatrixSet | None) -> SequenceSet | MatrixSet | None:
    """Return items the model may have been fitted to, or raise."""
    if items is None:
        return None
    fitted = [len(path) for path in model.paths_] if hasattr(model, "paths_") else len(model.labels_)
    given = [len(one) for one in items.sequences] if isinstance(items, SequenceSet) else len(items)
    if fitted != given:
        raise InputError(
            f"data has {_size(given)}, but the model was fitted to {_size(fitted)}. Pass what it was fitted to."
        )
    return items


def _size(lengths: list[int] | int) -> str:
    if isinstance(lengths, int):
        return f"{lengths} items"
    return f"{number_of(len(lengths), 'recording')} of {sum(lengths)} steps"
