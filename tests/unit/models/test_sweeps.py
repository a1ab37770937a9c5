"""Sweeps in other orders and states that do not fit: a right answer, or an error that says what to do; no crash."""

from __future__ import annotations

import pickle
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice

import numpy as np
import pytest
from numpy.random import SeedSequence

import naive_frames
from homothety.covariance.measures import SPCM_VARIANTS
from homothety.distributions import NIW
from homothety.errors import InputError, SweepError
from homothety.models import crp, ddcrp, frames, hdphmm, ibphmm, icsc, ordered, shapes
from homothety.models.emissions import Emission
from homothety.models.emissions.regression import statistics_of
from homothety.models.hmm.labels import KnownLabels
from homothety.models.hmm.messages import has_short_stay, transition_steps
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


def make_labelled():
    model, _ = make_ibphmm()
    labels = np.full(model.n_steps, -1)
    labels[[2, 7, 25, 40]] = 0, 1, 1, 2
    model = replace(model, known=KnownLabels(labels))
    return model, ibphmm.init_state(np.random.default_rng(0), model)


def make_icsc():
    model = icsc.Model(make_ibphmm()[0], n_adapt=N_SWEEPS)
    start = partial(ibphmm.init_from_clusters, n_clusters=4)
    return model, icsc.init_state(np.random.default_rng(0), model, start)


def make_frames():
    world = naive_frames.FrameWorld(n_recordings=3, n_steps=5, least_stay=2, leaving=0.3)
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
    return model, ddcrp.init_state(model)


def make_shapes():
    points = make_points()
    model = shapes.Model(points, shapes.ClusterKinds.of_points(points, 0.1))
    return model, shapes.init_state(model, np.arange(N_ITEMS) % 3)


MAKERS = {
    "ibphmm": make_ibphmm,
    "labelled": make_labelled,
    "icsc": make_icsc,
    "frames": make_frames,
    "hdphmm": make_hdphmm,
    "crp": make_crp,
    "ddcrp": make_ddcrp,
    "ordered": make_ordered,
    "shapes": make_shapes,
}
SWEEPS = {
    "ibphmm": ibphmm.default_sweep(),
    "labelled": ibphmm.default_sweep(),
    "icsc": icsc.default_sweep(),
    "frames": frames.default_sweep(),
    "hdphmm": hdphmm.default_sweep(),
    "crp": crp.default_sweep(sample_concentration=True),
    "ddcrp": ddcrp.default_sweep(sample_concentration=True),
    "ordered": ordered.default_sweep(),
    "shapes": shapes.default_sweep(),
}
RECORDINGS = {
    "ibphmm": ibphmm.RECORDING,
    "labelled": ibphmm.RECORDING,
    "icsc": icsc.RECORDING,
    "frames": frames.RECORDING,
    "hdphmm": hdphmm.RECORDING,
    "crp": crp.RECORDING,
    "ddcrp": ddcrp.RECORDING,
    "ordered": ordered.RECORDING,
    "shapes": shapes.RECORDING,
}


def in_order(kind, names):
    return {name: SWEEPS[kind][name] for name in names}


def omissions():
    return [(kind, left_out) for kind, sweep in SWEEPS.items() for left_out in sweep]


def swaps():
    return [(kind, *pair) for kind, sweep in SWEEPS.items() for pair in zip(list(sweep), list(sweep)[1:], strict=False)]


def outcome(kind, sweep):
    """Return the move that an error asks for, or None after some sweeps that each end in a state that fits."""
    model, state = MAKERS[kind]()
    try:
        for reached, infos in islice(iterate(np.random.default_rng(1), model, state, sweep), N_SWEEPS):
            model.check_state(reached)
            scalars = RECORDINGS[kind].scalars(model, reached, infos)
            RECORDINGS[kind].keep(reached)
            assert np.isfinite(scalars["log_joint"])
    except SweepError as error:
        return error.remedy
    return None


