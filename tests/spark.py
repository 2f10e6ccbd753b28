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

from tests.broker import UnavailableError, jars
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
    # To generate and compile code for each query takes longer than to interpret it for a few rows.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
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
    own = {"spark.driver.extraJavaOptions": options, "spark.executor.extraJavaOptions": options}
    return {**own, **_SETTINGS, **_kafka_jars()}


def _kafka_jars() -> dict[str, str]:
    """The setting with the jars for reading Kafka, if they can be had.

    It is in every session: sessions of one process share its Java, which loads only the jars of the first.
    """
    try:
        folder = jars("spark-kafka.xml", "test-spark-kafka")
    except UnavailableError:
        if os.environ.get("STREAMKARMA_TEST_SPARK_REQUIRED"):
            raise
        return {}
    return {"spark.jars": ",".join(sorted(map(str, folder.glob("*.jar"))))}


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
def inside(folder: Path) -> Iterator[dict[str, str]]:
    """This process in a folder, with the environment of its own in which Spark can be killed there."""
    with pytest.MonkeyPatch.context() as patch:
        own = environment(folder)
        for name, value in own.items():
            patch.setenv(name, value)
        patch.chdir(folder)
        with warnings.catch_warnings():
            # As in ``untidy``, for fixtures that outlive a test.
            warnings.simplefilter("ignore", ResourceWarning)
            yield own
            gc.collect()


@contextmanager
def session(folder: Path, master: str = MASTER, **more: str) -> Iterator[Any]:
    """A session whose executors are killed at the points named in ``folder / "kills"``."""
    from streamkarma.spark.session import started

    with inside(folder) as own:
        # Java keeps the environment in which the first session of the process began.
        executors = {f"spark.executorEnv.{name}": value for name, value in own.items()}
        with started("tests", master, {**settings(), **executors, **more}) as spark:
            yield spark
