from __future__ import annotations

from pathlib import Path

import pytest

from streamkarma.core import jit
from streamkarma.runtime.plan import Plan
from streamkarma.runtime.session import Session


def test_that_all_is_to_be_compiled_is_said_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(jit, "_CACHE_FOLDER", str(tmp_path / "cache"))
    Session(Plan(), None, said.append)
    assert [line.split(",")[0] for line in said] == ["compiling the inner loops"]
    (tmp_path / "cache" / "something").mkdir(parents=True)
    Session(Plan(), None, said.append)
    assert len(said) == 1
