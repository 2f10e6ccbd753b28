"""The same events give the same bits on every processor."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import ROOT, Program

#: As on a processor without what only some have: NumPy and the C library then use other loops.
OLD_PROCESSOR = {
    "NPY_DISABLE_CPU_FEATURES": " ".join(np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])),
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F",
    "OPENBLAS_CORETYPE": "Prescott",
}

#: Where events are read, learned and judged. The offline methods of the regret use libraries that differ.
ROOMS = ("core", "estimators", "events", "refit", "runtime")
#: What rounds in another way where processors, or C libraries, differ; the engine has its own.
OF_THE_SYSTEM = {"exp", "expm1", "exp2", "log", "log1p", "log2", "log10", "logaddexp", "power", "pow", "cbrt"}
OF_THE_SYSTEM |= {"sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsinh", "dot", "matmul", "einsum", "linalg"}


def _records(classes: int) -> list[dict[str, Any]]:
    chance, records = random.Random(1), []
    for _ in range(150):
        values = [chance.gauss(0.0, 1.0) for _ in range(4)]
        label = int(classes * chance.random() * 0.3 + abs(values[0] + values[1])) % classes
        event = {f"a{k}": value for k, value in enumerate(values) if chance.random() < 0.8}
        records.append({**event, "c": chance.choice("uvw"), "y": label})
    return records


@pytest.mark.parametrize(
    ("task", "options"),
    [
        ("multiclass", ("--coverage", "0.8")),
        ("multiclass", ("--learner", "explicit", "--threshold", "balanced")),
        ("binary", ("--coverage", "0.8", "--explain", "3")),
        ("regression", ("--coverage", "0.8", "--explain", "3")),
    ],
)
def test_rows_and_models_do_not_depend_on_the_processor(
    streamkarma: Program, tmp_path: Path, task: str, options: tuple[str, ...]
) -> None:
    records = _records(2 if task == "binary" else 9)
    runs = []
    for env in ({}, OLD_PROCESSOR):
        model = tmp_path / "a.model"
        done = streamkarma("learn", "--task", task, *options, "--model", str(model), records=records, env=env)
        assert done.code == 0, done.stderr
        runs.append((done.stdout, model.read_bytes()))
        model.unlink()
    assert runs[0] == runs[1]


def test_what_is_learned_is_computed_by_the_engine() -> None:
    files = [path for room in ROOMS for path in (ROOT / "streamkarma" / room).rglob("*.py")]
    # What is only printed beside, or used by the offline methods.
    files = [path for path in files if path.name not in {"theory.py", "kernel.py"}]
    assert [f"{path.name}:{line}" for path in files for line in _of_the_system(path)] == []


def _of_the_system(path: Path) -> Iterator[int]:
    """The lines with matrix products, or with functions of the system for anything but constants."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            yield node.lineno
        elif isinstance(node, ast.Call) and not all(isinstance(each, ast.Constant) for each in node.args):
            module, _, function = ast.unparse(node.func).partition(".")
            if module in {"np", "math"} and function.split(".")[0] in OF_THE_SYSTEM:
                yield node.lineno
