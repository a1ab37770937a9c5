"""What estimators do with outliers and dead sensors: missing by default, and told."""

from __future__ import annotations

import numpy as np
import pytest

from homothety import IBPHMM, ActionHMM, StickyHDPHMM
from homothety.datasets import make_demonstrations, make_toy_2d
from homothety.errors import DataWarning
from homothety.metrics import hamming
from homothety.preprocessing import Preprocessing
from homothety.sequences import check_sequences

FEW = {"n_chains": 1, "n_sweeps": 40, "random_state": 0}


@pytest.fixture(scope="module")
def toy():
    return make_toy_2d(0, n_steps=150)


def with_spikes(parts, size=1000.0):
    spoilt = [one.copy() for one in parts]
    for i, one in enumerate(spoilt):
        one[20 + i, 0] = size
    return spoilt


@pytest.mark.parametrize("make", [IBPHMM, StickyHDPHMM])
def test_outliers_are_missing_values(make, toy):
    spoilt = with_spikes(toy.sequences)
    gappy = with_spikes(toy.sequences, np.nan)
    with pytest.warns(DataWarning, match="1 outlier in channel 0; the largest is 1000"):
        model = make(**FEW).fit(spoilt)
    expected = make(**FEW).fit(gappy)
    for found, path in zip(model.paths_, expected.paths_, strict=True):
        np.testing.assert_array_equal(found, path)
    assert len(model.findings_) == len(spoilt)
    assert expected.findings_ == ()
    with pytest.warns(DataWarning, match="1 outlier"):
        found = model.predict(spoilt)
    for one, path in zip(found, expected.predict(gappy), strict=True):
        np.testing.assert_array_equal(one, path)


def test_outliers_that_are_kept_are_told(toy):
    with pytest.warns(DataWarning, match="A fit uses these values"):
        model = IBPHMM(outliers="keep", **FEW).fit(with_spikes(toy.sequences))
    assert np.abs(model.means_).max() > 10  # a state of their own, or one drawn towards them


def test_autoregressive_states_keep_outliers(toy):
    with pytest.warns(DataWarning, match="A fit uses these values"):
        IBPHMM(emission="autoregressive", n_chains=1, n_sweeps=4, random_state=0).fit(with_spikes(toy.sequences))


def test_an_unknown_choice_is_refused(toy):
    with pytest.raises(ValueError, match="outliers is 'drop', needed"):
        IBPHMM(outliers="drop").fit(toy.sequences)


def test_velocities_do_not_smear_an_outlier():
    parts = make_demonstrations(0).sequences
    preparation = Preprocessing(velocities="append", smooth=9)
    model = IBPHMM(preprocessing=preparation, n_chains=1, n_sweeps=2, random_state=0)
    clean = check_sequences(parts)
    cleaned = model._examined(clean).cleaned(clean)
    spoilt = check_sequences(with_spikes(parts))
    with pytest.warns(DataWarning, match="outlier"):
        mended = model._examined(spoilt).cleaned(spoilt)
    fitted = preparation.fit(cleaned)
    expected, found = fitted.transform(cleaned).steps, fitted.transform(mended).steps
    assert np.isnan(found).sum() == 2 * len(parts)  # the position, and its velocity
    spread = expected.std(axis=0)
    assert (np.nanmax(np.abs(found - expected), axis=0) < 0.2 * spread).all()


def test_actions_are_found_in_spite_of_outliers_and_a_dead_sensor():
    data = make_demonstrations(0, n_frames=2)
    spoilt = with_spikes(data.sequences)
    spoilt[1][:, 1] = spoilt[1][0, 1]
    with pytest.warns(DataWarning) as told:
        model = ActionHMM(**FEW).fit(spoilt)
    texts = [str(one.message) for one in told if one.category is DataWarning]
    assert sum("outlier in channel" in text for text in texts) == len(spoilt)
    assert sum("as if its sensor were dead" in text for text in texts) == 1
    assert hamming(np.concatenate(data.actions), np.concatenate(model.actions_)) < 0.1
    with pytest.warns(DataWarning):
        (values, *_), *_ = model.impute(spoilt)
    assert np.abs(values).max() < 100
