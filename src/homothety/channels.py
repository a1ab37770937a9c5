"""Blocks of channels: which channels of a recording are a position, a vector or a quaternion, and turn together."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety.channel_names import POSITION, QUATERNION, named_blocks, say_nothing, unordered_quaternions
from homothety.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homothety.sequences import Sequences

KINDS = ("point", "vector", "quaternion", "plain")
NORM_TOLERANCE = 1e-2  # quaternions are often recorded with two or three decimals
HINT = "To use positions, vectors and quaternions, name the channels (x, y, z, qw, ...), or give blocks=[...]."
MOST_LISTED = 8  # blocks, and plain channels, that a sentence names


class ChannelBlocks(NamedTuple):
    """Channels in blocks.

    Attributes
    ----------
    kinds : tuple of str
        Kind of each block: "point" and "vector" have `dim` channels, "quaternion" has four, w first, "plain" has one.
    order : tuple of int
        Channel of the recordings for each channel of the blocks: ``steps[:, order]`` has the blocks one after the
        other. 0, 1, 2, ... where nothing has to be rearranged.
    dim : int
        2 or 3; 3 where there are only quaternions and plain channels.
    sentence : str
        What the channels were taken for, in one line for users.
    """

    kinds: tuple[str, ...]
    order: tuple[int, ...]
    dim: int
    sentence: str

    @property
    def slices(self) -> tuple[slice, ...]:
        """Columns of each block in the rearranged channels."""
        ends = np.cumsum([0, *(_n_channels(kind, self.dim) for kind in self.kinds)]).tolist()
        return tuple(slice(*pair) for pair in pairwise(ends))

    @property
    def channels(self) -> tuple[tuple[int, ...], ...]:
        """Channels of the recordings in each block."""
        return tuple(self.order[columns] for columns in self.slices)


def guess_blocks(names: Sequence[str] | None, n_dims: int) -> ChannelBlocks:
    """Return the blocks that the names of channels suggest.

    Parameters
    ----------
    names : sequence of str of length n_dims, or None
        Names of the channels. Names that only number the channels count as no names.
    n_dims : int
        Number of channels.

    Returns
    -------
    blocks : ChannelBlocks
        Blocks in the order of their first channels. Coordinates are in the order x, y, z, and w comes first in a
        quaternion, whatever their order in the recordings. Two or three channels without names are a position;
        everything that is not recognised is a plain channel.

    Raises
    ------
    InputError
        When there are more or fewer names than channels.

    Notes
    -----
    `named_blocks` says which names are recognised. A guess by names may be wrong: show the sentence to the user.

    Examples
    --------
    >>> blocks = guess_blocks(["x", "y", "z", "qx", "qy", "qz", "qw", "gripper"], 8)
    >>> blocks.kinds, blocks.order
    (('point', 'quaternion', 'plain'), (0, 1, 2, 6, 3, 4, 5, 7))
    >>> blocks.sentence
    'Channels: position (x, y, z), orientation quaternion (qw, qx, qy, qz); gripper as a plain channel.'
    """
    _check_names(names, n_dims)
    found = {min(block.channels): block for block in named_blocks(names or ())}
    if not names or (say_nothing(names) and not found):
        return _unnamed_blocks(names, n_dims)
    grouped = {channel for block in found.values() for channel in block.channels}
    kinds: list[str] = []
    order: list[int] = []
    for channel in range(n_dims):
        if channel in found:
            kinds.append({POSITION: "point", QUATERNION: "quaternion"}.get(found[channel].quantity, "vector"))
            order += found[channel].channels
        elif channel not in grouped:
            kinds.append("plain")
            order.append(channel)
    is_planar = any(len(block.channels) == 2 for block in found.values())
    parts = [(block.quantity, [names[channel] for channel in block.channels]) for block in found.values()]
    plain = [name for channel, name in enumerate(names) if channel not in grouped]
    sentence = _sentence(parts, plain) + _hints(names, bool(found))
    return ChannelBlocks(tuple(kinds), tuple(order), 2 if is_planar else 3, sentence)


def check_blocks(kinds: Sequence[str], n_dims: int, names: Sequence[str] | None = None) -> ChannelBlocks:
    """Return blocks as a user lists them, or raise if they do not fit the channels.

    Parameters
    ----------
    kinds : sequence of {"point", "vector", "quaternion", "plain"}
        In the order of the channels. Points and vectors have two channels each, or three each, whichever adds up.
    n_dims : int
        Number of channels of the recordings.
    names : sequence of str of length n_dims, optional
        Names of the channels, for the sentence.

    Returns
    -------
    blocks : ChannelBlocks
        The order is that of the recordings.

    Raises
    ------
    InputError
        For an unknown kind, and for kinds that need more or fewer channels than there are.

    Examples
    --------
    >>> check_blocks(["point", "vector", "plain"], 5).dim
    2
    """
    _check_names(names, n_dims)
    if isinstance(kinds, str) or not hasattr(kinds, "__iter__"):
        raise InputError(f"blocks is {kinds!r}, needed 'auto' or a list of kinds: {', '.join(map(repr, KINDS))}.")
    kinds = tuple(kinds)
    for place, kind in enumerate(kinds):
        if kind not in KINDS:
            raise InputError(f"blocks[{place}] is {kind!r}, needed one of {', '.join(map(repr, KINDS))}.")
    dims = [dim for dim in (3, 2) if sum(_n_channels(kind, dim) for kind in kinds) == n_dims]
    if not dims:
        raise InputError(_misfit(kinds, n_dims))
    if dims == [2] and "quaternion" in kinds:
        raise InputError(
            f"blocks is {list(kinds)}, which fits the {n_dims} channels only with points and vectors in 2-D, but a "
            "quaternion needs 3-D. Give points and vectors with three channels, or the quaternion as four 'plain'."
        )
    blocks = ChannelBlocks(kinds, tuple(range(n_dims)), dims[0], "")
    called = [[_called(channel, names) for channel in channels] for channels in blocks.channels]
    parts = [(kind, block) for kind, block in zip(kinds, called, strict=True) if kind != "plain"]
    plain = [block[0] for kind, block in zip(kinds, called, strict=True) if kind == "plain"]
    return blocks._replace(sentence=_sentence(parts, plain))


def check_quaternions(recordings: Sequences, blocks: ChannelBlocks) -> None:
    """Raise naming the first step at which the norm of a quaternion is not 1 within 0.01.

    Parameters
    ----------
    recordings : Sequences
        With the channels as recorded, not rearranged.
    blocks : ChannelBlocks
    """
    for kind, channels in zip(blocks.kinds, blocks.channels, strict=True):
        if kind != "quaternion":
            continue
        norms = np.linalg.norm(recordings.steps[:, list(channels)], axis=1)  # NaN, which passes, where one is missing
        wrong = np.flatnonzero(np.abs(norms - 1) > NORM_TOLERANCE)
        if wrong.size:
            i = int(np.searchsorted(recordings.starts, wrong[0], side="right")) - 1
            called = ", ".join(_called(channel, recordings.channels) for channel in channels)
            raise InputError(
                f"Recording {i} ({recordings.names[i]}): the quaternion ({called}) has norm {norms[wrong[0]]:.3g} at "
                f"step {wrong[0] - recordings.starts[i]} ({wrong.size} such steps in all recordings), needed 1 within "
                f"{NORM_TOLERANCE}. Divide quaternions by their norm and cut steps at which tracking was lost; if "
                "these channels are no quaternion, list each as 'plain' in blocks=[...]."
            )


def _n_channels(kind: str, dim: int) -> int:
    return {"quaternion": 4, "plain": 1}.get(kind, dim)


def _called(channel: int, names: Sequence[str] | None) -> str:
    return names[channel] if names else f"channel {channel}"


def _check_names(names: Sequence[str] | None, n_dims: int) -> None:
    if names and len(names) != n_dims:
        raise InputError(f"There are {len(names)} names of channels for {n_dims} channels, needed one each.")


def _unnamed_blocks(names: Sequence[str] | None, n_dims: int) -> ChannelBlocks:
    """Return two or three channels as a position, any other number as plain channels."""
    order = tuple(range(n_dims))
    if n_dims in (2, 3):
        sentence = _sentence([(POSITION, [_called(channel, names) for channel in order])], [])
        return ChannelBlocks(("point",), order, n_dims, sentence)
    if n_dims == 1:
        return ChannelBlocks(("plain",), order, 3, "Channels: one plain channel.")
    sentence = f"Channels: {n_dims} plain channels, as their names are not known. {HINT}"
    return ChannelBlocks(("plain",) * n_dims, order, 3, sentence)


def _sentence(parts: list[tuple[str, list[str]]], plain: list[str]) -> str:
    """Return blocks and plain channels in a sentence."""
    blocks = [f"{quantity} ({', '.join(names)})" for quantity, names in parts]
    ending = "as a plain channel" if len(plain) == 1 else "as plain channels"
    clauses = [_listed(blocks, "blocks")] * bool(blocks) + [f"{_listed(plain, 'channels')} {ending}"] * bool(plain)
    return f"Channels: {'; '.join(clauses)}."


def _listed(items: list[str], what: str) -> str:
    if len(items) <= MOST_LISTED:
        return ", ".join(items)
    return f"{', '.join(items[:MOST_LISTED])} and {len(items) - MOST_LISTED} more {what}"


def _hints(names: Sequence[str], has_blocks: bool) -> str:
    """Return what to do where channels may be more than plain ones."""
    unordered = [names[channel] for four in unordered_quaternions(names) for channel in four]
    if unordered:
        return (
            f" The names {_listed(unordered, 'channels')} do not say which channel of a quaternion is w: rename them "
            "to qw, qx, qy, qz, or give blocks=[...]."
        )
    if not has_blocks and len(names) > 1:
        return f" {HINT}"
    return ""


def _misfit(kinds: tuple[str, ...], n_dims: int) -> str:
    """Return what kinds of blocks need, and what was found."""
    needs = [sum(_n_channels(kind, dim) for kind in kinds) for dim in (2, 3)]
    n_turning = sum(kind in ("point", "vector") for kind in kinds)
    needed = f"{needs[0]} channels in 2-D or {needs[1]} in 3-D" if n_turning else f"{needs[0]} channels"
    mixed = " Points and vectors in 2-D and in 3-D cannot be mixed." if needs[0] < n_dims < needs[1] else ""
    return (
        f"blocks is {list(kinds)}, which needs {needed}, but the recordings have {n_dims} (a point or vector needs 2 "
        f"or 3 channels, a quaternion 4, a plain channel 1).{mixed} List one kind per block, in the order of the "
        "channels."
    )
