"""learn, predict and inspect: the stream of a file or a pipe, and what is in a model file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from streamkarma.cli import brokers as connection
from streamkarma.cli import options as shared
from streamkarma.cli import plans
from streamkarma.cli.config import config_option
from streamkarma.cli.typos import Command
from streamkarma.errors import UsageError
from streamkarma.printable import printable

if TYPE_CHECKING:
    from streamkarma.connectors.base import Source
    from streamkarma.runtime.plan import Plan

#: Labels for display where the JSON name is not clear enough, by section and name.
_NAMES = {
    ("model", "bytes"): "memory in bytes",
    ("model", "experts"): "experts (mean weight of the last 1,000 events)",
    ("model", "last_labels"): "weight of last labels",
    ("model", "dormant_experts"): "dormant experts",
    ("model", "refits"): "refits (events of the last one)",
    ("model", "refit_problems"): "refits that failed",
}


#: Options that apply to topics only.
_OF_TOPICS = (*connection.BESIDE, "row_position", "row_header")


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
    help="Skip the part of INPUT that --model has already read, and continue from there, also in the files "
    "for predictions and dead letters.",
)
@shared.output
@shared.explain
@shared.file_workers
@click.option("--fresh", is_flag=True, help="Start a new model even if --model exists.")
def learn(**options: Any) -> None:
    """Predict each event, then learn from its label.

    INPUT is a file, or - for standard input: JSON lines, or a table (CSV, Parquet, Arrow)
    with one event per row; .gz and .zst files are decompressed. Predictions go to standard output,
    one JSON line per event.

    After a crash, run the same command with --resume-input: no event is learned, or written to a
    file, twice.
    """
    if options["resume_input"] and options["model"] is None:
        raise UsageError("--resume-input needs --model, which records how much of INPUT was read")
    if options["model"] is None:
        plans.check_typed(("checkpoint_every", "fresh"), "model")
    if options["fresh"] and options["resume_input"]:
        raise UsageError("--fresh starts a new model, and --resume-input continues one; leave one out")
    _execute(options, fresh=options["fresh"], explaining=plans.strongest(options), **plans.learning(options))


@click.command(cls=Command)
@click.argument("model")
@click.argument("input", default="-")
@config_option
@shared.format
@shared.scored_fields
@shared.scored_parameters
@shared.predictions("-")
@shared.output
@shared.explain
@shared.file_workers
@click.option("--follow", is_flag=True, help="Reload MODEL whenever its file has changed.")
@connection.bounded
@connection.metadata
@connection.settings
def predict(**options: Any) -> None:
    """Score events with a model, without learning.

    INPUT is a file, or - for standard input, as for learn; with --brokers it is a topic, for which no
    offsets are committed.

    The names of the target, id, weight and ignored attributes are those the model was learned with,
    unless given; so is the threshold. The memory of entities is in the model. If events have the
    target, loss and metrics are reported.
    """
    plan = {"learn": False, "follow": options["follow"], "options": plans.scoring(options)}
    _execute(options, model=options["model"], explaining=plans.strongest(options), **plan)


#: Attributes that ``inspect`` lists.
_SHOWN_ATTRIBUTES = 20


@click.command(cls=Command)
@click.argument("model")
@config_option
@click.option("--json", is_flag=True, help="Print one JSON object.")
def inspect(model: str, json: bool) -> None:
    """Show what is in a model file."""
    from streamkarma.runtime.describe import describe

    content = describe(model)
    if json:
        from json import dumps

        click.echo(dumps(content))
        return
    names, values = content.pop("attributes"), content.pop("values")
    if "merged_from" in content:
        content["merged_from"] = [
            f"{part['name']} ({part['learned']:,} learned)" for part in content["merged_from"]
        ]
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


def _execute(options: dict[str, Any], /, **plan: Any) -> None:
    """Run a plan over a file, a pipe or a topic."""
    plans.execute(*run_of(options, **plan), options.get("metrics"))


def run_of(options: dict[str, Any], /, **plan: Any) -> tuple[Plan, Source]:
    """A plan, and the file, the pipe or the topic to run it over."""
    from streamkarma.runtime.plan import Plan

    workers = options["workers"] or min(2, available_cores())
    # While another thread waits for input, this one can serve metrics.
    prefetch = workers > 1 or options.get("metrics") is not None
    source = _file(options, prefetch) if options.get("brokers") is None else _topic(options)
    return Plan(workers=workers, **{**plans.outputs(options), **plan}), source


def _file(options: dict[str, Any], prefetch: bool) -> Source:
    from streamkarma.connectors.tables.source import source_of

    for name in _OF_TOPICS:
        if options.get(name) not in (None, ()):
            raise UsageError(f"--{name.replace('_', '-')} applies to records of a topic and needs --brokers")
    if "brokers" in options:
        plans.check_alone(connection.REACHING, "brokers")
    return source_of(
        options["input"],
        options["format"],
        resume=options.get("resume_input", False),
        max_record_bytes=options["max_record_bytes"],
        prefetch=prefetch,
    )


def _topic(options: dict[str, Any]) -> Source:
    fields = connection.row_fields_of(options, learns=False)
    return connection.bounded_topics(options, metadata=connection.metadata_of(options), row_fields=fields)


def available_cores() -> int:
    """Cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float) and not value.is_integer():
        return f"{value:.6g}"
    if isinstance(value, dict):
        numbers = {name: f"{each:.3f}" if isinstance(each, float) else each for name, each in value.items()}
        return ", ".join(f"{name} {each}" for name, each in numbers.items())
    return printable(", ".join(map(str, value)) if isinstance(value, list) else str(value))
