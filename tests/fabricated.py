"""Fitted models made up in no time, for tests of what is told of them."""

from __future__ import annotations

import numpy as np

from homothety import ICSCHMM, ActionHMM, SPCMMixture
from homothety.channels import guess_blocks
from homothety.datasets import SequenceSet
from homothety.estimators.action_hmm import digest_of
from homothety.models.frames.blocks import Blocks
from homothety.models.hmm.states import StateModel
from homothety.preprocessing import Preprocessing
from homothety.sampling.paths import RunPath
from homothety.sequences import check_sequences
from homothety.summaries.frames import FrameTable
from homothety.summaries.runs import PathDraws
from homothety.summaries.transforms import TransformTable

ACTION_OF_STATE = np.array([0, 0, 1, 2])


def make_recordings(n_series=3, n_steps=120, n_dims=3, names=None):
    """Return series that wave differently in each quarter; x, y and z come first."""
    rng = np.random.default_rng(0)
    t = np.linspace(0, 40, n_steps)[:, None]
    sequences = [
        np.sin(t * rng.uniform(0.2, 2, n_dims) + i) + 0.05 * rng.normal(size=(n_steps, n_dims)) for i in range(n_series)
    ]
    channels = tuple("xyz"[:n_dims]) + tuple(f"q{dim}" for dim in range(max(n_dims - 3, 0)))
    return SequenceSet(sequences, names=tuple(names or (f"demo {i}" for i in range(n_series))), channels=channels)


def make_segmentation(recordings, *, unsure=0.55):
    """Return an ICSCHMM as if it had been fitted: each series goes through states 0 or 1, 2, 3 and 2 again.

    The first series has state 1 where the others have state 0, of the same action. All steps are sure but for the last
    segment of the last series.
    """
    model = _segmented(ICSCHMM(n_chains=2, n_sweeps=40, random_state=7), recordings, unsure)
    model.transform_table_ = transform_table(recordings.n_dims)
    return model


def make_framed_segmentation(recordings, *, shared=False):
    """Return an ActionHMM as if it had been fitted, with the states and actions of `make_segmentation`.

    The last recording is the reference. The first is turned by 90 degrees about the last axis, twice as large and moved
    by 5 along x; all others share the frame of the reference, and so does the first if `shared`.
    """
    model = _segmented(ActionHMM(n_chains=2, n_sweeps=40, random_state=7), recordings, 0.55)
    model.trace_ |= made_up_trace(("n_action_segments", "action_entropy"))
    model.blocks_ = guess_blocks(recordings.channels, recordings.n_dims)
    model.prepared_blocks_ = Blocks(model.blocks_.kinds, model.blocks_.dim)
    n_series, dim, half = len(recordings), model.blocks_.dim, np.sqrt(0.5)
    turns = np.tile([1.0, 0, 0, 0][: 4 if dim == 3 else 2], (n_series, 1))
    log_sizes, places = np.zeros((n_series, 1)), np.zeros((n_series, 1, dim))
    if not shared:
        turns[0] = [half, 0, 0, half] if dim == 3 else [0.0, 1.0]
        log_sizes[0], places[0, 0, 0] = np.log(2), 5.0
    width = np.array([-0.05, 0.05])
    model.frame_table_ = FrameTable(
        names=recordings.names,
        reference=n_series - 1,
        labels=np.minimum(np.arange(n_series), 0 if shared else 1),
        turns=turns,
        log_sizes=log_sizes,
        places=places,
        angle_errors=np.full(n_series, np.radians(4)),
        size_intervals=log_sizes[:, :, None] + width,
        place_intervals=places[:, :, :, None] + width,
        agreements=np.ones(n_series),
        free_axes=np.zeros((n_series, dim)),
    )
    model.frame_labels_, model.middle_orientations_ = model.frame_table_.labels, []
    model.recordings_digest_ = digest_of(check_sequences(recordings))
    model.has_path_ = True
    model.block_weights_, model.least_looks_ = np.full(len(model.blocks_.kinds), 0.2), 4
    model.merges_, model.merge_gains_ = np.array([[0, 1], [0, 2], [0, 3]]), np.array([9.0, -12.0, -30.0])
    return model


def _segmented(model, recordings, unsure):
    lengths = [len(one) for one in recordings.sequences]
    paths = [np.repeat([0 if i else 1, 2, 3, 2], -(-n // 4))[:n] for i, n in enumerate(lengths)]
    model.preprocessing_ = Preprocessing().fit(recordings.sequences)
    model.names_, model.starts_ = recordings.names, np.concatenate([[0], np.cumsum(lengths)])
    model.paths_, model.n_burn_, model.interrupted_ = paths, 20, False
    model.states_ = state_model(recordings.n_dims)
    model.actions_ = [ACTION_OF_STATE[path] for path in paths]
    model.n_actions_, model.state_actions_ = 3, ACTION_OF_STATE
    model.coaction_ = (ACTION_OF_STATE[:, None] == ACTION_OF_STATE) * 0.96 + 0.02
    for kind in ("state", "action"):
        sure = [np.ones(n) for n in lengths]
        sure[-1][np.flatnonzero(np.diff(paths[-1]))[-1] + 1 :] = unsure
        setattr(model, f"{kind}_probability_", sure)
    model.change_probability_ = [np.append(0.0, np.diff(path) != 0) for path in paths]
    model.action_change_probability_ = model.change_probability_
    model.draws_ = PathDraws.of([RunPath.of(np.concatenate(paths))] * 40)
    model.trace_ = made_up_trace(("n_states", "n_actions", "n_segments"))
    model.boundary_table_ = model.action_boundary_table_ = np.empty((0, 5))
    return model


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


def make_clustering(n_items=30):
    """Return an SPCMMixture as if it had been fitted: cigars, plates and balls, the last item unsure."""
    rng = np.random.default_rng(2)
    labels = np.sort(np.arange(n_items) % 3)
    axes = np.array([[4.0, 1.0, 1.0], [2.0, 2.0, 0.5], [1.0, 1.0, 1.0]])
    model = SPCMMixture(n_chains=2, n_sweeps=40, random_state=3)
    sizes = rng.uniform(1, 3, n_items)
    model.matrices_ = np.stack([size * np.diag(axes[k]) for size, k in zip(sizes, labels, strict=True)])
    model.similarity_ = (labels[:, None] == labels) * 0.9 + 0.1
    model.embedding_ = axes[labels] + 0.05 * rng.normal(size=(n_items, 3))
    model.labels_, model.n_clusters_, model.n_burn_, model.interrupted_ = labels, 3, 20, False
    model.draws_ = np.tile(labels, (40, 1))
    model.draws_[:20, -1] = 0
    model.trace_ = made_up_trace(("n_clusters", "size_entropy"))
    model.bandwidth_, model.spectral_ = None, None
    return model
