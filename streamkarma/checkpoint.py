"""Files of JSON and numpy arrays, written atomically and strictly validated when read.

A file consists of MAGIC; the length of the header, 8 bytes, little-endian; the header, JSON, with the name,
type and shape of every array; the arrays, concatenated; and the SHA-256 of all of this. Equal contents give
equal bytes. Nothing in it is executed or unpickled, and lengths are checked against the size of the file
before anything is allocated.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma import system
from streamkarma.arrays import Arrays
from streamkarma.errors import ModelFileError, UsageError
from streamkarma.printable import shown
from streamkarma.replacing import replace

MAGIC = b"streamkarma model\n"
#: Format version, increased whenever files must be read differently.
FORMAT = 30
#: Valid types of arrays: plain numbers, little-endian.
TYPES = ("<f8", "<i8", "<i4", "<u8", "|u1", "|b1")
#: Maximum length of a header: its decoded JSON takes ten times as much memory.
LONGEST_HEADER = 1 << 28
#: Maximum number of characters of an integer; a longer one exceeds all floats, and is invalid.
_MOST_DIGITS = 310
#: Maximum product of an array's dimensions other than 0: an empty one takes no bytes, but numpy has a limit.
_LARGEST_PRODUCT = 1 << 40
_DIGEST_SIZE = hashlib.sha256().digest_size


class Layout(NamedTuple):
    """An array as described in a header."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Size in bytes."""
        return math.prod(self.shape) * self.dtype.itemsize


def natural(value: Any, most: int = 2**53) -> int:
    """``value`` if it is a count, an integer from 0 to ``most``; else ValueError."""
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError(f"{shown(value)} is not a non-negative integer")
    return value


def checked_float(value: Any) -> float:
    """``value`` as a float if it is a finite number, else ValueError."""
    if type(value) not in (int, float) or not abs(value) < math.inf:
        raise ValueError(f"{shown(value)} is not a finite number")
    return float(value)


def unwritable(reason: str) -> UsageError:
    """The error for a model with a name or a label that cannot be saved."""
    return UsageError(
        f"cannot save this model: {reason}; attribute names and labels must be strings, numbers or booleans"
    )


def write(
    path: Path, header: dict[str, Any], arrays: Arrays, check: Callable[[Path], object] | None = None
) -> None:
    """Replace the file at ``path`` atomically.

    Parameters
    ----------
    path
        The file; the previous one is kept as ``NAME.bak``.
    header, arrays
        The contents.
    check
        Reads the new file back before it replaces the old one; ``read`` by default.

    Raises
    ------
    UsageError
        If the header has values that JSON cannot represent.
    ModelFileError
        If the file cannot be written or read back. The previous file stays in place.
    """
    parts = _parts(header, arrays)

    def read_back(temporary: Path) -> None:
        try:
            (check or read)(temporary)
        except ModelFileError as error:
            # The name of a temporary file would be useless.
            reason = str(error).replace(str(temporary), "what was written")
            raise ModelFileError(
                f"the model was not saved to {path}, since it could not be read back: {reason}"
            ) from error

    try:
        replace(path, parts, read_back)
    except OSError as error:
        raise ModelFileError(f"cannot write the model to {path}: {error.strerror}") from error


def read(path: Path) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of a file written by ``write``.

    Raises
    ------
    ModelFileError
        If it is missing, truncated, altered, of a newer format, or not a model file.
    """
    try:
        with _opened(path) as file:
            return _read(str(path), file, os.fstat(file.fileno()).st_size)
    except OSError as error:
        raise ModelFileError(f"cannot read the model {path}: {error.strerror}") from error
    except MemoryError as error:
        raise ModelFileError(f"the model {path} does not fit into memory") from error


def to_bytes(header: dict[str, Any], arrays: Arrays) -> bytes:
    """The bytes that ``write`` would write to a file.

    Raises
    ------
    UsageError
        If the header has values that JSON cannot represent.
    """
    return b"".join(_parts(header, arrays))


def json_lines(values: Iterable[Any]) -> NDArray[np.uint8]:
    """Values as an array of JSON lines, which may be larger than a header.

    Raises
    ------
    UsageError
        If one of them cannot be written as JSON.
    """
    encode = json.JSONEncoder(allow_nan=False, default=_plain).encode
    try:
        text = "".join(f"{encode(value)}\n" for value in values)
    except (TypeError, ValueError, RecursionError) as error:
        raise unwritable(str(error)) from error
    return np.frombuffer(text.encode(), np.uint8)


def from_json_lines(lines: NDArray[np.uint8]) -> Iterator[Any]:
    """The values of ``json_lines``; ValueError if one is not valid JSON for a header."""
    return map(_loads, BytesIO(lines.tobytes()))


def from_bytes(data: bytes, what: str) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays from the result of ``to_bytes``; ``what`` names it in messages.

    Raises
    ------
    ModelFileError
        As in ``read``.
    """
    try:
        return _read(what, BytesIO(data), len(data))
    except MemoryError as error:
        raise ModelFileError(f"the model {what} does not fit into memory") from error


