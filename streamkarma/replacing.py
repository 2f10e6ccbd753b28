"""Replace a file atomically: readers see either all of the old or all of the new.

The new bytes are written to a temporary file beside it, checked there, and renamed into place; the previous
file of a model is kept as ``NAME.bak``. Whichever process is killed at whatever moment, there is a complete
file under the name.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from streamkarma import files, system
from streamkarma.errors import OutputError, UsageError

#: Suffix of files that are being written, after eight random characters.
_TEMPORARY = ".tmp"


def backup_of(path: Path) -> Path:
    """The path of the file that was at ``path`` before the last ``replace``."""
    target = _target(path)
    return target.with_name(target.name + ".bak")


def write_result(path: str, content: bytes) -> None:
    """Write a result to a file, of which no backup is kept, or to a pipe or a device.

    Raises
    ------
    OutputError
        If it cannot be written. A previous file then stays as it was.
    """
    try:
        if _is_replaceable(path):
            replace(Path(path), [content], lambda written: None, backup=False)
        else:
            Path(path).write_bytes(content)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {files.reason(error)}") from error


def _is_replaceable(path: str) -> bool:
    """Whether a path is that of a file, or of none yet, in a folder that takes another file."""
    # Not that of the target: the one of /dev/stdout, for example, may have no path.
    status = _status(Path(path))
    is_file = status is None or stat.S_ISREG(status.st_mode)
    return is_file and os.access(_target(Path(path)).parent, os.W_OK)


def replace(path: Path, parts: Sequence[bytes], check: Callable[[Path], object], backup: bool = True) -> None:
    """Replace the file at ``path``, or the one that a symbolic link there points to.

    Parameters
    ----------
    path
        The file, which need not exist yet. It keeps its mode and, as far as permitted, its owner.
    parts
        The new contents.
    check
        Called with the path of the new file before it is renamed; if it raises, nothing changes.
    backup
        Whether to keep the previous file.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    target = _target(path)
    _remove_leftovers(target)
    handle, temporary = _new_temporary(target)
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(parts)
            file.flush()
            system.take_rights(file.fileno(), _status(target))
            os.fsync(file.fileno())
            check(temporary)
            if system.OPEN_STAYS:
                file.close()
            if backup:
                _keep(target, temporary)
            os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    system.sync_folder(target.parent)


def check_names_file(option: str, path: str) -> None:
    """Check that a path is that of a file, or could be.

    Raises
    ------
    UsageError
        If not; the message names the option.
    """
    if not path:
        raise UsageError(f"{option} is empty; give the path of a file")
    if path == "-":
        raise UsageError(f"{option} cannot be standard input or output; give the path of a file")
    if "\0" in path:
        raise UsageError(f"{option} {path!r} has a character that paths cannot have")
    target = _target(Path(path))
    if os.path.isdir(target):
        raise UsageError(f"{option} {path} is a folder; give the path of a file")
    if not os.path.isdir(target.parent):
        raise UsageError(f"the folder of {option} {path} does not exist")


def check_replaceable(path: Path) -> None:
    """Check that ``replace`` could be called now.

    Raises
    ------
    OSError
        If not; its ``strerror`` is the reason.
    """
    target = _target(path)
    status = _status(target)
    if status is not None and not stat.S_ISREG(status.st_mode):
        raise OSError(0, "it is not a regular file")
    if status is not None and not os.access(target, os.W_OK):
        raise PermissionError(0, "it is write-protected")
    _remove_leftovers(target)
    handle, temporary = _new_temporary(target)
    os.close(handle)
    # Another process may have removed it as a leftover, once it was closed.
    temporary.unlink(missing_ok=True)


def _target(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _status(target: Path) -> os.stat_result | None:
    try:
        return target.stat()
    except FileNotFoundError:
        return None


def _new_temporary(target: Path) -> tuple[int, Path]:
    """An empty file beside the target, marked as used while it is open."""
    while True:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=_TEMPORARY)
        system.mark_used(handle)
        # Another process may have removed it as a leftover before that.
        if os.path.exists(name):
            return handle, Path(name)
        os.close(handle)


def _remove_leftovers(target: Path) -> None:
    """Remove temporary files of this target left by killed processes."""
    pattern = re.compile(re.escape(f".{target.name}.") + "[a-z0-9_]{8}" + re.escape(_TEMPORARY) + r"(\.bak)?")
    for name in os.listdir(target.parent):
        if pattern.fullmatch(name):
            with contextlib.suppress(OSError):
                system.remove_unused(target.with_name(name))


def _keep(target: Path, temporary: Path) -> None:
    """Also give the existing file its backup name; if that fails, writing continues."""
    backup, spare = backup_of(target), temporary.with_name(temporary.name + ".bak")
    with contextlib.suppress(OSError):
        try:
            os.link(target, spare)
        except FileNotFoundError:
            return
        except OSError:
            # A file system without hard links, or a file of another user.
            shutil.copy2(target, spare)
        try:
            os.replace(spare, backup)
        finally:
            # A rename between two names of the same file removes neither.
            with contextlib.suppress(OSError):
                spare.unlink()
