"""Java for the tests: options of what lives for minutes, and archives of the classes that it begins with.

A broker and Spark spend a third of their start on reading classes. An archive (class data sharing) has them
ready. It is made once, and kept in the user's cache folder; Java passes over one that does not fit.
"""

from __future__ import annotations

import os
import shutil
from hashlib import sha256
from pathlib import Path

#: What lives for minutes is not worth compiling well, nor verifying, nor looking for its garbage in parallel.
BRIEF = (
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:-BytecodeVerificationRemote",
)


def cache() -> Path:
    """The folder of what tests keep from run to run."""
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "streamkarma"


class Archive:
    """The archive of a program's classes.

    Parameters
    ----------
    name
        What the program is called.
    version
        Tells it from the same program with other classes.
    """

    def __init__(self, name: str, version: str) -> None:
        java = Path(shutil.which("java") or "java").resolve()
        key = sha256(f"{java} {java.stat().st_mtime_ns} {version}".encode()).hexdigest()[:12]
        self._path = cache() / f"{name}-{key}.jsa"
        self._partial = self._path.with_name(f"{self._path.name}.{os.getpid()}")

    @property
    def used(self) -> list[str]:
        """Options that have Java use it, if it is there."""
        return [f"-XX:SharedArchiveFile={self._path}"] if self._path.exists() else []

    @property
    def made(self) -> list[str]:
        """Options that have Java make it when the program ends in order."""
        return [f"-XX:ArchiveClassesAtExit={self._partial}"]

    def keep(self) -> None:
        """Keep what a program has made that has ended by now."""
        # Renamed when whole; another process may have been faster.
        if self._partial.exists():
            self._partial.replace(self._path)
