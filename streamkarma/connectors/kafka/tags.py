"""Metadata of committed offsets: the process and the topic they belong to."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote, unquote

_PREFIX, _TOPIC, _MODEL = "streamkarma:", "@", "#"


class Tag(NamedTuple):
    """The metadata of an offset.

    Attributes
    ----------
    instance
        The process of this program that committed it; None for another program.
    topic_id
        The id of the topic; None if unknown. A topic that is deleted and recreated has the same name but
        another id.
    epoch, saved
        The base and the next offset of a shared model; None if there is none.

    Examples
    --------
    >>> Tag("m-1", "yPxZ").text(), Tag("m-1", "yPxZ", "e1", 17).text()
    ('streamkarma:m-1@yPxZ', 'streamkarma:m-1@yPxZ#e1/17')
    >>> Tag.read("streamkarma:m-1@yPxZ#e1/17")
    Tag(instance='m-1', topic_id='yPxZ', epoch='e1', saved=17)
    >>> Tag.read("streamkarma:m-1").topic_id, Tag.read("x").instance
    (None, None)
    """

    instance: str | None
    topic_id: str | None = None
    epoch: str | None = None
    saved: int | None = None

    def text(self) -> str:
        """The encoded tag."""
        topic = f"{_TOPIC}{self.topic_id}" if self.topic_id else ""
        model = "" if self.saved is None else f"{_MODEL}{self.epoch}/{self.saved}"
        # A name given by the user may contain the separators of a tag.
        return f"{_PREFIX}{quote(str(self.instance), safe='')}{topic}{model}"

    @classmethod
    def read(cls, metadata: str) -> Tag:
        """Decode metadata, which any program may have written."""
        if not metadata.startswith(_PREFIX):
            return cls(None)
        rest, _, model = metadata.removeprefix(_PREFIX).partition(_MODEL)
        instance, _, topic_id = rest.partition(_TOPIC)
        epoch, _, saved = model.partition("/")
        end = int(saved) if saved.isdecimal() else None
        return cls(unquote(instance), topic_id or None, epoch or None, end)
