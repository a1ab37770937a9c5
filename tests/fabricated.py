"""Fitted models made up in no time, for tests of what is told of them."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np

from homothety import ICSCHMM, ActionHMM, SPCMMixture
from homothety.channels import guess_blocks
from homothety.datasets import SequenceSet
from homothety.estimators.action_hmm import _digest_of
from homothety.models.frames.frames import Blocks
from homothety.models.hmm.states import StateModel
from homothety.preprocessing import Preprocessing
from homothety.sampling.trace import RunPath
from homothety.sequences import check_sequences
from homothety.summaries.chains import Chains
from homothety.summaries.frames import FrameTable
from homothety.summaries.paths import PathDraws
from homothety.summaries.result import Labels, Partition, Provenance, Segmentation
from homothety.summaries.transforms import TransformTable

ACTION_OF_STATE = np.array([0, 0, 1, 2])


def make_recordings(n_recordings=3, n_steps=120, n_dims=3, names=None):
    """Return series that wave differently in each quarter; x, y and z come first."""
    rng = np.random.default_rng(0)
    t = np.linspace(0, 40, n_steps)[:, None]
    sequences = [
        np.sin(t * rng.uniform(0.2, 2, n_dims) + i) + 0.05 * rng.normal(size=(n_steps, n_dims))
        for i in range(n_recordings)
    ]
    channels = tuple("xyz"[:n_dims]) + tuple(f"q{dim}" for dim in range(max(n_dims - 3, 0)))
    return SequenceSet(sequences, names=tuple(names or (f"demo {i}" for i in range(n_recordings))), channels=channels)


def make_segmentation(recordings, *, unsure=0.55):
    """Return an ICSCHMM as if it had been fitted: each series goes through states 0 or 1, 2, 3 and 2 again.

    The first series has state 1 where the others have state 0, of the same action. All steps are sure but for the last
    segment of the last series.
    """
    model = ICSCHMM(n_chains=2, n_sweeps=40, random_state=7)
    model.result_ = replace(_segmented(model, recordings, unsure), transform_table=transform_table(recordings.n_dims))
    return model


def make_framed_segmentation(recordings, *, shared=False):
    """Return an ActionHMM as if it had been fitted, with the states and actions of `make_segmentation`.

    The last recording is the reference. The first is turned by 90 degrees about the last axis, twice as large and moved
    by 5 along x; all others share the frame of the reference, and so does the first if `shared`.
    """
    model = ActionHMM(n_chains=2, n_sweeps=40, random_state=7)
    found, channels = _segmented(model, recordings, 0.55), guess_blocks(recordings.channels, recordings.n_dims)
    blocks = model.prepared_blocks_ = Blocks(channels.kinds, channels.dim)
    model.blocks_, model.middle_orientations_, model.has_path_, model.least_looks_ = channels, [], True, 4
    model.recordings_digest_ = _digest_of(check_sequences(recordings))
    model.block_weights_ = np.full(len(channels.kinds), 0.2)
    n_recordings, dim, half = len(recordings), channels.dim, np.sqrt(0.5)
    turns = np.tile([1.0, 0, 0, 0][: 4 if dim == 3 else 2], (n_recordings, 1))
    log_sizes, places = np.zeros((n_recordings, 1)), np.zeros((n_recordings, 1, dim))
    if not shared:
        turns[0] = [half, 0, 0, half] if dim == 3 else [0.0, 1.0]
        log_sizes[0], places[0, 0, 0] = np.log(2), 5.0
    width = np.array([-0.05, 0.05])
    table = FrameTable(
        blocks=blocks,
        n_recorded=len(blocks.kinds),
        offset=found.preparation.offset,
        factors=found.preparation.factors,
        names=recordings.names,
        reference=n_recordings - 1,
        reference_name=recordings.names[-1],
        labels=np.minimum(np.arange(n_recordings), 0 if shared else 1),
        turns=turns,
        log_sizes=log_sizes,
        places=places,
        angle_errors=np.full(n_recordings, np.radians(4)),
        size_intervals=log_sizes[:, :, None] + width,
        place_intervals=places[:, :, :, None] + width,
        agreements=np.ones(n_recordings),
        free_axes=np.zeros((n_recordings, dim)),
    )
    trace = found.chains.trace | made_up_trace(("n_action_segments", "action_entropy"))
    compared = ("log_joint", "n_actions", "n_action_segments", "action_entropy")
    model.result_ = replace(
        found,
        frame_table=table,
        blocks=channels,
        step_weights={"positions": 0.2},
        merges=np.array([[0, 1], [0, 2], [0, 3]]),
        merge_gains=np.array([9.0, -12.0, -30.0]),
        chains=replace(found.chains, trace=trace, compared=compared),
    )
    return model


def _segmented(model, recordings, unsure):
    """Return the result of a model that knows states and actions."""
    lengths = [len(one) for one in recordings.sequences]
    paths = [np.repeat([0 if i else 1, 2, 3, 2], -(-n // 4))[:n] for i, n in enumerate(lengths)]
    flat, starts = np.concatenate(paths), np.concatenate([[0], np.cumsum(lengths)])
    sure = np.ones(len(flat))
    sure[starts[-2] + np.flatnonzero(np.diff(paths[-1]))[-1] + 1 :] = unsure
    changes = np.concatenate([np.append(0.0, np.diff(path) != 0) for path in paths])
    known = {"starts": starts, "sure": sure, "changes": changes, "boundaries": []}
    draws = PathDraws.of([RunPath.of(flat)] * 40)
    return Segmentation(
        provenance=Provenance.of(model),
        names=recordings.names,
        channels=recordings.channels,
        rate=None,
        preparation=Preprocessing().fit(recordings.sequences),
        stride_is_measured=True,
        states=Labels(flat=flat, draws=draws, **known),
        parameters=state_model(recordings.n_dims),
        actions=Labels(flat=ACTION_OF_STATE[flat], draws=draws, **known),
        state_actions=ACTION_OF_STATE,
        coaction=(ACTION_OF_STATE[:, None] == ACTION_OF_STATE) * 0.96 + 0.02,
        chains=made_up_chains(("n_states", "n_actions", "n_segments")),
    )


def with_parts(model, **parts):
    """Return a copy of a model with other parts of its result."""
    changed = copy(model)
    changed.result_ = replace(model.result_, **parts)
    return changed


def with_trace(model, **traces):
    """Return a copy of a model whose chains have traced other numbers."""
    chains = model.result_.chains
    return with_parts(model, chains=replace(chains, trace=chains.trace | traces))


def state_model(n_dims):
    """Return four Gaussian states."""
    means = np.arange(4.0)[:, None, None] * np.ones((4, n_dims, 1))
    covariances = np.stack([np.diag(np.arange(1.0, n_dims + 1))] * 4)
    return StateModel(np.full(4, 0.25), np.full((4, 4), 0.25), means, covariances)


def transform_table(n_dims):
    """Return a table in which state 1 is state 0, turned, twice as large and moved."""
    eye = np.stack([np.eye(n_dims)] * 4)
    turned = eye.copy()
    turned[1, :2, :2] = [[0.0, -1.0], [1.0, 0.0]]
    scale = np.array([[1, 1, 1], [2, 1.8, 2.2], [1, 1, 1], [1, 1, 1]], dtype=float)
    moves = np.zeros((4, 3, n_dims))
    moves[1, :, 0] = [3.0, 2.9, 3.1]
    return TransformTable(
        reference=np.array([0, 0, 2, 3]),
        mean=np.zeros((4, n_dims)),
        axes=eye,
        observations=np.full(4, 50.0),
        support=np.ones(4),
        blocks=np.stack([np.arange(n_dims)] * 4),
        scale=scale,
        rotation=turned,
        within=np.full(4, 5.0),
        translation=moves,
        mismatch=np.full((4, 3), 0.1),
    )


def made_up_trace(counts, n_chains=2, n_sweeps=40):
    """Return traces of chains that agree, with constant counts; they start from afar."""
    rng = np.random.default_rng(1)
    trace = {"log_joint": -100 + rng.normal(size=(n_chains, n_sweeps))}
    trace["log_joint"][:, 0] = -1000.0
    return trace | {name: np.full((n_chains, n_sweeps), 4.0) for name in counts}


def made_up_chains(counts):
    """Return chains with the traces of `made_up_trace`, which are compared in all of them."""
    trace = made_up_trace(counts)
    return Chains(trace=trace, n_burn=20, n_kept=40, weights=np.array([0.5, 0.5]), compared=tuple(trace))


def make_clustering(n_items=30):
    """Return an SPCMMixture as if it had been fitted: cigars, plates and balls, the last item unsure."""
    rng = np.random.default_rng(2)
    labels = np.sort(np.arange(n_items) % 3)
    axes = np.array([[4.0, 1.0, 1.0], [2.0, 2.0, 0.5], [1.0, 1.0, 1.0]])
    model = SPCMMixture(n_chains=2, n_sweeps=40, random_state=3)
    sizes = rng.uniform(1, 3, n_items)
    draws = np.tile(labels, (40, 1))
    draws[:20, -1] = 0
    model.result_ = Partition(
        provenance=Provenance.of(model),
        labels=labels,
        basis="shape",
        draws=draws,
        map_labels=labels,
        embedding=axes[labels] + 0.05 * rng.normal(size=(n_items, 3)),
        similarity=(labels[:, None] == labels) * 0.9 + 0.1,
        matrices=np.stack([size * np.diag(axes[k]) for size, k in zip(sizes, labels, strict=True)]),
        n_dims=3,
        chains=made_up_chains(("n_clusters", "size_entropy")),
    )
    return model
