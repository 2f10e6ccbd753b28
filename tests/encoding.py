"""Helpers for tests of the encoder."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from streamkarma._engine import Encoded, Encoder
from streamkarma.events.block import Block


def encoder(max_attributes: int = 100, max_coordinates: int = 100, max_name_bytes: int = 1024,
            scale: bool = False, longest: float = math.inf, **more: int) -> Encoder:  # fmt: skip
    return Encoder(max_attributes, max_coordinates, max_name_bytes, scale, longest, **more)


def encoded(
    by: Encoder,
    records: Sequence[Any],
    learned: Sequence[bool] | bool = True,
    labels: Sequence[Any] | None = None,
) -> Block:
    """The records as encoded for learners."""
    marks = [learned] * len(records) if isinstance(learned, bool) else list(learned)
    events = Encoded()
    by.read_dicts(list(records), marks, events, labels=None if labels is None else list(labels))
    return Block(*events.block)


def restored(by: Encoder, into: Encoder) -> Encoder:
    """An encoder with the names and statistics of another."""
    into.restore(by.entries(), by.ignored, by.evicted, by.arrays())
    return into


def items(by: Encoder, record: Any, learned: bool = True) -> list[tuple[int, float]]:
    """Coordinates and values of one record, without the constant."""
    block = encoded(by, [record], learned)
    return list(zip(block.coordinates.tolist()[1:], block.values.tolist()[1:], strict=True))
