"""The encoding of models as records of a topic, and their validated decoding.

A model has a name: ``base``, or the ``TOPIC/PARTITION`` it has learned from. Its bytes are sent in chunks,
with the keys ``NAME#0``, ``NAME#1``, …, followed by a head with the key ``NAME``. Since all of this is one
transaction, a compacted topic keeps the newest complete model of each name. Nothing that is read is
evaluated, and no more is kept than the maximum size of a model.
"""

from __future__ import annotations

import hashlib
import re
from collections import deque
from typing import Any, NamedTuple

import orjson

from streamkarma.checkpoint import natural

#: The name of the base of all models.
BASE = "base"
#: Incremented with every incompatible change of the encoding.
FORMAT = 1
#: Maximum size of a model, and number of models.
MOST_BYTES, MOST_NAMES = 1 << 30, 100_000
#: Maximum size of a head.
_MOST_HEAD = 4096
#: Number of bytes at the beginning of a chunk that identify its model.
_MARK = 16
_KEY = re.compile(rb"(base|[a-zA-Z0-9._-]{1,249}/[0-9]{1,9})(?:#([0-9]{1,9}))?")
_TEXT = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class ModelSnapshot(NamedTuple):
    """A model at some point in time.

    Attributes
    ----------
    epoch
        Identifies its base.
    next
        The first offset that it has not learned.
    events
        The number of events it has learned.
    topic_id
        The id of the topic it has learned from; None if the brokers have no ids.
    content
        The model itself.
    """

    epoch: str
    next: int
    events: int
    topic_id: str | None
    content: bytes


def name_of(topic: str, partition: int) -> str:
    """The name of a partition, and of its model."""
    return f"{topic}/{partition}"


def encode(name: str, snapshot: ModelSnapshot, chunk: int) -> list[tuple[bytes, bytes]]:
    """Keys and values of a model's records, in order, with at most ``chunk`` bytes of it in each."""
    content, digest = snapshot.content, hashlib.sha256(snapshot.content)
    mark = digest.digest()[:_MARK]
    chunks = [mark + content[begin : begin + chunk] for begin in range(0, max(len(content), 1), chunk)]
    head = {
        "format": FORMAT,
        "epoch": snapshot.epoch,
        "next": snapshot.next,
        "events": snapshot.events,
        "topic_id": snapshot.topic_id,
        "chunks": len(chunks),
        "bytes": len(content),
        "sha256": digest.hexdigest(),
    }
    records = [(chunk_key(name, number), value) for number, value in enumerate(chunks)]
    return [*records, (name.encode(), orjson.dumps(head))]


def chunk_key(name: str, number: int) -> bytes:
    """The key of a chunk."""
    return f"{name}#{number}".encode()


class _Head(NamedTuple):
    """The last record of a model, which describes it."""

    epoch: str
    next: int
    events: int
    topic_id: str | None
    chunks: int
    bytes: int
    sha256: str


class _Chunks:
    """The chunks of a model received so far; empty once one was out of order."""

    def __init__(self) -> None:
        self.mark = b""
        self.parts: list[bytes] = []
        self.bytes = 0

    def add(self, number: int, value: bytes, room: int) -> None:
        """Add a chunk, if it fits into ``room`` bytes."""
        mark, part = value[:_MARK], value[_MARK:]
        if number == 0:
            self.mark, self.parts, self.bytes = mark, [], 0
        if number == len(self.parts) and mark == self.mark and self.bytes + len(part) <= room:
            self.parts.append(part)
            self.bytes += len(part)
        else:
            self.mark, self.parts, self.bytes = b"", [], 0

    def content(self, head: _Head) -> bytes:
        """The model in these chunks; ValueError if it does not match its head."""
        if len(self.parts) != head.chunks or self.bytes != head.bytes:
            raise ValueError(f"{self.bytes:,} of {head.bytes:,} bytes are stored")
        content = b"".join(self.parts)
        if hashlib.sha256(content).hexdigest() != head.sha256:
            raise ValueError("its checksum does not match")
        return content


