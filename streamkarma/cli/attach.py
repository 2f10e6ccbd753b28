"""attach."""

from __future__ import annotations

import sys
from typing import Any

import click

from streamkarma.cli import options as shared
from streamkarma.cli.config import config_option
from streamkarma.cli.typos import Command
from streamkarma.errors import UsageError

#: Events that wait for their labels, where a topic of labels is given and nothing else is said.
PENDING = 10_000


@click.command(cls=Command)
@click.argument("topics", metavar="TOPIC...", nargs=-1, required=True)
@config_option
@click.option(
    "--brokers", metavar="HOST:PORT,...", required=True, help="Some of the brokers; they name the others."
)
@click.option(
    "--group",
    metavar="NAME",
    required=True,
    help="Consumer group; its partitions are shared by its processes.",
)
@click.option(
    "--from",
    "from",
    type=click.Choice(["earliest", "latest"]),
    default="earliest",
    show_default=True,
    help="Where a partition begins that neither the model nor the group knows, or whose topic was recreated.",
)
@click.option("--output-topic", metavar="TOPIC", help="Where predictions go, each exactly once.")
@click.option(
    "--dead-letter-topic", metavar="TOPIC", help="Where records that cannot be used go, as they were."
)
@click.option("--label-topic", metavar="TOPIC", help="Where labels come from that come later, by --id.")
@click.option("--until-end", is_flag=True, help="Stop at the offsets that stand at the start.")
@click.option("--max-events", metavar="N", type=click.IntRange(min=1), help="Stop after so many events.")
@click.option("--with-key", metavar="NAME", help="Take a record's key as this attribute.")
@click.option(
    "--with-timestamp", metavar="NAME", help="Take a record's time, in seconds since 1970, as this attribute."
)
@click.option(
    "--with-header",
    metavar="HEADER[=NAME]",
    multiple=True,
    help="Take a header as an attribute; repeatable.",
)
@click.option(
    "-X",
    "--kafka",
    metavar="NAME=VALUE",
    multiple=True,
    help="A setting of kafka-python; repeatable. For passwords use the environment "
    "(STREAMKARMA_KAFKA_SASL_PLAIN_PASSWORD) or --config.",
)
@click.option(
    "--connect-timeout",
    metavar="S",
    type=shared.above_zero,
    default=30.0,
    show_default=True,
    help="Seconds to try to reach the brokers at the start.",
)
@shared.fields
@shared.keeping
@shared.predictions("-, or none with --output-topic")
@shared.output
def attach(**said: Any) -> None:
    """Predict and learn the events of Kafka topics, each once.

    TOPIC is a name, or several, or one regular expression for whole names. The model file
    holds the offsets it has learned up to; with --output-topic the predictions, and these
    offsets, are committed in transactions, so that a reader of committed records sees each
    prediction once, whatever happens to this process. Records without a value (tombstones)
    are skipped.
    """
    from streamkarma.connectors.kafka.records import Metadata
    from streamkarma.connectors.kafka.source import Attachment, TopicSource
    from streamkarma.runtime.plan import Plan
    from streamkarma.runtime.run import Run

    if said["label_topic"] is not None and said["pending"] == 0:
        raise UsageError("--label-topic has no meaning with --pending 0")
    headers = [header.partition("=") for header in said["with_header"]]
    at = Attachment(
        topics=said["topics"],
        brokers=said["brokers"],
        group=said["group"],
        start=said["from"],
        output_topic=said["output_topic"],
        dead_letter_topic=said["dead_letter_topic"],
        label_topic=said["label_topic"],
        until_end=said["until_end"],
        settings=said["kafka"],
        connect_timeout=said["connect_timeout"],
        metadata=Metadata(
            said["with_key"], said["with_timestamp"], {header: name or header for header, _, name in headers}
        ),
        max_record_bytes=said["max_record_bytes"],
        entity=said["entity"],
    )
    pending = 0 if said["label_topic"] is None else PENDING
    printed = "-" if said["output_topic"] is None else None
    plan = Plan(
        **shared.outputs(said, printed),
        **shared.learning(said),
        pending_default=pending,
        max_events=said["max_events"],
    )
    sys.exit(Run(plan, TopicSource(at, plan.model)).execute())
