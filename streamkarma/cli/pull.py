"""pull."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from streamkarma.cli import brokers as connection
from streamkarma.cli.config import config_option
from streamkarma.cli.typos import Command


@click.command(cls=Command)
@config_option
@connection.brokers
@click.option("--share", metavar="TOPIC", required=True, help="The topic of models of attach --share.")
@click.option("--model", metavar="PATH", required=True, help="Where the merged model is written.")
@connection.settings
@click.option("--quiet", is_flag=True, help="Nothing on stderr but errors.")
def pull(**said: Any) -> None:
    """Write the models that processes share into a file, as one.

    It is what all partitions have learned up to their last checkpoints. Nothing in the topic changes. The
    file has the offsets too, so that a process can go on alone with attach --model.
    """
    from streamkarma.connectors.kafka import pulling
    from streamkarma.runtime.pulling import write_pulled

    def say(line: str) -> None:
        if not said["quiet"]:
            click.echo(line, err=True)

    read = partial(pulling.pull, said["share"], said["brokers"], said["kafka"], said["connect_timeout"], say)
    merged = write_pulled(read, said["model"], say)
    count = len(merged.merged_from)
    partitions = "1 partition" if count == 1 else f"{count:,} partitions"
    say(f"{said['model']}: {partitions} with {merged.steps:,} events learned")
