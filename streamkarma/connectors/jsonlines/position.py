"""How far an input was read, and finding that position again."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

from streamkarma.connectors.jsonlines.inputs import READ_SIZE, LineInput
from streamkarma.errors import ModelFileError, RunError

Text = bytes | memoryview


class LinePosition(NamedTuple):
    """A position between two lines of an input.

    Attributes
    ----------
    lines, bytes
        Number of lines and bytes before it, decompressed, including blank and rejected ones.
    crc32
        The checksum of these bytes, to recognise the same input.
    """

    lines: int = 0
    bytes: int = 0
    crc32: int = 0

    def after(self, text: Text, lines: int) -> LinePosition:
        """The position after some more lines."""
        return LinePosition(self.lines + lines, self.bytes + len(text), zlib.crc32(text, self.crc32))


#: Before the first byte.
START = LinePosition()


def position_from(kept: Any, model: str) -> LinePosition | None:
    """A position stored as ``LinePosition._asdict`` in a model file; None for None.

    Raises
    ------
    ModelFileError
        If it is invalid.
    """
    if kept is None:
        return None
    try:
        position = LinePosition(kept["lines"], kept["bytes"], kept["crc32"])
    except (KeyError, TypeError):
        position = LinePosition(-1)
    if any(type(number) is not int or number < 0 for number in position):
        raise ModelFileError(f"{model} does not record how much of its input it has read")
    return position


def skip(file: LineInput, read: Callable[[int], bytes], taken: LinePosition, model: str) -> LinePosition:
    """Skip the part of an input that was read before.

    Parameters
    ----------
    file
        The input, at its beginning.
    read
        Reads up to the given number of bytes of it.
    taken
        How much of it was read.
    model
        Path of the model that has read it.

    Returns
    -------
    Where to continue: a newline that was missing at the end has been read as well.

    Raises
    ------
    RunError
        If it is another input.
    """
    at, ended = LinePosition(lines=taken.lines), True
    while at.bytes < taken.bytes and (chunk := read(min(READ_SIZE, taken.bytes - at.bytes))):
        at, ended = at.after(chunk, 0), chunk.endswith(b"\n")
    if at != taken:
        raise RunError(
            f"{file.name} does not begin with the {taken.lines:,} {file.unit}s ({taken.bytes:,} bytes) that "
            f"{model} has read of its input; give it that, or leave out --resume-input to learn all of this"
        )
    if ended:
        return at
    ahead = read(1)
    if ahead == b"\n":
        return at.after(ahead, 0)
    file.unread(ahead)
    return at
