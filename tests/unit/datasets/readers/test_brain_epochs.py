"""Epochs of MNE, from files and as they are; skipped where MNE is not installed."""

from __future__ import annotations

import numpy as np
import pytest

from homothety.covariance import sample_covariances
from homothety.datasets import epochs_covariances, read_matrices, read_sequences
from homothety.errors import InputError
from homothety.sequences import check_sequences

mne = pytest.importorskip("mne")


@pytest.fixture
def epochs(rng):
    info = mne.create_info(["Fz", "Cz", "Pz", "EOG"], 100.0, ["eeg", "eeg", "eeg", "eog"])
    events = np.column_stack([np.arange(4) * 100, np.zeros(4, int), [1, 2, 1, 1]])
    data = rng.normal(size=(4, 4, 50)) * 1e-5
    return mne.EpochsArray(data, info, events, event_id={"left": 1, "right": 2}, verbose="ERROR")


def test_covariances_of_epochs(epochs, tmp_path):
    epochs.save(tmp_path / "demo-epo.fif", fmt="double", verbose="ERROR")
    data = epochs.get_data(picks="eeg").swapaxes(1, 2)
    for read in (read_matrices(tmp_path / "demo-epo.fif"), epochs_covariances(epochs)):
        np.testing.assert_allclose(read.matrices, sample_covariances(data, shrinkage="ledoit-wolf"), rtol=1e-12)
        assert read.labels.tolist() == ["left", "right", "left", "left"]
    plain = epochs_covariances(epochs, shrinkage=None).matrices
    np.testing.assert_allclose(plain, sample_covariances(data), rtol=1e-12)
    series = read_sequences(tmp_path / "demo-epo.fif", columns=["Pz", "Fz"])
    np.testing.assert_allclose(series.sequences[2], data[2][:, [2, 0]], rtol=1e-12)


def test_epochs_tell_the_rate(epochs, tmp_path):
    epochs.save(tmp_path / "demo-epo.fif", verbose="ERROR")
    read = read_sequences(tmp_path / "demo-epo.fif")
    assert check_sequences(read).rate == read.rate == 100


def test_channels_in_other_units_are_told_apart(epochs):
    mixed = epochs.copy().set_channel_types({"Pz": "ecog"}, verbose="ERROR")
    with pytest.raises(InputError, match="channels of these kinds: ecog, eeg; needed one of them"):
        epochs_covariances(mixed)
    assert epochs_covariances(mixed, kind="eeg").matrices.shape == (4, 2, 2)
