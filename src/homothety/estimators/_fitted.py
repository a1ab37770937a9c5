"""What all estimators do at the beginning and at the end of a fit, and how fitted attributes read the result."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from time import perf_counter
from typing import Any

from sklearn.utils.validation import check_is_fitted

from homothety.persistence import Saveable
from homothety.summaries.result import Provenance


class ResultPart:
    """A fitted attribute that reads a part of `result_`. Where the model has no such part, there is no attribute."""

    def __init__(self, path: str, doc: str = "") -> None:
        self.path, self.__doc__ = path, doc

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        if model is None:
            return self
        check_is_fitted(model)
        value = attrgetter(self.path)(model.result_)
        if value is None:
            raise AttributeError(f"{type(model).__name__} has no {self.name}.")
        return value


def part(path: str) -> Any:
    """Return a fitted attribute that reads the part of `result_` with this dotted name."""
    return ResultPart(path)


class Fitted(Saveable):
    """Base of the estimators with a `result_`."""

    result_: Any

    def _begin_fit(self) -> None:
        """Remove everything that an earlier fit has set: a fit that fails must not leave parts of two fits."""
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)
        self._begun = perf_counter()

    def _amend(self, **parts: Any) -> None:
        """Set parts of the result."""
        self.result_ = replace(self.result_, **parts)

    def _provenance(self) -> Provenance:
        """Return how the result comes about, with the seconds since the fit began."""
        return Provenance.of(self, perf_counter() - self._begun)
