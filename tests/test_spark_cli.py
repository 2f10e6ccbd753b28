"""Errors in a command for Spark are reported in one line, before Spark is started."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from streamkarma import KARMAClassifier, save
from streamkarma.errors import RunError
from streamkarma.spark.session import translated
from tests.conftest import Program
from tests.spark import check_spark

check_spark()

from py4j.protocol import Py4JError


@pytest.fixture
def events(tmp_path: Path) -> str:
    (tmp_path / "events.jsonl").write_text(
        "".join(json.dumps({"x": i, "y": i % 2}) + "\n" for i in range(20))
    )
    return "events.jsonl"


def complaint(program: Program, *args: str, code: int = 2, env: dict[str, str] | None = None) -> str:
    done = program(*args, env=env)
    assert (done.code, done.stdout) == (code, b""), done.stderr
    [line] = done.stderr.splitlines()
    return line.removeprefix("streamkarma: ")


def test_without_spark_it_is_said_what_to_install(streamkarma: Program, tmp_path: Path, events: str) -> None:
    # A broken one stands in for a missing one.
    (tmp_path / "pyspark.py").write_text("raise ModuleNotFoundError('no', name='pyspark')")
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    for command in (
        ["backfill", events, "--model", "m"],
        ["stream", "t", "--brokers", "h:1", "--checkpoint", "c"],
    ):
        said = complaint(streamkarma, *command, env={"PYTHONPATH": path})
        assert said == "pyspark is missing: pip install 'streamkarma[spark]'"


def test_without_java_it_is_said_what_to_install(streamkarma: Program, tmp_path: Path, events: str) -> None:
    env = {"PATH": str(tmp_path), "JAVA_HOME": str(tmp_path)}
    wrong_home = {"JAVA_HOME": str(tmp_path)}
    for each in (env, wrong_home):
        said = complaint(streamkarma, "backfill", events, "--model", "m", env=each)
        assert said == "Spark needs Java 17 or newer: install it, or set JAVA_HOME to its folder"
    assert shutil.which("java")


def test_a_spark_that_does_not_start_says_why(streamkarma: Program, tmp_path: Path, events: str) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\nexit 1\n")
    java.chmod(0o755)
    settings = ["--spark", "spark.jars.packages=a:b:1"]
    done = streamkarma("backfill", events, "--model", "m", *settings, env={"JAVA_HOME": str(tmp_path)})
    assert done.code == 1
    assert done.stderr.splitlines()[-1] == (
        "streamkarma: Spark did not start; its messages above say why. If it could not fetch a:b:1 from "
        "Maven Central, give the jars by --spark spark.jars=PATH,..."
    )


@pytest.mark.slow  # Spark tries for a minute.
def test_a_master_that_does_not_answer_is_a_spark_that_does_not_start(
    streamkarma: Program, events: str
) -> None:
    done = streamkarma(
        "backfill", events, "--model", "m", "--task", "binary", "--master", "spark://127.0.0.1:9"
    )
    assert done.code == 1
    assert "masters are unresponsive" in done.stderr
    assert done.stderr.splitlines()[-1] == "streamkarma: Spark did not start; its messages above say why"


def test_what_java_says_is_one_line() -> None:
    stack = (
        "An error occurred while calling o9.run.\n: java.lang.RuntimeException: over\n\tat org.apache.Spark"
    )
    with pytest.raises(RunError, match=r"^Spark: java\.lang\.RuntimeException: over$"), translated():
        raise Py4JError(stack)


def test_paths_and_options_are_looked_at_before_spark_is_started(
    streamkarma: Program, tmp_path: Path, events: str
) -> None:
    save(KARMAClassifier(), tmp_path / "karma.karma")
    (tmp_path / "table.csv").write_text("x,y\n1,2\n")
    (tmp_path / "scored").mkdir()
    (tmp_path / "scored" / "part-00000.jsonl").touch()
    for args, code, expected in (
        (["nothing/*.jsonl", "--model", "m"], 1, "no file matches nothing/*.jsonl; give a file"),
        ([events], 2, "give --model, the file to write the model to, or --predict"),
        ([events, "--model", "m", "--output", "o"], 2, "--output has no meaning without --predict"),
        ([events, "--predict", "karma.karma"], 2, "--predict needs --output, a new folder"),
        (
            [events, "--predict", "karma.karma", "--output", "o", "--tail", "9"],
            2,
            "--tail has no meaning with",
        ),
        ([events, "--predict", "karma.karma", "--output", "o", "--rho", "1"], 2, "--rho has no meaning with"),
        (
            [events, "--predict", "karma.karma", "--output", "scored"],
            2,
            "scored exists already; name a new",
        ),
        (
            [events, "--predict", "events.jsonl", "--output", "o"],
            1,
            "events.jsonl is not a streamkarma model",
        ),
        (
            [events, "--model", "karma.karma", "--learner", "explicit"],
            2,
            "karma.karma was made with learner karma",
        ),
        ([events, "--model", "m", "--dead-letters", "m"], 2, "--model and --dead-letters are the same file"),
        ([events, "--model", "m", "--spark", "x"], 2, "Invalid value for '--spark': 'x' is not NAME=VALUE"),
    ):
        assert complaint(streamkarma, "backfill", *args, code=code).startswith(expected)


def test_a_format_that_is_not_read_is_said(streamkarma: Program, tmp_path: Path) -> None:
    from streamkarma.errors import UsageError
    from streamkarma.spark.files import File
    from streamkarma.spark.pieces import parts_of

    with pytest.raises(UsageError, match=r"^a\.csv is neither JSON lines nor Parquet; for other formats"):
        parts_of([File("a.csv", 9)], None, 1)
