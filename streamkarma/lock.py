"""Locks on models: for one process alone, or for several that coordinate."""

from __future__ import annotations

import errno
import os
import weakref
from contextlib import suppress
from pathlib import Path

from streamkarma import system
from streamkarma.errors import ModelFileError, RunError
from streamkarma.replacing import check_names_file, check_replaceable

#: Where the file system knows no locks, there are none.
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL)


class ModelLock:
    """The right to write a model, until it is released or the process ends, however that comes about.

    It is a lock on the file ``.NAME.lock`` beside the model, since the model itself is replaced at every
    checkpoint. Who only reads a model needs none.

    Parameters
    ----------
    path
        The model, which need not be there yet.
    shared
        Whether others that share it may write as well; not on Windows, which has no shared locks.

    Raises
    ------
    UsageError
        If it is a folder, or in none.
    ModelFileError
        If the model could not be written.
    RunError
        If another process has the right.
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
        # Who shares it leaves the file to the others.
        self._let_go = weakref.finalize(self, _let_go, handle, None if shared else self._path)

    def _acquire(self, shared: bool) -> int:
        while True:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | system.NO_FOLLOW, 0o666)
            try:
                system.try_lock(handle, shared)
                # Who had it before may have removed the file in the meantime.
                if _is_at(handle, self._path):
                    return handle
            except OSError as error:
                if error.errno in _NO_LOCKS:
                    return handle
                os.close(handle)
                raise
            os.close(handle)

    def release(self) -> None:
        """Let others have it."""
        self._let_go()


def _let_go(handle: int, path: Path | None) -> None:
    if path is not None and not system.OPEN_STAYS:
        path.unlink(missing_ok=True)
    os.close(handle)
    if path is not None and system.OPEN_STAYS:
        # Who has it next may have opened it already.
        with suppress(OSError):
            path.unlink()


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False
