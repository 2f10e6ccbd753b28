"""Spark for the tests: real executors on this machine, which a test can have killed."""

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

from tests.broker import BRIEF, jars

HERE = Path(__file__).parent
MASTER = "local-cluster[2,1,1024]"
#: py4j leaves it to Python to close its sockets.
untidy = pytest.mark.filterwarnings(
    "ignore:unclosed:ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
#: What makes a start faster, and keeps to itself.
SETTINGS = {
    "spark.driver.extraJavaOptions": " ".join(BRIEF),
    "spark.executor.extraJavaOptions": " ".join(BRIEF),
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.task.maxFailures": "4",
    "spark.network.timeout": "120s",
}


def check_spark() -> None:
    """Skip what needs Spark where there is none, unless STREAMKARMA_TEST_SPARK_REQUIRED is set."""
    problem = None if shutil.which("java") else "there is no Java"
    try:
        import pyarrow  # noqa: F401  # whether it is there
        import pyspark  # noqa: F401  # as well
    except ImportError as error:
        problem = str(error)
    if problem is not None:
        if os.environ.get("STREAMKARMA_TEST_SPARK_REQUIRED"):
            raise RuntimeError(problem)
        pytest.skip(f"no Spark to test with: {problem}", allow_module_level=True)


def kafka_jars() -> str:
    """What Spark reads Kafka with, as a setting."""
    return ",".join(sorted(map(str, jars("spark-kafka.xml", "test-spark-kafka").glob("*.jar"))))


def environment(folder: Path) -> dict[str, str]:
    """The variables of processes that may be killed at the places that ``folder / "kills"`` names."""
    (folder / "kills").mkdir(exist_ok=True)
    path = [str(HERE / "kills"), str(HERE.parent), os.environ.get("PYTHONPATH", "")]
    return {
        "PYTHONPATH": os.pathsep.join(filter(None, path)),
        "STREAMKARMA_TEST_KILLS": str(folder / "kills"),
        # Else it is in the folder that Spark is installed in.
        "SPARK_WORKER_DIR": str(folder / "workers"),
    }


@contextmanager
def session(folder: Path, master: str = MASTER, **settings: str) -> Iterator[Any]:
    """A session whose executors are killed at the places that ``folder / "kills"`` names."""
    from streamkarma.spark.session import started

    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment(folder).items():
            patch.setenv(name, value)
        patch.chdir(folder)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            with started("tests", master, {**SETTINGS, **settings}) as spark:
                yield spark
            gc.collect()
