"""Java for the tests: options for short-lived processes, and archives of the classes they load first.

A broker spends a third of its start on loading classes, which an archive (class data sharing) avoids. It is
created in the user's cache folder by the first broker that is restarted; Java ignores an archive that does
not match.
"""

from __future__ import annotations

import os
import shutil
from hashlib import sha256
from pathlib import Path

#: Optimised compilation, verification and parallel garbage collection do not pay off within minutes.
BRIEF = (
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:-BytecodeVerificationRemote",
)


def cache() -> Path:
    """The folder for what tests keep between runs."""
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "streamkarma"


class Archive:
    """The archive of a program's classes.

    Parameters
    ----------
    name
        The name of the program.
    version
        Distinguishes it from the same program with other classes.
    """

    def __init__(self, name: str, version: str) -> None:
        java = Path(shutil.which("java") or "java").resolve()
        key = sha256(f"{java} {java.stat().st_mtime_ns} {version}".encode()).hexdigest()[:12]
        self._path = cache() / f"{name}-{key}.jsa"
        self._partial = self._path.with_name(f"{self._path.name}.{os.getpid()}")

    @property
    def used(self) -> list[str]:
        """Options for Java to use the archive, if it exists."""
        return [f"-XX:SharedArchiveFile={self._path}"] if self._path.exists() else []

    @property
    def made(self) -> list[str]:
        """Options for Java to create the archive when the program exits normally."""
        return [f"-XX:ArchiveClassesAtExit={self._partial}"]

    def keep(self) -> None:
        """Keep the archive of a program that has ended."""
        # Renamed when complete; another process may have been faster.
        if self._partial.exists():
            self._partial.replace(self._path)
