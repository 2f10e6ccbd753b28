from __future__ import annotations

import importlib
import re
import shutil
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
    assert [line.split(",")[0] for line in said] == ["compiling what reads events"]
    # The folder is there as soon as a function is defined, and holds something once one is compiled.
    (tmp_path / "cache" / "core").mkdir(parents=True)
    Session(Plan(), None, said.append)
    assert len(said) == 2
    (tmp_path / "cache" / "core" / "loop.nbi").touch()
    Session(Plan(), None, said.append)
    assert len(said) == 2


def test_the_compile_cache_knows_every_file_that_compiled_code_takes_constants_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "streamkarma"
    shutil.copytree(Path(jit.__file__).parents[1], package, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(jit, "__file__", str(package / "core" / "jit.py"))
    before = jit._fingerprint()
    for changed in ("core/loss.py", "events/labels.py", "sources/scanner.py", "sinks/rows.py"):
        with (package / changed).open("a") as file:
            file.write("\n")
        after = jit._fingerprint()
        assert after != before, changed
        before = after
    (package / "runtime" / "loop.py").write_text("")
    assert jit._fingerprint() == before


def test_what_borrows_its_arrays_returns_none_of_them() -> None:
    """The caller would take what it gets for its own, and let go of it once too often."""
    names = [found.name for found in iter_modules(core.__path__, f"{core.__name__}.")]
    everything = [each for name in names for each in vars(importlib.import_module(name)).values()]
    borrowing = [each for each in everything if getattr(each, "targetoptions", {}).get("_nrt") is False]
    returned = " ".join(each.py_func.__annotations__["return"] for each in borrowing)
    assert set(re.findall(r"\w+", returned)) <= {"None", "bool", "int", "float", "np", "uint64", "tuple"}
    assert "float" in returned
