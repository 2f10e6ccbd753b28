"""The package runs without features that only POSIX has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.skipif(sys.platform != "linux", reason="Windows is simulated on Linux")
def test_nothing_needs_what_windows_lacks(tmp_path: Path) -> None:
    script = str(Path(__file__).with_name("without_posix.py"))
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *refused, files = done.stdout.splitlines()
    assert len(refused) == 2
    assert all("model is in use: another process learns with it" in line for line in refused)
    assert files == "['events', 'model', 'model.bak', 'rows']"
