"""generate: synthetic incomplete streams."""

from __future__ import annotations

from typing import Any

import click

from streamkarma.cli.config import config_option
from streamkarma.cli.typos import Command

#: Records written at once.
CHUNK = 256


@click.command(cls=Command)
@click.argument("kind", type=click.Choice(["lowrank", "blocks"]))
@config_option
@click.option("--events", type=click.IntRange(min=0), default=10_000, show_default=True, help="How many.")
@click.option(
    "--attributes", type=click.IntRange(min=1), default=20, show_default=True, help="Attributes, x0 to xD."
)
@click.option(
    "--rank", type=click.IntRange(min=1), default=5, show_default=True, help="Dimension of their subspace."
)
@click.option("--observed", type=float, default=0.5, show_default=True, help="Share of attributes observed.")
@click.option(
    "--missing",
    type=click.Choice(["mcar", "mar", "mnar"]),
    default="mcar",
    show_default=True,
    help="Missing at random; given what is seen; depending on the value itself and the label.",
)
@click.option(
    "--noise",
    type=float,
    default=0.0,
    show_default=True,
    help="Share of labels flipped; standard deviation added in regression.",
)
@click.option(
    "--task",
    type=click.Choice(["binary", "multiclass", "regression"]),
    default="binary",
    show_default=True,
    help="Kind of label.",
)
@click.option(
    "--label",
    type=click.Choice(["linear", "blocks"]),
    default="linear",
    show_default=True,
    help="Whether labels follow the complete vector, or which of three blocks are observed.",
)
@click.option(
    "--margin",
    type=float,
    default=0.0,
    show_default=True,
    help="Draw vectors again that have a smaller margin, in standard deviations, up to 3.",
)
@click.option("--blocks", type=click.IntRange(min=1), help="blocks only: how many.  [default: 3]")
@click.option("--allow-empty", is_flag=True, help="lowrank only: keep events with nothing observed.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The same seed, the same bytes."
)
@click.option("--full", is_flag=True, help='Write the complete vector beside, as "full".')
def generate(kind: str, events: int, full: bool, blocks: int | None, **options: Any) -> None:
    """Write a synthetic stream as JSON lines.

    lowrank: vectors from a random subspace, each attribute observed with probability
    --observed. blocks: the same vectors, but whole blocks of neighbouring attributes are
    observed or missing. An event of which nothing would be observed is drawn again. The label
    y follows a linear function of the complete vector.
    """
    from itertools import islice

    from streamkarma.connectors.jsonlines.sink import JsonLinesSink
    from streamkarma.errors import UsageError
    from streamkarma.synthetic import StreamSpec, records

    if blocks is not None and kind != "blocks":
        raise UsageError("--blocks goes with the kind blocks")
    plan = StreamSpec(**options, blocks=(blocks or 3) if kind == "blocks" else 0)
    stream, sink = records(plan, events, full), JsonLinesSink("-")
    while some := list(islice(stream, CHUNK)):
        sink.write(some)
