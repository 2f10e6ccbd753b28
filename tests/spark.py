"""Spark for the tests: real executors on this machine, which tests can kill."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.broker import jars
from tests.jvm import BRIEF, Archive

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
#: A job like those of the tests, for the archive of classes; Java exits with it.
_JOB = """
import sys
import pyspark
from pyspark.sql import SparkSession
conf = pyspark.SparkConf().setMaster("local[1]").set("spark.log.level", "OFF")
conf.set("spark.driver.extraJavaOptions", sys.argv[1])
spark = SparkSession.builder.config(conf=conf).getOrCreate()
spark.range(0, 10, 1, 2).mapInArrow(lambda batches: batches, "id bigint").collect()
gateway = spark.sparkContext._gateway
spark.stop()
gateway.shutdown()
gateway.proc.stdin.close()
gateway.proc.wait()
"""


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


@cache
def settings() -> dict[str, str]:
    """Settings for a fast start that keep Spark on this machine."""
    import pyspark

    archive = Archive("test-spark", f"{pyspark.__file__} {pyspark.__version__}")
    if not archive.used:
        options = " ".join([*BRIEF, *archive.made])
        # Without the archive Spark only starts more slowly.
        with suppress(subprocess.TimeoutExpired):
            subprocess.run([sys.executable, "-c", _JOB, options], check=True, capture_output=True, timeout=60)
            archive.keep()
    options = " ".join([*BRIEF, *archive.used])
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
