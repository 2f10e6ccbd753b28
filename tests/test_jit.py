from __future__ import annotations

import importlib
import re
from pathlib import Path
from pkgutil import iter_modules

import pytest

from streamkarma import core
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


def test_what_borrows_its_arrays_returns_none_of_them() -> None:
    """The caller would take what it gets for its own, and let go of it once too often."""
    names = [found.name for found in iter_modules(core.__path__, f"{core.__name__}.")]
    everything = [each for name in names for each in vars(importlib.import_module(name)).values()]
    borrowing = [each for each in everything if getattr(each, "targetoptions", {}).get("_nrt") is False]
    returned = " ".join(each.py_func.__annotations__["return"] for each in borrowing)
    assert set(re.findall(r"\w+", returned)) <= {"None", "bool", "int", "float", "np", "uint64", "tuple"}
    assert "None" in returned
