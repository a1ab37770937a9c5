"""Fitting a model for a command: what is said before and while it runs, and where its data came from."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from homothety.errors import ConvergenceWarning, NearlySingularWarning
from homothety.estimators.sampled import SampledChains

if TYPE_CHECKING:
    from collections.abc import Iterator

    from homothety.cli.console import Console


def fit(model: Any, data: Any, console: Console, *, size: str, source: str, **options: Any) -> None:
    """Fit a model, saying so; an interrupt ends it early with whatever was sampled by then.

    Parameters
    ----------
    model : estimator
    data : object
        What `fit` takes.
    console : Console
    size : str
        How much data there is, in words.
    source : str
        Where the data came from.
    **options
        Of `fit`.
    """
    is_sampled = isinstance(model, SampledChains)
    if is_sampled:
        console.say(f"Sampling {planned(model)} over {size}")
        model.set_params(progress=console.shows_progress)
    else:
        console.say(f"Fitting {type(model).__name__} to {size}")
    with _told_with_the_outcome():
        model.fit(data, **options)
    if is_sampled:
        model.set_params(progress=False)
    model.result_ = replace(model.result_, provenance=replace(model.result_.provenance, source=source))


@contextmanager
def _told_with_the_outcome() -> Iterator[None]:
    """Keep a fit from warning of what the document says: chains that differ, matrices that are nearly singular."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", NearlySingularWarning)
        yield


def planned(model: SampledChains) -> str:
    """Return how many sweeps will be made, in words."""
    if model.n_sweeps != "auto":
        return f"{model.n_chains} chains of {model.n_sweeps} sweeps"
    if model.n_chains == 1:
        return f"1 chain of {model.auto_sweeps.alone} sweeps"
    first, most, _ = model.auto_sweeps
    return f"{model.n_chains} chains of {first} sweeps, up to {most} until they agree,"
