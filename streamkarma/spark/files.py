"""The files of an input, on this machine or in a store supported by Arrow."""

from __future__ import annotations

import os
import posixpath
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from streamkarma.errors import RunError, UsageError

if TYPE_CHECKING:
    import pyarrow.fs as fs

#: Suffix of files that are being written.
_TEMPORARY = ".tmp"
_GLOB = frozenset("*?[")


class File(NamedTuple):
    """A file of an input, with its size in bytes."""

    path: str
    size: int


def file_system_of(path: str) -> tuple[fs.FileSystem, str, str]:
    """The file system of a path or URI, the path in it, and the prefix of such paths.

    Raises
    ------
    UsageError
        If Arrow does not support that kind of URI.
    """
    import pyarrow as pa
    import pyarrow.fs as fs

    if "://" not in path:
        return fs.LocalFileSystem(), str(Path(path).absolute()), ""
    scheme = path.partition("://")[0]
    try:
        system, inner = fs.FileSystem.from_uri(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise UsageError(
            f"cannot read {path}: {error}; for what only Spark can read, use streamkarma.spark.backfill"
        ) from error
    # The prefix is the scheme, and possibly the address of the store.
    before = path.rstrip("/").removesuffix(inner)
    return system, inner, before if before != path.rstrip("/") else f"{scheme}://"


def absolute(path: str) -> str:
    """The same path for processes with another working directory."""
    _, inner, before = file_system_of(path)
    return (before + inner).rstrip("/")


def files_of(paths: list[str]) -> list[File]:
    """All files of some paths in order: a file, a folder, or a pattern with ``*``, ``?`` and ``[…]``.

    The names in a folder are sorted; those that begin with ``_`` or ``.`` are left out, as by Spark.

    Raises
    ------
    RunError
        If a path matches nothing.
    """
    found = []
    for path in paths:
        own = _files_of(path)
        if not own:
            raise RunError(f"no file matches {path}; give a file, a folder or a pattern in quotes")
        found += own
    return found


def _files_of(path: str) -> list[File]:
    import pyarrow.fs as fs

    system, inner, before = file_system_of(path)
    folder, parts = _fixed(inner)
    try:
        [info] = system.get_file_info([folder])
        if info.type == fs.FileType.File:
            return [] if parts else [File(before + info.path, info.size)]
        selector = fs.FileSelector(folder, allow_not_found=True, recursive=True)
        infos = system.get_file_info(selector)
        files = [File(info.path, info.size) for info in infos if info.type == fs.FileType.File]
    except OSError as error:
        raise RunError(f"cannot read {path}: {error}") from error
    except UnicodeDecodeError:
        # pyarrow and Spark support only names in UTF-8.
        raise RunError(f"cannot read {path}: a file name in {folder} is not UTF-8; rename it") from None
    matching = [each for each in files if _matches(posixpath.relpath(each.path, folder), parts)]
    return sorted(each._replace(path=before + each.path) for each in matching)


def _fixed(path: str) -> tuple[str, list[str]]:
    """The folder before the first name with a pattern, and the names from there on."""
    names = path.split("/")
    first = next((i for i, name in enumerate(names) if _GLOB.intersection(name)), len(names))
    return "/".join(names[:first]) or "/", names[first:]


def _matches(path: str, pattern: list[str]) -> bool:
    """Whether a path begins with names that match a pattern, and the rest of it is not hidden."""
    names = path.split("/")
    if len(names) < len(pattern) or not all(map(fnmatchcase, names, pattern)):
        return False
    return not any(name.startswith(("_", ".")) for name in names[len(pattern) :])


@contextmanager
def written(path: str) -> Iterator[Callable[[bytes], object]]:
    """Write a file atomically, replacing an existing one.

    Raises
    ------
    RunError
        If it cannot be written.
    """
    system, inner, _ = file_system_of(path)
    folder, _, name = inner.rpartition("/")
    temporary = f"{folder}/.{name}.{uuid.uuid4().hex[:8]}{_TEMPORARY}"
    try:
        system.create_dir(folder)
        with system.open_output_stream(temporary) as file:
            yield file.write
        if "://" not in path:
            _sync(temporary)
        system.move(temporary, inner)
    except BaseException as error:
        with suppress(OSError):
            system.delete_file(temporary)
        if isinstance(error, OSError):
            raise RunError(f"cannot write {path}: {error}") from error
        raise


def remove_leftovers(folder: str) -> None:
    """Remove the leftovers of killed writers in a folder and below; no writer may be running."""
    import pyarrow.fs as fs

    system, inner, _ = file_system_of(folder)
    # Leftovers that cannot be removed are harmless.
    with suppress(OSError):
        for info in system.get_file_info(fs.FileSelector(inner, allow_not_found=True, recursive=True)):
            if info.base_name.startswith(".") and info.base_name.endswith(_TEMPORARY):
                system.delete_file(info.path)


def _sync(path: str) -> None:
    """Sync a local file to disk, so that it survives a power failure."""
    handle = os.open(path, os.O_RDWR)
    os.fsync(handle)
    os.close(handle)


def is_new(path: str) -> bool:
    """Whether a path does not exist, or is an empty folder.

    Raises
    ------
    RunError
        If it cannot be read.
    """
    import pyarrow.fs as fs

    system, inner, _ = file_system_of(path)
    try:
        [info] = system.get_file_info([inner])
        if info.type == fs.FileType.Directory:
            return not system.get_file_info(fs.FileSelector(inner))
    except OSError as error:
        raise RunError(f"cannot read {path}: {error}") from error
    return bool(info.type == fs.FileType.NotFound)


def folders_in(path: str, depth: int) -> list[str]:
    """The folders ``depth`` levels below a path, sorted by name, with numbers in numerical order.

    Raises
    ------
    RunError
        If the path cannot be read.
    """
    import pyarrow.fs as fs

    system, inner, before = file_system_of(path)
    found = [inner]
    try:
        for _ in range(depth):
            selectors = [fs.FileSelector(folder, allow_not_found=True) for folder in found]
            infos = [info for selector in selectors for info in system.get_file_info(selector)]
            found = [info.path for info in infos if info.type == fs.FileType.Directory]
    except OSError as error:
        raise RunError(f"cannot read {path}: {error}") from error
    names = sorted((posixpath.dirname(each), len(each), each) for each in found)
    return [before + each for _, _, each in names]
