"""What the examples take as arguments. Whatever is wrong with them is said in one line."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from streamkarma.errors import StreamkarmaError
from streamkarma.parameters.words import LEARNER_NAMES

COUNT, SEED = click.IntRange(min=1), click.IntRange(min=0)
LEARNER = click.Choice(LEARNER_NAMES)
#: Formats that matplotlib writes everywhere.
PICTURES = (".pdf", ".png", ".svg")
#: How long a broker may take to answer.
BROKER_SECONDS = 10


class Example(click.Command):
    """A command that ends with one line if streamkarma or another program that it runs has failed."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run it."""
        try:
            return super().invoke(ctx)
        except subprocess.CalledProcessError as error:
            # The program has said why, unless its standard error was captured.
            click.echo(error.stderr or b"", err=True, nl=False)
            return ctx.exit(error.returncode)
        except StreamkarmaError as error:
            raise click.ClickException(str(error)) from error


class Numbers(click.ParamType):
    """Integers from a least one on, separated by commas."""

    name = "numbers"

    def __init__(self, least: int) -> None:
        self.least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return them as a tuple."""
        try:
            numbers = tuple(int(each) for each in value.split(","))
        except ValueError:
            self.fail(f"{value!r} is not a list of integers with commas", param, ctx)
        if min(numbers) < self.least:
            self.fail(f"{min(numbers)} is below {self.least}", param, ctx)
        return numbers


def picture(ctx: click.Context, parameter: click.Parameter, path: str | None) -> str | None:
    """The path of a picture to write, if it has a format that can be drawn."""
    if path is not None and Path(path).suffix not in PICTURES:
        raise click.BadParameter(f"{path} ends in none of {', '.join(PICTURES)}")
    return in_folder(ctx, parameter, path)


def in_folder(ctx: click.Context, parameter: click.Parameter, path: str | None) -> str | None:
    """The path of a file to write at the end, if its folder exists."""
    if path is not None and not Path(path).parent.is_dir():
        raise click.BadParameter(f"there is no folder {Path(path).parent}")
    return path


def rows_of(example: str, *columns: str) -> Callable[..., list[dict[str, Any]]]:
    """The callback of a file that ``example`` has written with --json: its rows, which have these columns."""

    def rows(ctx: click.Context, parameter: click.Parameter, file: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] | None
        try:
            with file:
                found = json.load(file)
        except ValueError:
            found = None
        complete = isinstance(found, list) and all(
            isinstance(row, dict) and row.keys() >= {*columns} for row in found
        )
        if not complete or not found:
            raise click.BadParameter(f"{file.name} has no rows of {example}; write them with --json")
        return found

    return rows


def answering(ctx: click.Context, parameter: click.Parameter, address: str) -> str:
    """The address of Kafka, if a broker answers there."""
    from kafka import KafkaAdminClient
    from kafka.errors import KafkaError

    try:
        KafkaAdminClient(bootstrap_servers=address, bootstrap_timeout_ms=1000 * BROKER_SECONDS).close()
    except (KafkaError, ValueError) as error:
        raise click.BadParameter(f"no broker answers at {address}; give HOST:PORT of one") from error
    return address
