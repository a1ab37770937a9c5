"""All errors and warnings that the library defines, so that callers can catch them by name."""

from __future__ import annotations


class _Message(Exception):  # noqa: N818
    """A message that knows which parameters it names, so that the command line can name its options instead.

    Parameters
    ----------
    message : str
    *parameters : str
        Each stands at the beginning of the message, or wherever ``=`` follows it.
    item : int, optional
        Number of the matrix that the message calls ``X[item]``.
    """

    def __init__(self, message: str = "", *parameters: str, item: int | None = None) -> None:
        super().__init__(message)
        self.parameters, self.item = parameters, item


class InputError(_Message, ValueError):
    """Input that cannot be used; the message names the item, what was found, what is needed and what to do."""


class NotSPDError(InputError):
    """A matrix that has to be symmetric positive definite and is not."""


class SweepError(InputError):
    """A part of a state is needed that an earlier move left out of date; the message names the move that redraws it.

    Parameters
    ----------
    part : str
        What is out of date.
    remedy : str
        Name, in the default sweep, of the move that redraws it.
    needed_by : str
        Who needs it, at the beginning of a sentence.
    """

    def __init__(self, part: str, remedy: str, needed_by: str = "This move") -> None:
        super().__init__()
        self.args = (part, remedy, needed_by)  # what a copy in another process is made from
        self.part, self.remedy, self.needed_by = part, remedy, needed_by

    def __str__(self) -> str:
        return (
            f"{self.needed_by} needs the {self.part} of the state, which an earlier move left out of date. Put the "
            f"move {self.remedy!r} between them; default_sweep() has an order that works."
        )


class CheckpointError(InputError):
    """A checkpoint that cannot be read, or belongs to another run; the message names what differs."""


class ClusterError(OSError):
    """A cluster that lost work it was given; what was written to disk until then is there."""


class HomothetyWarning(_Message, UserWarning):
    """Base of all warnings of this library."""


class FlooredEigenvaluesWarning(HomothetyWarning):
    """Some eigenvalues were too small to take ratios of and were raised to the floor."""


class NearlySingularWarning(HomothetyWarning):
    """Some matrices are nearly singular, as if an eigenvalue had been clipped, and may form clusters of their own."""


class EmbeddingWarning(HomothetyWarning):
    """The similarity carries so little structure that its spectral embedding says next to nothing."""


class RestingRecordingWarning(HomothetyWarning):
    """A recording does not move, so that its frame cannot be inferred."""


class MissingCoordinateWarning(HomothetyWarning):
    """Every recording lacks a coordinate of a point or vector, so that frames may be found wrongly."""


class StraightRecordingsWarning(HomothetyWarning):
    """All recordings lie on straight lines, which tell less than paths in a plane or in space."""


class DataWarning(HomothetyWarning):
    """Recordings have a fault that may spoil a fit: outliers, dead sensors, copies, pauses, or others."""


class UnevenTimesWarning(HomothetyWarning):
    """Times of recordings are uneven or differ in their rate, so that results are in steps and not in seconds."""


class FewerActionsWarning(HomothetyWarning):
    """Fewer actions are reported than asked for, since fewer states were found."""


class ShortChainWarning(HomothetyWarning):
    """A chain was too short for what was asked of it."""


class ConvergenceWarning(HomothetyWarning):
    """Chains do not agree; the message names the quantity they differ in, its R-hat, and what to do."""


class CheckpointWarning(HomothetyWarning):
    """A checkpoint could not be written; the run goes on, and the last good checkpoint is untouched."""
