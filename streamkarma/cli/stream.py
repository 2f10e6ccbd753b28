"""learn, predict and inspect."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from streamkarma.cli import brokers as connection
from streamkarma.cli import options as shared
from streamkarma.cli import plans
from streamkarma.cli.config import config_option
from streamkarma.cli.declaring import option
from streamkarma.cli.typos import Command
from streamkarma.errors import UsageError
from streamkarma.parameters.learning import LEARNING
from streamkarma.printable import printable

if TYPE_CHECKING:
    from streamkarma.connectors.base import Source
    from streamkarma.runtime.plan import Plan

#: What needs more words than its name in JSON, for reading, by section and name.
_NAMES = {
    ("model", "bytes"): "memory in bytes",
    ("model", "experts"): "experts (mean weight of the last 1,000 events)",
    ("model", "dormant_experts"): "experts that lie dormant",
    ("model", "refits"): "refits (events of the last one)",
    ("model", "refit_problems"): "refits that failed",
}


#: What files have none of.
_OF_TOPICS = ("with_key", "with_timestamp", "with_header", "row_position", "row_header")


@click.command(cls=Command)
@click.argument("input", default="-")
@config_option
@shared.format
@shared.fields
@shared.keeping
@shared.predictions("-")
@click.option(
    "--resume-input",
    is_flag=True,
    help="Skip what --model has taken of INPUT, and go on from there, also with the files for predictions "
    "and dead letters.",
)
@shared.output
@shared.explain
@shared.workers
@click.option("--fresh", is_flag=True, help="Begin a new model, even if there is one at --model.")
def learn(**said: Any) -> None:
    """Predict each event, then learn from its label.

    INPUT is a file, or - for standard input: JSON lines, or a table (CSV, Parquet, Arrow) of which
    each row is an event; .gz and .zst are read as they are. Predictions go to standard output, one
    JSON line an event.

    After a crash, run the same command with --resume-input: nothing is learned, or written to a
    file, twice.
    """
    if said["resume_input"] and said["model"] is None:
        raise UsageError("--resume-input needs --model, which knows how much of INPUT was taken")
    if said["model"] is None:
        plans.check_typed(("checkpoint_every", "fresh"), "model")
    if said["fresh"] and said["resume_input"]:
        raise UsageError("--fresh begins a new model, and --resume-input goes on with one; leave one out")
    _execute(said, fresh=said["fresh"], explaining=plans.strongest(said), **plans.learning(said))


@click.command(cls=Command)
@click.argument("model")
@click.argument("input", default="-")
@config_option
@shared.format
@shared.fields
@option(LEARNING["threshold"])
@shared.predictions("-")
@shared.output
@shared.explain
@shared.workers
@click.option("--follow", is_flag=True, help="Load MODEL again whenever its file has changed.")
@connection.standing
@connection.metadata
@connection.settings
def predict(**said: Any) -> None:
    """Score events with a model, without learning.

    INPUT is a file, or - for standard input, as learn takes it; with --brokers it is a topic, of which
    nothing is committed.

    Names of target, id, weight and ignored attributes are those the model was learned with,
    unless given; so is the threshold. Where events carry the target, loss and metrics are reported.
    """
    plan = {"learn": False, "follow": said["follow"], "options": plans.threshold(said)}
    _execute(said, model=said["model"], explaining=plans.strongest(said), **plan)


#: Attributes that ``inspect`` lists.
_SHOWN_ATTRIBUTES = 20


@click.command(cls=Command)
@click.argument("model")
@config_option
@click.option("--json", is_flag=True, help="As one JSON object.")
def inspect(model: str, json: bool) -> None:
    """Show what is in a model file."""
    from streamkarma.runtime.describe import describe

    content = describe(model)
    if json:
        from json import dumps

        click.echo(dumps(content))
        return
    names, values = content.pop("attributes"), content.pop("values")
    for name, value in content.items():
        if isinstance(value, dict):
            click.echo(f"{name}:")
            for inner, each in value.items():
                click.echo(f"  {_NAMES.get((name, inner), inner):<18} {_shown(each)}")
        else:
            click.echo(f"{name:<20} {_shown(value)}")
    click.echo(f"{'attributes':<20} {len(names):,}")
    for name in names[:_SHOWN_ATTRIBUTES]:
        click.echo(f"  {printable(name):<18} {_shown(values[name])}")
    if len(names) > _SHOWN_ATTRIBUTES:
        click.echo("  … (all of them: --json)")


def _execute(said: dict[str, Any], **plan: Any) -> None:
    """Run what was said over a file, a pipe or a topic."""
    plans.execute(*run_of(said, **plan), said.get("metrics"))


def run_of(said: dict[str, Any], **plan: Any) -> tuple[Plan, Source]:
    """A plan, and the file, the pipe or the topic to run it over."""
    from streamkarma.runtime.plan import Plan

    workers = said["workers"] or min(2, available_cores())
    # Where another thread waits for input, this one has time to tell how it goes.
    prefetch = workers > 1 or said.get("metrics") is not None
    source = _file(said, prefetch) if said.get("brokers") is None else _topic(said)
    return Plan(workers=workers, **{**plans.outputs(said), **plan}), source


def _file(said: dict[str, Any], prefetch: bool) -> Source:
    from streamkarma.connectors.tables.source import source_of

    for name in _OF_TOPICS:
        if said.get(name) not in (None, ()):
            raise UsageError(f"--{name.replace('_', '-')} is for records of a topic, and needs --brokers")
    if "brokers" in said:
        plans.check_alone(connection.REACHING, "brokers")
    return source_of(
        said["input"],
        said["format"],
        resume=said.get("resume_input", False),
        max_record_bytes=said["max_record_bytes"],
        prefetch=prefetch,
    )


def _topic(said: dict[str, Any]) -> Source:
    fields = connection.row_fields_of(said, learns=False)
    return connection.standing_topics(said, metadata=connection.metadata_of(said), row_fields=fields)


def available_cores() -> int:
    """Cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, dict):
        numbers = {name: f"{each:.3f}" if isinstance(each, float) else each for name, each in value.items()}
        return ", ".join(f"{name} {each}" for name, each in numbers.items())
    return printable(", ".join(map(str, value)) if isinstance(value, list) else str(value))
