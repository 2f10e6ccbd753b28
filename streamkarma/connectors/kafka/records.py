"""Consumed records in the form that a run expects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from kafka.consumer.fetcher import ConsumerRecord

from streamkarma._engine import parse_value
from streamkarma.connectors.jsonlines.lines import BOM
from streamkarma.connectors.kafka.row_fields import NO_ROW_FIELDS, RowFields
from streamkarma.connectors.records import RecordPosition, Records
from streamkarma.errors import RecordError


class Metadata(NamedTuple):
    """The metadata that become attributes, in addition to a record's value.

    Attributes
    ----------
    key, timestamp
        Names of the attributes; None for none. The timestamp is in seconds since 1970.
    headers
        Header to name of the attribute.
    """

    key: str | None = None
    timestamp: str | None = None
    headers: Mapping[str, str] = {}  # read only, as the type says

    def of(self, record: ConsumerRecord) -> dict[str, Any]:
        """The attributes of a record.

        Raises
        ------
        RecordError
            If a key or a header is not text.
        """
        found: dict[str, Any] = {}
        if self.key is not None and record.key is not None:
            found[self.key] = _read("key", record.key)
        if self.timestamp is not None and (seconds := seconds_of(record)) is not None:
            found[self.timestamp] = seconds
        for name, value in record.headers:
            if name in self.headers and value is not None:
                found[self.headers[name]] = _read(f"header {name!r}", value)
        return found

    def __bool__(self) -> bool:
        return self.key is not None or self.timestamp is not None or bool(self.headers)


#: Only values.
NO_METADATA = Metadata()


def seconds_of(record: ConsumerRecord) -> float | None:
    """The time of a record in seconds since 1970; None if its producer gave none, which is -1."""
    return None if record.timestamp < 0 else float(record.timestamp / 1000.0)


def _read(what: str, value: bytes) -> Any:
    """A number if the bytes are a JSON number, else text.

    Examples
    --------
    >>> _read("key", b"7"), _read("key", b"1.50"), _read("key", b"007"), _read("key", b"true")
    (7, 1.5, '007', 'true')
    """
    try:
        text = value.decode()
        number = parse_value(value)
    except UnicodeDecodeError:
        raise RecordError(f"the {what} is not UTF-8") from None
    except RecordError:
        return text
    return number if isinstance(number, (int, float)) and not isinstance(number, bool) else text


def records_of(
    polled: Sequence[ConsumerRecord],
    metadata: Metadata,
    labels_only: bool,
    limit: int,
    row_fields: RowFields = NO_ROW_FIELDS,
) -> Records:
    """Consumed records, all with a value, as `Records`."""
    values = [record.value.removeprefix(BOM) for record in polled]
    refused: dict[int, str] = {}
    if not all(values) or max(map(len, values)) > limit or any(map(bytes.isspace, values)):
        for i, value in enumerate(values):
            if not value or value.isspace():
                refused[i] = "empty"
            elif len(value) > limit:
                refused[i] = "longer than the limit; see --max-record-bytes"
    attributes: list[dict[str, Any]] | None = None
    if metadata:
        attributes = []
        for i, record in enumerate(polled):
            try:
                attributes.append(metadata.of(record))
            except RecordError as error:
                attributes.append({})
                refused.setdefault(i, str(error))

    def position(i: int) -> RecordPosition:
        return {"topic": polled[i].topic, "partition": polled[i].partition, "offset": polled[i].offset}

    return Records(
        values,
        len(values),
        position,
        refused,
        attributes,
        labels_only,
        lambda i: seconds_of(polled[i]),
        partial(row_fields.columns, polled),
    )
