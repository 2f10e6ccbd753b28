"""profile: a look at a stream before it is learned."""

from __future__ import annotations

import sys
from typing import Any

import click

from streamkarma.cli import brokers, plans
from streamkarma.cli import options as shared
from streamkarma.cli.config import config_option
from streamkarma.cli.declaring import option
from streamkarma.cli.typos import Command
from streamkarma.errors import UsageError
from streamkarma.parameters.learning import LEARNING
from streamkarma.parameters.running import RUNNING


@click.command(cls=Command)
@click.argument("input", default="-")
@config_option
@shared.format
@option(RUNNING["target"])
@click.option("--id", metavar="NAME", help="Attribute to leave out; repeated in the advice.")
@click.option("--ignore", metavar="NAME", multiple=True, help="Another attribute to leave out; repeatable.")
@click.option(
    "--entity",
    metavar="NAME",
    help="Attribute that identifies the entity of an event, such as a device: the profile shows what the "
    "entity's last values would fill in. Repeated in the advice.",
)
@option(LEARNING["na"])
@click.option(
    "--max-attributes",
    metavar="N",
    type=click.IntRange(1, 4000),
    default=1000,
    show_default=True,
    help="Maximum number of attributes in the profile: the first ones seen.",
)
@option(RUNNING["max_record_bytes"])
@brokers.bounded
@brokers.settings
@brokers.beside
@click.option(
    "--json",
    metavar="PATH",
    is_flag=False,
    flag_value="-",
    help="Where to write the profile, as JSON; without a PATH, to standard output.",
)
@click.option("--html", metavar="PATH", help="Where to write it as a page with charts; - is standard output.")
@shared.quiet
def profile(**options: Any) -> None:
    """Look at a stream: what is missing, what changes, what is odd.

    Reads INPUT (JSON lines or a table; - is standard input) once, in bounded memory, and ends with the
    command line to use for learning, and the reasons.
    """
    from streamkarma.profile.advice import LearnCommand
    from streamkarma.profile.run import ProfileRun, Request

    source, begin = (_file if options["brokers"] is None else _topic)(options)
    repeated = [word for name in options["ignore"] for word in ("--ignore", name)]
    repeated += [word for name in options["na"] for word in ("--na", name)]
    repeated += [] if options["id"] is None else ["--id", options["id"]]
    left_out = {*options["ignore"], options["id"]} - {None}
    if options["target"] in left_out:
        other = "id" if options["id"] == options["target"] else "ignore"
        raise UsageError(f"--target and --{other} are both {options['target']}; name another attribute")
    target = options["target"] or RUNNING["target"].default
    if options["entity"] == target:
        raise UsageError(f"--target and --entity are both {target}; name another attribute")
    request = Request(
        name=options["input"],
        target=target,
        left_out=tuple(left_out),
        missing_words=options["na"] or None,
        most=options["max_attributes"],
        entity=options["entity"],
        json=options["json"],
        html=options["html"],
        quiet=options["quiet"],
        learn_from=LearnCommand(begin, repeated),
    )
    sys.exit(ProfileRun(request, source).execute())


def _file(options: dict[str, Any]) -> tuple[Any, list[str]]:
    """The source, and the beginning of a command that learns from it."""
    from streamkarma.connectors.tables.source import source_of

    plans.check_alone((*brokers.REACHING, *brokers.BESIDE), "brokers")
    source = source_of(options["input"], options["format"], max_record_bytes=options["max_record_bytes"])
    begin = ["streamkarma", "learn", options["input"], "--model", "my.karma"]
    return source, begin + ([] if options["format"] is None else ["--format", options["format"]])


def _topic(options: dict[str, Any]) -> tuple[Any, list[str]]:
    begin = [
        "streamkarma",
        "attach",
        options["input"],
        "--brokers",
        options["brokers"],
        "--group",
        "my-group",
    ]
    for name in ("key", "timestamp"):
        begin += [] if options[f"with_{name}"] is None else [f"--with-{name}", options[f"with_{name}"]]
    begin += [word for header in options["with_header"] for word in ("--with-header", header)]
    source = brokers.bounded_topics(options, metadata=brokers.metadata_of(options))
    return source, [*begin, "--model", "my.karma"]
