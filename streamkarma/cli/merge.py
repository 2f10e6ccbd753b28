"""merge: unite models that were trained separately."""

from __future__ import annotations

import click

from streamkarma.cli import options as shared
from streamkarma.cli import plans
from streamkarma.cli.config import config_option
from streamkarma.cli.typos import Command


@click.command(cls=Command)
@click.argument("models", nargs=-1, required=True)
@config_option
@click.option(
    "--base", metavar="PATH", help="The model that all of them were trained from.  [default: an empty one]"
)
@click.option("--model", required=True, metavar="PATH", help="Where to write the merged model.")
@shared.quiet
def merge(models: tuple[str, ...], base: str | None, model: str, quiet: bool) -> None:
    """Merge separately trained models into one.

    MODELS are files of models with the same options, for instance from several machines. They may have seen
    names and classes in any order. The merged model can be trained further like any other.
    """
    from streamkarma.runtime.merging import merge_files

    say = plans.printer(quiet)
    merged = merge_files(models, base, model, say)
    say(f"{model}: {_counted(len(models), 'model')} with {_counted(merged.steps, 'event')} learned")


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
