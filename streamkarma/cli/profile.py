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
from streamkarma.parameters.words import MISSING_WORDS


@click.command(cls=Command)
@click.argument("input", default="-")
@config_option
@shared.format
@option(RUNNING["target"])
@click.option("--id", metavar="NAME", help="Attribute that is not looked at; repeated in the advice.")
@click.option("--ignore", metavar="NAME", multiple=True, help="Another one; repeatable.")
@option(LEARNING["na"])
@click.option(
    "--max-attributes",
    metavar="N",
    type=click.IntRange(1, 4000),
    default=1000,
    show_default=True,
    help="Most attributes that are looked at: those that come first.",
)
@option(RUNNING["max_record_bytes"])
@brokers.standing
@brokers.settings
@click.option(
    "--json",
    metavar="PATH",
    is_flag=False,
    flag_value="-",
    help="Where the profile goes, as JSON; without a PATH to standard output.",
)
@click.option("--html", metavar="PATH", help="Where it goes as a page with pictures; - is standard output.")
@click.option("--quiet", is_flag=True, help="Nothing on stderr but errors.")
def profile(**said: Any) -> None:
    """Look at a stream: what is missing, what changes, what is odd.

    Reads INPUT (JSON lines or a table; - is standard input) once, in bounded memory, and ends with the
    command line to learn with, and why.
    """
    from streamkarma.profile.advice import Source
    from streamkarma.profile.run import ProfileRun, Request

    source, begin = (_file if said["brokers"] is None else _topic)(said)
    options = [word for name in said["ignore"] for word in ("--ignore", name)]
    options += [word for name in said["na"] for word in ("--na", name)]
    options += [] if said["id"] is None else ["--id", said["id"]]
    left_out = {*said["ignore"], said["id"]} - {None}
    if said["target"] in left_out:
        other = "id" if said["id"] == said["target"] else "ignore"
        raise UsageError(f"--target and --{other} are one attribute, {said['target']}; name another one")
    request = Request(
        name=said["input"],
        target=said["target"] or RUNNING["target"].default,
        left_out=tuple(left_out),
        missing_words=said["na"] or MISSING_WORDS,
        most=said["max_attributes"],
        json=said["json"],
        html=said["html"],
        quiet=said["quiet"],
        learn_from=Source(begin, options),
    )
    sys.exit(ProfileRun(request, source).execute())


def _file(said: dict[str, Any]) -> tuple[Any, list[str]]:
    """The source, and how a command begins that learns from it."""
    from streamkarma.connectors.tables.source import source_of

    plans.check_alone(brokers.REACHING, "brokers")
    source = source_of(said["input"], said["format"], max_record_bytes=said["max_record_bytes"])
    begin = ["streamkarma", "learn", said["input"], "--model", "my.karma"]
    return source, begin + ([] if said["format"] is None else ["--format", said["format"]])


def _topic(said: dict[str, Any]) -> tuple[Any, list[str]]:
    begin = ["streamkarma", "attach", said["input"], "--brokers", said["brokers"], "--group", "my-group"]
    return brokers.standing_topics(said), [*begin, "--model", "my.karma"]
