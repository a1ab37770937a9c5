"""What readers want to know of segmented series first, in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.report import chains
from homothety.report.document import Answer
from homothety.report.words import MAX_POINTS, NOT_KNOWN
from homothety.words import SURE, actions, enumerated, frames, number_of, transforms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homothety.report.segmented import Segmented
    from homothety.summaries.paths import Segment
    from homothety.summaries.transforms import StateTransform

MAX_NAMES = 3  # of recordings in brackets
ONLY_STATES = "This model knows no actions, and does not compare states."


def answers(seen: Segmented) -> list[Answer]:
    """Return how many actions or states there are, what is uncertain, how recordings differ, and if chains agree."""
    return [how_many(seen), what_is_uncertain(seen), how_recordings_differ(seen), chains.answer(seen.segmenter)]


def how_many(seen: Segmented) -> Answer:
    """Return how many actions or states were found, and how sure that is."""
    versions = f"in {number_of(seen.model.n_states_, 'version')} (states), " * (seen.called == "action")
    they_are, where = "It is" if seen.n_labels == 1 else "They are", number_of(len(seen.segments), "segment")
    text = f"{they_are} found {versions}in {where} of {number_of(len(seen.names), 'recording')}."
    traced = getattr(seen.model, "trace_", {}).get(f"n_{seen.called}s")
    if traced is not None:
        text += f" Their number is {chains.counts_in_words(traced, seen.model.n_burn_)}."
    if hasattr(seen.model, "coaction_"):
        text += f" {actions.doubts(seen.model)}"
    return Answer(f"How many {seen.called}s are there?", f"{number_of(seen.n_labels, seen.called)}.", text)


def what_is_uncertain(seen: Segmented) -> Answer:
    """Return which segments may be something else."""
    question = "Which segments are uncertain?"
    if seen.probability is None:
        return Answer(question, *NOT_KNOWN)
    unsure = uncertain(seen.segments)
    limit = f"a probability below {SURE:.2f}"
    if not unsure:
        return Answer(question, "None.", f"No segment has {limit}.")
    points = [_segment_in_words(seen, one) for one in unsure[:MAX_POINTS]]
    short = f"{len(unsure)} of {number_of(len(seen.segments), 'segment')}."
    return Answer(question, short, f"So many have {limit}. The least sure:", points)


def uncertain(segments: Sequence[Segment]) -> list[Segment]:
    """Return the segments that are not sure, the least sure first."""
    unsure = [one for one in segments if one.probability is not None and one.probability < SURE]
    return sorted(unsure, key=lambda one: one.probability or 0.0)


def _segment_in_words(seen: Segmented, one: Segment) -> str:
    where = f"{seen.names[one.series]}, steps {one.start} to {one.end - 1}"
    return f"{where}: {seen.called} {one.state}, with probability {one.probability:.2f}"


def how_recordings_differ(seen: Segmented) -> Answer:
    """Return how the states of an action differ, and which recordings have them; or who has which states."""
    if seen.called == "state":
        return Answer("How do the recordings differ?", *_who_shares(seen.segmenter.active_))
    if hasattr(seen.model, "frames_"):
        return how_frames_differ(seen)
    question = "How does the same action differ between recordings?"
    repeated = [k for k, count in enumerate(np.bincount(seen.state_actions)) if count > 1]
    if not repeated:
        return Answer(question, "It does not.", "Every action has one state only, the same wherever it is found.")
    have = f"{enumerated([str(number) for number in repeated])} {'has' if len(repeated) == 1 else 'have'}"
    short = f"Action{'s' * (len(repeated) > 1)} {have} several versions."
    points = differences(seen)
    more = [f"{len(points) - MAX_POINTS} more are listed under Transformations."] * (len(points) > MAX_POINTS)
    text = "They are turned, moved or resized copies" + (":" if points else "; this model does not say by how much.")
    return Answer(question, short, text, [*points[:MAX_POINTS], *more])


def how_frames_differ(seen: Segmented) -> Answer:
    """Return how recordings are turned and resized, and which of them share a frame."""
    question = "How do the recordings differ?"
    points = frames.sentences(seen.model)
    if not frames.may_differ(seen.model):
        return Answer(question, "This is not known.", frames.introduction(seen.model))
    if not points:
        one = "There is one recording." if len(seen.names) == 1 else "All recordings share one frame."
        return Answer(question, one, "None is turned, resized or moved." * (len(seen.names) > 1))
    n_frames = len(np.unique(seen.model.frame_labels_))
    more = [frames.more_note(len(points) - MAX_POINTS, "listed under Frames")] * (len(points) > MAX_POINTS)
    text = f"Each recording is compared with {frames.reference_of(seen.model).name}, the one with most steps."
    return Answer(question, f"They have {n_frames} frames.", text, [*points[:MAX_POINTS], *more])


def differences(seen: Segmented) -> list[str]:
    """Return a sentence for every state that is compared with another, with the recordings that have it."""
    return [
        f"Action {one.action}: {words} {_found_in(seen, one)}" for one, words in zip(*_sentences(seen), strict=True)
    ]


def _sentences(seen: Segmented) -> tuple[list[StateTransform], list[str]]:
    model = seen.model
    if not hasattr(model, "transforms_"):
        return [], []
    turned = sorted((one for one in model.transforms_ if not one.is_reference), key=lambda one: one.action)
    dims: Any = model.preprocessing_.name_dims(seen.channels)
    return turned, [transforms.sentence(one, dims, directed=model.emission != "diagonal") for one in turned]


def _found_in(seen: Segmented, one: StateTransform) -> str:
    names = [name for name, visits in zip(seen.names, seen.segmenter.active_[:, one.state], strict=True) if visits]
    listed = "; ".join(names[:MAX_NAMES]) + f"; and {len(names) - MAX_NAMES} more" * (len(names) > MAX_NAMES)
    return f"State {one.state} is found in {len(names)} of {number_of(len(seen.names), 'recording')} ({listed})."


def _who_shares(active: Any) -> tuple[str, str]:
    """Return in few and in more words how many states series have in common."""
    n_series, n_states = active.shape
    counts = active.sum(axis=0)
    n_common, n_private = int((counts == n_series).sum()), int((counts == 1).sum())
    if n_common == n_states:
        return "All recordings have all states.", ONLY_STATES
    short = (
        f"Of {number_of(n_states, 'state')}, {n_common} are found in every recording and {n_private} in a single one."
    )
    return short, f"The table of recordings and states says which. {ONLY_STATES}"
