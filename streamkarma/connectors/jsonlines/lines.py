"""JSON lines, read as they arrive."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma.connectors.jsonlines.inputs import READ_SIZE
from streamkarma.connectors.jsonlines.position import START, LinePosition
from streamkarma.connectors.records import Records, count_lines
from streamkarma.parameters.running import RUNNING

#: Maximum number of lines per block, so that short ones do not hold up checkpoints and signals for long.
BLOCK = 8192
#: Longer lines are refused unless the user sets another limit.
MAX_RECORD_BYTES: int = RUNNING["max_record_bytes"].default
#: Number of bytes of a refused line kept for display.
SHOWN_BYTES = 1000
NONE_REFUSED: Mapping[int, str] = MappingProxyType({})
BOM = b"\xef\xbb\xbf"
TOO_LONG = "longer than the limit; see --max-record-bytes"


class Lines(NamedTuple):
    """Some consecutive lines.

    Attributes
    ----------
    first
        Number of the first line, from 1.
    size, text
        Their number, and the lines, each terminated by a newline. One longer than allowed is cut to
        its first SHOWN_BYTES and is in ``overlong``.
    overlong
        Numbers of the lines that were cut.
    begin, end
        Their positions in the input.
    """

    first: int
    size: int
    text: bytes
    overlong: frozenset[int] = frozenset()
    begin: LinePosition = START
    end: LinePosition = START

    def records(self, unit: str = "line", refused: Mapping[int, str] = NONE_REFUSED) -> Records:
        """The lines as records; ``refused`` has, by number, why some cannot be used."""
        first, numbers = self.first, range(self.first, self.first + self.size)
        reasons = {n - first: why for n, why in refused.items() if n in numbers}
        reasons |= {n - first: TOO_LONG for n in self.overlong}
        return Records(self.text, self.size, lambda i: {unit: first + i}, reasons)

    def position(self, lines: int, records: Records) -> LinePosition:
        """The position after some of the lines, which are in ``records``. None of these may have been cut,
        unless they are all lines."""
        if lines == self.size:
            return self.end
        return self.begin.after(memoryview(self.text)[: records.begin(lines)], lines)


def read_lines(
    read: Callable[[int], bytes],
    limit: int = MAX_RECORD_BYTES,
    most: int = BLOCK,
    begin: LinePosition = START,
    first: int = 1,
    at_once: int = READ_SIZE,
) -> Iterator[Lines]:
    """Yield lines as soon as they are complete.

    Parameters
    ----------
    read
        Returns up to the given number of bytes, at least one unless the input has ended, without
        waiting for more if some are available.
    limit
        Maximum length of lines kept whole, in bytes. Memory is bounded by this and ``at_once``.
    most
        Maximum number of lines per block.
    begin, first
        The position in the input, and the number of the first line.
    at_once
        Maximum number of bytes per read.
    """
    at = reached = begin  # up to the last line that was yielded, and up to the last byte that was read
    partial: list[bytes] = []
    size = 0  # of the line that is still incomplete
    kept = 0  # of these bytes: all up to the limit, and of a longer line enough to show
    chunks = iter(lambda: read(at_once), b"")
    if first == 1:
        head = _head(read)
        if head.startswith(BOM):
            at = reached = reached.after(BOM, 0)
        chunks = chain([head.removeprefix(BOM)], chunks)
    for chunk in chunks:
        end = chunk.rfind(b"\n") + 1
        if end:
            longest, done = size + chunk.index(b"\n"), 0
            whole = _limited(first, b"".join([*partial, chunk[:end]]), longest, limit)
            for lines, behind in _in_blocks(whole, chunk[:end], most):
                reached = reached.after(memoryview(chunk)[done:behind], lines.size)
                yield lines._replace(begin=at, end=reached)
                at, done = reached, behind
            first += whole.size
            partial, size, kept = [], 0, 0
        reached = reached.after(memoryview(chunk)[end:], 0)
        size += len(chunk) - end
        if size <= limit or kept < SHOWN_BYTES:
            partial.append(chunk[end:])
            kept += len(chunk) - end
    if size:
        last = _limited(first, b"".join(partial) + b"\n", size, limit)
        yield last._replace(begin=at, end=reached._replace(lines=reached.lines + 1))


def _head(read: Callable[[int], bytes]) -> bytes:
    """The beginning of the input: enough to detect a BOM, which a pipe may return in pieces."""
    head = b""
    while len(head) < len(BOM) and BOM.startswith(head) and (more := read(READ_SIZE)):
        head += more
    return head


def _limited(first: int, text: bytes, head: int, limit: int) -> Lines:
    """Complete lines, cut if they are too long; ``head`` is the full length of the first."""
    overlong: frozenset[int] = frozenset()
    if max(head, len(text)) > limit:
        text, overlong = _cut(first, text, head, limit)
    return Lines(first, count_lines(text), text, overlong)


def _in_blocks(whole: Lines, chunk: bytes, most: int) -> Iterator[tuple[Lines, int]]:
    """The lines in blocks, each with the index of its end in ``chunk``, which was read last."""
    if whole.size <= most:
        yield whole, len(chunk)
        return
    ends, behind = _ends(whole.text), _ends(chunk)
    begin = 0
    for at in range(0, whole.size, most):
        size = min(most, whole.size - at)
        end = int(ends[at + size - 1])
        first = whole.first + at
        numbers = range(first, first + size)
        text = whole.text[begin:end]
        yield Lines(first, size, text, whole.overlong.intersection(numbers)), int(behind[at + size - 1])
        begin = end


def _ends(text: bytes) -> NDArray[np.intp]:
    """The indices after each newline."""
    return np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n")) + 1


def _cut(first: int, text: bytes, head: int, limit: int) -> tuple[bytes, frozenset[int]]:
    """The text, with lines that are too long cut, and the numbers of these."""
    lines = text.split(b"\n")[:-1]
    sizes = [head, *map(len, lines[1:])]
    overlong = [i for i, size in enumerate(sizes) if size > limit]
    for i in overlong:
        lines[i] = lines[i][:SHOWN_BYTES]
    return b"\n".join([*lines, b""]), frozenset(first + i for i in overlong)