# Of orders that do not work, the move that has to come before the one that fails.
SEGMENTATION_WITHOUT = {"paths": "paths", "emissions": "emissions", "weights": "weights"}
WITHOUT = {
    "ibphmm": SEGMENTATION_WITHOUT,
    "labelled": SEGMENTATION_WITHOUT | {"labels": "labels"},
    "icsc": SEGMENTATION_WITHOUT | {"clusters": "clusters"},
    "frames": SEGMENTATION_WITHOUT,
    "hdphmm": {"tables": "tables", "weights": "weights", "transitions": "transitions"},
}
SEGMENTATION_SWAPPED = {
    ("births and deaths", "paths"): "paths",
    ("paths", "halves and joins"): "paths",
}
LABELS_SWAPPED = {("swaps", "labels"): "labels"}
SWAPPED = {
    "ibphmm": SEGMENTATION_SWAPPED,
    "labelled": SEGMENTATION_SWAPPED | LABELS_SWAPPED,
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


# --- what is said ----------------------------------------------------------------------------------------------------


def test_the_error_names_the_move_that_fails_and_the_one_to_put_before_it():
    model, state = make_ibphmm()
    sweep = in_order("ibphmm", ["shared features", "splits and merges", "paths", "emissions", "weights"])
    chain = iterate(np.random.default_rng(0), model, state, sweep)
    message = "The move 'splits and merges' needs the path of the state, .* Put the move 'paths' between them"
    with pytest.raises(SweepError, match=message):
        next(chain)


def test_the_error_survives_the_way_from_another_process():
    error = pickle.loads(pickle.dumps(SweepError("path", "paths", "The move 'weights'")))
    assert str(error) == str(SweepError("path", "paths", "The move 'weights'"))


@pytest.mark.parametrize(("kind", "left_out"), [("ibphmm", "weights"), ("hdphmm", "transitions"), ("icsc", "clusters")])
def test_a_sweep_that_ends_out_of_date_is_not_recorded(kind, left_out):
    model, state = MAKERS[kind]()
    sweep = in_order(kind, [name for name in SWEEPS[kind] if name not in (left_out, "coupling")])
    with pytest.raises(SweepError, match=f"What is recorded of a sweep needs the .* Put the move '{left_out}'"):
        run_chain(SeedSequence(0), model, state, sweep, RECORDINGS[kind], n_sweeps=1, n_burn=0)


def test_a_state_out_of_date_has_no_log_joint():
    model, state = make_ibphmm()
    for part in ("path", "weights", "whiteners"):
        with pytest.raises(SweepError, match=f"The log joint needs the {part}"):
            ibphmm.log_joint(model, replace(state, **{part: None}))
    model, state = make_hdphmm()
    for part in ("weights", "initial", "transition", "means", "covariances"):
        with pytest.raises(SweepError, match=f"The log joint needs the {part}"):
            hdphmm.log_joint(model, replace(state, **{part: None}))


# --- states and models that do not fit -------------------------------------------------------------------------------


def spoiled(array):
    """Return an array in ways that compiled loops must not see."""
    yield from (array[:0], array[:-1], np.concatenate([array, array]), array[None], array.astype(np.float32))
    if array.dtype.kind == "i":
        yield from (np.full(array.shape, value) for value in (10**9, -1, -(10**9)))
        yield array.astype(object)
    if array.dtype.kind == "f":
        yield from (np.full(array.shape, value) for value in (np.nan, np.inf))
    if array.dtype.kind == "b":
        yield np.zeros(array.shape, dtype=bool)


ARRAYS = {
    "ibphmm": ["active", "ids", "weights", "whiteners", "path"],
    "labelled": ["tags", "path", "active"],
    "icsc": ["segmentation.path", "segmentation.whiteners", "clusters.ids", "clusters.links"],
    "frames": ["frames.labels", "frames.turns", "frames.log_sizes", "frames.places", "segmentation.path"],
    "hdphmm": ["path", "weights", "initial", "transition", "means", "covariances"],
    "crp": ["labels"],
    "ddcrp": ["links"],
    "ordered": ["links"],
    "shapes": ["labels", "kinds", "spreads", "log_shares"],
}
PARTS = [(kind, name) for kind, names in ARRAYS.items() for name in names]


def started(kind):
    """A model, and a state that has all parts."""
    model, state = MAKERS[kind]()
    return model, next(iterate(np.random.default_rng(0), model, state, SWEEPS[kind]))[0]


def spoiled_states(state, name):
    """Return a state with a part that does not fit, in several ways."""
    outer, _, inner = name.rpartition(".")
    owner = getattr(state, outer) if outer else state
    for value in spoiled(getattr(owner, inner)):
        changed = replace(owner, **{inner: value})
        yield replace(state, **{outer: changed}) if outer else changed


@pytest.mark.parametrize(("kind", "name"), PARTS)
def test_a_state_that_does_not_fit_is_refused(kind, name):
    model, state = started(kind)
    for wrong in spoiled_states(state, name):
        with pytest.raises(InputError):
            iterate(np.random.default_rng(0), model, wrong, SWEEPS[kind])


@pytest.mark.parametrize(("kind", "name"), PARTS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_no_single_move_crashes_on_a_state_that_does_not_fit(kind, name):
    # Moves look at sizes and labels only: what they need not look at passes, and so may numbers that are NaN.
    model, state = started(kind)
    for wrong in spoiled_states(state, name):
        for move in SWEEPS[kind].values():
            with suppress(ValueError, IndexError):
                move(np.random.default_rng(0), model, wrong)


@pytest.mark.parametrize("kind", MAKERS)
def test_arrays_in_another_layout_give_the_same_draws(kind):
    model, state = started(kind)
    arrays = {name: value for name, value in vars(state).items() if isinstance(value, np.ndarray)}
    strided = replace(state, **{name: np.repeat(value, 2, axis=-1)[..., ::2] for name, value in arrays.items()})
    for one, other in zip(arrays.values(), vars(strided).values(), strict=False):
        assert one is not other
    scalars = []
    for start in (state, strided):
        reached, infos = next(iterate(np.random.default_rng(3), model, start, SWEEPS[kind]))
        scalars.append(RECORDINGS[kind].scalars(model, reached, infos))
    assert scalars[0] == pytest.approx(scalars[1], rel=1e-12, nan_ok=True)


IBPHMM, ORDERED, DDCRP = make_ibphmm()[0], make_ordered()[0], make_ddcrp()[0]
STEPS, STARTS = IBPHMM.z, IBPHMM.starts
PATH = np.zeros(IBPHMM.n_steps, dtype=np.int64)
WHITENERS = make_ibphmm()[1].whiteners
CALLS = {
    "steps with a column less": lambda: replace(IBPHMM, z=STEPS[:, 1:]),
    "steps in single precision": lambda: replace(IBPHMM, z=STEPS.astype(np.float32)),
    "more steps": lambda: replace(IBPHMM, z=np.concatenate([STEPS, STEPS])),
    "starts beyond the end": lambda: replace(IBPHMM, starts=STARTS * 2),
    "starts that decrease": lambda: replace(IBPHMM, starts=STARTS[[0, 2, 1, 3]]),
    "starts that are negative": lambda: replace(IBPHMM, starts=STARTS - 1),
    "a series without steps": lambda: replace(IBPHMM, starts=STARTS[[0, 1, 1, 3]]),
    "no series": lambda: replace(IBPHMM, starts=STARTS[:1]),
    "steps that are NaN": lambda: iterate(None, replace(IBPHMM, z=STEPS * np.nan), make_ibphmm()[1], {}),
    "log evidence of other steps": lambda: IBPHMM.emission.log_evidence(STEPS[:, 1:], WHITENERS),
    "log evidence of other states": lambda: IBPHMM.emission.log_evidence(STEPS, WHITENERS[:, :1]),
    "statistics of other features": lambda: statistics_of(IBPHMM.emission, STEPS, PATH + 7, 3),
    "statistics of a short path": lambda: statistics_of(IBPHMM.emission, STEPS, PATH[1:], 3),
    "other series": lambda: ibphmm.series_log_likelihoods(*make_ibphmm(), np.array([0, 3])),
    "paths of other series": lambda: ibphmm.redrawn_paths(np.random.default_rng(0), *make_ibphmm(), np.array([-4])),
    "stays of other states": lambda: icsc.count_stays(PATH + 7, STARTS, 3),
    "stays of other series": lambda: icsc.count_stays(PATH, STARTS * 9, 3),
    "transitions of other series": lambda: transition_steps(PATH, STARTS * 9, 2),
    "short stays of other series": lambda: has_short_stay(PATH, STARTS * 9, 2),
    "links to other items": lambda: ddcrp.labels_from_links(np.array([0, 5, 1])),
    "links that are negative": lambda: ddcrp.labels_from_links(np.array([0, -5, 1])),
    "links in a table": lambda: ddcrp.labels_from_links(np.zeros((2, 2), dtype=np.int64)),
    "weights that are NaN": lambda: replace(DDCRP, weights=DDCRP.weights * np.nan),
    "negative weights": lambda: replace(DDCRP, weights=-DDCRP.weights),
    "weights of fewer items": lambda: replace(DDCRP, weights=DDCRP.weights[1:, 1:]),
    "points that are NaN": lambda: replace(DDCRP, points=DDCRP.points * np.nan),
    "similarity of fewer items": lambda: replace(ORDERED, similarity=ORDERED.similarity.take(slice(3))),
    "neighbors of fewer items": lambda: replace(ORDERED, neighbors=np.zeros((3, 2), dtype=np.int64)),
    "links that lead forward": lambda: ordered.log_joint(ORDERED, ddcrp.ChainState(np.full(N_ITEMS, 7), 1.0)),
    "no concentration": lambda: iterate(None, DDCRP, ddcrp.ChainState(np.arange(N_ITEMS), np.nan), {}),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_would_reach_beyond_its_arrays_is_refused(name):
    with pytest.raises(InputError):
        CALLS[name]()
