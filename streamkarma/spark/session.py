"""A Spark session, with its failures as one-line messages."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamkarma.errors import RunError, UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Maximum length of Spark's message.
_LONGEST_REASON = 400
#: What logs the stack trace of an error that ends a stream, which is reported in one line anyway.
_STREAM_LOG = "org.apache.spark.sql.execution.streaming.MicroBatchExecution"
_NOT_STARTED = "Spark did not start; its messages above say why"
#: The most likely reason, where there are packages to fetch.
_FETCHING = ". If it could not fetch {} from Maven Central, give the jars by --spark spark.jars=PATH,..."
#: An empty folder that Spark 4.0.0 leaves in the working directory.
_LEFTOVER = Path("artifacts")


def check_installed() -> None:
    """Raise UsageError if Spark is not installed."""
    try:
        import pyarrow  # noqa: F401  # only to see whether it is installed
        import pyspark  # noqa: F401  # likewise
    except ImportError as error:
        raise UsageError(f"{error.name} is missing: pip install 'streamkarma[spark]'") from error


@contextmanager
def started(
    name: str, master: str | None, settings: Mapping[str, str], package: str | None = None
) -> Iterator[SparkSession]:
    """A new session, stopped at the end.

    Parameters
    ----------
    name
        The name of the application.
    master
        Spark's master; None for the one from ``spark-submit`` or Spark's settings, else all cores of this
        machine.
    settings
        Settings of Spark, by name.
    package
        A package for Spark to fetch from Maven Central unless jars or packages are configured: group and
        name, without the version, which is Spark's.

    Raises
    ------
    UsageError
        If Spark or Java is missing, or a setting is invalid.
    RunError
        If Spark does not start.
    """
    check_installed()
    if "PYSPARK_GATEWAY_PORT" not in os.environ and not _has_java():
        raise UsageError("Spark needs Java 17 or newer: install it, or set JAVA_HOME to its folder")
    import pyspark
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    there = _LEFTOVER.exists()
    with translated():
        conf = pyspark.SparkConf().setAppName(name)
        if master is not None:
            conf.setMaster(master)
        elif not conf.contains("spark.master"):
            conf.setMaster("local[*]")
        if str(conf.get("spark.master")).startswith("local"):
            # Workers on this machine use the same Python.
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        conf.set("spark.ui.showConsoleProgress", "false")
        for setting, value in settings.items():
            conf.set(setting, value)
        logs_by_default = not conf.contains("spark.log.level")
        conf.setIfMissing("spark.log.level", "ERROR")
        if package is not None and not any(map(conf.contains, ("spark.jars", "spark.jars.packages"))):
            conf.set("spark.jars.packages", f"{package}:{pyspark.__version__}")
        try:
            spark = SparkSession.builder.config(conf=conf).getOrCreate()
        except PySparkRuntimeError as error:
            if "JAVA_GATEWAY_EXITED" not in str(error):
                raise
            packages = str(conf.get("spark.jars.packages", ""))
            raise RunError(_NOT_STARTED + (packages and _FETCHING.format(packages))) from error
        except Py4JError as error:
            # It stops by itself where, for instance, its master does not answer.
            if "stopped SparkContext" not in str(error):
                raise
            raise RunError(_NOT_STARTED) from error
        if logs_by_default:
            jvm: Any = spark._jvm
            log4j = jvm.org.apache.logging.log4j
            log4j.core.config.Configurator.setLevel(_STREAM_LOG, log4j.Level.OFF)
    try:
        yield spark
    finally:
        spark.stop()
        if not there:
            with suppress(OSError):
                _LEFTOVER.rmdir()


@contextmanager
def translated() -> Iterator[None]:
    """Translate Spark's errors into one-line messages.

    Raises
    ------
    RunError
        In place of any error of Spark.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise RunError(f"Spark: {_reason(str(error))}") from error


def _reason(text: str) -> str:
    """The line of a stack trace that states the error."""
    # py4j puts ": " before what Java says.
    lines = [line.strip().removeprefix(": ") for line in text.splitlines() if line.strip()]
    plain = [line for line in lines if not line.startswith(("at ", "File ", "Traceback", "^", "..."))]
    caused = [line for line in plain if "Error: " in line or "Exception: " in line]
    chosen = (caused or plain or lines or ["it stopped"])[-1 if caused else 0]
    return chosen[:_LONGEST_REASON]


def _has_java() -> bool:
    # Where JAVA_HOME is set, Spark does not look anywhere else.
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=Path(home, "bin") if home else None) is not None
