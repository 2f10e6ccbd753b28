"""Progress of Spark jobs, in lines for the user."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import SparkContext

#: Seconds between checks.
_EVERY = 2.0


@contextmanager
def watched(spark: SparkContext, what: str, say: Callable[[str], None]) -> Iterator[None]:
    """Report how many tasks are done while a job is running."""
    over = threading.Event()
    thread = threading.Thread(target=_watch, args=(spark, what, say, over), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _watch(spark: SparkContext, what: str, say: Callable[[str], None], over: threading.Event) -> None:
    tracker, before = spark.statusTracker(), ""
    while not over.wait(_EVERY):
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        known = [stage for stage in stages if stage is not None]
        done, tasks = (sum(getattr(s, name) for s in known) for name in ("numCompletedTasks", "numTasks"))
        line = f"{what}: {done} of {tasks} tasks"
        if known and line != before:
            say(line)
            before = line
