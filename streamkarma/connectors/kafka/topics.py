"""The topics to read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from streamkarma.errors import UsageError

_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")


class Topics(NamedTuple):
    """The topics to read.

    Attributes
    ----------
    names
        Topics by name; empty with a pattern.
    pattern
        A regular expression for whole names, or None.
    labels
        The topic of late labels, or None.
    avoid
        Topics that are written to, which a pattern never matches.
    """

    names: tuple[str, ...]
    pattern: str | None
    labels: str | None
    avoid: frozenset[str]

    @classmethod
    def of(cls, given: Sequence[str], labels: str | None, written: Sequence[str | None]) -> Topics:
        """Distinguish names from patterns: a name has letters, digits, dots, dashes and underscores.

        Raises
        ------
        UsageError
            If a name is empty, there is more than one pattern, or a topic has two purposes.
        """
        if "" in (*given, labels, *written):
            raise UsageError("the name of a topic cannot be empty")
        for name in (labels, *written):
            if name is not None:
                check_name(name)
        patterns = [name for name in given if not _NAME.fullmatch(name)]
        outputs = [name for name in written if name is not None]
        avoid = frozenset(outputs)
        if len(avoid) < len(outputs):
            raise UsageError("--output-topic, --dead-letter-topic and --share need topics of their own")
        if patterns and len(given) > 1:
            raise UsageError(f"only one pattern is allowed: join {patterns[0]!r} and the others with |")
        if both := avoid & {*given, labels}:
            raise UsageError(f"the topic {min(both)} cannot be both read and written")
        if labels in given:
            raise UsageError(
                f"{labels} cannot be both a topic of events and the --label-topic; if its records hold late "
                "labels as well, --pending is enough"
            )
        names = () if patterns else tuple(dict.fromkeys(given))
        topics = cls(names, patterns[0] if patterns else None, labels, avoid)
        if topics.pattern is not None:
            try:
                re.compile(_in_parentheses(topics.pattern))
            except re.error as error:
                raise UsageError(
                    f"{topics.pattern!r} is neither a topic name nor a valid pattern: {error}"
                ) from error
        return topics

    def matching(self, there: set[str]) -> set[str]:
        """The existing topics that match."""
        if self.pattern is None:
            return there.intersection(self.names)
        return {name for name in there if re.match(self.expression(), name)} - {self.labels}

    def expression(self) -> str:
        """The pattern, with the topic of labels and without those that are written to."""
        avoid = "|".join(map(re.escape, sorted(self.avoid))) or "$^"
        meant = _in_parentheses(str(self.pattern)) + (f"|{re.escape(self.labels)}" if self.labels else "")
        return f"^(?!(?:{avoid})$)(?:{meant})$"


def check_name(name: str) -> None:
    """Raise UsageError if no Kafka topic can have this name."""
    if not _NAME.fullmatch(name) or name in (".", ".."):
        raise UsageError(
            f"no topic can have the name {name[:60]!r}: expected at most 249 letters from a to z, digits, "
            "dots, dashes and underscores"
        )


def _in_parentheses(pattern: str) -> str:
    """A pattern as a group in another; leading flags such as ``(?i)`` then apply only to this group.

    Examples
    --------
    >>> _in_parentheses("a|b"), _in_parentheses("(?i)a|b")
    ('(?:a|b)', '(?i:a|b)')
    """
    flags = ""
    while found := re.match(r"\(\?([aimsux]+)\)", pattern):
        flags, pattern = flags + found[1], pattern[found.end() :]
    return f"(?{flags}:{pattern})"
