"""Replace a file in one step: whoever reads it sees all of the old or all of the new.

The new bytes go to a temporary file beside it, are checked there, and are renamed into place; the file
before stays as ``NAME.bak``. At every instant, whatever is killed, there is a whole file under the name.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

#: Ends the name of a file that is being written; before it stand eight characters that tell it from others.
_TEMPORARY = ".tmp"


def backup_of(path: Path) -> Path:
    """Where the file is that stood at ``path`` before the last ``replace``."""
    target = _target(path)
    return target.with_name(target.name + ".bak")


def replace(path: Path, parts: Sequence[bytes], check: Callable[[Path], object]) -> None:
    """Replace the file at ``path``, or that which a symbolic link there points to.

    Parameters
    ----------
    path
        Where the file stands, or is to stand. It keeps its mode and, as far as that is allowed, its owner.
    parts
        The bytes.
    check
        Is given the path of the new file before it is renamed; if it raises, nothing changes.

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
            _take_rights(file.fileno(), target)
            os.fsync(file.fileno())
            check(temporary)
            _keep(target, temporary)
            os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    entry = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(entry)
    finally:
        os.close(entry)


def check_replaceable(path: Path) -> None:
    """Do nothing if ``replace`` could be called now.

    Raises
    ------
    OSError
        If not; its ``strerror`` says why.
    """
    target = _target(path)
    status = _status(target)
    if status is not None and stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(0, "it is a folder")
    if status is not None and not stat.S_ISREG(status.st_mode):
        raise OSError(0, "it is not a regular file")
    if status is not None and not os.access(target, os.W_OK):
        raise PermissionError(0, "it is write-protected")
    _remove_leftovers(target)
    handle, temporary = _new_temporary(target)
    os.close(handle)
    temporary.unlink()


def _target(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _status(target: Path) -> os.stat_result | None:
    try:
        return target.stat()
    except FileNotFoundError:
        return None


def _new_temporary(target: Path) -> tuple[int, Path]:
    """An empty file beside the target, locked for as long as it is open: that says it is in use."""
    while True:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=_TEMPORARY)
        # Somebody who was looking for leftovers may have found it before it was locked.
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.exists(name):
                return handle, Path(name)
        os.close(handle)


def _remove_leftovers(target: Path) -> None:
    """Remove temporary files of this target that killed processes left."""
    pattern = re.compile(re.escape(f".{target.name}.") + "[a-z0-9_]{8}" + re.escape(_TEMPORARY) + r"(\.bak)?")
    for name in os.listdir(target.parent):
        if pattern.fullmatch(name):
            with contextlib.suppress(OSError):
                _remove_unused(target.with_name(name))


def _remove_unused(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()
    finally:
        os.close(handle)


def _take_rights(handle: int, target: Path) -> None:
    """Give a new file the mode and the owner of the one that it replaces, or those of any new file."""
    status, own = _status(target), os.fstat(handle)
    if status is None:
        # mkstemp makes files private.
        os.fchmod(handle, 0o666 & ~_umask())
        return
    if (status.st_uid, status.st_gid) != (own.st_uid, own.st_gid):
        with contextlib.suppress(OSError):
            os.fchown(handle, status.st_uid, status.st_gid)
    os.fchmod(handle, stat.S_IMODE(status.st_mode))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _keep(target: Path, temporary: Path) -> None:
    """Have the file that is there under its second name too. Without a second name, writing goes on."""
    backup, spare = backup_of(target), temporary.with_name(temporary.name + ".bak")
    with contextlib.suppress(OSError):
        try:
            os.link(target, spare)
        except FileNotFoundError:
            return
        except OSError:
            # A file system without links, or a file of somebody else's.
            shutil.copy2(target, spare)
        try:
            os.replace(spare, backup)
        finally:
            # Of two names of one file the rename has removed none.
            with contextlib.suppress(OSError):
                spare.unlink()
