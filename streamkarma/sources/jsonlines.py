"""JSON lines, read as they come."""

from __future__ import annotations

import gzip
import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import orjson

from streamkarma.errors import RecordError, RunError
from streamkarma.sources.records import Records, count_lines

#: Most bytes asked for at once. A pipe gives what it has; of a file this is some thousand
#: events, enough that the cost of a block does not show.
READ_SIZE = 1 << 20
#: Most lines in a row, so that with short ones, too, a checkpoint or a signal is never far.
BLOCK = 8192
#: Longer lines are refused unless the user says otherwise.
MAX_RECORD_BYTES = 16 << 20
#: As much of a refused line as is kept to show.
SHOWN_BYTES = 1000
BOM = b"\xef\xbb\xbf"
TOO_LONG = "longer than the limit; see --max-record-bytes"

Input = io.RawIOBase | io.BufferedReader | gzip.GzipFile


class Lines(NamedTuple):
    """Some lines in a row.

    Attributes
    ----------
    first
        Number of the first line, from 1.
    size, text
        How many, and the lines, each ended by a newline. One longer than allowed is cut to its
        first SHOWN_BYTES and is in ``overlong``.
    overlong
        Numbers of the lines that were cut.
    """

    first: int
    size: int
    text: bytes
    overlong: frozenset[int] = frozenset()

    def records(self) -> Records:
        """The lines as records."""
        first = self.first
        refused = {n - first: TOO_LONG for n in self.overlong}
        return Records(self.text, self.size, lambda i: {"line": first + i}, refused)


def open_input(path: str) -> Input:
    """Open a path for reading bytes: ``-`` is standard input, .gz and .zst are unpacked.

    Plain input has no buffer: a thread that waits in one for input would hold it fast when the
    program ends.

    Raises
    ------
    RunError
        If it cannot be opened.
    """
    if path == "-":
        # A pipe as the system makes it holds 64 KiB. Where another size cannot be had, that will do.
        with suppress(ImportError, AttributeError, OSError):
            import fcntl

            fcntl.fcntl(sys.stdin, fcntl.F_SETPIPE_SZ, READ_SIZE)
        return cast(Input, getattr(sys.stdin.buffer, "raw", sys.stdin.buffer))
    try:
        if path.endswith(".gz"):
            return gzip.GzipFile(path, "rb")
        if path.endswith(".zst"):
            import zstandard

            return io.BufferedReader(zstandard.open(path, "rb"))
        return Path(path).open("rb", buffering=0)
    except OSError as error:
        raise RunError(f"cannot read {path}: {error.strerror}") from error


def reader(file: Input) -> Callable[[int], bytes]:
    """What reads from it as much as there is, and waits only if there is nothing."""
    return getattr(file, "read1", file.read)


def read_lines(read: Callable[[int], bytes], limit: int = MAX_RECORD_BYTES,
               most: int = BLOCK) -> Iterator[Lines]:  # fmt: skip
    """Yield lines as soon as they are whole.

    Parameters
    ----------
    read
        Returns up to so many bytes, at least one unless the input has ended, and does not
        wait for more than it has.
    limit
        Longest line kept, in bytes. Memory is bounded by this and READ_SIZE.
    most
        Most lines in a row.
    """
    first = 1
    partial: list[bytes] = []
    size = 0  # of the line that is not whole yet
    kept = 0  # of these bytes: all up to the limit, and enough to show of a longer line
    for chunk in chain([_without_bom(read)], iter(lambda: read(READ_SIZE), b"")):
        end = chunk.rfind(b"\n") + 1
        if end:
            text = b"".join([*partial, chunk[:end]])
            for lines in _in_blocks(first, text, size + chunk.index(b"\n"), limit, most):
                yield lines
                first += lines.size
            partial, size, kept = [], 0, 0
        size += len(chunk) - end
        if size <= limit or kept < SHOWN_BYTES:
            partial.append(chunk[end:])
            kept += len(chunk) - end
    if size:
        yield from _in_blocks(first, b"".join(partial) + b"\n", size, limit, most)


def _without_bom(read: Callable[[int], bytes]) -> bytes:
    """The beginning of the input without its BOM, which a pipe may give in pieces."""
    head = b""
    while len(head) < len(BOM) and BOM.startswith(head) and (more := read(READ_SIZE)):
        head += more
    return head.removeprefix(BOM)


def _in_blocks(first: int, text: bytes, head: int, limit: int, most: int) -> Iterator[Lines]:
    """Whole lines, cut where they are too long; ``head`` is the full length of the first."""
    overlong: frozenset[int] = frozenset()
    if max(head, len(text)) > limit:
        text, overlong = _cut(first, text, head, limit)
    count = count_lines(text)
    if count <= most:
        yield Lines(first, count, text, overlong)
        return
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n")) + 1
    begin = 0
    for at in range(0, count, most):
        size = min(most, count - at)
        end = int(ends[at + size - 1])
        numbers = range(first + at, first + at + size)
        yield Lines(first + at, size, text[begin:end], overlong.intersection(numbers))
        begin = end


def _cut(first: int, text: bytes, head: int, limit: int) -> tuple[bytes, frozenset[int]]:
    """The text with lines that are too long cut, and their numbers."""
    lines = text.split(b"\n")[:-1]
    sizes = [head, *map(len, lines[1:])]
    overlong = [i for i, size in enumerate(sizes) if size > limit]
    for i in overlong:
        lines[i] = lines[i][:SHOWN_BYTES]
    return b"\n".join([*lines, b""]), frozenset(first + i for i in overlong)


def parse(line: bytes) -> dict[str, Any]:
    """The JSON object on a line; NaN is allowed as a value, and means missing.

    Of keys that occur twice the last counts, as in every common JSON reader.

    Raises
    ------
    RecordError
        If it is not one.

    Examples
    --------
    >>> parse(b'{"a": 1, "b": null}')
    {'a': 1, 'b': None}
    >>> parse(b'[1]')
    Traceback (most recent call last):
    streamkarma.errors.RecordError: an array, where an object is expected
    """
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        record = _parse_with_nan(line, error)
    if type(record) is not dict:
        raise RecordError(f"{_kind(record)}, where an object is expected")
    return record


def _parse_with_nan(line: bytes, error: orjson.JSONDecodeError) -> Any:
    """What is JSON but for a NaN, by the slower reader that knows it."""
    if "depth limit" in error.msg:
        raise RecordError("nested too deep")
    if "infinity" in error.msg:
        raise RecordError("holds an infinite number")
    if b"NaN" in line or b"Infinity" in line:
        try:
            return json.loads(line.removeprefix(BOM), parse_int=float, parse_constant=_constant)
        except RecursionError:
            raise RecordError("nested too deep") from None
        except (UnicodeDecodeError, ValueError) as worse:
            if isinstance(worse, RecordError):
                raise
    # Without the place in the document, which for a line says little.
    raise RecordError(f"not JSON: {error.msg}")


def _constant(name: str) -> float:
    if name != "NaN":
        raise RecordError("holds an infinite number")
    return float("nan")


def _kind(value: Any) -> str:
    kinds = {list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return kinds.get(type(value), "a number")
