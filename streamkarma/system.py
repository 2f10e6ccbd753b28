"""What systems do differently: locks, ways to open files, rights, folders, memory."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from pathlib import Path

#: Some blocks of lines, and what is read out of them. (No more than 32 MiB has an effect.)
_KEPT_BYTES = 1 << 23

if sys.platform == "win32":
    import msvcrt

    #: Links are followed, nothing waits to be opened, and newlines are not to be translated.
    NO_FOLLOW, NO_WAIT, BINARY = 0, 0, os.O_BINARY
    #: A file that is open can be neither renamed nor removed.
    OPEN_STAYS = True

    def try_lock(handle: int, shared: bool = False) -> None:
        """Lock a file; BlockingIOError if it is locked. No lock is ever shared here."""
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError(error.errno, error.strerror) from error

    def mark_used(handle: int) -> None:
        """Do nothing: what is open cannot be removed."""

    def remove_unused(path: Path) -> None:
        """Remove a file, or raise OSError if it is in use."""
        path.unlink()

    def take_rights(handle: int, before: os.stat_result | None) -> None:
        """Do nothing: a new file takes its rights from its folder."""

    def sync_folder(path: Path) -> None:
        """Do nothing: a folder cannot be opened."""

    def be_nice() -> None:
        """Do nothing: Windows has priorities of another kind."""

else:
    import fcntl

    NO_FOLLOW, NO_WAIT, BINARY = os.O_NOFOLLOW, os.O_NONBLOCK, 0
    OPEN_STAYS = False

    def try_lock(handle: int, shared: bool = False) -> None:
        """Lock a file; BlockingIOError if another lock on it excludes this one."""
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)

    def mark_used(handle: int) -> None:
        """Have ``remove_unused`` leave a file alone for as long as it is open."""
        # A file system without locks has nobody who takes it for a leftover, either.
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
        """Give a new file the mode and the owner of the one that it replaces, or those of any new file."""
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
        """Have the names in a folder outlive a power failure."""
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def be_nice() -> None:
        """Let other processes come first."""
        os.nice(10)

    def _umask() -> int:
        mask = os.umask(0)
        os.umask(mask)
        return mask


def keep_freed_memory() -> None:
    """Have memory that was freed kept for what needs as much again: the next block of a stream.

    The C library of Linux gives memory back to the system when more is free than twice the largest piece
    that was ever freed, and taking it anew for every block is slower than reading the lines in it. So such
    a piece is freed now; it is never touched, and takes no memory. Elsewhere this does nothing.
    """
    bytes(_KEPT_BYTES)
