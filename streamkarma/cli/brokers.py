"""The options by which commands reach Kafka's brokers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from streamkarma.cli.declaring import together
from streamkarma.cli.value_types import above_zero
from streamkarma.errors import UsageError

if TYPE_CHECKING:
    from streamkarma.connectors.kafka.records import Metadata
    from streamkarma.connectors.kafka.row_fields import RowFields
    from streamkarma.connectors.kafka.standing import StandingTopics

brokers = click.option(
    "--brokers", metavar="HOST:PORT,...", required=True, help="Some of the brokers; they name the others."
)

standing = click.option(
    "--brokers",
    metavar="HOST:PORT,...",
    help="INPUT is a topic there, or a regular expression for whole names, read to the end it has now.",
)

#: How brokers are reached, where there are any.
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
        help="Seconds to try to reach the brokers at the start.",
    ),
)

#: What of a record beside its value is read, and what is repeated in its row.
metadata = together(
    click.option("--with-key", metavar="NAME", help="Take a record's key as this attribute."),
    click.option(
        "--with-timestamp",
        metavar="NAME",
        help="Take a record's time, in seconds since 1970, as this attribute.",
    ),
    click.option(
        "--with-header",
        metavar="HEADER[=NAME]",
        multiple=True,
        help="Take a header as an attribute; repeatable.",
    ),
    click.option(
        "--row-position/--no-row-position",
        default=None,
        help="Say in each row which record it answers: topic, partition and offset.  [default: unless "
        "events are learned]",
    ),
    click.option(
        "--row-header",
        metavar="HEADER",
        multiple=True,
        help="Repeat a header of the record in the object headers of its row; repeatable.",
    ),
)


def metadata_of(said: dict[str, Any]) -> Metadata:
    """What beside a record's value is an attribute."""
    from streamkarma.connectors.kafka.records import Metadata

    headers = [header.partition("=") for header in said["with_header"]]
    names = {header: name or header for header, _, name in headers}
    return Metadata(said["with_key"], said["with_timestamp"], names)


def row_fields_of(said: dict[str, Any], learns: bool) -> RowFields:
    """What rows say of the records that they answer."""
    from streamkarma.connectors.kafka.row_fields import RowFields

    position = not learns if said["row_position"] is None else said["row_position"]
    return RowFields(position, tuple(dict.fromkeys(said["row_header"])))


def standing_topics(said: dict[str, Any], **more: Any) -> StandingTopics:
    """The topics that INPUT names, as they stand; ``more`` is as `StandingTopics` takes it."""
    from streamkarma.connectors.kafka.standing import StandingTopics

    if said["input"] == "-" or said["format"] not in (None, "json"):
        raise UsageError("with --brokers INPUT is a topic of JSON")
    reached = (said["brokers"], said["kafka"], said["connect_timeout"])
    return StandingTopics(said["input"], *reached, said["max_record_bytes"], **more)
