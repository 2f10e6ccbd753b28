"""Counts rejected records by reason."""

from __future__ import annotations

import re
from collections import Counter

#: Maximum number of distinct reasons, and the name of all others.
MOST, OTHERS = 20, "other reasons"
#: Maximum length of a reason.
_LONGEST = 100
#: The parts that differ from record to record: quoted strings and numbers.
_SPECIFIC = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|\b\d[\d,.]*")


class Reasons:
    """Counts reasons that differ only in names and numbers as one.

    Examples
    --------
    >>> reasons = Reasons()
    >>> reasons.add("attribute 'a' is infinite"), reasons.add("attribute 'b' is infinite")
    (None, None)
    >>> reasons.counts
    Counter({'attribute … is infinite': 2})
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def add(self, reason: str) -> None:
        """Count a rejected record."""
        general = _SPECIFIC.sub("…", reason)[:_LONGEST]
        self.counts[general if general in self.counts or len(self.counts) < MOST else OTHERS] += 1
