"""The options by which commands reach Kafka's brokers."""

from __future__ import annotations

import click

from streamkarma.cli.options import above_zero, together

brokers = click.option(
    "--brokers", metavar="HOST:PORT,...", required=True, help="Some of the brokers; they name the others."
)

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
