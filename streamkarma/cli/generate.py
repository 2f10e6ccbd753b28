"""generate: synthetic incomplete streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click
from click.core import ParameterSource

from streamkarma.cli.config import config_option
from streamkarma.cli.typos import Command
from streamkarma.errors import UsageError

#: Records written at once.
CHUNK = 256


#: Maximum numbers in all, and in one event: more would take minutes before the first event.
_MANY, _WIDE = click.IntRange(1, 10_000_000), click.IntRange(1, 1_000_000)


@click.command(cls=Command)
@click.argument("kind", type=click.Choice(["lowrank", "blocks", "events", "devices"]))
@config_option
@click.option(
    "--events", type=click.IntRange(min=0), default=10_000, show_default=True, help="Number of events."
)
@click.option(
    "--attributes", type=_WIDE, default=20, show_default=True, help="Number of attributes, x0, x1, …"
)
@click.option(
    "--rank", type=click.IntRange(min=1), default=5, show_default=True, help="Dimension of their subspace."
)
@click.option(
    "--observed",
    type=float,
    default=0.5,
    show_default=True,
    help="Share of attributes observed (events: of the numbers).",
)
@click.option(
    "--missing",
    type=click.Choice(["mcar", "mar", "mnar"]),
    default="mcar",
    show_default=True,
    help="Missing completely at random; depending on an observed value; on the value itself and the label.",
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
    help="Redraw vectors with a smaller margin, in standard deviations, up to 3.",
)
@click.option("--blocks", type=click.IntRange(min=1), help="blocks only: number of blocks.  [default: 3]")
@click.option("--users", type=_MANY, default=3_000, show_default=True, help="events only: number of users.")
@click.option(
    "--words",
    type=_MANY,
    default=2_000,
    show_default=True,
    help="events only: number of words used in texts.",
)
@click.option("--tags", type=_MANY, default=50, show_default=True, help="events only: number of tags.")
@click.option(
    "--devices", type=_MANY, default=300, show_default=True, help="devices only: number of devices."
)
@click.option(
    "--sensors",
    type=_WIDE,
    default=10,
    show_default=True,
    help="devices only: number of sensors of each, s0, s1, …",
)
@click.option(
    "--gaps",
    type=float,
    default=0.1,
    show_default=True,
    help="devices only: share of its life that a device is silent.",
)
@click.option(
    "--turnover",
    type=float,
    default=0.02,
    show_default=True,
    help="devices only: share of the devices replaced by new ones within 10,000 events.",
)
@click.option(
    "--drift",
    type=float,
    help="events: share of users, words and tags replaced by new ones within 10,000 events. "
    "devices: how far the weights turn within as many.  [default: 0; devices: 0.01]",
)
@click.option(
    "--junk",
    type=click.IntRange(0, _WIDE.max),
    default=0,
    show_default=True,
    help="events only: number of noise columns; also adds event_id and device, which are irrelevant too.",
)
@click.option("--allow-empty", is_flag=True, help="lowrank only: keep events of which nothing is observed.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Same seed, same bytes.",
)
@click.option(
    "--full",
    is_flag=True,
    help='Add the complete vector as "full"; events: what an oracle knows; '
    'devices: both, what an oracle knows as "oracle".',
)
@click.pass_context
def generate(ctx: click.Context, /, kind: str, events: int, full: bool, **options: Any) -> None:
    """Write a synthetic stream as JSON lines.

    lowrank: vectors from a random subspace, each attribute observed with probability
    --observed. blocks: the same vectors, but whole blocks of neighbouring attributes are
    observed or missing. If nothing of an event would be observed, what is observed is drawn
    again, unless --allow-empty is given. The label y follows a linear function of the complete vector.

    events: user, text, tags, timestamp and four numbers with gaps, and a label y that follows
    known weights.

    devices: messages of devices, each with a timestamp and one to three of the device's slowly
    moving sensors. The label y follows known weights of all of them, as they are at that time.

    With --full, the error of an oracle on events or devices is printed to standard error at the end.
    """
    from itertools import islice

    from streamkarma.connectors.jsonlines.sink import JsonLinesSink
    from streamkarma.synthetic import StreamSpec, records
    from streamkarma.synthetic.devices import DeviceSpec, device_records
    from streamkarma.synthetic.events import EventSpec, event_records
    from streamkarma.synthetic.oracle import Oracle

    oracle = None
    if kind == "events":
        events_plan = EventSpec(**_of_kind(ctx, kind, EventSpec._fields, options))
        stream = event_records(events_plan, events, full)
        oracle = Oracle(events_plan.task, "full") if full else None
    elif kind == "devices":
        devices_plan = DeviceSpec(**_of_kind(ctx, kind, DeviceSpec._fields, options))
        stream = device_records(devices_plan, events, full)
        oracle = Oracle(devices_plan.task, "oracle") if full else None
    else:
        if kind == "blocks":
            options["blocks"] = options["blocks"] or 3
        of_the_other = "allow_empty" if kind == "blocks" else "blocks"
        fields = [name for name in StreamSpec._fields if name != of_the_other]
        stream = records(StreamSpec(**_of_kind(ctx, kind, fields, options)), events, full)
    sink = JsonLinesSink("-")
    while some := list(islice(stream, CHUNK)):
        sink.write(some)
        if oracle is not None:
            oracle.add(some)
    if oracle is not None:
        click.echo(str(oracle), err=True)


def _of_kind(
    ctx: click.Context, kind: str, fields: Sequence[str], options: Mapping[str, Any]
) -> dict[str, Any]:
    """The options of a kind that have a value; UsageError if one of another kind was given."""
    for name in options:
        if name not in fields and ctx.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise UsageError(f"--{name.replace('_', '-')} does not apply to {kind}")
    return {name: options[name] for name in fields if options[name] is not None}
