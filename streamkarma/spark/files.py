"""The files of an input, on this machine or in a store that Arrow knows."""

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

#: Ends the name of a file that is being written.
_TEMPORARY = ".tmp"
_GLOB = frozenset("*?[")


class File(NamedTuple):
    """A file of an input: where it is, and how many bytes it has."""

    path: str
    size: int


def file_system_of(path: str) -> tuple[fs.FileSystem, str, str]:
    """The file system of a path or address, the path in it, and what to put before such a path.

    Raises
    ------
    UsageError
        If Arrow does not know that kind of address.
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
    # Beside the kind of store there may be its address.
    before = path.rstrip("/").removesuffix(inner)
    return system, inner, before if before != path.rstrip("/") else f"{scheme}://"


def absolute(path: str) -> str:
    """The same path for whoever has another current folder."""
    _, inner, before = file_system_of(path)
    return (before + inner).rstrip("/")


def files_of(paths: list[str]) -> list[File]:
    """All files of some paths in order: a file, a folder, or a pattern with ``*``, ``?`` and ``[…]``.

    Names in a folder come in order of their characters; those that begin with ``_`` or ``.`` are left out,
    as Spark does.

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
        # pyarrow and Spark take names that are UTF-8 only.
        raise RunError(f"cannot read {path}: a file name in {folder} is not UTF-8; rename it") from None
    matching = [each for each in files if _matches(posixpath.relpath(each.path, folder), parts)]
    return sorted(each._replace(path=before + each.path) for each in matching)


def _fixed(path: str) -> tuple[str, list[str]]:
    """The folder before the first name with a pattern in it, and the names from there on."""
    names = path.split("/")
    first = next((i for i, name in enumerate(names) if _GLOB.intersection(name)), len(names))
    return "/".join(names[:first]) or "/", names[first:]


def _matches(path: str, pattern: list[str]) -> bool:
    """Whether a path begins with names of a pattern, and the rest of it is not hidden."""
    names = path.split("/")
    if len(names) < len(pattern) or not all(map(fnmatchcase, names, pattern)):
        return False
    return not any(name.startswith(("_", ".")) for name in names[len(pattern) :])


@contextmanager
def written(path: str) -> Iterator[Callable[[bytes], object]]:
    """A new file, which is there as a whole or not at all; one that is there already is replaced.

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
    """Remove what killed writers left in a folder and below; nobody may be writing there any more."""
    import pyarrow.fs as fs

    system, inner, _ = file_system_of(folder)
    # What cannot be removed is in nobody's way.
    with suppress(OSError):
        for info in system.get_file_info(fs.FileSelector(inner, allow_not_found=True, recursive=True)):
            if info.base_name.startswith(".") and info.base_name.endswith(_TEMPORARY):
                system.delete_file(info.path)


def _sync(path: str) -> None:
    """Have a file of this machine outlive a power failure."""
    handle = os.open(path, os.O_RDWR)
    os.fsync(handle)
    os.close(handle)


def is_new(path: str) -> bool:
    """Whether there is nothing at a path, or an empty folder.

    Raises
    ------
    RunError
        If that cannot be seen.
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
    """The folders so many levels below a path, in order of their names; numbers in that of numbers.

    Raises
    ------
    RunError
        If that cannot be seen.
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
