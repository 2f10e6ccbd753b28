"""What goes with an offset that is committed: whose it is, and of which topic."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote, unquote

_PREFIX, _TOPIC, _MODEL = "streamkarma:", "@", "#"


class Tag(NamedTuple):
    """The metadata of an offset.

    Attributes
    ----------
    instance
        Which process of this program committed it; None for another program.
    topic_id
        The id of the topic it is an offset of; None where nobody knows. A topic that is deleted
        and recreated has the same name and another id.
    epoch, saved
        Of a model that is shared: which base it goes back to, and its next offset; None if there is none.

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
        """As it is committed."""
        topic = f"{_TOPIC}{self.topic_id}" if self.topic_id else ""
        model = "" if self.saved is None else f"{_MODEL}{self.epoch}/{self.saved}"
        # A name given by the user may have the signs that divide a tag.
        return f"{_PREFIX}{quote(str(self.instance), safe='')}{topic}{model}"

    @classmethod
    def read(cls, metadata: str) -> Tag:
        """What was committed, by whomever."""
        if not metadata.startswith(_PREFIX):
            return cls(None)
        rest, _, model = metadata.removeprefix(_PREFIX).partition(_MODEL)
        instance, _, topic_id = rest.partition(_TOPIC)
        epoch, _, saved = model.partition("/")
        end = int(saved) if saved.isdecimal() else None
        return cls(unquote(instance), topic_id or None, epoch or None, end)
