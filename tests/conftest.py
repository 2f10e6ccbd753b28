from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest


class Result(NamedTuple):
    """What a run of the program left."""

    code: int
    rows: list[dict[str, Any]]
    stderr: str
    stdout: bytes


Program = Callable[..., Result]


@pytest.fixture
def streamkarma(tmp_path: Path) -> Program:
    """Run the program in an empty folder; records or bytes go to its standard input."""

    def run(
        *args: str, records: Any = (), text: bytes | None = None, env: dict[str, str] | None = None
    ) -> Result:
        given = text if text is not None else b"".join(json.dumps(r).encode() + b"\n" for r in records)
        done = subprocess.run(
            [sys.executable, "-m", "streamkarma", *args],
            input=given,
            capture_output=True,
            cwd=tmp_path,
            env={**os.environ, **(env or {})},
            timeout=120,
            check=False,
        )
        lines = done.stdout.splitlines()
        rows = [json.loads(line) for line in lines] if lines and lines[0][:1] == b"{" else []
        return Result(done.returncode, rows, done.stderr.decode(), done.stdout)

    return run
