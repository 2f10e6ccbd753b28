"""Streams with ever more and ever longer names, categories, labels and ids."""

from __future__ import annotations

import ctypes
import gc
import os
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from streamkarma.connectors.records import Records
from streamkarma.runtime.plan import Plan
from streamkarma.runtime.session import Session

TRIES = "a block of 50 records with fresh keys, categories, nested names, labels and ids, most of a megabyte"
PROMISE = (
    "names, categories and classes take in the model file at most 6 bytes for each of their own, of which "
    "there are at most 2 KiB a place and 16 MiB, and 1,000 bytes a place; the memory in use does not grow by "
    "more than that and 64 MiB"
)
SHORT = 12
LONG = 2_000

#: Bounds for the learner, and for events that wait for a label; a class also takes a place.
PLACES, CLASSES, WAITING = 300, 50, 20
#: Bytes allowed for each byte of a name, for each place, and for the weights.
PER_BYTE, PER_PLACE, WEIGHTS = 6, 1_000, 2 << 20
#: As in the engine's vocabulary.rs.
MOST_NAME_BYTES = 16 << 20
#: Allowance for the current block, and for what the allocator cannot return.
IN_HAND = 64 << 20

Record = dict[str, Any]


def _text(rng: random.Random, longest: int) -> str:
    """A new string: mostly long, sometimes just within the bound, with characters of one to four bytes."""
    size = rng.choice([longest, longest, 1024, 300])
    character = rng.choice(["x", "\0", "é", "語", "😀"])
    fresh = f"{rng.getrandbits(64):x}"
    return fresh + character * max(size // len(character.encode()) - len(fresh), 1)


def _keys(rng: random.Random, longest: int) -> Record:
    return {_text(rng, longest): rng.random(), "a": 1.0, "y": rng.random() < 0.5}


def _categories(rng: random.Random, longest: int) -> Record:
    return {"a": _text(rng, longest), "b": _text(rng, longest), "y": rng.random() < 0.5}


def _nested(rng: random.Random, longest: int) -> Record:
    return {_text(rng, longest): {_text(rng, longest): [1, {"c": 2}], "d": "e"}, "y": rng.random() < 0.5}


def _labels(rng: random.Random, longest: int) -> Record:
    return {"a": rng.random(), "y": _text(rng, longest)}


def _ids(rng: random.Random, longest: int) -> Record:
    return {"id": _text(rng, longest), "a": rng.random(), _text(rng, longest): 1.0}


def _events_that_wait(rng: random.Random, longest: int) -> Record:
    return {"id": rng.getrandbits(64), "a": rng.random(), "c": _text(rng, longest), _text(rng, longest): 1.0}


KINDS: list[Callable[[random.Random, int], Record]] = [
    _keys, _categories, _nested, _labels, _ids, _events_that_wait,
]  # fmt: skip


def run(tries: int, seed: int, folder: Path) -> None:
    """See ``TRIES`` and ``PROMISE``."""
    # In the test suite, a tenth of a megabyte is enough: it would still show if it were kept.
    longest = 1_000_000 if tries > SHORT else 100_000
    path = str(folder / "model")
    options = {"max_attributes": PLACES, "max_coordinates": PLACES, "table_bits": 12}
    options["max_classes"] = CLASSES
    plan = Plan(model=path, learner="explicit", task="multiclass", fields={"id": "id"}, pending=WAITING,
                options=options, quiet=True)  # fmt: skip
    session = Session(plan, path, lambda line: None)
    session.loop.feed(_block([{"a": 1.0, "y": "label"}]))
    rng = random.Random(seed)
    before = None
    for number in range(tries):
        make = KINDS[number % len(KINDS)]
        session.loop.feed(_block([make(rng, longest) for _ in range(50)]))
        # It replaces the last block, which would count as memory in use.
        session.loop.feed(_block([{"a": 1.0}]))
        session.save()
        before = before or resident_memory()
        _check(Path(path), before, f"seed {seed}, try {number} ({make.__name__})")


def resident_memory() -> int:
    """The memory that the process uses, in bytes; 0 if the system does not report it."""
    gc.collect()
    # The C library may keep some hundred megabytes of freed memory after blocks of long strings.
    with suppress(AttributeError, TypeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _check(path: Path, before: int, told: str) -> None:
    places = PLACES + CLASSES + WAITING
    most = WEIGHTS + PER_BYTE * min(places * 2048, MOST_NAME_BYTES) + PER_PLACE * places
    grown, size = resident_memory() - before, path.stat().st_size
    assert grown < most + IN_HAND, f"{told}: {grown:,} bytes more of memory, {most + IN_HAND:,} is the most"
    assert size < most, f"{told}: a file of {size:,} bytes, {most:,} is the most"


def _block(records: list[Record]) -> Records:
    values = list(map(orjson.dumps, records))
    return Records(values, len(values), lambda i: {"line": i + 1})
