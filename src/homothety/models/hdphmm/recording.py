"""What is traced and kept of a chain over paths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from homothety.models.hdphmm.model import log_likelihood, log_path_prior
from homothety.models.hdphmm.state import check_whole
from homothety.sampling.driver import Recording
from homothety.sampling.paths import RunPath, count_segments, occupancy_entropy

if TYPE_CHECKING:
    from homothety.models.hdphmm.model import Model
    from homothety.models.hdphmm.state import ChainState


def trace_scalars(model: Model, state: ChainState, infos: dict[str, Any]) -> dict[str, float]:  # noqa: ARG001
    """Return numbers of one sweep that do not depend on how states are numbered."""
    check_whole(state, "What is recorded of a sweep")
    likelihood = log_likelihood(model, state)
    return {
        "log_joint": log_path_prior(model, state) + likelihood,
        "log_likelihood": likelihood,
        "n_states": state.n_used,
        "n_segments": count_segments(state.path, model.sequences.starts),
        "occupancy_entropy": occupancy_entropy(state.path),
        "mass": state.mass,
        "concentration": state.concentration,
        "self_share": state.self_share,
    }


def keep_path(state: ChainState) -> RunPath:
    """Return what is kept of a state after burn-in: its path."""
    return RunPath.of(state.path)


RECORDING = Recording(scalars=trace_scalars, keep=keep_path)
