"""The model of recordings in frames: its joint density, its moves where they have nothing to do, candidates, starts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import naive_frames as naive
import naive_ibphmm
from homothety.errors import InputError
from homothety.models import ibphmm
from homothety.models.emissions import Emission
from homothety.models.frames import (
    Blocks,
    Frames,
    Model,
    Prior,
    candidates,
    default_sweep,
    identity_frames,
    init_state,
    log_joint,
    moves,
    search,
)
from homothety.models.frames.candidates import (
    angles_between,
    candidate_frames,
    chain_of,
    likely_frames,
    log_posterior,
)
from homothety.models.frames.frames import aligned_steps
from homothety.models.frames.intervals import interval_factors
from homothety.models.frames.model import ChainState, recorded_sums
from homothety.models.frames.moves import RECORDING
from homothety.models.frames.search import likeliest_frames, log_frame_volume, search_starts, shared_frames
from homothety.models.ibphmm.model import _log_hyperprior, _log_repeated_unused
from homothety.sampling import Checkpoints, run_chains

WORLDS = {
    "plane": naive.FrameWorld(n_recordings=3, n_steps=5, least_stay=2, leaving=0.3),
    "weights": naive.FrameWorld(n_recordings=3, n_steps=5, weights=(0.3, 0.8, 0.5)),
    "space": naive.FrameWorld(
        n_recordings=2, n_steps=4, blocks=Blocks(("point", "orientation", "vector"), shifted=(2,))
    ),
    "yaw": naive.FrameWorld(n_recordings=2, n_steps=4, blocks=Blocks(("orientation", "point"), rotations="yaw")),
    "shared for good": naive.FrameWorld(n_recordings=3, n_steps=3, sharing="fixed"),
}


# --- joint density ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WORLDS)
def test_log_joint_is_that_of_its_twin(name):
    rng, world = np.random.default_rng(1), WORLDS[name]
    for _ in range(3):
        model, state = naive.draw_world(rng, world)
        segmentation = state.segmentation
        used = np.bincount(segmentation.path, minlength=segmentation.n_states) > 0
        expected = naive.log_joint(model, state) + _log_hyperprior(model.segmentation.hyperpriors, segmentation)
        expected -= _log_repeated_unused(segmentation.active, used)
        assert log_joint(model, state) == pytest.approx(expected, rel=1e-9)


def test_trace_holds_the_log_joint():
    model, state = naive.draw_world(np.random.default_rng(2), WORLDS["plane"])
    found = RECORDING.scalars(model, state, {})
    assert found["log_joint"] == pytest.approx(log_joint(model, state))
    assert found["n_frames"] == state.frames.n_frames


def test_a_model_with_other_steps_aligns_those():
    model, state = naive.draw_world(np.random.default_rng(3), WORLDS["plane"])
    before = model.aligned(state.frames).z
    other = replace(model, steps=model.steps + 1.0)
    assert not np.allclose(other.aligned(state.frames).z, before)
    np.testing.assert_array_equal(model.aligned(state.frames).z, before)


def test_states_that_couple_blocks_are_refused():
    model, _ = naive.draw_world(np.random.default_rng(3), WORLDS["plane"])

    def with_emission(emission):
        segmentation = replace(model.segmentation, emission=emission, z=emission.augment_steps(model.steps))
        return replace(model, segmentation=segmentation)

    for emission in (
        Emission.gaussian(np.zeros(5), 1.0, np.eye(5), 8.0),
        Emission.gaussian_blocks([2, 3], [np.zeros(2), np.zeros(3)], [1.0] * 2, [np.eye(2), np.eye(3)], [5.0] * 2),
    ):
        with pytest.raises(InputError, match=r"couple block ., a .*gaussian_blocks with sizes \[2, 2, 1\]"):
            with_emission(emission)
    assert with_emission(Emission.gaussian(np.zeros(5), 1.0, np.eye(5), 8.0, diagonal=True)).blocks is model.blocks
    with pytest.raises(InputError, match="steps have 4 channels and states 5, but blocks 5"):
        replace(model, steps=model.steps[:, 1:])


# --- nothing to move -------------------------------------------------------------------------------------------------

PLAIN = naive.FrameWorld(n_recordings=3, n_steps=6, blocks=Blocks(("plain",) * 2, rotations="none"), sharing="fixed")


@pytest.mark.parametrize("least_stay", [1, 2])
def test_plain_channels_in_one_frame_are_the_plain_model_bit_for_bit(least_stay):
    world = replace(PLAIN, least_stay=least_stay)
    plain, segmentation = naive_ibphmm.draw_world(np.random.default_rng(4), world)
    steps = plain.z[:, plain.emission.n_regressors :]
    model = naive.frame_model(world, plain, steps)
    frames = identity_frames(world.blocks, np.zeros(3, dtype=np.int64))
    state = init_state(np.random.default_rng(5), model, frames=frames, start=lambda *_: segmentation)
    np.testing.assert_array_equal(model.aligned(frames).z, plain.z)
    ours, theirs = np.random.default_rng(6), np.random.default_rng(6)
    for _ in range(20):
        for move in default_sweep().values():
            state, _ = move(ours, model, state)
        for move in ibphmm.default_sweep().values():
            segmentation, _ = move(theirs, plain, segmentation)
        state, segmentation = replace(state, step=state.step + 1), replace(segmentation, step=segmentation.step + 1)
        for name in (
            "active",
            "ids",
            "weights",
            "whiteners",
            "path",
            "mass",
            "concentration",
            "alpha",
            "kappa",
            "next_id",
        ):
            np.testing.assert_array_equal(getattr(state.segmentation, name), getattr(segmentation, name))
    assert ours.bit_generator.state == theirs.bit_generator.state


def test_frames_that_may_move_do():
    # The same chain with a point: the test above could not tell a sampler that never moves frames.
    model, state = naive.draw_world(np.random.default_rng(7), WORLDS["plane"])
    rng, before = np.random.default_rng(8), state.frames
    after = moves._resample_frames(rng, model, state)[0].frames
    assert not np.isclose(after.log_sizes, before.log_sizes).any()
    assert not np.isclose(after.places, before.places).any()


# --- sums of steps ---------------------------------------------------------------------------------------------------


def test_sums_are_those_of_the_steps_of_a_frame():
    model, state = naive.draw_world(np.random.default_rng(9), WORLDS["plane"], labels=[0, 1, 0])
    path, n_states = state.segmentation.path, state.segmentation.n_states
    n, first, second, centres = recorded_sums(model, path, n_states, state.frames)
    recordings = np.repeat(np.arange(3), np.diff(model.starts))
    for f, own in enumerate(([0, 2], [1])):
        inside = np.isin(recordings, own)
        np.testing.assert_allclose(centres[f, 0], model.steps[inside, :2].mean(axis=0))
        for k in range(n_states):
            steps = model.steps[inside & (path == k)]
            assert n[f, k] == len(steps)
            np.testing.assert_allclose(first[f, k], steps.sum(axis=0), atol=1e-12)
            np.testing.assert_allclose(second[f, k], steps.T @ steps, atol=1e-12)


def test_likelihoods_of_recordings_are_those_of_aligned_steps_less_the_volume():
    model, state = naive.draw_world(np.random.default_rng(10), WORLDS["weights"], labels=[0, 1, 1])
    found = moves.log_evidence(model, state, state.frames, np.array([0, 2]))
    aligned = model.aligned(state.frames)
    expected = ibphmm.series_log_likelihoods(aligned, state.segmentation, np.array([0, 2])).sum()
    for i in (0, 2):
        sizes = state.frames.log_sizes[state.frames.labels[i]]
        expected -= 5 * 2 * (0.3 * sizes[0] + 0.8 * sizes[1])
    assert found == pytest.approx(expected)


# --- made-up recordings ----------------------------------------------------------------------------------------------


def bent_recordings(rng, blocks, n_recordings=3, n_each=40, labels=None):
    """Recordings of the same three states, each seen through a frame of its own or those given; model and state."""
    n = blocks.n_dims
    means = np.diag([1.0, 2.5, 4.0]) @ np.eye(3, n) + np.linspace(-1, 1, n)  # no triangle with equal sides
    covariances = np.array([np.diag(np.linspace(0.02, 0.4, n)[np.roll(np.arange(n), k)]) for k in range(3)])
    path = np.tile(np.repeat(np.arange(3), n_each), n_recordings)
    noise = np.einsum("tab,tb->ta", np.linalg.cholesky(covariances)[path], rng.normal(size=(len(path), n)))
    starts = 3 * n_each * np.arange(n_recordings + 1)
    prior = Prior(0.5, np.zeros((len(blocks.placed), blocks.dim)), np.full(len(blocks.placed), 3.0))
    frames = naive.draw_frames(rng, blocks, prior, np.arange(n_recordings) if labels is None else labels)
    steps = naive.recorded_steps(blocks, frames, means[path] + noise, starts)
    world = naive.FrameWorld(n_recordings=n_recordings, n_steps=3 * n_each, blocks=blocks)
    plain = naive_ibphmm.make_model(world, naive_ibphmm.Sequences(steps, starts, tuple("abcdefghijkl"[:n_recordings])))
    model = Model(steps, plain, blocks, prior)
    state = init_state(rng, model, frames=frames, start=lambda rng, one: ibphmm.init_state(rng, one, path=path))
    return model, state


SPACES = {
    "space": Blocks(("point", "vector")),
    "orientations": Blocks(("point", "orientation")),
    "yaw": Blocks(("point", "vector"), rotations="yaw"),
    "plane": Blocks(("point", "vector"), dim=2),
    "plain too": Blocks(("plain", "point", "vector"), still=(2,)),
}


@pytest.mark.parametrize("name", SPACES)
def test_the_likeliest_candidate_is_the_true_frame(name):
    model, state = bent_recordings(np.random.default_rng(11), SPACES[name])
    truth = state.frames
    # Whatever the frame of the recording is now: candidates do not look at it.
    for i in range(2):
        found = candidate_frames(model, state.segmentation, i)
        assert np.linalg.norm(angles_between(model.blocks, truth.turns[i], found.turns[0])) < 0.1
        np.testing.assert_allclose(found.log_sizes[0], truth.log_sizes[i], atol=0.12)
        np.testing.assert_allclose(found.places[0], truth.places[i], atol=0.3)


def test_candidates_know_nothing_of_the_path_of_the_recording():
    model, state = bent_recordings(np.random.default_rng(12), SPACES["plane"])
    path = state.segmentation.path.copy()
    path[: model.starts[1]] = path[: model.starts[1]][::-1]
    other = replace(state.segmentation, path=path)
    for one, two in zip(
        vars(candidate_frames(model, state.segmentation, 0)).values(),
        vars(candidate_frames(model, other, 0)).values(),
        strict=True,
    ):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("name", ["space", "plane", "yaw"])
def test_rotations_all_around_find_recordings_with_other_principal_axes(name):
    blocks, n_missed = SPACES[name], {False: 0, True: 0}
    for seed in range(8):
        model, state = bent_recordings(np.random.default_rng(seed), blocks)
        chain = chain_of(model, state.segmentation, 0)
        own = np.flatnonzero(state.segmentation.path[: model.starts[1]] != seed % 3)  # one of the states is missing
        steps, truth = np.ascontiguousarray(model.steps[own]), Frames.single(state.frames[0])
        for thorough in n_missed:
            _, scores = likely_frames(model, steps, chain, thorough=thorough)
            n_missed[thorough] += scores[0] < log_posterior(model, steps, chain, truth) - 1
    assert n_missed[True] == 0
    assert n_missed[False] > 0 or blocks.n_angles == 1  # a single angle is found from principal axes too


@pytest.mark.parametrize("rotations", ["all", "none"])
def test_frames_refined_together_are_those_refined_one_by_one(rotations, monkeypatch):
    model, state = bent_recordings(np.random.default_rng(3), replace(SPACES["space"], rotations=rotations))
    steps, chain = model.steps_of([0])[0], chain_of(model, state.segmentation, 0)
    together, scores = likely_frames(model, steps, chain, state.frames, n_kept=3, thorough=True)
    assert (np.diff(scores) <= 0).all()
    np.testing.assert_allclose(log_posterior(model, steps, chain, together), scores)
    monkeypatch.setattr(candidates, "MOST_STEPS", 1)
    alone, _ = likely_frames(model, steps, chain, state.frames, n_kept=3, thorough=True)
    for one, other in zip(vars(together).values(), vars(alone).values(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)
    few, _ = likely_frames(model, steps, chain, thorough=True)
    assert few.n_frames == (1 if rotations == "none" else candidates._N_KEPT)


def test_a_block_that_stands_still_is_no_error(rng):
    model, state = bent_recordings(rng, SPACES["plane"])
    steps = model.steps.copy()
    steps[: model.starts[1], 2:] = 0.7  # the first recording has the same velocity throughout
    still = replace(model, steps=steps)
    found = candidate_frames(still, state.segmentation, 0)
    assert all(np.isfinite(values).all() for values in (found.turns, found.log_sizes, found.places))


def test_starts_find_frames_and_states():
    model, state = bent_recordings(np.random.default_rng(13), SPACES["plane"])
    best = search_starts(np.random.default_rng(14), model, most_states=4)[1][0]
    assert best.n_states == 3
    # Frames are told relative to each other: all together may be turned.
    truth = state.frames
    found = [naive.rotation_of(best.frames.turns[best.frames.labels[i]]) for i in range(3)]
    true = [naive.rotation_of(truth.turns[i]) for i in range(3)]
    for i in (1, 2):
        np.testing.assert_allclose(found[i] @ found[0].T, true[i] @ true[0].T, atol=0.1)


@pytest.mark.parametrize("name", ["plane", "space", "yaw"])
def test_a_recording_turned_the_wrong_way_is_laid_on_the_states_anew(name):
    model, state = bent_recordings(np.random.default_rng(17), SPACES[name])
    probs, truth = np.eye(3)[state.segmentation.path], state.frames
    right = search.fit(model, truth, probs, 10)
    assert search.laid_anew(model, right) == []
    rng, turns, places = np.random.default_rng(0), truth.turns.copy(), truth.places.copy()
    wrong = moves.turned(rng, model, truth, 1)
    while np.linalg.norm(angles_between(model.blocks, truth.turns[1], wrong.turns[1])) < 2.5:
        wrong = moves.turned(rng, model, truth, 1)
    turns[1], places[1] = wrong.turns[1], wrong.places[1]
    frames = replace(truth, turns=turns, places=places)
    # States are those of the other recordings: they have two thirds of all steps.
    stuck = replace(search.fit(model, frames, probs, 1), chain=right.chain)
    alone, (found,) = search.fit(model, frames, stuck.probs, search.N_LAST), search.laid_anew(model, stuck)
    assert found.log_likelihood > alone.log_likelihood + 20  # which does not turn so far in as many rounds
    one, other = (rotations[0].T @ rotations[1] for rotations in (found.frames.rotations, truth.rotations))
    np.testing.assert_allclose(one, other, atol=0.2)


def test_products_of_channels_tell_a_swing_along_a_line_from_one_around_a_circle():
    rng, blocks = np.random.default_rng(19), Blocks(("vector",), dim=2)
    model, _ = bent_recordings(rng, blocks)
    phase = 2 * np.pi * np.arange(60) / 6
    circle, line = np.column_stack([np.cos(phase), np.sin(phase)]), np.column_stack([np.cos(phase), 0 * phase])
    steps = np.tile(np.concatenate([circle, line]), (3, 1)) + 0.05 * rng.normal(size=(360, 2))
    model = replace(model, steps=steps, segmentation=replace(model.segmentation, least_stay=4))
    truth = np.tile(np.repeat([0, 1], 60), 3)
    shares = {}
    for name, values in (("products", search.local_products(model, steps)), ("steps", steps)):
        agreement = (search.k_means(rng, values, 2) == truth).mean()
        shares[name] = max(agreement, 1 - agreement)
    assert shares["steps"] < 0.8 < 0.95 < shares["products"]


def test_states_are_split_as_long_as_that_makes_starts_better():
    rng = np.random.default_rng(18)
    model, state = bent_recordings(rng, SPACES["plane"])
    whole = np.zeros(len(model.steps), dtype=np.int64)
    found = search.refit_starts(rng, model, [search.Start(whole, state.frames, 0.0, 1)])
    assert found[0].n_states == 3


@pytest.mark.parametrize("labels", [[0, 0, 1, 1, 0], [0, 0, 0, 0, 0], [0, 1, 2, 3, 4]])
def test_recordings_of_one_frame_come_to_share_it(labels):
    rng, labels = np.random.default_rng(12), np.array(labels)
    model, state = bent_recordings(rng, SPACES["plane"], n_recordings=5, labels=labels)
    frames = state.frames.taken(np.arange(5), labels)  # the same frames, but every recording has its own
    found = shared_frames(model, ChainState(state.segmentation, frames))
    np.testing.assert_array_equal(found.labels[:, None] == found.labels, labels[:, None] == labels)


def test_a_start_is_no_better_for_frames_that_it_does_not_need():
    model, state = bent_recordings(np.random.default_rng(12), SPACES["plane"], labels=np.zeros(3, dtype=np.int64))

    def score(frames):
        one = ChainState(state.segmentation, frames)
        return log_joint(model, one) + log_frame_volume(model, likeliest_frames(model, one))

    each = state.frames.taken(np.arange(3), np.zeros(3, dtype=np.int64))
    assert score(state.frames) > score(each) + 5


def stays_of(rng, blocks, n_repeats, curve):
    """Recordings in which every step comes several times, along a curve that is the same in every stay."""
    model, state = bent_recordings(rng, blocks, n_recordings=12, n_each=20)
    frames, path = state.frames, np.repeat(state.segmentation.path, n_repeats)
    aligned = np.repeat(aligned_steps(blocks, frames, model.steps, model.starts), n_repeats, axis=0)
    if curve:
        turns = np.linspace(0, 2 * np.pi, 20 * n_repeats)
        way = np.column_stack([np.cos((1 + c) * turns) for c in range(blocks.n_dims)])
        aligned = 0.2 * aligned + np.tile(way, (len(aligned) // len(way), 1))
    starts = n_repeats * model.starts
    steps = naive.recorded_steps(blocks, frames, aligned, starts)
    world = naive.FrameWorld(n_recordings=12, n_steps=60 * n_repeats, blocks=blocks)
    plain = naive_ibphmm.make_model(world, naive_ibphmm.Sequences(steps, starts, tuple("abcdefghijkl")))
    return Model(steps, plain, blocks, model.prior), frames, path


@pytest.mark.parametrize(
    ("n_repeats", "curve", "low", "high"),
    [(1, False, 0.75, 1.3), (4, False, 1.6, 2.4), (1, True, 0.2, 0.7)],
    ids=["as the model says", "every step four times", "along a curve"],
)
def test_intervals_are_as_wide_as_stays_differ(n_repeats, curve, low, high):
    found = interval_factors(*stays_of(np.random.default_rng(17), SPACES["space"], n_repeats, curve))
    factors = np.concatenate([[found.angle], found.sizes, found.places])
    assert low < np.sqrt((factors**2).mean()) < high, factors


def test_starts_of_short_recordings_have_few_states(rng):
    model, _ = naive.draw_world(rng, naive.FrameWorld(n_recordings=2, n_steps=3))
    _, starts = search_starts(rng, model, most_states=12)
    assert all(np.isfinite(start.score) for start in starts)
    assert max(start.n_states for start in starts) <= 6


def test_a_chain_of_one_step_recordings_is_no_error(rng):
    world = naive.FrameWorld(n_recordings=3, n_steps=1, blocks=Blocks(("point", "vector")))
    model, state = naive.draw_world(rng, world)
    for _ in range(20):
        for move in default_sweep().values():
            state, _ = move(rng, model, state)
    assert np.isfinite(log_joint(model, state))


def test_chains_keep_frames_and_paths(tmp_path):
    model, state = naive.draw_world(np.random.default_rng(15), WORLDS["plane"])
    settings = {"n_chains": 1, "n_burn": 0, "n_jobs": 1}

    def run(n_sweeps, folder):
        checkpoint = Checkpoints(tmp_path / folder, 1)
        seed = np.random.SeedSequence(1)
        sweeps = {"n_sweeps": n_sweeps, "seed": seed, "checkpoint": checkpoint}
        return run_chains(model, state, default_sweep(), RECORDING, **settings, **sweeps)[0]

    whole = run(6, "whole")
    assert isinstance(whole.kept[-1].frames, Frames)
    # A chain that stopped in between goes on as if it had not.
    run(3, "parts")
    resumed = run(6, "parts")
    assert resumed.scalars["log_joint"] == whole.scalars["log_joint"]
    for one, two in zip(whole.kept, resumed.kept, strict=True):
        np.testing.assert_array_equal(one.frames.places, two.frames.places)
