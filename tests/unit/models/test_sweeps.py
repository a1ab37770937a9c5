"""Sweeps in other orders, and states that do not fit: a right answer or an error that says what to do, never a crash."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import partial
from itertools import islice

import numpy as np
import pytest
from numpy.random import SeedSequence

import naive_frames
from homothety.covariance.variants import SPCM_VARIANTS
from homothety.distributions import NIW
from homothety.errors import InputError, SweepError
from homothety.models import crp, ddcrp, frames, hdphmm, ibphmm, icsc, ordered
from homothety.models.crp import recording as crp_recording
from homothety.models.ddcrp import recording as ddcrp_recording
from homothety.models.emissions import Emission
from homothety.models.emissions.statistics import statistics_of
from homothety.models.hmm.stays import has_short_stay, transition_steps
from homothety.sampling import iterate, run_chain
from homothety.sequences import check_sequences

N_SWEEPS = 3
N_ITEMS = 8
BASE = NIW(np.zeros(2), 1.0, np.eye(2), 5.0)


def make_ibphmm():
    rng = np.random.default_rng(0)
    series = [rng.normal(size=(n, 2)) + 4.0 * (np.arange(n)[:, None] // 5 % 2) for n in (20, 15, 18)]
    emission = Emission.gaussian(np.zeros(2), 1.0, np.eye(2), 5.0)
    model = ibphmm.Model.from_sequences(check_sequences(series), emission)
    model = replace(model, leaving=0.2, leaving_range=(0.01, 0.5))
    return model, ibphmm.init_state(rng, model)


def make_icsc():
    model = icsc.Model(make_ibphmm()[0], n_adapt=N_SWEEPS)
    start = partial(ibphmm.init_from_clusters, n_clusters=4)
    return model, icsc.init_state(np.random.default_rng(0), model, start)


def make_frames():
    world = naive_frames.FrameWorld(n_series=3, n_steps=5, least_stay=2, leaving=0.3)
    return naive_frames.draw_world(np.random.default_rng(2), world)


def make_hdphmm():
    series = [np.random.default_rng(n).normal(size=(n, 2)) for n in (20, 12)]
    model = hdphmm.Model(check_sequences(series), BASE, n_states=4)
    return model, hdphmm.init_state(np.random.default_rng(0), model)


def make_points():
    return np.random.default_rng(0).normal(size=(N_ITEMS, 2))


def make_crp():
    model = crp.Model(make_points(), BASE)
    return model, crp.init_state(model)


def make_ddcrp():
    points = make_points()
    similarity = np.exp(-np.square(points[:, None] - points).sum(axis=2))
    model = ddcrp.Model.from_similarity(points, similarity, BASE)
    return model, ddcrp.init_state(model)


def make_ordered():
    spectra = np.sort(np.random.default_rng(0).gamma(2.0, size=(N_ITEMS, 3)), axis=1)
    similarity = ordered.PairSimilarity.of_spectra(spectra, SPCM_VARIANTS["log"], 1.0)
    model = ordered.Model(make_points(), similarity, BASE)
    return model, ordered.init_state(model)


MAKERS = {
    "ibphmm": make_ibphmm,
    "icsc": make_icsc,
    "frames": make_frames,
    "hdphmm": make_hdphmm,
    "crp": make_crp,
    "ddcrp": make_ddcrp,
    "ordered": make_ordered,
}
SWEEPS = {
    "ibphmm": ibphmm.default_sweep(collapsed_births=True),
    "icsc": icsc.default_sweep(collapsed_births=True),
    "frames": frames.default_sweep(collapsed_births=True),
    "hdphmm": hdphmm.default_sweep(),
    "crp": crp.default_sweep(sample_concentration=True),
    "ddcrp": ddcrp.default_sweep(sample_concentration=True),
    "ordered": ordered.default_sweep(),
}
RECORDINGS = {
    "ibphmm": ibphmm.RECORDING,
    "icsc": icsc.RECORDING,
    "frames": frames.RECORDING,
    "hdphmm": hdphmm.RECORDING,
    "crp": crp_recording.RECORDING,
    "ddcrp": ddcrp_recording.RECORDING,
    "ordered": ordered.RECORDING,
}


def in_order(kind, names):
    return {name: SWEEPS[kind][name] for name in names}


def omissions():
    return [(kind, left_out) for kind, sweep in SWEEPS.items() for left_out in sweep]


def swaps():
    return [(kind, *pair) for kind, sweep in SWEEPS.items() for pair in zip(list(sweep), list(sweep)[1:], strict=False)]


def outcome(kind, sweep):
    """Return the name of the move that is missing, or None after some sweeps that end in a state that fits."""
    model, state = MAKERS[kind]()
    try:
        for reached, infos in islice(iterate(np.random.default_rng(1), model, state, sweep), N_SWEEPS):
            model.check_state(reached)
            scalars = RECORDINGS[kind].scalars(model, reached, infos)
            RECORDINGS[kind].keep(reached)
            assert np.isfinite(scalars["log_joint"])
    except SweepError as error:
        assert error.remedy in SWEEPS[kind]
        assert f"Put the move '{error.remedy}' between them" in str(error)
        return error.remedy
    return None


# Of orders that do not work, the move that has to come before the one that fails.
SEGMENTATION_WITHOUT = {"paths": "paths", "emissions": "emissions", "weights": "weights"}
WITHOUT = {
    "ibphmm": SEGMENTATION_WITHOUT,
    "icsc": SEGMENTATION_WITHOUT | {"clusters": "clusters"},
    "frames": SEGMENTATION_WITHOUT,
    "hdphmm": {"tables": "tables", "weights": "weights", "transitions": "transitions"},
}
SEGMENTATION_SWAPPED = {
    ("births and deaths", "paths"): "paths",
    ("paths", "splits and merges"): "paths",
    ("collapsed births and deaths", "emissions"): "emissions",
}
SWAPPED = {
    "ibphmm": SEGMENTATION_SWAPPED,
    "icsc": SEGMENTATION_SWAPPED | {("clusters", "coupling"): "clusters"},
    "frames": SEGMENTATION_SWAPPED | {("sharing of frames", "shared features"): "paths"},
    "hdphmm": {
        ("paths", "tables"): "transitions",
        ("tables", "concentration"): "tables",
        ("mass", "weights"): "tables",
        ("weights", "transitions"): "weights",
    },
}


@pytest.mark.parametrize(("kind", "left_out"), omissions())
def test_a_sweep_without_one_of_its_moves(kind, left_out):
    sweep = in_order(kind, [name for name in SWEEPS[kind] if name != left_out])
    assert outcome(kind, sweep) == WITHOUT.get(kind, {}).get(left_out)


@pytest.mark.parametrize(("kind", "first", "second"), swaps())
def test_a_sweep_with_two_neighbours_swapped(kind, first, second):
    names = list(SWEEPS[kind])
    place = names.index(first)
    names[place : place + 2] = second, first
    assert outcome(kind, in_order(kind, names)) == SWAPPED.get(kind, {}).get((first, second))
