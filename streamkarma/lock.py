"""Locks on models: exclusive, or shared by processes that coordinate."""

from __future__ import annotations

import errno
import os
import weakref
from contextlib import suppress
from pathlib import Path

from streamkarma import system
from streamkarma.errors import ModelFileError, RunError
from streamkarma.replacing import check_names_file, check_replaceable

#: Errors of a file system without locks, on which models are not locked.
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL)


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

    Raises
    ------
    UsageError
        If it is a folder, or its folder does not exist.
    ModelFileError
        If the model could not be written.
    RunError
        If another process holds the lock.
    """

    def __init__(self, path: str, shared: bool = False) -> None:
        check_names_file("--model", path)
        target = Path(os.path.realpath(path))
        self._path = target.with_name(f".{target.name}.lock")
        try:
            check_replaceable(target)
            handle = self._acquire(shared)
        except BlockingIOError as error:
            raise RunError(
                f"{path} is in use: another process learns with it; wait until it ends, or give "
                "another --model"
            ) from error
        except OSError as error:
            raise ModelFileError(f"cannot write the model to {path}: {error.strerror}") from error
        # The file of a shared lock is left to the other processes.
        self._let_go = weakref.finalize(self, _let_go, handle, None if shared else self._path)

    def _acquire(self, shared: bool) -> int:
        while True:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | system.NO_FOLLOW, 0o666)
            try:
                system.try_lock(handle, shared)
                # The previous holder may have removed the file in the meantime.
                if _is_at(handle, self._path):
                    return handle
            except OSError as error:
                if error.errno in _NO_LOCKS:
                    return handle
                os.close(handle)
                raise
            os.close(handle)

    def release(self) -> None:
        """Release the lock."""
        self._let_go()


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
