"""Recordings of the brain by MNE: epochs as covariance matrices, and as series."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.datasets.readers.checks import blame_file, check_stack
from homothety.datasets.readers.columns import take_columns
from homothety.datasets.readers.options import require
from homothety.datasets.sets import MatrixSet, SequenceSet
from homothety.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from homothety.arrays import FloatArray
    from homothety.covariance.estimate import Shrinkage
    from homothety.datasets.readers.options import ReadingOptions

REMEDY = "Needed epochs as MNE writes them: epochs.save('name-epo.fif')."


def read_epochs(path: Path, kind: str | None) -> MatrixSet:
    """Read one covariance matrix per epoch of a .fif file, labelled by its event."""
    return epochs_covariances(_load_epochs(path), kind=kind, name=_stem(path))


def read_epochs_series(path: Path, options: ReadingOptions) -> SequenceSet:
    """Read one series per epoch of a .fif file."""
    stem = _stem(path)
    epochs = _load_epochs(path)
    data, channels = _measured(epochs, options.variable, str(path))
    taken = [take_columns(np.ascontiguousarray(one.T), options.columns, channels, path) for one in data]
    names = tuple(f"{stem} {i}" for i in range(len(taken)))
    rate = float(epochs.info["sfreq"])
    return SequenceSet([steps for steps, _ in taken], None, None, names, taken[0][1], stem, rate=rate)


def epochs_covariances(
    epochs: Any, *, kind: str | None = None, shrinkage: Shrinkage = "ledoit-wolf", name: str = "epochs"
) -> MatrixSet:
    """Return the covariance of the channels in each epoch.

    Parameters
    ----------
    epochs : mne.Epochs
        Bad channels are left out, as everywhere in MNE.
    kind : str, optional
        Which channels, such as ``"eeg"`` or ``"mag"``; needed where there are several kinds, whose units differ.
    shrinkage : {"ledoit-wolf", "oas"}, float or None, default="ledoit-wolf"
        See `sample_covariance`. Without any, epochs of few samples, or an average reference, leave matrices that are
        not positive definite.
    name : str, default="epochs"
        What the set is called in tables and figures.

    Returns
    -------
    covariances : MatrixSet
        Their labels are the names of the events.
    """
    from homothety.covariance import sample_covariances  # here, because reading anything else needs none of it

    data, _ = _measured(epochs, kind, name)
    covariances = sample_covariances(np.swapaxes(data, 1, 2), shrinkage=shrinkage)
    return MatrixSet(check_stack(covariances, name), _events(epochs), name)


def _measured(epochs: Any, kind: str | None, item: str) -> tuple[FloatArray, tuple[str, ...]]:
    """Return the data of one kind of channel, shape (n_epochs, n_channels, n_times), and the names of the channels."""
    kinds = sorted(set(epochs.get_channel_types(picks="data")))
    if (kind is None and len(kinds) != 1) or (kind is not None and kind not in kinds):
        found = ", ".join(kinds) or "none"
        raise InputError(f"{item} has channels of these kinds: {found}; needed one of them. Choose with variable=.")
    chosen = epochs.copy().pick(kind or kinds[0], exclude="bads")
    if len(chosen) == 0:
        raise InputError(f"{item} has no epochs that were not dropped, needed at least one.")
    return chosen.get_data(), tuple(chosen.ch_names)


def _load_epochs(path: Path) -> Any:
    """Load the epochs in a file."""
    mne = require("mne", "mne", f"Reading {path}")
    with blame_file(path, REMEDY):
        return mne.read_epochs(path, verbose="ERROR")


def _events(epochs: Any) -> NDArray[Any]:
    """Return the name of the event of every epoch."""
    names = {number: name for name, number in epochs.event_id.items()}
    return np.array([names.get(number, str(number)) for number in epochs.events[:, 2].tolist()])


def _stem(path: Path) -> str:
    """Return the file's name without .fif or .fif.gz."""
    return path.name.removesuffix(".gz").removesuffix(".fif")
