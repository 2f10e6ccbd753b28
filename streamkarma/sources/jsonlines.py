"""JSON lines, read as they come."""

from __future__ import annotations

import gzip
import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

import orjson

from streamkarma.errors import RecordError, RunError
from streamkarma.sources.records import Records

#: Most bytes asked for at once. A pipe gives what it has; of a file this is some thousand
#: events, enough that the cost of a block does not show.
READ_SIZE = 1 << 18
#: Longer lines are refused unless the user says otherwise.
MAX_RECORD_BYTES = 16 << 20
#: As much of a refused line as is kept to show.
SHOWN_BYTES = 1000
BOM = b"\xef\xbb\xbf"
TOO_LONG = "longer than the limit; see --max-record-bytes"


class Lines(NamedTuple):
    """Some lines in a row.

    Attributes
    ----------
    first
        Number of the first line, from 1.
    lines
        The lines, without their ends. One longer than allowed is cut to its first
        SHOWN_BYTES and is in ``overlong``.
    overlong
        Numbers of the lines that were cut.
    """

    first: int
    lines: list[bytes]
    overlong: frozenset[int]

    def records(self, begin: int, end: int) -> Records:
        """The lines from one index to another."""
        first = self.first + begin
        refused = {n - first: TOO_LONG for n in self.overlong if begin <= n - self.first < end}
        return Records(self.lines[begin:end], lambda i: {"line": first + i}, refused)


def open_input(path: str) -> io.BufferedReader | gzip.GzipFile:
    """Open a path for reading bytes: ``-`` is standard input, .gz and .zst are unpacked.

    Raises
    ------
    RunError
        If it cannot be opened.
    """
    if path == "-":
        return cast(io.BufferedReader, sys.stdin.buffer)
    try:
        if path.endswith(".gz"):
            return gzip.GzipFile(path, "rb")
        if path.endswith(".zst"):
            import zstandard

            return io.BufferedReader(zstandard.open(path, "rb"))
        return Path(path).open("rb")
    except OSError as error:
        raise RunError(f"cannot read {path}: {error.strerror}") from error


def read_lines(read: Callable[[int], bytes], limit: int = MAX_RECORD_BYTES) -> Iterator[Lines]:
    """Yield lines as soon as they are whole.

    Parameters
    ----------
    read
        Returns up to so many bytes, at least one unless the input has ended, and does not
        wait for more than it has.
    limit
        Longest line kept, in bytes. Memory is bounded by this and READ_SIZE.
    """
    first = 1
    partial: list[bytes] = []
    size = 0
    while chunk := read(READ_SIZE):
        if first == 1 and not partial:
            chunk = chunk.removeprefix(BOM)
        lines = chunk.split(b"\n")
        rest = lines.pop()
        if lines:
            head, was_long = _whole(partial, size + len(lines[0]), lines[0], limit)
            lines[0] = head
            overlong = {first} if was_long else set()
            if limit < READ_SIZE:
                for i, line in enumerate(lines):
                    if len(line) > limit:
                        lines[i] = line[:SHOWN_BYTES]
                        overlong.add(first + i)
            yield Lines(first, lines, frozenset(overlong))
            first += len(lines)
            partial, size = [], 0
        size += len(rest)
        if size <= limit or not partial:
            partial.append(rest)
    if size:
        line, was_long = _whole(partial, size, b"", limit)
        yield Lines(first, [line], frozenset({first} if was_long else ()))


def _whole(partial: list[bytes], size: int, end: bytes, limit: int) -> tuple[bytes, bool]:
    """A line from its pieces, cut if ``size``, its full length, is beyond the limit."""
    line = b"".join(partial) + end
    return (line[:SHOWN_BYTES], True) if size > limit else (line, False)


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
