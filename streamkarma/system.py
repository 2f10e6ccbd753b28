"""Differences between systems: locks, opening of files, permissions, folders, memory."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from pathlib import Path

#: Size of a few blocks of lines and of the data parsed from them. (Only up to 32 MiB has an effect.)
_KEPT_BYTES = 1 << 23

if sys.platform == "win32":
    import msvcrt

    #: Flags: links are followed, opening never blocks, and newlines are not translated.
    NO_FOLLOW, NO_WAIT, BINARY = 0, 0, os.O_BINARY
    #: Whether an open file can be neither renamed nor removed.
    OPEN_STAYS = True
    #: Whether locks can be shared.
    SHARES_LOCKS = False

    def try_lock(handle: int, shared: bool = False) -> None:
        """Lock a file; BlockingIOError if it is locked. Locks are never shared here."""
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError(error.errno, error.strerror) from error

    def mark_used(handle: int) -> None:
        """Do nothing: an open file cannot be removed."""

    def remove_unused(path: Path) -> None:
        """Remove a file, or raise OSError if it is in use."""
        path.unlink()

    def take_rights(handle: int, before: os.stat_result | None) -> None:
        """Do nothing: a new file inherits its permissions from its folder."""

    def sync_folder(path: Path) -> None:
        """Do nothing: a folder cannot be opened."""

    def be_nice() -> None:
        """Do nothing: Windows has a different kind of priorities."""

else:
    import fcntl

    NO_FOLLOW, NO_WAIT, BINARY = os.O_NOFOLLOW, os.O_NONBLOCK, 0
    OPEN_STAYS, SHARES_LOCKS = False, True

    def try_lock(handle: int, shared: bool = False) -> None:
        """Lock a file; BlockingIOError if there is a conflicting lock on it."""
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)

    def mark_used(handle: int) -> None:
        """Protect a file from ``remove_unused`` while it is open."""
        # On a file system without locks, ``remove_unused`` fails anyway.
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)

    def remove_unused(path: Path) -> None:
        """Remove a file, or raise OSError if it is in use."""
        handle = os.open(path, os.O_RDONLY | NO_FOLLOW | NO_WAIT)
        try:
            try_lock(handle)
            path.unlink()
        finally:
            os.close(handle)

    def take_rights(handle: int, before: os.stat_result | None) -> None:
        """Give a new file the mode and the owner of the one that it replaces, or the defaults."""
        if before is None:
            # mkstemp makes files private.
            os.fchmod(handle, 0o666 & ~_umask())
            return
        own = os.fstat(handle)
        if (before.st_uid, before.st_gid) != (own.st_uid, own.st_gid):
            with contextlib.suppress(OSError):
                os.fchown(handle, before.st_uid, before.st_gid)
        os.fchmod(handle, stat.S_IMODE(before.st_mode))

    def sync_folder(path: Path) -> None:
        """Sync a folder to disk, so that its names survive a power failure."""
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def be_nice() -> None:
        """Lower the priority of this process."""
        os.nice(10)

    def _umask() -> int:
        mask = os.umask(0)
        os.umask(mask)
        return mask


def keep_freed_memory() -> None:
    """Make the allocator keep freed memory for the next block of a stream, which needs as much again.

    The C library of Linux returns memory to the system when more is free than twice the largest chunk that
    was ever freed, and allocating it again for every block is slower than reading the lines in it. Therefore
    such a chunk is freed now; it is never touched, and takes no memory. Elsewhere this has no effect.
    """
    bytes(_KEPT_BYTES)
