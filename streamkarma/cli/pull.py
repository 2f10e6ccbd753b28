"""pull: the merge of the models that processes share through a topic, as a file."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from streamkarma.cli import brokers as connection
from streamkarma.cli import options as shared
from streamkarma.cli import plans
from streamkarma.cli.config import config_option
from streamkarma.cli.typos import Command


@click.command(cls=Command)
@config_option
@connection.brokers
@click.option("--share", metavar="TOPIC", required=True, help="The topic given to attach --share.")
@click.option("--model", metavar="PATH", required=True, help="Where to write the merged model.")
@connection.settings
@shared.quiet
def pull(**options: Any) -> None:
    """Merge the models that processes share, and write the result to a file.

    It holds what all partitions have learned up to their last checkpoints. The topic is not changed. The
    file also holds the offsets, so that a single process can continue with attach --model.
    """
    from streamkarma.connectors.kafka import pulling
    from streamkarma.runtime.pulling import write_pulled

    say = plans.printer(options["quiet"])
    read = partial(
        pulling.pull, options["share"], options["brokers"], options["kafka"], options["connect_timeout"], say
    )
    merged = write_pulled(read, options["model"], say)
    count = len(merged.merged_from)
    partitions = "1 partition" if count == 1 else f"{count:,} partitions"
    say(f"{options['model']}: {partitions} with {merged.steps:,} events learned")
