"""Checks of a stream on Spark: its options and its topics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import orjson

from streamkarma.errors import RunError, UsageError
from streamkarma.runtime.plan import Plan
from streamkarma.runtime.session import check_options, check_task, resumed
from streamkarma.runtime.shared_session import check_alike
from streamkarma.spark.files import file_system_of
from streamkarma.spark.states import State

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery


def check_folders(given: Mapping[str, str | None]) -> None:
    """Raise UsageError if an option for a folder names a file, and RunError if it cannot be read."""
    import pyarrow.fs as fs

    for option, path in given.items():
        if path is not None:
            system, inner, _ = file_system_of(path)
            try:
                [info] = system.get_file_info([inner])
            except OSError as error:
                raise RunError(f"cannot read {path}: {error}") from error
            if info.type == fs.FileType.File:
                raise UsageError(f"{option} {path} is a file; name a folder")


def check_ends(query: StreamingQuery) -> None:
    """Raise RunError if a batch ended before it began, which Spark would ignore."""
    # The attributes of a progress object have offsets in Python's notation; its JSON does not.
    reports = [orjson.loads(progress.json)["sources"] for progress in query.recentProgress]
    for source in (source for sources in reports for source in sources):
        begins, ends = (source[name] or {} for name in ("startOffset", "endOffset"))
        for topic, own in begins.items():
            for number, begin in own.items():
                check_end(topic, number, begin, ends.get(topic, {}).get(number, 0))


def check_end(topic: str, number: int | str, offset: int, end: int) -> None:
    """Raise RunError if a partition ends before the offset already reached."""
    if end < offset:
        raise RunError(
            f"topic {topic}, partition {number}: offset {offset} is past its end, {end}; was the topic "
            "recreated? Give another --checkpoint"
        )


def check_same(plan: Plan, folder: str, base: State) -> None:
    """Raise UsageError if a stream was started with other options."""
    check_options(plan, folder, base.model)
    check_task(plan, folder, resumed(folder, base.model, base.kept, lambda _: None))
    check_alike(plan, base.model, base.kept, folder, "give another --checkpoint")
