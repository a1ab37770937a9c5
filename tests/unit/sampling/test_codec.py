"""What is stored comes back bit for bit; nothing in a file can execute."""

from __future__ import annotations

import hashlib
import io
import json
import math
import zipfile
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from homothety.archives import memory_limit
from homothety.errors import CheckpointError, InputError
from homothety.models import crp, ddcrp
from homothety.sampling.codec import _TEXT, from_bytes, seal_of, sealed, storable, to_bytes
from walks import START, Shoes


@storable
@dataclass(frozen=True)
class Pair:
    left: object
    right: object = None
    both: tuple = field(init=False, default=())


class Stranger(NamedTuple):
    left: int


def same(one, other):
    """Equal in type and, bit for bit, in value."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        flags = one.flags.writeable == other.flags.writeable
        layout = (one.dtype, one.shape, one.strides) == (other.dtype, other.shape, other.strides) or one.size == 0
        return flags and layout and one.tobytes() == other.tobytes()
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return same(list(one.items()), list(other.items()))
    if isinstance(one, Pair):
        return same(one.left, other.left) and same(one.right, other.right)
    if isinstance(one, float):
        return np.float64(one).tobytes() == np.float64(other).tobytes()
    return one == other


arrays = hnp.arrays(
    dtype=st.sampled_from(["<f8", "<i8", "?", "<c16", "<f4", "<u2", "<U3"]),
    shape=hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
)
leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | arrays
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.integers() | st.tuples(st.integers()), inner, max_size=3)
        | st.builds(Pair, inner, inner)
    ),
    max_leaves=8,
)


@given(values)
def test_anything_comes_back_as_it_was(value):
    assert same(from_bytes(to_bytes(value)), value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -0.0, 5e-324, 2**200])
def test_extreme_numbers_come_back(value):
    assert same(from_bytes(to_bytes(value)), value)


@pytest.mark.parametrize("number", [np.float32(0.1), np.int8(-3), np.bool_(True), np.float64(0.1), np.complex128(1j)])
def test_numpy_numbers_keep_their_type(number):
    assert same(from_bytes(to_bytes([number])), [number])


def test_layout_and_protection_of_arrays_come_back():
    sealed = np.arange(6.0).reshape(2, 3)
    sealed.setflags(write=False)
    value = [sealed, np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.arange(6)[::2]]
    first, second, third = from_bytes(to_bytes(value))
    assert same(first, sealed)
    assert second.flags.f_contiguous
    assert not second.flags.c_contiguous
    np.testing.assert_array_equal(second, value[1])
    np.testing.assert_array_equal(third, [0, 2, 4])


def test_arrays_of_one_file_do_not_share_memory():
    first, second = from_bytes(to_bytes([np.zeros(2), np.zeros(2)]))
    first[:] = 1
    assert (second == 0).all()


@pytest.mark.parametrize(
    "state", [ddcrp.ChainState(np.array([1, 1, 2]), 0.5, 3), crp.ChainState(np.array([0, 1]), 2.0)]
)
def test_states_of_the_models_can_be_stored(state):
    back = from_bytes(to_bytes(state))
    assert type(back) is type(state)
    for name in vars(state):
        np.testing.assert_array_equal(getattr(back, name), getattr(state, name))


def test_many_draws_make_few_members():
    draws = [(np.full(3, i), np.full(2, i / 7)) for i in range(500)]
    with zipfile.ZipFile(io.BytesIO(to_bytes(draws))) as archive:
        assert len(archive.namelist()) == 3
    assert same(from_bytes(to_bytes(draws)), draws)


@pytest.mark.parametrize("value", [Stranger(1), [Stranger(1)], {1, 2}, object(), b"bytes", np.array([None])])
def test_what_cannot_be_stored_is_refused(value):
    with pytest.raises(CheckpointError, match="Cannot store"):
        to_bytes(value)


def test_only_classes_with_fields_can_be_marked():
    with pytest.raises(TypeError, match="int is neither a dataclass nor a named tuple"):
        storable(int)


def rewritten(content, change):
    members = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, member in change(members).items():
            archive.writestr(name, member)
    return sealed(buffer.getvalue())


def test_a_class_that_is_not_marked_is_not_looked_up():
    content = to_bytes(Shoes(1.0, np.zeros(2)))
    forged = rewritten(content, lambda m: m | {_TEXT: m[_TEXT].replace(b"walks.Shoes", b"os.PathLike")})
    with pytest.raises(CheckpointError, match=r"holds a 'os\.PathLike', which is not known here; known are .*walks"):
        from_bytes(forged)


def test_pickled_arrays_are_not_read():
    pickled = io.BytesIO()
    np.save(pickled, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(CheckpointError, match="allow_pickle=False"):
        from_bytes(rewritten(to_bytes(START), lambda m: m | {"<f8": pickled.getvalue()}))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: content[: len(content) // 2],
        lambda content: b"",
        lambda content: rewritten(content, lambda m: {name: m[name] for name in m if name != _TEXT}),
        lambda content: rewritten(content, lambda m: {name: m[name] for name in m if name != "<f8"}),
        lambda content: rewritten(content, lambda m: m | {_TEXT: json.dumps({"is": "decode"})}),
        lambda content: rewritten(content, lambda m: m | {_TEXT: m[_TEXT].replace(b'"place"', b'"plaice"')}),
    ],
)
def test_damaged_content_is_an_error_of_ours(spoil):
    with pytest.raises(CheckpointError, match="damaged"):
        from_bytes(spoil(to_bytes(START)))


def test_every_changed_byte_is_noticed():
    content = to_bytes(START)
    for place in range(len(content)):
        spoilt = bytearray(content)
        spoilt[place] ^= 0xFF
        with pytest.raises(CheckpointError, match="its seal is broken"):
            from_bytes(bytes(spoilt))


def test_the_seal_is_the_digest_of_what_follows():
    content = to_bytes(START)
    assert seal_of(content) == hashlib.sha256(content[75:]).hexdigest()


def test_content_that_would_not_fit_in_memory_is_refused_before_it_is_read():
    zeros = io.BytesIO()
    np.save(zeros, np.zeros(10**6))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("<f8", zeros.getvalue())
    with memory_limit(10**6), pytest.raises(InputError, match=r"would take 8\.0 MB in memory.* the limit is 1\.0 MB"):
        from_bytes(sealed(buffer.getvalue()))
