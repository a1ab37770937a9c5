"""What commands say of chains: whether they agree, and how to get a longer run."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.errors import ConvergenceWarning, NearlySingularWarning
from homothety.estimators.sampled import SampledChains, weights_in_words

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def verdict_follows() -> Iterator[None]:
    """Keep a fit from warning of what is told with its outcome: chains that differ, matrices nearly singular."""
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


def chains_agree(model: Any) -> bool | None:
    """Return whether the chains agree; None if that cannot be said."""
    try:
        return model.diagnose().agree if isinstance(model, SampledChains) else None
    except ImportError:
        return None


def verdict(model: Any) -> str:
    """Return in plain words whether the chains have run long enough."""
    if not isinstance(model, SampledChains):
        return "One fit by EM: there are no chains to compare, and nothing is known of how sure it is."
    try:
        found = model.diagnose()
    except ImportError:
        return "Whether the chains agree is not known: pip install 'homothety[diagnostics]' brings what tells it."
    if found.agree:
        return f"{found.text[0].upper()}{found.text[1:]}"
    if n_compared(model) == 1:
        return "Only one chain has kept sweeps, and there is nothing to compare it with. Let several run to their end."
    weighted = weights_in_words(model)
    return (
        f"The chains do not agree yet, and another run may say something else. {remedy(model)} "
        f"{f'{weighted} ' * bool(weighted)}({found.text})"
    )


def remedy(model: SampledChains) -> str:
    """Return how to get a longer run."""
    return f"Try --sweeps {2 * model.n_sweeps_}, with which homothety resume goes on from here."


def n_compared(model: SampledChains) -> int:
    """Return the number of chains with a kept sweep."""
    return int(np.isfinite(model.trace_["log_joint"][:, model.n_burn_ :]).any(axis=1).sum())
