"""Files of JSON and numpy arrays, written atomically and read with suspicion.

A file is, in this order: MAGIC; the length of the header, 8 bytes, little-endian; the
header, JSON, which names every array with its type and shape; the arrays, one after another;
and the SHA-256 of all of that. Equal contents make equal bytes. Nothing in it is executed
or unpickled.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma.errors import ModelFileError, UsageError

MAGIC = b"streamkarma model\n"
#: Raised whenever older programs could no longer read what is written.
FORMAT = 1
#: What an array may hold: plain numbers, little-endian.
TYPES = ("<f8", "<i8", "<i4", "<u8", "|b1")
_DIGEST_SIZE = hashlib.sha256().digest_size

Arrays = dict[str, NDArray[Any]]


def write(path: Path, header: dict[str, Any], arrays: Arrays) -> None:
    """Replace the file at ``path``; whoever reads it sees all of the old or all of the new.

    Raises
    ------
    UsageError
        If the header holds what JSON cannot.
    ModelFileError
        If the file cannot be written.
    """
    laid_out = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    shapes = [[name, array.dtype.str, list(array.shape)] for name, array in laid_out.items()]
    try:
        text = json.dumps({"format": FORMAT, **header, "arrays": shapes}, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"cannot save this model: {error}; attribute names and labels must be "
            "strings, numbers or booleans"
        ) from error
    encoded = text.encode()
    parts = [MAGIC, len(encoded).to_bytes(8, "little"), encoded]
    parts += [array.tobytes() for array in laid_out.values()]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    try:
        _replace(path, [*parts, digest.digest()])
    except OSError as error:
        raise ModelFileError(f"cannot write the model to {path}: {error.strerror}") from error


def _replace(path: Path, parts: list[bytes]) -> None:
    folder = path.resolve().parent
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes files private; a model is as readable as any other file.
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    entry = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(entry)
    finally:
        os.close(entry)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def read(path: Path) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of a file that ``write`` made.

    Raises
    ------
    ModelFileError
        If it is missing, truncated, altered, of a newer format, or something else.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ModelFileError(f"cannot read the model {path}: {error.strerror}") from error
    if not content.startswith(MAGIC):
        raise ModelFileError(f"{path} is not a streamkarma model")
    begin = len(MAGIC) + 8
    end = begin + int.from_bytes(content[len(MAGIC) : begin], "little")
    if end > len(content) - _DIGEST_SIZE:
        raise ModelFileError(f"{path} is truncated; restore it from a copy")
    header = _header(path, content[begin:end])
    version = header.get("format")
    if isinstance(version, int) and version > FORMAT:
        raise ModelFileError(
            f"{path} has format {version}, this program reads up to {FORMAT}; upgrade streamkarma"
        )
    if hashlib.sha256(content[:-_DIGEST_SIZE]).digest() != content[-_DIGEST_SIZE:]:
        raise ModelFileError(f"{path} is truncated or altered; restore it from a copy")
    try:
        return header, _arrays(header["arrays"], content[end:-_DIGEST_SIZE])
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{path} is not a model: its arrays are not as it says") from error


def _header(path: Path, text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict):
        raise ModelFileError(f"{path} is altered; restore it from a copy")
    return header


def _arrays(shapes: list[list[Any]], content: bytes) -> Arrays:
    arrays: Arrays = {}
    begin = 0
    for name, kind, shape in shapes:
        if kind not in TYPES or any(not isinstance(size, int) or size < 0 for size in shape):
            raise ValueError(name)
        dtype = np.dtype(kind)
        size = math.prod(shape)
        end = begin + size * dtype.itemsize
        if end > len(content):
            raise ValueError(name)
        arrays[name] = np.frombuffer(content, dtype, size, begin).reshape(shape)
        if dtype == np.bool_ and any(byte > 1 for byte in content[begin:end]):
            raise ValueError(name)
        begin = end
    if begin != len(content):
        raise ValueError("more bytes than arrays")
    return arrays
