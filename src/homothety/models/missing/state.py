"""One point of the chain: that of the segmentation, and the missing values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from homothety.sampling.codec import storable

if TYPE_CHECKING:
    from homothety.arrays import FloatArray


@storable
@dataclass(frozen=True, eq=False)
class ChainState:
    """One point of the chain. Arrays are read-only.

    Parameters
    ----------
    inner : object
        State of the chain over complete recordings.
    values : ndarray of shape (n_missing,)
        The missing values, in the units of the prepared recordings, one step after the other.
    step : int
        Number of sweeps behind this state.
    """

    inner: Any
    values: FloatArray
    step: int = 0

    def __post_init__(self) -> None:
        self.values.setflags(write=False)
