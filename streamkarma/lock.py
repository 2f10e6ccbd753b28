"""Locks on models: exclusive, or shared by processes that coordinate."""

from __future__ import annotations

import errno
import os
import time
import weakref
from contextlib import suppress
from pathlib import Path

from streamkarma import system
from streamkarma.errors import ModelFileError, RunError
from streamkarma.replacing import check_names_file, check_replaceable

#: Errors of a file system without locks, on which models are not locked.
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL)

#: A process that begins to share a lock holds it alone for an instant. Others that begin at the same time try
#: again this often, after this many seconds.
_TRIES, _PAUSE = 5, 0.02
#: More than the names of a group and a member can have.
_MOST_BYTES = 1 << 16


class ModelLock:
    """The right to write a model, until it is released or the process ends in any way.

    It is a lock on the file ``.NAME.lock`` beside the model, since the model itself is replaced at every
    checkpoint. Reading a model needs no lock.

    Parameters
    ----------
    path
        The model, which need not exist yet.
    shared
        Whether other processes that share it may write as well; not on Windows, which has no shared locks.
    sharers
        Which processes may share it, in words: those that coordinate. The lock's file names them, so that
        others can report who holds it.

    Raises
    ------
    UsageError
        If it is a folder, or its folder does not exist.
    ModelFileError
        If the model could not be written.
    RunError
        If another process holds the lock.
    """

    def __init__(self, path: str, shared: bool = False, sharers: str = "") -> None:
        check_names_file("--model", path)
        target = Path(os.path.realpath(path))
        self._path = target.with_name(f".{target.name}.lock")
        try:
            check_replaceable(target)
            handle = self._acquire(shared, sharers)
        except _OthersError as error:
            raise RunError(
                f"{path} is in use by {error}; wait until it ends, or give another --model"
            ) from None
        except BlockingIOError as error:
            raise RunError(
                f"{path} is in use: another process learns with it; wait until it ends, or give "
                "another --model"
            ) from error
        except OSError as error:
            raise ModelFileError(f"cannot write the model to {path}: {error.strerror}") from error
        # The file of a shared lock is left to the other processes.
        self._let_go = weakref.finalize(self, _let_go, handle, None if shared else self._path)

    def _acquire(self, shared: bool, sharers: str) -> int:
        while True:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | system.NO_FOLLOW, 0o666)
            try:
                if shared and system.SHARES_LOCKS:
                    _share(handle, sharers)
                else:
                    system.try_lock(handle)
                # The previous holder may have removed the file in the meantime.
                if _is_at(handle, self._path):
                    return handle
            except OSError as error:
                if error.errno in _NO_LOCKS:
                    return handle
                os.close(handle)
                raise
            except _OthersError:
                os.close(handle)
                raise
            os.close(handle)

    def release(self) -> None:
        """Release the lock."""
        self._let_go()


class _OthersError(Exception):
    """The lock is shared by others, which are named."""


def _share(handle: int, sharers: str) -> None:
    """Share a lock with those who wrote the same into its file, or write it if nobody holds the lock."""
    for _ in range(_TRIES):
        with suppress(BlockingIOError), open(handle, "r+b", buffering=0, closefd=False) as file:
            try:
                system.try_lock(handle)
                file.seek(0)
                file.truncate()
                file.write(sharers.encode())
                system.try_lock(handle, shared=True)
            except BlockingIOError:
                system.try_lock(handle, shared=True)
            file.seek(0)
            others = file.read(_MOST_BYTES).decode(errors="replace")
            if others != sharers:
                raise _OthersError(others or "another process")
            return
        time.sleep(_PAUSE)
    raise BlockingIOError


def _let_go(handle: int, path: Path | None) -> None:
    if path is not None and not system.OPEN_STAYS:
        path.unlink(missing_ok=True)
    os.close(handle)
    if path is not None and system.OPEN_STAYS:
        # The next holder may have opened it already.
        with suppress(OSError):
            path.unlink()


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False
