"""Every error and warning the library raises of its own, so that callers can catch them by name."""


class InputError(ValueError):
    """Input that cannot be used; the message names the item, what was found, what is needed and what to do."""


class NotSPDError(InputError):
    """A matrix that has to be symmetric positive definite and is not."""


class CheckpointError(InputError):
    """A checkpoint that cannot be read, or belongs to another run; the message names what differs."""


class ClusterError(OSError):
    """A cluster that lost work it was given; what was written to disk until then is there."""


class HomothetyWarning(UserWarning):
    """Base of all warnings of this library."""


class FlooredEigenvaluesWarning(HomothetyWarning):
    """Some eigenvalues were too small to take ratios of and were raised to the floor."""


class EmbeddingWarning(HomothetyWarning):
    """The similarity carries so little structure that its spectral embedding says next to nothing."""


class RestingRecordingWarning(HomothetyWarning):
    """A recording does not move, so that its frame cannot be inferred."""


class StraightRecordingsWarning(HomothetyWarning):
    """All recordings lie on straight lines, which tell less than paths in a plane or in space."""


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
