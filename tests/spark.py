"""Spark for the tests: real executors on this machine, which tests can kill."""

from __future__ import annotations

import gc
import os
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.broker import jars
from tests.jvm import BRIEF

HERE = Path(__file__).parent
MASTER = "local-cluster[2,1,1024]"
#: py4j leaves its sockets to Python's garbage collector.
untidy = pytest.mark.filterwarnings(
    "ignore:unclosed:ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
#: Settings that keep Spark on this machine.
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.task.maxFailures": "4",
    "spark.network.timeout": "120s",
}


def check_spark() -> None:
    """Skip tests that need Spark if it is missing, unless STREAMKARMA_TEST_SPARK_REQUIRED is set."""
    problem = None if shutil.which("java") else "there is no Java"
    try:
        import pyarrow  # noqa: F401  # only to see whether it is installed
        import pyspark  # noqa: F401  # likewise
    except ImportError as error:
        problem = str(error)
    if problem is not None:
        if os.environ.get("STREAMKARMA_TEST_SPARK_REQUIRED"):
            raise RuntimeError(problem)
        pytest.skip(f"no Spark to test with: {problem}", allow_module_level=True)


def settings() -> dict[str, str]:
    """Settings for a fast start that keep Spark on this machine."""
    # No archive of classes, as brokers have one: it takes longer to create than a run of the tests saves.
    options = " ".join(BRIEF)
    return {"spark.driver.extraJavaOptions": options, "spark.executor.extraJavaOptions": options, **_SETTINGS}


def kafka_jars() -> str:
    """The setting with the jars for reading Kafka."""
    return ",".join(sorted(map(str, jars("spark-kafka.xml", "test-spark-kafka").glob("*.jar"))))


def environment(folder: Path) -> dict[str, str]:
    """Environment of processes that may be killed at the points named in ``folder / "kills"``."""
    (folder / "kills").mkdir(exist_ok=True)
    path = [str(HERE / "kills"), str(HERE.parent), os.environ.get("PYTHONPATH", "")]
    return {
        "PYTHONPATH": os.pathsep.join(filter(None, path)),
        "STREAMKARMA_TEST_KILLS": str(folder / "kills"),
        # The default is in Spark's installation folder.
        "SPARK_WORKER_DIR": str(folder / "workers"),
    }


@contextmanager
def session(folder: Path, master: str = MASTER, **more: str) -> Iterator[Any]:
    """A session whose executors are killed at the points named in ``folder / "kills"``."""
    from streamkarma.spark.session import started

    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment(folder).items():
            patch.setenv(name, value)
        patch.chdir(folder)
        with warnings.catch_warnings():
            # As in ``untidy``, for fixtures that outlive a test.
            warnings.simplefilter("ignore", ResourceWarning)
            with started("tests", master, {**settings(), **more}) as spark:
                yield spark
            gc.collect()
