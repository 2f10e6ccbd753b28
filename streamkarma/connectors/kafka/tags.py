"""What goes with an offset that is committed: whose it is, and of which topic."""

from __future__ import annotations

from typing import NamedTuple

_PREFIX, _SEPARATOR = "streamkarma:", "@"


class Tag(NamedTuple):
    """The metadata of an offset.

    Attributes
    ----------
    instance
        Which process of this program committed it; None for another program.
    topic_id
        The id of the topic it is an offset of; None where nobody knows. A topic that is deleted
        and recreated has the same name and another id.

    Examples
    --------
    >>> Tag("m-1", "yPxZ").text()
    'streamkarma:m-1@yPxZ'
    >>> Tag.read("streamkarma:m-1"), Tag.read("x")
    (Tag(instance='m-1', topic_id=None), Tag(instance=None, topic_id=None))
    """

    instance: str | None
    topic_id: str | None = None

    def text(self) -> str:
        """As it is committed."""
        return f"{_PREFIX}{self.instance}" + (f"{_SEPARATOR}{self.topic_id}" if self.topic_id else "")

    @classmethod
    def read(cls, metadata: str) -> Tag:
        """What was committed, by whomever."""
        if not metadata.startswith(_PREFIX):
            return cls(None)
        instance, _, topic_id = metadata.removeprefix(_PREFIX).partition(_SEPARATOR)
        return cls(instance, topic_id or None)
