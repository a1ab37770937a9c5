"""What is traced and kept of a chain over paths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from homothety.models.hdphmm.model import log_likelihood, log_path_prior
from homothety.sampling.driver import Recording

if TYPE_CHECKING:
    from homothety.arrays import IntArray
    from homothety.models.hdphmm.model import Model
    from homothety.models.hdphmm.state import ChainState


def trace_scalars(model: Model, state: ChainState, infos: dict[str, Any]) -> dict[str, float]:  # noqa: ARG001
    """Return log joint, its likelihood part, number of states in use and concentrations of one sweep."""
    likelihood = log_likelihood(model, state)
    return {
        "log_joint": log_path_prior(model, state) + likelihood,
        "log_likelihood": likelihood,
        "n_states": state.n_used,
        "mass": state.mass,
        "concentration": state.concentration,
        "self_share": state.self_share,
    }


def keep_paths(state: ChainState) -> IntArray:
    """Return what is kept of a state after burn-in: the paths (n_steps,), series one after the other."""
    return state.paths


RECORDING = Recording(scalars=trace_scalars, keep=keep_paths)