def _parts(header: dict[str, Any], arrays: Arrays) -> list[bytes]:
    """The contents of a file, in order."""
    laid_out = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    shapes = [[name, array.dtype.str, list(array.shape)] for name, array in laid_out.items()]
    try:
        content = {"format": FORMAT, **header, "arrays": shapes}
        text = json.dumps(content, allow_nan=False, default=_plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise unwritable(str(error)) from error
    encoded = text.encode()
    parts = [MAGIC, len(encoded).to_bytes(8, "little"), encoded]
    parts += [array.tobytes() for array in laid_out.values()]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return [*parts, digest.digest()]


def _plain(value: Any) -> Any:
    """NumPy numbers and arrays as JSON values; TypeError for anything else that JSON cannot hold."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} cannot be written as JSON")


def _opened(path: Path) -> BinaryIO:
    """Open the file if it is a regular one, without blocking on a pipe."""
    handle = os.open(path, os.O_RDONLY | system.NO_WAIT | system.BINARY)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise ModelFileError(f"{path} is not a regular file, so it is not a streamkarma model")
    return os.fdopen(handle, "rb")


def _read(what: str, file: BinaryIO, size: int) -> tuple[dict[str, Any], Arrays]:
    left = size - len(MAGIC) - 8 - _DIGEST_SIZE
    begin = file.read(len(MAGIC) + 8)
    if not begin.startswith(MAGIC):
        raise ModelFileError(f"{what} is not a streamkarma model")
    length = int.from_bytes(begin[len(MAGIC) :], "little")
    if length > left:
        raise ModelFileError(f"{what} is truncated; restore it from a copy")
    if length > LONGEST_HEADER:
        raise ModelFileError(f"{what} has a header of {length:,} bytes; the maximum is {LONGEST_HEADER:,}")
    text = file.read(length)
    header = _header(what, text)
    layouts = _layouts(what, header.pop("arrays", None))
    if sum(layout.size for layout in layouts) != left - length:
        raise ModelFileError(f"{what} is truncated or altered; restore it from a copy")
    content = file.read(left - length)
    digest = hashlib.sha256(begin)
    digest.update(text)
    digest.update(content)
    if digest.digest() != file.read():
        raise ModelFileError(f"{what} is truncated or altered; restore it from a copy")
    return header, _arrays(what, layouts, content)


def _header(what: str, text: bytes) -> dict[str, Any]:
    try:
        header = _loads(text)
    except ValueError:
        header = None
    if not isinstance(header, dict):
        raise ModelFileError(f"{what} is altered; restore it from a copy")
    version = header.get("format")
    if type(version) is not int or version < 1:
        raise ModelFileError(f"{what} is altered; restore it from a copy")
    if version > FORMAT:
        raise ModelFileError(
            f"{what} has format {version}, this program reads up to {FORMAT}; upgrade streamkarma"
        )
    if version < FORMAT:
        raise ModelFileError(
            f"{what} has format {version}, of an older streamkarma, and cannot be used; start a new model"
        )
    return header


def _loads(text: bytes) -> Any:
    """Decode JSON; ValueError if it is invalid, or has something that is never written here."""
    try:
        return json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_no_number,
            parse_float=_parsed_float,
            parse_int=_integer,
        )
    except RecursionError as error:
        raise ValueError("too deep") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is not a JSON number")


def _parsed_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is out of range for a number")
    return number


def _integer(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError("too many digits")
    _parsed_float(text)
    return int(text)


def _layouts(what: str, shapes: Any) -> list[Layout]:
    """The arrays described in a header, in order."""
    try:
        layouts = [
            Layout(name, np.dtype(TYPES[TYPES.index(kind)]), tuple(shape)) for name, kind, shape in shapes
        ]
    except (TypeError, ValueError):
        layouts = [Layout("", np.dtype(np.bool_), (-1,))]
    sound = all(isinstance(layout.name, str) and _is_shape(layout.shape) for layout in layouts)
    if not sound or len({layout.name for layout in layouts}) < len(layouts):
        raise ModelFileError(f"{what} is not a model: its arrays do not match its header")
    return layouts


def _is_shape(shape: tuple[Any, ...]) -> bool:
    are_counts = len(shape) <= 4 and all(type(n) is int and n >= 0 for n in shape)
    return are_counts and math.prod(n or 1 for n in shape) <= _LARGEST_PRODUCT


def _arrays(what: str, layouts: list[Layout], content: bytes) -> Arrays:
    arrays: Arrays = {}
    begin = 0
    for layout in layouts:
        count = math.prod(layout.shape)
        array = np.frombuffer(content, layout.dtype, count, begin).reshape(layout.shape)
        # The engine reads numbers where they are, which must be where the processor expects numbers.
        arrays[layout.name] = np.require(array, requirements=["ALIGNED"])
        if layout.dtype == np.bool_ and np.frombuffer(content, np.uint8, count, begin).max(initial=0) > 1:
            raise ModelFileError(f"{what} is not a model: its arrays do not match its header")
        begin += layout.size
    return arrays
