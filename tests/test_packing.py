"""Packed models, and bytes that are none."""

from __future__ import annotations

import random

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from streamkarma.errors import ModelFileError
from streamkarma.runtime.packing import Packing


@given(st.binary(max_size=500), st.binary(max_size=500))
def test_what_was_packed_comes_back(base: bytes, content: bytes) -> None:
    packing = Packing(base)
    packed = packing.pack(content)
    assert packing.unpack(packed, "m") == content
    assert packing.pack(content) == packed


def test_what_the_base_has_is_left_out() -> None:
    rng = random.Random(1)
    names = rng.randbytes(3_000_000)
    content = names + rng.randbytes(1000)
    assert len(Packing(names).pack(content)) < 2000
    assert len(Packing(b"").pack(content)) > len(content)


@given(st.binary(max_size=200))
def test_other_bytes_are_refused(other: bytes) -> None:
    with pytest.raises(ModelFileError, match=r"^m cannot be unpacked: "):
        Packing(b"a base").unpack(b"x" + other, "m")


@pytest.mark.parametrize("cut", [0, 1, 7, 20])
def test_half_of_it_is_not_the_whole(cut: int) -> None:
    packing, content = Packing(b"a base"), random.Random(1).randbytes(1000)
    packed = packing.pack(content)
    with pytest.raises(ModelFileError, match=r"^m cannot be unpacked: "):
        packing.unpack(packed[:cut], "m")


def test_a_little_that_unpacks_to_very_much_is_no_model() -> None:
    packed = zstandard.ZstdCompressor().compress(bytes(100_000_000))
    assert len(packed) < 10_000
    with pytest.raises(ModelFileError, match="m is too long for a model"):
        Packing(b"", most=10_000_000).unpack(packed, "m")