class TopicModels:
    """The models of a topic, from its records in order."""

    def __init__(self) -> None:
        #: For each name and epoch, the last two complete ones: the newest may turn out not to be a valid
        #: model.
        self._whole: dict[tuple[str, str], deque[ModelSnapshot]] = {}
        self._heads: dict[tuple[str, str], _Head] = {}
        self._broken: dict[str, str] = {}
        self._open: dict[str, _Chunks] = {}

    def take(self, key: bytes | None, value: bytes | None) -> None:
        """Process the next record, whatever it contains."""
        found = _KEY.fullmatch(key or b"")
        if found is None:
            return
        name = found[1].decode()
        if value is None:
            self._remove(name, chunk=found[2] is not None)
        elif found[2] is None:
            self._take_head(name, value)
        elif name in self._open or len(self._open) < MOST_NAMES:
            chunks = self._open.setdefault(name, _Chunks())
            held = sum(each.bytes for each in self._open.values())
            chunks.add(int(found[2]), value, MOST_BYTES - held + chunks.bytes)

    def base(self) -> ModelSnapshot | None:
        """The base of all models; None if there is none."""
        return next((each[-1] for (name, _), each in self._whole.items() if name == BASE), None)

    def names(self, epoch: str) -> list[str]:
        """The names of the models."""
        return sorted(name for name, each in self._whole if each == epoch and name != BASE)

    def models(self, name: str, epoch: str) -> list[ModelSnapshot]:
        """The latest models of a name, newest first."""
        return [*reversed(self._whole.get((name, epoch), ()))]

    def reached(self, name: str, epoch: str) -> int:
        """The next offset of the newest model, complete or not; -1 if there is none."""
        head = self._heads.get((name, epoch))
        return -1 if head is None else head.next

    def chunks(self, name: str, epoch: str) -> int:
        """The number of chunks of the newest model."""
        head = self._heads.get((name, epoch))
        return 0 if head is None else head.chunks

    def broken(self) -> dict[str, str]:
        """What is wrong with the newest model, by name, for those that are damaged."""
        return dict(self._broken)

    def _take_head(self, name: str, value: bytes) -> None:
        chunks = self._open.pop(name, _Chunks())
        try:
            head = _head(value)
            if (name, head.epoch) not in self._heads and len(self._heads) >= MOST_NAMES:
                return
            self._heads[name, head.epoch] = head
            content = chunks.content(head)
        except ValueError as error:
            if len(self._broken) < MOST_NAMES:
                self._broken[name] = str(error)
            return
        if name == BASE:
            self._remove(name, chunk=False)
        self._broken.pop(name, None)
        models = self._whole.setdefault((name, head.epoch), deque(maxlen=2))
        models.append(ModelSnapshot(head.epoch, head.next, head.events, head.topic_id, content))

    def _remove(self, name: str, chunk: bool) -> None:
        """Handle a tombstone of a chunk or a model."""
        self._open.pop(name, None)
        if not chunk:
            for of in (self._whole, self._heads):
                for key in [key for key in of if key[0] == name]:
                    del of[key]
            self._broken.pop(name, None)


def _head(value: bytes) -> _Head:
    """Decode a head; ValueError if it is invalid."""
    try:
        fields: Any = orjson.loads(value) if len(value) <= _MOST_HEAD else None
        version = fields.pop("format")
        head = _Head(**fields)
    except (ValueError, TypeError, AttributeError, KeyError):
        raise ValueError("it has no valid header") from None
    if version != FORMAT:
        raise ValueError(f"it has format {version!r:.20}, this program reads {FORMAT}")
    texts = (head.epoch, head.topic_id or "none", head.sha256)
    if not all(isinstance(text, str) and _TEXT.fullmatch(text) for text in texts):
        raise ValueError("it has no valid header")
    natural(head.next, 2**63 - 1)
    for number in (head.events, head.chunks, head.bytes):
        natural(number)
    return head
