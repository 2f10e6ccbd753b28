"""Logging to standard error: plain lines, or one JSON object per line."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import Any

import orjson

from streamkarma.parameters.words import LOG_FORMATS
from streamkarma.printable import printable

#: Prefixes of lines above the level of information, and their levels.
_LEVELS = {"warning: ": "warning", "drift: ": "warning"}

_format = LOG_FORMATS[0]


def use(format: str) -> None:
    """Write in one of ``LOG_FORMATS`` from now on."""
    global _format
    _format = format


def is_json() -> bool:
    """Whether lines are JSON objects."""
    return _format == "json"


def write(line: str, level: str | None = None, **more: Any) -> None:
    """Write a line; if ``level`` is None, its prefix determines it; ``more`` is added to JSON only."""
    line = as_json(line, level, more) if is_json() else printable(line, keep="\n")
    print(line, file=sys.stderr, flush=True)


def as_json(line: str, level: str | None, more: dict[str, Any]) -> str:
    """A line with its level and the current time, as a JSON object.

    Examples
    --------
    >>> line = orjson.loads(as_json("warning: no label", None, {"n": 1}))
    >>> line["level"], line["event"], line["n"], sorted(line)
    ('warning', 'no label', 1, ['event', 'level', 'n', 'time'])
    """
    for beginning, its_level in _LEVELS.items():
        if level is None and line.startswith(beginning):
            level, line = its_level, line.removeprefix("warning: ")
    time = datetime.now(UTC).isoformat(timespec="milliseconds")
    return orjson.dumps({"time": time, "level": level or "info", "event": line, **more}).decode()
