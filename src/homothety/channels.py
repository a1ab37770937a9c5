"""Blocks of channels: which channels of a recording are a position, a vector or a quaternion, and turn together."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homothety.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from homothety.sequences import Sequences


_KINDS = ("point", "vector", "quaternion", "plain")
_NORM_TOLERANCE = 1e-2  # quaternions are often recorded with two or three decimals
_HINT = "To use positions, vectors and quaternions, name the channels (x, y, z, qw, ...), or give blocks=."
_MOST_LISTED = 8  # blocks, and plain channels, that a sentence names


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
    `_named_blocks` says which names are recognised. A guess by names may be wrong: show the sentence to the user.

    Examples
    --------
    >>> blocks = guess_blocks(["x", "y", "z", "qx", "qy", "qz", "qw", "gripper"], 8)
    >>> blocks.kinds, blocks.order
    (('point', 'quaternion', 'plain'), (0, 1, 2, 6, 3, 4, 5, 7))
    >>> blocks.sentence
    'Channels: position (x, y, z), orientation quaternion (qw, qx, qy, qz); gripper as a plain channel.'
    """
    _check_names(names, n_dims)
    found = {min(block.channels): block for block in _named_blocks(names or ())}
    if not names or (_say_nothing(names) and not found):
        return _unnamed_blocks(names, n_dims)
    grouped = {channel for block in found.values() for channel in block.channels}
    kinds: list[str] = []
    order: list[int] = []
    for channel in range(n_dims):
        if channel in found:
            kinds.append({_POSITION: "point", _QUATERNION: "quaternion"}.get(found[channel].quantity, "vector"))
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
        raise InputError(
            f"blocks is {kinds!r}, needed 'auto' or a list of kinds: {', '.join(map(repr, _KINDS))}.", "blocks"
        )
    kinds = tuple(kinds)
    for place, kind in enumerate(kinds):
        if kind not in _KINDS:
            raise InputError(
                f"blocks has {kind!r} at place {place}, counted from 0, needed one of {', '.join(map(repr, _KINDS))}.",
                "blocks",
            )
    dims = [dim for dim in (3, 2) if sum(_n_channels(kind, dim) for kind in kinds) == n_dims]
    if not dims:
        raise InputError(_misfit(kinds, n_dims), "blocks")
    if dims == [2] and "quaternion" in kinds:
        raise InputError(
            f"blocks is {list(kinds)}, which fits the {n_dims} channels only with points and vectors in 2-D, but a "
            "quaternion needs 3-D. Give points and vectors with three channels, or the quaternion as four 'plain'.",
            "blocks",
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
        wrong = np.flatnonzero(np.abs(norms - 1) > _NORM_TOLERANCE)
        if wrong.size:
            i = int(np.searchsorted(recordings.starts, wrong[0], side="right")) - 1
            called = ", ".join(_called(channel, recordings.channels) for channel in channels)
            raise InputError(
                f"Recording {i} ({recordings.names[i]}): the quaternion ({called}) has norm {norms[wrong[0]]:.3g} at "
                f"step {wrong[0] - recordings.starts[i]} ({wrong.size} such steps in all recordings), needed 1 within "
                f"{_NORM_TOLERANCE}. Divide quaternions by their norm and cut steps at which tracking was lost; if "
                "these channels are no quaternion, list each as 'plain' in blocks=.",
                "blocks",
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
        sentence = _sentence([(_POSITION, [_called(channel, names) for channel in order])], [])
        return ChannelBlocks(("point",), order, n_dims, sentence)
    if n_dims == 1:
        return ChannelBlocks(("plain",), order, 3, "Channels: one plain channel.")
    sentence = f"Channels: {n_dims} plain channels, as their names are not known. {_HINT}"
    return ChannelBlocks(("plain",) * n_dims, order, 3, sentence)


def _sentence(parts: list[tuple[str, list[str]]], plain: list[str]) -> str:
    """Return blocks and plain channels in a sentence."""
    blocks = [f"{quantity} ({', '.join(names)})" for quantity, names in parts]
    ending = "as a plain channel" if len(plain) == 1 else "as plain channels"
    clauses = [_listed(blocks, "blocks")] * bool(blocks) + [f"{_listed(plain, 'channels')} {ending}"] * bool(plain)
    return f"Channels: {'; '.join(clauses)}."


def _listed(items: list[str], what: str) -> str:
    if len(items) <= _MOST_LISTED:
        return ", ".join(items)
    return f"{', '.join(items[:_MOST_LISTED])} and {len(items) - _MOST_LISTED} more {what}"


def _hints(names: Sequence[str], has_blocks: bool) -> str:
    """Return hints for channels that may be coordinates but were taken for plain ones."""
    unordered = [names[channel] for four in _unordered_quaternions(names) for channel in four]
    if unordered:
        return (
            f" The names {_listed(unordered, 'channels')} do not say which channel of a quaternion is w: rename them "
            "to qw, qx, qy, qz, or give blocks=."
        )
    if not has_blocks and len(names) > 1:
        return f" {_HINT}"
    return ""


def _misfit(kinds: tuple[str, ...], n_dims: int) -> str:
    """Return the text of an error: the channels that blocks need, and those that recordings have."""
    needs = [sum(_n_channels(kind, dim) for kind in kinds) for dim in (2, 3)]
    n_turning = sum(kind in ("point", "vector") for kind in kinds)
    needed = f"{needs[0]} channels in 2-D or {needs[1]} in 3-D" if n_turning else f"{needs[0]} channels"
    mixed = " Points and vectors in 2-D and in 3-D cannot be mixed." if needs[0] < n_dims < needs[1] else ""
    return (
        f"blocks is {list(kinds)}, which needs {needed}, but the recordings have {n_dims} (a point or vector needs 2 "
        f"or 3 channels, a quaternion 4, a plain channel 1).{mixed} List one kind per block, in the order of the "
        "channels."
    )


# What names of channels say


_AXES, _QUATERNION_AXES = "xyz", "wxyz"
_POSITION, _QUATERNION, _VELOCITY, _SPIN = "position", "orientation quaternion", "velocity", "angular velocity"
_FORCE, _TORQUE, _ACCELERATION, FIELD = "force", "torque", "acceleration", "magnetic field"
_DISPLACEMENT, _DIRECTION = "displacement", "direction"
# Quantities that other names decide, and those that are never a block.
_UNNAMED, _SIDE, _TORQUE_OR_TRANSLATION, _ANGLE = "unnamed", "side", "torque or translation", "angle"

# Coordinates of a plane turn into each other; in a plane, torque and angular velocity have one channel only.
_PLANAR = (_POSITION, _VELOCITY, _FORCE, _ACCELERATION, _DISPLACEMENT, _DIRECTION)

_SPELLINGS = {
    _POSITION: "position positions pos translation trans location loc coordinate coord point marker",
    _QUATERNION: "quaternion quat orientation orient ori orn rotation rot attitude",
    _VELOCITY: "velocity velocities vel twist linear",
    _SPIN: "angular omega gyro gyroscope gyr rate",
    _FORCE: "force forces",
    _TORQUE: "torque torques moment moments tau",
    _ACCELERATION: "acceleration accel acc accelerometer gravity",
    FIELD: "magnetic magnetometer mag",
    _DISPLACEMENT: "displacement delta",
    _DIRECTION: "direction dir normal vector",
    _ANGLE: "angle angles euler rpy rotvec axisangle covariance cov std variance confidence scale size",
}
_WORDS = {word: quantity for quantity, words in _SPELLINGS.items() for word in words.split()}
_LETTERS = {
    **dict.fromkeys("pc", _POSITION),
    **dict.fromkeys("wgω", _SPIN),
    **dict.fromkeys("mτ", _TORQUE),
    **dict.fromkeys("nu", _DIRECTION),
    **dict.fromkeys("lr", _SIDE),
    "q": _QUATERNION,
    "v": _VELOCITY,
    "f": _FORCE,
    "t": _TORQUE_OR_TRANSLATION,
    "a": _ACCELERATION,
    "b": FIELD,
    "d": _DISPLACEMENT,
}
_ANGULAR_UNITS = {"deg", "degree", "degrees", "rad", "radian", "radians"}
_JOINTS = {"joint", "joints", "qpos", "qvel", "gripper", "finger", "fingers", "motor", "motors"}

# Words begin with a capital letter or are all capitals: LeftHandX, posX, FZ, RHand.
_TOKEN = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\dA-Za-z_]+")
_NUMBERED = re.compile(r"(.*?)(\[\d+\]|[ _.-]?\d+)")
_MEANINGLESS = ("", "x", "y", "ch", "channel", "col", "column", "dim", "dimension", "feature", "var", "variable")

_Key = tuple[str, ...]
_HOLE = "@"  # stands for the axis in a key


class NamedBlock(NamedTuple):
    """Channels that belong together, in the order w, x, y, z, and the quantity that they are coordinates of."""

    quantity: str
    channels: tuple[int, ...]


class Candidate(NamedTuple):
    """Channels whose names differ in the axis only."""

    quantity: str
    tag: _Key  # the rest of the names, such as "left", without the words for a quantity
    is_glued: bool  # the axis is the last letter of a longer word that is not known
    channels: dict[str, int]  # by axis

    def has(self, axes: str) -> bool:
        """Return whether there is a channel for each axis."""
        return all(axis in self.channels for axis in axes)

    def block(self, quantity: str, axes: str) -> NamedBlock:
        """Return the channels of some axes as a block."""
        return NamedBlock(quantity, tuple(self.channels[axis] for axis in axes))


def _named_blocks(names: Sequence[str]) -> list[NamedBlock]:
    """Return the blocks that the names of channels define, in the order of their first channels.

    Parameters
    ----------
    names : sequence of str
        For example "x", "left_x", "fx_a", "pose.orientation.w", "LeftHand.Xposition" or "velocity of x".

    Notes
    -----
    A block needs all its channels: x, y and z; w, x, y and z for a quaternion; x and y in a plane, where nothing has
    a z. "tx, ty, tz" is a torque where a force or a position has the same prefix and suffix, else a translation, which
    is a position. Three angles (rx, ry, rz; orientation.x without a w) are no block, as they do not turn like a vector;
    where lx, ly, lz stand beside rx, ry, rz, both are positions: left and right. Numbers stand for axes where the
    quantity is named and there are as many as axes, such as ee_pos[0] to ee_pos[2]; but never for a quaternion, whose
    first number may be w or x.

    Examples
    --------
    >>> _named_blocks(["qx", "qy", "qz", "qw", "gripper"])
    [NamedBlock(quantity='orientation quaternion', channels=(3, 0, 1, 2))]
    """
    candidates, numbered = _candidates(names), _numbered_candidates(names)
    blocks = _disjoint([*_quaternions(candidates), *_groups(candidates, _AXES), *_groups(numbered, _AXES)])
    if not any(block.quantity for block in blocks):
        plane = _AXES[:2]
        blocks = _disjoint([*blocks, *_groups(candidates, plane), *_groups(numbered, plane)])
    return sorted((block for block in blocks if block.quantity), key=lambda block: min(block.channels))


def _unordered_quaternions(names: Sequence[str]) -> list[list[int]]:
    """Return groups of four channels that are a quaternion by their names, which do not say which of them is w.

    Examples
    --------
    >>> _unordered_quaternions(["x", "quat_0", "quat_1", "quat_2", "quat_3"])
    [[1, 2, 3, 4]]
    """
    places: dict[_Key, dict[str, int]] = {}
    for at, name in enumerate(names):
        tokens = _tokens(name)
        for place, token in enumerate(tokens):
            if token.isdigit() and _quantity((*tokens[:place], *tokens[place + 1 :]), tokens[place - 1]) == _QUATERNION:
                places.setdefault((*tokens[:place], _HOLE, *tokens[place + 1 :]), {})[token] = at
    return [list(found.values()) for found in places.values() if set(found) in ({*"0123"}, {*"1234"})]


def _say_nothing(names: Sequence[str]) -> bool:
    """Return whether names only number the channels, such as "0", "y1" or "observation.state[0]"."""
    matches = [_NUMBERED.fullmatch(name.strip().lower()) for name in names]
    stems = {match[1] for match in matches if match}
    if None in matches or len(stems) != 1 or not _JOINTS.union(_WORDS).isdisjoint(_tokens(*stems)):
        return False
    return stems.issubset(_MEANINGLESS) or all(match[2].startswith("[") for match in matches if match)


def _tokens(name: str) -> _Key:
    return tuple(token.lower() for token in _TOKEN.findall(name))


def _candidates(names: Sequence[str]) -> list[Candidate]:
    """Return all groups of channels whose names differ in one axis, also overlapping and incomplete ones."""
    found: dict[tuple[_Key, int], Candidate] = {}
    seen: dict[str, int] = {}
    for at, name in enumerate(names):
        seen[name] = seen.get(name, -1) + 1  # x, y, z, x, y, z are two positions
        for key, axis, empty in _holes(_tokens(name)):
            candidate = found.setdefault((key, seen[name]), empty)
            candidate.channels.setdefault(axis, at)
    return list(found.values())


def _holes(tokens: _Key) -> Iterator[tuple[_Key, str, Candidate]]:
    """Yield each way to take an axis out of a name: what is left, the axis, and a candidate without channels."""
    for place, token in enumerate(tokens):
        before, after = tokens[:place], tokens[place + 1 :]
        for left, axis, words, letter, tag, is_glued in _splits(token, before[-1] if before else ""):
            quantity = _quantity((*before, *words, *after), letter)
            others = before[:-1] if before and letter == before[-1] else before
            candidate = Candidate(quantity, _tag((*others, *tag, *after)), is_glued, {})
            yield (*before, left, *after), axis, candidate


def _splits(token: str, previous: str) -> Iterator[tuple[str, str, _Key, str, _Key, bool]]:
    """Yield what is left of a token without its axis, the axis, words, the letter before it, tag, and if it is glued.

    The axis is the whole token (x, after v in "v_x"), or its last letter (vx, posx, handx), or its first (xpos).
    """
    if token in (*_QUATERNION_AXES,):
        yield _HOLE, token, (), previous if previous in _LETTERS else "", (), False
        return
    if token[0] in _QUATERNION_AXES and token[1:] in _WORDS:
        yield _HOLE + token[1:], token[0], (token[1:],), "", (), False
    stem, axis = token[:-1], token[-1]
    if axis not in _QUATERNION_AXES:
        return
    if stem in _WORDS:
        yield stem + _HOLE, axis, (stem,), "", (), False
    elif stem in _LETTERS:
        yield stem + _HOLE, axis, (), stem, (), False
    elif len(stem) > 1:
        yield stem + _HOLE, axis, (), "", (stem,), True


def _tag(words: _Key) -> _Key:
    return tuple(word for word in words if word not in _WORDS)


def _quantity(words: _Key, letter: str) -> str:
    """Return what is measured, by the words of a name and the letter before the axis."""
    found = [_WORDS[word] for word in words if word in _WORDS]
    if _ANGLE in found:
        return _ANGLE
    # The velocity of a force or of a position is no force and no position.
    for derivative in (_ACCELERATION, _SPIN, _VELOCITY):
        if derivative in found:
            return _ANGLE if letter == "r" else derivative
    if letter == "p":  # also the point where a force is applied: force_px
        return _POSITION
    quantity = found[-1] if found else _LETTERS.get(letter, _UNNAMED)
    return _ANGLE if quantity in (_POSITION, _UNNAMED) and _ANGULAR_UNITS.intersection(words) else quantity


def _quaternions(candidates: list[Candidate]) -> Iterator[NamedBlock]:
    """Yield quaternions; and, without a quantity, four channels that must not be taken for a vector either."""
    four = [one for one in candidates if one.has(_QUATERNION_AXES)]
    named = [one for one in four if one.quantity == _QUATERNION]
    yield from (one.block(_QUATERNION, _QUATERNION_AXES) for one in named)
    for one in four:
        if one.quantity == _UNNAMED and one.tag not in [other.tag for other in named]:
            yield one.block(_QUATERNION, _QUATERNION_AXES)
        elif one.quantity not in (_QUATERNION, _POSITION, _UNNAMED):  # the velocity of a quaternion
            yield one.block("", _QUATERNION_AXES)


def _groups(candidates: list[Candidate], axes: str) -> Iterator[NamedBlock]:
    """Yield positions and vectors with the given axes."""
    complete = [one for one in candidates if one.has(axes)]
    for one in complete:
        quantity = _decided(one, complete)
        is_planar = quantity in _PLANAR and not one.is_glued and not (len(axes) == 2 and "z" in one.channels)
        if quantity not in (_QUATERNION, _ANGLE) and (len(axes) == 3 or is_planar):
            yield one.block(quantity, axes)


def _decided(one: Candidate, complete: list[Candidate]) -> str:
    """Return the quantity of a candidate, where it depends on the names of others."""
    beside = [other.quantity for other in complete if other.tag == one.tag and other is not one]
    if one.quantity == _UNNAMED:
        return _POSITION
    if one.quantity == _SIDE:
        return _POSITION if _SIDE in beside else _ANGLE
    if one.quantity == _TORQUE_OR_TRANSLATION:
        return _TORQUE if {_FORCE, _POSITION, _UNNAMED}.intersection(beside) else _POSITION
    return one.quantity


def _numbered_candidates(names: Sequence[str]) -> list[Candidate]:
    """Return channels of a named quantity that are told apart by a number at the end, where there are two or three."""
    found: dict[_Key, Candidate] = {}
    for at, name in enumerate(names):
        tokens = _tokens(name)
        quantity = _quantity(tokens[:-1], "")
        if tokens and tokens[-1].isdigit() and quantity != _UNNAMED and not _JOINTS.intersection(tokens):
            candidate = found.setdefault(tokens[:-1], Candidate(quantity, _tag(tokens[:-1]), False, {}))
            candidate.channels[tokens[-1]] = at
    return [
        one._replace(channels=dict(zip(_AXES, (one.channels[number] for number in sorted(one.channels)), strict=False)))
        for one in found.values()
        if set(one.channels) in ({*"012"}, {*"123"}, {*"01"}, {*"12"})
    ]


def _disjoint(blocks: list[NamedBlock]) -> list[NamedBlock]:
    """Return blocks without those that take a channel of an earlier one."""
    kept: list[NamedBlock] = []
    taken: set[int] = set()
    for block in blocks:
        if taken.isdisjoint(block.channels):
            kept.append(block)
            taken.update(block.channels)
    return kept
