"""Fields of a row that identify its record."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from kafka.consumer.fetcher import ConsumerRecord

from streamkarma.connectors.rows import Column, Named


class RowFields(NamedTuple):
    """Fields of a row that come from its record.

    Attributes
    ----------
    position
        Whether a row has ``topic``, ``partition`` and ``offset``.
    headers
        Names of the headers in a row, all in one object, ``headers``.
    """

    position: bool = False
    headers: tuple[str, ...] = ()

    def columns(self, records: Sequence[ConsumerRecord], at: Sequence[int]) -> Mapping[str, Column]:
        """The fields of the rows for the records with these indices."""
        found: dict[str, Column] = {}
        answered = [records[i] for i in at] if self.position or self.headers else []
        if self.position:
            topics = sorted({record.topic for record in answered})
            indices = {topic: index for index, topic in enumerate(topics)}
            found["topic"] = Named(np.array([indices[each.topic] for each in answered], np.int64), topics)
            found["partition"] = np.array([each.partition for each in answered], np.int64)
            found["offset"] = np.array([each.offset for each in answered], np.int64)
        if self.headers:
            found["headers"] = [self._headers(record.headers) for record in answered]
        return found

    def _headers(self, given: Sequence[tuple[str, bytes | None]]) -> dict[str, Any]:
        # If a header is repeated, the last value is used.
        values = dict(given)
        return {name: shown(values.get(name)) for name in self.headers}


#: No additional fields.
NO_ROW_FIELDS = RowFields()


def shown(value: bytes | None) -> str | dict[str, str] | None:
    """The value of a header as JSON: text, or base64 if it is not text; None if there is no value.

    Examples
    --------
    >>> shown(b"north"), shown(b"\\xff"), shown(None)
    ('north', {'base64': '/w=='}, None)
    """
    if value is None:
        return None
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(value).decode()}
