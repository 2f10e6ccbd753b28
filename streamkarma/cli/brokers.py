"""Options for connecting to Kafka's brokers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from streamkarma.cli.declaring import together
from streamkarma.cli.value_types import above_zero
from streamkarma.errors import UsageError
from streamkarma.printable import shown

if TYPE_CHECKING:
    from streamkarma.connectors.kafka.bounded import BoundedTopics
    from streamkarma.connectors.kafka.records import Metadata
    from streamkarma.connectors.kafka.row_fields import RowFields

brokers = click.option(
    "--brokers", metavar="HOST:PORT,...", required=True, help="Some of the brokers; they name the others."
)

until_end = click.option("--until-end", is_flag=True, help="Stop at the end offsets seen at start-up.")

bounded = click.option(
    "--brokers",
    metavar="HOST:PORT,...",
    help="INPUT is a topic there, or a regular expression that matches whole names, read to its current end.",
)

#: Options for reaching brokers, if there are any.
REACHING = ("kafka", "connect_timeout")

settings = together(
    click.option(
        "-X",
        "--kafka",
        metavar="NAME=VALUE",
        multiple=True,
        help="A setting of kafka-python; repeatable. For passwords use the environment "
        "(STREAMKARMA_KAFKA_SASL_PLAIN_PASSWORD) or --config.",
    ),
    click.option(
        "--connect-timeout",
        metavar="S",
        type=above_zero,
        default=30.0,
        show_default=True,
        help="Seconds to try to reach the brokers at start-up.",
    ),
)

#: Options for what is read of a record in addition to its value.
BESIDE = ("with_key", "with_timestamp", "with_header")

beside = together(
    click.option("--with-key", metavar="NAME", help="Read the record's key as this attribute."),
    click.option(
        "--with-timestamp",
        metavar="NAME",
        help="Read the record's timestamp, in seconds since 1970, as this attribute.",
    ),
    click.option(
        "--with-header",
        metavar="HEADER[=NAME]",
        multiple=True,
        help="Read a header as an attribute; repeatable.",
    ),
)

#: The same, and what is repeated in a record's row.
metadata = together(
    beside,
    click.option(
        "--row-position/--no-row-position",
        default=None,
        help="Add the record's topic, partition and offset to its row.  [default: unless events are learned]",
    ),
    click.option(
        "--row-header",
        metavar="HEADER",
        multiple=True,
        help="Copy a header of the record to the object headers of its row; repeatable.",
    ),
)


def metadata_of(options: dict[str, Any]) -> Metadata:
    """What becomes an attribute in addition to the fields of a record's value."""
    from streamkarma.connectors.kafka.records import Metadata

    key, timestamp = options["with_key"], options["with_timestamp"]
    parts = [header.partition("=") for header in dict.fromkeys(options["with_header"])]
    headers = {header: name or header for header, _, name in parts}
    if len(headers) < len(parts):
        raise UsageError("--with-header: a header has two names")
    names = [name for name in (key, timestamp, *headers.values()) if name is not None]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UsageError(f"--with-key, --with-timestamp and --with-header: {shown(twice)} is used twice")
    return Metadata(key, timestamp, headers)


def row_fields_of(options: dict[str, Any], learns: bool) -> RowFields:
    """What rows copy from their records."""
    from streamkarma.connectors.kafka.row_fields import RowFields

    position = not learns if options["row_position"] is None else options["row_position"]
    return RowFields(position, tuple(dict.fromkeys(options["row_header"])))


def bounded_topics(options: dict[str, Any], **more: Any) -> BoundedTopics:
    """The topics named by INPUT, up to their current ends; ``more`` is passed to `BoundedTopics`."""
    from streamkarma.connectors.kafka.bounded import BoundedTopics

    if options["input"] == "-" or options["format"] not in (None, "json"):
        raise UsageError("with --brokers, INPUT is a topic of JSON records")
    reached = (options["brokers"], options["kafka"], options["connect_timeout"])
    return BoundedTopics(options["input"], *reached, options["max_record_bytes"], **more)
