"""What is traced and kept of a chain of the IBP-HMM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from homothety.models.ibphmm.model import log_joint
from homothety.models.ibphmm.state import check_whole
from homothety.sampling.driver import Recording
from homothety.sampling.paths import RunPath, count_segments, occupancy_entropy

if TYPE_CHECKING:
    from homothety.models.ibphmm.model import Model
    from homothety.models.ibphmm.state import ChainState


def trace_scalars(model: Model, state: ChainState, infos: dict[str, Any]) -> dict[str, float]:
    """Return numbers of one sweep that do not depend on how states are numbered, and acceptance by move."""
    check_whole(state, "What is recorded of a sweep")
    scalars = {
        "log_joint": log_joint(model, state),
        "n_states": state.n_used,
        "n_segments": count_segments(state.path, model.starts),
        "occupancy_entropy": occupancy_entropy(state.path),
        "n_features": state.n_features,
        "gamma": state.gamma,
        "mass": state.mass,
        "alpha": state.alpha,
        "kappa": state.kappa,
    }
    for name, info in infos.items():
        if hasattr(info, "n_tried"):
            scalars[f"acceptance: {name}"] = info.n_accepted / info.n_tried if info.n_tried else float("nan")
    return scalars


def keep_path(state: ChainState) -> RunPath:
    """Return what is kept of a state after burn-in: its path, by persistent numbers of features."""
    return RunPath.of(state.id_path)


RECORDING = Recording(scalars=trace_scalars, keep=keep_path)
